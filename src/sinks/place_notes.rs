//! A sink's notes of where events of the log went: few, bounded and never synced, for people who ask where a page is
//! (`seine why`). Nothing depends on them: what is lost, or was forgotten, is only not told.
//!
//! Lines of JSON, each a [`Span`] of events that went to one place or near each other. Who looks for an event reads there
//! what stands between. Of events that were delivered twice the later span holds.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::sink::SinkContext;
use crate::folders::{if_there, make_private};

/// In the data folder: beside the sinks' own, in which others look for pages alone. Each sink has one of its name there.
pub const FOLDER: &str = "~places";
const FILE: &str = "notes";
const OLD: &str = "notes.old";
/// A larger file is put aside, in the place of the one before: about ten million events are remembered.
const FILE_BYTES: u64 = 4 << 20;
/// Events of a span, and so many more for each partition.
const EVENTS: u64 = 256;
const EVENTS_A_PARTITION: u64 = 16;
/// The open span is written again no more often.
const EVERY: Duration = Duration::from_millis(200);

/// Events of the log, by their numbers, those between included, and where they went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    pub from: u64,
    pub to: u64,
    pub place: NotedPlace,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotedPlace {
    /// The first and the last offset, by partition.
    Offsets(BTreeMap<i32, (i64, i64)>),
    /// A file, the how manieth page in it, from 1, is the first, and where its record begins, in bytes; 0 in a stream.
    File { name: String, page: u64, start: u64 },
}

impl NotedPlace {
    pub fn offset(partition: i32, offset: i64) -> NotedPlace {
        NotedPlace::Offsets(BTreeMap::from([(partition, (offset, offset))]))
    }
}

impl Span {
    /// Takes in what comes behind it; false when that is another span.
    fn takes(&mut self, index: u64, place: &NotedPlace) -> bool {
        let most = match &self.place {
            NotedPlace::Offsets(offsets) => EVENTS + EVENTS_A_PARTITION * offsets.len() as u64,
            NotedPlace::File { .. } => EVENTS,
        };
        if index <= self.to || index >= self.from + most {
            return false;
        }
        match (&mut self.place, place) {
            (NotedPlace::Offsets(known), NotedPlace::Offsets(more)) => {
                for (partition, (first, last)) in more {
                    let known = known.entry(*partition).or_insert((*first, *last));
                    *known = (known.0.min(*first), known.1.max(*last));
                }
            }
            (NotedPlace::File { name, .. }, NotedPlace::File { name: same, .. }) if name == same => {}
            _ => return false,
        }
        self.to = index;
        true
    }
}

/// Takes notes for one sink, if somebody wants them.
pub(super) struct PlaceNotes {
    /// None: none are taken, or one could not be written. Nobody waits for notes.
    folder: Option<PathBuf>,
    /// Made with the first note.
    file: Option<File>,
    /// Being filled, and where its line begins in the file.
    open: Option<(Span, u64)>,
    /// When it was written last, if it is as it was then.
    written: Option<Instant>,
    last_written: Option<Instant>,
}

impl PlaceNotes {
    /// Nothing is made before the first note.
    pub fn new(context: &SinkContext) -> PlaceNotes {
        let folder = context.notes_places.then(|| notes_of(&context.folder));
        PlaceNotes { folder, file: None, open: None, written: None, last_written: None }
    }

    /// Event number `index` is at `place`. In order of the events.
    pub fn add(&mut self, index: u64, place: impl FnOnce() -> Option<NotedPlace>) {
        let Some(place) = self.folder.as_ref().and_then(|_| place()) else { return };
        let is_taken = self.open.as_mut().is_some_and(|(span, _)| span.takes(index, &place));
        if !is_taken {
            let start = self.end_span();
            self.open = Some((Span { from: index, to: index, place }, start));
        }
        self.written = None;
    }

    /// Writes what is new, now and then; `now`: at once.
    pub fn write(&mut self, now: bool) {
        let is_early = self.last_written.is_some_and(|last| last.elapsed() < EVERY) && !now;
        if self.open.is_some() && self.written.is_none() && !is_early {
            self.write_span();
        }
    }

    /// Where the next span begins in the file.
    fn end_span(&mut self) -> u64 {
        if self.written.is_none() {
            self.write_span();
        }
        self.open.take().map_or(0, |(span, start)| start + line(&span).len() as u64)
    }

    fn write_span(&mut self) {
        let (Some(folder), Some((span, mut start))) = (self.folder.clone(), self.open.take()) else { return };
        let written = self.file_for(&folder, &mut start).and_then(|file| file.write_all_at(&line(&span), start));
        if let Err(error) = written {
            self.folder = None;
            let path = folder.display();
            tracing::warn!(%path, %error, "where pages go cannot be noted; seine why will not tell it of those from now on");
        }
        self.open = Some((span, start));
        self.last_written = Some(Instant::now());
        self.written = self.last_written;
    }

    /// The file, for a line at `start`: moved to its end when it was just opened or put aside.
    fn file_for(&mut self, folder: &Path, start: &mut u64) -> std::io::Result<&File> {
        if self.file.is_some() && *start > FILE_BYTES {
            std::fs::rename(folder.join(FILE), folder.join(OLD))?;
            self.file = None;
        }
        match &mut self.file {
            Some(file) => Ok(file),
            none => {
                make_private(folder)?;
                let path = folder.join(FILE);
                let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)?;
                *start = file.metadata()?.len();
                Ok(none.insert(file))
            }
        }
    }
}

/// `folder`: the sink's own.
fn notes_of(folder: &Path) -> PathBuf {
    folder.with_file_name(FOLDER).join(folder.file_name().unwrap_or_default())
}

impl Drop for PlaceNotes {
    fn drop(&mut self) {
        self.write(true);
    }
}

/// A span only grows while it is open, and so does its line: one stands where the other stood. The line feed before it ends
/// what a crash may have cut.
fn line(span: &Span) -> Vec<u8> {
    format!("\n{}\n", serde_json::to_string(span).unwrap_or_default()).into_bytes()
}

/// The last span that has event number `index`; none: it was not noted, or is forgotten.
pub(super) fn find(folder: &Path, index: u64) -> std::io::Result<Option<Span>> {
    for name in [FILE, OLD] {
        let Some(text) = if_there(std::fs::read(notes_of(folder).join(name)))? else { continue };
        let spans = text.rsplit(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Span>(line).ok());
        if let Some(span) = spans.into_iter().find(|span| (span.from..=span.to).contains(&index)) {
            return Ok(Some(span));
        }
    }
    Ok(None)
}
