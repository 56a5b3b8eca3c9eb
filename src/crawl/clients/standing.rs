//! What a client has shown of itself, and what it may have for that. Arithmetic alone.

use serde::{Deserialize, Serialize};

use crate::config::WorkConfig;
use crate::page::EpochMs;

/// Of the last checks that could be compared, so many count …
const REMEMBERED: u32 = 64;
/// … and a client is shut out when at least so many of them disagree, and more than a tenth of them.
const TOO_MANY: u32 = 3;
const TOO_LARGE_A_PART: u32 = 10;
/// Hosts that a client may have at first.
const FIRST_HOSTS: usize = 4;

/// Kept over restarts, a note a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Standing {
    pub agreed: u64,
    pub disagreed: u64,
    /// A bit for each of the last checks, the latest the lowest: it disagreed.
    recent: u64,
    /// Hosts that it may have at a time.
    pub hosts: usize,
    pub accepted: u64,
    pub held: u64,
    pub refused: u64,
    pub lapsed: u64,
    /// See [`ClientStatus::in_question`](crate::api::work::ClientStatus).
    pub in_question: u64,
    pub shut_out: Option<ShutOut>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ShutOut {
    pub at: EpochMs,
    pub why: String,
}

impl Default for Standing {
    fn default() -> Self {
        Standing {
            agreed: 0,
            disagreed: 0,
            recent: 0,
            hosts: FIRST_HOSTS,
            accepted: 0,
            held: 0,
            refused: 0,
            lapsed: 0,
            in_question: 0,
            shut_out: None,
        }
    }
}

impl Standing {
    pub fn is_proven(&self, config: &WorkConfig) -> bool {
        self.shut_out.is_none() && self.agreed >= u64::from(config.prove_after)
    }

    /// Hosts that it may have at a time.
    pub fn max_hosts(&self, config: &WorkConfig) -> usize {
        self.hosts.clamp(1, config.max_hosts)
    }

    /// One of its pages was compared with ours.
    pub fn checked(&mut self, agrees: bool, now: EpochMs) {
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

    /// A lease of it has ended: with all that was given out, or with nothing of it.
    pub fn ended(&mut self, given: usize, left: usize, has_lapsed: bool) {
        if has_lapsed {
            self.lapsed += 1;
        }
        if left == 0 {
            self.hosts = self.hosts.saturating_add(1);
        } else if has_lapsed && left == given {
            self.hosts = (self.hosts / 2).max(1);
        }
    }
}
