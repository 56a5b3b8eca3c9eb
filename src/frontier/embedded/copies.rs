//! Pages with the same content, and with nearly the same main text ([`crate::duplicates`]). The first with a content has its place,
//! and the others are duplicates of it. Only first ones are compared with: so of duplicates of one page no two are further apart than
//! twice the distance, and no chain of near ones leads anywhere.
//!
//! In `copies`, one byte before each key: under the beginning of a digest (0), or a simhash (1), whose place it is; under both again (2) and
//! a duplicate's key nothing. In `near` the first ones' simhashes stand as the other tables have them.
//!
//! A place belongs to a content and not to a URL: when who has it leaves, another with the very same content takes it, and nobody else
//! need know.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use super::changes::Changes;
use super::open::EmbeddedFrontier;
use super::store::Store;
use super::targets::Answer;
use crate::duplicates::{Content, Table, beginning, distance};
use crate::frontier::keys::{UrlKey, tagged};
use crate::frontier::{FrontierError, PageRecord, Work};
use crate::page::{DuplicateOf, Likeness};

/// Simhashes compared in one table: one that so many have in common is a trap's, and a copy missed.
const COMPARED: usize = 16 << 10;

static TABLES: LazyLock<Vec<Table>> = LazyLock::new(Table::chosen);

/// What workers were told, until the verdict on the event that says so.
pub(super) type Contents = HashMap<UrlKey, Told>;

pub(super) struct Told {
    url: String,
    content: Content,
    is_first: bool,
}

/// What is the same or near, as a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Digest(u64),
    Simhash(u64),
}

impl Place {
    /// Where a duplicate belongs.
    fn shared(of: &DuplicateOf, digest: u64) -> Place {
        of.simhash.map_or(Place::Digest(digest), Place::Simhash)
    }

    fn is_of(self, content: &Content) -> bool {
        match self {
            Place::Digest(digest) => content.digest == digest,
            Place::Simhash(simhash) => content.simhash == Some(simhash),
        }
    }

    pub fn key(self) -> [u8; 9] {
        match self {
            Place::Digest(digest) => tagged(0, digest),
            Place::Simhash(simhash) => tagged(1, simhash),
        }
    }

    fn member(self, url: UrlKey) -> Vec<u8> {
        [&[2], &self.key()[..], &url.to_bytes()].concat()
    }

    /// Where its duplicates are.
    fn members(self) -> RangeInclusive<Vec<u8>> {
        self.member(UrlKey::FIRST)..=self.member(UrlKey::LAST)
    }
}

/// What a URL is among those with its content.
#[derive(Default, PartialEq)]
struct Role {
    /// Those that a first one has.
    places: Vec<Place>,
    /// That of which it is a duplicate.
    shared: Option<Place>,
}

impl Role {
    fn of(record: Option<&PageRecord>) -> Role {
        let record = record.filter(|record| record.state.is_live());
        let Some((likeness, digest)) = record.and_then(|it| it.likeness.as_ref().zip(it.digest.as_ref())) else {
            return Role::default();
        };
        let digest = beginning(digest);
        match &likeness.of {
            Some(of) => Role { places: Vec::new(), shared: Some(Place::shared(of, digest)) },
            None => {
                let simhash = likeness.simhash.map(Place::Simhash);
                Role { places: [Place::Digest(digest)].into_iter().chain(simhash).collect(), shared: None }
            }
        }
    }
}

impl EmbeddedFrontier {
    /// Nothing is held while the store is asked. Who asks at the same time sees this one as a first; what was validated meanwhile
    /// was in the store before it left memory. Of what goes by all the same, the validator sees to it that somebody looks again.
    pub(super) fn claim_content(
        &self,
        content: Content,
        within: u8,
        by: &str,
    ) -> Result<Option<DuplicateOf>, FrontierError> {
        let key = self.key_of(by)?;
        let claimed = {
            let mut contents = self.contents.lock();
            contents.remove(&key);
            let claimed = nearest(&contents, &content, within);
            contents.insert(key, Told { url: by.to_owned(), content, is_first: claimed.is_none() });
            claimed
        };
        let known = self.known_copy(&content, within, key);
        let mut contents = self.contents.lock();
        match &known {
            Err(_) => drop(contents.remove(&key)),
            Ok(Some(_)) => drop(contents.insert(key, Told { url: by.to_owned(), content, is_first: false })),
            Ok(None) => {}
        }
        Ok(known?.or(claimed))
    }

    fn known_copy(&self, content: &Content, within: u8, by: UrlKey) -> Result<Option<DuplicateOf>, FrontierError> {
        let store = &*self.shelf.store()?;
        if let Some(url) = self.first_but(store, Place::Digest(content.digest), by)? {
            return Ok(Some(DuplicateOf { url, distance: 0, simhash: None }));
        }
        let Some(simhash) = content.simhash.filter(|_| within > 0) else { return Ok(None) };
        for other in store.near(simhash, within)? {
            if let Some(url) = self.first_but(store, Place::Simhash(other), by)? {
                return Ok(Some(DuplicateOf { url, distance: distance(simhash, other), simhash: Some(other) }));
            }
        }
        Ok(None)
    }

    /// Who has a place, if it is not `by`, nor about to leave it.
    fn first_but(&self, store: &Store, place: Place, by: UrlKey) -> Result<Option<String>, FrontierError> {
        let Some(key) = store.first(place)?.filter(|first| *first != by) else { return Ok(None) };
        let stays = |told: &Told| told.is_first && place.is_of(&told.content);
        if self.contents.lock().get(&key).is_some_and(|told| !stays(told)) {
            return Ok(None);
        }
        store.url_of(key)
    }
}

