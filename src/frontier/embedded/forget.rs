//! Forgetting URLs: as if nothing had ever led to them. What was booked of them in budgets stays.

use super::changes::Changes;
use super::open::EmbeddedFrontier;
use super::records::UrlState;
use crate::frontier::keys::{HostKey, UrlKey, split};
use crate::frontier::{Forgotten, FrontierError, PageRecord, PageState};
use crate::page::{EpochMs, Kind};

impl EmbeddedFrontier {
    pub(super) fn forget_urls(&self, urls: &[String], now: EpochMs) -> Result<Forgotten, FrontierError> {
        let keys = urls.iter().map(|url| self.key_of(url)).collect::<Result<Vec<_>, _>>()?;
        self.forget_all(&keys, now)
    }

    /// From behind the URL with the hash `after` on; none: from the first. The last one that was looked at; none: there are no more.
    pub(super) fn forget_some_of(
        &self,
        origin: &str,
        after: Option<u64>,
        at_most: usize,
        now: EpochMs,
    ) -> Result<(Forgotten, Option<u64>), FrontierError> {
        let host = self.keys.host(split(&format!("{origin}/"))?.0);
        let Some(first) = after.map_or(Some(0), |after| after.checked_add(1)) else {
            return Ok((Forgotten::default(), None));
        };
        let mut keys = Vec::new();
        {
            let store = &*self.shelf.store()?;
            let all = UrlKey { host, path: first }.to_bytes()..=UrlKey { host, path: u64::MAX }.to_bytes();
            for entry in store.urls.range(all).take(at_most) {
                let key = entry.key().map_err(|source| store.failed(source))?;
                keys.push(UrlKey::from_bytes(&key).ok_or_else(|| store.unreadable("urls"))?);
            }
        }
        let last = keys.last().map(|key| key.path);
        if last.is_none() {
            self.forget_hints(host, now)?;
        }
        Ok((self.forget_all(&keys, now)?, last))
    }

    /// In one batch.
    fn forget_all(&self, keys: &[UrlKey], now: EpochMs) -> Result<Forgotten, FrontierError> {
        let mut known = self.writer.lock();
        let mut changes = Changes::new(self, now)?;
        let mut forgotten = Forgotten::default();
        for key in keys {
            match changes.state_of(*key)? {
                None => forgotten.unknown += 1,
                // Its lease may be reading the queues still.
                Some(_) if self.schedule.lock().is_busy(*key) => forgotten.busy += 1,
                Some(state) => {
                    changes.forget_url(*key, state)?;
                    forgotten.urls += 1;
                }
            }
        }
        let removed: Vec<UrlKey> = changes.removed.iter().copied().collect();
        changes.commit(&mut known)?;
        let (mut claims, mut tried, mut contents) = (self.claims.lock(), self.tried.lock(), self.contents.lock());
        for url in removed {
            contents.remove(&url);
            claims.end(url);
            claims.forget(url);
            tried.remove(&url);
        }
        Ok(forgotten)
    }

    /// What looks have told of the hints of a host of which no URL is left.
    fn forget_hints(&self, host: HostKey, now: EpochMs) -> Result<(), FrontierError> {
        let mut known = self.writer.lock();
        let mut changes = Changes::new(self, now)?;
        let Some(origin) = changes.origin_of(host)? else { return Ok(()) };
        changes.host(host, &origin)?.record.trust = None;
        changes.commit(&mut known)
    }
}

impl Changes<'_> {
    fn forget_url(&mut self, url: UrlKey, state: UrlState) -> Result<(), FrontierError> {
        let origin = self.origin_of(url.host)?.ok_or_else(|| self.store.unreadable("hosts"))?;
        let page = self.page(url, &origin)?;
        let queued = self.queued(url, state)?;
        let kind = queued.map(|item| item.kind).or(page.as_ref().map(|page| page.kind)).unwrap_or(Kind::Page);
        let host = self.host(url.host, &origin)?;
        host.finished.push(url); // a lease that has read it still does not take it
        host.record.pages = host.record.pages.saturating_sub(u64::from(kind.is_delivered()));
        match page {
            Some(page) => {
                // Its aliases, its duplicates, and those who stand in for it, are to find that it is not there.
                let gone = PageRecord { state: PageState::Gone, ..page.clone() };
                self.turn_to(url, Some(&page), &gone, None)?;
                self.compare(url, Some(&page), &gone)?;
                if kind.is_delivered() {
                    self.totals.count_page(page.state, -1);
                }
                self.pages.remove(&url);
                self.forgotten.insert(url);
            }
            None if state != UrlState::Done => self.totals.first_time = self.totals.first_time.saturating_sub(1),
            None => {}
        }
        self.dequeue(url, state);
        self.states.remove(&url);
        self.removed.insert(url);
        Ok(())
    }
}
