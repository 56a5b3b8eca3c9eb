//! Reservations of redirect targets and canonical slots, in memory, until the store has the verdict (`changes/targets.rs`,
//! `disk/canonical_slots.rs`).
//!
//! Locks: `reserving`, held for a reservation with its reads of the store, and in it `decisions`, held only briefly.

use std::sync::Arc;
use std::time::Duration;

use locks::Mutex;

use crate::decisions::{AliasDecision, Decisions};
use crate::embedded::disk::canonical_slots::{CHAIN, is_delivered, is_page, named_by_alias};
use crate::embedded::disk::records::Owner;
use crate::embedded::disk::reopenable_store::{ReopenableStore, StoreGuard};
use crate::keys::{Keys, UrlKey, split};
use crate::{FrontierError, PageRecord, TargetOwner};
use seine_parse::page::{EpochMs, Withheld};

/// A delivered page: the URL of its delivery, and its own URL.
type Delivered = (String, String);

/// Redirect targets with the URLs that fetch or own them, and decisions about aliases.
pub(crate) struct AliasReservations {
    store_handle: Arc<ReopenableStore>,
    keys: Keys,
    reserving: Mutex<()>,
    decisions: Mutex<Decisions>,
}

impl AliasReservations {
    pub(crate) fn new(store_handle: Arc<ReopenableStore>, keys: Keys) -> AliasReservations {
        AliasReservations { store_handle, keys, reserving: Mutex::default(), decisions: Mutex::default() }
    }

    pub(crate) fn reserve_target(
        &self,
        target: &str,
        (by, by_key): (&str, UrlKey),
    ) -> Result<TargetOwner, FrontierError> {
        let target_key = self.keys.key_of(target)?;
        // Held while the store is read, so that a target cannot be granted twice. Settling does not wait for this lock.
        let _one_at_a_time = self.reserving.lock();
        let reserved = {
            let mut decisions = self.decisions.lock();
            decisions.forget(by_key);
            decisions.of(target_key, by_key)
        };
        let owner = match reserved {
            Some(TargetOwner::Owned { by }) => Some(by),
            Some(claim) => return Ok(claim),
            None => self.delivered_under((target, target_key), by_key)?,
        };
        let mut decisions = self.decisions.lock();
        match owner {
            Some(owner) => {
                decisions.decide(by_key, by, AliasDecision::Alias(target.to_owned()));
                Ok(TargetOwner::Owned { by: owner })
            }
            None => {
                decisions.grant(target_key, by_key, by);
                Ok(TargetOwner::Granted)
            }
        }
    }

    /// A URL other than `by` that delivers the page of `target`, and will continue to. A page with a canonical slot
    /// gives way to the real page.
    fn delivered_under(&self, (target, key): (&str, UrlKey), by: UrlKey) -> Result<Option<String>, FrontierError> {
        let store = self.store_handle.store()?;
        let owner = store.owner(key)?.filter(|owner| !owner.has_canonical_slot);
        if let Some(owner) = self.another(owner, by)? {
            return Ok(Some(owner));
        }
        let is_there = key != by && store.page(key, "")?.is_some_and(|page| is_page(&page));
        Ok((is_there && !self.decisions.lock().is_leaving(key)).then(|| target.to_owned()))
    }

    /// The owner, unless it is `by` or about to lose the target.
    fn another(&self, owner: Option<Owner>, by: UrlKey) -> Result<Option<String>, FrontierError> {
        let Some(owner) = owner else { return Ok(None) };
        let key = self.keys.key_of(&owner.url)?;
        Ok((key != by && !self.decisions.lock().is_leaving(key)).then_some(owner.url))
    }

    pub(crate) fn reserve_canonical_slot(
        &self,
        canonical: &str,
        (by, by_key): (&str, UrlKey),
        leaves_after: Option<Duration>,
    ) -> Result<Option<Withheld>, FrontierError> {
        let key = self.keys.key_of(canonical)?;
        // If two pages name each other, only one may become an alias. The second call sees the first decision.
        let _one_at_a_time = self.reserving.lock();
        self.decisions.lock().forget(by_key);
        let for_ = (key != by_key).then_some(key);
        let delivered = if for_.is_some() { self.delivered(canonical, (by_key, leaves_after))? } else { None };
        let decision =
            if delivered.is_some() { AliasDecision::Alias(canonical.to_owned()) } else { AliasDecision::Page { for_ } };
        self.decisions.lock().decide(by_key, by, decision);
        Ok(delivered.map(|(of, target)| Withheld::Alias { of, target }))
    }

