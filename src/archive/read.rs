//! Any part of an archive as pages, each with its place. One record at a time: memory does not grow with the archive.

use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::detect;
use super::format::{Field, Format, Held};
use super::source::{Input, Part};
use super::topic::{Partition, PartitionReader, Taken};
use crate::formats::cbor;
use crate::formats::cdr31::{self, CdrReader, CdrRecord};
use crate::formats::csv_cells::Cells;
use crate::formats::elastic::{self, ElasticDocument, ElasticReader};
use crate::formats::files::{self, FilesReader, FilesRecord};
use crate::formats::web_index::WebIndexRecord;
use crate::page::{Outcome, PageEvent, Relevance};
use crate::parse::is_html;

/// A file that is one page is no larger.
const MAX_PAGE_FILE: u64 = 256 << 20;

/// A page, and where it was.
#[derive(Debug, Clone)]
pub struct Page {
    pub event: PageEvent,
    pub format: Format,
    pub place: Place,
}

/// Where something is in an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub part: Arc<str>,
    /// The how manieth record of its part, from 1, unreadable ones counted; of a topic the message's offset and 1.
    pub number: u64,
    /// Where it begins, in bytes of the decompressed part or, where records are compressed one by one, of the file. None
    /// where there are no such bytes.
    pub offset: Option<u64>,
}

/// A record that could not be read, or is not as it should be.
#[derive(Debug, Clone)]
pub struct Problem {
    pub place: Place,
    pub text: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place.part, self.text)
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{part}: {problem}")]
pub struct OpenError {
    part: Arc<str>,
    problem: String,
}

/// What a part's record comes to.
pub(super) enum Item {
    Page(Box<PageEvent>, Format),
    /// A record that is no page, such as the one that describes a file.
    Other,
    Problem(String),
}

/// A reader of some format, told apart no more.
pub(super) trait Records {
    fn next(&mut self) -> Option<Item>;

    /// Number of the record that [`next`](Records::next) gave last, where records have numbers of their own.
    fn number(&self) -> Option<u64> {
        None
    }

    /// Where that record begins.
    fn offset(&self) -> Option<u64> {
        None
    }

    /// Whether the part breaks off. Known at its end.
    fn truncated(&self) -> bool {
        false
    }
}

/// The pages of one part, in order.
pub struct Pages {
    part: Arc<str>,
    records: Box<dyn Records>,
    number: u64,
    others: u64,
}

impl Pages {
    /// `after`: the number of the last record that is of no interest; 0 for all. `counter`: has the bytes read from disk
    /// added.
    pub fn open(part: &Part, after: u64, counter: &Arc<AtomicU64>) -> Result<Pages, OpenError> {
        let failed = |problem: String| OpenError { part: part.name.clone(), problem };
        let records: Box<dyn Records> = match &part.input {
            Input::File { path, format } => open_file(path, *format, counter).map_err(|e| failed(e.to_string()))?,
            Input::Topic(partition) => open_topic(partition, after).map_err(|e| failed(e.to_string()))?,
        };
        let mut pages = Pages { part: part.name.clone(), records, number: 0, others: 0 };
        while matches!(part.input, Input::File { .. }) && pages.number < after && pages.step().is_some() {}
        Ok(pages)
    }

    /// Whether the part breaks off, as when its writer was killed or still writes. Known at its end.
    pub fn truncated(&self) -> bool {
        self.records.truncated()
    }

    /// The part that is read.
    pub fn part(&self) -> &Arc<str> {
        &self.part
    }

    /// Records so far that are no pages and need not be.
    pub fn others(&self) -> u64 {
        self.others
    }

    fn step(&mut self) -> Option<Item> {
        let item = self.records.next()?;
        self.number = self.records.number().unwrap_or(self.number + 1);
        Some(item)
    }
}

