//! Pauses set by the operator, of the crawl or of sinks. They are stored in the frontier and survive restarts.

use std::collections::BTreeSet;

use parking_lot::Mutex;
use seine_frontier::{EmbeddedFrontier, FrontierError, Notes};
use seine_simulation_hooks::planted;
use serde::{Deserialize, Serialize};

const NOTE: &str = "paused";

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Paused {
    crawl: bool,
    sinks: BTreeSet<String>,
}

/// One for a crawl.
#[derive(Debug, Default)]
pub(crate) struct Pauses(Mutex<Paused>);

impl Pauses {
    pub(crate) fn open(frontier: &EmbeddedFrontier) -> Result<Pauses, FrontierError> {
        let kept = frontier.note(NOTE)?.and_then(|note| serde_json::from_str(&note).ok());
        let kept = kept.filter(|_| !planted::is("pause_forgotten"));
        Ok(Pauses(Mutex::new(kept.unwrap_or_default())))
    }

    pub(crate) fn is_crawl_paused(&self) -> bool {
        self.0.lock().crawl
    }

    pub(crate) fn is_sink_paused(&self, name: &str) -> bool {
        self.0.lock().sinks.contains(name)
    }

    /// Returns false if nothing changed.
    pub(crate) fn pause_crawl(&self, frontier: &EmbeddedFrontier, pause: bool) -> Result<bool, FrontierError> {
        self.change(frontier, |paused| paused.crawl = pause)
    }

    pub(crate) fn pause_sink(
        &self,
        frontier: &EmbeddedFrontier,
        name: &str,
        pause: bool,
    ) -> Result<bool, FrontierError> {
        self.change(frontier, |paused| {
            if pause {
                paused.sinks.insert(name.to_owned());
            } else {
                paused.sinks.remove(name);
            }
        })
    }

    /// The pause is on disk before it applies.
    fn change(&self, frontier: &EmbeddedFrontier, change: impl FnOnce(&mut Paused)) -> Result<bool, FrontierError> {
        let mut paused = self.0.lock();
        let mut changed = paused.clone();
        change(&mut changed);
        if changed == *paused {
            return Ok(false);
        }
        frontier.set_note(NOTE, &serde_json::to_string(&changed).unwrap_or_default())?;
        frontier.flush()?;
        *paused = changed;
        Ok(true)
    }
}
