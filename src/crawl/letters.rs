//! Delivers dead letters again through the sink that refused them, to its present destination. A dead letter is removed
//! when its page is delivered.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, anyhow, bail};
use seine_delivery::{Cursor, Deriver, Entry, Offset};
use seine_formats::letters::Note;
use seine_page_log::{LogError, PageLog, Reader};
use seine_parse::DeriveOptions;
use seine_system::folders;
use serde_json::Value;

use crate::config::{Config, SinkConfig};
use crate::sinks::dead_letters::{self, LetterAction};
use crate::sinks::{self, Sink, SinkContext};
use crate::telemetry::progress::grouped;

/// The replay of one sink's dead letters. A server accepts several writers, so the crawl may run meanwhile; for a sink
/// that writes files it must be stopped.
pub struct Replay<'a> {
    sink: &'a SinkConfig,
    deriver: Arc<Deriver>,
    /// The folder of the sink.
    folder: PathBuf,
    /// Folder for pages that are refused again.
    scratch: PathBuf,
    /// The crawl's reader of a sink that writes files. The reader stores the sink's state, and keeps the crawl from
    /// starting.
    reader: Option<Reader>,
    /// Facts about the server that the crawl's sink has stored, such as the former partitions of a topic. Null for other sinks.
    known: Value,
    /// One process at a time replays or drops the letters of a sink.
    _alone: Option<File>,
}

/// The result of a replay.
#[derive(Debug, Default)]
pub struct Replayed {
    /// Ids of the events that were sent.
    pub sent: HashSet<String>,
    /// How many of these were refused again.
    pub refused: u64,
    /// Files that were left out, because a running crawl writes to them.
    pub in_use: Vec<PathBuf>,
}

impl Replay<'_> {
    /// `data`: the data folder of the crawl.
    pub fn new<'a>(data: &Path, sink: &'a SinkConfig, config: &Config) -> anyhow::Result<Replay<'a>> {
        let folder = data.join(sink.name());
        let alone = lock_all(&folder)?;
        let log = data.join("log");
        let reader = if sink.destination.is_server() {
            None
        } else if log.is_dir() {
            Some(reader_of(data, sink.name(), config)?)
        } else if sink.destination.row().needs_no_log {
            // A folder of `seine replay`, which keeps only its own dead letters.
            None
        } else {
            bail!("{} has no crawl: it has no log/", data.display())
        };
        let cursor = if reader.is_none() { seine_page_log::stored_cursor(&log, sink.name())? } else { None };
        let known = cursor.map_or(Value::Null, |cursor| sinks::kept_state(sink, &cursor.state));
        let deriver = Deriver::new(DeriveOptions::from(config));
        let scratch = folder.join("dead_letters").join("replay");
        Ok(Replay { sink, deriver, folder, scratch, reader, known, _alone: alone })
    }

    /// The destination, for people.
    pub fn destination(&self) -> String {
        self.sink.destination.place(&self.folder)
    }

    /// Works file by file. An interrupted replay has finished the earlier files and repeats the current one.
    pub fn run(&mut self, is_chosen: &dyn Fn(&Note) -> bool) -> anyhow::Result<Replayed> {
        let mut replayed = Replayed::default();
        for path in dead_letters::files(&self.folder)? {
            match dead_letters::lock(&path)? {
                Some(_lock) => self.file(&path, is_chosen, &mut replayed)?,
                None => replayed.in_use.push(path),
            }
        }
        Ok(replayed)
    }

    /// Sends the chosen dead letters of a file, and removes those delivered.
    fn file(&mut self, path: &Path, is_chosen: &dyn Fn(&Note) -> bool, replayed: &mut Replayed) -> anyhow::Result<()> {
        remove_folder(&self.scratch)?;
        let before = replayed.sent.len();
        self.send(path, is_chosen, &mut replayed.sent)?;
        if replayed.sent.len() == before {
            return remove_folder(&self.scratch);
        }
        let refused = refusals(&self.scratch)?;
        dead_letters::rewrite(path, &mut |note| match refused.get(&note.id) {
            _ if !is_chosen(note) => LetterAction::Keep(note.clone()),
            Some(again) => LetterAction::Keep(Note { attempts: note.attempts.saturating_add(1), ..again.clone() }),
            None => LetterAction::Replayed,
        })?;
        replayed.refused += refused.len() as u64;
        remove_folder(&self.scratch)
    }

    /// Returns when each is durable at the destination, or refused and in the scratch folder.
    fn send(
        &mut self,
        path: &Path,
        is_chosen: &dyn Fn(&Note) -> bool,
        sent: &mut HashSet<String>,
    ) -> anyhow::Result<()> {
        let state = self.reader.as_ref().map_or(&self.known, |reader| &reader.cursor().state).clone();
        let context = SinkContext { letters: self.scratch.clone(), ..SinkContext::new(&self.folder) };
        let mut sink = sinks::open(self.sink, &context, &state)?;
        self.commit(&mut *sink, Offset::default())?;
        let mut end = Offset::default();
        let mut failed: anyhow::Result<()> = Ok(());
        dead_letters::for_each(path, &mut |note, reader| {
            if failed.is_ok() && is_chosen(&note) {
                let event = Arc::new(reader.event()?);
                end = Offset { index: end.index + 1, offset: end.offset + 1 };
                failed = sink.deliver(&[Arc::new(Entry::new(end, event, &self.deriver))]).map(drop).map_err(Into::into);
                sent.insert(note.id);
            }
            Ok(())
        })
        .with_context(|| path.display().to_string())?;
        failed?;
        let skipped = self.commit(&mut *sink, end)?;
        sink.close()?;
        if skipped > 0 {
            bail!(
                "{} of the dead letters in {} are of pages that {} does not take with its present settings, so they would be lost; \
                 nothing was removed; replay them with the crawl's own configuration",
                grouped(skipped),
                path.display(),
                self.sink.name()
            );
        }
        Ok(())
    }

    /// Waits until everything up to `end` is settled, and stores the sink's state. Its offset in the log does not
    /// change. Returns how many events the sink left out.
    fn commit(&mut self, sink: &mut dyn Sink, end: Offset) -> anyhow::Result<u64> {
        let delivered = loop {
            let delivered = sink.flush()?;
            if delivered.up_to >= end {
                break delivered;
            }
        };
        if let Some(reader) = &mut self.reader
            && reader.cursor().state != delivered.state
        {
            reader.commit(Cursor { state: delivered.state, ..reader.cursor().clone() })?;
        }
        Ok(delivered.skipped)
    }
}

