//! Proposals: finds out which URLs are new.

use super::ranks::raise;
use super::rechecks::{self, Recheck};
use super::urls::Urls;
use crate::deferred::due_of;
use crate::embedded::disk::records::{QueuedUrl, UrlState, to_bytes};
use crate::keys::{HostKey, Keys, UrlKey, split};
use crate::{FrontierError, PageRecord, Proposal, Proposed};
use seine_parse::page::Kind;

/// A proposal split into its parts.
struct Parts<'p> {
    proposal: &'p Proposal,
    origin: &'p str,
    path: &'p str,
    url: UrlKey,
    is_known: bool,
}

impl Parts<'_> {
    fn is_seed(&self) -> bool {
        self.proposal.kind == Kind::Page && self.proposal.depth == 0
    }
}

/// Adds unknown URLs in the order of the proposals. `held`: which proposals are deferred if they are new, by
/// position, with their marks. Also returns the positions of new URLs.
pub(crate) fn add_proposals(
    urls: &mut Urls,
    proposals: &[Proposal],
    deferred: &[(usize, u32)],
) -> Result<(Proposed, Vec<usize>), FrontierError> {
    let mut parts = take_apart(urls.keys, proposals)?;
    readmit_given_up_hosts(urls, &parts)?;
    look_up(urls, &mut parts)?;
    let (mut proposed, mut added) = (Proposed::default(), Vec::new());
    urls.sources.expect(parts.len());
    let most_hosts = urls.limits.hosts_per_domain();
    let mark_of = |number| deferred.binary_search_by_key(&number, |(of, _)| *of).ok().map(|at| deferred[at].1);
    for (number, part) in parts.iter().enumerate() {
        urls.sources.meet(part.url, part.proposal);
        // A second proposal in the same batch is known.
        if part.is_known || urls.queues.has_changed(part.url) {
            let may_fall = urls.limits.lowers_depths() && part.proposal.kind != Kind::Requisite;
            if part.is_seed() || may_fall {
                bring_nearer(urls, part)?;
            }
            raise(urls, part.proposal, (part.url, part.origin))?;
            proposed.known += 1;
        } else if !part.is_seed() && urls.hosts.is_one_too_many(part.url.host, part.origin, most_hosts)? {
            proposed.over_hosts += 1;
            urls.totals.over_hosts += 1;
        } else if admit(urls, part, mark_of(number))? {
            proposed.added += 1;
            added.push(number);
        } else {
            proposed.over_limit += 1;
        }
    }
    Ok((proposed, added))
}

/// Hosts that were given up get another chance, even if the URL that leads to them is known.
fn readmit_given_up_hosts(urls: &mut Urls, parts: &[Parts]) -> Result<(), FrontierError> {
    let met = urls.hosts.given_up_among(parts.iter().map(|part| part.url.host));
    for part in parts.iter().filter(|part| met.contains(&part.url.host)) {
        urls.hosts.change(part.url.host, part.origin)?.is_linked_again = true;
    }
    Ok(())
}

fn take_apart<'p>(keys: Keys, proposals: &'p [Proposal]) -> Result<Vec<Parts<'p>>, FrontierError> {
    let mut last: (&str, HostKey) = ("", 0);
    let mut parts = Vec::with_capacity(proposals.len());
    for proposal in proposals {
        let (origin, path) = split(&proposal.url)?;
        if origin != last.0 {
            last = (origin, keys.host(origin));
        }
        parts.push(Parts { proposal, origin, path, url: keys.url(last.1, path), is_known: false });
    }
    Ok(parts)
}

/// Reads the store in the order of its keys, so that neighbours share blocks.
fn look_up(urls: &mut Urls, parts: &mut [Parts]) -> Result<(), FrontierError> {
    let mut unsure = Vec::new();
    for (index, part) in parts.iter_mut().enumerate() {
        part.is_known = urls.known.contains(part.url);
        if !part.is_known {
            unsure.push((part.url, index));
        }
    }
    unsure.sort_unstable();
    let mut last = None;
    for (url, index) in unsure {
        let is_known = match last {
            Some((before, is_known)) if before == url => is_known,
            _ => urls.queues.state_of(url)?.is_some(),
        };
        if is_known && last != Some((url, true)) {
            urls.seen.push(url);
        }
        last = Some((url, is_known));
        parts[index].is_known = is_known;
    }
    Ok(())
}

/// A known URL is given as a seed, so neither depth nor scope excludes it; or fewer links lead to it than before. With a
/// maximum depth its links are then read again, because some were too deep, or will get a smaller depth themselves.
fn bring_nearer(urls: &mut Urls, part: &Parts) -> Result<(), FrontierError> {
    let (url, origin) = (part.url, part.origin);
    let Proposal { kind, depth, .. } = *part.proposal;
    // The depth of a requisite is something else: its steps from a page.
    let is_nearer = |of: Kind, before: u16| before > depth && (of == kind || part.is_seed());
    let Some(state) = urls.queues.state_of(url)? else { return Ok(()) };
    if let Some(item) = urls.queues.entry(url, state)?.filter(|item| is_nearer(item.kind, item.depth)) {
        urls.dequeue((url, origin), state)?;
        let item = QueuedUrl { kind, depth, ..item };
        match state {
            UrlState::Ready(rank) => urls.enqueue_ready((url, origin), rank, to_bytes(&item))?,
            UrlState::Later { due, rank } => urls.enqueue_later((url, origin), due, rank, &item)?,
            UrlState::Done => {}
        }
    }
    if let Some(page) = urls.pages.get(url, origin)?.filter(|page| is_nearer(page.kind, page.depth)) {
        let leads_on = page.leads_on();
        urls.put_page((url, origin), PageRecord { kind, depth, ..page })?;
        if leads_on && urls.limits.lowers_depths() {
            rechecks::recheck(urls, &part.proposal.url, Recheck::Refetch)?;
        }
    }
    Ok(())
}

/// False if the host has reached its limit of pages. The host is created anyway, because it was seen.
fn admit(urls: &mut Urls, part: &Parts, mark: Option<u32>) -> Result<bool, FrontierError> {
    let limit = urls.limits.pages_per_host();
    let Proposal { kind, depth, priority, .. } = *part.proposal;
    let host = urls.hosts.change(part.url.host, part.origin)?;
    if kind.is_delivered() {
        if host.record.pages >= host.record.ordered_pages.unwrap_or(limit) {
            return Ok(false);
        }
        host.record.pages += 1;
    }
    host.is_linked_again = true;
    host.was_idle |= host.record.work() == 0;
    let key = (part.url, part.origin);
    let rank = urls.next_rank(priority);
    let path = part.path.to_owned();
    let lead = part.proposal.lead.clone().unwrap_or_default();
    let item = QueuedUrl { path, kind, depth, lead, ..QueuedUrl::default() };
    urls.sources.note(part.proposal, rank.sequence());
    match mark {
        Some(mark) => urls.enqueue_later(key, due_of(mark), rank, &item)?,
        None => urls.enqueue_ready(key, rank, to_bytes(&item))?,
    }
    urls.totals.first_time += 1;
    Ok(true)
}