    /// The page, not of `by`, that the canonical URL has or leads to, step by step. An old alias does not count by
    /// itself, because the steps between may have changed, and a circle could point to it.
    fn delivered(
        &self,
        canonical: &str,
        (by, leaves_after): (UrlKey, Option<Duration>),
    ) -> Result<Option<Delivered>, FrontierError> {
        let store = self.store_handle.store()?;
        let mut named = canonical.to_owned();
        for _ in 0..CHAIN {
            let key = self.keys.key_of(&named)?;
            if key == by {
                break;
            }
            let decision = self.decisions.lock().decision(key).cloned();
            let next = match (decision, store.page(key, split(&named)?.0)?) {
                (Some(AliasDecision::Page { .. }), _) => return Ok(Some((named.clone(), named))),
                (Some(AliasDecision::Alias(target)), _) if leaves_after.is_none() => Some(target),
                // Another worker has just found where the URL leads. This counts if the URL led there before.
                (Some(AliasDecision::Alias(target)), Some(page)) if named_by_alias(&page) != Some(&*target) => None,
                (Some(AliasDecision::Alias(_)), None) => None,
                (None, Some(page)) if is_delivered(&page) => return Ok(Some((named.clone(), named))),
                (_, Some(page)) if !is_confirmed(&page, leaves_after) => None,
                (_, Some(page)) => named_by_alias(&page).map(str::to_owned),
                (None, None) => None,
            };
            match next.filter(|next| *next != named) {
                Some(next) => named = next,
                None => break,
            }
        }
        for target in [named, canonical.to_owned()] {
            if let Some(of) = self.owner_but(&store, self.keys.key_of(&target)?, by)? {
                return Ok(Some((of, target)));
            }
        }
        Ok(None)
    }

    /// Does not look for the owner of `by` itself, which has its own page.
    fn owner_but(&self, store: &StoreGuard, target: UrlKey, by: UrlKey) -> Result<Option<String>, FrontierError> {
        if target == by {
            return Ok(None);
        }
        let reserved = {
            let decisions = self.decisions.lock();
            decisions
                .won_by_another(target, by)
                .or_else(|| decisions.canonical_slot_owner(target, by))
                .map(str::to_owned)
        };
        match reserved {
            Some(owner) => Ok(Some(owner)),
            None => self.another(store.owner(target)?, by),
        }
    }

    /// The event is on its way to the validator. `has_page`: it makes the URL the owner of its target.
    pub(crate) fn settle(&self, url: UrlKey, has_page: bool) {
        let mut decisions = self.decisions.lock();
        match has_page {
            true => decisions.win(url),
            false => decisions.end(url),
        }
    }

    /// Drops what a URL has reserved.
    pub(crate) fn give_up(&self, url: UrlKey) {
        let mut decisions = self.decisions.lock();
        decisions.end(url);
        decisions.forget(url);
    }

    /// Drops what URLs have reserved, because the store has the result, or there will be none. A concurrent reservation
    /// has either read the store before, or finds the decision here.
    pub(crate) fn end(&self, urls: &[UrlKey]) {
        let _one_at_a_time = self.reserving.lock();
        urls.iter().for_each(|url| self.give_up(*url));
    }
}

/// Whether an alias has led to its target for long enough. A redirect may be a mistake of an hour, and a delivered page does
/// not leave for it before.
fn is_confirmed(alias: &PageRecord, leaves_after: Option<Duration>) -> bool {
    let has_led_for = |since: EpochMs| Duration::from_millis(alias.fetched_ms.saturating_sub(since));
    alias.is_alias_by_name()
        || leaves_after.is_none_or(|after| alias.refused_since.is_none_or(|since| has_led_for(since) >= after))
}
