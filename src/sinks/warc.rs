//! The WARC sink: rolling files `crawl_data-<yyyyMMddHHmmssSSS>-<serial>.warc.gz`, each beginning with a `warcinfo` record,
//! and a CDXJ index beside each closed one when it is asked for.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use super::appended::{AppendedFiles, Shape, Stamp};
use super::rolling::now_ms;
use super::warc_index::Indexes;
use super::{Delivered, Sink, SinkError, empty};
use crate::config::WarcConfig;
use crate::delivery::Entry;
use crate::formats::warc::write::is_held;
use crate::formats::warc::{WarcInfo, WarcReader, WarcWriter, WriteOptions};

const COMPRESSED: &str = ".warc.gz";
const PLAIN: &str = ".warc";

/// Writes every page that was answered, whatever the status; what it acknowledges is on disk.
///
/// The records of a page are in one file. After a restart the files are as they were acknowledged, and what comes again has
/// the ids it had before.
pub struct WarcSink {
    files: AppendedFiles,
    /// The file being written, without `.open`.
    current: Option<String>,
    indexes: Option<Indexes>,
    writer: WarcWriter,
    info: WarcInfo,
    records: Vec<u8>,
    so_far: Delivered,
}

impl WarcSink {
    /// Puts `folder` (created when absent) in the state that `state` was taken in, as [`AppendedFiles::open`] says; so are
    /// the indexes. Commit what [`flush`](Sink::flush) returns before the first `deliver`.
    pub fn open(config: &WarcConfig, folder: &Path, state: &serde_json::Value) -> Result<WarcSink, SinkError> {
        let written_last = state["open"]["name"].as_str();
        let indexes = Indexes::new(folder);
        if let Some(name) = written_last {
            indexes.remove(name)?; // it may be of more than is acknowledged
        }
        let files = open_files(config, folder, state, written_last)?;
        indexes.tidy(|name| name.ends_with(COMPRESSED) || name.ends_with(PLAIN), config.cdxj)?;
        Ok(WarcSink {
            files,
            current: None,
            indexes: config.cdxj.then_some(indexes),
            writer: WarcWriter::new(WriteOptions {
                compression: config.compress.then_some(config.compression_level),
                metadata: config.metadata,
                remembered: config.revisits,
            }),
            info: info(config),
            records: Vec::new(),
            so_far: Delivered::default(),
        })
    }

    fn append(&mut self, entries: &[Arc<Entry>]) -> Result<Delivered, SinkError> {
        for entry in entries {
            if is_held(&entry.event) {
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
        let links = self.writer.wants_links().then(|| entry.links());
        self.writer.write_event(&entry.event, links.as_deref().unwrap_or_default(), &mut self.records);
        let mut begun = None;
        let (writer, info, event) = (&mut self.writer, &self.info, &entry.event);
        self.files.append(&self.records, |name| {
            begun = Some(name.to_owned());
            let mut first = Vec::new();
            writer.write_info(info, name, &event.crawler_id, now_ms(), &mut first);
            first
        })?;
        empty(&mut self.records);
        match begun {
            None => Ok(()),
            Some(name) => {
                let closed = self.current.replace(name);
                self.index(closed)
            }
        }
    }

    fn index(&self, closed: Option<String>) -> Result<(), SinkError> {
        match (closed, &self.indexes) {
            (Some(name), Some(indexes)) => indexes.write(&name),
            _ => Ok(()),
        }
    }

    fn end(&mut self) -> Result<(), SinkError> {
        self.files.close()?;
        let closed = self.current.take();
        self.index(closed)
    }
}

impl Sink for WarcSink {
    fn deliver(&mut self, entries: &[Arc<Entry>]) -> Result<Delivered, SinkError> {
        self.append(entries)
    }

    fn flush(&mut self) -> Result<Delivered, SinkError> {
        self.append(&[])
    }

    fn close(&mut self) -> Result<(), SinkError> {
        self.end()
    }
}

/// Compression may have been switched since the state was taken: then the files of that kind are put right first.
fn open_files(
    config: &WarcConfig,
    folder: &Path,
    state: &serde_json::Value,
    written_last: Option<&str>,
) -> Result<AppendedFiles, SinkError> {
    let suffix = if config.compress { COMPRESSED } else { PLAIN };
    let other = if config.compress { PLAIN } else { COMPRESSED };
    if written_last.is_some_and(|name| name.ends_with(other)) {
        AppendedFiles::open(folder, shape(config, other), state)?;
        return AppendedFiles::open(folder, shape(config, suffix), &serde_json::Value::Null);
    }
    AppendedFiles::open(folder, shape(config, suffix), state)
}

fn shape(config: &WarcConfig, suffix: &'static str) -> Shape {
    Shape { suffix, stamp: Stamp::UtcMillis, serial_digits: 5, max_file_size: config.max_file_size, whole_length }
}

/// Up to the end of the last whole record.
fn whole_length(file: &mut File) -> std::io::Result<u64> {
    let mut reader = WarcReader::new(file);
    reader.by_ref().for_each(drop);
    Ok(reader.whole_bytes())
}

fn info(config: &WarcConfig) -> WarcInfo {
    WarcInfo {
        software: concat!("Seine/", env!("CARGO_PKG_VERSION")).to_owned(),
        robots: if config.obeys_robots { "classic" } else { "ignore" }.to_owned(),
        hostname: rustix::system::uname().nodename().to_str().ok().map(str::to_owned),
        operator: config.operator.clone(),
        user_agent: Some(config.user_agent.clone()),
    }
}
