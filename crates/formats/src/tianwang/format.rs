//! Tianwang's row of the table of formats.

use super::{TianwangReader, TianwangRecord, TianwangWriter, salvage, stores_event, whole_length};
use crate::format::{Files, Format, FormatSpec};
use crate::layout::{self, FileContent, RollingLayout};
use crate::records::{ArchiveReader, CodecReader, ReaderInput};
use crate::recovery::RecoveryMethod;
use crate::sniff::{Confidence, Prefix};
use crate::stored_fields::{Field, MissingFields, Reduction, Stored};
use seine_delivery::Entry;

pub const FORMAT: Format = Format(&FormatSpec {
    name: "TIANWANG",
    about: "the raw format of Tianwang and Web InfoMall",
    schema: "tianwang",
    holds: &[
        (Field::Url, Stored::Complete),
        (Field::FinalUrl, Stored::Complete),
        (Field::Status, Stored::Complete),
        (Field::Reason, Stored::Partly(Reduction::Http1)),
        (Field::Headers, Stored::Partly(Reduction::Http1)),
        (Field::Body, Stored::Complete),
        (Field::BodyReceived, Stored::Complete),
        (Field::Fetched, Stored::Partly(Reduction::Seconds)),
        (Field::Ip, Stored::Complete),
        (Field::Exchange, Stored::Partly(Reduction::Answer)),
        (Field::Truncated, Stored::Complete),
        (Field::OtherAnswers, Stored::Complete),
        (Field::OtherTypes, Stored::Complete),
    ],
    demands: &[Field::Url, Field::FinalUrl, Field::Status, Field::Fetched, Field::Body],
    begins: |beginning: &Prefix| {
        Confidence::sure_if(beginning.text().get(..8).is_some_and(|it| it.eq_ignore_ascii_case(b"version:")))
    },
    reader: |input: ReaderInput| {
        let lacks = |_: &TianwangReader<_>, record: &TianwangRecord| {
            let is_bare = !record.has_status();
            MissingFields::default().and(Field::Status, is_bare).and(Field::Headers, is_bare)
        };
        let reader = TianwangReader::of_file(input.bytes, input.length)?.checking_dates(input.is_check);
        let records: Box<dyn ArchiveReader> =
            Box::new(CodecReader::new(reader, TianwangRecord::into_event, lacks, TianwangReader::truncated));
        Ok(records)
    },
    encoder: |options| {
        let mut writer = TianwangWriter::new(options.tianwang_compress);
        Box::new(move |entry: &Entry, out: &mut Vec<u8>| writer.write_event(&entry.event, out))
    },
    stores_event: Some(stores_event),
    files: Files::Rolling(RollingLayout {
        content: FileContent::Records(whole_length),
        record_end: b"",
        ..layout::of_lines(&[".tianwang"], |_| ".tianwang")
    }),
    recovery: RecoveryMethod::Itself(salvage::save),
});
