//! Tianwang's row of the table of formats.

use super::unpacking::reader;
use super::{TianwangReader, TianwangRecord, TianwangWriter, is_held, saved, whole_length};
use crate::delivery::Entry;
use crate::formats::beginning::{Beginning, Sign};
use crate::formats::encoder::Each;
use crate::formats::format::{Files, Format, Row};
use crate::formats::held::{Field, Held, Lacks, Part};
use crate::formats::records::{Codec, Input, Records};
use crate::formats::recovery::Recovery;
use crate::formats::shape::{Content, Shape, Stamp};

pub const FORMAT: Format = Format(&Row {
    name: "TIANWANG",
    about: "the raw format of Tianwang and Web InfoMall",
    schema: "tianwang",
    holds: &[
        (Field::Url, Held::Whole),
        (Field::FinalUrl, Held::Whole),
        (Field::Status, Held::Whole),
        (Field::Reason, Held::Partly(Part::Http1)),
        (Field::Headers, Held::Partly(Part::Http1)),
        (Field::Body, Held::Whole),
        (Field::BodyReceived, Held::Whole),
        (Field::Fetched, Held::Partly(Part::Seconds)),
        (Field::Ip, Held::Whole),
        (Field::Exchange, Held::Partly(Part::Answer)),
        (Field::OtherAnswers, Held::Whole),
        (Field::OtherTypes, Held::Whole),
    ],
    demands: &[Field::Url, Field::FinalUrl, Field::Status, Field::Fetched, Field::Body],
    begins: |beginning: &Beginning| {
        Sign::sure_if(beginning.text().get(..8).is_some_and(|it| it.eq_ignore_ascii_case(b"version:")))
    },
    reader: |input: Input| {
        let lacks = |_: &TianwangReader<_>, record: &TianwangRecord| {
            let is_bare = !record.has_status();
            Lacks::default().and(Field::Status, is_bare).and(Field::Headers, is_bare)
        };
        let reader = reader(input.bytes, input.length)?;
        let records: Box<dyn Records> =
            Box::new(Codec::new(reader, TianwangRecord::into_event, lacks, TianwangReader::truncated));
        Ok(records)
    },
    encoder: |options| {
        let mut writer = TianwangWriter::new(options.tianwang_compress);
        Box::new(Each(move |entry: &Entry, out: &mut Vec<u8>| writer.write_event(&entry.event, out)))
    },
    is_held: Some(is_held),
    files: Files::Rolling(Shape {
        suffixes: &[".tianwang"],
        suffix: |_| ".tianwang",
        stamp: Stamp::EpochMs,
        serial_digits: 1,
        content: Content::Records(|mut file| whole_length(&mut file)),
        record_end: b"",
        index: None,
    }),
    recovery: Recovery::Itself(saved::save),
});
