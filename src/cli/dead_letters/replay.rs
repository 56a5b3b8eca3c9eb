//! Delivers dead letters again through the sink that refused them, to its present destination. A dead letter is removed
//! when its page is delivered.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, anyhow, bail};
use seine_delivery::{Cursor, Deriver, Entry, Offset};
use seine_formats::letters::Note;
use seine_page_log::{LogError, PageLog, Reader};
use seine_parse::DeriveOptions;
use seine_system::folders;

use super::selection::{LetterSelection, SinkArgs, lock, lock_all};
use crate::cli::destination::Destination;
use crate::cli::print;
use crate::config::{Config, Removed, SinkConfig};
use crate::sinks::dead_letters::{self, LetterAction};
use crate::sinks::{self, Sink, SinkContext};
use crate::telemetry::logging;
use crate::telemetry::progress::{Screen, grouped, say};

/// Works file by file. An interrupted replay has finished the earlier files and repeats the current one.
pub(super) fn replay(
    sink_args: &SinkArgs,
    selection: &LetterSelection,
    destination: &Destination,
) -> anyhow::Result<ExitCode> {
    let folder = sink_args.folder()?;
    let loaded = destination.of_crawl(&sink_args.output)?;
    let sink = loaded.config.sinks.iter().find(|sink| sink.name() == sink_args.sink).with_context(|| {
        format!("the configuration has no destination {}; give the crawl's configuration with -c", sink_args.sink)
    })?;
    logging::start(&loaded.config.logging, &Screen::new(true))?;
    let _alone = lock_all(&folder)?;
    let mut replay = Replay::new(sink_args, folder, sink, &loaded.config)?;
    say("INFO", &format!("to {}", replay.whereto()));
    if let Some(note) = sink.destination.row().late {
        say("WARN", note);
    }
    if sink.upkeep.removed == Removed::Delete {
        say(
            "WARN",
            "an index remembers deletions only for index.gc_deletes, and until its shard moves or its \
             server restarts; after that, the dead letter of a page that is gone creates its document again",
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
    /// The folder of the sink.
    folder: PathBuf,
    /// Folder for pages that are refused again.
    scratch: PathBuf,
    /// The crawl's reader of a sink that writes files. The reader stores the sink's state, and keeps the crawl from
    /// starting.
    reader: Option<Reader>,
}

impl Replay<'_> {
    fn new<'a>(
        sink_args: &SinkArgs,
        folder: PathBuf,
        sink: &'a SinkConfig,
        config: &Config,
    ) -> anyhow::Result<Replay<'a>> {
        let log = sink_args.output.join("log");
        // A server accepts several writers, so the crawl may run meanwhile.
        let reader = if sink.destination.is_server() {
            None
        } else if log.is_dir() {
            Some(reader_of(sink_args, &log, config)?)
        } else if sink.destination.row().needs_no_log {
            // A folder of `seine replay`, which keeps only its own dead letters.
            None
        } else {
            bail!("{} has no crawl: it has no log/", sink_args.output.display())
        };
        let deriver = Deriver::new(DeriveOptions::from(config));
        let scratch = folder.join("dead_letters").join("replay");
        Ok(Replay { sink, deriver, folder, scratch, reader })
    }

    fn whereto(&self) -> String {
        self.sink.destination.place(&self.folder)
    }

    /// Sends the chosen dead letters of a file, and removes those delivered. Returns how many were refused again.
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

    /// Returns when each is durable at the destination, or refused and in the scratch folder.
    fn send(&mut self, path: &Path, selection: &LetterSelection, chosen: &mut HashSet<String>) -> anyhow::Result<()> {
        let state = self.reader.as_ref().map(|reader| reader.cursor().state.clone()).unwrap_or_default();
        let context = SinkContext { letters: self.scratch.clone(), ..SinkContext::new(&self.folder) };
        let mut sink = sinks::open(self.sink, &context, &state)?;
        self.commit(&mut *sink, Offset::default())?;
        let mut end = Offset::default();
        let mut failed: anyhow::Result<()> = Ok(());
        dead_letters::for_each(path, &mut |note, reader| {
            if failed.is_ok() && selection.has(&note) {
                let event = Arc::new(reader.event()?);
                end = Offset { index: end.index + 1, offset: end.offset + 1 };
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
fn reader_of(sink_args: &SinkArgs, log: &Path, config: &Config) -> anyhow::Result<Reader> {
    let (log, recovery) =
        PageLog::open(log, &config.log, DeriveOptions::from(config)).map_err(|error| match error {
            LogError::Locked { .. } => anyhow!(
                "the crawl in {} is running and its sink {} writes the same files; stop it first",
                sink_args.output.display(),
                sink_args.sink
            ),
            other => other.into(),
        })?;
    if !recovery.readers.iter().any(|(name, _)| *name == sink_args.sink) {
        bail!(
            "{} has no destination {} any more (no log/cursors/{}.cursor); add it to the crawl again",
            sink_args.output.display(),
            sink_args.sink,
            sink_args.sink
        );
    }
    Ok(log.reader(&sink_args.sink)?)
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
