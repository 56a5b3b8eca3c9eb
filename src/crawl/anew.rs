//! Starts a sink again with empty counters, because its destination is another one than before: an index was deleted,
//! or a server was replaced by an empty one.
//!
//! The sink gets the events that the page log still has. Older pages come from the archive that was filling the sink,
//! whose backfill starts again. Without an archive, each page is refetched without conditions when it is due, because a
//! 304 would not contain the page.

use seine_delivery::BegunAnew;
use seine_frontier::{EmbeddedFrontier, Fetching, FrontierError, Look, Notes, PageRecord};
use seine_system::blocking;
use seine_system::clock::now_ms;

use super::error::CrawlError;
use super::filling;
use super::running::Running;
use crate::config::SinkConfig;
use crate::telemetry::progress::grouped;

/// This note exists while pages are still to be marked. Its value says when they are to be fetched.
const NOTE: &str = "reread_for_sinks";
const IN_TIME: &str = "in time";
const AT_ONCE: &str = "at once";

/// The operator ordered a backfill. Without `archives`, every page is refetched. The sink is closed.
pub(super) fn refill(running: &Running, sink: &str, archives: &[String]) -> Result<(), CrawlError> {
    let is_refetch = archives.is_empty();
    let from = if is_refetch { "the web".to_owned() } else { archives.join(", ") };
    let anew = BegunAnew { at_ms: now_ms(), why: format!("its operator ordered it to be filled from {from}") };
    let missed = running.log.begin_anew(sink, anew, |missed| -> Result<(), CrawlError> {
        match is_refetch || missed == 0 {
            true => Ok(()),
            false => filling::note(&running.folder, sink, archives, missed),
        }
    })?;
    tracing::info!(sink, from, missed, "its books begin anew, by order");
    if is_refetch && missed > 0 {
        running.frontier.set_note(NOTE, AT_ONCE)?;
        mark_beside_the_crawl(running);
    }
    Ok(())
}

/// `why` is shown to the user. The sink is closed.
pub(super) fn begin(running: &Running, sink: &SinkConfig, why: &str) -> Result<(), CrawlError> {
    let name = sink.name();
    let filled_from = filling::names_unfinished(&running.folder, &running.log, name)?;
    let anew = BegunAnew { at_ms: now_ms(), why: why.to_owned() };
    let missed = running.log.begin_anew(name, anew, |missed| -> Result<(), CrawlError> {
        match &filled_from {
            Some(names) if missed > 0 => filling::note(&running.folder, name, names, missed),
            _ => Ok(()),
        }
    })?;
    running.metrics.sinks_replaced.with_label_values(&[name]).inc();
    if missed == 0 {
        tracing::error!(
            sink = name,
            why,
            "its books begin anew: it gets everything again, as the page log still holds it"
        );
        return Ok(());
    }
    let is_filled = filled_from.is_some();
    tracing::error!(
        sink = name,
        why,
        missed,
        "its books begin anew: it gets again what the page log still holds; {} events before are not in the log any more{}",
        grouped(missed),
        if is_filled {
            ", and the archive is delivered from its beginning".to_owned()
        } else {
            format!(
                ": seine sinks refill {name} -o {} fills it from an archive; else each page comes with its next fetch",
                running.folder.display()
            )
        }
    );
    if !is_filled {
        running.frontier.set_note(NOTE, IN_TIME)?;
        mark_beside_the_crawl(running);
    }
    Ok(())
}

/// If the crawl ends first, the next start continues.
fn mark_beside_the_crawl(running: &Running) {
    let (visitor, following, frontier) = (running.visitor(), running.following.clone(), running.frontier.clone());
    blocking::thread("reread", move || {
        let _one_after_the_other = following.lock();
        match mark_again(&frontier) {
            Ok(()) => visitor.services.changed.send_replace(()),
            Err(error) => {
                tracing::error!(%error, "not all pages are marked to be fetched without conditions: the next start does it");
            }
        }
    });
}

/// Finishes a marking that an earlier run started. Marked pages are fetched without conditions, because a 304 has no
/// body.
pub(super) fn mark_again(frontier: &EmbeddedFrontier) -> Result<(), FrontierError> {
    let look = match frontier.note(NOTE)?.as_deref() {
        None | Some("") => return Ok(()),
        Some(AT_ONCE) => Look::Reread,
        Some(_) => Look::RereadInTime,
    };
    let is_news = |page: &PageRecord| page.state.is_there() && (look == Look::Reread || !page.is_to_be_reread);
    let pages = frontier.look_again(None, now_ms(), &|page| is_news(page).then_some(look))?;
    tracing::info!(pages, "the next fetch of these pages is without conditions");
    frontier.set_note(NOTE, "")
}
