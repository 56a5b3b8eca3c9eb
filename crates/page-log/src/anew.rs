//! Resets a reader whose destination no longer has what was delivered.

use super::cursor_file::{self, CursorFile, cursors_dir};
use super::error::LogError;
use super::hold::Hold;
use super::log::PageLog;
use super::state::Slot;
use seine_delivery::{BegunAnew, Cursor};
use serde_json::Value;

impl PageLog {
    /// Sets a reader that is not open back to the oldest event in the log, with counters at zero and without its own
    /// state, except what `kept` makes of it. Durable when it returns. Returns the index before the oldest event.
    ///
    /// `before` is called with that number before anything changes, and while no segment can be removed. If it fails,
    /// nothing changes.
    pub fn begin_anew<E: From<LogError>>(
        &self,
        name: &str,
        anew: BegunAnew,
        kept: impl FnOnce(&Value) -> Value,
        before: impl FnOnce(u64) -> Result<(), E>,
    ) -> Result<u64, E> {
        cursor_file::check_name(name)?;
        let _alone = self.inner.administration.lock();
        // Released after the reader is in the state, and then its segments are kept for it.
        let hold = Hold::on(&self.inner);
        let oldest = {
            let state = self.inner.state.lock();
            if state.readers.get(name).is_some_and(|slot| slot.opened) {
                return Err(LogError::ReaderOpen(name.to_owned()).into());
            }
            state.oldest()
        };
        let dir = cursors_dir(&self.inner.dir);
        before(oldest.index)?;
        let begin =
            |state| Cursor { position: oldest, from: oldest.index, anew: Some(anew), state, ..Cursor::default() };
        let cursor = match CursorFile::load(&dir, name)? {
            Some(mut file) => {
                let cursor = begin(kept(&file.stored().cursor.state));
                file.write(&cursor)?;
                cursor
            }
            None => {
                let cursor = begin(Value::Null);
                CursorFile::create(&dir, name, false, cursor.clone())?;
                cursor
            }
        };
        self.inner.state.lock().readers.insert(name.to_owned(), Slot::new(cursor, false));
        drop(hold);
        Ok(oldest.index)
    }
}
