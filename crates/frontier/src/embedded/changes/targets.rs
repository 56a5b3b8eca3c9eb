//! Redirect targets and canonical URLs (`disk/canonical_slots.rs`): the owner of each target, under whose URL its page is
//! delivered, and its aliases, the other URLs that lead there. Other URLs have no entry here.

use fjall::OwnedWriteBatch;

use super::answer::{Answer, Consequences, Heirs};
use super::entries::Entries;
use super::pages::Pages;
use crate::embedded::disk::canonical_slots::{
    CHAIN, SlotOwner, canonical_of_alias, is_delivered, is_page, leads_on, named_by_alias,
};
use crate::embedded::disk::records::{self, Owner};
use crate::embedded::disk::store::Store;
use crate::embedded::disk::target_keys::{member, members_of};
use crate::keys::{Keys, UrlKey, split};
use crate::{FrontierError, PageRecord, PageState};

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
        // A sitemap is no page: it reserves nothing, so it must not find at its verdict that another URL has what it needs.
        let record = record.filter(|record| record.kind.is_delivered());
        let Some(PageRecord { state, target, canonical, .. }) = record else { return Role::None };
        match (target.as_deref(), canonical.as_deref()) {
            (Some(target), _) if *state == PageState::Alias => Role::Alias(target),
            (_, Some(canonical)) if state.is_found() => Role::CanonicalSlot(canonical),
            (Some(target), None) if state.is_found() => Role::Owner(target),
            _ => Role::None,
        }
    }
}

/// Changes of `targets` (`disk/target_keys.rs`).
pub(super) struct Targets<'a> {
    store: &'a Store,
    entries: Entries,
}