impl Iterator for Pages {
    type Item = Result<Page, Problem>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let item = self.step()?;
            let place = Place { part: self.part.clone(), number: self.number, offset: self.records.offset() };
            match item {
                Item::Page(event, format) => {
                    return Some(Ok(Page { event: completed(*event, format), format, place }));
                }
                Item::Problem(text) => return Some(Err(Problem { place, text })),
                Item::Other => self.others += 1,
            }
        }
    }
}

/// What a format does not hold, and a page cannot be without.
fn completed(mut event: PageEvent, format: Format) -> PageEvent {
    if format.holds(Field::Started) == Held::No {
        event.started_ms = event.ended_ms;
    }
    if format.holds(Field::Relevance) == Held::No {
        let is_html = event.response().is_some_and(|it| is_html(it.content_type(), &it.body));
        event.relevance = Relevance::by_type(is_html);
    }
    if event.id.is_empty() {
        event.give_id();
    }
    event
}

fn open_file(path: &Path, format: Format, counter: &Arc<AtomicU64>) -> std::io::Result<Box<dyn Records>> {
    let input = Counted { file: open_or_renamed(path)?, counter: counter.clone() };
    Ok(match format {
        Format::Files | Format::FilesystemJson => Box::new(Codec {
            reader: FilesReader::new(input),
            event: |record: FilesRecord| Some(record.into_event()),
            truncated: FilesReader::truncated,
            offset: |reader| Some(reader.offset()),
            format,
        }),
        Format::Cdr31 => Box::new(Codec {
            reader: CdrReader::new(input),
            event: |record: CdrRecord| Some(record.into_event()),
            truncated: CdrReader::truncated,
            offset: |reader| Some(reader.offset()),
            format,
        }),
        Format::Elastic => Box::new(Codec {
            reader: ElasticReader::new(input),
            event: |record: ElasticDocument<'static>| Some(record.into_event()),
            truncated: ElasticReader::truncated,
            offset: |reader| Some(reader.offset()),
            format,
        }),
        Format::WebIndex => Box::new(Codec {
            reader: Rows(Cells::new(input)),
            event: |record: WebIndexRecord| Some(record.into_event()),
            truncated: |rows| rows.0.truncated(),
            offset: |_| None,
            format,
        }),
        Format::FilesystemHtml => {
            let url = detect::url_of_path(path);
            Box::new(OnePage::new(input, format, move |bytes| html_page(bytes, url)))
        }
        Format::FilesystemCbor => Box::new(OnePage::new(input, format, |bytes| {
            cbor::parse(&bytes).map(|record| record.into_event()).map_err(|error| error.to_string())
        })),
    })
}

/// The web index's cells as records.
struct Rows<R>(Cells<R>);

impl<R: Read> Iterator for Rows<R> {
    type Item = Result<WebIndexRecord, String>;

    fn next(&mut self) -> Option<Self::Item> {
        let cell = self.0.next()?;
        let row = self.0.row();
        Some(cell.map_err(|error| error.to_string()).and_then(|cell| {
            serde_json::from_slice(&cell).map_err(|error| format!("row {row} is no record of a web index: {error}"))
        }))
    }
}

fn html_page(body: Vec<u8>, url: Option<String>) -> Result<PageEvent, String> {
    let url = url.ok_or("its name tells no URL, as when names are hashed; FILESYSTEM_HTML holds none elsewhere")?;
    let mut event = PageEvent::read_back(url);
    if let Outcome::Response(response) = &mut event.outcome {
        response.body = body.into();
    }
    Ok(event)
}

type ReadPage = Box<dyn FnOnce(Vec<u8>) -> Result<PageEvent, String>>;

/// A file that is one page, read whole; a zlib stream or not.
struct OnePage {
    input: Option<(Counted, ReadPage)>,
    format: Format,
}

impl OnePage {
    fn new(
        input: Counted,
        format: Format,
        page: impl FnOnce(Vec<u8>) -> Result<PageEvent, String> + 'static,
    ) -> OnePage {
        OnePage { input: Some((input, Box::new(page))), format }
    }
}

