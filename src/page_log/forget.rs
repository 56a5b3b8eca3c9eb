//! Readers that are given up, and readers that begin with what comes.

use super::cursor_file::{self, CursorFile, cursors_dir};
use super::error::LogError;
use super::log::PageLog;
use super::segment;
use super::state::Slot;
use crate::delivery::Cursor;

impl PageLog {
    /// Gives up a reader that nobody has open: its cursor is removed, and the segments that it alone held are freed. False
    /// when there is no such reader.
    pub fn forget(&self, name: &str) -> Result<bool, LogError> {
        cursor_file::check_name(name)?;
        let mut state = self.inner.state.lock();
        match state.readers.get(name) {
            None => return Ok(false),
            Some(slot) if slot.opened => return Err(LogError::ReaderOpen(name.to_owned())),
            Some(_) => {}
        }
        cursor_file::remove(&cursors_dir(&self.inner.dir), name)?;
        state.readers.remove(name);
        let freed = state.free();
        if !freed.is_empty() {
            self.inner.tell_room(&state);
        }
        drop(state);
        segment::remove(&freed);
        Ok(true)
    }

    /// A reader that is not there yet begins behind the last accepted event, not at the oldest one that is kept.
    pub fn begin_at_end(&self, name: &str) -> Result<(), LogError> {
        cursor_file::check_name(name)?;
        let mut state = self.inner.state.lock();
        if state.readers.contains_key(name) {
            return Ok(());
        }
        let cursor = Cursor { position: state.end, from: state.end.index, ..Cursor::default() };
        CursorFile::create(&cursors_dir(&self.inner.dir), name, false, cursor.clone())?;
        state.readers.insert(name.to_owned(), Slot::new(cursor, false));
        Ok(())
    }
}
