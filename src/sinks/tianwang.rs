//! The TIANWANG sink: pages in the raw format of Web InfoMall, in rolling files `crawl_data-<epoch ms>-<n>.tianwang`.

use std::path::Path;
use std::sync::Arc;

use super::appended::{AppendedFiles, Shape, Stamp};
use super::{Delivered, Sink, SinkError};
use crate::delivery::Entry;
use crate::formats::tianwang::{TianwangWriter, whole_length};

/// Writes every page that was answered, whatever its status; what it acknowledges is on disk.
pub struct TianwangSink {
    files: AppendedFiles,
    writer: TianwangWriter,
    record: Vec<u8>,
    so_far: Delivered,
}

impl TianwangSink {
    /// `compress`: each page is one zlib stream. `max_file_size`: only a single record that is larger makes a larger file.
    ///
    /// Puts `folder` (created when absent) in the state that `state` was taken in, as [`AppendedFiles::open`] says. Commit
    /// what [`flush`](Sink::flush) returns before the first `deliver`: a crash before the first commit leaves pages in the
    /// files that come again.
    pub fn open(
        folder: &Path,
        compress: bool,
        max_file_size: u64,
        state: &serde_json::Value,
    ) -> Result<TianwangSink, SinkError> {
        let shape = Shape {
            suffix: ".tianwang",
            stamp: Stamp::EpochMs,
            serial_digits: 1,
            max_file_size,
            whole_length: |file| whole_length(file),
        };
        Ok(TianwangSink {
            files: AppendedFiles::open(folder, shape, state)?,
            writer: TianwangWriter::new(compress),
            record: Vec::new(),
            so_far: Delivered::default(),
        })
    }

    fn append(&mut self, entries: &[Arc<Entry>]) -> Result<Delivered, SinkError> {
        for entry in entries {
            self.record.clear();
            if self.writer.write_event(&entry.event, &mut self.record) {
                self.files.append(&self.record, |_| Vec::new())?;
                self.so_far.delivered += 1;
            } else {
                self.so_far.skipped += 1;
            }
            self.so_far.up_to = entry.end;
        }
        self.so_far.state = self.files.sync()?;
        Ok(self.so_far.clone())
    }
}

impl Sink for TianwangSink {
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
