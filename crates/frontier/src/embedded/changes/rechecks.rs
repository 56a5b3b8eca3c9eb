//! Rechecks and retries of known URLs.

use super::answer::{HEIRS, Heirs};
use super::pages::attempts_before;
use super::urls::Urls;
use crate::embedded::disk::records::{self, QueuedUrl, UrlState};
use crate::keys::{KeyedUrl, UrlKey};
use crate::{FrontierError, Hint, PageRecord, PageState, WHEN_LINKED_AGAIN};
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
    /// See [`crate::Scheduler::try_again`].
    TryAgain,
}

/// False if nothing changed.
pub(crate) fn recheck(urls: &mut Urls, address: &str, recheck: Recheck) -> Result<bool, FrontierError> {
    match recheck {
        Recheck::At(due) => set_revisit(urls, address, due),
        Recheck::First => bring_forward(urls, address, false),
        Recheck::Refetch => bring_forward(urls, address, true),
        Recheck::RefetchInTime => mark(urls, address),
        Recheck::TryAgain => try_again(urls, address),
    }
}

fn bring_forward(urls: &mut Urls, address: &str, reread: bool) -> Result<bool, FrontierError> {
    let KeyedUrl { key: url, origin, path } = urls.keys.of(address)?;
    let (Some(state), Some(page)) = (urls.queues.state_of(url)?, urls.pages.get(url, origin)?) else {
        return Ok(false);
    };
    let queued = urls.queues.entry(url, state)?;
    let is_parked = matches!(state, UrlState::Later { due: WHEN_LINKED_AGAIN, .. });
    let is_waiting = is_parked || queued.as_ref().is_some_and(|item| item.attempt > 0);
    let item = queued.unwrap_or_else(|| QueuedUrl::revisit(path, page.kind, page.depth));
    if reread {
        urls.put_page((url, origin), PageRecord { must_refetch: true, ..page })?;
    }
    if urls.hosts.is_in_flight(url) || (reread && is_waiting) {
        return Ok(reread);
    }
    let rank = urls.rank_of(Some(state), PRIORITY);
    urls.dequeue((url, origin), state)?;
    let due = if reread { urls.now } else { OVERDUE };
    urls.enqueue_later((url, origin), due, rank, &item)?;
    Ok(true)
}

fn mark(urls: &mut Urls, address: &str) -> Result<bool, FrontierError> {
    let KeyedUrl { key: url, origin, .. } = urls.keys.of(address)?;
    let Some(page) = urls.pages.get(url, origin)? else { return Ok(false) };
    urls.put_page((url, origin), PageRecord { must_refetch: true, ..page })?;
    Ok(true)
}

fn set_revisit(urls: &mut Urls, address: &str, due: Option<EpochMs>) -> Result<bool, FrontierError> {
    let KeyedUrl { key: url, origin, path } = urls.keys.of(address)?;
    let Some(state) = urls.queues.state_of(url)? else { return Ok(false) };
    let was_due = match state {
        UrlState::Ready(_) => return Ok(false),
        UrlState::Later { due, .. } => Some(due),
        UrlState::Done => None,
    };
    let queued = urls.queues.entry(url, state)?;
    let is_trying = queued.as_ref().is_some_and(|item| item.attempt > 0 || !item.revisit);
    let is_parked = was_due == Some(WHEN_LINKED_AGAIN);
    if due == was_due || is_parked || is_trying || urls.hosts.is_in_flight(url) {
        return Ok(false);
    }
    let Some(page) = urls.pages.get(url, origin)? else { return Ok(false) };
    urls.dequeue((url, origin), state)?;
    match due {
        Some(due) => {
            let rank = urls.rank_of(Some(state), PRIORITY);
            let attempts = queued.map(|item| item.attempts).unwrap_or_default();
            let item = QueuedUrl { attempts, ..QueuedUrl::revisit(path, page.kind, page.depth) };
            urls.enqueue_later((url, origin), due, rank, &item)?;
        }
        None => urls.queues.set_done(url),
    }
    Ok(true)
}

/// Stores a hint about a page and makes it due at the latest then. The same for URLs that were not pages. URLs in
/// flight, never fetched, waiting for a retry, or rechecked since are left alone, so the same hint again changes
/// nothing.
pub(crate) fn add_hint(urls: &mut Urls, hint: &Hint) -> Result<(), FrontierError> {
    let KeyedUrl { key: url, origin, .. } = urls.keys.of(&hint.url)?;
    let Some(page) = urls.pages.get(url, origin)? else { return Ok(()) };
    let was_none = page.no_page_since().is_some();
    let state = match urls.queues.state_of(url)? {
        Some(UrlState::Done) if was_none => return set_revisit(urls, &hint.url, Some(hint.due)).map(|_| ()),
        Some(state) => state,
        None => return Ok(()),
    };
    let UrlState::Later { due, rank } = state else { return Ok(()) };
    let item =
        urls.queues.entry(url, state)?.filter(|item| item.revisit && item.attempt == 0 && due != WHEN_LINKED_AGAIN);
    let Some(item) = item else { return Ok(()) };
    let history = match page.state.is_found() {
        true => page.history().and_then(|history| history.after_hint(hint.changed_ms)),
        false => None,
    };
    if history.is_none() && !was_none {
        return Ok(());
    }
    if hint.due < due && !urls.hosts.is_in_flight(url) {
        urls.dequeue((url, origin), state)?;
        urls.enqueue_later((url, origin), hint.due, rank, &item)?;
    }
    if history.is_some() {
        urls.put_page((url, origin), PageRecord { history, ..page })?;
    }
    Ok(())
}

