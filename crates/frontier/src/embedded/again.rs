//! Rechecks and retries of known URLs.

use std::cell::RefCell;

use super::changes::Changes;
use super::open::EmbeddedFrontier;
use super::records::{self, QueuedUrl, UrlState};
use super::verdicts::attempts_before;
use crate::deferred::DEFERRED;
use crate::keys::{HostKey, Rank, UrlKey, later_key, part};
use crate::{ChooseRecheck, FrontierError, Hint, PageRecord, PageState, Scheduler, WHEN_MET_AGAIN};
use seine_parse::page::{EpochMs, Kind};

/// URLs queued again come after the seeds, and before what they will link to.
const PRIORITY: u8 = 1;
/// Before all other due URLs.
const OVERDUE: EpochMs = 1;

/// A change of a known page's next recheck.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recheck {
    /// At this time; none: never. URLs that wait for a retry, or for their host, are left alone.
    At(Option<EpochMs>),
    /// Before all others.
    First,
    /// Due now, as a refetch ([`PageRecord::must_refetch`]).
    Refetch,
    /// Due as before, as a refetch.
    RefetchInTime,
    /// See [`Scheduler::try_again`].
    TryAgain,
}

impl Changes<'_> {
    /// False if nothing changed.
    fn recheck(&mut self, address: &str, recheck: Recheck) -> Result<bool, FrontierError> {
        match recheck {
            Recheck::At(due) => self.set_revisit(address, due),
            Recheck::First => self.bring_forward(address, false),
            Recheck::Refetch => self.bring_forward(address, true),
            Recheck::RefetchInTime => self.mark(address),
            Recheck::TryAgain => self.try_again(address),
        }
    }

    fn bring_forward(&mut self, address: &str, reread: bool) -> Result<bool, FrontierError> {
        let (url, origin, path) = self.memory.keys.of(address)?;
        let (Some(state), Some(page)) = (self.state_of(url)?, self.page(url, origin)?) else { return Ok(false) };
        self.host(url.host, origin)?;
        let queued = self.queued(url, state)?;
        let is_parked = matches!(state, UrlState::Later { due: WHEN_MET_AGAIN, .. });
        let is_waiting = is_parked || queued.as_ref().is_some_and(|item| item.attempt > 0);
        let item = queued.unwrap_or_else(|| QueuedUrl::revisit(path, page.kind, page.depth));
        if reread {
            self.pages.insert(url, Some(PageRecord { must_refetch: true, ..page }));
        }
        if self.memory.schedule.lock().is_in_flight(url) || (reread && is_waiting) {
            return Ok(reread);
        }
        let rank = self.rank_of(Some(state), PRIORITY);
        self.dequeue(url, state);
        self.enqueue_later(url, if reread { self.now } else { OVERDUE }, rank, &item);
        Ok(true)
    }

    fn mark(&mut self, address: &str) -> Result<bool, FrontierError> {
        let (url, origin, _) = self.memory.keys.of(address)?;
        let Some(page) = self.page(url, origin)? else { return Ok(false) };
        self.host(url.host, origin)?;
        self.pages.insert(url, Some(PageRecord { must_refetch: true, ..page }));
        Ok(true)
    }

    pub(super) fn set_revisit(&mut self, address: &str, due: Option<EpochMs>) -> Result<bool, FrontierError> {
        let (url, origin, path) = self.memory.keys.of(address)?;
        let Some(state) = self.state_of(url)? else { return Ok(false) };
        let was_due = match state {
            UrlState::Ready(_) => return Ok(false),
            UrlState::Later { due, .. } => Some(due),
            UrlState::Done => None,
        };
        let queued = self.queued(url, state)?;
        let is_trying = queued.as_ref().is_some_and(|item| item.attempt > 0 || !item.revisit);
        let is_parked = was_due == Some(WHEN_MET_AGAIN);
        if due == was_due || is_parked || is_trying || self.is_in_flight(url) {
            return Ok(false);
        }
        let Some(page) = self.page(url, origin)? else { return Ok(false) };
        self.host(url.host, origin)?;
        self.dequeue(url, state);
        match due {
            Some(due) => {
                let rank = self.rank_of(Some(state), PRIORITY);
                let attempts = queued.map(|item| item.attempts).unwrap_or_default();
                let item = QueuedUrl { attempts, ..QueuedUrl::revisit(path, page.kind, page.depth) };
                self.enqueue_later(url, due, rank, &item);
            }
            None => drop(self.states.insert(url, Some(UrlState::Done))),
        }
        Ok(true)
    }

    /// Stores a hint about a page and makes it due at the latest then. The same for URLs that were not pages. URLs in
    /// flight, never fetched, waiting for a retry, or rechecked since are left alone, so the same hint again changes
    /// nothing.
    pub fn add_hint(&mut self, hint: &Hint) -> Result<(), FrontierError> {
        let (url, origin, _) = self.memory.keys.of(&hint.url)?;
        let Some(page) = self.page(url, origin)? else { return Ok(()) };
        let was_none = page.no_page_since().is_some();
        let state = match self.state_of(url)? {
            Some(UrlState::Done) if was_none => return self.set_revisit(&hint.url, Some(hint.due)).map(|_| ()),
            Some(state) => state,
            None => return Ok(()),
        };
        let UrlState::Later { due, rank } = state else { return Ok(()) };
        let item = self.queued(url, state)?.filter(|item| item.revisit && item.attempt == 0 && due != WHEN_MET_AGAIN);
        let Some(item) = item else { return Ok(()) };
        let history = match page.state.is_found() {
            true => page.history().and_then(|history| history.after_hint(hint.changed_ms)),
            false => None,
        };
        if history.is_none() && !was_none {
            return Ok(());
        }
        self.host(url.host, origin)?;
        if hint.due < due && !self.is_in_flight(url) {
            self.dequeue(url, state);
            self.enqueue_later(url, hint.due, rank, &item);
        }
        if history.is_some() {
            self.pages.insert(url, Some(PageRecord { history, ..page }));
        }
        Ok(())
    }

    /// Makes a known URL due now, with all of its attempts. URLs that are due or in flight are left alone.
    pub fn try_again(&mut self, address: &str) -> Result<bool, FrontierError> {
        let (url, origin, path) = self.memory.keys.of(address)?;
        let state = match self.state_of(url)? {
            None | Some(UrlState::Ready(_)) => return Ok(false),
            Some(UrlState::Later { due, .. }) if due <= self.now => return Ok(false),
            Some(state) => state,
        };
        if self.memory.schedule.lock().is_in_flight(url) {
            return Ok(false);
        }
        let page = self.page(url, origin)?;
        let item = match self.queued(url, state)? {
            Some(item) => QueuedUrl { attempt: 0, put_off: false, cause: None, ..item },
            None => match &page {
                Some(page) => QueuedUrl::revisit(path, page.kind, page.depth),
                // The record has only its past existence.
                None => return Ok(false),
            },
        };
        let host = self.host(url.host, origin)?;
        host.is_wanted = true; // given up, it gets another chance
        host.wants_robots |= page.as_ref().is_some_and(PageRecord::was_forbidden);
        let rank = self.rank_of(Some(state), PRIORITY);
        self.dequeue(url, state);
        match page {
            // A live page or alias is rechecked as if it were due; the answer shows whether it has changed.
            Some(page) if page.state.is_found() || page.state == PageState::Alias => {
                self.enqueue_later(url, self.now, rank, &item)
            }
            Some(page) => {
                self.forget(url, &page, item.kind);
                self.pass_source(page.url_history.proposed_as, rank.sequence())?;
                let attempts = attempts_before(Some(item.attempts.clone()), Some(&page));
                let item = QueuedUrl { revisit: false, attempts, ..item };
                self.enqueue_ready(url, rank, records::to_bytes(&item));
            }
            None => self.enqueue_ready(url, rank, records::to_bytes(&item)),
        }
        Ok(true)
    }

    /// Makes a failed URL as it was before its first fetch.
    fn forget(&mut self, url: UrlKey, page: &PageRecord, kind: Kind) {
        if kind.is_delivered() {
            self.totals.count_pages(Some(page), None);
        }
        self.totals.first_time += 1;
        self.pages.insert(url, None);
    }
}

