//! Backfill: a sink that is added later gets the pages that it missed from an archive of the crawl, and then continues
//! in the page log (`target_storage.from_archive`).
//!
//! The sink has an offset in the log from the moment it is added, so the log keeps all later events. The backfill
//! leaves these out, and also pages that are gone by now. Its progress is stored in [`FILLINGS`], so later runs
//! continue it without the option.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use seine_formats::Format;
use seine_formats::stored_fields::Field;
use seine_frontier::{PageRecord, PageState, Verdicts};
use seine_page_log::PageLog;
use seine_parse::page::PageEvent;
use seine_system::folders::{if_there, make_private};
use xxhash_rust::xxh3::xxh3_64;

use super::error::CrawlError;
use super::running::Running;
use crate::archive::inputs::{ArchiveInputs, InputOptions};
use crate::archive::read::{Page, Problem};
use crate::archive::transfer::{Summary, Transfer, TransferObserver, Wanted};
use crate::archive::transfer_state::{NotSent, TransferState, TransferStateError};
use crate::backup::FILLINGS;
use crate::config::{Config, Medium, Removed, SinkConfig, StartedWith};
use crate::sinks::SinkContext;
use crate::sinks::watch::Watch;
use crate::supervisor::Beat;
use crate::telemetry::progress::grouped;

const WAIT: Duration = Duration::from_millis(100);
const TASK: &str = "from_archive";

/// Records durably that a new sink will be filled with events before `behind`. This precedes its first offset.
pub(super) fn begin(folder: &Path, sink: &SinkConfig, config: &Config, behind: u64) -> Result<(), CrawlError> {
    // A wrong name fails before anything is created.
    ArchiveInputs::open(&config.from_archive, without_own(folder, sink))?.check_files()?;
    note(folder, sink.name(), &absolute(&config.from_archive), behind)
}

/// Absolute names, so that a later run in another directory finds the archives. The address of a topic stays.
pub(super) fn absolute(names: &[String]) -> Vec<String> {
    let absolute = |name: &String| match name.contains("://") {
        true => name.clone(),
        false => std::path::absolute(name).map_or(name.clone(), |path| path.display().to_string()),
    };
    names.iter().map(absolute).collect()
}

/// The names as stored: paths in the data folder are relative to it, so that the folder can be moved.
pub(super) fn kept_names(folder: &Path, names: &[String]) -> Vec<String> {
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let inside = |name: &String| Path::new(name).strip_prefix(&folder).map(|path| path.display().to_string());
    names.iter().map(|name| inside(name).unwrap_or_else(|_| name.clone())).collect()
}

/// Stored names as paths that can be opened.
fn names_of(folder: &Path, kept: &[String]) -> Vec<String> {
    let path = |name: &String| match name.contains("://") {
        true => name.clone(),
        false => folder.join(name).display().to_string(),
    };
    kept.iter().map(path).collect()
}

/// As [`begin`], for archives that were already checked.
pub(super) fn note(folder: &Path, sink: &str, names: &[String], behind: u64) -> Result<(), CrawlError> {
    let task = [TASK.to_owned(), behind.to_string()].into_iter().chain(kept_names(folder, names)).collect();
    let backfill_folder = folder.join(FILLINGS);
    make_private(&backfill_folder).map_err(|source| CrawlError::Folder { path: backfill_folder, source })?;
    TransferState { task, ..TransferState::default() }.save(&state_file(folder, sink))?;
    Ok(())
}

/// Deletes the record of a sink's backfill.
pub(super) fn forget(folder: &Path, sink: &str) -> std::io::Result<()> {
    if_there(std::fs::remove_file(state_file(folder, sink))).map(drop)
}

fn state_file(folder: &Path, sink: &str) -> PathBuf {
    folder.join(FILLINGS).join(format!("{sink}.json"))
}

