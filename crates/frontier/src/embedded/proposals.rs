//! Proposals: finds out which URLs are new.

use super::changes::Changes;
use super::known::Known;
use super::records::{QueuedUrl, UrlState, to_bytes};
use crate::deferred::due_of;
use crate::keys::{HostKey, UrlKey, split};
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

impl Changes<'_> {
    /// Adds unknown URLs in the order of the proposals. `held`: which proposals are deferred if they are new, by
    /// position, with their marks. Also returns the positions of new URLs.
    pub fn add_proposals(
        &mut self,
        proposals: &[Proposal],
        deferred: &[(usize, u32)],
        known: &Known,
    ) -> Result<(Proposed, Vec<usize>), FrontierError> {
        let mut parts = self.take_apart(proposals)?;
        self.meet_again(&parts)?;
        self.look_up(&mut parts, known)?;
        let (mut proposed, mut added) = (Proposed::default(), Vec::new());
        self.met.expect(parts.len());
        let mark_of = |number| deferred.binary_search_by_key(&number, |(of, _)| *of).ok().map(|at| deferred[at].1);
        for (number, part) in parts.iter().enumerate() {
            self.meet_url(part.url, part.proposal);
            // A second proposal in the same batch is known.
            if part.is_known || self.states.contains_key(&part.url) {
                if part.is_seed() {
                    self.make_seed(part)?;
                }
                self.raise(part.proposal, part.url, part.origin)?;
                proposed.known += 1;
            } else if !part.is_seed() && self.is_one_too_many(part.url.host, part.origin)? {
                proposed.over_hosts += 1;
                self.totals.over_hosts += 1;
            } else if self.admit(part, mark_of(number))? {
                proposed.added += 1;
                added.push(number);
            } else {
                proposed.over_limit += 1;
            }
        }
        Ok((proposed, added))
    }

    /// Hosts that were given up get another chance, even if the URL that leads to them is known.
    fn meet_again(&mut self, parts: &[Parts]) -> Result<(), FrontierError> {
        let met = self.memory.schedule.lock().given_up_among(parts.iter().map(|part| part.url.host));
        for part in parts.iter().filter(|part| met.contains(&part.url.host)) {
            self.host(part.url.host, part.origin)?.is_met = true;
        }
        Ok(())
    }

    fn take_apart<'p>(&self, proposals: &'p [Proposal]) -> Result<Vec<Parts<'p>>, FrontierError> {
        let keys = self.memory.keys;
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
    fn look_up(&mut self, parts: &mut [Parts], known: &Known) -> Result<(), FrontierError> {
        let mut unsure = Vec::new();
        for (index, part) in parts.iter_mut().enumerate() {
            part.is_known = known.contains(part.url);
            if !part.is_known {
                unsure.push((part.url, index));
            }
        }
        unsure.sort_unstable();
        let mut last = None;
        for (url, index) in unsure {
            let is_known = match last {
                Some((before, is_known)) if before == url => is_known,
                _ => self.state_of(url)?.is_some(),
            };
            if is_known && last != Some((url, true)) {
                self.seen.push(url);
            }
            last = Some((url, is_known));
            parts[index].is_known = is_known;
        }
        Ok(())
    }

    /// A URL found by a link is now given as a seed, so neither depth nor scope excludes it.
    fn make_seed(&mut self, part: &Parts) -> Result<(), FrontierError> {
        let (url, origin) = (part.url, part.origin);
        let Some(state) = self.state_of(url)? else { return Ok(()) };
        if let Some(page) = self.page(url, origin)?.filter(|page| page.depth > 0) {
            self.host(url.host, origin)?;
            self.pages.insert(url, Some(PageRecord { kind: Kind::Page, depth: 0, ..page }));
        }
        if let Some(item) = self.queued(url, state)?.filter(|item| item.depth > 0) {
            self.host(url.host, origin)?;
            self.dequeue(url, state);
            let item = QueuedUrl { kind: Kind::Page, depth: 0, ..item };
            match state {
                UrlState::Ready(rank) => self.enqueue_ready(url, rank, to_bytes(&item)),
                UrlState::Later { due, rank } => self.enqueue_later(url, due, rank, &item),
                UrlState::Done => {}
            }
        }
        Ok(())
    }

    /// False if the host has reached its limit of pages. The host is created anyway, because it was seen.
    fn admit(&mut self, part: &Parts, mark: Option<u32>) -> Result<bool, FrontierError> {
        let limit = self.memory.limits.pages_per_host();
        let Proposal { kind, depth, priority, .. } = *part.proposal;
        let host = self.host(part.url.host, part.origin)?;
        if kind.is_delivered() {
            if host.record.pages >= host.record.ordered_pages.unwrap_or(limit) {
                return Ok(false);
            }
            host.record.pages += 1;
        }
        host.is_met = true;
        host.was_idle |= host.record.work() == 0;
        let rank = self.next_rank(priority);
        let path = part.path.to_owned();
        let lead = part.proposal.lead.clone().unwrap_or_default();
        let item = QueuedUrl { path, kind, depth, lead, ..QueuedUrl::default() };
        self.note_source(part.proposal, rank.sequence());
        match mark {
            Some(mark) => self.enqueue_later(part.url, due_of(mark), rank, &item),
            None => self.enqueue_ready(part.url, rank, to_bytes(&item)),
        }
        self.totals.first_time += 1;
        Ok(true)
    }
}
