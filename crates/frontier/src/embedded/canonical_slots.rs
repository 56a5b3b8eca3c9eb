//! Canonical slots: pages that name another URL as canonical (`canonical: obey`). The page of the canonical URL itself
//! has the slot. While there is none, the first page that names the URL has it, and the others are aliases of it, like
//! URLs that redirect there.

use std::time::Duration;

use super::changes::Changes;
use super::reservations::Reservations;
use super::shelf::StoreGuard;
use super::targets::{Answer, is_page, member};
use crate::decisions::AliasDecision;
use crate::keys::{UrlKey, split};
use crate::{FrontierError, PageRecord, PageState};
use seine_parse::page::{EpochMs, Withheld};

/// Maximum number of steps from a canonical URL to its page, because an alias may name or redirect to another.
const CHAIN: usize = 5;

/// A delivered page: the URL of its delivery, and its own URL.
type Delivered = (String, String);

impl Reservations {
    pub(super) fn reserve_canonical_slot(
        &self,
        canonical: &str,
        (by, by_key): (&str, UrlKey),
        leaves_after: Option<Duration>,
    ) -> Result<Option<Withheld>, FrontierError> {
        let key = self.key_of(canonical)?;
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
        let store = self.shelf.store()?;
        let mut named = canonical.to_owned();
        for _ in 0..CHAIN {
            let key = self.key_of(&named)?;
            if key == by {
                break;
            }
            let decision = self.decisions.lock().decision(key).cloned();
            let next = match (decision, store.page(key, split(&named)?.0)?) {
                (Some(AliasDecision::Page { .. }), _) => return Ok(Some((named.clone(), named))),
                (Some(AliasDecision::Alias(target)), _) if leaves_after.is_none() => Some(target),
                // Another worker has just found where it leads. That counts if it has led there before.
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
            if let Some(of) = self.owner_but(&store, self.key_of(&target)?, by)? {
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
}

/// Whether it has a page under its own URL that destinations get. A canonical URL that asks not to be indexed has none: the pages
/// that name it do not ask so.
pub(super) fn is_delivered(record: &PageRecord) -> bool {
    is_page(record) && record.state.is_live()
}

/// Whether an alias has led to its target for long enough. A redirect may be a mistake of an hour, and a delivered page does
/// not leave for it before.
fn is_confirmed(alias: &PageRecord, leaves_after: Option<Duration>) -> bool {
    let has_led_for = |since: EpochMs| Duration::from_millis(alias.fetched_ms.saturating_sub(since));
    alias.is_alias_by_name()
        || leaves_after.is_none_or(|after| alias.refused_since.is_none_or(|since| has_led_for(since) >= after))
}

/// What a URL is for a page that names it.
#[derive(PartialEq)]
enum Standing<'r> {
    None,
    Page,
    /// It names another URL, or redirects there.
    LeadsTo(&'r str),
}

impl Standing<'_> {
    fn of(record: Option<&PageRecord>) -> Standing<'_> {
        match record {
            Some(record) if is_delivered(record) => Standing::Page,
            Some(record) => named_by_alias(record).map_or(Standing::None, Standing::LeadsTo),
            None => Standing::None,
        }
    }
}

impl Changes<'_> {
    /// Effects of `record` on pages that name its URL. The page with its canonical slot is rechecked at once if the URL
    /// now has a page, or leads elsewhere. If the URL stops being what it was, some of its aliases are rechecked.
    pub(super) fn tell_others(&mut self, answer: Answer) -> Result<(), FrontierError> {
        let Answer { url, before, record } = answer;
        self.note_named(answer)?;
        let (was, is) = (Standing::of(before), Standing::of(Some(record)));
        if was == is {
            return Ok(());
        }
        if is != Standing::None {
            let stand_in = self.owner(url)?.filter(|owner| owner.has_canonical_slot).map(|owner| owner.url);
            if let Some(stand_in) = stand_in.filter(|stand_in| Some(stand_in) != record.target.as_ref()) {
                self.wake_one(self.frontier.key_of(&stand_in)?, |_| true)?;
            }
        }
        if was != Standing::None {
            // URLs that redirect here would only find the same result.
            self.wake(url, url, PageRecord::is_alias_by_name)?;
        }
        Ok(())
    }

    /// Whether the URL that an alias names still leads to the page it is an alias of. If the alias names that page
    /// directly, nothing is between.
    pub(super) fn leads_to(&self, named: Option<&str>, target: UrlKey) -> Result<bool, FrontierError> {
        let Some(mut named) = named.map(str::to_owned) else { return Ok(true) };
        for _ in 0..=CHAIN {
            let key = self.frontier.key_of(&named)?;
            if key == target {
                return Ok(true);
            }
            let page = self.page(key, split(&named)?.0)?;
            match page.as_ref().and_then(named_by_alias) {
                Some(next) => named = next.to_owned(),
                None => return Ok(false),
            }
        }
        Ok(false)
    }

    /// A page that names a URL which leads to its page is listed as an alias of both.
    fn note_named(&mut self, Answer { url, before, record }: Answer) -> Result<(), FrontierError> {
        let named = |record: &PageRecord| record.canonical.clone().filter(|_| record.state == PageState::Alias);
        let (was, is) = (before.and_then(named), named(record));
        if was == is {
            return Ok(());
        }
        if let Some(was) = was {
            self.targets.insert(member(self.frontier.key_of(&was)?, url), None);
        }
        if let Some(is) = is {
            self.targets.insert(member(self.frontier.key_of(&is)?, url), Some(Vec::new()));
        }
        Ok(())
    }
}

/// Whether it is an alias, and so leads to another URL.
pub(super) fn leads_on(record: &PageRecord) -> bool {
    named_by_alias(record).is_some()
}

/// What an alias names or redirects to; its page may be further on.
fn named_by_alias(record: &PageRecord) -> Option<&str> {
    record.canonical.as_deref().or(record.target.as_deref()).filter(|_| record.state == PageState::Alias)
}
