//! Reservations in memory that the validator has not processed yet. They cover redirect targets being fetched (several
//! URLs may redirect to one target, whose page must be fetched and delivered once), and decisions about aliases and
//! canonical slots. Decisions that the validator has processed are in the store. Memory is enough, because a process
//! validates all earlier events before it leases anything.

use std::collections::HashMap;

use super::keys::UrlKey;

/// Who owns the page of a redirect target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// Nobody yet: the caller fetches it, and nobody else until its [`super::Reservation`] is settled.
    Granted,
    /// It is delivered under this URL, which may be the target itself.
    Owned { by: String },
    /// Another URL is fetching it.
    Pending,
}

/// A URL has at most one reservation of a target: the present end of its redirects.
#[derive(Debug, Default)]
pub(super) struct Claims {
    by_target: HashMap<UrlKey, Claimed>,
    targets: HashMap<UrlKey, UrlKey>,
    /// What URLs were decided to be, until the verdict on the event that says so.
    told: HashMap<UrlKey, Told>,
    /// Canonical slots given to pages that name the canonical URL.
    stand_ins: HashMap<UrlKey, (UrlKey, String)>,
}

#[derive(Debug)]
struct Claimed {
    by: UrlKey,
    url: String,
    /// The event that makes it the owner is on its way to the validator.
    is_won: bool,
}

/// The decision about a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Told {
    /// A page under its own URL; it may have the canonical slot of another URL.
    Page { for_: Option<UrlKey> },
    /// An alias of this URL, which it names or redirects to.
    Alias(String),
}

impl Claims {
    /// The reservation of a URL other than `by`; none if there is none. An earlier reservation of `by` is dropped.
    pub fn of(&mut self, target: UrlKey, by: UrlKey) -> Option<Claim> {
        self.end(by);
        let claimed = self.by_target.get(&target)?;
        Some(if claimed.is_won { Claim::Owned { by: claimed.url.clone() } } else { Claim::Pending })
    }

    pub fn grant(&mut self, target: UrlKey, by: UrlKey, url: &str) {
        self.by_target.insert(target, Claimed { by, url: url.to_owned(), is_won: false });
        self.targets.insert(by, target);
    }

    pub fn win(&mut self, by: UrlKey) {
        let claimed = self.targets.get(&by).and_then(|target| self.by_target.get_mut(target));
        if let Some(claimed) = claimed {
            claimed.is_won = true;
        }
    }

    /// The reservation is dropped, or the store has the result.
    pub fn end(&mut self, by: UrlKey) {
        let Some(target) = self.targets.remove(&by) else { return };
        if self.by_target.get(&target).is_some_and(|claimed| claimed.by == by) {
            self.by_target.remove(&target);
        }
    }

    /// The URL, other than `by`, that is about to deliver the page of `target`.
    pub fn won_by_another(&self, target: UrlKey, by: UrlKey) -> Option<&str> {
        let claimed = self.by_target.get(&target).filter(|claimed| claimed.is_won && claimed.by != by)?;
        Some(&claimed.url)
    }

    pub fn told(&self, url: UrlKey) -> Option<&Told> {
        self.told.get(&url)
    }

    pub fn is_leaving(&self, url: UrlKey) -> bool {
        matches!(self.told(url), Some(Told::Alias(_)))
    }

    /// The URL, other than `by`, that has the canonical slot of `canonical`.
    pub fn stand_in(&self, canonical: UrlKey, by: UrlKey) -> Option<&str> {
        let (url, address) = self.stand_ins.get(&canonical)?;
        (*url != by).then_some(address)
    }

    /// Stores the decision about `by`. `address`: its URL.
    pub fn tell(&mut self, by: UrlKey, address: &str, told: Told) {
        self.forget(by);
        if let Told::Page { for_: Some(canonical) } = told {
            self.stand_ins.insert(canonical, (by, address.to_owned()));
        }
        self.told.insert(by, told);
    }

    /// The decision is void, or the store has it.
    pub fn forget(&mut self, by: UrlKey) {
        let Some(Told::Page { for_: Some(canonical) }) = self.told.remove(&by) else { return };
        if self.stand_ins.get(&canonical).is_some_and(|(url, _)| *url == by) {
            self.stand_ins.remove(&canonical);
        }
    }
}
