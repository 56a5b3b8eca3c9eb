//! Targets that workers are asking for: several URLs may redirect to one at the same time, and its page is to be fetched and
//! delivered once. What the validator has come to is in the store; here is what lies between. It needs no disk: before a
//! process leases anything, it has validated all that the one before it had accepted.

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

/// A URL has one claim at a time: on where its redirects have led so far.
#[derive(Debug, Default)]
pub(super) struct Claims {
    by_target: HashMap<UrlKey, Claimed>,
    targets: HashMap<UrlKey, UrlKey>,
}

#[derive(Debug)]
struct Claimed {
    by: UrlKey,
    url: String,
    /// The event that makes it the owner is on its way to the validator.
    is_won: bool,
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
}
