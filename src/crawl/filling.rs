//! A sink that comes later than the crawl gets what it has missed from an archive of the crawl, before it takes its place in the page
//! log (`target_storage.from_archive`).
//!
//! Its place is kept from the moment it comes, so the log holds everything from there on; what the archive has of that part is left out,
//! and so is what is gone meanwhile. How far it is stands in [`FILLINGS`], with the place: that is what later runs go by, whether the
//! option is given again or not.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use xxhash_rust::xxh3::xxh3_64;

use super::error::CrawlError;
use super::running::Running;
use crate::archive::inputs::{ArchiveInputs, InputOptions};
use crate::archive::read::{Page, Problem};
use crate::archive::transfer::{Summary, Transfer, TransferObserver, Wanted};
use crate::archive::transfer_state::{NotSent, TransferState, TransferStateError};
use crate::backup::FILLINGS;
use crate::config::{Config, Destination, Removed, SinkConfig, StartedWith};
use crate::folders::{if_there, make_private};
use crate::formats::Format;
use crate::formats::held::Field;
use crate::frontier::{PageRecord, PageState};
use crate::page::PageEvent;
use crate::page_log::PageLog;
use crate::parse;
use crate::sinks::SinkContext;
use crate::sinks::watch::Watch;
use crate::supervisor::Beat;
use crate::telemetry::progress::grouped;

const WAIT: Duration = Duration::from_millis(100);
const TASK: &str = "from_archive";

/// Notes, durably, that a sink which is new and misses what was accepted before `behind` is to be filled. Before it has a place.
pub(super) fn begin(folder: &Path, sink: &SinkConfig, config: &Config, behind: u64) -> Result<(), CrawlError> {
    // A name that is wrong is told before anything is made.
    ArchiveInputs::open(&config.from_archive, without_own(folder, sink))?;
    note(folder, sink.name(), &absolute(&config.from_archive), behind)
}

/// The same archives, wherever a later run is started. A topic's address stays as it is.
pub(super) fn absolute(names: &[String]) -> Vec<String> {
    let absolute = |name: &String| match name.contains("://") {
        true => name.clone(),
        false => std::path::absolute(name).map_or(name.clone(), |path| path.display().to_string()),
    };
    names.iter().map(absolute).collect()
}

/// As [`begin`], of archives that were opened once.
pub(super) fn note(folder: &Path, sink: &str, names: &[String], behind: u64) -> Result<(), CrawlError> {
    let task = [TASK.to_owned(), behind.to_string()].into_iter().chain(names.iter().cloned()).collect();
    let place = folder.join(FILLINGS);
    make_private(&place).map_err(|source| CrawlError::Folder { path: place, source })?;
    TransferState { task, ..TransferState::default() }.save(&state_file(folder, sink))?;
    Ok(())
}

/// Nothing is known any more of how a sink was filled.
pub(super) fn forget(folder: &Path, sink: &str) -> std::io::Result<()> {
    if_there(std::fs::remove_file(state_file(folder, sink))).map(drop)
}

fn state_file(folder: &Path, sink: &str) -> PathBuf {
    folder.join(FILLINGS).join(format!("{sink}.json"))
}

/// How far the filling of a sink is that took its place behind the event `behind`; none when none was begun.
pub(super) fn state(folder: &Path, sink: &str, behind: u64) -> Result<Option<TransferState>, TransferStateError> {
    let state = TransferState::read(&state_file(folder, sink))?;
    Ok(state.filter(|state| state.task.get(1).is_some_and(|place| *place == behind.to_string())))
}

/// The archives that are still being delivered to a sink; none when nothing is.
pub(super) fn names_unfinished(
    folder: &Path,
    log: &PageLog,
    sink: &str,
) -> Result<Option<Vec<String>>, TransferStateError> {
    let missed = missed(log, sink);
    let state = if missed > 0 { state(folder, sink, missed)? } else { None };
    Ok(state.filter(|state| !state.done).map(|state| state.task[2..].to_vec()))
}

/// Whether something of the archive is still to be delivered to a sink.
pub(super) fn is_unfinished(folder: &Path, log: &PageLog, sink: &str) -> bool {
    let missed = missed(log, sink);
    missed > 0 && matches!(state(folder, sink, missed), Ok(Some(state)) if !state.done)
}

/// Events that were accepted before it came.
fn missed(log: &PageLog, sink: &str) -> u64 {
    log.status().reader(sink).map_or(0, |reader| reader.missed)
}

