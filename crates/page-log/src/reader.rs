//! Reading: events in order, from memory for readers that keep up, otherwise from the segments.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::cursor_file::{self, CursorFile, cursors_dir};
use super::error::LogError;
use super::hold::Hold;
use super::log::{Inner, PageLog, beyond};
use super::segment::{self, Found, SegmentFile};
use super::state::{Segment, Slot, State};
use super::status::Damage;
use seine_delivery::{Cursor, Entry, Offset};
use seine_parse::page::codec;
use seine_simulation_hooks::planted;

/// Longest single wait; a longer `wait` is shortened to it.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// A reader of the log. Its calls block, so it needs its own thread.
#[derive(Debug)]
pub struct Reader {
    inner: Arc<Inner>,
    name: String,
    file: CursorFile,
    /// The last committed cursor.
    cursor: Cursor,
    /// The position after the last event returned.
    position: Offset,
    /// Damaged ranges that were passed and not yet committed.
    passed: VecDeque<(Offset, Offset)>,
    segment: Option<SegmentFile>,
}

impl PageLog {
    /// Opens a reader with a durable cursor, as sinks have. A new reader starts at the oldest event. The log is kept
    /// from its cursor on, also in later runs, until its cursor file is deleted.
    pub fn reader(&self, name: &str) -> Result<Reader, LogError> {
        self.open_as(name, |dir, kept_from| {
            let file = match CursorFile::load(dir, name)? {
                Some(file) => file,
                None => CursorFile::create(dir, name, false, kept_from)?,
            };
            let cursor = file.stored().cursor.clone();
            self.start(name, file, cursor, false)
        })
    }

    /// Opens a reader that keeps its cursor elsewhere, at `from`: the validator. It keeps the log, also in later runs,
    /// from the segment of the position that it last released.
    pub fn follower(&self, name: &str, from: Offset) -> Result<Reader, LogError> {
        self.open_as(name, |dir, _| {
            self.number_after(name, from)?;
            let cursor = Cursor { position: from, ..Cursor::default() };
            let file = match CursorFile::load(dir, name) {
                Ok(Some(mut file)) => file.write(&cursor).map(|()| file),
                // The cursor file of a follower has nothing that `from` does not have.
                Ok(None) | Err(LogError::Cursor { .. }) => CursorFile::create(dir, name, true, cursor.clone()),
                Err(e) => Err(e),
            };
            self.start(name, file?, cursor, true)
        })
    }

    /// Removes a reader that is not open: its cursor, and the segments kept only for it. Returns false if there is no
    /// such reader.
    pub fn forget(&self, name: &str) -> Result<bool, LogError> {
        cursor_file::check_name(name)?;
        let _alone = self.inner.administration.lock();
        match self.inner.state.lock().readers.get(name) {
            None => return Ok(false),
            Some(slot) if slot.opened => return Err(LogError::ReaderOpen(name.to_owned())),
            Some(_) => {}
        }
        cursor_file::remove(&cursors_dir(&self.inner.dir), name)?;
        let mut state = self.inner.state.lock();
        state.readers.remove(name);
        self.inner.free(state);
        self.inner.moved.send_replace(());
        Ok(true)
    }

    /// Makes a reader that does not exist yet start after the last accepted event instead of the oldest event.
    pub fn begin_at_end(&self, name: &str) -> Result<(), LogError> {
        cursor_file::check_name(name)?;
        let _alone = self.inner.administration.lock();
        // Others may pass the end while the file is written.
        let _hold = Hold::on(&self.inner);
        let end = {
            let state = self.inner.state.lock();
            if state.readers.contains_key(name) {
                return Ok(());
            }
            state.end
        };
        let cursor = Cursor { position: end, from: end.index, ..Cursor::default() };
        CursorFile::create(&cursors_dir(&self.inner.dir), name, false, cursor.clone())?;
        self.inner.state.lock().readers.insert(name.to_owned(), Slot::new(cursor, false));
        Ok(())
    }

    /// Marks a reader as open, keeping its segments, and calls `open` with the folder of cursors. After an error the
    /// reader is closed again.
    fn open_as(
        &self,
        name: &str,
        open: impl FnOnce(&Path, Cursor) -> Result<Reader, LogError>,
    ) -> Result<Reader, LogError> {
        cursor_file::check_name(name)?;
        let _alone = self.inner.administration.lock();
        let kept_from = {
            let mut state = self.inner.state.lock();
            let oldest = Cursor { position: state.oldest(), from: state.oldest().index, ..Cursor::default() };
            let slot = state.readers.entry(name.to_owned()).or_insert_with(|| Slot::new(oldest, false));
            if std::mem::replace(&mut slot.opened, true) {
                return Err(LogError::ReaderOpen(name.to_owned()));
            }
            slot.cursor.clone()
        };
        let opened = open(&cursors_dir(&self.inner.dir), kept_from);
        if opened.is_err()
            && let Some(slot) = self.inner.state.lock().readers.get_mut(name)
        {
            slot.opened = false;
        }
        opened
    }