/// The sink's reader in the log of a stopped crawl.
fn reader_of(data: &Path, sink: &str, config: &Config) -> anyhow::Result<Reader> {
    let (log, recovery) =
        PageLog::open(&data.join("log"), &config.log, DeriveOptions::from(config)).map_err(|error| match error {
            LogError::Locked { .. } => anyhow!(
                "the crawl in {} is running and its sink {sink} writes the same files; stop it first",
                data.display()
            ),
            other => other.into(),
        })?;
    if !recovery.readers.iter().any(|(name, _)| *name == sink) {
        bail!(
            "{} has no destination {sink} any more (no log/cursors/{sink}.cursor); add it to the crawl again",
            data.display()
        );
    }
    Ok(log.reader(sink)?)
}

/// Refusals by event id.
fn refusals(folder: &Path) -> anyhow::Result<HashMap<String, Note>> {
    let mut refused = HashMap::new();
    for path in dead_letters::files(folder)? {
        dead_letters::for_each(&path, &mut |note, _| {
            refused.insert(note.id.clone(), note);
            Ok(())
        })
        .with_context(|| path.display().to_string())?;
    }
    Ok(refused)
}

fn remove_folder(folder: &Path) -> anyhow::Result<()> {
    let removed = folders::if_there(std::fs::remove_dir_all(folder));
    removed.with_context(|| format!("cannot remove {}", folder.display())).map(drop)
}

/// Locks the dead letters of a sink, because two replays would delete each other's refusals. None if the sink has no
/// dead letters.
pub(crate) fn lock_all(sink_folder: &Path) -> anyhow::Result<Option<File>> {
    if dead_letters::files(sink_folder)?.is_empty() {
        return Ok(None);
    }
    match dead_letters::lock_all(sink_folder)? {
        None => bail!(
            "another `seine dead-letters replay` or `drop` is using the dead letters in {}; wait until it ends, and \
             try again",
            sink_folder.display()
        ),
        lock => Ok(lock),
    }
}
