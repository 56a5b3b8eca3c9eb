//! A watchdog for the whole crawl: URLs are due, nothing prevents fetching, and nothing happens. This is always a bug
//! of Seine, such as a lost notification. It is reported once, and again when the crawl continues.

use seine_frontier::{LeaseLimits, Scheduler, Verdicts};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use seine_system::clock::now_ms;

use super::parts::LOG;
use super::running::Running;
use crate::visit::outage::Permission;

/// Time without any progress after which the crawl has stalled.
const LIMIT: Duration = Duration::from_secs(10);

/// Counters that grow while a crawl works.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Signs {
    /// Requests started, and waits for politeness slots.
    pub begun: u64,
    /// Events accepted by the page log.
    pub accepted: u64,
    /// Events consumed by the validator.
    pub validated: u64,
}

/// A change to report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Stalled,
    GoesOn,
}

/// Compares the counters at each call.
#[derive(Debug)]
pub struct StallWatch {
    limit: Duration,
    seen: Signs,
    /// The last time that a counter changed, or that there was a reason to wait.
    since: Option<Instant>,
    is_stalled: bool,
}

impl StallWatch {
    pub fn new(limit: Duration) -> StallWatch {
        StallWatch { limit, seen: Signs::default(), since: None, is_stalled: false }
    }

    /// `could_go_on`: there is something to fetch, and nothing to wait for.
    pub fn check(&mut self, could_go_on: bool, signs: Signs, now: Instant) -> Option<Change> {
        let goes_on = !could_go_on || signs != self.seen;
        self.seen = signs;
        let since = *self.since.get_or_insert(now);
        if goes_on {
            self.since = Some(now);
            return std::mem::take(&mut self.is_stalled).then_some(Change::GoesOn);
        }
        let has_stalled = now.duration_since(since) >= self.limit;
        (has_stalled && !std::mem::replace(&mut self.is_stalled, has_stalled)).then_some(Change::Stalled)
    }

    /// Since when nothing has happened, if the crawl has stalled.
    pub fn stalled_since(&self) -> Option<Instant> {
        self.since.filter(|_| self.is_stalled)
    }
}

/// The watchdog of this crawl.
pub(super) struct Stall(Mutex<StallWatch>);

impl Default for Stall {
    fn default() -> Stall {
        Stall(Mutex::new(StallWatch::new(LIMIT)))
    }
}

impl Stall {
    /// Reports changes. Call it often.
    pub(super) fn check(&self, running: &Running) {
        let signs = Signs {
            begun: running.visitor().services.waits.begun(),
            accepted: running.log.status().end.index,
            validated: running.frontier.cursor().map_or(0, |cursor| cursor.index),
        };
        let change = self.0.lock().check(could_go_on(running), signs, Instant::now());
        let counts = running.frontier.counts();
        match change {
            None => {}
            Some(Change::Stalled) => tracing::error!(
                state = "stalled",
                hosts_leased = counts.hosts_leased,
                in_flight = counts.in_flight,
                queued = counts.work_proposed,
                "nothing was fetched for {} s, although URLs are due and nothing prevents it: this is a bug in \
                Seine; restart it, which loses nothing",
                LIMIT.as_secs()
            ),
            Some(Change::GoesOn) => tracing::info!(state = "not_stalled", "fetching goes on"),
        }
    }

    /// The reason for the user, while it lasts.
    pub(super) fn reason(&self) -> Option<String> {
        let since = self.0.lock().stalled_since()?;
        let seconds = since.elapsed().as_secs();
        Some(format!(
            "stalled: URLs are due, nothing prevents fetching, and nothing was fetched for {seconds} s; restart \
            Seine"
        ))
    }
}

/// Whether URLs are due or leased, all parts work, and nothing waits for a response, a host, a budget, free space, the
/// validator or the operator.
fn could_go_on(running: &Running) -> bool {
    let now = now_ms();
    let visitor = running.visitor();
    let is_due = running.frontier.next_due().is_some_and(|due| due <= now);
    (is_due || running.frontier.counts().hosts_leased > 0)
        && !visitor.services.waits.are_any()
        && running.may_lease()
        && !running.supervisor.is_down(LOG)
        && running.is_validated()
        && visitor.services.outage.permission(now) == Permission::Open
        && running.within_budgets(LeaseLimits::new(1, 1)).hosts > 0
}