/// Delivers what is left of the archive, or what can be until the process hurries to its end. Called again after a failure, it goes on.
pub(super) fn fill(running: &Running, sink: &SinkConfig, beat: &Beat) -> anyhow::Result<()> {
    let behind = missed(&running.log, sink.name());
    let Some(state) = state(&running.folder, sink.name(), behind)?.filter(|state| behind > 0 && !state.done) else {
        return Ok(());
    };
    wait_for_archives(running, sink, beat);
    if running.shutdown.is_hurrying() {
        return Ok(());
    }
    let place = running.folder.join(FILLINGS);
    // For `seine dead-letters replay` there.
    StartedWith::load(&running.folder)?.save(&place)?;
    let names = state.task[2..].to_vec();
    tracing::info!(
        sink = sink.name(),
        archive = names.join(", "),
        before = state.cursor.position.index,
        "filling it from an archive"
    );
    let watch = running.watches.get(sink.name()).cloned().unwrap_or_default();
    let transfer = Transfer {
        source: ArchiveInputs::open(&names, without_own(&running.folder, sink))?,
        wanted: wanted(running, sink)?,
        sink: sink.clone(),
        context: SinkContext {
            letters: place.join(sink.name()),
            shutdown: running.shutdown.clone(),
            watch: watch.clone(),
            ..SinkContext::new(running.folder.join(sink.name()))
        },
        derive: running.visitor().derive.clone(),
        state,
        state_file: Some(state_file(&running.folder, sink.name())),
        rate: None,
        read: Default::default(),
    };
    let mut told = Told { running, sink: sink.name(), beat, watch, before: 0 };
    let summary = transfer.run(&mut told).context("filling it from an archive")?;
    if !running.shutdown.is_hurrying() {
        told.end(&summary, &place);
    }
    Ok(())
}

pub(super) fn without_own(folder: &Path, sink: &SinkConfig) -> InputOptions {
    InputOptions { without: Some(folder.join(sink.name())), ..InputOptions::default() }
}

/// A sink that writes files brings them in order when it is opened: only then their names are those that they keep.
fn wait_for_archives(running: &Running, sink: &SinkConfig, beat: &Beat) {
    let config = running.config();
    let others = config.sinks.iter().filter(|other| other.name() != sink.name());
    let files: Vec<&Watch> = others
        .filter(|other| !other.destination.is_server() && other.destination != Destination::Stdout)
        // One that waits here, too, has written no archive.
        .filter(|other| !is_unfinished(&running.folder, &running.log, other.name()))
        .filter_map(|other| running.watches.get(other.name()))
        .collect();
    while files.iter().any(|other| !other.was_opened()) && !running.shutdown.is_hurrying() {
        beat.idle();
        running.shutdown.rest(WAIT);
    }
}

/// What comes by the log is left out here; so is what was fetched since this run, or the sink's books, began: all of it does. And what has left the
/// destinations since, where it does leave them.
fn wanted(running: &Running, sink: &SinkConfig) -> anyhow::Result<Wanted> {
    // What was fetched since then is accepted behind the sink's place in the log.
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
        // What no frontier can hold is none of its pages.
        let is_normal = parse::url::parse(&event.url).is_some_and(|normal| normal == event.url);
        let known = if is_normal { frontier.page(&event.url)? } else { None };
        let has_left = known.as_ref().is_some_and(|page| leaves && has_left(page));
        Ok(!has_left && known.is_none_or(|page| !skips || page.duplicate_of().is_none()))
    }))
}

/// Of formats that keep whole seconds, too.
fn fetch_of(event: &PageEvent) -> u64 {
    xxh3_64(format!("{} {}", event.ended_ms / 1000, event.url).as_bytes())
}

fn has_left(page: &PageRecord) -> bool {
    matches!(page.state, PageState::Gone | PageState::Withheld | PageState::Alias)
}

struct Told<'a> {
    running: &'a Running,
    sink: &'a str,
    beat: &'a Beat,
    watch: Watch,
    before: u64,
}

impl TransferObserver for Told<'_> {
    fn problem(&mut self, problem: &Problem) {
        tracing::warn!(sink = self.sink, %problem, "the archive it is filled from");
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

impl Told<'_> {
    fn end(&self, summary: &Summary, place: &Path) {
        let Summary { delivered, skipped, dead, not_sent, .. } = summary;
        let NotSent { left_out, unreadable, .. } = not_sent;
        tracing::info!(
            sink = self.sink,
            delivered,
            skipped,
            left_out,
            unreadable,
            "filled from the archive; it goes on with the page log"
        );
        if *dead > 0 {
            tracing::warn!(
                sink = self.sink,
                "{} pages of the archive were refused: seine dead-letters list --sink {} -o {}",
                grouped(*dead),
                self.sink,
                place.display()
            );
        }
    }
}
