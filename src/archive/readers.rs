//! The readers of all formats, told apart no more: a match arm a format.

use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::format::{Field, Format};
use super::read::{Item, Lacks, Records};
use super::recover::scan;
use super::small_files::{OnePage, Store, cbor_record, files_record, html_page, record_page};
use super::topic::{Partition, PartitionReader, Taken, TopicError};
use super::trees;
use crate::formats::cdr31::{self, CdrReader, CdrRecord};
use crate::formats::csv_cells::Cells;
use crate::formats::elastic::{self, ElasticDocument, ElasticReader};
use crate::formats::files::{self, FilesReader, FilesRecord};
use crate::formats::inflate::{self, Inflating};
use crate::formats::tianwang::{TianwangReader, TianwangRecord};
use crate::formats::warc::{DigestVerdict, WarcPages, WarcReader};
use crate::formats::web_index::WebIndexRecord;
use crate::page::PageEvent;

/// Opens a file of this format. `counter`: has the bytes read added.
pub(super) fn open_file(path: &Path, format: Format, counter: &Arc<AtomicU64>) -> std::io::Result<Box<dyn Records>> {
    let input = Counted { file: open_or_renamed(path)?, counter: counter.clone() };
    Ok(match format {
        Format::Files => Box::new(Codec {
            reader: FilesReader::new(input),
            lacks: |_, record: &FilesRecord| Lacks::default().and(Field::Relevance, !record.relevance.is_known()),
            event: |record: FilesRecord| Some(record.into_event()),
            stream: |reader| reader.stream(),
            truncated: FilesReader::truncated,
            offset: |reader| Some(reader.offset()),
            sound: Soundness::of(path),
            format,
            last: Lacks::default(),
        }),
        Format::Cdr31 => Box::new(Codec {
            reader: CdrReader::new(input),
            lacks: |_, _| Lacks::default(),
            event: |record: CdrRecord| Some(record.into_event()),
            stream: |reader| reader.stream(),
            truncated: CdrReader::truncated,
            offset: |reader| Some(reader.offset()),
            sound: Soundness::of(path),
            format,
            last: Lacks::default(),
        }),
        Format::Elastic => Box::new(Codec {
            reader: ElasticReader::new(input),
            lacks: |_, document: &ElasticDocument<'static>| elastic_lacks(document),
            event: |record: ElasticDocument<'static>| Some(record.into_event()),
            stream: |reader| reader.stream(),
            truncated: ElasticReader::truncated,
            offset: |reader| Some(reader.offset()),
            sound: Soundness::of(path),
            format,
            last: Lacks::default(),
        }),
        Format::WebIndex => Box::new(Codec {
            reader: Rows(Cells::new(input)),
            lacks: |_, _| Lacks::default(),
            event: |record: WebIndexRecord| Some(record.into_event()),
            stream: |rows| rows.0.stream(),
            truncated: |rows| rows.0.truncated(),
            offset: |_| None,
            sound: Soundness::of(path),
            format,
            last: Lacks::default(),
        }),
        Format::Warc => Box::new(Codec {
            reader: WarcPages::new(WarcReader::new(input)),
            lacks: |pages: &WarcPages<Counted>, event: &PageEvent| {
                let lacks = Lacks::default().and(Field::Status, !pages.has_status());
                lacks.and(Field::Relevance, !event.relevance.is_known())
            },
            event: |event: PageEvent| Some(event),
            stream: |_| None,
            truncated: WarcPages::truncated,
            offset: |_| None,
            sound: Soundness::of(path),
            format,
            last: Lacks::default(),
        }),
        Format::Tianwang => Box::new(Codec {
            reader: tianwang_of(input)?,
            lacks: |_, record: &TianwangRecord| {
                let is_bare = !record.has_status();
                Lacks::default().and(Field::Status, is_bare).and(Field::Headers, is_bare)
            },
            event: |record: TianwangRecord| Some(record.into_event()),
            stream: |_| None,
            truncated: TianwangReader::truncated,
            offset: |_| None,
            sound: Soundness::of(path),
            format,
            last: Lacks::default(),
        }),
        Format::Pagestore => Box::new(Store::open(path, input, counter)),
        Format::FilesystemHtml => {
            let url = trees::url_of_path(path);
            Box::new(OnePage::new(input, format, move |bytes| html_page(bytes, url)))
        }
        Format::FilesystemJson => Box::new(OnePage::new(input, format, record_page(path, files_record))),
        Format::FilesystemCbor => Box::new(OnePage::new(input, format, record_page(path, cbor_record))),
    })
}

/// The reader of a Tianwang file.
pub(super) fn tianwang(path: &Path, counter: &Arc<AtomicU64>) -> std::io::Result<TianwangReader<impl Read + use<>>> {
    tianwang_of(Counted { file: open_or_renamed(path)?, counter: counter.clone() })
}

