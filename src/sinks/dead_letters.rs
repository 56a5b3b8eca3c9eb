//! A sink's dead letters on disk: events that the destination rejected for good. They stay until somebody drops or
//! replays them (`seine dead-letters`).
//!
//! They are kept in a folder of append-only files of [`letters`]. Each run begins a new file and closes it at 64 MiB. A
//! process that writes or changes a file holds its lock, so old files can be processed while a crawl runs. Each file
//! records how many of its letters were dropped or replayed. An emptied file is replaced by a `.tally` file with only
//! these numbers.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};

use seine_formats::letters::{self, LetterError, LetterReader, Note, Tally};
use seine_parse::page::{PageEvent, codec};
use seine_system::clock::wall_ms;
use seine_system::folders::try_lock;
use xxhash_rust::xxh3::xxh3_64;

use super::folder::{file_error, list_named, sync_folder};
use super::sink::SinkError;
use super::whole_file::WholeFile;

/// The folder within the sink's own folder.
pub(crate) const FOLDER: &str = "dead_letters";
const SUFFIX: &str = ".letters";
const EMPTIED: &str = ".tally";
const FILE_BYTES: u64 = 64 << 20;

/// Stores dead letters of one sink.
pub struct DeadLetters {
    folder: PathBuf,
    /// Hashes of the ids of all stored letters. After a crash an event may be rejected again; it is not stored twice.
    known: HashSet<u64>,
    open: Option<OpenLetters>,
}

struct OpenLetters {
    path: PathBuf,
    file: File,
    bytes: u64,
    synced: bool,
}

/// A letter file opened for reading.
pub(crate) type FileReader = LetterReader<BufReader<File>>;

/// What to do with a letter when its file is rewritten.
pub enum LetterAction {
    Dropped,
    /// Dropped because it was delivered after all.
    Replayed,
    /// Kept, with this note.
    Keep(Note),
}

/// Counts of a sink's dead letters.
#[derive(Debug, Default)]
pub struct Account {
    /// [`id_hash`] of the letters on disk.
    pub ids: HashSet<u64>,
    /// Counts of letters that were removed.
    pub tally: Tally,
    /// Files that cannot be read to their end.
    pub problems: Vec<(PathBuf, LetterError)>,
}

impl DeadLetters {
    /// Reads the notes of the existing letters. Creates nothing on disk before the first letter. `sink_folder` is the
    /// sink's own.
    pub fn open(sink_folder: &Path) -> Result<DeadLetters, SinkError> {
        let Account { ids, problems, .. } = account_of(files(sink_folder)?);
        // Unreadable letters are reported; new ones can still be stored.
        for (path, error) in problems {
            tracing::error!(path = %path.display(), %error, "dead letters cannot be read");
        }
        Ok(DeadLetters { folder: sink_folder.join(FOLDER), known: ids, open: None })
    }

    /// Stores an event unless it is stored already. Durable after [`sync`](DeadLetters::sync).
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

    /// Makes all stored letters durable. Call it before the sink's cursor passes their events.
    pub fn sync(&mut self) -> Result<(), SinkError> {
        if let Some(open) = self.open.as_mut().filter(|open| !open.synced) {
            open.file.sync_data().map_err(|e| file_error("syncing", &open.path, e))?;
            open.synced = true;
        }
        Ok(())
    }
}

/// The letter files of a sink, oldest first; empty if there is no folder.
pub fn files(sink_folder: &Path) -> Result<Vec<PathBuf>, SinkError> {
    list(sink_folder, &[SUFFIX])
}

/// The files with one of these suffixes.
fn list(sink_folder: &Path, suffixes: &[&str]) -> Result<Vec<PathBuf>, SinkError> {
    let is_one = |name: &str| suffixes.iter().any(|suffix| number_of(name, suffix).is_some());
    match list_named(&sink_folder.join(FOLDER), is_one) {
        Err(SinkError::File { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        listed => listed,
    }
}

/// Whether a file name belongs to a letter file or a tally.
pub(crate) fn is_kept(name: &str) -> bool {
    number_in(name).is_some()
}

/// Bytes on disk used by a sink's dead letters.
pub fn size(sink_folder: &Path) -> Result<u64, SinkError> {
    let files = files(sink_folder)?;
    Ok(files.iter().map(|path| std::fs::metadata(path).map_or(0, |metadata| metadata.len())).sum())
}

/// Calls `visit` with each note of a file and a reader for its event.
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

/// The reason the destination gave for rejecting an event; none if there is no letter for it. Reads the notes of all
/// letters and skips unreadable ones.
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

/// Reads the notes and tallies of all letter files. A damaged file counts up to the damage.
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

/// Takes the lock of a file, in order to change it. None if a running crawl writes to the file.
pub fn lock(path: &Path) -> Result<Option<File>, SinkError> {
    let file = OpenOptions::new().read(true).open(path).map_err(|e| file_error("opening", path, e))?;
    try_lock(file).map_err(|e| file_error("locking", path, e))
}

/// Takes the lock of all letters of a sink, so that one process at a time processes them. None if another process has
/// it.
pub(crate) fn lock_all(sink_folder: &Path) -> Result<Option<File>, SinkError> {
    lock(&sink_folder.join(FOLDER))
}

/// Rewrites a file in one step. `fate` decides for each letter; the tally counts the removed ones. The caller must hold
/// the file's lock. A damaged file is left unchanged.
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

/// Returns the number of letters kept.
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
    seine_system::folders::make_private(folder).map_err(|e| file_error("creating the folder", folder, e))?;
    if let Some(parent) = folder.parent() {
        sync_folder(parent)?;
    }
    // The number of an emptied file is never used again.
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

/// The hash by which an [`Account`] identifies events.
pub(crate) fn id_hash(id: &str) -> u64 {
    xxh3_64(id.as_bytes())
}
