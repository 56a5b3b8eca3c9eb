//! A leased host while a worker has it: its clock, its rules, what it will be given back with.

use std::time::Duration;

use super::pause::{HostHealth, host_health, host_not_before};
use super::robots::Rules;
use crate::config::FrontierConfig;
use crate::frontier::{Lease, Release, Robots};
use crate::page::{EpochMs, PageEvent};

pub struct LeasedHost {
    pub lease: Lease,
    /// Set once robots.txt is known.
    pub rules: Option<Rules>,
    /// Set when robots.txt was fetched during this lease.
    pub new_robots: Option<Robots>,
    /// No request before this.
    pub not_before: EpochMs,
    pub failures: u32,
}

impl LeasedHost {
    /// A host that may be visited now.
    pub fn new(lease: Lease) -> LeasedHost {
        let failures = lease.host.failures;
        LeasedHost { lease, rules: None, new_robots: None, not_before: 0, failures }
    }

    pub fn origin(&self) -> &str {
        &self.lease.host.origin
    }

    /// Between the end of one visit and the start of the next: the configured delay, or robots.txt's when longer.
    pub fn delay(&self, config: &FrontierConfig) -> Duration {
        let asked = match &self.rules {
            Some(Rules::File(file)) => file.crawl_delay().unwrap_or_default().min(config.max_crawl_delay),
            _ => Duration::ZERO,
        };
        config.host_delay.max(asked)
    }

    /// A request was answered (or not) at `ended`: the next one waits for the delay.
    pub fn visited(&mut self, ended: EpochMs, config: &FrontierConfig) {
        self.not_before = self.not_before.max(ended + self.delay(config).as_millis() as u64);
    }

    /// What an attempt's end means for the host. True when it should be left alone for now.
    pub fn judge(&mut self, event: &PageEvent, config: &FrontierConfig) -> bool {
        let health = host_health(&event.outcome);
        self.failures = match health {
            HostHealth::Well => 0,
            HostHealth::Ailing => self.failures + 1,
            HostHealth::Unknown => return false,
        };
        self.not_before = self.not_before.max(host_not_before(event, self.delay(config), self.failures, config));
        health == HostHealth::Ailing
    }

    /// The lease's end. `fetched`: URLs whose event the page log has accepted.
    pub fn release(self, fetched: Vec<String>, config: &FrontierConfig) -> (Lease, Release) {
        let delay = self.delay(config);
        let failures = (self.failures != self.lease.host.failures).then_some(self.failures);
        (self.lease, Release { fetched, not_before: self.not_before, robots: self.new_robots, failures, delay })
    }
}
