//! Which destinations leave duplicates out. Where one does that did not, or the other way round, every duplicate is looked at again at
//! once: it leaves that one, or comes there. (What a page's being a duplicate means for destinations is told by its events alone.)

use std::collections::BTreeMap;

use crate::clock::now_ms;
use crate::config::SinkConfig;
use crate::frontier::{Frontier, FrontierError, Look, PageRecord};

/// Whether each did so at the last start, by name. One that was not there did not.
const NOTE: &str = "skips_duplicates";

/// Broken off, it begins again.
pub(super) fn apply(frontier: &dyn Frontier, sinks: &[SinkConfig]) -> Result<(), FrontierError> {
    let before: BTreeMap<String, bool> =
        frontier.note(NOTE)?.and_then(|note| serde_json::from_str(&note).ok()).unwrap_or_default();
    let now: BTreeMap<String, bool> =
        sinks.iter().map(|sink| (sink.name().to_owned(), sink.upkeep.skip_duplicates)).collect();
    if now == before {
        return Ok(());
    }
    let did = |name: &String| before.get(name).copied().unwrap_or_default();
    if frontier.counts().duplicates > 0 && now.iter().any(|(name, skips)| *skips != did(name)) {
        let look = |page: &PageRecord| page.duplicate_of().map(|_| Look::Reread);
        let pages = frontier.look_again(now_ms(), &look)?;
        tracing::info!(pages, "skip_duplicates has changed: pages that are duplicates are looked at again");
    }
    frontier.set_note(NOTE, &serde_json::to_string(&now).unwrap_or_default())
}
