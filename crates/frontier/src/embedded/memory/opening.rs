//! The effect of a restart on hosts.

use crate::schedule::HostRecord;
use seine_parse::page::EpochMs;
use seine_simulation_hooks::planted;

/// How this run began.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Opening {
    /// When. No host is visited before; see [`crate::FrontierOptions::default_delay`].
    pub at: EpochMs,
    /// No request was sent since then: `at`, or an earlier start if the runs since then sent none.
    pub rests_from: EpochMs,
    pub default_delay_ms: u64,
    /// Hosts with this number and above were first seen by this process.
    pub hosts: u64,
}

impl Opening {
    /// Applies the restart rule to a host: it may have been visited until the last process was killed, so its delay
    /// starts when this process started, or at an earlier start if no process has sent a request since.
    pub(crate) fn after(self, mut host: HostRecord) -> HostRecord {
        if host.number < self.hosts && !planted::is("rest_forgotten") {
            // An order applies from the first request, which the record may not have yet.
            let delay = self.default_delay_ms.max(host.delay_ms).max(host.ordered_delay_ms.unwrap_or(0));
            // A back-off of an earlier run is over, because a user who starts the crawl again wants to know. A pause
            // that the server asked for stays.
            if let Some(trouble) = host.trouble.filter(|trouble| trouble.last < self.at && !trouble.given_up) {
                host.not_before = trouble.asked_until.unwrap_or(0);
            }
            host.not_before = host.not_before.max(self.rests_from.saturating_add(delay));
        }
        host
    }
}
