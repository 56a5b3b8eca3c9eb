//! WARC's row of the table of formats.

use std::io::Read;

use super::write::stores_event;
use super::{DigestVerdict, WarcError, WarcPages, WarcReader, WarcWriter, cdxj, salvage};
use crate::format::{Files, Format, FormatSpec};
use crate::layout::{BuiltIndex, FileContent, NameStamp, RollingLayout, SidecarIndex};
use crate::records::{ArchiveReader, ArchiveRecord, CodecReader, ReadSeek, ReaderInput};
use crate::recovery::RecoveryMethod;
use crate::sniff::{Confidence, Prefix};
use crate::stored_fields::{Field, MissingFields, Reduction, Stored};
use seine_parse::page::PageEvent;

pub const FORMAT: Format = Format(&FormatSpec {
    name: "WARC",
    about: "web archives, with the bytes as transferred",
    schema: "warc",
    holds: &[
        (Field::Url, Stored::Complete),
        (Field::FinalUrl, Stored::Complete),
        (Field::Hops, Stored::Complete),
        (Field::Status, Stored::Complete),
        (Field::Reason, Stored::Complete),
        (Field::Headers, Stored::Partly(Reduction::Http1)),
        (Field::Body, Stored::Complete),
        (Field::BodyReceived, Stored::Complete),
        (Field::Fetched, Stored::Complete),
        (Field::Started, Stored::Complete),
        (Field::Ip, Stored::Complete),
        (Field::Request, Stored::Partly(Reduction::Http1)),
        (Field::Exchange, Stored::Complete),
        (Field::Relevance, Stored::Partly(Reduction::TenDigits)),
        (Field::Model, Stored::Complete),
        (Field::CrawlerId, Stored::Complete),
        (Field::EventId, Stored::Complete),
        (Field::Truncated, Stored::Complete),
        (Field::OtherAnswers, Stored::Complete),
        (Field::OtherTypes, Stored::Complete),
    ],
    demands: &[Field::Url, Field::FinalUrl, Field::Status, Field::Fetched, Field::Relevance, Field::Body],
    begins: |beginning: &Prefix| Confidence::sure_if(beginning.text().starts_with(b"WARC/")),
    reader,
    encoder: |options| Box::new(WarcWriter::new(options.warc.clone())),
    stores_event: Some(stores_event),
    files: Files::Rolling(RollingLayout {
        suffixes: &[".warc.gz", ".warc"],
        suffix: |options| if options.warc.compress { ".warc.gz" } else { ".warc" },
        stamp: NameStamp::UtcMillis,
        serial_digits: 5,
        content: FileContent::Records(|file| {
            let mut reader = WarcReader::new(file);
            reader.by_ref().for_each(drop);
            Ok(reader.whole_bytes())
        }),
        record_end: b"",
        index: Some(SidecarIndex {
            suffix: ".cdxj",
            is_wanted: |options| options.warc.cdxj,
            make: |file, name| {
                let (lines, errors) = cdxj::index(file, name);
                let missing = errors.iter().map(ToString::to_string).collect();
                BuiltIndex { lines: lines.concat().into_bytes(), missing }
            },
        }),
    }),
    recovery: RecoveryMethod::Itself(salvage::save),
});

fn reader(input: ReaderInput) -> std::io::Result<Box<dyn ArchiveReader>> {
    let reader = WarcReader::new(input.bytes);
    if input.is_check {
        return Ok(Box::new(DigestReader { reader, offset: 0 }));
    }
    let lacks = |pages: &WarcPages<Box<dyn ReadSeek>>, event: &PageEvent| {
        let lacks = MissingFields::default().and(Field::Status, !pages.has_status());
        lacks.and(Field::Relevance, !event.relevance.is_known())
    };
    let mut pages = CodecReader::new(WarcPages::new(reader), |event| event, lacks, WarcPages::truncated);
    pages.offset = WarcPages::offset;
    Ok(Box::new(pages))
}

/// Reads every record and compares its digests. Responses count as pages.
struct DigestReader<R> {
    reader: WarcReader<R>,
    offset: u64,
}

impl<R: Read> ArchiveReader for DigestReader<R> {
    fn next(&mut self) -> Option<ArchiveRecord> {
        let record = match self.reader.next()? {
            Ok(record) => record,
            Err(error) => return Some(ArchiveRecord::Problem(error.to_string())),
        };
        self.offset = record.location.offset;
        for (what, verdict) in [("block", record.check_block()), ("payload", record.check_payload())] {
            if let DigestVerdict::Wrong { stated, found } = verdict {
                let error = WarcError::Digest { what, offset: self.offset, stated, found };
                return Some(ArchiveRecord::Problem(error.to_string()));
            }
        }
        let is_page =
            matches!(record.kind(), "response" | "revisit" | "resource") && record.get("Seine-Redirects-To").is_none();
        let url = record.target_uri().unwrap_or_default();
        Some(if is_page { ArchiveRecord::Page(Box::new(PageEvent::empty(url))) } else { ArchiveRecord::Other })
    }

    fn offset(&self) -> Option<u64> {
        Some(self.offset)
    }

    fn truncated(&self) -> bool {
        self.reader.truncated()
    }
}
