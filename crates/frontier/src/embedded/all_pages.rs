//! Reads and rechecks all pages, or those of a host, in batches.

use std::cell::RefCell;

use super::changes::rechecks;
use super::disk::records::QueuedUrl;
use super::disk::store::Store;
use super::open::EmbeddedFrontier;
use crate::deferred::DEFERRED;
use crate::keys::{HostKey, Rank, later_key, part};
use crate::{ChooseRecheck, FrontierError, PageRecord, Scheduler};
use seine_parse::page::EpochMs;

impl EmbeddedFrontier {
    /// Implements [`crate::Fetching::recheck`].
    pub(super) fn recheck_all(
        &self,
        of: Option<&str>,
        now: EpochMs,
        recheck: ChooseRecheck,
    ) -> Result<u64, FrontierError> {
        /// Pages read before changes are written.
        const BATCH: usize = 1000;
        let (mut count, mut after) = (0, None);
        loop {
            let rechecks = RefCell::new(Vec::new());
            let wanted = |page: &PageRecord| recheck(page).map(|recheck| rechecks.borrow_mut().push(recheck)).is_some();
            let pages = records_after(&*self.store_handle.store()?, of, after.as_deref(), BATCH, &wanted)?;
            count += self.change(now, |changes| {
                let rechecks = pages.iter().zip(rechecks.into_inner());
                rechecks
                    .map(|(page, recheck)| rechecks::recheck(&mut changes.urls, &page.url, recheck).map(u64::from))
                    .sum::<Result<u64, _>>()
            })?;
            match pages.into_iter().next_back() {
                Some(last) => after = Some(last.url),
                None => return Ok(count),
            }
        }
    }

    /// Makes URLs due that waited for hosts in back-off when an earlier run ended. A start visits those hosts at once
    /// ([`EmbeddedFrontier::open`]). Returns how many.
    pub fn try_put_off_again(&self, now: EpochMs) -> Result<u64, FrontierError> {
        /// URLs per batch.
        const BATCH: usize = 1000;
        let hosts = self.memory.schedule.lock().resting_of_old(self.memory.opening.at);
        let mut count = 0;
        let mut urls = Vec::new();
        for (host, origin) in hosts {
            urls.extend(put_off(&*self.store_handle.store()?, host, &origin)?);
            if urls.len() >= BATCH {
                count += self.try_again(&std::mem::take(&mut urls), now)?;
            }
        }
        Ok(count + self.try_again(&urls, now)?)
    }

    /// Up to `at_most` records of `page` accepted by `wanted`, after the URL `after` (none: from the beginning); fewer
    /// at the end. Reads every record on the way.
    pub fn records_after(
        &self,
        after: Option<&str>,
        at_most: usize,
        wanted: &dyn Fn(&PageRecord) -> bool,
    ) -> Result<Vec<PageRecord>, FrontierError> {
        records_after(&*self.store_handle.store()?, None, after, at_most, wanted)
    }
}

/// The URLs of a host that waited for its back-off.
fn put_off(store: &Store, host: HostKey, origin: &str) -> Result<Vec<String>, FrontierError> {
    let mut urls = Vec::new();
    for entry in store.later.range(later_key(host, 0, Rank(0))..later_key(host, DEFERRED, Rank(0))) {
        let (_, item): (_, QueuedUrl) = store.read(&store.later, entry)?;
        if item.put_off {
            urls.push(format!("{origin}{}", item.path));
        }
    }
    Ok(urls)
}

/// See [`EmbeddedFrontier::records_after`]. `of`: origin of the only host to read.
fn records_after(
    store: &Store,
    of: Option<&str>,
    after: Option<&str>,
    at_most: usize,
    wanted: &dyn Fn(&PageRecord) -> bool,
) -> Result<Vec<PageRecord>, FrontierError> {
    let after = after.map(|url| store.keys.key_of(url)).transpose()?;
    let of = of.map(|origin| store.keys.host(origin));
    let first = of.map_or_else(Vec::new, |host| host.to_be_bytes().to_vec());
    let from = after.map_or(first, |after| [&after.to_bytes()[..], &[0]].concat());
    let mut found = Vec::new();
    let mut origin = (None, String::new());
    for entry in store.pages.range(from..) {
        let (key, record): (_, PageRecord) = store.read(&store.pages, entry)?;
        let host = part(&key, 0).ok_or_else(|| store.unreadable("pages"))?;
        if of.is_some_and(|of| of != host) {
            break;
        }
        if origin.0 != Some(host) {
            let record = store.host(host)?.ok_or_else(|| store.unreadable("hosts"))?;
            origin = (Some(host), record.origin.into());
        }
        let record = record.with_origin(&origin.1);
        if wanted(&record) {
            found.push(record);
        }
        if found.len() >= at_most {
            break;
        }
    }
    Ok(found)
}
