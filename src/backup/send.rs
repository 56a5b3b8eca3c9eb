//! Sends the copy of a crawl. The crawl does not wait: the stores are captured at one moment and read while they go on.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use seine_frontier::{EmbeddedFrontier, FrontierCopy, FrontierError};
use seine_page_log::{CopiedSegment, LogCopy, LogError, PageLog};
use seine_system::folders::if_there;

use super::stream::{Facts, Pieces};
use crate::sinks::dead_letters;

/// In the data folder, next to the stores.
const ORDERS: &str = "orders.jsonl";
/// Records of what client crawlers sent and nobody checked. If a client is excluded, it is fetched again.
const CLIENTS: &str = "clients";
const JOURNALS: [&str; 3] = [".sent", ".sent.older", ".in_question"];
/// In the data folder: the progress of sinks that are being filled from an archive …
pub(crate) const FILLINGS: &str = "from.archive";
/// … and a file that may contain passwords.
pub(super) const STARTED_WITH: &str = "started-with.json";

#[derive(Debug, thiserror::Error)]
pub(crate) enum SendError {
    #[error(transparent)]
    Frontier(#[from] FrontierError),
    #[error(transparent)]
    Log(#[from] LogError),
    #[error("reading {}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    /// The receiver has disconnected.
    #[error("the receiver of the copy has disconnected: {0}")]
    Gone(#[from] io::Error),
}

/// Writes a copy of the crawl in the data folder `folder` to `out`. Errors of the crawl are also sent to `out`.
pub(crate) fn send(
    folder: &Path,
    frontier: &EmbeddedFrontier,
    log: &PageLog,
    out: &mut dyn Write,
) -> Result<(), SendError> {
    let mut pieces = Pieces::to(out);
    match send_all(folder, frontier, log, &mut pieces) {
        Err(error @ SendError::Gone(_)) => Err(error),
        Err(error) => {
            pieces.fail(&error.to_string())?;
            Err(error)
        }
        sent => sent,
    }
}

fn send_all(folder: &Path, frontier: &EmbeddedFrontier, log: &PageLog, pieces: &mut Pieces) -> Result<(), SendError> {
    let (log, store) = log.copy(|| frontier.copy().map_err(SendError::from))?;
    let names = log.cursors.iter().filter_map(|(path, _)| path.file_stem()?.to_str().map(str::to_owned));
    let facts = Facts {
        validated: store.cursor().index,
        oldest: log.oldest.index,
        accepted: log.end.index,
        readers: names.collect(),
    };
    // The log comes first, since segments removed in the meantime use disk space until they are read.
    send_log(log, pieces)?;
    send_letters(folder, pieces)?;
    // After the log: a client's page is in the client's journal before it is in the log.
    send_files(folder, CLIENTS, |name| JOURNALS.iter().any(|journal| name.ends_with(journal)), pieces)?;
    send_file(&folder.join(ORDERS), ORDERS, pieces)?;
    send_frontier(&store, pieces)?;
    Ok(pieces.end(&facts)?)
}

fn send_log(log: LogCopy, pieces: &mut Pieces) -> Result<(), SendError> {
    for (name, bytes) in &log.cursors {
        pieces.begin(&format!("log/{}", name.display()))?;
        pieces.write_all(bytes)?;
    }
    for CopiedSegment { path, bytes, content } in log.segments {
        pieces.begin(&format!("log/{}", path.file_name().unwrap_or_default().display()))?;
        let copied = copy(content, &path, pieces)?;
        if copied < bytes {
            let source = io::Error::new(ErrorKind::UnexpectedEof, "it is shorter than its accepted events");
            return Err(SendError::File { path, source });
        }
    }
    Ok(())
}

/// Dead letters of all sinks, past and present. A file that is being written may end in the middle of a letter, as
/// after a kill.
fn send_letters(folder: &Path, pieces: &mut Pieces) -> Result<(), SendError> {
    for sink in names_in(folder)? {
        send_files(folder, &format!("{sink}/{}", dead_letters::FOLDER), dead_letters::is_kept, pieces)?;
    }
    // The progress of sinks that are being filled from an archive, and their dead letters.
    send_files(folder, FILLINGS, |name| name.ends_with(".json") && name != STARTED_WITH, pieces)?;
    for sink in names_in(&folder.join(FILLINGS))? {
        let letters = format!("{FILLINGS}/{sink}/{}", dead_letters::FOLDER);
        send_files(folder, &letters, dead_letters::is_kept, pieces)?;
    }
    Ok(())
}

fn send_files(
    folder: &Path,
    below: &str,
    is_wanted: impl Fn(&str) -> bool,
    pieces: &mut Pieces,
) -> Result<(), SendError> {
    for name in names_in(&folder.join(below))?.into_iter().filter(|name| is_wanted(name)) {
        send_file(&folder.join(below).join(&name), &format!("{below}/{name}"), pieces)?;
    }
    Ok(())
}

/// File names in a folder, sorted; only those that are valid text. Empty if there is no such folder.
fn names_in(folder: &Path) -> Result<Vec<String>, SendError> {
    let read = || -> io::Result<Vec<String>> {
        let entries = std::fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
        Ok(entries.into_iter().filter_map(|entry| entry.file_name().into_string().ok()).collect())
    };
    match read() {
        Ok(mut names) => {
            names.sort();
            Ok(names)
        }
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(Vec::new()),
        Err(source) => Err(SendError::File { path: folder.to_owned(), source }),
    }
}

/// A missing file is skipped.
fn send_file(path: &Path, name: &str, pieces: &mut Pieces) -> Result<(), SendError> {
    let file = if_there(File::open(path)).map_err(|source| SendError::File { path: path.to_owned(), source })?;
    let Some(file) = file else { return Ok(()) };
    pieces.begin(name)?;
    copy(file, path, pieces).map(|_| ())
}

/// Distinguishes read errors from write errors.
fn copy(mut from: impl Read, path: &Path, pieces: &mut Pieces) -> Result<u64, SendError> {
    let mut buffer = vec![0; 64 << 10];
    let mut copied = 0;
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(copied),
            Ok(length) => {
                pieces.write_all(&buffer[..length])?;
                copied += length as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(source) => return Err(SendError::File { path: path.to_owned(), source }),
        }
    }
}

/// One file per table. A record has two lengths (4 bytes each, little-endian), then its key and its value.
fn send_frontier(store: &FrontierCopy, pieces: &mut Pieces) -> Result<(), SendError> {
    for table in store.tables() {
        pieces.begin(&format!("frontier/{table}"))?;
        for record in store.records(table) {
            let (key, value) = record?;
            pieces.write_all(&(key.len() as u32).to_le_bytes())?;
            pieces.write_all(&(value.len() as u32).to_le_bytes())?;
            pieces.write_all(&key)?;
            pieces.write_all(&value)?;
        }
    }
    Ok(())
}
