//! A sink's dead letters on disk: what its destination refused for good stays here until somebody drops it or has it
//! delivered after all (`seine dead-letters`).
//!
//! A folder of append-only files of [`letters`], one begun by each run and closed at 64 MiB. Whoever writes or changes a
//! file holds its lock, so that old ones can be worked on beside a running crawl. A file remembers how many letters were
//! taken out of it, delivered after all or dropped; an empty one ends as `.tally`, which holds that alone.

use std::collections::HashSet;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use super::folder::{file_error, list_named, sync_folder};
use super::sink::SinkError;
use super::whole_file::WholeFile;
use crate::clock::wall_ms;
use crate::formats::letters::{self, LetterError, LetterReader, Note, Tally};
use crate::page::{PageEvent, codec};

/// In a sink's own folder.
pub(crate) const FOLDER: &str = "dead_letters";
const SUFFIX: &str = ".letters";
const EMPTIED: &str = ".tally";
const FILE_BYTES: u64 = 64 << 20;

/// Takes letters for one sink.
pub struct DeadLetters {
    folder: PathBuf,
    /// Hashes of the ids of all letters there: an event that comes again after a crash is refused again, and lies here.
    known: HashSet<u64>,
    open: Option<OpenLetters>,
}

struct OpenLetters {
    path: PathBuf,
    file: File,
    bytes: u64,
    synced: bool,
}

/// A file of letters, being read.
pub type FileReader = LetterReader<BufReader<File>>;

/// What to do with a letter when its file is written anew.
pub enum LetterAction {
    Dropped,
    /// Delivered after all.
    Replayed,
    /// With this note.
    Keep(Note),
}

/// What a sink's dead letters account for.
#[derive(Debug, Default)]
pub struct Account {
    /// Those on disk, by [`id_hash`].
    pub ids: HashSet<u64>,
    /// Those that were, and are no more.
    pub tally: Tally,
    /// Files that cannot be read to their end.
    pub problems: Vec<(PathBuf, LetterError)>,
}

impl DeadLetters {
    /// Reads the notes of what is there already. Nothing is made on disk before the first letter. `sink_folder`: the
    /// sink's own.
    pub fn open(sink_folder: &Path) -> Result<DeadLetters, SinkError> {
        let Account { ids, problems, .. } = account_of(files(sink_folder)?);
        // Letters that cannot be read can still be told of, and new ones be taken.
        for (path, error) in problems {
            tracing::error!(path = %path.display(), %error, "dead letters cannot be read");
        }
        Ok(DeadLetters { folder: sink_folder.join(FOLDER), known: ids, open: None })
    }

    /// Adds an event, unless it lies there already. Durable after [`sync`](DeadLetters::sync).
    pub fn add(&mut self, event: &PageEvent, reason: &str) -> Result<(), SinkError> {
        tracing::warn!(url = event.url, id = event.id, reason, "refused for good, kept as a dead letter");
        if !self.known.insert(id_hash(&event.id)) {
            return Ok(());
        }
        let mut bytes = Vec::new();
        codec::encode(event, &mut bytes);
        let mut letter = Vec::with_capacity(bytes.len() + 512);
        letters::write(&Note::new(event, reason, wall_ms()), &bytes, &mut letter);
        if self.open.as_ref().is_some_and(|open| open.bytes + letter.len() as u64 > FILE_BYTES) {
            self.sync()?;
            self.open = None;
        }
        let open = match &mut self.open {
            Some(open) => open,
            none => none.insert(create(&self.folder)?),
        };
        open.file.write_all(&letter).map_err(|e| file_error("writing", &open.path, e))?;
        open.bytes += letter.len() as u64;
        open.synced = false;
        Ok(())
    }

    /// Makes everything added durable: to be called before the sink's cursor passes it.
    pub fn sync(&mut self) -> Result<(), SinkError> {
        if let Some(open) = self.open.as_mut().filter(|open| !open.synced) {
            open.file.sync_data().map_err(|e| file_error("syncing", &open.path, e))?;
            open.synced = true;
        }
        Ok(())
    }
}

/// The files of a sink's dead letters, oldest first; none when there is no such folder.
pub fn files(sink_folder: &Path) -> Result<Vec<PathBuf>, SinkError> {
    list(sink_folder, &[SUFFIX])
}

