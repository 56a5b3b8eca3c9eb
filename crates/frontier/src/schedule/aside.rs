//! Effects of a damaged disk on the schedule: URLs without a verdict, hosts whose queue cannot be read.

use std::collections::HashSet;

use super::queue::Queue;
use super::state::Schedule;
use crate::keys::{HostKey, UrlKey};
use seine_parse::page::EpochMs;

impl Schedule {
    /// URLs in flight that belong to no lease: they were fetched and wait for their verdict.
    pub(crate) fn unjudged(&self) -> Vec<UrlKey> {
        let leased: HashSet<&UrlKey> = self.leases.values().flat_map(|leased| &leased.urls).collect();
        self.in_flight.keys().filter(|url| !leased.contains(url)).copied().collect()
    }

    /// Those of `urls` that still wait for a verdict become available again, because it is lost. Returns them.
    pub(crate) fn fetch_again(&mut self, urls: &[UrlKey]) -> Vec<UrlKey> {
        let unjudged: HashSet<UrlKey> = self.unjudged().into_iter().collect();
        let lost: Vec<UrlKey> = urls.iter().filter(|url| unjudged.contains(url)).copied().collect();
        for url in &lost {
            let (Some(queue), Some(state)) = (self.in_flight.remove(url), self.hosts.get_mut(&url.host)) else {
                continue;
            };
            state.landed(queue);
            match queue {
                Queue::Later(due) => state.next_later = state.next_later.min(due),
                Queue::Ready => state.best = state.best.min(state.record.head.priority()),
            }
            self.list(url.host);
        }
        lost
    }

    /// Does not lease a host before this, because its queue cannot be read.
    pub(crate) fn put_aside(&mut self, host: HostKey, until: EpochMs) {
        if let Some(state) = self.hosts.get_mut(&host) {
            state.record.not_before = state.record.not_before.max(until);
            self.list(host);
        }
    }
}