/// Progress of the backfill of a sink that was added after the event `behind`; none if there is no backfill.
pub(super) fn state(folder: &Path, sink: &str, behind: u64) -> Result<Option<TransferState>, TransferStateError> {
    let state = TransferState::read(&state_file(folder, sink))?;
    Ok(state.filter(|state| state.task.get(1).is_some_and(|backfill_folder| *backfill_folder == behind.to_string())))
}

/// Archives of a backfill that is not finished; empty if there is none.
pub(super) fn names_unfinished(
    folder: &Path,
    log: &PageLog,
    sink: &str,
) -> Result<Option<Vec<String>>, TransferStateError> {
    let missed = missed(log, sink);
    let state = if missed > 0 { state(folder, sink, missed)? } else { None };
    Ok(state.filter(|state| !state.done).map(|state| names_of(folder, &state.task[2..])))
}

/// Whether a sink has an unfinished backfill.
pub(super) fn is_unfinished(folder: &Path, log: &PageLog, sink: &str) -> bool {
    let missed = missed(log, sink);
    missed > 0 && matches!(state(folder, sink, missed), Ok(Some(state)) if !state.done)
}

/// Number of events accepted before the sink was added.
fn missed(log: &PageLog, sink: &str) -> u64 {
    log.status().reader(sink).map_or(0, |reader| reader.missed)
}

/// Delivers the rest of the archive, until the process must end. A call after a failure continues.
pub(super) fn fill(running: &Running, sink: &SinkConfig, beat: &Beat) -> anyhow::Result<()> {
    let behind = missed(&running.log, sink.name());
    let Some(state) = state(&running.folder, sink.name(), behind)?.filter(|state| behind > 0 && !state.done) else {
        return Ok(());
    };
    wait_for_archives(running, sink, beat);
    if running.shutdown.is_hurrying() {
        return Ok(());
    }
    let backfill_folder = running.folder.join(FILLINGS);
    // `seine dead-letters replay` on that folder needs it.
    StartedWith::load(&running.folder)?.save(&backfill_folder)?;
    let names = names_of(&running.folder, &state.task[2..]);
    tracing::info!(
        sink = sink.name(),
        archive = names.join(", "),
        before = state.cursor.position.index,
        "backfill from an archive"
    );
    let watch = running.watches.get(sink.name()).cloned().unwrap_or_default();
    let transfer = Transfer {
        source: ArchiveInputs::open(&names, without_own(&running.folder, sink))?,
        wanted: wanted(running, sink)?,
        sink: sink.clone(),
        context: SinkContext {
            letters: backfill_folder.join(sink.name()),
            shutdown: running.shutdown.clone(),
            watch: watch.clone(),
            ..SinkContext::new(running.folder.join(sink.name()))
        },
        derive: running.visitor().services.derive.clone(),
        state,
        state_file: Some(state_file(&running.folder, sink.name())),
        rate: None,
        read: Default::default(),
    };
    let mut observer = BackfillObserver { running, sink: sink.name(), beat, watch, before: 0 };
    let summary = transfer.run(&mut observer).context("backfill from an archive")?;
    if !running.shutdown.is_hurrying() {
        observer.end(&summary, &backfill_folder);
    }
    Ok(())
}

pub(super) fn without_own(folder: &Path, sink: &SinkConfig) -> InputOptions {
    InputOptions { without: Some(folder.join(sink.name())), ..InputOptions::default() }
}

/// A file sink finishes and names its files when it is opened. The backfill reads them only after that.
fn wait_for_archives(running: &Running, sink: &SinkConfig, beat: &Beat) {
    let config = running.config();
    let others = config.sinks.iter().filter(|other| other.name() != sink.name());
    let files: Vec<&Watch> = others
        .filter(|other| other.destination.medium() == Medium::Folder)
        // A sink that is itself waiting has written no archive.
        .filter(|other| !is_unfinished(&running.folder, &running.log, other.name()))
        .filter_map(|other| running.watches.get(other.name()))
        .collect();
    while files.iter().any(|other| !other.was_opened()) && !running.shutdown.is_hurrying() {
        beat.idle();
        running.shutdown.rest(WAIT);
    }
}

