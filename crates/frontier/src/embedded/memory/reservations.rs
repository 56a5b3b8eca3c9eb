//! Reservations of fetches in progress: a place in the budgets, a redirect target, a canonical slot, a content slot.
//! They are in memory and do not survive a restart.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::alias_reservations::AliasReservations;
use super::budget_reservations::BudgetReservations;
use super::content_reservations::ContentReservations;
use super::ledger::Ledger;
use crate::embedded::disk::reopenable_store::ReopenableStore;
use crate::keys::{Keys, UrlKey};
use crate::{FrontierError, NoBudget, TargetOwner};
use seine_parse::page::{DuplicateOf, EpochMs, Kind, Withheld};
use seine_policies::budgets::Amounts;
use seine_policies::duplicates::Content;

/// All reservations, by what they reserve. No lock of one part is taken while a lock of another is held.
pub(crate) struct Reservations {
    keys: Keys,
    pub aliases: AliasReservations,
    pub contents: ContentReservations,
    pub budgets: BudgetReservations,
}

impl Reservations {
    pub(crate) fn new(store_handle: &Arc<ReopenableStore>, keys: Keys, ledger: Ledger) -> Reservations {
        Reservations {
            keys,
            aliases: AliasReservations::new(store_handle.clone(), keys),
            contents: ContentReservations::new(store_handle.clone()),
            budgets: BudgetReservations::new(store_handle.clone(), keys, ledger),
        }
    }

    /// Reserves a place in all budgets of a URL.
    pub(crate) fn reserve(
        self: &Arc<Self>,
        url: &str,
        kind: Kind,
        now: EpochMs,
    ) -> Result<Result<Reservation, NoBudget>, FrontierError> {
        let key = self.keys.key_of(url)?;
        let held = self.budgets.reserve(url, kind, now)?;
        Ok(held.map(|()| Reservation {
            all: self.clone(),
            url: url.to_owned(),
            key,
            is_settled: AtomicBool::new(false),
        }))
    }

    /// Deletes the decisions about URLs, because the store has all of it now. The validator has counted their budgets.
    pub(crate) fn end(&self, urls: &[UrlKey]) {
        self.aliases.end(urls);
        urls.iter().for_each(|url| self.contents.give_up(*url));
    }

    /// There is no event of these URLs, or the page log has lost it.
    pub(crate) fn give_up(&self, urls: &[UrlKey]) {
        urls.iter().for_each(|url| self.budgets.give_up(*url));
        self.end(urls);
    }

    fn give_up_slots(&self, url: UrlKey) {
        self.aliases.give_up(url);
        self.contents.give_up(url);
    }
}

/// The slots and budgets that the fetch of one URL holds, until the verdict on its event. It begins with a place in the
/// budgets. It is [settled](Reservation::settle) when the event is on its way to the validator. Dropping it earlier
/// gives everything back.
pub struct Reservation {
    all: Arc<Reservations>,
    url: String,
    key: UrlKey,
    is_settled: AtomicBool,
}

impl Reservation {
    /// Reserves the target of a redirect, and drops the target reserved before. At most one URL owns a target. A URL
    /// reserves itself before its request.
    pub fn reserve_target(&self, target: &str) -> Result<TargetOwner, FrontierError> {
        self.all.aliases.reserve_target(target, (&self.url, self.key))
    }

    /// Decides about a page with this canonical URL (or its own). None: deliver the page; otherwise it is an alias. The
    /// page of the canonical URL itself comes before all pages that name it, and never becomes an alias of one. The
    /// decision lasts until the next call. A delivered page leaves for a redirect of `canonical` only if that redirect
    /// has lasted for `leaves_after`.
    pub fn reserve_canonical_slot(
        &self,
        canonical: &str,
        leaves_after: Option<Duration>,
    ) -> Result<Option<Withheld>, FrontierError> {
        self.all.aliases.reserve_canonical_slot(canonical, (&self.url, self.key), leaves_after)
    }

    /// Decides whether a page with this content is a duplicate. Texts are near each other if they differ in up to
    /// `within` bits (0: compare bytes only). None: it is the first. The decision lasts until the next call.
    pub fn reserve_content(&self, content: Content, within: u8) -> Result<Option<DuplicateOf>, FrontierError> {
        self.all.contents.reserve(content, within, (&self.url, self.key))
    }

    /// The size of the response, before its event is accepted. Until then the budgets have reserved what such a URL
    /// usually needs.
    pub fn set_amounts(&self, amounts: Amounts) {
        self.all.budgets.ledger.lock().set_amounts(self.key, amounts);
    }

    /// Gives back the target and both slots, because the URL's record will not change. The place in the budgets stays.
    pub fn give_up_slots(&self) {
        self.all.give_up_slots(self.key);
    }

    /// The event is on its way to the validator, before any event of the URLs that wait for the target. `has_page`: the
    /// event makes the URL the owner of the target, and other fetches may learn it.
    pub fn settle(&self, has_page: bool) -> Settled {
        self.is_settled.store(true, Ordering::Relaxed);
        self.all.aliases.settle(self.key, has_page);
        Settled { all: self.all.clone(), url: self.key }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if !*self.is_settled.get_mut() {
            self.all.budgets.give_up(self.key);
            self.all.give_up_slots(self.key);
        }
    }
}

/// A settled reservation, which the verdict on its event ends.
pub struct Settled {
    all: Arc<Reservations>,
    url: UrlKey,
}

impl Settled {
    /// The page log ended without the event, so there will be no verdict.
    pub fn withdraw(self) {
        self.all.budgets.give_up(self.url);
        self.all.give_up_slots(self.url);
    }
}
