//! Where redirects lead, and what pages name as their canonical URL ([`super::stand_ins`]): under which URL a target's page is
//! delivered, its owner, and which others lead there too, its aliases. Only what does either has anything here.

use std::collections::BTreeMap;

use super::changes::Changes;
use super::open::EmbeddedFrontier;
use super::records::{self, Owner, UrlState};
use super::store::Store;
use crate::frontier::claims::{Claims, Told};
use crate::frontier::keys::{UrlKey, split};
use crate::frontier::{Claim, FrontierError, PageRecord, PageState};

/// A target that has lost its owner: so many of its aliases are looked at at once. The first of them has its page, the others
/// stay its aliases; all of a million at once would be of no use.
const HEIRS: usize = 8;
/// Aliases that are looked through for them.
const LOOKED_THROUGH: usize = 64;

/// Entries by key, put in or (none) taken out: under a target's key its owner, under that and an alias's key nothing.
pub(super) type TargetChanges = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// What a URL is to the target of its redirects, or to the URL that its page names.
#[derive(Clone, Copy, PartialEq)]
enum Role<'r> {
    None,
    Owner(&'r str),
    StandIn(&'r str),
    Alias(&'r str),
}

impl Role<'_> {
    fn of(record: Option<&PageRecord>) -> Role<'_> {
        let Some(PageRecord { state, target, canonical, .. }) = record else { return Role::None };
        match (target.as_deref(), canonical.as_deref()) {
            (Some(target), _) if *state == PageState::Alias => Role::Alias(target),
            (_, Some(canonical)) if state.is_there() => Role::StandIn(canonical),
            (Some(target), None) if state.is_there() => Role::Owner(target),
            _ => Role::None,
        }
    }
}

impl EmbeddedFrontier {
    pub(super) fn claim(&self, target: &str, by: &str) -> Result<Claim, FrontierError> {
        let (target_key, by_key) = (self.key_of(target)?, self.key_of(by)?);
        // Held while the store is asked: what is neither here nor there cannot be granted twice.
        let mut claims = self.claims.lock();
        claims.forget(by_key);
        let owner = match claims.of(target_key, by_key) {
            Some(Claim::Owned { by }) => Some(by),
            Some(claim) => return Ok(claim),
            None => self.delivered_under(&claims, (target, target_key), by_key)?,
        };
        match owner {
            Some(owner) => {
                claims.tell(by_key, by, Told::Alias(target.to_owned()));
                Ok(Claim::Owned { by: owner })
            }
            None => {
                claims.grant(target_key, by_key, by);
                Ok(Claim::Granted)
            }
        }
    }

    /// Another one than `by` whose page is that of `target`, and stays so. Who stands in for a page gives way to who brings it.
    fn delivered_under(
        &self,
        claims: &Claims,
        (target, key): (&str, UrlKey),
        by: UrlKey,
    ) -> Result<Option<String>, FrontierError> {
        let store = self.shelf.store()?;
        let owner = store.owner(key)?.filter(|owner| !owner.is_stand_in);
        if let Some(owner) = self.another(claims, owner, by)? {
            return Ok(Some(owner));
        }
        let is_there = key != by && !claims.is_leaving(key) && store.page(key, "")?.is_some_and(|page| is_page(&page));
        Ok(is_there.then(|| target.to_owned()))
    }

    /// The owner, if it is not `by`, and not about to be none.
    pub(super) fn another(
        &self,
        claims: &Claims,
        owner: Option<Owner>,
        by: UrlKey,
    ) -> Result<Option<String>, FrontierError> {
        let Some(owner) = owner else { return Ok(None) };
        let key = self.key_of(&owner.url)?;
        Ok((key != by && !claims.is_leaving(key)).then_some(owner.url))
    }
}

impl EmbeddedFrontier {
    /// Under which URL a target's page is delivered, its own not counted.
    pub(super) fn owner_of(&self, target: &str) -> Result<Option<String>, FrontierError> {
        let owner = self.shelf.store()?.owner(self.key_of(target)?)?;
        Ok(owner.map(|owner| owner.url))
    }
}

impl Store {
    pub(super) fn owner(&self, target: UrlKey) -> Result<Option<Owner>, FrontierError> {
        self.record(&self.targets, &target.to_bytes())
    }
}

