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
use std::sync::LazyLock;

use super::changes::Changes;
use super::open::EmbeddedFrontier;
use super::store::Store;
use crate::duplicates::{Content, Table, beginning, distance};
use crate::frontier::keys::UrlKey;
use crate::frontier::{FrontierError, PageRecord, Work};
use crate::page::{DuplicateOf, Likeness};

/// A place that nobody has any more: so many duplicates are looked at at once. Each that is none any more wakes the next.
const HEIRS: usize = 8;
/// Duplicates that are looked through for them.
const LOOKED_THROUGH: usize = 64;
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
enum Place {
    Digest(u64),
    Simhash(u64),
}

impl Place {
    /// Where a duplicate belongs.
    fn shared(of: &DuplicateOf, digest: u64) -> Place {
        of.simhash.map_or(Place::Digest(digest), Place::Simhash)
    }

    fn key(self) -> [u8; 9] {
        match self {
            Place::Digest(digest) => key(0, digest),
            Place::Simhash(simhash) => key(1, simhash),
        }
    }

    /// Where its duplicates are.
    fn members(self) -> Vec<u8> {
        [&[2], &self.key()[..]].concat()
    }

    fn member(self, url: UrlKey) -> Vec<u8> {
        [&self.members()[..], &url.to_bytes()].concat()
    }
}

/// What a URL is among those with its content.
#[derive(PartialEq)]
enum Role {
    None,
    First(Vec<Place>),
    Duplicate(Place),
}

impl Role {
    fn of(record: Option<&PageRecord>) -> Role {
        let Some(record) = record.filter(|record| record.state.is_live()) else { return Role::None };
        let (Some(likeness), Some(digest)) = (&record.likeness, &record.digest) else { return Role::None };
        let digest = beginning(digest);
        match &likeness.of {
            Some(of) => Role::Duplicate(Place::shared(of, digest)),
            None => {
                let simhash = likeness.simhash.map(Place::Simhash);
                Role::First([Some(Place::Digest(digest)), simhash].into_iter().flatten().collect())
            }
        }
    }

    fn places(&self) -> &[Place] {
        match self {
            Role::First(places) => places,
            Role::None | Role::Duplicate(_) => &[],
        }
    }

