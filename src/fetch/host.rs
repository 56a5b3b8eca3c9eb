//! A leased host while a worker has it: its clock, its rules, what it will be given back with.

use std::time::Duration;

use super::pause::{HostHealth, host_health, host_not_before};
use super::robots::Rules;
use crate::config::FrontierConfig;
use crate::frontier::{Host, Lease, Release, Robots};
use crate::page::{EpochMs, Outcome};

pub struct LeasedHost {
    pub lease: Lease,
    /// Set once robots.txt is known.
    pub rules: Option<Rules>,
    /// Set when robots.txt was fetched during this lease.
    pub new_robots: Option<Robots>,
    /// No request before this.
    pub not_before: EpochMs,
    /// How long its turn is waited for; for a longer time it is given back.
    pub patience: Duration,
    pub failures: u32,
    /// The last answer says that it should be left alone for now.
    pub is_ailing: bool,
}

/// Before the first request of a URL, a worker has better things to do than wait.
const SHORT_PATIENCE: Duration = Duration::from_secs(2);
/// In the middle of redirects it waits: begun again, it would come to the same place. More than any crawl-delay, and than
/// the line before an address shared by hundreds of hosts.
const LONG_PATIENCE: Duration = Duration::from_secs(300);

/// Times are cut to whole milliseconds: what began late in one would end early by up to that much.
pub fn whole_rest(delay: Duration) -> Duration {
    if delay.is_zero() { delay } else { delay + Duration::from_millis(1) }
}

impl LeasedHost {
    /// A host that may be visited now.
    pub fn new(lease: Lease) -> LeasedHost {
        let failures = lease.host.failures;
        LeasedHost {
            lease,
            rules: None,
            new_robots: None,
            not_before: 0,
            patience: SHORT_PATIENCE,
            failures,
            is_ailing: false,
        }
    }

    /// A host that a redirect leads to.
    pub fn borrowed(lease: Lease) -> LeasedHost {
        LeasedHost { patience: LONG_PATIENCE, ..LeasedHost::new(lease) }
    }

    /// Stands where a host was that is lent.
    pub(super) fn absent() -> LeasedHost {
        let host = Host { origin: String::new(), robots: None, failures: 0 };
        LeasedHost::new(Lease { id: 0, host, work: Vec::new() })
    }

    /// Somebody else is going to visit it, in the middle of redirects.
    pub(super) fn lend(&mut self) {
        self.patience = LONG_PATIENCE;
    }

    /// It was in no trouble when it was leased.
    pub fn was_well(&self) -> bool {
        self.lease.host.failures == 0
    }

    pub fn origin(&self) -> &str {
        &self.lease.host.origin
    }

    /// Another URL's turn: nothing of it was asked yet.
    pub fn begin(&mut self) {
        self.patience = SHORT_PATIENCE;
        self.is_ailing = false;
    }

    /// Between the end of one visit and the start of the next: the configured delay, or robots.txt's when longer.
    pub fn delay(&self, config: &FrontierConfig) -> Duration {
        let asked = match &self.rules {
            Some(Rules::File(file)) => file.crawl_delay().unwrap_or_default().min(config.max_crawl_delay),
            _ => Duration::ZERO,
        };
        config.host_delay.max(asked)
    }

    /// robots.txt was just read and asks for more than the usual delay. It must be on disk before the next visit: killed
    /// in the middle of it, we would not know.
    pub fn has_new_delay(&self, config: &FrontierConfig) -> bool {
        self.new_robots.is_some() && self.delay(config) > config.host_delay
    }

    /// A request was answered (or not) at `ended`: the next one waits for the delay.
    pub fn visited(&mut self, ended: EpochMs, config: &FrontierConfig) {
        self.not_before = self.not_before.max(ended + whole_rest(self.delay(config)).as_millis() as u64);
        self.patience = LONG_PATIENCE;
    }

    /// What an answer (or none) means for the host.
    pub fn judge(&mut self, outcome: &Outcome, ended: EpochMs, config: &FrontierConfig) {
        match host_health(outcome) {
            HostHealth::Well => self.failures = 0,
            HostHealth::Ailing => self.failed(outcome, ended, config),
            HostHealth::Unknown => {}
        }
    }

    /// It failed us once more: it rests, longer each time.
    pub fn failed(&mut self, outcome: &Outcome, ended: EpochMs, config: &FrontierConfig) {
        self.failures = self.failures.saturating_add(1);
        self.is_ailing = true;
        self.not_before =
            self.not_before.max(host_not_before(outcome, ended, self.delay(config), self.failures, config));
    }

    /// The lease's end. `fetched`: URLs whose event the page log has accepted.
    pub fn release(self, fetched: Vec<String>, config: &FrontierConfig) -> (Lease, Release) {
        let delay = self.delay(config);
        let failures = (self.failures != self.lease.host.failures).then_some(self.failures);
        (self.lease, Release { fetched, not_before: self.not_before, robots: self.new_robots, failures, delay })
    }
}