impl<'a> Targets<'a> {
    pub(super) fn new(store: &'a Store) -> Targets<'a> {
        Targets { store, entries: Entries::default() }
    }

    /// Updates the role of a URL for its target. `reached`: the present end of its redirects, whatever the result. It
    /// must be rechecked at once if it is an alias of a page without an owner, or has a page that another URL
    /// delivers. A fetch that left it unchanged decides nothing about that, and another fetch would not either.
    pub(super) fn turn_to(
        &mut self,
        pages: &Pages,
        answer: Answer,
        reached: Option<&str>,
    ) -> Result<Consequences, FrontierError> {
        let Answer { url, before, record } = answer;
        let keys = self.store.keys;
        let (was, is) = (Role::of(before), Role::of(Some(record)));
        let mut heirs = Vec::new();
        if was != is {
            heirs.extend(self.leave(pages, (url, &record.url), (was, is), reached)?);
        }
        heirs.extend(self.recheck_aliases(pages, answer)?);
        let is_anothers = match is {
            Role::None => false,
            Role::Owner(target) => {
                self.own(target, Owner { url: record.url.clone(), has_canonical_slot: false }, &mut heirs)?
            }
            Role::CanonicalSlot(canonical) => {
                let owner = Owner { url: record.url.clone(), has_canonical_slot: true };
                let is_owned = self.own(canonical, owner, &mut heirs)?;
                let key = keys.key_of(canonical)?;
                is_owned
                    || pages.has(key, canonical, is_delivered)?
                    // While the page was judged, the URL became an alias. One more fetch shows whose.
                    || (was != is && pages.has(key, canonical, leads_on)?)
            }
            Role::Alias(target) => {
                let key = keys.key_of(target)?;
                self.entries.put(member(key, url), Vec::new());
                !self.is_delivered(pages, key, target)? || !leads_to(pages, keys, record.canonical.as_deref(), key)?
            }
        };
        Ok(Consequences { is_rechecked: is_anothers && answer.is_new(), heirs })
    }

    /// Makes it the owner of a target that has none, or only a page with its canonical slot. True if another URL is the
    /// owner.
    fn own(&mut self, target: &str, by: Owner, heirs: &mut Vec<Heirs>) -> Result<bool, FrontierError> {
        let target = self.store.keys.key_of(target)?;
        if let Some(owner) = self.owner(target)?.filter(|owner| owner.url != by.url) {
            if by.has_canonical_slot || !owner.has_canonical_slot {
                return Ok(true);
            }
            heirs.push(Heirs::one(self.store.keys.key_of(&owner.url)?));
        }
        self.entries.put(target.to_bytes(), records::to_bytes(&by));
        Ok(false)
    }

    /// Gives a target without owner to one of its aliases. An alias that redirects there gets it unless the target
    /// itself was just fetched and had no page.
    fn leave(
        &mut self,
        pages: &Pages,
        (url, address): (UrlKey, &str),
        (was, is): (Role, Role),
        reached: Option<&str>,
    ) -> Result<Option<Heirs>, FrontierError> {
        let (Role::Owner(target) | Role::CanonicalSlot(target) | Role::Alias(target)) = was else { return Ok(None) };
        let key = self.store.keys.key_of(target)?;
        self.entries.delete(member(key, url));
        if self.owner(key)?.is_some_and(|owner| owner.url == address) {
            self.entries.delete(key.to_bytes());
        }
        let is_taken = matches!(is, Role::Owner(taken) | Role::CanonicalSlot(taken) if taken == target);
        if is_taken || self.is_delivered(pages, key, target)? {
            return Ok(None);
        }
        Ok(Some(self.heirs_of(pages, key, url, reached == Some(target))?))
    }

    /// Effects of `record` on pages that name its URL. The page with its canonical slot is rechecked at once if the URL
    /// now has a page, or leads elsewhere. If the URL stops being what it was, some of its aliases are rechecked.
    fn recheck_aliases(&mut self, pages: &Pages, answer: Answer) -> Result<Vec<Heirs>, FrontierError> {
        let Answer { url, before, record } = answer;
        self.note_named(answer)?;
        let (was, is) = (SlotOwner::of(before), SlotOwner::of(Some(record)));
        let mut heirs = Vec::new();
        if was == is {
            return Ok(heirs);
        }
        if is != SlotOwner::None {
            let slot_owner = self.owner(url)?.filter(|owner| owner.has_canonical_slot).map(|owner| owner.url);
            if let Some(slot_owner) = slot_owner.filter(|slot_owner| Some(slot_owner) != record.target.as_ref()) {
                heirs.push(Heirs::one(self.store.keys.key_of(&slot_owner)?));
            }
        }
        if was != SlotOwner::None {
            // URLs that redirect here would only find the same result.
            heirs.push(self.heirs_of(pages, url, url, true)?);
        }
        Ok(heirs)
    }

    /// A page that names a URL which leads to its page is listed as an alias of both.
    fn note_named(&mut self, Answer { url, before, record }: Answer) -> Result<(), FrontierError> {
        let (was, is) = (before.and_then(canonical_of_alias), canonical_of_alias(record));
        if was == is {
            return Ok(());
        }
        if let Some(was) = was {
            self.entries.delete(member(self.store.keys.key_of(was)?, url));
        }
        if let Some(is) = is {
            self.entries.put(member(self.store.keys.key_of(is)?, url), Vec::new());
        }
        Ok(())
    }

    fn owner(&self, target: UrlKey) -> Result<Option<Owner>, FrontierError> {
        match self.entries.get(&target.to_bytes()) {
            Some(owner) => Ok(owner.and_then(records::from_bytes)),
            None => self.store.owner(target),
        }
    }

    /// Whether its page is delivered under any URL, its own included.
    fn is_delivered(&self, pages: &Pages, target: UrlKey, address: &str) -> Result<bool, FrontierError> {
        Ok(self.owner(target)?.is_some() || pages.has(target, address, is_page)?)
    }

    /// The aliases of a target, including those of this batch, but without `but`. The target itself comes first, if it is
    /// one of them, or was not a page when it was fetched itself: a redirect led to its page later.
    fn heirs_of(&self, pages: &Pages, target: UrlKey, but: UrlKey, only_by_name: bool) -> Result<Heirs, FrontierError> {
        let mut urls = self.entries.urls(self.store, &self.store.targets, members_of(target))?;
        let itself = member(target, target);
        let is_one = match self.entries.get(&itself) {
            Some(change) => change.is_some(),
            None => self.store.get(&self.store.targets, &itself)?.is_some(),
        };
        urls.retain(|alias| *alias != target);
        let was_refused = || Ok(pages.get(target, "")?.is_some_and(|page| page.no_page_since().is_some()));
        if is_one || was_refused()? {
            urls.insert(0, target);
        }
        Ok(Heirs::among(urls, but, only_by_name))
    }

    pub(super) fn write(&self, batch: &mut OwnedWriteBatch) {
        self.entries.write(batch, &self.store.targets);
    }
}

/// Whether the URL that an alias names still leads to the page it is an alias of. If the alias names that page
/// directly, nothing is between.
fn leads_to(pages: &Pages, keys: Keys, named: Option<&str>, target: UrlKey) -> Result<bool, FrontierError> {
    let Some(mut named) = named.map(str::to_owned) else { return Ok(true) };
    for _ in 0..=CHAIN {
        let key = keys.key_of(&named)?;
        if key == target {
            return Ok(true);
        }
        let page = pages.get(key, split(&named)?.0)?;
        match page.as_ref().and_then(named_by_alias) {
            Some(next) => named = next.to_owned(),
            None => return Ok(false),
        }
    }
    Ok(false)
}
