//! URLs whose redirect leads to a host that could not be visited. When the operator ends the block of a host, they are due
//! at once.

use std::time::Duration;

use super::changes::rechecks;
use super::disk::records::QueuedUrl;
use super::open::EmbeddedFrontier;
use crate::FrontierError;
use crate::keys::{HostKey, Rank, later_key};
use crate::schedule::BLOCKED_REST_MS;
use seine_parse::page::EpochMs;

impl EmbeddedFrontier {
    /// Makes all URLs due whose redirect waits for another host. It is not stored which host that is. `longest_wait`: the
    /// longest wait of a URL that was put off. Reads only the URLs that are due until then. Returns how many.
    pub fn follow_redirects(&self, longest_wait: Duration, now: EpochMs) -> Result<u64, FrontierError> {
        /// URLs per batch.
        const BATCH: usize = 1000;
        let longest = u64::try_from(longest_wait.as_millis()).unwrap_or(u64::MAX / 4);
        let until = now.saturating_add(longest).saturating_add(BLOCKED_REST_MS);
        let hosts = self.memory.schedule.lock().hosts_with_later();
        let mut count = 0;
        let mut urls = Vec::new();
        for (host, origin) in hosts {
            self.waiting_redirects(host, &origin, (now, until), &mut urls)?;
            if urls.len() >= BATCH {
                count += self.hasten(&std::mem::take(&mut urls), now)?;
            }
        }
        Ok(count + self.hasten(&urls, now)?)
    }

    fn waiting_redirects(
        &self,
        host: HostKey,
        origin: &str,
        (after, until): (EpochMs, EpochMs),
        urls: &mut Vec<String>,
    ) -> Result<(), FrontierError> {
        let store = self.store_handle.store()?;
        let range = later_key(host, after + 1, Rank(0))..later_key(host, until, Rank(0));
        for entry in store.later.range(range) {
            let (_, item): (_, QueuedUrl) = store.read(&store.later, entry)?;
            if item.waits_for_redirect() {
                urls.push(format!("{origin}{}", item.path));
            }
        }
        Ok(())
    }

    fn hasten(&self, urls: &[String], now: EpochMs) -> Result<u64, FrontierError> {
        self.change(now, |changes| {
            urls.iter().map(|url| rechecks::hasten_redirect(&mut changes.urls, url).map(u64::from)).sum()
        })
    }
}
