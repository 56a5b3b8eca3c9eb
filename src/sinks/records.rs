//! Formats of one self-contained record a page, in rolling files: CDR31 and ELASTIC as JSON lines, WEB_INDEX as CSV.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use super::appended::{AppendedFiles, Shape, Stamp};
use super::rolling::now_ms;
use super::{Delivered, Sink, SinkError, empty};
use crate::config::{RecordsConfig, RecordsFormat};
use crate::delivery::Entry;
use crate::formats::{cdr31, elastic, web_index};

/// Writes every page that its format holds; what it acknowledges is on disk.
pub struct RecordsSink {
    files: AppendedFiles,
    format: RecordsFormat,
    record: Vec<u8>,
    so_far: Delivered,
}

impl RecordsSink {
    /// As [`AppendedFiles::open`].
    pub fn open(folder: &Path, config: &RecordsConfig, state: &serde_json::Value) -> Result<RecordsSink, SinkError> {
        let shape = Shape {
            suffix: match config.format {
                RecordsFormat::Cdr31 { .. } | RecordsFormat::Elastic => ".jsonl",
                RecordsFormat::WebIndex(_) => ".csv",
            },
            stamp: Stamp::EpochMs,
            serial_digits: 1,
            max_file_size: config.max_file_size,
            // No record of ours has a line feed but at its end.
            whole_length: |file| whole_lines(file),
        };
        Ok(RecordsSink {
            files: AppendedFiles::open(folder, shape, state)?,
            format: config.format.clone(),
            record: Vec::new(),
            so_far: Delivered::default(),
        })
    }

    fn append(&mut self, entries: &[Arc<Entry>]) -> Result<(), SinkError> {
        for entry in entries {
            if self.append_page(entry)? {
                self.so_far.delivered += 1;
            } else {
                self.so_far.skipped += 1;
            }
            self.so_far.up_to = entry.end;
        }
        self.so_far.state = self.files.sync()?;
        Ok(())
    }

    /// False for what the format does not hold.
    fn append_page(&mut self, entry: &Entry) -> Result<bool, SinkError> {
        if !elastic::is_held(&entry.event) {
            return Ok(false);
        }
        let is_held = self.write_record(entry);
        if is_held {
            self.files.append(&self.record, |_| Vec::new())?;
        }
        empty(&mut self.record);
        Ok(is_held)
    }

    fn write_record(&mut self, entry: &Entry) -> bool {
        let (event, out) = (&*entry.event, &mut self.record);
        let is_held = match &self.format {
            RecordsFormat::WebIndex(limits) => return web_index::write_event(event, &entry.text(), limits, out),
            RecordsFormat::Elastic => elastic::write_event(event, &entry.text(), out),
            RecordsFormat::Cdr31 { team } => {
                cdr31::write_event(event, &entry.content(), team.as_deref(), now_ms(), out)
            }
        };
        if is_held {
            out.push(b'\n');
        }
        is_held
    }
}

impl Sink for RecordsSink {
    fn deliver(&mut self, entries: &[Arc<Entry>]) -> Result<Delivered, SinkError> {
        self.append(entries)?;
        Ok(self.so_far.clone())
    }

    fn flush(&mut self) -> Result<Delivered, SinkError> {
        self.deliver(&[])
    }

    fn close(&mut self) -> Result<(), SinkError> {
        self.files.close()
    }
}

/// Behind the last line feed.
pub(super) fn whole_lines(file: &mut (impl Read + Seek)) -> std::io::Result<u64> {
    let mut end = file.seek(SeekFrom::End(0))?;
    let mut piece = vec![0; 64 << 10];
    while end > 0 {
        let start = end.saturating_sub(piece.len() as u64);
        let length = (end - start) as usize;
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut piece[..length])?;
        if let Some(at) = memchr::memrchr(b'\n', &piece[..length]) {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}
