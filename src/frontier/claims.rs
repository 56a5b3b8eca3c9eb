//! What workers have been told of whose page is whose, and the validator has not come to yet: targets that they are asking for
//! (several URLs may redirect to one at the same time, and its page is to be fetched and delivered once), and what became of pages
//! that lead to others or name them. What the validator has come to is in the store. It needs no disk: before a process leases
//! anything, it has validated all that the one before it had accepted.

use std::collections::HashMap;

use super::keys::UrlKey;

/// Whose page a target is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// Nobody's yet: whoever asked asks for it. Nobody else does until [`super::Frontier::settle_claim`].
    Granted,
    /// It is delivered under this URL, which may be the target itself.
    Owned { by: String },
    /// Somebody is just asking for it.
    Pending,
}

/// How the visit of a URL that claimed something has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// The event that makes it the owner is on its way to the validator, and others may be told.
    Won,
    /// An event is on its way that makes it no owner.
    Lost,
    /// No event is on its way.
    GivenUp,
}

/// A URL has one claim at a time: on where its redirects have led so far.
#[derive(Debug, Default)]
pub(super) struct Claims {
    by_target: HashMap<UrlKey, Claimed>,
    targets: HashMap<UrlKey, UrlKey>,
    /// What URLs were told that they are, until the verdict on the event that says so.
    told: HashMap<UrlKey, Told>,
    /// Canonical URLs whose place was given to a page that names them.
    stand_ins: HashMap<UrlKey, (UrlKey, String)>,
}

#[derive(Debug)]
struct Claimed {
    by: UrlKey,
    url: String,
    /// The event that makes it the owner is on its way to the validator.
    is_won: bool,
}

/// What a URL is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Told {
    /// A page under its own URL; it may stand in for another.
    Page { for_: Option<UrlKey> },
    /// An alias; it names this URL, or redirects there.
    Alias(String),
}

impl Claims {
    /// What another one than `by` has claimed; none when nobody has. An earlier claim of `by` is given up.
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

    /// It is given up, or the store knows.
    pub fn end(&mut self, by: UrlKey) {
        let Some(target) = self.targets.remove(&by) else { return };
        if self.by_target.get(&target).is_some_and(|claimed| claimed.by == by) {
            self.by_target.remove(&target);
        }
    }

    /// Who is about to deliver the page of `target`, other than `by`.
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

    /// Who was given the place of `canonical`, other than `by`.
    pub fn stand_in(&self, canonical: UrlKey, by: UrlKey) -> Option<&str> {
        let (url, address) = self.stand_ins.get(&canonical)?;
        (*url != by).then_some(address)
    }

    /// Tells `by` what it is to be. `address`: its URL.
    pub fn tell(&mut self, by: UrlKey, address: &str, told: Told) {
        self.forget(by);
        if let Told::Page { for_: Some(canonical) } = told {
            self.stand_ins.insert(canonical, (by, address.to_owned()));
        }
        self.told.insert(by, told);
    }

    /// It comes to nothing, or the store knows.
    pub fn forget(&mut self, by: UrlKey) {
        let Some(Told::Page { for_: Some(canonical) }) = self.told.remove(&by) else { return };
        if self.stand_ins.get(&canonical).is_some_and(|(url, _)| *url == by) {
            self.stand_ins.remove(&canonical);
        }
    }
}
