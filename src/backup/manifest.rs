//! The list of files in a backup, with sizes and digests. It is written last, and made durable before it gets its name.

use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use data_encoding::HEXLOWER;
use seine_parse::page::EpochMs;
use seine_system::folders::{self, if_there};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::error::BackupError;
use super::stream::Facts;

pub(super) const FILE: &str = "manifest.json";
/// Identifies the layout of the backup.
const FORMAT: &str = "seine backup 1";
/// No valid manifest is longer.
const LONGEST: u64 = 64 << 20;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub format: String,
    /// The version of Seine that took the backup.
    pub seine: String,
    pub taken_ms: EpochMs,
    /// Absolute path of the data folder.
    pub of: PathBuf,
    pub facts: Facts,
    /// Folders of sinks with their output, which is not part of the backup.
    pub left_out: Vec<PathBuf>,
    /// Names of variables and keys whose secret values (passwords, tokens) are in the backup …
    #[serde(default)]
    pub secrets: Vec<String>,
    /// … or were left out on request.
    #[serde(default)]
    pub secrets_left_out: Vec<String>,
    pub files: Vec<KeptFile>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeptFile {
    /// Path in the backup.
    pub path: PathBuf,
    pub bytes: u64,
    /// SHA-256, hexadecimal.
    pub sha256: String,
}

impl Manifest {
    pub(crate) fn new(
        of: &Path,
        taken_ms: EpochMs,
        facts: Facts,
        left_out: Vec<PathBuf>,
        files: Vec<KeptFile>,
    ) -> Manifest {
        let of = std::path::absolute(of).unwrap_or_else(|_| of.to_owned());
        let seine = env!("CARGO_PKG_VERSION").to_owned();
        let format = FORMAT.to_owned();
        let (secrets, secrets_left_out) = (Vec::new(), Vec::new());
        Manifest { format, seine, taken_ms, of, facts, left_out, secrets, secrets_left_out, files }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    pub(super) fn write(&self, folder: &Path) -> Result<(), BackupError> {
        let path = folder.join(FILE);
        let text = serde_json::to_vec_pretty(self).expect("a struct of texts and numbers is always JSON");
        folders::put(&path, &text, folders::EVERYBODYS).map(drop).map_err(BackupError::file("writing", &path))
    }

    /// Loads the manifest of the backup in `folder`. Does not check the files.
    pub(crate) fn load(folder: &Path) -> Result<Manifest, BackupError> {
        let path = folder.join(FILE);
        let mut text = Vec::new();
        let read = if_there(File::open(&path).and_then(|file| file.take(LONGEST).read_to_end(&mut text)));
        if read.map_err(BackupError::file("reading", &path))?.is_none() {
            return Err(BackupError::NotWhole { folder: folder.to_owned(), manifest: FILE });
        }
        let foreign = |problem: String| BackupError::Manifest { path: path.clone(), problem };
        let value: serde_json::Value =
            serde_json::from_slice(&text).map_err(|error| foreign(format!("it is not JSON ({error})")))?;
        if value["format"] != FORMAT {
            return Err(foreign(format!("its format is {}, not {FORMAT:?}", value["format"])));
        }
        let manifest: Manifest = serde_json::from_value(value).map_err(|error| foreign(error.to_string()))?;
        match manifest.files.iter().find(|file| !is_inside(&file.path)) {
            Some(file) => Err(foreign(format!("it names {}, which cannot be part of a backup", file.path.display()))),
            None => Ok(manifest),
        }
    }
}

impl KeptFile {
    /// Compares the file at `path` with its size and digest. Adds the bytes read to `read`.
    pub(super) fn check(&self, path: &Path, read: &AtomicU64) -> Result<(), BackupError> {
        let damaged = |problem: String| BackupError::Damaged { path: path.to_owned(), problem };
        let file = if_there(File::open(path)).map_err(BackupError::file("opening", path))?;
        let mut file = file.ok_or_else(|| damaged("the file is missing".to_owned()))?;
        let (mut digest, mut bytes, mut buffer) = (Sha256::new(), 0, vec![0; 256 << 10]);
        loop {
            let length = file.read(&mut buffer).map_err(BackupError::file("reading", path))?;
            if length == 0 {
                break;
            }
            digest.update(&buffer[..length]);
            bytes += length as u64;
            read.fetch_add(length as u64, Ordering::Relaxed);
        }
        if bytes != self.bytes {
            return Err(damaged(format!("it has {bytes} bytes instead of {}", self.bytes)));
        }
        match HEXLOWER.encode(&digest.finalize()) == self.sha256 {
            true => Ok(()),
            false => Err(damaged("its content differs from what was written (SHA-256)".to_owned())),
        }
    }
}

/// Whether a relative path stays inside any folder it is joined to.
pub(super) fn is_inside(path: &Path) -> bool {
    path.components().next().is_some() && path.components().all(|part| matches!(part, Component::Normal(_)))
}