impl Changes<'_> {
    /// Notes what `record` makes of the URL to its target, and what it is no longer. `reached`: where its redirects led this time,
    /// whatever came of it. True when the URL is to be looked at again at once: it is the alias of nobody's page, or has a page that
    /// is another's. A look that left it as it was has nothing to say of that: another would not either.
    pub(super) fn turn_to(
        &mut self,
        url: UrlKey,
        before: Option<&PageRecord>,
        record: &PageRecord,
        reached: Option<&str>,
    ) -> Result<bool, FrontierError> {
        let (was, is) = (Role::of(before), Role::of(Some(record)));
        if was != is {
            self.leave(url, &record.url, (was, is), reached)?;
        }
        self.tell_others(url, before, record)?;
        let is_new = before.is_none_or(|before| before.fetched_ms != record.fetched_ms);
        let is_anothers = match is {
            Role::None => false,
            Role::Owner(target) => self.own(target, Owner { url: record.url.clone(), is_stand_in: false })?,
            Role::StandIn(canonical) => {
                let is_owned = self.own(canonical, Owner { url: record.url.clone(), is_stand_in: true })?;
                is_owned || self.has_page(self.frontier.key_of(canonical)?, canonical)?
            }
            Role::Alias(target) => {
                let key = self.frontier.key_of(target)?;
                self.targets.insert(member(key, url), Some(Vec::new()));
                !self.is_delivered(key, target)? || !self.leads_to(record.canonical.as_deref(), key)?
            }
        };
        Ok(is_anothers && is_new)
    }

    /// Makes it the owner of a target that has none, or only one that stands in for it. True when another is.
    fn own(&mut self, target: &str, by: Owner) -> Result<bool, FrontierError> {
        let target = self.frontier.key_of(target)?;
        if let Some(owner) = self.owner(target)?.filter(|owner| owner.url != by.url) {
            if by.is_stand_in || !owner.is_stand_in {
                return Ok(true);
            }
            self.wake_one(self.frontier.key_of(&owner.url)?, |_| true)?;
        }
        self.targets.insert(target.to_bytes().to_vec(), Some(records::to_bytes(&by)));
        Ok(false)
    }

    /// A target that nobody owns any more goes to one of its aliases; to one that redirects there not if it has just been asked for
    /// itself, and was not there.
    fn leave(
        &mut self,
        url: UrlKey,
        address: &str,
        (was, is): (Role, Role),
        reached: Option<&str>,
    ) -> Result<(), FrontierError> {
        let (Role::Owner(target) | Role::StandIn(target) | Role::Alias(target)) = was else { return Ok(()) };
        let key = self.frontier.key_of(target)?;
        self.targets.insert(member(key, url), None);
        if self.owner(key)?.is_some_and(|owner| owner.url == address) {
            self.targets.insert(key.to_bytes().to_vec(), None);
        }
        let is_taken = matches!(is, Role::Owner(taken) | Role::StandIn(taken) if taken == target);
        if !is_taken && !self.is_delivered(key, target)? {
            self.wake(key, url, |alias| reached != Some(target) || alias.is_alias_by_name())?;
        }
        Ok(())
    }

    pub(super) fn owner(&self, target: UrlKey) -> Result<Option<Owner>, FrontierError> {
        match self.targets.get(&target.to_bytes()[..]) {
            Some(owner) => Ok(owner.as_deref().and_then(records::from_bytes)),
            None => self.store.owner(target),
        }
    }

    /// Whether its page is delivered under any URL, its own included.
    fn is_delivered(&self, target: UrlKey, address: &str) -> Result<bool, FrontierError> {
        Ok(self.owner(target)?.is_some() || self.has_page(target, address)?)
    }

    fn has_page(&self, url: UrlKey, address: &str) -> Result<bool, FrontierError> {
        let (origin, _) = split(address)?;
        Ok(self.page(url, origin)?.is_some_and(|page| is_page(&page)))
    }

    /// Has [`HEIRS`] aliases of a target that are `wanted` looked at at once, those included that are about to be. The target itself
    /// comes first.
    pub(super) fn wake(
        &mut self,
        target: UrlKey,
        but: UrlKey,
        wanted: impl Fn(&PageRecord) -> bool,
    ) -> Result<(), FrontierError> {
        let mut members = self.members(target)?;
        members.retain(|alias| *alias != but);
        members.sort_by_key(|alias| *alias != target);
        let mut awake = 0;
        for alias in members {
            if awake >= HEIRS {
                break;
            }
            awake += usize::from(self.wake_one(alias, &wanted)?);
        }
        Ok(())
    }

    pub(super) fn wake_one(
        &mut self,
        url: UrlKey,
        wanted: impl Fn(&PageRecord) -> bool,
    ) -> Result<bool, FrontierError> {
        let Some(origin) = self.origin_of(url.host)? else { return Ok(false) };
        let Some(page) = self.page(url, &origin)?.filter(wanted) else { return Ok(false) };
        match self.state_of(url)? {
            Some(UrlState::Ready(_)) => Ok(true),
            Some(UrlState::Later { due, .. }) if due <= self.now => Ok(true),
            _ => self.set_revisit(&page.url, Some(self.now)),
        }
    }

    /// The first of a target's aliases, this batch's included; and the target itself if it is one.
    fn members(&self, target: UrlKey) -> Result<Vec<UrlKey>, FrontierError> {
        let prefix = target.to_bytes();
        let mut members = Vec::new();
        for entry in self.store.targets.prefix(prefix) {
            let key = entry.key().map_err(|source| self.store.failed(source))?;
            if key.len() > prefix.len() && self.targets.get(&key[..]).is_none_or(Option::is_some) {
                members.push(key.to_vec());
            }
            if members.len() >= LOOKED_THROUGH {
                break;
            }
        }
        let added = self.targets.range(prefix.to_vec()..).take_while(|(key, _)| key.starts_with(&prefix));
        members.extend(
            added.filter(|(key, value)| key.len() > prefix.len() && value.is_some()).map(|(key, _)| key.clone()),
        );
        if let Some(Some(_)) = self.targets.get(&member(target, target)) {
        } else if self.store.get(&self.store.targets, &member(target, target))?.is_some() {
            members.push(member(target, target));
        }
        members.sort_unstable();
        members.dedup();
        let unreadable = || self.store.unreadable("targets");
        members.iter().map(|key| UrlKey::from_bytes(&key[prefix.len()..]).ok_or_else(unreadable)).collect()
    }
}

/// Whether it is there under its own URL; delivered, unless it asks not to be.
pub(super) fn is_page(record: &PageRecord) -> bool {
    record.state.is_there() && record.kind.is_delivered()
}

pub(super) fn member(target: UrlKey, alias: UrlKey) -> Vec<u8> {
    [target.to_bytes(), alias.to_bytes()].concat()
}
