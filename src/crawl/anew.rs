//! A sink's books begin anew: its destination is not the one any more that was delivered into, as after an index was deleted or a server
//! was replaced by an empty one.
//!
//! The sink gets what the page log still holds. What the log does not hold any more is missing at the destination: an archive that was
//! filling the sink begins again, and otherwise every page is asked for without conditions when its time comes, so that a page that
//! never changes comes, too.

use super::error::CrawlError;
use super::filling;
use super::running::Running;
use crate::blocking;
use crate::clock::now_ms;
use crate::config::SinkConfig;
use crate::delivery::BegunAnew;
use crate::frontier::{Frontier, FrontierError, Look, PageRecord};
use crate::telemetry::progress::grouped;

/// There while pages are still to be marked.
const NOTE: &str = "reread_for_sinks";

/// `why`: for people. The sink is not open.
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
        running.frontier.set_note(NOTE, name)?;
        mark_beside_the_crawl(running);
    }
    Ok(())
}

/// What the crawl's end breaks off, the next start does.
fn mark_beside_the_crawl(running: &Running) {
    let (frontier, following) = (running.frontier.clone(), running.following.clone());
    blocking::thread("reread", move || {
        let _one_after_the_other = following.lock();
        if let Err(error) = mark_again(&*frontier) {
            tracing::error!(%error, "not all pages are marked to be fetched without conditions: the next start does it");
        }
    });
}

/// Ends what an earlier run has left of the marking.
pub(super) fn mark_again(frontier: &dyn Frontier) -> Result<(), FrontierError> {
    match frontier.note(NOTE)? {
        Some(sink) if !sink.is_empty() => mark(frontier),
        _ => Ok(()),
    }
}

/// A server's "not modified" would bring no page.
fn mark(frontier: &dyn Frontier) -> Result<(), FrontierError> {
    let look = |page: &PageRecord| (page.state.is_there() && !page.is_to_be_reread).then_some(Look::RereadInTime);
    let pages = frontier.look_again(now_ms(), &look)?;
    tracing::info!(pages, "the next fetch of these pages is without conditions");
    frontier.set_note(NOTE, "")
}
