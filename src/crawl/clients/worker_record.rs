//! The record of a remote worker, and what it may get for it. Arithmetic only.

use std::time::Duration;

use seine_parse::page::EpochMs;
use serde::{Deserialize, Serialize};

use crate::api::schema::work::ClientStatus;
use crate::config::WorkConfig;
use crate::visit::loan::{LOAN_TIME, LoanResult};

/// Number of recent comparisons that count …
const REMEMBERED: u32 = 64;
/// … A worker is shut out if at least this many of them disagree, and more than a tenth.
const TOO_MANY: u32 = 3;
const TOO_LARGE_A_PART: u32 = 10;
/// Maximum number of hosts of a new worker.
const FIRST_HOSTS: usize = 4;
/// After this many leases in a row without any page, the worker must wait: first for the length of a lease, then twice
/// as long …
const MAX_EMPTY_LEASES: u32 = 4;
/// … up to this.
const LONGEST_REST: Duration = Duration::from_secs(60 * 60);

/// A lease that has ended: number of URLs, start, delay between requests, and result.
pub(super) struct EndedLease<'l> {
    pub given: usize,
    pub since: EpochMs,
    pub delay: Duration,
    pub lent: &'l LoanResult,
}

/// Stored in one note per worker, so it survives restarts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct WorkerRecord {
    pub agreed: u64,
    pub disagreed: u64,
    /// One bit for each recent comparison, the latest lowest; 1 means it disagreed.
    recent: u64,
    /// Number of pages in a row that agreed. None in notes of earlier versions, where all pages that agreed count.
    in_a_row: Option<u64>,
    /// Maximum number of hosts, from past results; 0: no results yet.
    hosts: usize,
    /// Maximum number of URLs per host, from the speed of past leases; 0: no limit.
    urls: usize,
    pub accepted: u64,
    /// Stored as `held`: records of earlier versions stay readable.
    #[serde(rename = "held")]
    pub refetched: u64,
    pub refused: u64,
    pub lapsed: u64,
    /// Number of leases in a row without any page, the end of the last of them, and the time until which the worker
    /// gets no lease.
    pub barren: u32,
    barren_at: EpochMs,
    pub rests_until: EpochMs,
    /// See [`ClientStatus::in_question`](crate::api::schema::work::ClientStatus).
    pub in_question: u64,
    pub shut_out: Option<ShutOut>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ShutOut {
    pub at: EpochMs,
    pub why: String,
}

impl WorkerRecord {
    /// The record as shown to users. `hosts` is the present number of hosts.
    pub(super) fn status(&self, name: &str, hosts: u64, config: &WorkConfig) -> ClientStatus {
        ClientStatus {
            name: name.to_owned(),
            is_proven: self.is_proven(config),
            shut_out: self.shut_out.as_ref().map(|out| out.why.clone()),
            hosts,
            max_hosts: self.max_hosts(config) as u64,
            accepted: self.accepted,
            refetched: self.refetched,
            refused: self.refused,
            agreed: self.agreed,
            disagreed: self.disagreed,
            lapsed: self.lapsed,
            in_question: self.in_question,
        }
    }

    pub(super) fn is_proven(&self, config: &WorkConfig) -> bool {
        self.shut_out.is_none() && self.in_a_row.unwrap_or(self.agreed) >= u64::from(config.prove_after)
    }

    /// The operator admits the worker again. It must earn the trust from the beginning.
    pub(super) fn readmit(&mut self) {
        (self.shut_out, self.recent, self.in_a_row, self.rests_until) = (None, 0, Some(0), 0);
    }

    /// Number of URLs per host for this worker; `most` is the general maximum.
    pub(super) fn max_urls(&self, most: u64) -> u64 {
        if self.urls == 0 { most } else { most.min(self.urls as u64) }
    }

    /// Maximum number of hosts for this worker.
    pub(super) fn max_hosts(&self, config: &WorkConfig) -> usize {
        let hosts = if self.hosts == 0 { FIRST_HOSTS } else { self.hosts };
        hosts.clamp(1, config.max_hosts)
    }

    /// One of its pages was compared with ours. If they differ, the trust ends: all pages are compared again, until as
    /// many agree as for a new worker.
    pub(super) fn checked(&mut self, agrees: bool, now: EpochMs) {
        self.in_a_row = Some(if agrees { self.in_a_row.unwrap_or(self.agreed) + 1 } else { 0 });
        match agrees {
            true => self.agreed += 1,
            false => self.disagreed += 1,
        }
        self.recent = self.recent << 1 | u64::from(!agrees);
        let compared = (self.agreed + self.disagreed).min(u64::from(REMEMBERED)) as u32;
        let disagreed = self.recent.count_ones();
        if disagreed >= TOO_MANY && disagreed * TOO_LARGE_A_PART > compared {
            let why = format!("{disagreed} of its last {compared} compared pages differ from our own fetches");
            self.shut_out.get_or_insert(ShutOut { at: now, why });
        }
    }

    /// One of its leases has ended. A fast worker gets more hosts and more URLs per host, a slow one fewer.
    pub(super) fn ended(&mut self, ended: &EndedLease, config: &WorkConfig, now: EpochMs) {
        let EndedLease { given, since, delay, lent } = *ended;
        let fair = LOAN_TIME.saturating_add(delay.saturating_mul(given as u32));
        let is_slow = lent.took > fair || (lent.has_lapsed && lent.left * 2 >= given);
        self.lapsed += u64::from(lent.has_lapsed);
        if is_slow {
            self.hosts = (self.max_hosts(config) / 2).max(1);
            self.urls = (if self.urls == 0 { given } else { self.urls.min(given) } / 2).max(1);
        } else if lent.left == 0 {
            self.hosts = self.max_hosts(config).saturating_add(1);
            self.urls = self.urls.saturating_mul(2);
        }
        match lent.left == given && lent.is_clients_end {
            true => self.note_empty_lease(since, since + lent.took.as_millis() as u64, config, now),
            false if lent.left < given => self.barren = 0,
            false => {}
        }
    }

    /// A worker that stops releases all hosts at once, so overlapping leases count once.
    fn note_empty_lease(&mut self, since: EpochMs, until: EpochMs, config: &WorkConfig, now: EpochMs) {
        if since < self.barren_at {
            return;
        }
        self.barren_at = until;
        self.barren += 1;
        if let Some(times) = self.barren.checked_sub(MAX_EMPTY_LEASES) {
            let rest = config.lease.saturating_mul(1 << times.min(16)).min(LONGEST_REST);
            self.rests_until = now + rest.as_millis() as u64;
        }
    }
}
