//! Redirect targets and canonical URLs ([`super::canonical_slots`]): the owner of each target, under whose URL its page is
//! delivered, and its aliases, the other URLs that lead there. Other URLs have no entry here.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use fjall::Keyspace;

use super::canonical_slots;
use super::changes::Changes;
use super::records::{self, Owner, UrlState};
use super::store::Store;
use crate::keys::{UrlKey, split};
use crate::{FrontierError, PageRecord, PageState};
use seine_simulation_hooks::planted;

/// When a target loses its owner, or a content its first page, this many aliases or duplicates are rechecked at once.
/// The first of them takes over, and the others stay what they are, so rechecking all of a million would be useless.
/// Each that is no longer a duplicate causes the recheck of another.
const HEIRS: usize = 8;
/// Maximum number of entries searched for them.
const MAX_READ: usize = 64;

/// Entries by key, put or (none) deleted. The key of a target has its owner; the keys of a target and an alias together
/// have no value.
pub(super) type TargetChanges = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// The role of a URL for its redirect target, or for its canonical URL.
#[derive(Clone, Copy, PartialEq)]
enum Role<'r> {
    None,
    Owner(&'r str),
    CanonicalSlot(&'r str),
    Alias(&'r str),
}

impl Role<'_> {
    fn of(record: Option<&PageRecord>) -> Role<'_> {
        let Some(PageRecord { state, target, canonical, .. }) = record else { return Role::None };
        match (target.as_deref(), canonical.as_deref()) {
            (Some(target), _) if *state == PageState::Alias => Role::Alias(target),
            (_, Some(canonical)) if state.is_found() => Role::CanonicalSlot(canonical),
            (Some(target), None) if state.is_found() => Role::Owner(target),
            _ => Role::None,
        }
    }
}

/// The change of a URL's record.
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
    /// Updates the role of a URL for its target. `reached`: the present end of its redirects, whatever the result. True
    /// if the URL must be rechecked at once: it is an alias of a page that nobody delivers, or has a page that another
    /// URL delivers. A fetch that left it unchanged decides nothing about that, and another fetch would not either.
    pub(super) fn turn_to(&mut self, answer: Answer, reached: Option<&str>) -> Result<bool, FrontierError> {
        let Answer { url, before, record } = answer;
        let (was, is) = (Role::of(before), Role::of(Some(record)));
        if was != is {
            self.leave(url, &record.url, (was, is), reached)?;
        }
        self.tell_others(answer)?;
        let is_anothers = match is {
            Role::None => false,
            Role::Owner(target) => self.own(target, Owner { url: record.url.clone(), has_canonical_slot: false })?,
            Role::CanonicalSlot(canonical) => {
                let is_owned = self.own(canonical, Owner { url: record.url.clone(), has_canonical_slot: true })?;
                let key = self.memory.keys.key_of(canonical)?;
                is_owned
                    || self.has(key, canonical, canonical_slots::is_delivered)?
                    // While the page was judged, the URL became an alias. One more fetch shows whose.
                    || (was != is && self.has(key, canonical, canonical_slots::leads_on)?)
            }
            Role::Alias(target) => {
                let key = self.memory.keys.key_of(target)?;
                self.targets.insert(member(key, url), Some(Vec::new()));
                !self.is_delivered(key, target)? || !self.leads_to(record.canonical.as_deref(), key)?
            }
        };
        Ok(is_anothers && answer.is_new())
    }

    /// Makes it the owner of a target that has none, or only a page with its canonical slot. True if another URL is the
    /// owner.
    fn own(&mut self, target: &str, by: Owner) -> Result<bool, FrontierError> {
        let target = self.memory.keys.key_of(target)?;
        if let Some(owner) = self.owner(target)?.filter(|owner| owner.url != by.url) {
            if by.has_canonical_slot || !owner.has_canonical_slot {
                return Ok(true);
            }
            self.wake_one(self.memory.keys.key_of(&owner.url)?, |_| true)?;
        }
        self.targets.insert(target.to_bytes().to_vec(), Some(records::to_bytes(&by)));
        Ok(false)
    }

    /// Gives a target without owner to one of its aliases. An alias that redirects there gets it unless the target
    /// itself was just fetched and had no page.
    fn leave(
        &mut self,
        url: UrlKey,
        address: &str,
        (was, is): (Role, Role),
        reached: Option<&str>,
    ) -> Result<(), FrontierError> {
        let (Role::Owner(target) | Role::CanonicalSlot(target) | Role::Alias(target)) = was else { return Ok(()) };
        let key = self.memory.keys.key_of(target)?;
        self.targets.insert(member(key, url), None);
        if self.owner(key)?.is_some_and(|owner| owner.url == address) {
            self.targets.insert(key.to_bytes().to_vec(), None);
        }
        let is_taken = matches!(is, Role::Owner(taken) | Role::CanonicalSlot(taken) if taken == target);
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
        self.has(url, address, is_page)
    }

    /// Whether the URL has a record that is `wanted`.
    fn has(&self, url: UrlKey, address: &str, wanted: fn(&PageRecord) -> bool) -> Result<bool, FrontierError> {
        let (origin, _) = split(address)?;
        Ok(self.page(url, origin)?.is_some_and(|page| wanted(&page)))
    }

    /// Rechecks the `wanted` aliases of a target at once, including those of this batch. The target itself comes first.
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
        // The target was not a page when it was fetched itself; a redirect led to its page later.
        let was_refused = match self.origin_of(target.host)? {
            Some(origin) => self.page(target, &origin)?.is_some_and(|page| page.no_page_since().is_some()),
            None => false,
        };
        if is_one || was_refused {
            members.insert(0, target);
        }
        self.wake_heirs(members, but, wanted)
    }

    /// Rechecks [`HEIRS`] of the `wanted` ones at once.
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

    /// The URLs at the end of the keys of a range: the first in the store, and all added by this batch.
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
            if keys.len() >= MAX_READ {
                break;
            }
        }
        keys.extend(changes.range(range).filter(|(_, value)| value.is_some()).map(|(key, _)| key.clone()));
        let unreadable = || self.store.unreadable(keyspace.name());
        keys.iter().map(|key| UrlKey::at_end_of(key).ok_or_else(unreadable)).collect()
    }
}

/// Whether it has a page under its own URL, delivered unless it is noindex.
pub(super) fn is_page(record: &PageRecord) -> bool {
    record.state.is_found() && record.kind.is_delivered()
}

pub(super) fn member(target: UrlKey, alias: UrlKey) -> Vec<u8> {
    [target.to_bytes(), alias.to_bytes()].concat()
}

/// The keys of all aliases of a target.
pub(super) fn members_of(target: UrlKey) -> RangeInclusive<Vec<u8>> {
    member(target, UrlKey::FIRST)..=member(target, UrlKey::LAST)
}
