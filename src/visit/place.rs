//! A place in the budgets: set aside before a URL is asked for, and given back when nothing comes of it.

use super::host::LeasedHost;
use super::visitor::Visitor;
use crate::blocking;
use crate::budgets::{Amounts, Whom};
use crate::clock::now_ms;
use crate::frontier::{Frontier, FrontierError, NoBudget, Spent, Work};
use crate::page::EpochMs;

/// What is being asked for may spend the rest: the host is asked again once that is known, as it is soon.
const SOON_MS: EpochMs = 250;

/// Given back when it is dropped.
pub(super) struct Place {
    frontier: std::sync::Arc<dyn Frontier>,
    /// None once its event is the page log's: the validator books it.
    url: Option<String>,
}

impl Visitor {
    /// None when the URL must not be asked for now: its host is to be left alone, and knows for how long.
    pub(super) async fn set_aside(&self, host: &mut LeasedHost, work: &Work) -> Result<Option<Place>, FrontierError> {
        let now = now_ms();
        let (frontier, url, kind) = (self.frontier.clone(), work.url.clone(), work.kind);
        // The place is made there, and so given back where nobody awaits it any more.
        let place = blocking::aside(move || {
            let reserved = frontier.reserve(&url, kind, now)?;
            Ok::<_, FrontierError>(reserved.map(|()| Place { frontier, url: Some(url) }))
        });
        match place.await? {
            Ok(place) => return Ok(Some(place)),
            Err(NoBudget::InFlight) => host.not_before = host.not_before.max(now + SOON_MS),
            // Nobody is leased while the crawl's is spent.
            Err(NoBudget::Spent(Spent { budget, .. })) if budget.of == Whom::Crawl => {}
            Err(NoBudget::Spent(spent)) => {
                tracing::debug!(host = host.origin(), budget = %spent.budget, "budget spent: the host rests");
                host.spent = Some(spent);
            }
        }
        Ok(None)
    }
}

impl Place {
    /// What was brought is known.
    pub fn weigh(&self, amounts: Amounts) {
        self.url.iter().for_each(|url| self.frontier.weigh(url, amounts));
    }

    pub fn keep(mut self) {
        self.url = None;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.url.take().iter().for_each(|url| self.frontier.unreserve(url));
    }
}
