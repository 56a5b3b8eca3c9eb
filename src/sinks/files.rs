//! The FILES sink: ACHE's records in rolling compressed files `crawl_data-<epoch ms>-<n>.deflate`.

use std::path::Path;
use std::sync::Arc;

use super::rolling::RollingFiles;
use super::{Delivered, Sink, SinkError, empty};
use crate::delivery::Entry;
use crate::formats::files;

/// Writes every 2xx page; what it acknowledges is flushed, so that it can be read after a crash, and on disk.
pub struct FilesSink {
    files: RollingFiles,
    line: Vec<u8>,
    so_far: Delivered,
}

impl FilesSink {
    /// `max_file_size`: of compressed bytes; only a single record that is larger makes a larger file. `level`: 0 to 9.
    ///
    /// Puts `folder` (created when absent) in the state that `state` was taken in: nothing that will be delivered again
    /// stays in the files. With null, what an earlier writer left unfinished is closed as far as it is readable. Commit
    /// what [`flush`](Sink::flush) returns before the first `deliver`: a crash before the first commit leaves pages in the
    /// files that come again.
    pub fn open(
        folder: &Path,
        max_file_size: u64,
        level: u32,
        state: &serde_json::Value,
    ) -> Result<FilesSink, SinkError> {
        let files = RollingFiles::open(folder, max_file_size, level, state)?;
        Ok(FilesSink { files, line: Vec::new(), so_far: Delivered::default() })
    }

    fn append(&mut self, entries: &[Arc<Entry>]) -> Result<Delivered, SinkError> {
        for entry in entries {
            if files::is_held(&entry.event) {
                self.append_page(entry)?;
                self.so_far.delivered += 1;
            } else {
                self.so_far.skipped += 1;
            }
            self.so_far.up_to = entry.end;
        }
        self.so_far.state = self.files.sync()?;
        Ok(self.so_far.clone())
    }

    fn append_page(&mut self, entry: &Entry) -> Result<(), SinkError> {
        files::write_event(&entry.event, &entry.body(), &mut self.line);
        self.files.append(&self.line)?;
        empty(&mut self.line);
        Ok(())
    }
}

impl Sink for FilesSink {
    fn deliver(&mut self, entries: &[Arc<Entry>]) -> Result<Delivered, SinkError> {
        self.append(entries)
    }

    fn flush(&mut self) -> Result<Delivered, SinkError> {
        self.append(&[])
    }

    fn close(&mut self) -> Result<(), SinkError> {
        self.files.close()
    }
}
