//! Ends a run without `--stay` when all remaining URLs must wait for too long, and lists what they wait for.

use std::fmt;
use std::time::{Duration, Instant};

use seine_frontier::{Cause, Counts, Scheduler, Trouble, Verdicts, Waiting, WaitingHost};
use seine_parse::page::EpochMs;
use seine_system::clock::now_ms;

use super::running::Running;
use super::spending::{SpentBudgets, hosts_without_budget};
use crate::telemetry::progress::{some, span};
use crate::visit::outage::{Outage, Part};

/// Number of hosts to list.
const NAMED: usize = 10;

/// Since when all remaining URLs must wait.
#[derive(Debug)]
pub(super) struct Patience {
    limit: Duration,
    since: Option<Instant>,
    /// Since when there was no final answer, and no URL left to fetch for the first time.
    still: Instant,
    /// Number of final answers at that time. A new answer restarts the clock.
    answers: u64,
}

/// The reasons why the remaining URLs of a run wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waits {
    pub at: EpochMs,
    /// Resources of this machine that fail.
    pub outages: Vec<Outage>,
    /// Counts of hosts in trouble, and the names of those due first.
    pub waiting: Waiting,
    /// Hosts that redirects lead to and that could not be visited in time.
    pub late: Vec<(String, EpochMs)>,
    /// Budgets that are used up, and the number of remaining URLs.
    pub spent: SpentBudgets,
}

impl Patience {
    pub(super) fn new(limit: Duration) -> Patience {
        Patience { limit, since: None, still: Instant::now(), answers: 0 }
    }

    /// All remaining URLs must wait.
    pub(super) fn is_waiting(&self) -> bool {
        self.since.is_some()
    }

    /// Checks whether all remaining URLs must wait, and returns what for if the time is over.
    pub(super) fn run_out(&mut self, running: &Running) -> Option<Waits> {
        let now = now_ms();
        let counts = running.frontier.counts();
        if counts.page > self.answers {
            // The time counts from the last page, even if requests are in progress.
            (self.since, self.answers) = (self.since.map(|_| Instant::now()), counts.page);
            self.still = Instant::now();
        }
        let is_paused = running.visitor().services.outage.pause(now).is_some();
        if !is_paused && has_fresh(running, &counts, now, self.limit) {
            (self.since, self.still) = (None, Instant::now());
            return None;
        }
        match only_waits(running, &counts, is_paused, now, self.limit) {
            Some(true) => self.since = self.since.or_else(|| Some(Instant::now())),
            Some(false) => self.since = None,
            None => {}
        }
        let is_still = self.still.elapsed() >= self.limit && is_left_with_failed(running, &counts, now, self.limit);
        let left = match is_still {
            true => Duration::ZERO,
            false => self.limit.saturating_sub(self.since?.elapsed()),
        };
        if left.is_zero() || (!is_paused && counts.hosts_leased == 0 && is_due_after(running, now, left)) {
            return Some(Waits {
                at: now,
                outages: running.visitor().services.outage.outages(),
                // Includes hosts that were due a moment ago, because their last fetch failed.
                waiting: running.frontier.waiting(0, NAMED),
                late: running.visitor().services.parking.late(NAMED),
                spent: SpentBudgets::of(running.frontier.as_ref()),
            });
        }
        None
    }
}

/// Whether a URL can be fetched for the first time. Then nobody waits, although failed URLs may keep its host busy.
fn has_fresh(running: &Running, counts: &Counts, now: EpochMs, limit: Duration) -> bool {
    // Hosts that a budget stops count as fresh.
    if counts.hosts_fresh <= hosts_without_budget(running.frontier.as_ref()) {
        return false;
    }
    counts.hosts_leased > 0
        || running.frontier.next_due_well().is_none_or(|due| !is_later(due, now, soon(running, limit)))
}

/// All URLs that are left without an answer have failed before. A single one is waited for until its attempts are used up,
/// unless the next attempt is further away than the patience. A redirect that only waits for the delay of a healthy host
/// counts as work.
fn is_left_with_failed(running: &Running, counts: &Counts, now: EpochMs, limit: Duration) -> bool {
    let frontier = &running.config().frontier;
    // Such a redirect is tried again some time after that host may be visited.
    let over = now.saturating_sub((limit + frontier.host_delay.max(frontier.backoff_base) * 2).as_millis() as u64);
    let soon = now + soon(running, limit).as_millis() as u64;
    let left = counts.first_time.saturating_sub(counts.deferred);
    let waits_long = || running.frontier.next_due().is_some_and(|due| is_later(due, now, limit));
    running.is_validated()
        && (left > 1 || (left == 1 && counts.hosts_leased == 0 && waits_long()))
        && !running.visitor().services.parking.waits_for_healthy((over, soon), now)
}

