//! Defers URLs and releases them ([`crate::deferred`]). A deferred URL is in `later`, with a due time that never comes.

use super::proposals::add_proposals;
use super::queues::LaterUrl;
use super::urls::Urls;
use crate::deferred::{Drain, HostTrapsChange, HostTrapsDone, LAST_OF_ALL, deferred_under, due_of};
use crate::embedded::disk::records::{QueuedUrl, UrlState, to_bytes};
use crate::embedded::disk::store::Store;
use crate::keys::{HostKey, Rank, UrlKey, part, ready_key, split};
use crate::{FrontierError, Proposal};
use seine_parse::page::{EpochMs, Kind};
use seine_policies::traps::{FetchOrder, HostTraps, MIRROR, MIRRORED, Swept, is_elsewhere};

/// Queued URLs examined per batch, and deferred URLs of a mirror.
const SWEPT: usize = 512;
const COMPARED: usize = 4096;

/// The key of a host's trap statistics in `notes`.
pub(crate) fn note(host: HostKey) -> Vec<u8> {
    [b"traps:", host.to_be_bytes().as_slice()].concat()
}

/// Applies the changes of a batch at one host. `records` gets the trap statistics to write, by the keys of their notes.
pub(crate) fn change_traps(
    urls: &mut Urls,
    records: &mut Vec<(Vec<u8>, Vec<u8>)>,
    change: &HostTrapsChange,
) -> Result<HostTrapsDone, FrontierError> {
    let origin = change.origin.as_str();
    let host = urls.keys.host(split(&format!("{origin}/"))?.0);
    let mut done = HostTrapsDone::default();
    if let Some(record) = &change.record {
        records.push((note(host), record.clone()));
    }
    for (mark, at_most) in &change.release {
        if release(urls, (host, origin), due_of(*mark), *at_most)? < *at_most {
            done.empty.push(*mark);
        }
    }
    if let Some((from, traps)) = &change.sweep {
        done.swept_to = sweep(urls, (host, origin), *from, traps)?;
    }
    done.drained = drain(urls, host, origin, &change.drain)?;
    Ok(done)
}

/// Also defers URLs that were queued before their pattern was deferred. Returns where to continue; none: at the end.
fn sweep(
    urls: &mut Urls,
    (host, origin): (HostKey, &str),
    from: u64,
    traps: &HostTraps,
) -> Result<Option<u64>, FrontierError> {
    let mut read = Vec::new();
    for entry in urls.store.ready.range(ready_key(host, Rank(from))..=ready_key(host, Rank(u64::MAX))).take(SWEPT) {
        let (key, item): (_, QueuedUrl) = urls.store.read(&urls.store.ready, entry)?;
        read.push((part(&key, 1).ok_or_else(|| urls.store.unreadable("ready"))?, item));
    }
    let next = read.last().filter(|_| read.len() == SWEPT).and_then(|(rank, _)| rank.checked_add(1));
    let mut renamed = Vec::new();
    for (rank, item) in read {
        let (url, rank) = (urls.keys.url(host, &item.path), Rank(rank));
        let is_new = item.kind == Kind::Page && item.depth > 0 && item.attempt == 0 && !item.revisit;
        if !is_new || urls.queues.state_of(url)? != Some(UrlState::Ready(rank)) || urls.hosts.is_in_flight(url) {
            continue;
        }
        let (mark, to) = match traps.judge(&item.path) {
            Swept::Order(FetchOrder::InOrder) => continue,
            Swept::Order(FetchOrder::Deferred(mark)) => (Some(mark), rank),
            Swept::Order(FetchOrder::Last) => {
                match order_by_source(urls.store, (host, origin), (rank, &item.path), traps)? {
                    FetchOrder::Deferred(mark) => (Some(mark), rank),
                    FetchOrder::Last if rank.priority() < LAST_OF_ALL => {
                        (None, Rank::new(LAST_OF_ALL, rank.sequence()))
                    }
                    FetchOrder::Last | FetchOrder::InOrder => continue,
                }
            }
            Swept::Renamed(mark, path) => {
                let (url, priority) = (format!("{origin}{path}"), rank.priority());
                let lead = Some(item.lead.clone()).filter(|lead| !lead.is_unknown());
                renamed.push(Proposal { url, kind: item.kind, depth: item.depth, priority, found: None, lead });
                (Some(mark), rank)
            }
        };
        move_to(urls, (url, origin), UrlState::Ready(rank), (mark, to), &item)?;
    }
    add_proposals(urls, &renamed, &[])?;
    Ok(next)
}

/// How a URL of a deferred pattern is queued, decided by the page that first linked to it.
fn order_by_source(
    store: &Store,
    (host, origin): (HostKey, &str),
    (rank, path): (Rank, &str),
    traps: &HostTraps,
) -> Result<FetchOrder, FrontierError> {
    let on = store.source(rank.sequence())?.and_then(|source| source.on()).filter(|on| on.host == host);
    let page = on.map(|on| store.page(on, origin)).transpose()?.flatten();
    let on = page.as_ref().and_then(|page| page.url.strip_prefix(origin));
    Ok(on.map_or(FetchOrder::InOrder, |on| traps.judge_on(path, on)))
}