/// Makes a known URL due now, with all of its attempts. URLs that are due or in flight are left alone.
pub(crate) fn try_again(urls: &mut Urls, address: &str) -> Result<bool, FrontierError> {
    let KeyedUrl { key: url, origin, path } = urls.keys.of(address)?;
    let state = match urls.queues.state_of(url)? {
        None | Some(UrlState::Ready(_)) => return Ok(false),
        Some(UrlState::Later { due, .. }) if due <= urls.now => return Ok(false),
        Some(state) => state,
    };
    if urls.hosts.was_in_flight(url) {
        return Ok(false);
    }
    let page = urls.pages.get(url, origin)?;
    let item = match urls.queues.entry(url, state)? {
        Some(item) => QueuedUrl { attempt: 0, put_off: false, cause: None, ..item },
        None => match &page {
            Some(page) => QueuedUrl::revisit(path, page.kind, page.depth),
            // The record has only its past existence.
            None => return Ok(false),
        },
    };
    let host = urls.hosts.change(url.host, origin)?;
    host.is_wanted = true; // given up, it gets another chance
    host.wants_robots |= page.as_ref().is_some_and(PageRecord::was_forbidden);
    let rank = urls.rank_of(Some(state), PRIORITY);
    urls.dequeue((url, origin), state)?;
    match page {
        // A live page or alias is rechecked as if it were due; the answer shows whether it has changed.
        Some(page) if page.state.is_found() || page.state == PageState::Alias => {
            urls.enqueue_later((url, origin), urls.now, rank, &item)?;
        }
        Some(page) => {
            forget(urls, url, &page, item.kind);
            urls.sources.pass(page.url_history.proposed_as, rank.sequence())?;
            let attempts = attempts_before(Some(item.attempts.clone()), Some(&page));
            let item = QueuedUrl { revisit: false, attempts, ..item };
            urls.enqueue_ready((url, origin), rank, records::to_bytes(&item))?;
        }
        None => urls.enqueue_ready((url, origin), rank, records::to_bytes(&item))?,
    }
    Ok(true)
}

/// Makes a URL due whose redirect waits for another host. Its attempts stay.
pub(crate) fn hasten_redirect(urls: &mut Urls, address: &str) -> Result<bool, FrontierError> {
    let KeyedUrl { key: url, origin, .. } = urls.keys.of(address)?;
    let Some(state @ UrlState::Later { due, rank }) = urls.queues.state_of(url)? else { return Ok(false) };
    let item = urls.queues.entry(url, state)?.filter(QueuedUrl::waits_for_redirect);
    let Some(item) = item.filter(|_| due > urls.now && !urls.hosts.is_in_flight(url)) else { return Ok(false) };
    urls.dequeue((url, origin), state)?;
    urls.enqueue_later((url, origin), urls.now, rank, &item)?;
    Ok(true)
}

/// Makes a failed URL as it was before its first fetch.
fn forget(urls: &mut Urls, url: UrlKey, page: &PageRecord, kind: Kind) {
    if kind.is_delivered() {
        urls.totals.count_pages(Some(page), None);
    }
    urls.totals.first_time += 1;
    urls.pages.delete(url);
}

/// Rechecks [`HEIRS`] of these at once.
pub(crate) fn wake(urls: &mut Urls, heirs: &Heirs) -> Result<(), FrontierError> {
    let mut awake = 0;
    for url in &heirs.urls {
        if awake < HEIRS {
            awake += usize::from(wake_one(urls, *url, heirs.only_by_name)?);
        }
    }
    Ok(())
}

/// False if it is left as it is.
fn wake_one(urls: &mut Urls, url: UrlKey, only_by_name: bool) -> Result<bool, FrontierError> {
    let Some(origin) = urls.hosts.origin_of(url.host)? else { return Ok(false) };
    let page = urls.pages.get(url, &origin)?.filter(|page| !only_by_name || page.is_alias_by_name());
    let Some(page) = page else { return Ok(false) };
    match urls.queues.state_of(url)? {
        Some(UrlState::Ready(_)) => Ok(true),
        Some(UrlState::Later { due, .. }) if due <= urls.now => Ok(true),
        _ => set_revisit(urls, &page.url, Some(urls.now)),
    }
}
