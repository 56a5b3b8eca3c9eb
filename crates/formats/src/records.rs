//! Readers: turn files of any format into records.

use std::fmt;
use std::io::{Cursor, Read, Seek};
use std::path::{Path, PathBuf};

use super::Format;
use super::lines::JsonLines;
use super::stored_fields::MissingFields;
use seine_parse::page::PageEvent;

/// A seekable reader.
pub trait ReadSeek: Read + Seek {}

impl<T: Read + Seek> ReadSeek for T {}

/// Opens a file next to the one being read, by its path relative to that folder; none if it does not exist.
pub(crate) type OpenBeside = Box<dyn Fn(&Path) -> Result<Option<Box<dyn ReadSeek>>, String>>;

/// The input of a reader.
pub struct ReaderInput {
    pub bytes: Box<dyn ReadSeek>,
    pub length: u64,
    /// The file name may show the page; empty for the value of a message.
    pub path: PathBuf,
    pub beside: OpenBeside,
    /// Only check whether the input is intact: compare digests; of pages, only the URLs are needed.
    pub is_check: bool,
}

impl ReaderInput {
    /// An input without a file.
    pub fn alone(bytes: Vec<u8>) -> ReaderInput {
        ReaderInput {
            length: bytes.len() as u64,
            bytes: Box::new(Cursor::new(bytes)),
            path: PathBuf::new(),
            beside: Box::new(|_| Ok(None)),
            is_check: false,
        }
    }
}

/// What a record contains.
pub enum ArchiveRecord {
    Page(Box<PageEvent>),
    /// A record without a page, such as the description of a file.
    Other,
    Problem(String),
}

impl<E: fmt::Display> From<Result<PageEvent, E>> for ArchiveRecord {
    fn from(page: Result<PageEvent, E>) -> ArchiveRecord {
        match page {
            Ok(event) => ArchiveRecord::Page(Box::new(event)),
            Err(error) => ArchiveRecord::Problem(error.to_string()),
        }
    }
}

/// The reader of a format.
pub trait ArchiveReader {
    fn next(&mut self) -> Option<ArchiveRecord>;

    /// Start of the last record from [`next`](ArchiveReader::next).
    fn offset(&self) -> Option<u64> {
        None
    }

    /// Start of the compressed stream with that record; none if streams are not tracked.
    fn stream(&self) -> Option<u64> {
        None
    }

    /// Fields that this record lacks, in addition to those that its format never stores.
    fn lacks(&self) -> MissingFields {
        MissingFields::default()
    }

    /// For messages, which each have their own format: format and number (from 1) of the last one.
    fn message(&self) -> Option<(Format, u64)> {
        None
    }

    /// Whether the input is incomplete. Known at its end.
    fn truncated(&self) -> bool {
        false
    }
}

/// A codec's reader, and how to turn its records into events.
pub(super) struct CodecReader<R, T> {
    pub reader: R,
    pub event: fn(T) -> PageEvent,
    /// Fields that a record lacks although its format stores them.
    pub lacks: fn(&R, &T) -> MissingFields,
    pub truncated: fn(&R) -> bool,
    pub offset: fn(&R) -> Option<u64>,
    pub stream: fn(&R) -> Option<u64>,
    /// Of the last record.
    last: MissingFields,
}

impl<R, T> CodecReader<R, T> {
    /// For a reader that tracks neither positions nor streams.
    pub(crate) fn new(
        reader: R,
        event: fn(T) -> PageEvent,
        lacks: fn(&R, &T) -> MissingFields,
        truncated: fn(&R) -> bool,
    ) -> CodecReader<R, T> {
        CodecReader {
            reader,
            event,
            lacks,
            truncated,
            offset: |_| None,
            stream: |_| None,
            last: MissingFields::default(),
        }
    }
}

type Lines<T> = JsonLines<Box<dyn ReadSeek>, T>;

/// The records of a file with one record per line.
pub(super) fn of_lines<T: 'static>(
    reader: Lines<T>,
    event: fn(T) -> PageEvent,
    lacks: fn(&Lines<T>, &T) -> MissingFields,
) -> Box<dyn ArchiveReader> {
    let mut codec = CodecReader::new(reader, event, lacks, JsonLines::truncated);
    codec.offset = |reader| Some(reader.offset());
    codec.stream = |reader| reader.stream();
    Box::new(codec)
}

impl<R, T, E> ArchiveReader for CodecReader<R, T>
where
    R: Iterator<Item = Result<T, E>>,
    E: fmt::Display,
{
    fn next(&mut self) -> Option<ArchiveRecord> {
        let record = self.reader.next()?;
        let record = record.inspect(|record| self.last = (self.lacks)(&self.reader, record));
        Some(record.map(self.event).into())
    }

    fn offset(&self) -> Option<u64> {
        (self.offset)(&self.reader)
    }

    fn stream(&self) -> Option<u64> {
        (self.stream)(&self.reader)
    }

    fn lacks(&self) -> MissingFields {
        self.last
    }

    fn truncated(&self) -> bool {
        (self.truncated)(&self.reader)
    }
}

/// A single page, or why it cannot be read.
pub(super) struct SinglePage(pub Option<Result<PageEvent, String>>);

impl ArchiveReader for SinglePage {
    fn next(&mut self) -> Option<ArchiveRecord> {
        self.0.take().map(ArchiveRecord::from)
    }
}