/// Leaves out pages that come from the log, and that were fetched since this run started or the sink started again. If the destination
/// removes pages, it also leaves out those that are gone, and URLs that the crawl does not know: nothing would ever remove them. An
/// archive in a format without requested URLs (CDR31) has such URLs, the targets of redirects.
fn wanted(running: &Running, sink: &SinkConfig) -> anyhow::Result<Wanted> {
    // Later fetches are accepted after the sink's offset in the log.
    let anew_ms = running.log.status().reader(sink.name()).and_then(|it| Some(it.anew.as_ref()?.at_ms));
    let began = running.started_ms.max(anew_ms.unwrap_or_default());
    let mut in_log = HashSet::new();
    running.log.scan(&mut |_, event| {
        if event.response().is_some() {
            in_log.insert(fetch_of(event));
        }
    })?;
    let frontier = running.frontier.clone();
    let (leaves, skips) = (sink.upkeep.removed != Removed::Keep, sink.upkeep.skip_duplicates);
    Ok(Box::new(move |page: &Page| {
        let event = &page.event;
        let is_timed = !page.lacks.has(Field::Fetched);
        if is_timed && (event.ended_ms >= began || in_log.contains(&fetch_of(event))) {
            return Ok(false);
        }
        if !leaves && !skips {
            return Ok(true);
        }
        // A URL that is not normalised cannot be in the frontier.
        let is_normal = seine_parse::url::parse(&event.url).is_some_and(|normal| normal == event.url);
        if !is_normal {
            return Ok(true);
        }
        Ok(match frontier.page(&event.url)? {
            Some(page) => !(leaves && has_left(&page) || skips && page.duplicate_of().is_some()),
            None => !leaves,
        })
    }))
}

/// Identifies a fetch, also in formats that store whole seconds only.
fn fetch_of(event: &PageEvent) -> u64 {
    xxh3_64(format!("{} {}", event.ended_ms / 1000, event.url).as_bytes())
}

fn has_left(page: &PageRecord) -> bool {
    matches!(page.state, PageState::Gone | PageState::Withheld | PageState::Alias)
}

struct BackfillObserver<'a> {
    running: &'a Running,
    sink: &'a str,
    beat: &'a Beat,
    watch: Watch,
    before: u64,
}

impl TransferObserver for BackfillObserver<'_> {
    fn problem(&mut self, problem: &Problem) {
        tracing::warn!(sink = self.sink, %problem, "a problem in the archive of the backfill");
    }

    fn format(&mut self, _: Format) {}

    fn progress(&mut self, so_far: &Summary) {
        let settled = so_far.delivered + so_far.skipped + so_far.dead;
        match settled.checked_sub(self.before) {
            Some(more) if more > 0 => {
                self.beat.progress();
                self.watch.filled(more);
            }
            _ => self.beat.idle(),
        }
        self.before = settled;
    }

    fn is_paused(&mut self) -> bool {
        let is_paused = self.running.pauses.is_sink_paused(self.sink);
        if is_paused {
            self.beat.idle();
            self.running.shutdown.rest(WAIT);
        }
        is_paused
    }
}

impl BackfillObserver<'_> {
    fn end(&self, summary: &Summary, backfill_folder: &Path) {
        let Summary { delivered, skipped, dead, not_sent, .. } = summary;
        let NotSent { left_out, unreadable, .. } = not_sent;
        tracing::info!(
            sink = self.sink,
            delivered,
            skipped,
            left_out,
            unreadable,
            "the backfill is complete; the sink continues with the page log"
        );
        if delivered + skipped + dead + left_out + unreadable == 0 {
            tracing::warn!(sink = self.sink, "the archive of the backfill has no pages: check its name");
        }
        if *dead > 0 {
            tracing::warn!(
                sink = self.sink,
                "{} pages of the archive were refused: seine dead-letters list --sink {} -o {}",
                grouped(*dead),
                self.sink,
                backfill_folder.display()
            );
        }
    }
}
