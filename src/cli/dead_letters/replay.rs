//! Letters delivered after all, through the sink that they were refused by, to where it delivers. A letter is taken out
//! when its page is there.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, anyhow, bail};

use super::selection::{LetterSelection, SinkArgs, lock, lock_all};
use crate::cli::destination::Destination;
use crate::cli::print;
use crate::config::{self, Config, Removed, SinkConfig};
use crate::delivery::{Cursor, Deriver, Entry, Position};
use crate::folders;
use crate::formats::letters::Note;
use crate::page_log::{LogError, PageLog, Reader};
use crate::parse::DeriveOptions;
use crate::sinks::dead_letters::{self, LetterAction};
use crate::sinks::{self, Sink, SinkContext};
use crate::telemetry::logging;
use crate::telemetry::progress::{Screen, grouped, say};

/// File by file: a replay that is broken off has done the files before, and repeats the one it was at.
pub(super) fn replay(
    place: &SinkArgs,
    selection: &LetterSelection,
    destination: &Destination,
) -> anyhow::Result<ExitCode> {
    let folder = place.folder()?;
    let loaded = destination.of_crawl(&place.output)?;
    let sink = loaded.config.sinks.iter().find(|sink| sink.name() == place.sink).with_context(|| {
        format!("the configuration has no destination {}; name the crawl's own with -c", place.sink)
    })?;
    logging::start(&loaded.config.logging, &Screen::new(true))?;
    let _alone = lock_all(&folder)?;
    let mut replay = Replay::new(place, folder, sink, &loaded.config)?;
    say("INFO", &format!("to {}", replay.whereto()));
    if let config::Destination::Kafka(_) = sink.destination {
        say(
            "WARN",
            "a topic keeps what comes late behind what is newer: readers go by the larger fetch time or event_id, and a \
             compacted topic keeps the letter of a page that was fetched again meanwhile",
        );
    }
    if sink.upkeep.removed == Removed::Delete {
        say(
            "WARN",
            "an index knows what was deleted for as long as its index.gc_deletes says, and until its shard moves or its \
             server starts anew: the letter of a page that has gone since then brings its document back",
        );
    }
    let mut chosen = HashSet::new();
    let mut refused = 0;
    for path in dead_letters::files(&replay.folder)? {
        let Some(_lock) = lock(&path)? else { continue };
        refused += replay.file(&path, selection, &mut chosen)?;
    }
    let delivered = grouped(chosen.len() as u64 - refused);
    print(&format!("{delivered} delivered, {} refused again\n", grouped(refused)))?;
    Ok(selection.check(&chosen))
}

struct Replay<'a> {
    sink: &'a SinkConfig,
    deriver: Arc<Deriver>,
    /// The sink's own.
    folder: PathBuf,
    /// For what is refused again.
    scratch: PathBuf,
    /// The crawl's reader for a sink on files, which keeps its state. It keeps the crawl from running meanwhile.
    reader: Option<Reader>,
}