/// A wait that counts as work.
fn soon(running: &Running, limit: Duration) -> Duration {
    limit.max(running.config().frontier.max_crawl_delay)
}

/// None while requests are in progress or about to start.
fn only_waits(running: &Running, counts: &Counts, is_paused: bool, now: EpochMs, limit: Duration) -> Option<bool> {
    if is_paused {
        return Some(true);
    }
    // Everything is done, and rechecks that are due in hours are no reason to wait.
    if counts.hosts_leased > 0 || !running.is_validated() || !running.frontier.has_work(now) {
        return None;
    }
    let waiting = running.frontier.waiting(now, 0);
    let troubled: u64 = waiting.troubled.iter().map(|troubled| troubled.hosts).sum();
    if troubled + waiting.blocked + hosts_without_budget(running.frontier.as_ref()) >= counts.hosts_with_work {
        return Some(true);
    }
    // A healthy host waits for its delay, and a URL for its next attempt. If that is soon, it counts as work. A host
    // that has answered everything may have only rechecks left, due in days.
    let soon = soon(running, limit);
    let next = running.frontier.next_due_well();
    Some(next.is_none_or(|due| is_later(due, now, soon)))
}

/// Whether nothing is due within `wait`. Hosts stopped by a used-up budget for the rest of the run are never due.
fn is_due_after(running: &Running, now: EpochMs, wait: Duration) -> bool {
    match running.frontier.next_due() {
        Some(due) => is_later(due, now, wait),
        None => hosts_without_budget(running.frontier.as_ref()) > 0 || running.frontier.waiting(now, 0).blocked > 0,
    }
}

fn is_later(due: EpochMs, now: EpochMs, wait: Duration) -> bool {
    due.saturating_sub(now) > wait.as_millis() as u64
}

impl Waits {
    /// Only used-up budgets stop the run.
    pub(super) fn is_for_budgets(&self) -> bool {
        !self.spent.budgets.is_empty()
            && self.outages.is_empty()
            && self.waiting.troubled.is_empty()
            && self.waiting.blocked == 0
    }
}

impl fmt::Display for Waits {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        writeln!(
            out,
            "Ended: all remaining URLs must wait: {} of {}.",
            some(self.spent.urls, "URL"),
            some(self.spent.hosts, "host")
        )?;
        for Outage { part, since, example } in &self.outages {
            let what = match part {
                Part::Resolver => "the DNS servers",
                Part::Network => "the network",
                Part::Files => "open files",
            };
            writeln!(out, "  for {what}, away for {}: {example}", span(self.at.saturating_sub(*since).div_ceil(1000)))?;
        }
        for troubled in &self.waiting.troubled {
            let (hosts, urls) = (some(troubled.hosts, "host"), some(troubled.urls, "URL"));
            writeln!(out, "  {hosts}, {urls}: {}", meaning(troubled.cause))?;
        }
        if self.waiting.blocked > 0 {
            writeln!(
                out,
                "  {}: blocked by the operator (seine hosts --which blocked)",
                some(self.waiting.blocked, "host")
            )?;
        }
        self.spent.write_budgets(out)?;
        for WaitingHost { origin, until, urls, trouble } in &self.waiting.next {
            let urls = some(*urls, "URL");
            write!(out, "    {origin}  {urls}, ")?;
            match until.checked_sub(self.at).filter(|wait| *wait > 0) {
                Some(wait) => write!(out, "next attempt in {}", span(wait.div_ceil(1000)))?,
                None => write!(out, "a request was in progress")?,
            }
            match trouble {
                Some(Trouble { cause, failures: 0, .. }) => {
                    writeln!(out, " ({}, many URLs together)", meaning(*cause))?;
                }
                Some(Trouble { cause, failures, .. }) => writeln!(out, " ({}, {failures} in a row)", meaning(*cause))?,
                None => writeln!(out)?,
            }
        }
        for (origin, until) in &self.late {
            write!(out, "    {origin}  could not be visited for URLs that redirect to it")?;
            match until.checked_sub(self.at).filter(|wait| *wait > 0) {
                Some(wait) => writeln!(out, ", next attempt in {}", span(wait.div_ceil(1000)))?,
                None => writeln!(out)?,
            }
        }
        Ok(())
    }
}

fn meaning(cause: Cause) -> String {
    match cause {
        Cause::Status(status) => format!("answers with status {status}"),
        Cause::Failure(reason) => reason.meaning().to_owned(),
        Cause::Wall(kind) => format!("answers with {}", kind.meaning()),
    }
}
