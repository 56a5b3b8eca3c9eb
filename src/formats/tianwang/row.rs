//! Tianwang's row of the table of formats.

use std::io::{Chain, Cursor, Read};

use super::{TianwangReader, TianwangRecord, TianwangWriter, is_held, saved, whole_length};
use crate::delivery::Entry;
use crate::formats::beginning::{Beginning, Sign};
use crate::formats::encoder::Each;
use crate::formats::held::{Field, Held, Lacks, Part};
use crate::formats::inflate::{self, Inflating};
use crate::formats::records::{Codec, Input, Records};
use crate::formats::recovery::Recovery;
use crate::formats::shape::{Content, Shape, Stamp};
use crate::formats::table::{Files, Format, Row};

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

/// `length`: of the input. A length in a record that leads beyond is damage, where the input is not compressed as a whole.
pub(super) fn reader<R: Read>(input: R, length: u64) -> std::io::Result<TianwangReader<Unpacking<R>>> {
    let input = Unpacking::new(input)?;
    let is_plain = matches!(input, Unpacking::Plain(_));
    let reader = TianwangReader::new(input);
    Ok(if is_plain { reader.with_length(length) } else { reader })
}

/// A file of a format that knows nothing of compression, decompressed if it was compressed as a whole.
pub(super) enum Unpacking<R> {
    Plain(Chain<Cursor<Vec<u8>>, R>),
    Packed(Inflating<Chain<Cursor<Vec<u8>>, R>>),
}

impl<R: Read> Unpacking<R> {
    fn new(mut input: R) -> std::io::Result<Unpacking<R>> {
        let mut start = Vec::new();
        (&mut input).take(2).read_to_end(&mut start)?;
        let is_compressed = inflate::is_compressed(&start);
        let whole = Cursor::new(start).chain(input);
        Ok(if is_compressed { Unpacking::Packed(Inflating::new(whole)) } else { Unpacking::Plain(whole) })
    }
}

impl<R: Read> Read for Unpacking<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Unpacking::Plain(input) => input.read(buffer),
            Unpacking::Packed(stream) => {
                let chunk = stream.chunk().map_err(std::io::Error::other)?;
                let count = chunk.len().min(buffer.len());
                buffer[..count].copy_from_slice(&chunk[..count]);
                stream.consume(count);
                Ok(count)
            }
        }
    }
}
