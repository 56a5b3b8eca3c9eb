//! Where redirects lead, and what pages name as their canonical URL ([`super::stand_ins`]): under which URL a target's page is
//! delivered, its owner, and which others lead there too, its aliases. Only what does either has anything here.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use fjall::Keyspace;

use super::changes::Changes;
use super::open::EmbeddedFrontier;
use super::records::{self, Owner, UrlState};
use super::store::Store;
use crate::frontier::claims::Told;
use crate::frontier::keys::{UrlKey, split};
use crate::frontier::{Claim, FrontierError, PageRecord, PageState};
use crate::planted;

/// A target that has lost its owner, or a content whose first page left: so many of its aliases or duplicates are looked at at once.
/// The first of them has its place, the others stay what they are; all of a million at once would be of no use. Each that is a duplicate
/// no more wakes the next.
const HEIRS: usize = 8;
/// Those that are looked through for them.
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
        // Held while the store is asked: what is neither here nor there cannot be granted twice. Who settles a claim does not wait
        // for it.
        let _one_at_a_time = self.claiming.lock();
        let claimed = {
            let mut claims = self.claims.lock();
            claims.forget(by_key);
            claims.of(target_key, by_key)
        };
        let owner = match claimed {
            Some(Claim::Owned { by }) => Some(by),
            Some(claim) => return Ok(claim),
            None => self.delivered_under((target, target_key), by_key)?,
        };
        let mut claims = self.claims.lock();
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
    fn delivered_under(&self, (target, key): (&str, UrlKey), by: UrlKey) -> Result<Option<String>, FrontierError> {
        let store = self.shelf.store()?;
        let owner = store.owner(key)?.filter(|owner| !owner.is_stand_in);
        if let Some(owner) = self.another(owner, by)? {
            return Ok(Some(owner));
        }
        let is_there = key != by && store.page(key, "")?.is_some_and(|page| is_page(&page));
        Ok((is_there && !self.claims.lock().is_leaving(key)).then(|| target.to_owned()))
    }

    /// The owner, if it is not `by`, and not about to be none.
    pub(super) fn another(&self, owner: Option<Owner>, by: UrlKey) -> Result<Option<String>, FrontierError> {
        let Some(owner) = owner else { return Ok(None) };
        let key = self.key_of(&owner.url)?;
        Ok((key != by && !self.claims.lock().is_leaving(key)).then_some(owner.url))
    }
}

/// What becomes of a URL's record.
#[derive(Clone, Copy)]
pub(super) struct Answer<'r> {
    pub url: UrlKey,
    pub before: Option<&'r PageRecord>,
    pub record: &'r PageRecord,
}

impl Answer<'_> {
    pub fn is_new(&self) -> bool {
        self.before.is_none_or(|before| before.fetched_ms != self.record.fetched_ms)
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
    pub(super) fn turn_to(&mut self, answer: Answer, reached: Option<&str>) -> Result<bool, FrontierError> {
        let Answer { url, before, record } = answer;
        let (was, is) = (Role::of(before), Role::of(Some(record)));
        if was != is {
            self.leave(url, &record.url, (was, is), reached)?;
        }
        self.tell_others(answer)?;
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
        Ok(is_anothers && answer.is_new())
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

    /// Has aliases of a target that are `wanted` looked at at once, those included that are about to be. The target itself comes
    /// first.
    pub(super) fn wake(
        &mut self,
        target: UrlKey,
        but: UrlKey,
        wanted: impl Fn(&PageRecord) -> bool,
    ) -> Result<(), FrontierError> {
        let mut members = self.members(&self.store.targets, &self.targets, members_of(target))?;
        let itself = member(target, target);
        let is_one = match self.targets.get(&itself) {
            Some(change) => change.is_some(),
            None => self.store.get(&self.store.targets, &itself)?.is_some(),
        };
        members.retain(|alias| *alias != target);
        // It was no page when it was asked for itself; then another's redirect brought it.
        let was_refused = match self.origin_of(target.host)? {
            Some(origin) => self.page(target, &origin)?.is_some_and(|page| page.no_page_since().is_some()),
            None => false,
        };
        if is_one || was_refused {
            members.insert(0, target);
        }
        self.wake_heirs(members, but, wanted)
    }

    /// Has [`HEIRS`] of these that are `wanted` looked at at once.
    pub(super) fn wake_heirs(
        &mut self,
        members: Vec<UrlKey>,
        but: UrlKey,
        wanted: impl Fn(&PageRecord) -> bool,
    ) -> Result<(), FrontierError> {
        let mut awake = 0;
        for member in members.into_iter().filter(|member| *member != but) {
            if awake < HEIRS && !planted::is("aliases_asleep") {
                awake += usize::from(self.wake_one(member, &wanted)?);
            }
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

    /// The URLs that the keys of a range end in: the first of the store's, and all that this batch adds.
    pub(super) fn members(
        &self,
        keyspace: &Keyspace,
        changes: &TargetChanges,
        range: RangeInclusive<Vec<u8>>,
    ) -> Result<Vec<UrlKey>, FrontierError> {
        let mut keys = BTreeSet::new();
        for entry in keyspace.range(range.clone()) {
            let key = entry.key().map_err(|source| self.store.failed(source))?;
            if changes.get(&key[..]).is_none_or(Option::is_some) {
                keys.insert(key.to_vec());
            }
            if keys.len() >= LOOKED_THROUGH {
                break;
            }
        }
        keys.extend(changes.range(range).filter(|(_, value)| value.is_some()).map(|(key, _)| key.clone()));
        let unreadable = || self.store.unreadable(keyspace.name());
        keys.iter().map(|key| UrlKey::at_end_of(key).ok_or_else(unreadable)).collect()
    }
}

/// Whether it is there under its own URL; delivered, unless it asks not to be.
pub(super) fn is_page(record: &PageRecord) -> bool {
    record.state.is_there() && record.kind.is_delivered()
}

pub(super) fn member(target: UrlKey, alias: UrlKey) -> Vec<u8> {
    [target.to_bytes(), alias.to_bytes()].concat()
}

/// The keys of all aliases of a target.
pub(super) fn members_of(target: UrlKey) -> RangeInclusive<Vec<u8>> {
    member(target, UrlKey::FIRST)..=member(target, UrlKey::LAST)
}