/// Of those told that they are first: the one with the same content, or else the one that is nearest.
fn nearest(contents: &Contents, content: &Content, within: u8) -> Option<DuplicateOf> {
    let judged = contents.values().filter(|told| told.is_first).filter_map(|told| {
        if told.content.digest == content.digest {
            return Some(DuplicateOf { url: told.url.clone(), distance: 0, simhash: None });
        }
        let distance = told.content.distance(content).filter(|distance| within > 0 && *distance <= within)?;
        Some(DuplicateOf { url: told.url.clone(), distance, simhash: told.content.simhash })
    });
    judged.min_by_key(|of| (of.simhash.is_some(), of.distance))
}

impl Store {
    fn first(&self, place: Place) -> Result<Option<UrlKey>, FrontierError> {
        let first = self.get(&self.copies, &place.key())?;
        first.map(|first| UrlKey::from_bytes(&first).ok_or_else(|| self.unreadable("copies"))).transpose()
    }

    /// Simhashes of first ones that differ in `within` bits at most, the nearest first.
    fn near(&self, simhash: u64, within: u8) -> Result<Vec<u64>, FrontierError> {
        let mut found = Vec::new();
        for (number, table) in (0_u8..).zip(&*TABLES) {
            // The first table's order is that of the simhashes themselves.
            let (keyspace, prefix) = if number == 0 { (&self.copies, 1) } else { (&self.near, number) };
            let range = table.range(simhash);
            for entry in keyspace.range(tagged(prefix, *range.start())..=tagged(prefix, *range.end())).take(COMPARED) {
                let key = entry.key().map_err(|source| self.failed(source))?;
                let permuted = key.get(1..).and_then(|rest| rest.first_chunk()).map(|rest| u64::from_be_bytes(*rest));
                let other = table.restore(permuted.ok_or_else(|| self.unreadable(keyspace.name()))?);
                if distance(simhash, other) <= within {
                    found.push(other);
                }
            }
        }
        found.sort_unstable_by_key(|other| (distance(simhash, *other), *other));
        found.dedup();
        Ok(found)
    }

    /// None for a URL that is not known any more.
    fn url_of(&self, url: UrlKey) -> Result<Option<String>, FrontierError> {
        Ok(self.page_of(url)?.filter(|page| page.state.is_live()).map(|page| page.url))
    }

    /// Whether it was a duplicate of one that is not there any more.
    pub(super) fn is_orphan(&self, work: &Work) -> Result<bool, FrontierError> {
        let (Some(Likeness { of: Some(of), .. }), Some(digest)) = (&work.known.likeness, &work.known.digest) else {
            return Ok(false);
        };
        Ok(self.first(Place::shared(of, beginning(digest)))?.is_none())
    }

    /// Duplicates of a page, up to `at_most`.
    pub(super) fn duplicates_of(&self, page: &PageRecord, at_most: usize) -> Result<Vec<String>, FrontierError> {
        let mut duplicates = Vec::new();
        for place in Role::of(Some(page)).places {
            for member in self.url_keys(&self.copies, self.copies.range(place.members()).take(at_most))? {
                duplicates.extend(self.url_of(member)?);
            }
        }
        duplicates.truncate(at_most);
        Ok(duplicates)
    }
}

impl Changes<'_> {
    /// Notes what `record` makes of the URL among those with its content, and what it is no longer. True when it is to be looked at again
    /// at once: it is the duplicate of nobody, or the first in a place that another has. A look that left it as it was has nothing to
    /// say of that.
    pub(super) fn compare(&mut self, answer: Answer) -> Result<bool, FrontierError> {
        let Answer { url, before, record } = answer;
        let (was, is) = (Role::of(before), Role::of(Some(record)));
        if was == Role::default() && is == Role::default() {
            return Ok(false);
        }
        let left = was.places.iter().filter(|place| !is.places.contains(place)).copied();
        let left: Vec<Place> = left.chain(was.shared.filter(|place| is.shared != Some(*place))).collect();
        for place in &left {
            match was.shared {
                Some(_) => drop(self.copies.insert(place.member(url), None)),
                None if self.first(*place)? == Some(url) => self.put_first(*place, None),
                None => {}
            }
        }
        let mut is_anothers = false;
        for place in &is.places {
            match self.first(*place)? {
                Some(first) if first != url => is_anothers = true,
                _ => self.put_first(*place, Some(url)),
            }
        }
        if let Some(place) = is.shared {
            self.copies.insert(place.member(url), Some(Vec::new()));
            is_anothers = self.first(place)?.is_none();
        }
        let (counted, counts) = (u64::from(was.shared.is_some()), u64::from(is.shared.is_some()));
        self.totals.duplicates = (self.totals.duplicates + counts).saturating_sub(counted);
        for place in left {
            // Where nobody goes without duplicates, they come at their own time.
            if self.frontier.wakes_duplicates && self.first(place)?.is_none() {
                let members = self.members(&self.store.copies, &self.copies, place.members())?;
                self.wake_heirs(members, url, |_| true)?;
            }
        }
        Ok(is_anothers && answer.is_new() && self.frontier.wakes_duplicates)
    }

    /// Who has a place, this batch's changes included.
    fn first(&self, place: Place) -> Result<Option<UrlKey>, FrontierError> {
        match self.copies.get(&place.key()[..]) {
            Some(first) => Ok(first.as_deref().and_then(UrlKey::from_bytes)),
            None => self.store.first(place),
        }
    }

    fn put_first(&mut self, place: Place, first: Option<UrlKey>) {
        self.copies.insert(place.key().to_vec(), first.map(|first| first.to_bytes().to_vec()));
        if let Place::Simhash(simhash) = place {
            let others = (0_u8..).zip(&*TABLES).skip(1);
            self.near.extend(others.map(|(number, table)| (tagged(number, table.permute(simhash)), first.is_some())));
        }
    }
}
