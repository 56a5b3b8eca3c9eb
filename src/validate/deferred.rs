//! Releases deferred URLs because the configuration changed.

use seine_frontier::{EmbeddedFrontier, FrontierError, Notes};
use seine_system::clock::now_ms;

use crate::config::{Config, FrontierConfig};

/// Releases all deferred URLs, because traps are switched off.
pub fn release_deferred(frontier: &EmbeddedFrontier) -> Result<(), FrontierError> {
    /// URLs of each host per batch.
    const BATCH: usize = 1024;
    while frontier.release_deferred(BATCH, now_ms())? > 0 {}
    Ok(())
}

/// If the allowance is larger than before, releases some deferred URLs of each host, so that their results use it. A
/// host that has nothing else to fetch would not be visited otherwise.
pub fn release_by_larger_allowance(frontier: &EmbeddedFrontier, config: &FrontierConfig) -> Result<(), FrontierError> {
    const NOTE: &str = "deferred per host";
    const OF_EACH: usize = 16;
    let allowed = config.deferred_per_host;
    let before = frontier.note(NOTE)?.and_then(|before| before.parse().ok());
    let before = before.unwrap_or_else(|| Config::default().frontier.deferred_per_host);
    if allowed > before {
        frontier.release_deferred(OF_EACH, now_ms())?;
    }
    if allowed != before {
        frontier.set_note(NOTE, &allowed.to_string())?;
    }
    Ok(())
}
