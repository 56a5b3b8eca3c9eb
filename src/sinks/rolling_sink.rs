//! The sink for rolling files of any format with many records per file.

use seine_delivery::Entry;
use seine_formats::encoder::{Encoder, NewFile};
use seine_formats::format::Files;

use super::local::{Disposition, LocalStore};
use super::location_notes::{LocationNotes, RecordedLocation};
use super::rolling::{Indexes, RecordPlace, RollingFiles, RollingOptions};
use super::sink::{SinkContext, SinkError, empty};
use crate::config::SinkConfig;

/// Writes every page that its format stores; acknowledged pages are durable. The records of one page are in the same
/// file.
pub(super) struct RollingSink {
    files: RollingFiles,
    indexes: Option<Indexes>,
    encoder: Box<dyn Encoder>,
    record_end: &'static [u8],
    /// Name of this machine.
    hostname: Option<String>,
    record: Vec<u8>,
    notes: LocationNotes,
}

impl RollingSink {
    /// Restores its folder to `state`; creates it if it is missing. Pages that will be delivered again are removed, and
    /// the indexes match the files. With a null state, unfinished files of an earlier writer are closed as far as they
    /// are readable. Commit the result of [`sync`](super::local::LocalStore::sync) before the first page. Otherwise a
    /// crash before the first commit leaves pages in the files that are delivered again.
    pub(super) fn open(
        config: &SinkConfig,
        encoder: Box<dyn Encoder>,
        (max_file_size, level): (u64, u32),
        context: &SinkContext,
        state: &serde_json::Value,
    ) -> Result<RollingSink, SinkError> {
        let (options, folder) = (&config.options, context.folder.as_path());
        let Some(Files::Rolling(layout)) = config.format.map(|format| format.files) else {
            let problem = format!("the format of {} has no files with many pages", config.name);
            return Err(SinkError::Other { sink: "files", problem, remedy: "name another in target_storage.sinks" });
        };
        let rolling = RollingOptions { layout, suffix: (layout.suffix)(options), level, max_file_size };
        let indexes = layout.index.map(|index| Indexes::new(folder, index));
        let are_wanted = layout.index.is_some_and(|index| (index.is_wanted)(options));
        if let (Some(indexes), Some(name)) = (&indexes, state["open"]["name"].as_str()) {
            indexes.remove(name)?;
        }
        let files = RollingFiles::open(folder, rolling, state)?;
        if let Some(indexes) = &indexes {
            indexes.tidy(&rolling, are_wanted)?;
        }
        Ok(RollingSink {
            files,
            indexes: indexes.filter(|_| are_wanted),
            encoder,
            record_end: layout.record_end,
            hostname: rustix::system::uname().nodename().to_str().ok().map(str::to_owned),
            record: Vec::new(),
            notes: LocationNotes::new(context),
        })
    }

    fn index(&self, closed: Option<String>) -> Result<(), SinkError> {
        match (closed, &self.indexes) {
            (Some(name), Some(indexes)) => indexes.write(&name),
            _ => Ok(()),
        }
    }
}

impl LocalStore for RollingSink {
    fn put(&mut self, entry: &Entry) -> Result<Disposition, SinkError> {
        if !self.encoder.encode(entry, &mut self.record) {
            return Ok(Disposition::Skipped);
        }
        self.record.extend_from_slice(self.record_end);
        let RollingSink { encoder, hostname, .. } = self;
        let closed = self.files.append(&self.record, |name| {
            let crawler_id = &entry.event.crawler_id;
            encoder.begin(&NewFile { name, crawler_id, hostname: hostname.as_deref() })
        })?;
        let (files, length) = (&self.files, self.record.len());
        self.notes.add(entry.end.index, || {
            let RecordPlace { file, page, start } = files.location_of_last(length)?;
            Some(RecordedLocation::File { name: file.to_owned(), page, start })
        });
        empty(&mut self.record);
        self.index(closed)?;
        Ok(Disposition::Delivered)
    }

    fn sync(&mut self) -> Result<serde_json::Value, SinkError> {
        let state = self.files.sync()?;
        self.notes.write(false);
        Ok(state)
    }

    fn close(&mut self) -> Result<(), SinkError> {
        let closed = self.files.close()?;
        self.index(closed)
    }
}
