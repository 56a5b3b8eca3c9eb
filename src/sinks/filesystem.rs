//! The FILESYSTEM_HTML, FILESYSTEM_JSON and FILESYSTEM_CBOR sinks: one file a page, the newest fetch of a URL in its place.
//!
//! A file is written under another name, and gets its own when it is on disk: there is never half a file, and a page
//! delivered again replaces itself. The disk is asked once a batch, for everything (`syncfs`): a file's own `fsync` each
//! would cost more than fetching the page.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::dead_letters::DeadLetters;
use super::rolling::{create_folder, file_error, sync_folder};
use super::{Delivered, Derive, Sink, SinkError};
use crate::config::{FilesystemConfig, FilesystemContent};
use crate::formats::{cbor, files, filesystem};
use crate::log::Entry;

/// Files on their way. No host's folder has such a name: `~` is always encoded there.
const WRITING: &str = "~writing";

pub struct FilesystemSink {
    folder: PathBuf,
    config: FilesystemConfig,
    derive: Derive,
    dead: DeadLetters,
    /// Folders of hosts that are there.
    hosts: BTreeSet<String>,
    so_far: Delivered,
    failed: bool,
}

/// A file that is written and has not its own name yet.
struct Written {
    temporary: PathBuf,
    path: PathBuf,
}

/// Known folders of hosts; beyond, they are looked for again.
const MAX_HOSTS: usize = 100_000;

impl FilesystemSink {
    /// Creates the folder when it is absent, and removes what an earlier run had not finished.
    pub fn open(folder: &Path, config: &FilesystemConfig, derive: Derive) -> Result<FilesystemSink, SinkError> {
        let writing = folder.join(WRITING);
        match std::fs::remove_dir_all(&writing) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(file_error("emptying", &writing, error)),
            _ => create_folder(&writing)?,
        }
        Ok(FilesystemSink {
            folder: folder.into(),
            config: config.clone(),
            derive,
            dead: DeadLetters::open(folder)?,
            hosts: BTreeSet::new(),
            so_far: Delivered::default(),
            failed: false,
        })
    }

    fn take(&mut self, entries: &[Arc<Entry>]) -> Result<(), SinkError> {
        let mut written = Vec::new();
        for entry in entries {
            self.write(entry, &mut written)?;
            self.so_far.up_to = entry.end;
        }
        self.dead.sync()?;
        self.place(written)
    }

    fn write(&mut self, entry: &Arc<Entry>, written: &mut Vec<Written>) -> Result<(), SinkError> {
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
        let temporary = self.folder.join(WRITING).join(written.len().to_string());
        std::fs::write(&temporary, content).map_err(|e| file_error("writing", &temporary, e))?;
        let folder = self.folder.join(&host);
        if !self.hosts.contains(&host) {
            create_folder(&folder)?;
            if self.hosts.len() >= MAX_HOSTS {
                self.hosts.clear();
            }
            self.hosts.insert(host);
        }
        written.push(Written { temporary, path: folder.join(name) });
        self.so_far.delivered += 1;
        Ok(())
    }

    /// The bytes of the page's file; none for what the format does not hold.
    fn content(&self, entry: &Entry) -> Option<Vec<u8>> {
        if !files::is_held(&entry.event) {
            return None;
        }
        let body = || entry.body(|event| (self.derive)(event).body);
        let mut content = Vec::new();
        match self.config.content {
            FilesystemContent::Html => content.extend_from_slice(body()),
            FilesystemContent::Json => {
                files::write_event(&entry.event, body(), &mut content);
                content.pop(); // the line feed
            }
            FilesystemContent::Cbor => {
                cbor::write_event(&entry.event, entry.derived(|event| (self.derive)(event)), &mut content);
            }
        }
        Some(if self.config.compress_data { zlib(&content) } else { content })
    }

    /// Everything on disk first, then the names, then those on disk.
    fn place(&mut self, written: Vec<Written>) -> Result<(), SinkError> {
        if written.is_empty() {
            return Ok(());
        }
        self.sync_all()?;
        for file in &written {
            std::fs::rename(&file.temporary, &file.path).map_err(|e| file_error("renaming to", &file.path, e))?;
        }
        self.sync_all()
    }

    fn sync_all(&self) -> Result<(), SinkError> {
        let synced = File::open(&self.folder).and_then(|folder| Ok(rustix::fs::syncfs(folder)?));
        synced.map_err(|e| file_error("syncing", &self.folder, e))
    }
}

impl Sink for FilesystemSink {
    fn deliver(&mut self, entries: &[Arc<Entry>]) -> Result<Delivered, SinkError> {
        if std::mem::replace(&mut self.failed, true) {
            let problem = "used again after an error".into();
            return Err(SinkError::Other { sink: "filesystem", problem, remedy: "open it again" });
        }
        self.take(entries)?;
        self.failed = false;
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
