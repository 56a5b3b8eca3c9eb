//! Where redirects lead: under which URL a target's page is delivered, its owner, and which others lead there too, its
//! aliases. Only what redirects has anything here.

use std::collections::BTreeMap;

use super::changes::Changes;
use super::open::EmbeddedFrontier;
use super::records::{self, Owner, UrlState};
use super::store::Store;
use crate::frontier::keys::{UrlKey, split};
use crate::frontier::{Claim, FrontierError, PageRecord, PageState};
use crate::page::Kind;

/// A target that has lost its owner: so many of its aliases are looked at at once. The first of them has its page, the others
/// stay its aliases; all of a million at once would be of no use.
const HEIRS: usize = 8;
/// Aliases that are looked through for them.
const LOOKED_THROUGH: usize = 64;

/// Entries by key, put in or (none) taken out: under a target's key its owner, under that and an alias's key nothing.
pub(super) type TargetChanges = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// What a URL is to the target of its redirects.
#[derive(Clone, Copy, PartialEq)]
enum Role<'r> {
    None,
    Owner(&'r str),
    Alias(&'r str),
}

impl Role<'_> {
    fn of(record: Option<&PageRecord>) -> Role<'_> {
        match record.and_then(|record| Some((record.state, record.target.as_deref()?))) {
            Some((PageState::Alias, target)) => Role::Alias(target),
            Some((state, target)) if state.is_there() => Role::Owner(target),
            _ => Role::None,
        }
    }
}

impl EmbeddedFrontier {
    pub(super) fn claim(&self, target: &str, by: &str) -> Result<Claim, FrontierError> {
        let (target_key, by_key) = (self.key_of(target)?, self.key_of(by)?);
        // Held while the store is asked: what is neither here nor there cannot be granted twice.
        let mut claims = self.claims.lock();
        if let Some(claim) = claims.of(target_key, by_key) {
            return Ok(claim);
        }
        let store = self.shelf.store()?;
        let owner = match store.owner(target_key)? {
            Some(owner) => Some(owner),
            None if target_key != by_key => store.page(target_key, "")?.filter(is_page).map(|_| target.to_owned()),
            None => None,
        };
        if let Some(by) = owner.filter(|owner| owner != by) {
            return Ok(Claim::Owned { by });
        }
        claims.grant(target_key, by_key, by);
        Ok(Claim::Granted)
    }
}

impl EmbeddedFrontier {
    /// Under which URL a target's page is delivered, its own not counted.
    pub(super) fn owner_of(&self, target: &str) -> Result<Option<String>, FrontierError> {
        self.shelf.store()?.owner(self.key_of(target)?)
    }
}

impl Store {
    fn owner(&self, target: UrlKey) -> Result<Option<String>, FrontierError> {
        let owner: Option<Owner> = self.record(&self.targets, &target.to_bytes())?;
        Ok(owner.map(|owner| owner.url))
    }
}

impl Changes<'_> {
    /// Notes what `record` makes of the URL to its target, and what it is no longer. `reached`: where its redirects led this time,
    /// whatever came of it. True when the URL is to be looked at again at once: it is the alias of nobody's page, or has a page that
    /// is another's.
    pub(super) fn turn_to(
        &mut self,
        url: UrlKey,
        before: Option<&PageRecord>,
        record: &PageRecord,
        reached: Option<&str>,
    ) -> Result<bool, FrontierError> {
        let (was, is) = (Role::of(before), Role::of(Some(record)));
        if was != is {
            self.leave(url, &record.url, was, reached)?;
        }
        match is {
            Role::None => Ok(false),
            Role::Owner(target) => {
                let target = self.frontier.key_of(target)?;
                match self.owner(target)? {
                    Some(owner) => Ok(owner != record.url),
                    None => {
                        let owner = records::to_bytes(&Owner { url: record.url.clone() });
                        self.targets.insert(target.to_bytes().to_vec(), Some(owner));
                        Ok(false)
                    }
                }
            }
            Role::Alias(target) => {
                let key = self.frontier.key_of(target)?;
                self.targets.insert(member(key, url), Some(Vec::new()));
                Ok(!self.is_delivered(key, target)?)
            }
        }
    }

    /// A target that nobody owns any more goes to one of its aliases, unless it has just been asked for itself, and was not there.
    fn leave(&mut self, url: UrlKey, address: &str, was: Role, reached: Option<&str>) -> Result<(), FrontierError> {
        let (Role::Owner(target) | Role::Alias(target)) = was else { return Ok(()) };
        let key = self.frontier.key_of(target)?;
        self.targets.insert(member(key, url), None);
        if self.owner(key)?.is_some_and(|owner| owner == address) {
            self.targets.insert(key.to_bytes().to_vec(), None);
        }
        if reached != Some(target) && !self.is_delivered(key, target)? {
            self.wake(key, url)?;
        }
        Ok(())
    }

    fn owner(&self, target: UrlKey) -> Result<Option<String>, FrontierError> {
        match self.targets.get(&target.to_bytes()[..]) {
            Some(owner) => Ok(owner.as_deref().and_then(records::from_bytes).map(|owner: Owner| owner.url)),
            None => self.store.owner(target),
        }
    }

    /// Whether its page is delivered under any URL, its own included.
    fn is_delivered(&self, target: UrlKey, address: &str) -> Result<bool, FrontierError> {
        let (origin, _) = split(address)?;
        Ok(self.owner(target)?.is_some() || self.page(target, origin)?.is_some_and(|page| is_page(&page)))
    }

    /// Has [`HEIRS`] aliases of a target looked at at once, those included that are about to be. The target itself comes first.
    fn wake(&mut self, target: UrlKey, but: UrlKey) -> Result<(), FrontierError> {
        let mut members = self.members(target)?;
        members.retain(|alias| *alias != but);
        members.sort_by_key(|alias| *alias != target);
        let mut awake = 0;
        for alias in members {
            if awake >= HEIRS {
                break;
            }
            awake += usize::from(self.wake_one(alias)?);
        }
        Ok(())
    }

    fn wake_one(&mut self, alias: UrlKey) -> Result<bool, FrontierError> {
        match self.state_of(alias)? {
            Some(UrlState::Ready(_)) => return Ok(true),
            Some(UrlState::Later { due, .. }) if due <= self.now => return Ok(true),
            _ => {}
        }
        let Some(origin) = self.origin_of(alias.host)? else { return Ok(false) };
        let Some(page) = self.page(alias, &origin)? else { return Ok(false) };
        self.set_revisit(&page.url, Some(self.now))
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
fn is_page(record: &PageRecord) -> bool {
    record.state.is_there() && record.kind == Kind::Page
}

fn member(target: UrlKey, alias: UrlKey) -> Vec<u8> {
    [target.to_bytes(), alias.to_bytes()].concat()
}