    fn shared(&self) -> Option<Place> {
        match self {
            Role::Duplicate(place) => Some(*place),
            Role::None | Role::First(_) => None,
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
        let stays = |told: &Told| told.is_first && told.content.has(place);
        if self.contents.lock().get(&key).is_some_and(|told| !stays(told)) {
            return Ok(None);
        }
        store.url_of(key)
    }
}

impl Content {
    fn has(&self, place: Place) -> bool {
        match place {
            Place::Digest(digest) => self.digest == digest,
            Place::Simhash(simhash) => self.simhash == Some(simhash),
        }
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

fn key(first: u8, rest: u64) -> [u8; 9] {
    let mut key = [first; 9];
    key[1..].copy_from_slice(&rest.to_be_bytes());
    key
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
            for entry in keyspace.range(key(prefix, *range.start())..=key(prefix, *range.end())).take(COMPARED) {
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

    /// For an audit. Reads all of them.
    pub(super) fn contents_with_a_place(&self) -> Result<u64, FrontierError> {
        let mut count = 0;
        for entry in self.copies.range(key(0, 0)..=key(0, u64::MAX)) {
            entry.key().map_err(|source| self.failed(source))?;
            count += 1;
        }
        Ok(count)
    }

    /// None for a URL that is not known any more.
    fn url_of(&self, url: UrlKey) -> Result<Option<String>, FrontierError> {
        let Some(host) = self.host(url.host)? else { return Ok(None) };
        Ok(self.page(url, &host.origin)?.filter(|page| page.state.is_live()).map(|page| page.url))
    }

    /// Whether it was a duplicate of one that is not there any more.
    pub(super) fn is_orphan(&self, work: &Work) -> Result<bool, FrontierError> {
        let (Some(Likeness { of: Some(of), .. }), Some(digest)) = (&work.likeness, &work.digest) else {
            return Ok(false);
        };
        Ok(self.first(Place::shared(of, beginning(digest)))?.is_none())
    }

    /// Duplicates of a page, up to `at_most`.
    pub(super) fn duplicates_of(&self, page: &PageRecord, at_most: usize) -> Result<Vec<String>, FrontierError> {
        let mut duplicates = Vec::new();
        for place in Role::of(Some(page)).places() {
            let prefix = place.members();
            for entry in self.copies.prefix(&prefix).take(at_most) {
                let key = entry.key().map_err(|source| self.failed(source))?;
                let member = key.get(prefix.len()..).and_then(UrlKey::from_bytes);
                duplicates.extend(self.url_of(member.ok_or_else(|| self.unreadable("copies"))?)?);
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
    pub(super) fn compare(
        &mut self,
        url: UrlKey,
        before: Option<&PageRecord>,
        record: &PageRecord,
    ) -> Result<bool, FrontierError> {
        let (was, is) = (Role::of(before), Role::of(Some(record)));
        if was == Role::None && is == Role::None {
            return Ok(false);
        }
        let left = was.places().iter().filter(|place| !is.places().contains(place)).copied();
        let left: Vec<Place> = left.chain(was.shared().filter(|place| is.shared() != Some(*place))).collect();
        for place in &left {
            match was.shared() {
                Some(_) => drop(self.copies.insert(place.member(url), None)),
                None if self.first(*place)? == Some(url) => self.put_first(*place, None),
                None => {}
            }
        }
        let mut is_anothers = false;
        for place in is.places() {
            match self.first(*place)? {
                Some(first) if first != url => is_anothers = true,
                _ => self.put_first(*place, Some(url)),
            }
        }
        if let Some(place) = is.shared() {
            self.copies.insert(place.member(url), Some(Vec::new()));
            is_anothers = self.first(place)?.is_none();
        }
        let (counted, counts) = (u64::from(was.shared().is_some()), u64::from(is.shared().is_some()));
        self.totals.duplicates = (self.totals.duplicates + counts).saturating_sub(counted);
        for place in left {
            if self.first(place)?.is_none() {
                self.wake_heirs(place, url)?;
            }
        }
        let is_new = before.is_none_or(|before| before.fetched_ms != record.fetched_ms);
        Ok(is_anothers && is_new && self.frontier.wakes_duplicates)
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
            self.near.extend(others.map(|(number, table)| (key(number, table.permute(simhash)), first.is_some())));
        }
    }

    /// Has [`HEIRS`] duplicates looked at at once, those included that are about to be, where somebody has no duplicates: else they
    /// come at their own time.
    fn wake_heirs(&mut self, place: Place, but: UrlKey) -> Result<(), FrontierError> {
        if !self.frontier.wakes_duplicates {
            return Ok(());
        }
        let prefix = place.members();
        let mut members = Vec::new();
        for entry in self.store.copies.prefix(&prefix).take(LOOKED_THROUGH) {
            let key = entry.key().map_err(|source| self.store.failed(source))?;
            if self.copies.get(&key[..]).is_none_or(Option::is_some) {
                members.push(key.to_vec());
            }
        }
        let added = self.copies.range(prefix.clone()..).take_while(|(key, _)| key.starts_with(&prefix));
        members.extend(added.filter(|(_, value)| value.is_some()).map(|(key, _)| key.clone()));
        members.sort_unstable();
        members.dedup();
        let mut awake = 0;
        for member in members {
            let member = UrlKey::from_bytes(&member[prefix.len()..]).ok_or_else(|| self.store.unreadable("copies"))?;
            if member != but && awake < HEIRS {
                awake += usize::from(self.wake_one(member, |_| true)?);
            }
        }
        Ok(())
    }
}