impl Replay<'_> {
    fn new<'a>(place: &SinkArgs, folder: PathBuf, sink: &'a SinkConfig, config: &Config) -> anyhow::Result<Replay<'a>> {
        let log = place.output.join("log");
        let reader = match sink.destination {
            // Two may write to a server.
            _ if sink.destination.is_server() => None,
            _ if log.is_dir() => Some(reader_of(place, &log, config)?),
            // Of `seine replay`, which keeps no letters of others.
            config::Destination::Filesystem(_) => None,
            _ => bail!("{} holds no crawl: there is no log/ in it", place.output.display()),
        };
        let deriver = Deriver::new(DeriveOptions::from(config));
        let scratch = folder.join("dead_letters").join("replay");
        Ok(Replay { sink, deriver, folder, scratch, reader })
    }

    fn whereto(&self) -> String {
        match &self.sink.destination {
            config::Destination::Kafka(config) => {
                let servers = config.properties.get("bootstrap.servers").map_or("", |it| it.expose());
                format!("topic {} at {servers}", config.topic)
            }
            config::Destination::Elasticsearch(config) => {
                let hosts: Vec<&str> = config.hosts.iter().map(url::Url::as_str).collect();
                format!("index {} at {}", config.index, hosts.join(", "))
            }
            config::Destination::Pagestore { base_folder: Some(folder) } => folder.display().to_string(),
            _ => self.folder.display().to_string(),
        }
    }

    /// Sends the chosen letters of a file, and takes those out that are there then. Returns how many were refused again.
    fn file(&mut self, path: &Path, selection: &LetterSelection, chosen: &mut HashSet<String>) -> anyhow::Result<u64> {
        remove_folder(&self.scratch)?;
        let before = chosen.len();
        self.send(path, selection, chosen)?;
        if chosen.len() == before {
            return remove_folder(&self.scratch).map(|()| 0);
        }
        let refused = refusals(&self.scratch)?;
        dead_letters::rewrite(path, &mut |note| match refused.get(&note.id) {
            _ if !selection.has(note) => LetterAction::Keep(note.clone()),
            Some(again) => LetterAction::Keep(Note { attempts: note.attempts.saturating_add(1), ..again.clone() }),
            None => LetterAction::Replayed,
        })?;
        remove_folder(&self.scratch)?;
        Ok(refused.len() as u64)
    }

    /// Returns when every one is durable at the destination, or refused and in the scratch folder.
    fn send(&mut self, path: &Path, selection: &LetterSelection, chosen: &mut HashSet<String>) -> anyhow::Result<()> {
        let state = self.reader.as_ref().map(|reader| reader.cursor().state.clone()).unwrap_or_default();
        let context = SinkContext { letters: self.scratch.clone(), ..SinkContext::new(&self.folder) };
        let mut sink = sinks::open(self.sink, &context, &state)?;
        self.commit(&mut *sink, Position::default())?;
        let mut end = Position::default();
        let mut failed: anyhow::Result<()> = Ok(());
        dead_letters::for_each(path, &mut |note, reader| {
            if failed.is_ok() && selection.has(&note) {
                let event = Arc::new(reader.event()?);
                end = Position { index: end.index + 1, offset: end.offset + 1 };
                failed = sink.deliver(&[Arc::new(Entry::new(end, event, &self.deriver))]).map(drop).map_err(Into::into);
                chosen.insert(note.id);
            }
            Ok(())
        })
        .with_context(|| path.display().to_string())?;
        failed?;
        let skipped = self.commit(&mut *sink, end)?;
        sink.close()?;
        if skipped > 0 {
            bail!(
                "{} of the letters in {} are of pages that {} does not hold as it is set up now, and would be lost; \
                 nothing was taken out: replay them with the crawl's own configuration",
                grouped(skipped),
                path.display(),
                self.sink.name()
            );
        }
        Ok(())
    }

    /// Waits until everything up to `end` is settled, and keeps the sink's state with its place in the log, which stays.
    /// Returns how much the sink left out.
    fn commit(&mut self, sink: &mut dyn Sink, end: Position) -> anyhow::Result<u64> {
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

/// The sink's reader in the log of a crawl that stands still.
fn reader_of(place: &SinkArgs, log: &Path, config: &Config) -> anyhow::Result<Reader> {
    let (log, recovery) =
        PageLog::open(log, &config.log, DeriveOptions::from(config)).map_err(|error| match error {
            LogError::Locked { .. } => anyhow!(
                "the crawl in {} is running, and {} writes to the same files; stop it first",
                place.output.display(),
                place.sink
            ),
            other => other.into(),
        })?;
    if !recovery.readers.iter().any(|(name, _)| *name == place.sink) {
        bail!(
            "{} has no destination {} any more: there is no log/cursors/{}.cursor; make it one of the crawl's again",
            place.output.display(),
            place.sink,
            place.sink
        );
    }
    Ok(log.reader(&place.sink)?)
}

/// By id.
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
    removed.with_context(|| format!("{} cannot be removed", folder.display())).map(drop)
}