/// If a host has nothing else, releases some deferred URLs. Returns how many it had and how many were released.
fn drain(urls: &mut Urls, host: HostKey, origin: &str, drain: &Drain) -> Result<Option<(u64, usize)>, FrontierError> {
    let record = &urls.hosts.change(host, origin)?.record;
    let deferred = record.deferred;
    if record.ready > 0 {
        return Ok(None);
    }
    if deferred == 0 {
        return Ok(Some((0, 0)));
    }
    if let Some((other, traps)) = &drain.mirror {
        drain_mirror(urls, host, origin, (other, traps))?;
    }
    if drain.at_most == 0 {
        return Ok(Some((deferred, 0)));
    }
    let mut marks = Vec::new();
    for due in urls.queues.deferred_times(host)? {
        let mark = deferred_under(due).filter(|mark| *mark != MIRROR && !is_elsewhere(*mark));
        if let Some(mark) = mark
            && !urls.queues.deferred_at(host, due, 1)?.is_empty()
        {
            marks.push(mark);
        }
    }
    let (leading, others): (Vec<u32>, Vec<u32>) = marks.into_iter().partition(|mark| drain.leading.contains(mark));
    let of_others = if leading.is_empty() { drain.at_most } else { drain.of_others };
    let mut released = release_evenly(urls, (host, origin), &others, of_others)?;
    released += release_evenly(urls, (host, origin), &leading, drain.at_most - released)?;
    Ok(Some((deferred, released)))
}

/// Releases up to `at_most` URLs of the marks, equally many of each.
fn release_evenly(
    urls: &mut Urls,
    (host, origin): (HostKey, &str),
    marks: &[u32],
    at_most: usize,
) -> Result<usize, FrontierError> {
    let mut released = 0;
    for (number, mark) in marks.iter().enumerate() {
        let portion = (at_most - released).div_ceil(marks.len() - number);
        released += release(urls, (host, origin), due_of(*mark), portion)?;
    }
    Ok(released)
}

/// Deferred URLs of a mirror that the other host has too stay deferred. The others are deferred by their pattern, or
/// not at all.
fn drain_mirror(
    urls: &mut Urls,
    host: HostKey,
    origin: &str,
    (other, traps): (&str, &HostTraps),
) -> Result<(), FrontierError> {
    let other = urls.keys.host(split(&format!("{other}/"))?.0);
    for LaterUrl { due, rank, item } in urls.queues.deferred_at(host, due_of(MIRROR), COMPARED)? {
        let there = urls.keys.url(other, &item.path);
        let mark = match urls.queues.state_of(there)? {
            Some(_) => Some(MIRRORED),
            None => traps.cool_mark(&item.path),
        };
        let url = urls.keys.url(host, &item.path);
        move_to(urls, (url, origin), UrlState::Later { due, rank }, (mark, rank), &item)?;
    }
    Ok(())
}

/// Releases up to `at_most` of the host's deferred URLs, whatever their mark. Returns how many.
pub(crate) fn release_any(
    urls: &mut Urls,
    (host, origin): (HostKey, &str),
    at_most: usize,
) -> Result<usize, FrontierError> {
    let mut released = 0;
    for due in urls.queues.deferred_times(host)? {
        released += release(urls, (host, origin), due, at_most - released)?;
    }
    Ok(released)
}

/// Releases up to `at_most` of the host's deferred URLs with this due time. Returns how many.
fn release(
    urls: &mut Urls,
    (host, origin): (HostKey, &str),
    due: EpochMs,
    at_most: usize,
) -> Result<usize, FrontierError> {
    if at_most == 0 || urls.hosts.change(host, origin)?.record.deferred == 0 {
        return Ok(0); // without a read of the store
    }
    let deferred = urls.queues.deferred_at(host, due, at_most)?;
    let count = deferred.len();
    for LaterUrl { due, rank, item } in deferred {
        let url = urls.keys.url(host, &item.path);
        move_to(urls, (url, origin), UrlState::Later { due, rank }, (None, rank), &item)?;
    }
    Ok(count)
}

/// Moves a URL to another queue with a rank; with a mark, defers it.
fn move_to(
    urls: &mut Urls,
    (url, origin): (UrlKey, &str),
    from: UrlState,
    (mark, rank): (Option<u32>, Rank),
    item: &QueuedUrl,
) -> Result<(), FrontierError> {
    // A lease that has already read the queue does not take it.
    urls.hosts.change(url.host, origin)?.finished.push(url);
    urls.dequeue((url, origin), from)?;
    match mark {
        Some(mark) => urls.enqueue_later((url, origin), due_of(mark), rank, item),
        None => urls.enqueue_ready((url, origin), rank, to_bytes(item)),
    }
}
