//! Reads any input of an archive as pages with their locations. Reads one record at a time, so memory does not grow
//! with the archive.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use seine_formats::Format;
use seine_formats::records::{ArchiveReader, ArchiveRecord};
use seine_formats::stored_fields::{Field, MissingFields};
use seine_parse::is_html;
use seine_parse::page::{PageEvent, Relevance};

use super::inputs::{ArchiveInput, InputKind};
use super::readers;
use super::topic::PartitionReader;

/// A page and its location.
#[derive(Debug, Clone)]
pub struct Page {
    pub event: PageEvent,
    pub format: Format,
    pub location: RecordLocation,
    /// Fields that an event must have but the archive does not; the event has made-up values.
    pub lacks: MissingFields,
}

/// A location in an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordLocation {
    pub input: Arc<str>,
    /// Number of the record in its input, from 1, including unreadable ones. In a topic: the message's offset plus 1.
    pub number: u64,
    /// Start of the record: in bytes of the decompressed input, or of the file if records are compressed one by one.
    /// None if there is no such offset.
    pub offset: Option<u64>,
}

/// A record that is unreadable or invalid.
#[derive(Debug, Clone)]
pub struct Problem {
    pub location: RecordLocation,
    pub text: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location.input, self.text)
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{input}: {problem}")]
pub struct OpenError {
    input: Arc<str>,
    problem: String,
}

const DISTRUSTED: &str = "the compressed data around it is damaged, so the rest cannot be trusted: seine recover saves \
    the records after the damage";

/// The pages of one input, in order.
pub struct Pages {
    input: Arc<str>,
    /// Path of a file.
    path: Option<PathBuf>,
    records: Box<dyn ArchiveReader>,
    /// Start of the last stream that was checked, if it is intact.
    sound: Option<u64>,
    /// The rest of the file cannot be trusted, so reading has stopped.
    has_ended: bool,
    /// Of the last record.
    format: Format,
    number: u64,
    others: u64,
}

impl Pages {
    /// `after`: number of the last record to skip; 0 for none. Adds the bytes read from disk to `counter`.
    pub fn open(input: &ArchiveInput, after: u64, counter: &Arc<AtomicU64>) -> Result<Pages, OpenError> {
        let mut pages = Pages::new(input, after, counter, false)?;
        while matches!(input.input, InputKind::File { .. }) && pages.number < after && pages.step().is_some() {}
        Ok(pages)
    }

    /// Opens an input to check that it is intact. Compares digests where records state them. Pages contain only their
    /// URL.
    pub fn check(input: &ArchiveInput, counter: &Arc<AtomicU64>) -> Result<Pages, OpenError> {
        Pages::new(input, 0, counter, true)
    }

    fn new(input: &ArchiveInput, after: u64, counter: &Arc<AtomicU64>, is_check: bool) -> Result<Pages, OpenError> {
        let failed = |problem| OpenError { input: input.name.clone(), problem };
        let (path, records, format): (_, Box<dyn ArchiveReader>, _) = match &input.input {
            InputKind::File { path, format } => {
                let records = readers::open_file(path, *format, 0, counter, is_check);
                (Some(path.clone()), records.map_err(|error| failed(error.to_string()))?, *format)
            }
            InputKind::Topic(partition) => {
                let messages = PartitionReader::open(partition, after).map_err(|error| failed(error.to_string()))?;
                (None, Box::new(messages), Format::ALL[0])
            }
        };
        let input = input.name.clone();
        Ok(Pages { input, path, records, sound: None, has_ended: false, format, number: 0, others: 0 })
    }

    /// Whether the input is incomplete, because its writer was killed or still writes. Known only at the end.
    pub fn truncated(&self) -> bool {
        self.records.truncated()
    }

    /// The input being read.
    pub fn input(&self) -> &Arc<str> {
        &self.input
    }

    /// Number of records so far that are no pages and need not be.
    pub fn others(&self) -> u64 {
        self.others
    }

    /// Reads the next record. After a bad record in a damaged stream it stops, since the following data may differ from
    /// what was written. `seine recover` uses the same rule.
    fn step(&mut self) -> Option<ArchiveRecord> {
        if self.has_ended {
            return None;
        }
        let record = self.records.next()?;
        self.number += 1;
        if let Some((format, number)) = self.records.message() {
            (self.format, self.number) = (format, number);
        }
        match (record, self.records.stream()) {
            (ArchiveRecord::Problem(problem), Some(stream)) if !self.is_sound(stream) => {
                self.has_ended = true;
                Some(ArchiveRecord::Problem(format!("{problem}; {DISTRUSTED}")))
            }
            (record, _) => Some(record),
        }
    }

    fn is_sound(&mut self, stream: u64) -> bool {
        if self.sound != Some(stream) {
            self.sound = Some(stream).filter(|at| self.path.as_ref().is_some_and(|path| readers::is_sound(path, *at)));
        }
        self.sound.is_some()
    }
}

impl Iterator for Pages {
    type Item = Result<Page, Problem>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let item = self.step()?;
            let format = self.format;
            let location =
                RecordLocation { input: self.input.clone(), number: self.number, offset: self.records.offset() };
            match item {
                ArchiveRecord::Page(event) => {
                    let lacks = format.lacks(self.records.lacks()).and(Field::Fetched, event.ended_ms == 0);
                    return Some(Ok(Page { event: completed(*event, lacks), format, location, lacks }));
                }
                ArchiveRecord::Problem(text) => return Some(Err(Problem { location, text })),
                ArchiveRecord::Other => self.others += 1,
            }
        }
    }
}

/// Fills in what an event must have, for pages that lack it.
fn completed(mut event: PageEvent, lacks: MissingFields) -> PageEvent {
    if lacks.has(Field::Started) {
        event.started_ms = event.ended_ms;
    }
    if lacks.has(Field::Relevance) {
        let is_html = event.response().is_some_and(|it| is_html(it.content_type(), &it.body));
        event.relevance = Relevance::by_type(is_html);
    }
    if event.id.is_empty() {
        event.give_id();
    }
    event
}