fn tianwang_of(input: Counted) -> std::io::Result<TianwangReader<Unpacking>> {
    let length = input.file.metadata()?.len();
    let input = Unpacking::new(input)?;
    let is_plain = matches!(input, Unpacking::Plain(_));
    let reader = TianwangReader::new(input);
    Ok(if is_plain { reader.with_length(length) } else { reader })
}

/// Opens a file to see whether it is whole: as [`open_file`], and where records state digests these are compared.
pub(super) fn open_checked(path: &Path, format: Format, counter: &Arc<AtomicU64>) -> std::io::Result<Box<dyn Records>> {
    match format {
        Format::Warc => {
            let input = Counted { file: open_or_renamed(path)?, counter: counter.clone() };
            Ok(Box::new(CheckedWarc { reader: WarcReader::new(input), offset: 0 }))
        }
        _ => open_file(path, format, counter),
    }
}

/// Every record of a WARC file by itself, its digests compared. Responses count as pages.
struct CheckedWarc<R> {
    reader: WarcReader<R>,
    offset: u64,
}

impl<R: Read> Records for CheckedWarc<R> {
    fn next(&mut self) -> Option<Item> {
        let record = match self.reader.next()? {
            Ok(record) => record,
            Err(error) => return Some(Item::Problem(error.to_string())),
        };
        self.offset = record.place.offset;
        let check = record.check_digests();
        for (name, verdict) in [("block", check.block), ("payload", check.payload)] {
            if let DigestVerdict::Wrong { stated, found } = verdict {
                let text = format!(
                    "the {name} of the record at byte {} has the digest {found}, and the record says {stated}",
                    self.offset
                );
                return Some(Item::Problem(text));
            }
        }
        let is_page =
            matches!(record.kind(), "response" | "revisit" | "resource") && record.get("Seine-Redirects-To").is_none();
        let url = record.target_uri().unwrap_or_default();
        Some(if is_page { Item::Page(Box::new(PageEvent::read_back(url)), Format::Warc) } else { Item::Other })
    }

    fn offset(&self) -> Option<u64> {
        Some(self.offset)
    }

    fn truncated(&self) -> bool {
        self.reader.truncated()
    }
}

/// The web index's cells as records.
struct Rows<R>(Cells<R>);

impl<R: Read> Iterator for Rows<R> {
    type Item = Result<WebIndexRecord, String>;

    fn next(&mut self) -> Option<Self::Item> {
        let cell = self.0.next()?;
        let row = self.0.row();
        let record = cell.map_err(|error| error.to_string()).and_then(|cell| {
            serde_json::from_slice(&cell).map_err(|error| format!("row {row} is no record of a web index: {error}"))
        });
        // One that breaks off is no damage.
        Some(record).filter(|record| record.is_ok() || !self.0.unfinished())
    }
}

/// A file that was still being written when it was listed may have lost its `.open` since.
fn open_or_renamed(path: &Path) -> std::io::Result<File> {
    match (File::open(path), path.extension()) {
        (Err(error), Some(open)) if error.kind() == ErrorKind::NotFound && open == "open" => {
            File::open(path.with_extension(""))
        }
        (opened, _) => opened,
    }
}