/// Files with one of these suffixes.
fn list(sink_folder: &Path, suffixes: &[&str]) -> Result<Vec<PathBuf>, SinkError> {
    let is_one = |name: &str| suffixes.iter().any(|suffix| number_of(name, suffix).is_some());
    match list_named(&sink_folder.join(FOLDER), is_one) {
        Err(SinkError::File { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        listed => listed,
    }
}

/// Whether a file of this name is one of dead letters, or tells how many there were.
pub(crate) fn is_kept(name: &str) -> bool {
    number_in(name).is_some()
}

/// Bytes that a sink's dead letters take on disk.
pub fn size(sink_folder: &Path) -> Result<u64, SinkError> {
    let files = files(sink_folder)?;
    Ok(files.iter().map(|path| std::fs::metadata(path).map_or(0, |metadata| metadata.len())).sum())
}

/// Calls `visit` with each note of a file, and a reader for its event.
pub fn for_each(
    path: &Path,
    visit: &mut dyn FnMut(Note, &mut FileReader) -> Result<(), LetterError>,
) -> Result<(), LetterError> {
    let mut reader = reader(path)?;
    while let Some(note) = reader.next_note()? {
        visit(note, &mut reader)?;
    }
    Ok(())
}

fn reader(path: &Path) -> Result<FileReader, LetterError> {
    LetterReader::new(BufReader::new(File::open(path)?))
}

/// What the destination said of an event that it refused; none of an event without a letter. Reads the notes of all letters there
/// are; of those that cannot be read nothing is said.
pub fn reason(sink_folder: &Path, event_id: &str) -> Option<String> {
    for path in files(sink_folder).ok()? {
        let mut reader = reader(&path).ok()?;
        while let Ok(Some(note)) = reader.next_note() {
            if note.id == event_id {
                return Some(note.reason);
            }
        }
    }
    None
}

/// Reads the notes and tallies of all letters there are and were. A file that is damaged counts as far as it can be read.
pub fn account(sink_folder: &Path) -> Result<Account, SinkError> {
    Ok(account_of(list(sink_folder, &[SUFFIX, EMPTIED])?))
}

fn account_of(files: Vec<PathBuf>) -> Account {
    let mut account = Account::default();
    for path in files {
        if let Err(error) = add_to(&mut account, &path) {
            account.problems.push((path, error));
        }
    }
    account
}

fn add_to(account: &mut Account, path: &Path) -> Result<(), LetterError> {
    let mut reader = reader(path)?;
    while let Some(note) = reader.next_note()? {
        account.ids.insert(id_hash(&note.id));
    }
    account.tally += reader.tally();
    Ok(())
}

/// The lock of a file, for who changes it; none while a running crawl writes to it.
pub fn lock(path: &Path) -> Result<Option<File>, SinkError> {
    let file = OpenOptions::new().read(true).open(path).map_err(|e| file_error("opening", path, e))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(file_error("locking", path, error)),
    }
}

/// The lock of all letters of a sink, for who works through them: one process at a time. None while another one does.
pub fn lock_all(sink_folder: &Path) -> Result<Option<File>, SinkError> {
    lock(&sink_folder.join(FOLDER))
}

/// Writes a file anew with what `fate` keeps of it, and a tally of the rest, in one step. Hold its lock. A file that is
/// damaged stays as it is.
pub fn rewrite(path: &Path, fate: &mut dyn FnMut(&Note) -> LetterAction) -> Result<(), RewriteError> {
    let at = |action| move |e| RewriteError::Sink(file_error(action, path, e));
    let mut out = WholeFile::create(path, None).map_err(at("creating a copy of"))?;
    let kept = copy_letters(path, &mut out, fate).map_err(|error| RewriteError::Letter { path: path.into(), error })?;
    out.finish().map_err(at("replacing"))?;
    if kept == 0 {
        let emptied = path.with_extension(EMPTIED.trim_start_matches('.'));
        std::fs::rename(path, emptied).map_err(at("renaming"))?;
        sync_folder(path.parent().unwrap_or(Path::new(".")))?;
    }
    Ok(())
}

/// How many letters it kept.
fn copy_letters(
    path: &Path,
    out: &mut dyn Write,
    fate: &mut dyn FnMut(&Note) -> LetterAction,
) -> Result<u64, LetterError> {
    let mut reader = reader(path)?;
    let (mut kept, mut gone) = (0, Tally::default());
    let mut bytes = Vec::new();
    while let Some(note) = reader.next_note()? {
        match fate(&note) {
            LetterAction::Dropped => gone.dropped += 1,
            LetterAction::Replayed => gone.replayed += 1,
            LetterAction::Keep(note) => {
                bytes.clear();
                letters::write(&note, &reader.event_bytes()?, &mut bytes);
                out.write_all(&bytes)?;
                kept += 1;
            }
        }
    }
    gone += reader.tally();
    bytes.clear();
    letters::write_tally(&gone, &mut bytes);
    out.write_all(&bytes)?;
    Ok(kept)
}

#[derive(Debug, thiserror::Error)]
pub enum RewriteError {
    #[error(transparent)]
    Sink(#[from] SinkError),
    #[error("{path}: {error}")]
    Letter { path: PathBuf, error: LetterError },
}

fn create(folder: &Path) -> Result<OpenLetters, SinkError> {
    crate::folders::make_private(folder).map_err(|e| file_error("creating the folder", folder, e))?;
    if let Some(parent) = folder.parent() {
        sync_folder(parent)?;
    }
    // An emptied file has its number for ever.
    let listed = folder.parent().map_or(Ok(Vec::new()), |sink_folder| list(sink_folder, &[SUFFIX, EMPTIED]))?;
    let names = listed.iter().filter_map(|path| path.file_name()?.to_str());
    let last = names.filter_map(number_in).max();
    let mut number = last.map_or(1, |last| last + 1);
    loop {
        let path = folder.join(format!("{number:08}{SUFFIX}"));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => {
                file.lock().map_err(|e| file_error("locking", &path, e))?;
                sync_folder(folder)?;
                return Ok(OpenLetters { path, file, bytes: 0, synced: true });
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(file_error("creating", &path, error)),
        }
    }
}

fn number_in(name: &str) -> Option<u64> {
    number_of(name, SUFFIX).or_else(|| number_of(name, EMPTIED))
}

fn number_of(name: &str, suffix: &str) -> Option<u64> {
    name.strip_suffix(suffix)?.parse().ok()
}

/// By which an [`Account`] knows events.
pub fn id_hash(id: &str) -> u64 {
    xxh3_64(id.as_bytes())
}
