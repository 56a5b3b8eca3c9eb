//! Reservations in budgets: made before a URL is fetched, and dropped if the fetch gives nothing.

use seine_frontier::{Frontier, FrontierError, NoBudget, Spent, Work};
use seine_parse::page::EpochMs;
use seine_policies::budgets::{Amounts, Whom};
use seine_system::blocking;
use seine_system::clock::now_ms;

use super::host::LeasedHost;
use super::visitor::Visitor;

/// Fetches in progress may use up the budget. The host is asked again after this time, when their results are known.
const SOON_MS: EpochMs = 250;

/// Returned to the budget when it is dropped.
pub(super) struct Place {
    frontier: std::sync::Arc<dyn Frontier>,
    /// None when the event is in the page log; then the validator counts it.
    url: Option<String>,
}

impl Visitor {
    /// None if the URL must not be fetched now; the host's earliest next request is set.
    pub(super) async fn set_aside(&self, host: &mut LeasedHost, work: &Work) -> Result<Option<Place>, FrontierError> {
        let now = now_ms();
        let (frontier, url, kind) = (self.services.frontier.clone(), work.url.clone(), work.kind);
        // The reservation is made on that thread, so it is dropped even if the caller is gone.
        let place = blocking::aside(move || {
            let reserved = frontier.reserve(&url, kind, now)?;
            Ok::<_, FrontierError>(reserved.map(|()| Place { frontier, url: Some(url) }))
        });
        match place.await? {
            Ok(place) => return Ok(Some(place)),
            Err(NoBudget::InFlight) => host.not_before = host.not_before.max(now + SOON_MS),
            // No host is leased while a budget of the crawl is used up.
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
    /// The sizes are known now.
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
