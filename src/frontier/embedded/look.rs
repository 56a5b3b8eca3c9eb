//! One host, one URL, as people ask for them. Reads a few records; nothing is written.

use super::changes::Changes;
use super::open::EmbeddedFrontier;
use super::records::{QueuedUrl, UrlState};
use super::store::Store;
use super::verdicts::attempts_before;
use crate::frontier::keys::{Rank, UrlKey, ready_key, split};
use crate::frontier::look::{COUNTED, HostLook, HostOrder, Place, QueuedLook, UrlLook};
use crate::frontier::{Frontier, FrontierError, PageRecord};
use crate::page::EpochMs;

/// Aliases that are named.
const NAMED: usize = 20;

impl EmbeddedFrontier {
    pub(super) fn look_at_one_host(&self, origin: &str) -> Result<Option<HostLook>, FrontierError> {
        let host = self.keys.host(origin);
        let store = &*self.shelf.store()?;
        let look = match self.schedule.lock().look(host) {
            Some(look) => Some(look),
            None => store.host(host)?.map(|record| record.look()),
        };
        let robots = store.robots_of(host)?;
        Ok(look.map(|look| HostLook { robots, ..look }))
    }

    pub(super) fn look_at_one_url(&self, address: &str) -> Result<Option<UrlLook>, FrontierError> {
        let (origin, path) = split(address)?;
        let url = self.keys.url(self.keys.host(origin), path);
        let store = &*self.shelf.store()?;
        let Some(state) = store.state_of(url)? else { return Ok(None) };
        let queued = store.queued(url, state)?;
        let page = store.page(url, origin)?;
        let number = match (&page, state) {
            (Some(page), _) => page.past.proposed_as,
            (None, UrlState::Ready(rank) | UrlState::Later { rank, .. }) => Some(rank.sequence()),
            (None, UrlState::Done) => None,
        };
        let attempts = match (&queued, &page) {
            (Some(queued), _) if !queued.attempts.is_empty() => queued.attempts.clone(),
            (_, page) => attempts_before(None, page.as_ref()),
        };
        Ok(Some(UrlLook {
            place: self.place_of(store, url, state)?,
            is_in_flight: self.schedule.lock().is_in_flight(url),
            queued: queued.map(|QueuedUrl { kind, depth, attempt, cause, lead, .. }| QueuedLook {
                kind,
                depth,
                attempts: attempt,
                cause,
                lead,
            }),
            first_found: self.first_found(store, number)?,
            last_found: self.last_found(store, url)?,
            attempts_in_all: attempts.in_all(),
            attempts: attempts.to_vec(),
            aliases: self.aliases_of(store, url)?,
            duplicates: page.as_ref().map_or(Ok(Vec::new()), |page| store.duplicates_of(page, NAMED))?,
            owner: match page.as_ref().and_then(|page| page.target.as_deref()) {
                Some(target) => self.owner_of(target)?.filter(|owner| owner != address),
                None => None,
            },
            page,
        }))
    }

    fn place_of(&self, store: &Store, url: UrlKey, state: UrlState) -> Result<Place, FrontierError> {
        Ok(match state {
            UrlState::Done => Place::Done,
            UrlState::Later { due, .. } => Place::Later { due },
            UrlState::Ready(rank) => {
                let before = store.ready.range(ready_key(url.host, Rank(0))..ready_key(url.host, rank));
                let mut ahead = 0;
                for entry in before.take(COUNTED as usize) {
                    entry.key().map_err(|source| store.failed(source))?;
                    ahead += 1;
                }
                Place::Ready { priority: rank.priority(), ahead }
            }
        })
    }

    /// Those that redirect here, or whose redirects lead where this one's do.
    fn aliases_of(&self, store: &Store, target: UrlKey) -> Result<Vec<String>, FrontierError> {
        let prefix = target.to_bytes();
        let mut aliases = Vec::new();
        for entry in store.targets.prefix(prefix).take(NAMED + 1) {
            let key = entry.key().map_err(|source| store.failed(source))?;
            let Some(alias) = key.get(prefix.len()..).and_then(UrlKey::from_bytes).filter(|alias| *alias != target)
            else {
                continue;
            };
            let Some(host) = store.host(alias.host)? else { continue };
            aliases.extend(store.page(alias, &host.origin)?.map(|page: PageRecord| page.url));
        }
        Ok(aliases)
    }

    pub(super) fn order_one_host(&self, origin: &str, order: HostOrder, now: EpochMs) -> Result<(), FrontierError> {
        split(&format!("{origin}/"))?;
        let mut known = self.writer.lock();
        let mut changes = Changes::new(self, now)?;
        let record = &mut changes.host(self.keys.host(origin), origin)?.record;
        match order {
            HostOrder::Block => record.is_blocked = true,
            HostOrder::Unblock => record.is_blocked = false,
            HostOrder::Delay(delay) => {
                record.ordered_delay_ms = delay.map(|delay| u64::try_from(delay.as_millis()).unwrap_or(u64::MAX / 4));
            }
            HostOrder::Pages(pages) => record.ordered_pages = pages,
        }
        changes.commit(&mut known)?;
        self.flush()
    }
}
