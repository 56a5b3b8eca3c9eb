//! Canonical slots: pages that name another URL as canonical (`canonical: obey`). The page of the canonical URL itself
//! has the slot. While there is none, the first page that names the URL has it, and the others are aliases of it, like
//! URLs that redirect there.

use super::changes::Changes;
use super::targets::{Answer, is_page, member};
use crate::keys::{UrlKey, split};
use crate::{FrontierError, PageRecord, PageState};

/// Maximum number of steps from a canonical URL to its page, because an alias may name or redirect to another.
pub const CHAIN: usize = 5;

/// Whether it has a page under its own URL that destinations get. A canonical URL that asks not to be indexed has none: the pages
/// that name it do not ask so.
pub(super) fn is_delivered(record: &PageRecord) -> bool {
    is_page(record) && record.state.is_live()
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
                self.wake_one(self.memory.keys.key_of(&stand_in)?, |_| true)?;
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
            let key = self.memory.keys.key_of(&named)?;
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
            self.targets.insert(member(self.memory.keys.key_of(&was)?, url), None);
        }
        if let Some(is) = is {
            self.targets.insert(member(self.memory.keys.key_of(&is)?, url), Some(Vec::new()));
        }
        Ok(())
    }
}

/// Whether it is an alias, and so leads to another URL.
pub(super) fn leads_on(record: &PageRecord) -> bool {
    named_by_alias(record).is_some()
}

/// What an alias names or redirects to; its page may be further on.
pub fn named_by_alias(record: &PageRecord) -> Option<&str> {
    record.canonical.as_deref().or(record.target.as_deref()).filter(|_| record.state == PageState::Alias)
}