impl Records for OnePage {
    fn next(&mut self) -> Option<Item> {
        let (input, page) = self.input.take()?;
        let event = read_limited(input)
            .map_err(|error| format!("reading it failed: {error}"))
            .and_then(|bytes| page(unpacked(bytes)));
        Some(match event {
            Ok(event) => Item::Page(Box::new(event), self.format),
            Err(problem) => Item::Problem(problem),
        })
    }
}

fn read_limited(input: impl Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(MAX_PAGE_FILE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_PAGE_FILE {
        return Err(std::io::Error::other(format!("it is larger than {MAX_PAGE_FILE} bytes, as no page is")));
    }
    Ok(bytes)
}

/// What a zlib stream holds, if that is what all of the bytes are.
fn unpacked(bytes: Vec<u8>) -> Vec<u8> {
    let mut decoder = flate2::bufread::ZlibDecoder::new(bytes.as_slice());
    let mut plain = Vec::new();
    let read = (&mut decoder).take(MAX_PAGE_FILE).read_to_end(&mut plain);
    if read.is_ok() && decoder.into_inner().is_empty() { plain } else { bytes }
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
struct Counted {
    file: File,
    counter: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.counter.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// A codec's reader, and what its records are.
struct Codec<R, T> {
    reader: R,
    event: fn(T) -> Option<PageEvent>,
    truncated: fn(&R) -> bool,
    offset: fn(&R) -> Option<u64>,
    format: Format,
}

impl<R, T, E> Records for Codec<R, T>
where
    R: Iterator<Item = Result<T, E>>,
    E: fmt::Display,
{
    fn next(&mut self) -> Option<Item> {
        Some(match self.reader.next()? {
            Ok(record) => match (self.event)(record) {
                Some(event) => Item::Page(Box::new(event), self.format),
                None => Item::Other,
            },
            Err(error) => Item::Problem(error.to_string()),
        })
    }

    fn offset(&self) -> Option<u64> {
        (self.offset)(&self.reader)
    }

    fn truncated(&self) -> bool {
        (self.truncated)(&self.reader)
    }
}

/// A partition's messages, each in its own format.
struct Messages {
    reader: PartitionReader,
    last: u64,
}

fn open_topic(partition: &Partition, after: u64) -> Result<Box<dyn Records>, super::topic::TopicError> {
    let after = after.checked_sub(1).and_then(|offset| i64::try_from(offset).ok());
    Ok(Box::new(Messages { reader: PartitionReader::open(partition, after)?, last: 0 }))
}

impl Records for Messages {
    fn next(&mut self) -> Option<Item> {
        let taken = match self.reader.take()? {
            Ok(taken) => taken,
            Err(problem) => return Some(Item::Problem(problem)),
        };
        self.last = u64::try_from(taken.offset).unwrap_or_default() + 1;
        Some(message(&taken))
    }

    fn number(&self) -> Option<u64> {
        Some(self.last)
    }
}

fn message(taken: &Taken) -> Item {
    let (value, offset) = (&taken.value, taken.offset);
    let parsed = match taken.format {
        _ if value.is_empty() => return Item::Other,
        Some(format @ (Format::Files | Format::FilesystemJson)) => {
            files::parse_line(value).map(|it| (it.into_event(), format))
        }
        Some(format @ Format::Cdr31) => cdr31::parse_document(value).map(|it| (it.into_event(), format)),
        Some(format @ Format::Elastic) => elastic::parse_document(value).map(|it| (it.into_event(), format)),
        _ => return Item::Problem(format!("the message at offset {offset} is in none of the known formats")),
    };
    match parsed {
        Ok((event, format)) => Item::Page(Box::new(event), format),
        Err(error) => Item::Problem(format!("the message at offset {offset} cannot be read: {error}")),
    }
}

/// What a file's name says it was: its writer has not ended it yet.
pub fn is_being_written(name: &str) -> bool {
    PathBuf::from(name).extension().is_some_and(|extension| extension == "open")
}
