//! One file per page, with the newest fetch of its URL: FILESYSTEM_HTML, FILESYSTEM_JSON and FILESYSTEM_CBOR.
//!
//! Pages of a crawl arrive in the order of their fetches. A dead letter arrives late and must not replace a newer
//! fetch. So the modification time of a file is set to the time of the fetch.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use seine_delivery::Entry;
use seine_formats::compressed_streams::CompressedStreams;
use seine_formats::encoder::Encoder;
use seine_formats::filesystem::{self, Naming};
use seine_parse::page::EpochMs;
use seine_system::folders::if_there;

use super::dead_letters::DeadLetters;
use super::folder::{create_folder, file_error, sync_folder};
use super::local::{Disposition, LocalStore};
use super::sink::{SinkContext, SinkError};
use super::staging::StagedFiles;

/// Number of known host folders; further ones are looked up again.
const MAX_HOSTS: usize = 100_000;

pub(super) struct FilePerPage {
    folder: PathBuf,
    encoder: Box<dyn Encoder>,
    hash_file_name: bool,
    streams: Option<CompressedStreams>,
    dead: DeadLetters,
    /// The pages are dead letters.
    comes_late: bool,
    staged: StagedFiles,
    /// Host folders that exist.
    hosts: BTreeSet<String>,
}

impl FilePerPage {
    /// Creates a missing folder, and removes what an earlier run did not finish.
    pub(super) fn open(
        context: &SinkContext,
        encoder: Box<dyn Encoder>,
        naming: Naming,
        state: &serde_json::Value,
    ) -> Result<FilePerPage, SinkError> {
        let SinkContext { folder, letters, .. } = context;
        StagedFiles::check_before("filesystem", folder, state)?;
        create_folder(folder)?;
        Ok(FilePerPage {
            folder: folder.into(),
            encoder,
            hash_file_name: naming.hash_file_name,
            streams: naming.compress_data.then(CompressedStreams::zlib),
            dead: DeadLetters::open(letters)?,
            comes_late: letters != folder,
            staged: StagedFiles::open(folder, "filesystem")?,
            hosts: BTreeSet::new(),
        })
    }

    fn make_host_folder(&mut self, host: String) -> Result<PathBuf, SinkError> {
        let folder = self.folder.join(&host);
        if !self.hosts.contains(&host) {
            create_folder(&folder)?;
            if self.hosts.len() >= MAX_HOSTS {
                self.hosts.clear();
            }
            self.hosts.insert(host);
        }
        Ok(folder)
    }
}

impl LocalStore for FilePerPage {
    fn put(&mut self, entry: &Entry) -> Result<Disposition, SinkError> {
        let mut content = Vec::new();
        if !self.encoder.encode(entry, &mut content) {
            return Ok(Disposition::Skipped);
        }
        let (host, name) = match filesystem::path_of(&entry.event.url, self.hash_file_name) {
            Ok(path) => path,
            Err(error) => {
                self.dead.add(&entry.event, &error.to_string())?;
                return Ok(Disposition::Dead);
            }
        };
        if let Some(streams) = &mut self.streams {
            let plain = std::mem::take(&mut content);
            streams.write(&[&plain], &mut content);
        }
        let path = self.make_host_folder(host)?.join(name);
        if self.comes_late && is_newer(&path, entry.event.ended_ms)? {
            tracing::warn!(url = entry.event.url, path = %path.display(), "the file has a newer fetch of this page, which stays");
            return Ok(Disposition::Delivered);
        }
        self.staged.write(path, &content, Some(entry.event.ended_ms))?;
        Ok(Disposition::Delivered)
    }

    fn sync(&mut self) -> Result<serde_json::Value, SinkError> {
        self.dead.sync()?;
        self.staged.publish()?;
        self.staged.sync()?;
        Ok(StagedFiles::state())
    }

    fn close(&mut self) -> Result<(), SinkError> {
        sync_folder(&self.folder)
    }
}

/// Whether the file has a later fetch than `fetched`.
fn is_newer(path: &Path, fetched: EpochMs) -> Result<bool, SinkError> {
    let modified = if_there(std::fs::metadata(path).and_then(|metadata| metadata.modified()));
    let modified = modified.map_err(|e| file_error("looking at", path, e))?;
    Ok(modified.is_some_and(|modified| modified > UNIX_EPOCH + Duration::from_millis(fetched)))
}
