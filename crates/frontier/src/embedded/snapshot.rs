//! Information about one URL for the user. Reads a few records; writes nothing.

use super::changes::pages::attempts_before;
use super::disk::records::{Source, UrlState};
use super::disk::store::Store;
use super::disk::target_keys::members_of;
use super::open::EmbeddedFrontier;
use crate::keys::{KeyedUrl, Rank, UrlKey, ready_key};
use crate::snapshot::{COUNTED, QueueState, UrlSnapshot};
use crate::{Found, FoundBy, FrontierError};
use seine_parse::page::EpochMs;

/// Maximum number of aliases to list.
const NAMED: usize = 20;

impl EmbeddedFrontier {
    /// The record and the present state of a normalised URL; none if it was never found.
    pub fn url_snapshot(&self, address: &str) -> Result<Option<UrlSnapshot>, FrontierError> {
        let KeyedUrl { key: url, origin, .. } = self.memory.keys.of(address)?;
        let store = &*self.store_handle.store()?;
        let Some(state) = store.state_of(url)? else { return Ok(None) };
        let queued = store.queued(url, state)?;
        let page = store.page(url, origin)?;
        let number = page.as_ref().map_or(state.rank().map(Rank::sequence), |page| page.url_history.proposed_as);
        let attempts = match (&queued, &page) {
            (Some(queued), _) if !queued.attempts.is_empty() => queued.attempts.clone(),
            (_, page) => attempts_before(None, page.as_ref()),
        };
        let last = self.memory.last_links.lock().of(url).cloned();
        Ok(Some(UrlSnapshot {
            queue_state: queue_state(store, url, state)?,
            is_in_flight: self.memory.schedule.lock().is_in_flight(url),
            queued,
            first_found: first_found(store, number)?,
            last_found: last.map_or(Ok(None), |source| named(store, &source))?,
            attempts_in_all: attempts.in_all(),
            attempts: attempts.to_vec(),
            aliases: aliases_of(store, url)?,
            duplicates: page.as_ref().map_or(Ok(Vec::new()), |page| store.duplicates_of(page, NAMED))?,
            owner: match page.as_ref().and_then(|page| page.target.as_deref()) {
                Some(target) => {
                    store.owner(self.memory.keys.key_of(target)?)?.map(|owner| owner.url).filter(|url| url != address)
                }
                None => None,
            },
            page,
        }))
    }
}

fn queue_state(store: &Store, url: UrlKey, state: UrlState) -> Result<QueueState, FrontierError> {
    Ok(match state {
        UrlState::Done => QueueState::Done,
        UrlState::Later { due, .. } => QueueState::Later { due },
        UrlState::Ready(rank) => {
            let before = store.ready.range(ready_key(url.host, Rank(0))..ready_key(url.host, rank));
            QueueState::Ready { priority: rank.priority(), ahead: store.count(before.take(COUNTED as usize))? }
        }
    })
}

/// URLs that redirect here, or to the same target as this one.
fn aliases_of(store: &Store, target: UrlKey) -> Result<Vec<String>, FrontierError> {
    let aliases = store.url_keys(&store.targets, store.targets.range(members_of(target)).take(NAMED + 1))?;
    let mut urls = Vec::new();
    for alias in aliases.into_iter().filter(|alias| *alias != target).take(NAMED) {
        urls.extend(store.page_of(alias)?.map(|page| page.url));
    }
    Ok(urls)
}

/// `number`: the number of a URL among all proposed ones.
fn first_found(store: &Store, number: Option<u64>) -> Result<Option<Found>, FrontierError> {
    let source = number.map(|number| store.source(number)).transpose()?.flatten();
    source.map_or(Ok(None), |source| named(store, &source))
}

/// With the URL of the page. A page that is no longer known has no URL.
fn named(store: &Store, source: &Source) -> Result<Option<Found>, FrontierError> {
    let Some(way) = source.way else { return Ok(None) };
    let on = match source.on() {
        Some(on) => match store.host(on.host)? {
            Some(host) if way == FoundBy::RobotsTxt => Some(format!("{}/robots.txt", host.origin)),
            Some(host) => store.page(on, &host.origin)?.map(|page| page.url),
            None => None,
        },
        None => None,
    };
    Ok(Some(Found { way, on, at: EpochMs::from(source.at_s) * 1000 }))
}
