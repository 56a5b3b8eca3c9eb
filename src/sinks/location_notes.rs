//! A sink's notes about where it put its events, for people who ask where a page is (`seine why`). The notes are few,
//! bounded and never synced. Nothing depends on them: without a note, the answer is unknown.
//!
//! A notes file has lines of JSON. Each is a [`Span`] of events that went to one place or close together. To find an
//! event, search the places of its span. If an event was delivered twice, the later span counts.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use seine_system::folders::{if_there, make_private};
use serde::{Deserialize, Serialize};

use super::sink::SinkContext;

/// In the data folder, with one folder per sink. Not inside the sinks' own folders, where other programs expect only
/// pages.
pub(crate) const FOLDER: &str = "~places";
const FILE: &str = "notes";
const OLD: &str = "notes.old";
/// A larger file is renamed and replaces the old one. So about ten million events are remembered.
const FILE_BYTES: u64 = 4 << 20;
/// Number of events in a span, plus some for each partition.
const EVENTS: u64 = 256;
const EVENTS_A_PARTITION: u64 = 16;
/// The open span is rewritten at most this often.
const EVERY: Duration = Duration::from_millis(200);

/// A range of events of the log, by index, and where they went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Span {
    pub from: u64,
    pub to: u64,
    /// Stored as `place`: notes of earlier versions stay readable.
    #[serde(rename = "place")]
    pub location: RecordedLocation,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RecordedLocation {
    /// The first and the last offset, by partition.
    Offsets(BTreeMap<i32, (i64, i64)>),
    /// A file, the number (from 1) of its first page in the span, and that record's offset in bytes; 0 for a compressed
    /// stream.
    File { name: String, page: u64, start: u64 },
}

impl RecordedLocation {
    pub(crate) fn offset(partition: i32, offset: i64) -> RecordedLocation {
        RecordedLocation::Offsets(BTreeMap::from([(partition, (offset, offset))]))
    }
}

impl Span {
    /// Adds the next event. Returns false if it belongs to another span.
    fn takes(&mut self, index: u64, location: &RecordedLocation) -> bool {
        let most = match &self.location {
            RecordedLocation::Offsets(offsets) => EVENTS + EVENTS_A_PARTITION * offsets.len() as u64,
            RecordedLocation::File { .. } => EVENTS,
        };
        if index <= self.to || index >= self.from + most {
            return false;
        }
        match (&mut self.location, location) {
            (RecordedLocation::Offsets(known), RecordedLocation::Offsets(more)) => {
                for (partition, (first, last)) in more {
                    let known = known.entry(*partition).or_insert((*first, *last));
                    *known = (known.0.min(*first), known.1.max(*last));
                }
            }
            (RecordedLocation::File { name, .. }, RecordedLocation::File { name: same, .. }) if name == same => {}
            _ => return false,
        }
        self.to = index;
        true
    }
}

/// Writes the notes of one sink, if they are wanted.
pub(super) struct LocationNotes {
    /// None if no notes are wanted, or writing one has failed. Delivery never waits for notes.
    folder: Option<PathBuf>,
    /// Created with the first note.
    file: Option<File>,
    /// The span being filled, and the offset of its line in the file.
    open: Option<(Span, u64)>,
    /// When the open span was written, if it has not changed since.
    written: Option<Instant>,
    last_written: Option<Instant>,
}

impl LocationNotes {
    /// Creates nothing before the first note.
    pub(super) fn new(context: &SinkContext) -> LocationNotes {
        let folder = context.records_locations.then(|| notes_of(&context.folder));
        LocationNotes { folder, file: None, open: None, written: None, last_written: None }
    }

    /// Records that event `index` is at `place`. Events must come in order.
    pub(super) fn add(&mut self, index: u64, location: impl FnOnce() -> Option<RecordedLocation>) {
        let Some(location) = self.folder.as_ref().and_then(|_| location()) else { return };
        let is_taken = self.open.as_mut().is_some_and(|(span, _)| span.takes(index, &location));
        if !is_taken {
            let start = self.end_span();
            self.open = Some((Span { from: index, to: index, location }, start));
        }
        self.written = None;
    }

    /// Writes changes at most every [`EVERY`]; `now`: at once.
    pub(super) fn write(&mut self, now: bool) {
        let is_early = self.last_written.is_some_and(|last| last.elapsed() < EVERY) && !now;
        if self.open.is_some() && self.written.is_none() && !is_early {
            self.write_span();
        }
    }

    /// Ends the open span. Returns where the next one begins in the file.
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
            tracing::warn!(%path, %error, "the places of pages cannot be recorded; seine why will not know those of new pages");
        }
        self.open = Some((span, start));
        self.last_written = Some(Instant::now());
        self.written = self.last_written;
    }

    /// The file for a line at `start`. Changes `start` to the end of the file if the file was just opened or renamed.
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

/// `folder` is the sink's own.
fn notes_of(folder: &Path) -> PathBuf {
    folder.with_file_name(FOLDER).join(folder.file_name().unwrap_or_default())
}

impl Drop for LocationNotes {
    fn drop(&mut self) {
        self.write(true);
    }
}

/// An open span only grows, and so does its line, which can be overwritten in place. The leading line feed ends a line
/// that a crash cut.
fn line(span: &Span) -> Vec<u8> {
    format!("\n{}\n", serde_json::to_string(span).unwrap_or_default()).into_bytes()
}

/// The last span with event `index`; none if there is no such note.
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