    fn start(&self, name: &str, file: CursorFile, mut cursor: Cursor, follower: bool) -> Result<Reader, LogError> {
        cursor.position = self.locate(cursor.position)?;
        let slot = Slot { kept_from: cursor.position, cursor: cursor.clone(), follower, opened: true };
        self.inner.state.lock().readers.insert(name.to_owned(), slot);
        self.inner.moved.send_replace(());
        Ok(Reader {
            inner: self.inner.clone(),
            name: name.to_owned(),
            file,
            position: cursor.position,
            cursor,
            passed: VecDeque::new(),
            segment: None,
        })
    }

    /// Handles a follower that is ahead of the log, because the end of the log or its folder was lost. New events are
    /// numbered after the follower's position. Otherwise the follower would take new events for old ones. Called before the writer
    /// starts.
    ///
    /// # Errors [`LogError::Ahead`] if the writer has started.
    pub fn number_after(&self, name: &str, from: Offset) -> Result<(), LogError> {
        let mut state = self.inner.state.lock();
        if from.index <= state.end.index {
            return Ok(());
        }
        let ahead = LogError::Ahead { name: name.to_owned(), at: from.index, end: state.end.index };
        let Some(mut writer) = self.inner.writer.try_lock() else { return Err(ahead) };
        if from.index >= segment::LARGEST || from.offset >= segment::LARGEST {
            return Err(ahead);
        }
        tracing::error!(
            end = state.end.index,
            reader = from.index,
            name,
            "the page log has lost accepted events at its end (a reader has seen more); new events are numbered after them"
        );
        state.end = beyond(state.end, from);
        writer.segment = None;
        Ok(())
    }

    /// Finds the position of an index whose offset is not the start of a record.
    fn locate(&self, at: Offset) -> Result<Offset, LogError> {
        let (found, end) = {
            let state = self.inner.state.lock();
            (state.segment_of(at), state.end)
        };
        if at.index >= end.index {
            return Ok(end);
        }
        let Some((segment, end)) = found.filter(|(segment, _)| segment.start.index < at.index) else {
            return Ok(at);
        };
        let file = SegmentFile::open(&segment.path, segment.start)?;
        if file.begins_record(at, end)? {
            return Ok(at);
        }
        let mut place = segment.start;
        while place.index < at.index {
            place = match file.read(place, end)? {
                Found::Record { end, .. } | Found::Damaged { to: end } if end.index <= at.index => end,
                _ => Offset { index: at.index, offset: place.offset },
            };
        }
        Ok(place)
    }
}

impl Reader {
    /// The last committed cursor; for a follower the last released one.
    pub fn cursor(&self) -> &Cursor {
        &self.cursor
    }

    /// The position after the last event returned, and after the damage that follows it.
    pub fn position(&self) -> Offset {
        self.position
    }

    /// Number of events lost to damage that this reader has passed, committed or not.
    pub fn damaged(&self) -> u64 {
        let passed = self.passed.iter().map(|(start, end)| end.index - start.index);
        self.cursor.damaged + passed.sum::<u64>()
    }

    /// The position after the last accepted event.
    pub fn end(&self) -> Offset {
        self.inner.state.lock().end
    }

    /// Returns the next accepted events, in order: at least one and at most `max_events`. From the second on they are
    /// limited to about `max_bytes` of records. Waits up to `wait` for the first. Empty if none arrived in time, or the
    /// log is closed and everything was read.
    pub fn next(&mut self, max_events: usize, max_bytes: usize, wait: Duration) -> Result<Vec<Arc<Entry>>, LogError> {
        let deadline = Instant::now() + wait.min(LONGEST_WAIT);
        let max_bytes = max_bytes as u64;
        let inner = self.inner.clone();
        loop {
            let mut state = inner.state.lock();
            while self.position.index >= state.end.index {
                if state.finished || inner.published.wait_until(&mut state, deadline) {
                    return Ok(Vec::new());
                }
            }
            let entries = state.tail.behind(self.position, max_events, max_bytes);
            if let Some(last) = entries.last() {
                self.position = last.end;
                return Ok(entries);
            }
            let Some((segment, end)) = self.next_segment(&mut state) else { continue };
            drop(state);
            let entries = self.read_disk(&segment, end, max_events, max_bytes)?;
            if !entries.is_empty() {
                return Ok(entries);
            }
        }
    }

    /// Whether the log is closed, its writer has ended, and every event was returned.
    pub fn is_closed_and_drained(&self) -> bool {
        let state = self.inner.state.lock();
        state.finished && self.position.index >= state.end.index
    }

    /// Stores the cursor durably, then removes the segments that every reader has passed. `position` must lie between
    /// the last commit and the last event returned. After an error the previous cursor still counts.
    pub fn commit(&mut self, cursor: Cursor) -> Result<(), LogError> {
        let cursor = self.with_own(cursor)?;
        self.file.write(&cursor)?;
        let kept_from = cursor.position;
        self.moved(cursor, kept_from);
        Ok(())
    }

