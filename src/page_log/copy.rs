//! A copy of the log as it is at one moment, taken while it is written to and read.
//!
//! Its files are opened, and read later: a segment that is freed meanwhile goes from its folder, and not from who has it open.

use std::fs::File;
use std::io::{Read, Take};
use std::path::{Path, PathBuf};

use super::cursor_file;
use super::error::LogError;
use super::log::{Inner, PageLog};
use super::state::Slot;
use crate::delivery::Position;

/// What a log consists of, by the names that the files have in its folder.
pub struct LogCopy {
    pub oldest: Position,
    /// Behind the last accepted event.
    pub end: Position,
    /// The readers' cursors: none beyond `end`.
    pub cursors: Vec<(PathBuf, Vec<u8>)>,
    pub segments: Vec<CopiedSegment>,
}

/// A segment.
pub struct CopiedSegment {
    pub path: PathBuf,
    /// Up to its last accepted event.
    pub bytes: u64,
    /// That, read from its beginning on.
    pub content: Take<File>,
}

impl PageLog {
    /// Copies the cursors, calls `meanwhile`, then copies the segments: whatever place of the log `meanwhile` finds noted, the copy
    /// has the events behind it. Holds up nobody but for a look into the folder.
    pub fn copy<T, E: From<LogError>>(&self, meanwhile: impl FnOnce() -> Result<T, E>) -> Result<(LogCopy, T), E> {
        let hold = Hold::on(&self.inner);
        let cursors = self.inner.copied_cursors()?;
        let found = meanwhile()?;
        let state = self.inner.state.lock();
        let mut segments = Vec::with_capacity(state.segments.len());
        for segment in &state.segments {
            let file = File::open(&segment.path).map_err(LogError::io("open", &segment.path))?;
            let (path, bytes) = (segment.path.clone(), segment.bytes);
            segments.push(CopiedSegment { path, bytes, content: file.take(bytes) });
        }
        let (oldest, end) = (state.oldest(), state.end);
        drop(state);
        drop(hold);
        Ok((LogCopy { oldest, end, cursors, segments }, found))
    }
}

impl Inner {
    /// What is read by somebody is copied from memory: his file is being written.
    fn copied_cursors(&self) -> Result<Vec<(PathBuf, Vec<u8>)>, LogError> {
        let dir = cursor_file::cursors_dir(&self.dir);
        let folder = Path::new(dir.file_name().unwrap_or_default());
        let mut cursors = Vec::new();
        let state = self.state.lock();
        for (name, path) in cursor_file::list(&dir)? {
            let bytes = match state.readers.get(&name) {
                Some(Slot { cursor, follower, opened: true, .. }) => cursor_file::bytes_of(*follower, cursor),
                _ => std::fs::read(&path),
            };
            let file = folder.join(path.file_name().unwrap_or_default());
            cursors.push((file, bytes.map_err(LogError::io("read cursor", &path))?));
        }
        Ok(cursors)
    }
}

/// Nothing is freed while there is one.
struct Hold<'a>(&'a Inner);

impl Hold<'_> {
    fn on(inner: &Inner) -> Hold<'_> {
        inner.state.lock().holds += 1;
        Hold(inner)
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.holds -= 1;
        self.0.free(state);
    }
}
