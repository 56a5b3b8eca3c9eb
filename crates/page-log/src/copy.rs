//! A consistent copy of the log, taken while it is written and read.
//!
//! The copy opens the files and reads them later. A segment that is removed in the meantime stays readable through the
//! open file.

use std::fs::File;
use std::io::{Read, Take};
use std::path::{Path, PathBuf};

use super::cursor_file;
use super::error::LogError;
use super::hold::Hold;
use super::log::{Inner, PageLog};
use super::state::{Segment, Slot};
use seine_delivery::Offset;

/// The files of the log, named as in its folder.
pub struct LogCopy {
    pub oldest: Offset,
    /// After the last accepted event.
    pub end: Offset,
    /// The readers' cursors; none is beyond `end`.
    pub cursors: Vec<(PathBuf, Vec<u8>)>,
    pub segments: Vec<CopiedSegment>,
}

/// One segment of the copy.
pub struct CopiedSegment {
    pub path: PathBuf,
    /// Length up to the last accepted event.
    pub bytes: u64,
    /// The first `bytes` bytes of the file.
    pub content: Take<File>,
}

impl PageLog {
    /// Copies the cursors, calls `meanwhile`, then copies the segments. So the copy has all events after any position
    /// that `meanwhile` finds. Workers, the writer and open readers go on meanwhile.
    pub fn copy<T, E: From<LogError>>(&self, meanwhile: impl FnOnce() -> Result<T, E>) -> Result<(LogCopy, T), E> {
        let hold = Hold::on(&self.inner);
        let cursors = self.inner.copied_cursors()?;
        let found = meanwhile()?;
        let (known, oldest, end) = {
            let state = self.inner.state.lock();
            (state.segments.clone(), state.oldest(), state.end)
        };
        let mut segments = Vec::with_capacity(known.len());
        for Segment { path, bytes, .. } in known {
            let file = File::open(&path).map_err(LogError::io("open", &path))?;
            segments.push(CopiedSegment { path, bytes, content: file.take(bytes) });
        }
        drop(hold);
        Ok((LogCopy { oldest, end, cursors, segments }, found))
    }
}

impl Inner {
    /// Cursors of open readers are copied from memory, since their files may be in the middle of a write.
    fn copied_cursors(&self) -> Result<Vec<(PathBuf, Vec<u8>)>, LogError> {
        let dir = cursor_file::cursors_dir(&self.dir);
        let folder = Path::new(dir.file_name().unwrap_or_default());
        let mut cursors = Vec::new();
        // Readers that are not open now stay so, and their files unchanged.
        let _alone = self.administration.lock();
        let readers = self.state.lock().readers.clone();
        for (name, path) in cursor_file::list(&dir)? {
            let bytes = match readers.get(&name) {
                Some(Slot { cursor, follower, opened: true, .. }) => cursor_file::bytes_of(*follower, cursor),
                _ => std::fs::read(&path),
            };
            let file = folder.join(path.file_name().unwrap_or_default());
            cursors.push((file, bytes.map_err(LogError::io("read cursor", &path))?));
        }
        Ok(cursors)
    }
}