    /// Whether releasing `position` would let a segment be removed that this follower keeps now. Only then must the
    /// follower's own work before `position` be durable first.
    pub fn would_free(&self, position: Offset) -> bool {
        let kept_from = self.file.stored().cursor.position;
        // The first segment that lies completely after the kept position.
        let state = self.inner.state.lock();
        let next = state.segments.partition_point(|segment| segment.start.index <= kept_from.index);
        state.segments.get(next).is_some_and(|next| next.start.index <= position.index)
    }

    /// Tells that a follower is done with everything before `position`. The cursor file is written once per segment. If
    /// that fails, segments are only kept longer.
    pub fn release(&mut self, position: Offset) {
        let cursor = match self.with_own(Cursor { position, ..self.cursor.clone() }) {
            Ok(cursor) => cursor,
            Err(error) => return tracing::error!(%error, "a follower released events that it has not read"),
        };
        let written = if self.would_free(position) { self.file.write(&cursor) } else { Ok(()) };
        if let Err(error) = written {
            tracing::warn!(%error, reader = self.name, "the cursor of a follower was not written: segments are kept longer");
        }
        let kept_from = self.file.stored().cursor.position;
        self.moved(cursor, kept_from);
    }

    /// Checks a new cursor and adds the fields that the log itself maintains. Damage right after the cursor is passed
    /// with it.
    fn with_own(&self, mut cursor: Cursor) -> Result<Cursor, LogError> {
        let (from, to, read) = (self.cursor.position.index, cursor.position.index, self.position.index);
        if to < from || to > read {
            return Err(LogError::Commit { name: self.name.clone(), from: from + 1, to, read });
        }
        cursor.from = self.cursor.from;
        cursor.damaged = self.cursor.damaged;
        cursor.anew = self.cursor.anew.clone();
        for &(start, end) in &self.passed {
            if start.index <= cursor.position.index {
                cursor.damaged += end.index - start.index;
                cursor.position = cursor.position.max(end);
            }
        }
        Ok(cursor)
    }

    fn moved(&mut self, cursor: Cursor, kept_from: Offset) {
        self.passed.retain(|&(start, _)| start.index > cursor.position.index);
        self.cursor = cursor;
        let mut state = self.inner.state.lock();
        if let Some(slot) = state.readers.get_mut(&self.name) {
            slot.cursor = self.cursor.clone();
            slot.kept_from = kept_from;
        }
        self.inner.free(state);
        if !planted::is("release_untold") {
            self.inner.moved.send_replace(());
        }
    }

    /// The segment to read from, with its end. None if the next events were removed; the reader then moves on after
    /// them.
    fn next_segment(&mut self, state: &mut State) -> Option<(Segment, Offset)> {
        let next = state.segment_of(self.position).filter(|(segment, _)| segment.start.index <= self.position.index);
        if next.is_none() {
            let (from, to) = (self.position, state.oldest());
            let bytes = to.offset.saturating_sub(from.offset);
            let events = to.index.saturating_sub(from.index);
            self.pass(state, to, Damage { segment: segment::path(&self.inner.dir, from), offset: 0, bytes, events });
        }
        next
    }

    fn pass(&mut self, state: &mut State, to: Offset, damage: Damage) {
        state.note(damage);
        self.passed.push_back((self.position, to));
        self.position = to;
    }

    /// Reads on in one segment. Returns nothing if only damage follows, which is then passed.
    fn read_disk(
        &mut self,
        segment: &Segment,
        end: Offset,
        max_events: usize,
        max_bytes: u64,
    ) -> Result<Vec<Arc<Entry>>, LogError> {
        let file = match self.segment.take() {
            Some(file) if file.start == segment.start => file,
            _ => SegmentFile::open(&segment.path, segment.start)?,
        };
        let first = self.position.offset;
        let mut entries = Vec::new();
        while entries.len() < max_events.max(1) && self.position.index < end.index {
            if !entries.is_empty() && self.position.offset.saturating_sub(first) >= max_bytes {
                break;
            }
            match self.read_one(&file, end) {
                Ok(Some(entry)) => entries.push(entry),
                Ok(None) => {}
                // The entries before the error are returned first.
                Err(_) if !entries.is_empty() => break,
                Err(e) => return Err(e),
            }
        }
        self.segment = Some(file);
        Ok(entries)
    }

    fn read_one(&mut self, file: &SegmentFile, end: Offset) -> Result<Option<Arc<Entry>>, LogError> {
        match file.read(self.position, end)? {
            Found::Record { payload, end } => {
                let event = codec::decode(&payload).map_err(|source| LogError::Event {
                    segment: file.path.clone(),
                    offset: file.file_offset(self.position.offset),
                    source,
                })?;
                self.position = end;
                Ok(Some(Arc::new(Entry::new(end, Arc::new(event), &self.inner.deriver()))))
            }
            Found::Damaged { to } => {
                let inner = self.inner.clone();
                self.pass(&mut inner.state.lock(), to, file.damage(self.position, to));
                Ok(None)
            }
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if let Some(slot) = self.inner.state.lock().readers.get_mut(&self.name) {
            slot.opened = false;
        }
    }
}
