//! Makes a backup folder from the stream that a crawl sends.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use data_encoding::HEXLOWER;
use seine_system::clock::wall_ms;
use seine_system::folders::{if_there, make_private};
use sha2::{Digest, Sha256};
use zstd::stream::write::Encoder;

use super::draft::{BACKUP_MARK, Draft};
use super::error::BackupError;
use super::manifest::{KeptFile, Manifest, is_inside};
use super::send::STARTED_WITH;
use super::stream::{self, Facts, Piece};
use crate::config::StartedWith;
use crate::sinks::dead_letters;

/// Tables of the frontier are compressed and get this file name extension.
pub(super) const TABLES: &str = "frontier";
pub(super) const COMPRESSED: &str = "zst";
/// The fastest level of zstd: a third of the size, at some hundred megabytes a second.
const LEVEL: i32 = 1;

/// Makes a backup in the folder `to` from the stream `input`, sent by the crawl with the data folder `of`. The backup
/// is complete and durable when this returns; after an error nothing is left. `with_secrets`: also copies passwords
/// given as variables or options. Adds the bytes written to `written`.
pub(crate) fn receive(
    input: &mut dyn Read,
    of: &Path,
    to: &Path,
    with_secrets: bool,
    written: &AtomicU64,
) -> Result<Manifest, BackupError> {
    refuse_inside(to, of)?;
    let draft = Draft::begin(to, BACKUP_MARK)?;
    let taken_ms = wall_ms();
    let mut files = Files { folder: draft.folder.clone(), open: None, kept: Vec::new(), written };
    let facts = files.take_all(input)?;
    // Copied directly from the data folder, so that it passes through no connection.
    let secrets = files.copy_started_with(of, with_secrets)?;
    let left_out = what_sinks_wrote(of, &facts);
    let mut manifest = Manifest::new(of, taken_ms, facts, left_out, files.kept);
    match with_secrets {
        true => manifest.secrets = secrets,
        false => manifest.secrets_left_out = secrets,
    }
    draft.finish(|folder| manifest.write(folder))?;
    Ok(manifest)
}

/// `inner` need not exist yet.
pub(super) fn refuse_inside(inner: &Path, outer: &Path) -> Result<(), BackupError> {
    let real = |path: &Path| path.canonicalize().ok();
    let absolute = std::path::absolute(inner).map_err(BackupError::file("finding", inner))?;
    // `new/../data/copy`: as long as `new` is missing, only its text tells where it leads.
    let mut plain = PathBuf::new();
    for part in absolute.components() {
        match part {
            Component::ParentDir => _ = plain.pop(),
            part => plain.push(part),
        }
    }
    let Some(outer) = real(outer) else { return Ok(()) };
    let is_inside = |path: &Path| path.ancestors().find_map(real).is_some_and(|found| found.starts_with(&outer));
    match is_inside(&absolute) || is_inside(&plain) {
        true => Err(BackupError::Inside { inner: inner.to_owned(), outer }),
        false => Ok(()),
    }
}

/// Folders of sinks that contain more than dead letters.
fn what_sinks_wrote(of: &Path, facts: &Facts) -> Vec<PathBuf> {
    let has_more = |name: &&String| {
        let entries = std::fs::read_dir(of.join(name.as_str()));
        entries
            .is_ok_and(|mut entries| entries.any(|entry| entry.is_ok_and(|it| it.file_name() != dead_letters::FOLDER)))
    };
    facts.readers.iter().filter(has_more).map(PathBuf::from).collect()
}

/// Writes the files of the stream into the backup.
struct Files<'a> {
    folder: PathBuf,
    open: Option<OpenFile<'a>>,
    kept: Vec<KeptFile>,
    written: &'a AtomicU64,
}

struct OpenFile<'a> {
    name: PathBuf,
    path: PathBuf,
    out: Out<'a>,
}

enum Out<'a> {
    Plain(Digesting<'a>),
    Compressed(Encoder<'static, Digesting<'a>>),
}

/// A file and the digest of what was written to it.
struct Digesting<'a> {
    file: File,
    digest: Sha256,
    bytes: u64,
    written: &'a AtomicU64,
}

impl Write for Digesting<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.digest.update(&bytes[..written]);
        self.bytes += written as u64;
        self.written.fetch_add(written as u64, Ordering::Relaxed);
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

impl Files<'_> {
    fn take_all(&mut self, input: &mut dyn Read) -> Result<Facts, BackupError> {
        loop {
            match stream::next(input)? {
                Piece::File(name) => {
                    self.end()?;
                    self.begin(&name)?;
                }
                Piece::Data(bytes) => self.write(&bytes)?,
                Piece::End(facts) => {
                    self.end()?;
                    return Ok(facts);
                }
            }
        }
    }

    /// Returns the names of the secrets in the copy.
    fn copy_started_with(&mut self, of: &Path, with_secrets: bool) -> Result<Vec<String>, BackupError> {
        let path = of.join(STARTED_WITH);
        let failed = BackupError::file("reading", &path);
        let Some(mut bytes) = if_there(std::fs::read(&path)).map_err(failed)? else { return Ok(Vec::new()) };
        let started_with = StartedWith::load(of).map_err(|error| BackupError::StartedWith(error.to_string()))?;
        let secrets = started_with.secrets();
        if !with_secrets && !secrets.is_empty() {
            let kept = serde_json::to_vec_pretty(&started_with.without_secrets());
            bytes = kept.expect("a struct of texts is always JSON");
        }
        self.begin(STARTED_WITH)?;
        self.write(&bytes)?;
        self.end()?;
        Ok(secrets)
    }

    fn begin(&mut self, name: &str) -> Result<(), BackupError> {
        let mut name = PathBuf::from(name);
        if !is_inside(&name) {
            return Err(BackupError::Foreign("a file name points outside the backup"));
        }
        let is_table = name.starts_with(TABLES);
        if is_table {
            name.set_extension(COMPRESSED);
        }
        let path = self.folder.join(&name);
        let failed = |source| BackupError::File { action: "making", path: path.clone(), source };
        make_private(path.parent().unwrap_or(&self.folder)).map_err(failed)?;
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).map_err(failed)?;
        let plain = Digesting { file, digest: Sha256::new(), bytes: 0, written: self.written };
        let out = match is_table {
            true => Out::Compressed(Encoder::new(plain, LEVEL).map_err(failed)?),
            false => Out::Plain(plain),
        };
        self.open = Some(OpenFile { name, path, out });
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), BackupError> {
        let Some(open) = &mut self.open else { return Err(BackupError::Foreign("data came before any file name")) };
        let written = match &mut open.out {
            Out::Plain(out) => out.write_all(bytes),
            Out::Compressed(out) => out.write_all(bytes),
        };
        written.map_err(BackupError::file("writing", &open.path))
    }

    /// The file is made durable later. An fsync here would delay reading, and the crawl does not wait for ever.
    fn end(&mut self) -> Result<(), BackupError> {
        let Some(OpenFile { name, path, out }) = self.open.take() else { return Ok(()) };
        let Digesting { digest, bytes, .. } = match out {
            Out::Plain(out) => out,
            Out::Compressed(out) => out.finish().map_err(BackupError::file("writing", &path))?,
        };
        self.kept.push(KeptFile { path: name, bytes, sha256: HEXLOWER.encode(&digest.finalize()) });
        Ok(())
    }
}
