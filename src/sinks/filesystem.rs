//! The FILESYSTEM_HTML, FILESYSTEM_JSON and FILESYSTEM_CBOR sinks: one file a page, the newest fetch of a URL in its place.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::dead_letters::DeadLetters;
use super::placed::Placing;
use super::rolling::{create_folder, sync_folder};
use super::{Delivered, Sink, SinkError};
use crate::config::{FilesystemConfig, FilesystemContent};
use crate::delivery::Entry;
use crate::formats::{cbor, files, filesystem};

pub struct FilesystemSink {
    folder: PathBuf,
    config: FilesystemConfig,
    dead: DeadLetters,
    placing: Placing,
    /// Folders of hosts that are there.
    hosts: BTreeSet<String>,
    so_far: Delivered,
}

/// Known folders of hosts; beyond, they are looked for again.
const MAX_HOSTS: usize = 100_000;

impl FilesystemSink {
    /// Creates the folder when it is absent, and removes what an earlier run had not finished.
    pub fn open(folder: &Path, config: &FilesystemConfig) -> Result<FilesystemSink, SinkError> {
        FilesystemSink::open_with_letters(folder, folder, config)
    }

    /// The same, with dead letters kept below another folder.
    pub fn open_with_letters(
        folder: &Path,
        letters: &Path,
        config: &FilesystemConfig,
    ) -> Result<FilesystemSink, SinkError> {
        create_folder(folder)?;
        Ok(FilesystemSink {
            folder: folder.into(),
            config: config.clone(),
            dead: DeadLetters::open(letters)?,
            placing: Placing::open(folder)?,
            hosts: BTreeSet::new(),
            so_far: Delivered::default(),
        })
    }

    fn take(&mut self, entries: &[Arc<Entry>]) -> Result<(), SinkError> {
        for entry in entries {
            self.write(entry)?;
            self.so_far.up_to = entry.end;
        }
        self.dead.sync()?;
        self.placing.place()?;
        self.placing.sync()
    }

    fn write(&mut self, entry: &Arc<Entry>) -> Result<(), SinkError> {
        let Some(content) = self.content(entry) else {
            self.so_far.skipped += 1;
            return Ok(());
        };
        let (host, name) = match filesystem::path_of(&entry.event.url, self.config.hash_file_name) {
            Ok(path) => path,
            Err(error) => {
                self.so_far.dead += 1;
                return self.dead.add(&entry.event, &error.to_string());
            }
        };
        let folder = self.folder.join(&host);
        if !self.hosts.contains(&host) {
            create_folder(&folder)?;
            if self.hosts.len() >= MAX_HOSTS {
                self.hosts.clear();
            }
            self.hosts.insert(host);
        }
        self.so_far.delivered += 1;
        self.placing.write(folder.join(name), &content)
    }

    /// The bytes of the page's file; none for what the format does not hold.
    fn content(&self, entry: &Entry) -> Option<Vec<u8>> {
        if !files::is_held(&entry.event) {
            return None;
        }
        let mut content = Vec::new();
        match self.config.content {
            FilesystemContent::Html => content.extend_from_slice(&entry.body()),
            FilesystemContent::Json => {
                files::write_event(&entry.event, &entry.body(), &mut content);
                content.pop(); // the line feed
            }
            FilesystemContent::Cbor => {
                cbor::write_event(&entry.event, &entry.content(), &mut content);
            }
        }
        Some(if self.config.compress_data { zlib(&content) } else { content })
    }
}

impl Sink for FilesystemSink {
    fn deliver(&mut self, entries: &[Arc<Entry>]) -> Result<Delivered, SinkError> {
        self.take(entries)?;
        Ok(self.so_far.clone())
    }

    fn flush(&mut self) -> Result<Delivered, SinkError> {
        self.deliver(&[])
    }

    fn close(&mut self) -> Result<(), SinkError> {
        sync_folder(&self.folder)
    }
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::with_capacity(bytes.len() / 3), Compression::default());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("a Vec takes every byte")
}
