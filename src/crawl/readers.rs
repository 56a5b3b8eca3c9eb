//! The readers of the page log, compared with the sinks of this run.

use std::path::{Path, PathBuf};

use seine_page_log::{LogStatus, PageLog};

use super::backfill;
use super::error::CrawlError;
use crate::config::{Config, Medium, STDOUT, SinkConfig};
use crate::telemetry::progress::{bytes, grouped};

/// Reports sinks that are newer than the log and what they missed, and sinks of earlier runs for which the log still
/// keeps events.
pub(super) fn meet(log: &PageLog, config: &Config, folder: &Path) -> Result<(), CrawlError> {
    if config.sinks.iter().any(|sink| sink.name == STDOUT) {
        // It prints the pages of this run. After a crash it continues where it stopped.
        log.begin_at_end(STDOUT)?;
    } else if log.forget(STDOUT)? {
        tracing::info!("standard output is not a sink of this run: its pending events are dropped");
    }
    let status = log.status();
    for sink in &config.sinks {
        match status.reader(sink.name()) {
            None => add_sink(log, sink, &status, config, folder)?,
            Some(reader) => report_backfill(sink, reader.missed, config, folder)?,
        }
    }
    for text in left_behind(&status, config, folder) {
        tracing::warn!("page log: {text}");
    }
    Ok(())
}

/// A new sink gets events that are no longer in the log from an archive, or not at all.
fn add_sink(
    log: &PageLog,
    sink: &SinkConfig,
    status: &LogStatus,
    config: &Config,
    folder: &Path,
) -> Result<(), CrawlError> {
    let missed = status.oldest.index;
    // A sink of this name may have existed and been removed.
    backfill::forget(folder, sink.name()).map_err(|source| CrawlError::Folder { path: folder.to_owned(), source })?;
    if missed == 0 {
        return Ok(());
    }
    if can_be_filled(sink) && !config.from_archive.is_empty() {
        backfill::begin(folder, sink, config, missed)?;
        // From now on the log keeps events for it, which the archive need not have.
        drop(log.reader(sink.name())?);
        tracing::info!(
            sink = sink.name(),
            missed,
            "this sink is new: a backfill from the archive delivers the events that are not in the page log any \
            more"
        );
        return Ok(());
    }
    tracing::warn!(
        sink = sink.name(),
        missed,
        "this sink is new, and does not get the events that were accepted earlier and are not in the page log any \
        more; {}",
        remedy(sink, status, config, folder)
    );
    Ok(())
}

/// Sinks that store nothing cannot be filled.
pub(super) fn can_be_filled(sink: &SinkConfig) -> bool {
    sink.destination.keeps_pages()
}

/// For a sink of an earlier run: an archive named now has no effect, unless that backfill is unfinished.
fn report_backfill(sink: &SinkConfig, missed: u64, config: &Config, folder: &Path) -> Result<(), CrawlError> {
    let state = backfill::state(folder, sink.name(), missed)?;
    if state.as_ref().is_some_and(|state| !state.done) {
        tracing::info!(sink = sink.name(), "the backfill that an earlier run began continues");
        return Ok(());
    }
    let names = backfill::absolute(&config.from_archive);
    let is_filled = state.is_some_and(|state| state.task.get(2..) == Some(&backfill::kept_names(folder, &names)[..]));
    let own = backfill::absolute(&[folder.join(sink.name()).display().to_string()]);
    let is_own = names.iter().all(|name| own.contains(name));
    if !is_own && !is_filled && can_be_filled(sink) {
        tracing::warn!(
            sink = sink.name(),
            missed,
            "this sink is not new, so --from-archive (target_storage.from_archive) has no effect; for a backfill: \
            seine sinks refill {} --from-archive {} -o {}",
            sink.name(),
            names.join(" --from-archive "),
            folder.display()
        );
    }
    Ok(())
}

/// The folder of another sink of this crawl that has all pages.
pub(super) fn own_archive(status: &LogStatus, config: &Config, folder: &Path, sink: &str) -> Option<PathBuf> {
    let has_all = |name: &str| status.reader(name).is_some_and(|reader| reader.missed == 0);
    let is_archive = |other: &&SinkConfig| {
        other.destination.medium() == Medium::Folder && other.name() != sink && has_all(other.name())
    };
    let archive = config.sinks.iter().find(is_archive)?;
    Some(archive.destination.folder(&folder.join(archive.name())).to_owned())
}

/// How a sink that was added later can get what it missed: from an archive of this crawl, if there is one.
fn remedy(sink: &SinkConfig, status: &LogStatus, config: &Config, folder: &Path) -> String {
    match (own_archive(status, config, folder, sink.name()), sink.destination.is_server()) {
        (Some(archive), true) => format!(
            "seine sinks refill {} --from-archive {} -o {} delivers them from the crawl's archive, also while the \
            crawl runs",
            sink.name(),
            archive.display(),
            folder.display()
        ),
        (Some(archive), false) => {
            format!("seine convert writes the pages of {} in this format, to another folder", archive.display())
        }
        (None, _) => "seine sinks refill delivers the pages of an archive, or refetches every page".to_owned(),
    }
}

/// Events that the log keeps for sinks that are not in this run, one line each.
pub(super) fn left_behind(log: &LogStatus, config: &Config, folder: &Path) -> Vec<String> {
    let gone = log.readers.iter().filter(|reader| reader.counters.is_some() && config.sink(&reader.name).is_none());
    gone.map(|reader| {
        let (name, events, held) = (&reader.name, grouped(reader.pending), bytes(reader.unread_bytes));
        format!(
            "sink {name} is not configured in this run; {events} events ({held}) are kept for it until it is \
            configured again or removed: seine sinks remove {name} -o {}",
            folder.display()
        )
    })
    .collect()
}

/// Removes the offset of standard output if everything is printed, because a later run may not use it.
pub(super) fn part(log: &PageLog) {
    let is_done = log.status().reader(STDOUT).is_some_and(|reader| reader.pending == 0);
    if is_done && let Err(error) = log.forget(STDOUT) {
        tracing::warn!(%error, "the offset of standard output in the page log could not be removed");
    }
}
