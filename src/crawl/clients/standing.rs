//! What a client has shown of itself, and what it may have for that. Arithmetic alone.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::api::said::work::ClientStatus;
use crate::config::WorkConfig;
use crate::page::EpochMs;
use crate::visit::loan::{LOAN_TIME, Lent};

/// Of the last checks that could be compared, so many count …
const REMEMBERED: u32 = 64;
/// … and a client is shut out when at least so many of them disagree, and more than a tenth of them.
const TOO_MANY: u32 = 3;
const TOO_LARGE_A_PART: u32 = 10;
/// Hosts that a client may have at first.
const FIRST_HOSTS: usize = 4;
/// Leases in a row of which nothing came back, before the client gets none for a while: as long as a lease, then twice as long …
const BARREN: u32 = 4;
/// … and never longer than this.
const LONGEST_REST: Duration = Duration::from_secs(60 * 60);

/// A lease that has ended: how many URLs were given, when, with which delay between visits, and how it went.
pub(super) struct EndedLease<'l> {
    pub given: usize,
    pub since: EpochMs,
    pub delay: Duration,
    pub lent: &'l Lent,
}

/// Kept over restarts, a note a client.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Standing {
    pub agreed: u64,
    pub disagreed: u64,
    /// A bit for each of the last checks, the latest the lowest: it disagreed.
    recent: u64,
    /// Pages in a row that agreed, since the last that did not; none in notes of earlier versions, where all that agreed count.
    in_a_row: Option<u64>,
    /// Hosts that it may have at a time, by what it has shown; 0: nothing yet.
    hosts: usize,
    /// URLs of a host that it gets at once, by how quickly it brought the last ones back; 0: as many as there are.
    urls: usize,
    pub accepted: u64,
    pub held: u64,
    pub refused: u64,
    pub lapsed: u64,
    /// Leases in a row that ended with nothing brought back, when the last of them ended, and until when it gets no other for that.
    pub barren: u32,
    barren_at: EpochMs,
    pub rests_until: EpochMs,
    /// See [`ClientStatus::in_question`](crate::api::said::work::ClientStatus).
    pub in_question: u64,
    pub shut_out: Option<ShutOut>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ShutOut {
    pub at: EpochMs,
    pub why: String,
}

impl Standing {
    /// As people are shown it. `hosts`: that it has now.
    pub fn status(&self, name: &str, hosts: u64, config: &WorkConfig) -> ClientStatus {
        ClientStatus {
            name: name.to_owned(),
            is_proven: self.is_proven(config),
            shut_out: self.shut_out.as_ref().map(|out| out.why.clone()),
            hosts,
            max_hosts: self.max_hosts(config) as u64,
            accepted: self.accepted,
            held: self.held,
            refused: self.refused,
            agreed: self.agreed,
            disagreed: self.disagreed,
            lapsed: self.lapsed,
            in_question: self.in_question,
        }
    }

    pub fn is_proven(&self, config: &WorkConfig) -> bool {
        self.shut_out.is_none() && self.in_a_row.unwrap_or(self.agreed) >= u64::from(config.prove_after)
    }

    /// Its operator believes it again: it has to prove itself from the beginning.
    pub fn readmit(&mut self) {
        (self.shut_out, self.recent, self.in_a_row, self.rests_until) = (None, 0, Some(0), 0);
    }

    /// URLs of a host that it gets at once, of `most` that anybody gets.
    pub fn max_urls(&self, most: u64) -> u64 {
        if self.urls == 0 { most } else { most.min(self.urls as u64) }
    }

    /// Hosts that it may have at a time.
    pub fn max_hosts(&self, config: &WorkConfig) -> usize {
        let hosts = if self.hosts == 0 { FIRST_HOSTS } else { self.hosts };
        hosts.clamp(1, config.max_hosts)
    }

    /// One of its pages was compared with ours. One that disagrees costs it the trust that it had: all of its pages are compared again,
    /// until as many agree as at first.
    pub fn checked(&mut self, agrees: bool, now: EpochMs) {
        self.in_a_row = Some(if agrees { self.in_a_row.unwrap_or(self.agreed) + 1 } else { 0 });
        match agrees {
            true => self.agreed += 1,
            false => self.disagreed += 1,
        }
        self.recent = self.recent << 1 | u64::from(!agrees);
        let compared = (self.agreed + self.disagreed).min(u64::from(REMEMBERED)) as u32;
        let disagreed = self.recent.count_ones();
        if disagreed >= TOO_MANY && disagreed * TOO_LARGE_A_PART > compared {
            let why = format!("{disagreed} of its last {compared} pages that were fetched again were not what we saw");
            self.shut_out.get_or_insert(ShutOut { at: now, why });
        }
    }

    /// A lease of it has ended. Who brings pages back quickly gets more hosts and more URLs of each, who does not gets fewer.
    pub fn ended(&mut self, ended: &EndedLease, config: &WorkConfig, now: EpochMs) {
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
            true => self.brought_nothing(since, since + lent.took.as_millis() as u64, config, now),
            false if lent.left < given => self.barren = 0,
            false => {}
        }
    }

    /// A client that ends gives all of its hosts back at once: of leases that overlap, one counts.
    fn brought_nothing(&mut self, since: EpochMs, until: EpochMs, config: &WorkConfig, now: EpochMs) {
        if since < self.barren_at {
            return;
        }
        self.barren_at = until;
        self.barren += 1;
        if let Some(times) = self.barren.checked_sub(BARREN) {
            let rest = config.lease.saturating_mul(1 << times.min(16)).min(LONGEST_REST);
            self.rests_until = now + rest.as_millis() as u64;
        }
    }
}
