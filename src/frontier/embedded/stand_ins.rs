//! Pages that name another URL as their canonical one (`canonical: obey`). That URL's own page has the place; as long as it is not
//! there, the first page that names it stands in for it, and the others are its aliases as those that redirect there are.

use super::changes::Changes;
use super::open::EmbeddedFrontier;
use super::shelf::StoreGuard;
use super::targets::{Answer, is_page, member};
use crate::frontier::claims::Told;
use crate::frontier::keys::{UrlKey, split};
use crate::frontier::{FrontierError, PageRecord, PageState};
use crate::page::Withheld;

/// So many aliases are followed from a canonical URL to a page: one may name the next, or redirect there.
const CHAIN: usize = 5;

/// A page that is delivered: under which URL, and which it is by its own.
type Delivered = (String, String);

impl EmbeddedFrontier {
    pub(super) fn claim_place(&self, canonical: &str, by: &str) -> Result<Option<Withheld>, FrontierError> {
        let (key, by_key) = (self.key_of(canonical)?, self.key_of(by)?);
        // Of two that name each other only one can leave: the one that is told later finds the other leaving.
        let _one_at_a_time = self.claiming.lock();
        self.claims.lock().forget(by_key);
        let for_ = (key != by_key).then_some(key);
        let delivered = if for_.is_some() { self.delivered(canonical, by_key)? } else { None };
        let told = if delivered.is_some() { Told::Alias(canonical.to_owned()) } else { Told::Page { for_ } };
        self.claims.lock().tell(by_key, by, told);
        Ok(delivered.map(|(of, target)| Withheld::Alias { of, target }))
    }

    /// The page that another one than `by` has, of the URL that is named or what that leads to: step by step, as each was seen to. That
    /// one was the alias of a page says nothing: what is between may have changed, and all of a circle could go by it.
    fn delivered(&self, canonical: &str, by: UrlKey) -> Result<Option<Delivered>, FrontierError> {
        let store = self.shelf.store()?;
        let mut named = canonical.to_owned();
        for _ in 0..CHAIN {
            let key = self.key_of(&named)?;
            if key == by {
                break;
            }
            let told = self.claims.lock().told(key).cloned();
            let next = match (told, store.page(key, split(&named)?.0)?) {
                (Some(Told::Page { .. }), _) => return Ok(Some((named.clone(), named))),
                (Some(Told::Alias(target)), _) => Some(target),
                (None, Some(page)) if is_page(&page) => return Ok(Some((named.clone(), named))),
                (None, Some(page)) => named_by_alias(&page).map(str::to_owned),
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

    /// Nobody who has the place of `by` itself is looked for: it has its page.
    fn owner_but(&self, store: &StoreGuard, target: UrlKey, by: UrlKey) -> Result<Option<String>, FrontierError> {
        if target == by {
            return Ok(None);
        }
        let claimed = {
            let claims = self.claims.lock();
            claims.won_by_another(target, by).or_else(|| claims.stand_in(target, by)).map(str::to_owned)
        };
        match claimed {
            Some(owner) => Ok(Some(owner)),
            None => self.another(store.owner(target)?, by),
        }
    }
}

/// What a URL is to a page that names it.
#[derive(PartialEq)]
enum Standing<'r> {
    None,
    Page,
    /// It names another itself, or redirects there.
    LeadsTo(&'r str),
}

impl Standing<'_> {
    fn of(record: Option<&PageRecord>) -> Standing<'_> {
        match record {
            Some(record) if is_page(record) => Standing::Page,
            Some(record) => named_by_alias(record).map_or(Standing::None, Standing::LeadsTo),
            None => Standing::None,
        }
    }
}

impl Changes<'_> {
    /// What `record` means for pages that name its URL. Who stands in for it is looked at at once when it has a page now, or leads
    /// elsewhere; and some of those who were told by what it was, when it is that no more.
    pub(super) fn tell_others(&mut self, answer: Answer) -> Result<(), FrontierError> {
        let Answer { url, before, record } = answer;
        self.note_named(answer)?;
        let (was, is) = (Standing::of(before), Standing::of(Some(record)));
        if was == is {
            return Ok(());
        }
        if is != Standing::None {
            let stand_in = self.owner(url)?.filter(|owner| owner.is_stand_in).map(|owner| owner.url);
            if let Some(stand_in) = stand_in.filter(|stand_in| Some(stand_in) != record.target.as_ref()) {
                self.wake_one(self.frontier.key_of(&stand_in)?, |_| true)?;
            }
        }
        if was != Standing::None {
            // What redirects here would only find what was found here.
            self.wake(url, url, PageRecord::is_alias_by_name)?;
        }
        Ok(())
    }

    /// Whether what an alias names leads to the page that it is, as it did when the alias was told so; what names that itself has none
    /// between.
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

    /// Who names a URL that leads to its page, and is not that itself, is among the aliases of both.
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

/// What an alias was seen to name or to redirect to; of what it is one may be further on.
fn named_by_alias(record: &PageRecord) -> Option<&str> {
    record.canonical.as_deref().or(record.target.as_deref()).filter(|_| record.state == PageState::Alias)
}
