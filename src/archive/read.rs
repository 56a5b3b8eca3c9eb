//! Any part of an archive as pages, each with its place. One record at a time: memory does not grow with the archive.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::format::{Field, Format, Held};
use super::readers;
use super::source::{Input, Part};
use crate::page::{PageEvent, Relevance};
use crate::parse::is_html;

/// A page, and where it was.
#[derive(Debug, Clone)]
pub struct Page {
    pub event: PageEvent,
    pub format: Format,
    pub place: Place,
    /// What stands in the event, because one cannot be without it, and in the archive not.
    pub lacks: Lacks,
}

/// Fields that nothing is known of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lacks(u32);

impl Lacks {
    /// Those of all pages of a format.
    fn of(format: Format) -> Lacks {
        let fields = Field::ALL.into_iter().filter(|field| format.holds(*field) == Held::No);
        fields.fold(Lacks::default(), |lacks, field| lacks.and(field, true))
    }

    /// And this one too, if so.
    pub(super) fn and(self, field: Field, is_lacking: bool) -> Lacks {
        Lacks(self.0 | u32::from(is_lacking) << field as u32)
    }

    pub fn has(self, field: Field) -> bool {
        self.0 & 1 << field as u32 != 0
    }
}

impl std::ops::BitOr for Lacks {
    type Output = Lacks;

    fn bitor(self, other: Lacks) -> Lacks {
        Lacks(self.0 | other.0)
    }
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

    /// What that record lacks besides what its format does not hold.
    fn lacks(&self) -> Lacks {
        Lacks::default()
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
            Input::File { path, format } => {
                readers::open_file(path, *format, counter).map_err(|e| failed(e.to_string()))?
            }
            Input::Topic(partition) => readers::open_topic(partition, after).map_err(|e| failed(e.to_string()))?,
        };
        let mut pages = Pages { part: part.name.clone(), records, number: 0, others: 0 };
        while matches!(part.input, Input::File { .. }) && pages.number < after && pages.step().is_some() {}
        Ok(pages)
    }

    /// All of a part, to see whether it is whole. Of formats whose records state digests these are compared, and of the
    /// pages only the URLs given.
    pub fn check(part: &Part, counter: &Arc<AtomicU64>) -> Result<Pages, OpenError> {
        let Input::File { path, format } = &part.input else { return Pages::open(part, 0, counter) };
        let opened = readers::open_checked(path, *format, counter);
        let records = opened.map_err(|error| OpenError { part: part.name.clone(), problem: error.to_string() })?;
        Ok(Pages { part: part.name.clone(), records, number: 0, others: 0 })
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
                    let lacks = Lacks::of(format) | self.records.lacks();
                    let lacks = lacks.and(Field::Fetched, event.ended_ms == 0);
                    return Some(Ok(Page { event: completed(*event, lacks), format, place, lacks }));
                }
                Item::Problem(text) => return Some(Err(Problem { place, text })),
                Item::Other => self.others += 1,
            }
        }
    }
}

/// What is not known of a page, and an event cannot be without.
fn completed(mut event: PageEvent, lacks: Lacks) -> PageEvent {
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

/// What a file's name says it was: its writer has not ended it yet.
pub fn is_being_written(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "open")
}