impl EmbeddedFrontier {
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
            let pages = self.read_records_after(of, after.as_deref(), BATCH, &wanted)?;
            count += self.change(now, |changes, _| {
                let rechecks = pages.iter().zip(rechecks.into_inner());
                rechecks
                    .map(|(page, recheck)| changes.recheck(&page.url, recheck).map(u64::from))
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
            urls.extend(self.put_off(host, &origin)?);
            if urls.len() >= BATCH {
                count += self.try_again(&std::mem::take(&mut urls), now)?;
            }
        }
        Ok(count + self.try_again(&urls, now)?)
    }

    fn put_off(&self, host: HostKey, origin: &str) -> Result<Vec<String>, FrontierError> {
        let store = &*self.shelf.store()?;
        let mut urls = Vec::new();
        for entry in store.later.range(later_key(host, 0, Rank(0))..later_key(host, DEFERRED, Rank(0))) {
            let (_, item): (_, QueuedUrl) = store.read(&store.later, entry)?;
            if item.put_off {
                urls.push(format!("{origin}{}", item.path));
            }
        }
        Ok(urls)
    }

    /// Up to `at_most` records of `page` accepted by `wanted`, after the URL `after` (none: from the beginning); fewer
    /// at the end. Reads every record on the way.
    pub fn records_after(
        &self,
        after: Option<&str>,
        at_most: usize,
        wanted: &dyn Fn(&PageRecord) -> bool,
    ) -> Result<Vec<PageRecord>, FrontierError> {
        self.read_records_after(None, after, at_most, wanted)
    }

    /// `of`: origin of the only host to read.
    pub(super) fn read_records_after(
        &self,
        of: Option<&str>,
        after: Option<&str>,
        at_most: usize,
        wanted: &dyn Fn(&PageRecord) -> bool,
    ) -> Result<Vec<PageRecord>, FrontierError> {
        let store = &*self.shelf.store()?;
        let after = after.map(|url| self.memory.keys.key_of(url)).transpose()?;
        let of = of.map(|origin| self.memory.keys.host(origin));
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
}
