//! Starts a sink again with empty counters, because its destination is another one than before: an index was deleted,
//! or a server was replaced by an empty one.
//!
//! The sink gets the events that the page log still has. Older pages come from the archive that was filling the sink,
//! whose backfill starts again. Without an archive, each page is refetched without conditions when it is due, because a
//! 304 would not contain the page. The same after a restore, because destinations may hold later versions than the backup.

use std::path::Path;
use std::time::Duration;

use seine_delivery::BegunAnew;
use seine_frontier::{EmbeddedFrontier, Fetching, FrontierError, Notes, PageRecord, Recheck};
use seine_system::blocking;
use seine_system::clock::now_ms;
use serde_json::Value;

use super::backfill;
use super::error::CrawlError;
use super::running::Running;
use crate::backup;
use crate::config::SinkConfig;
use crate::sinks;
use crate::telemetry::progress::grouped;

/// This note exists while pages are still to be marked. Its value says when they are to be fetched.
const NOTE: &str = "reread_for_sinks";
const IN_TIME: &str = "in time";
const AT_ONCE: &str = "at once";
/// Pause before the marking is tried again.
const PAUSE: Duration = Duration::from_secs(1);

/// The operator ordered a backfill. Without `archives`, every page is refetched. The sink is closed.
pub(super) fn refill(running: &Running, sink: &str, archives: &[String]) -> Result<(), CrawlError> {
    let is_refetch = archives.is_empty();
    let from = if is_refetch { "the web".to_owned() } else { archives.join(", ") };
    let anew = BegunAnew { at_ms: now_ms(), why: format!("the operator ordered a backfill from {from}") };
    let kept = |state: &Value| running.config().sink(sink).map_or(Value::Null, |sink| sinks::kept_state(sink, state));
    let missed = running.log.begin_anew(sink, anew, kept, |missed| -> Result<(), CrawlError> {
        match missed {
            0 => Ok(()),
            _ if is_refetch => Ok(running.frontier.set_note(NOTE, AT_ONCE)?),
            missed => backfill::note(&running.folder, sink, archives, missed),
        }
    })?;
    tracing::info!(sink, from, missed, "this sink starts again with empty counters, as ordered");
    if is_refetch && missed > 0 {
        mark_beside_the_crawl(running);
    }
    Ok(())
}

/// `why` is shown to the user. The sink is closed.
pub(super) fn begin(running: &Running, sink: &SinkConfig, why: &str) -> Result<(), CrawlError> {
    let name = sink.name();
    let filled_from = backfill::names_unfinished(&running.folder, &running.log, name)?;
    let anew = BegunAnew { at_ms: now_ms(), why: why.to_owned() };
    let kept = |state: &Value| sinks::kept_state(sink, state);
    let missed = running.log.begin_anew(name, anew, kept, |missed| -> Result<(), CrawlError> {
        // Noted first: if the disk is full now, the sink must not forget that it lacks pages.
        match &filled_from {
            _ if missed == 0 => Ok(()),
            Some(names) => backfill::note(&running.folder, name, names, missed),
            None => Ok(running.frontier.set_note(NOTE, IN_TIME)?),
        }
    })?;
    running.metrics.sinks_replaced.with_label_values(&[name]).inc();
    if missed == 0 {
        tracing::error!(
            sink = name,
            why,
            "this sink starts again with empty counters and gets every event again, because the page log still has \
            them all"
        );
        return Ok(());
    }
    let is_filled = filled_from.is_some();
    tracing::error!(
        sink = name,
        why,
        missed,
        "this sink starts again with empty counters and gets the events that the page log still has; {} earlier \
        events are not in the log any more{}",
        grouped(missed),
        if is_filled {
            ", and the archive is delivered from the beginning".to_owned()
        } else {
            format!(
                ": seine sinks refill {name} -o {} delivers them from an archive; otherwise each page is delivered \
                after its next fetch",
                running.folder.display()
            )
        }
    );
    if !is_filled {
        mark_beside_the_crawl(running);
    }
    Ok(())
}

/// Waits while the frontier cannot write. If the crawl ends first, the next start continues.
fn mark_beside_the_crawl(running: &Running) {
    let (visitor, following, frontier) = (running.visitor(), running.following.clone(), running.frontier.clone());
    blocking::thread("reread", move || {
        let _one_after_the_other = following.lock();
        let shutdown = &visitor.services.shutdown;
        loop {
            match mark_again(&frontier) {
                Ok(()) => break,
                Err(error) if error.is_waiting() && !shutdown.is_finishing() => shutdown.rest(PAUSE),
                Err(error) => {
                    return tracing::error!(%error, "not all pages are marked for a refetch yet; the next start continues");
                }
            }
        }
        visitor.services.changed.send_replace(());
    });
}

/// The folder was restored: the destinations may have later versions of pages than it, and pages that it does not have may be gone there.
pub(super) fn after_restore(folder: &Path, frontier: &EmbeddedFrontier) -> Result<(), FrontierError> {
    if !backup::was_restored(folder) {
        return Ok(());
    }
    if frontier.note(NOTE)?.is_none_or(|note| note.is_empty()) {
        frontier.set_note(NOTE, IN_TIME)?;
    }
    if let Err(error) = backup::noticed(folder) {
        tracing::warn!(%error, "the note of the restore cannot be removed, so the next start marks all pages again");
    }
    Ok(())
}

/// Finishes a marking that an earlier run started. Marked pages are fetched without conditions, because a 304 has no
/// body.
pub(super) fn mark_again(frontier: &EmbeddedFrontier) -> Result<(), FrontierError> {
    let recheck = match frontier.note(NOTE)?.as_deref() {
        None | Some("") => return Ok(()),
        Some(AT_ONCE) => Recheck::Refetch,
        Some(_) => Recheck::RefetchInTime,
    };
    let is_news = |page: &PageRecord| page.state.is_found() && (recheck == Recheck::Refetch || !page.must_refetch);
    let pages = frontier.recheck(None, now_ms(), &|page| is_news(page).then_some(recheck))?;
    tracing::info!(pages, "these pages are refetched without conditions when they are due");
    frontier.set_note(NOTE, "")
}