/// A file whose reading is counted.
pub(super) struct Counted {
    pub file: File,
    pub counter: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.counter.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// A file of a format that knows nothing of compression, decompressed if it was compressed as a whole.
enum Unpacking {
    Plain(std::io::Chain<std::io::Cursor<Vec<u8>>, Counted>),
    Packed(Inflating<std::io::Chain<std::io::Cursor<Vec<u8>>, Counted>>),
}

impl Unpacking {
    fn new(mut input: Counted) -> std::io::Result<Unpacking> {
        let mut start = Vec::new();
        (&mut input).take(2).read_to_end(&mut start)?;
        let is_compressed = inflate::is_compressed(&start);
        let whole = std::io::Cursor::new(start).chain(input);
        Ok(if is_compressed { Unpacking::Packed(Inflating::new(whole)) } else { Unpacking::Plain(whole) })
    }
}

impl Read for Unpacking {
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

/// A codec's reader, and what its records are.
struct Codec<R, T> {
    reader: R,
    /// What a record lacks of what its format holds.
    lacks: fn(&R, &T) -> Lacks,
    event: fn(T) -> Option<PageEvent>,
    /// Where the compressed stream begins that is being read.
    stream: fn(&R) -> Option<u64>,
    sound: Soundness,
    truncated: fn(&R) -> bool,
    offset: fn(&R) -> Option<u64>,
    format: Format,
    /// Of the record that came last.
    last: Lacks,
}

impl<R, T, E> Records for Codec<R, T>
where
    R: Iterator<Item = Result<T, E>>,
    E: fmt::Display,
{
    fn next(&mut self) -> Option<Item> {
        if self.sound.has_ended {
            return None;
        }
        Some(match self.reader.next()? {
            Ok(record) => match self.event_of(record) {
                Some(event) => Item::Page(Box::new(event), self.format),
                None => Item::Other,
            },
            Err(error) => match (self.stream)(&self.reader) {
                Some(stream) if !self.sound.is_sound(stream) => {
                    self.sound.has_ended = true;
                    Item::Problem(format!("{error}; {DISTRUSTED}"))
                }
                _ => Item::Problem(error.to_string()),
            },
        })
    }

    fn offset(&self) -> Option<u64> {
        (self.offset)(&self.reader)
    }

    fn lacks(&self) -> Lacks {
        self.last
    }

    fn truncated(&self) -> bool {
        (self.truncated)(&self.reader)
    }
}

impl<R, T> Codec<R, T> {
    fn event_of(&mut self, record: T) -> Option<PageEvent> {
        self.last = (self.lacks)(&self.reader, &record);
        (self.event)(record)
    }
}

/// Of what is no HTML the content, and what others leave out.
fn elastic_lacks(document: &ElasticDocument<'_>) -> Lacks {
    let lacks = Lacks::default().and(Field::Body, document.html.is_none());
    let lacks = lacks.and(Field::Status, document.status.is_none());
    lacks.and(Field::Relevance, document.relevance.is_nan())
}

const DISTRUSTED: &str = "the compressed data around it is damaged, so that what follows may be anything: seine recover saves \
    what is behind the damage";

/// Whether what is read behind a bad record is what was written. By the same rule `seine recover` saves it.
struct Soundness {
    path: PathBuf,
    /// The stream that was looked at last, by its place, and whether it is sound.
    known: Option<(u64, bool)>,
    has_ended: bool,
}

impl Soundness {
    fn of(path: &Path) -> Soundness {
        Soundness { path: path.into(), known: None, has_ended: false }
    }

    fn is_sound(&mut self, stream: u64) -> bool {
        if let Some((known, is_sound)) = self.known
            && known == stream
        {
            return is_sound;
        }
        let is_sound = open_or_renamed(&self.path).and_then(|file| scan::is_sound(&file, stream)).unwrap_or(false);
        self.known = Some((stream, is_sound));
        is_sound
    }
}

/// A partition's messages, each in its own format.
struct Messages {
    reader: PartitionReader,
    last: u64,
    lacks: Lacks,
}

/// Opens a partition. `after`: the number of the last message that is of no interest, as [`Records::number`] gives it.
pub(super) fn open_topic(partition: &Partition, after: u64) -> Result<Box<dyn Records>, TopicError> {
    let after = after.checked_sub(1).and_then(|offset| i64::try_from(offset).ok());
    Ok(Box::new(Messages { reader: PartitionReader::open(partition, after)?, last: 0, lacks: Lacks::default() }))
}

impl Records for Messages {
    fn next(&mut self) -> Option<Item> {
        let taken = match self.reader.take()? {
            Ok(taken) => taken,
            Err(problem) => return Some(Item::Problem(problem)),
        };
        self.last = u64::try_from(taken.offset).unwrap_or_default() + 1;
        let (item, lacks) = message(&taken);
        self.lacks = lacks;
        Some(item)
    }

    fn lacks(&self) -> Lacks {
        self.lacks
    }

    fn number(&self) -> Option<u64> {
        Some(self.last)
    }
}

fn message(taken: &Taken) -> (Item, Lacks) {
    let (value, offset) = (&taken.value, taken.offset);
    let none = Lacks::default();
    let parsed = match taken.format {
        _ if value.is_empty() => return (Item::Other, none),
        Some(Format::Files | Format::FilesystemJson) => files::parse_line(value).map(|record| {
            let lacks = none.and(Field::Relevance, !record.relevance.is_known());
            (record.into_event(), Format::Files, lacks)
        }),
        Some(format @ Format::Cdr31) => cdr31::parse_document(value).map(|it| (it.into_event(), format, none)),
        Some(format @ Format::Elastic) => elastic::parse_document(value).map(|document| {
            let lacks = elastic_lacks(&document);
            (document.into_event(), format, lacks)
        }),
        _ => return (Item::Problem(format!("the message at offset {offset} is in none of the known formats")), none),
    };
    match parsed {
        Ok((event, format, lacks)) => (Item::Page(Box::new(event), format), lacks),
        Err(error) => (Item::Problem(format!("the message at offset {offset} cannot be read: {error}")), none),
    }
}
