//! Decisions for events that the validator has not applied yet: about redirect targets being fetched (several URLs may
//! redirect to one target, whose page must be fetched and delivered once), aliases and canonical slots. Decisions that the validator has processed are in the store. Memory is enough, because a process
//! validates all earlier events before it leases anything.

use std::collections::HashMap;

use super::keys::UrlKey;

/// The owner of a redirect target: the URL under which its page is delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetOwner {
    /// No URL owned it. The caller fetches it, and nobody else until the caller's [`super::Reservation`] is settled.
    Granted,
    /// It is delivered under this URL, which may be the target itself.
    Owned { by: String },
    /// Another URL is fetching it.
    Pending,
}

/// A URL has at most one reservation of a target: the present end of its redirects.
#[derive(Debug, Default)]
pub(super) struct Decisions {
    by_target: HashMap<UrlKey, TargetReservation>,
    targets: HashMap<UrlKey, UrlKey>,
    /// Page or alias: decisions about URLs, until the validator has processed their events.
    by_url: HashMap<UrlKey, AliasDecision>,
    /// Canonical slots given to pages that name the canonical URL.
    canonical_slots: HashMap<UrlKey, (UrlKey, String)>,
}

#[derive(Debug)]
struct TargetReservation {
    by: UrlKey,
    url: String,
    /// The event that makes it the owner is on its way to the validator.
    is_won: bool,
}

/// The decision about a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AliasDecision {
    /// A page under its own URL; it may have the canonical slot of another URL.
    Page { for_: Option<UrlKey> },
    /// An alias of this URL, which it names or redirects to.
    Alias(String),
}

impl Decisions {
    /// The reservation of a URL other than `by`; none if there is none. An earlier reservation of `by` is dropped.
    pub(crate) fn of(&mut self, target: UrlKey, by: UrlKey) -> Option<TargetOwner> {
        self.end(by);
        let reserved = self.by_target.get(&target)?;
        Some(if reserved.is_won { TargetOwner::Owned { by: reserved.url.clone() } } else { TargetOwner::Pending })
    }

    pub(crate) fn grant(&mut self, target: UrlKey, by: UrlKey, url: &str) {
        self.by_target.insert(target, TargetReservation { by, url: url.to_owned(), is_won: false });
        self.targets.insert(by, target);
    }

    pub(crate) fn win(&mut self, by: UrlKey) {
        let reserved = self.targets.get(&by).and_then(|target| self.by_target.get_mut(target));
        if let Some(reserved) = reserved {
            reserved.is_won = true;
        }
    }

    /// The reservation is dropped, or the store has the result.
    pub(crate) fn end(&mut self, by: UrlKey) {
        let Some(target) = self.targets.remove(&by) else { return };
        if self.by_target.get(&target).is_some_and(|reserved| reserved.by == by) {
            self.by_target.remove(&target);
        }
    }

    /// The URL, other than `by`, that is about to deliver the page of `target`.
    pub(crate) fn won_by_another(&self, target: UrlKey, by: UrlKey) -> Option<&str> {
        let reserved = self.by_target.get(&target).filter(|reserved| reserved.is_won && reserved.by != by)?;
        Some(&reserved.url)
    }

    pub(crate) fn decision(&self, url: UrlKey) -> Option<&AliasDecision> {
        self.by_url.get(&url)
    }

    pub(crate) fn is_leaving(&self, url: UrlKey) -> bool {
        matches!(self.decision(url), Some(AliasDecision::Alias(_)))
    }

    /// The URL, other than `by`, that has the canonical slot of `canonical`.
    pub(crate) fn canonical_slot_owner(&self, canonical: UrlKey, by: UrlKey) -> Option<&str> {
        let (url, address) = self.canonical_slots.get(&canonical)?;
        (*url != by).then_some(address)
    }

    /// Stores the decision about `by`. `address`: its URL.
    pub(crate) fn decide(&mut self, by: UrlKey, address: &str, decision: AliasDecision) {
        self.forget(by);
        if let AliasDecision::Page { for_: Some(canonical) } = decision {
            self.canonical_slots.insert(canonical, (by, address.to_owned()));
        }
        self.by_url.insert(by, decision);
    }

    /// The decision is void, or the store has it.
    pub(crate) fn forget(&mut self, by: UrlKey) {
        let Some(AliasDecision::Page { for_: Some(canonical) }) = self.by_url.remove(&by) else { return };
        if self.canonical_slots.get(&canonical).is_some_and(|(url, _)| *url == by) {
            self.canonical_slots.remove(&canonical);
        }
    }
}
