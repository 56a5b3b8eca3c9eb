//! Deletes URLs as if no link had led to them. Budgets keep their counts.

use super::changes::Changes;
use super::changes::answer::Answer;
use super::disk::records::UrlState;
use super::open::EmbeddedFrontier;
use crate::keys::{HostKey, UrlKey, split};
use crate::{FrontierError, PageRecord, PageState};
use seine_parse::page::{EpochMs, Kind};

/// The result of forgetting URLs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Forgotten {
    pub urls: u64,
    /// Not deleted, because they are in flight or their host is leased.
    pub busy: u64,
    /// Unknown.
    pub unknown: u64,
}

impl EmbeddedFrontier {
    /// Forgets up to `at_most` URLs of a host, as [`EmbeddedFrontier::forget`] does. Starts after the URL with the hash
    /// `after`; none: from the first. Returns the last one read; none: there are no more. The host keeps its delays and
    /// orders, but not its hints.
    pub fn forget_host(
        &self,
        origin: &str,
        after: Option<u64>,
        at_most: usize,
        now: EpochMs,
    ) -> Result<(Forgotten, Option<u64>), FrontierError> {
        let host = self.memory.keys.host(split(&format!("{origin}/"))?.0);
        let Some(first) = after.map_or(Some(0), |after| after.checked_add(1)) else {
            return Ok((Forgotten::default(), None));
        };
        let all = UrlKey { host, path: first }.to_bytes()..=UrlKey { host, path: u64::MAX }.to_bytes();
        let keys = {
            let store = &*self.store_handle.store()?;
            store.url_keys(&store.urls, store.urls.range(all).take(at_most))?
        };
        let last = keys.last().map(|key| key.path);
        if last.is_none() {
            self.forget_host_facts(host, now)?;
        }
        Ok((self.forget_all(&keys, now)?, last))
    }

    /// Deletes URLs as if no link had led to them, in one batch. URLs in flight, and those of a leased host, stay
    /// ([`EmbeddedFrontier::recall`]). Budgets keep their counts.
    pub fn forget(&self, urls: &[String], now: EpochMs) -> Result<Forgotten, FrontierError> {
        let keys = urls.iter().map(|url| self.memory.keys.key_of(url)).collect::<Result<Vec<_>, _>>()?;
        self.forget_all(&keys, now)
    }

    fn forget_all(&self, keys: &[UrlKey], now: EpochMs) -> Result<Forgotten, FrontierError> {
        let (forgotten, removed) = self.change(now, |changes| {
            let (mut forgotten, mut removed) = (Forgotten::default(), Vec::new());
            for key in keys {
                match changes.urls.queues.state_of(*key)? {
                    None => forgotten.unknown += 1,
                    // Its lease may still be reading the queues.
                    Some(_) if self.memory.schedule.lock().is_busy(*key) => forgotten.busy += 1,
                    Some(state) => {
                        forget_url(changes, *key, state)?;
                        forgotten.urls += 1;
                        removed.push(*key);
                    }
                }
            }
            Ok((forgotten, removed))
        })?;
        self.forget_decisions(&removed);
        Ok(forgotten)
    }

    /// Deletes what memory has about URLs, because the store has all of it now.
    pub(super) fn forget_decisions(&self, urls: &[UrlKey]) {
        self.memory.reservations.end(urls);
        self.memory.leases.end(urls);
    }

    /// For a host without URLs: deletes the reliability of its hints and the expiry of its robots.txt.
    fn forget_host_facts(&self, host: HostKey, now: EpochMs) -> Result<(), FrontierError> {
        self.change(now, |changes| {
            if let Some(origin) = changes.urls.hosts.origin_of(host)? {
                let change = changes.urls.hosts.change(host, &origin)?;
                change.record.trust = None;
                change.wants_robots = true;
            }
            Ok(())
        })
    }
}

fn forget_url(changes: &mut Changes, url: UrlKey, state: UrlState) -> Result<(), FrontierError> {
    let urls = &mut changes.urls;
    let origin = urls.hosts.origin_of(url.host)?.ok_or_else(|| urls.store.unreadable("hosts"))?;
    let page = urls.pages.get(url, &origin)?;
    let queued = urls.queues.entry(url, state)?;
    let kind = queued.map(|item| item.kind).or(page.as_ref().map(|page| page.kind)).unwrap_or(Kind::Page);
    let host = urls.hosts.change(url.host, &origin)?;
    host.finished.push(url); // a lease that has read it still does not take it
    host.record.pages = host.record.pages.saturating_sub(u64::from(kind.is_delivered()));
    match page {
        Some(page) => {
            // Its aliases, its duplicates and pages with its canonical slot are rechecked, because it is gone.
            let gone = PageRecord { state: PageState::Gone, ..page.clone() };
            changes.add_answer(Answer { url, before: Some(&page), record: &gone }, None)?;
            if kind.is_delivered() {
                changes.urls.totals.count_pages(Some(&page), None);
            }
            changes.urls.pages.delete(url);
        }
        None if state != UrlState::Done => urls.totals.first_time = urls.totals.first_time.saturating_sub(1),
        None => {}
    }
    changes.urls.dequeue((url, &origin), state)?;
    changes.urls.queues.delete_state(url);
    Ok(())
}
