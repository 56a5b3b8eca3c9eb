//! Reading, whatever the format: files as records, told apart no more.

use std::fmt;
use std::io::{Cursor, Read, Seek};
use std::path::{Path, PathBuf};

use super::Format;
use super::held::Lacks;
use super::lines::JsonLines;
use crate::page::PageEvent;

/// Bytes that can be gone back in.
pub trait ReadSeek: Read + Seek {}

impl<T: Read + Seek> ReadSeek for T {}

/// Opens a file beside the one that is read, by its path below that one's folder; none when it is not there.
pub type OpenBeside = Box<dyn Fn(&Path) -> Result<Option<Box<dyn ReadSeek>>, String>>;

/// What is to be read.
pub struct ReaderInput {
    pub bytes: Box<dyn ReadSeek>,
    pub length: u64,
    /// Its name may tell what it is of; empty for a message's value.
    pub path: PathBuf,
    pub beside: OpenBeside,
    /// Only to see whether it is whole: digests are compared, and of the pages only the URLs needed.
    pub is_check: bool,
}

impl ReaderInput {
    /// Of bytes that stand alone.
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

/// What a record comes to.
pub enum ArchiveRecord {
    Page(Box<PageEvent>),
    /// A record that is no page, such as the one that describes a file.
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

/// A reader of some format.
pub trait ArchiveReader {
    fn next(&mut self) -> Option<ArchiveRecord>;

    /// Where the record begins that [`next`](ArchiveReader::next) gave last.
    fn offset(&self) -> Option<u64> {
        None
    }

    /// Where the compressed stream begins that it stands in; none where streams are not kept apart.
    fn stream(&self) -> Option<u64> {
        None
    }

    /// What that record lacks besides what its format does not hold.
    fn lacks(&self) -> Lacks {
        Lacks::default()
    }

    /// Of messages, which say each what they are: the format of the one that came last, and its number, from 1.
    fn message(&self) -> Option<(Format, u64)> {
        None
    }

    /// Whether the input breaks off. Known at its end.
    fn truncated(&self) -> bool {
        false
    }
}

/// A codec's reader, and what its records are.
pub(super) struct CodecReader<R, T> {
    pub reader: R,
    pub event: fn(T) -> PageEvent,
    /// What a record lacks of what its format holds.
    pub lacks: fn(&R, &T) -> Lacks,
    pub truncated: fn(&R) -> bool,
    pub offset: fn(&R) -> Option<u64>,
    pub stream: fn(&R) -> Option<u64>,
    /// Of the record that came last.
    last: Lacks,
}

impl<R, T> CodecReader<R, T> {
    /// Of a reader that knows neither places nor streams.
    pub fn new(
        reader: R,
        event: fn(T) -> PageEvent,
        lacks: fn(&R, &T) -> Lacks,
        truncated: fn(&R) -> bool,
    ) -> CodecReader<R, T> {
        CodecReader { reader, event, lacks, truncated, offset: |_| None, stream: |_| None, last: Lacks::default() }
    }
}

type Lines<T> = JsonLines<Box<dyn ReadSeek>, T>;

/// The records of a file with one a line.
pub(super) fn of_lines<T: 'static>(
    reader: Lines<T>,
    event: fn(T) -> PageEvent,
    lacks: fn(&Lines<T>, &T) -> Lacks,
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

    fn lacks(&self) -> Lacks {
        self.last
    }

    fn truncated(&self) -> bool {
        (self.truncated)(&self.reader)
    }
}

/// What is one page, or why it is none.
pub(super) struct SinglePage(pub Option<Result<PageEvent, String>>);

impl ArchiveReader for SinglePage {
    fn next(&mut self) -> Option<ArchiveRecord> {
        self.0.take().map(ArchiveRecord::from)
    }
}
