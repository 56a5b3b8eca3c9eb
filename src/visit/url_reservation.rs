//! The reservation of a URL, made before it is fetched, and given back if the fetch gives nothing.

use std::sync::Arc;

use seine_frontier::{FrontierError, NoBudget, Reservation, Settled, Spent, Work};
use seine_parse::page::EpochMs;
use seine_policies::budgets::{Amounts, BudgetScope};
use seine_system::blocking;
use seine_system::clock::now_ms;
use tokio::sync::Notify;

use super::leased_host::LeasedHost;
use super::visitor::Services;

/// Fetches in progress may use up the budget. The host may be leased again after this time, when their results are
/// known.
const SOON_MS: EpochMs = 250;

/// The reservation of a URL. Calls to the frontier in progress share it, so that it is given back after the last of
/// them.
#[derive(Clone)]
pub(super) struct UrlReservation(Arc<Reserved>);

/// The fields are dropped in this order, so a notified worker finds the reservation given back.
struct Reserved {
    reservation: Reservation,
    _notifies: Notifies,
}

/// Notifies the URLs that wait for a reservation.
struct Notifies(Arc<Notify>);

impl Drop for Notifies {
    fn drop(&mut self) {
        self.0.notify_waiters();
    }
}

impl UrlReservation {
    /// None if the URL must not be fetched now; the host's earliest next request is set.
    pub(super) async fn make(
        services: &Services,
        host: &mut LeasedHost,
        work: &Work,
    ) -> Result<Option<UrlReservation>, FrontierError> {
        let now = now_ms();
        let (frontier, url, kind) = (services.frontier.clone(), work.url.clone(), work.kind);
        let notifies = Notifies(services.settled.clone());
        // The reservation is made on that thread, so it is dropped even if the caller is gone.
        let url_reservation = blocking::run_blocking(move || {
            let reserved = frontier.reserve(&url, kind, now)?;
            let url_reservation = |reservation| UrlReservation(Arc::new(Reserved { reservation, _notifies: notifies }));
            Ok::<_, FrontierError>(reserved.map(url_reservation))
        });
        match url_reservation.await? {
            Ok(url_reservation) => return Ok(Some(url_reservation)),
            Err(NoBudget::InFlight) => host.not_before = host.not_before.max(now + SOON_MS),
            // No host is leased while a budget of the crawl is used up.
            Err(NoBudget::Spent(Spent { budget, .. })) if budget.of == BudgetScope::Crawl => {}
            Err(NoBudget::Spent(spent)) => {
                tracing::debug!(host = host.origin(), budget = %spent.budget, "a budget of the host is used up: the \
                    host is not visited");
                host.spent = Some(spent);
            }
        }
        Ok(None)
    }

    /// Asks for more on another thread, because the frontier may wait for the disk.
    pub(super) async fn ask<T: Send + 'static>(&self, ask: impl FnOnce(&Reservation) -> T + Send + 'static) -> T {
        let url_reservation = self.clone();
        blocking::run_blocking(move || ask(&url_reservation.0.reservation)).await
    }

    /// Replaces the reserved amounts of the budgets with the real ones.
    pub(super) fn set_amounts(&self, amounts: Amounts) {
        self.0.reservation.set_amounts(amounts);
    }

    /// Drops the reserved slots, because the event will not change the URL's record.
    pub(super) fn give_up_slots(&self) {
        self.0.reservation.give_up_slots();
    }

    /// The event is in the log's queue, before any event of the URLs that wait. `has_page`: the reserved target has
    /// this page.
    pub(super) fn settle(&self, has_page: bool) -> Settled {
        self.0.reservation.settle(has_page)
    }
}
