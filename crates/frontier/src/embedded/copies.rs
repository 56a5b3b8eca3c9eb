//! Duplicates: pages with the same content or nearly the same main text ([`seine_policies::duplicates`]). The first page with a
//! content has its content slot, and the others are duplicates of it. A page is only compared with pages that have a
//! slot. So two duplicates of one page differ by at most twice the distance, and there are no chains of similar pages.
//!
//! In `copies`, each key begins with a kind. 0 and the beginning of a digest, or 1 and a simhash: the owner of that
//! slot. The same with 2 and a duplicate's key: no value. `near` has the simhashes of the owners in the order of
//! further tables.
//!
//! A slot belongs to a content and not to a URL. When its owner leaves, another page with exactly the same content
//! takes it, and no other page is affected.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use fjall::OwnedWriteBatch;

use super::answer::{Answer, Consequences, Heirs};
use super::entries::Entries;
use super::store::{Store, put};
use crate::keys::{UrlKey, tagged};
use crate::{FrontierError, PageRecord, Work};
use seine_parse::page::{DuplicateOf, Likeness};
use seine_policies::duplicates::{Content, Table, beginning, distance};

/// Maximum number of simhashes compared per table. If this many are similar, they are from a crawl trap, and a
/// duplicate may be missed.
const COMPARED: usize = 16 << 10;

static TABLES: LazyLock<Vec<Table>> = LazyLock::new(Table::chosen);

/// A content slot: the key of equal or similar contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentSlot {
    Digest(u64),
    Simhash(u64),
}

impl ContentSlot {
    /// The slot that a duplicate belongs to.
    fn shared(of: &DuplicateOf, digest: u64) -> ContentSlot {
        of.simhash.map_or(ContentSlot::Digest(digest), ContentSlot::Simhash)
    }

    pub fn is_of(self, content: &Content) -> bool {
        match self {
            ContentSlot::Digest(digest) => content.digest == digest,
            ContentSlot::Simhash(simhash) => content.simhash == Some(simhash),
        }
    }

    pub fn key(self) -> [u8; 9] {
        match self {
            ContentSlot::Digest(digest) => tagged(0, digest),
            ContentSlot::Simhash(simhash) => tagged(1, simhash),
        }
    }

    fn member(self, url: UrlKey) -> Vec<u8> {
        [&[2], &self.key()[..], &url.to_bytes()].concat()
    }

    /// The keys of its duplicates.
    fn members(self) -> RangeInclusive<Vec<u8>> {
        self.member(UrlKey::FIRST)..=self.member(UrlKey::LAST)
    }
}

/// The role of a URL among the pages with its content.
#[derive(Default, PartialEq)]
struct Role {
    /// The slots of a page that is first.
    slots: Vec<ContentSlot>,
    /// The slot of which it is a duplicate.
    shared: Option<ContentSlot>,
}

impl Role {
    fn of(record: Option<&PageRecord>) -> Role {
        let record = record.filter(|record| record.state.is_live());
        let Some((likeness, digest)) = record.and_then(|it| it.likeness.as_ref().zip(it.digest.as_ref())) else {
            return Role::default();
        };
        let digest = beginning(digest);
        match &likeness.of {
            Some(of) => Role { slots: Vec::new(), shared: Some(ContentSlot::shared(of, digest)) },
            None => {
                let simhash = likeness.simhash.map(ContentSlot::Simhash);
                Role { slots: [ContentSlot::Digest(digest)].into_iter().chain(simhash).collect(), shared: None }
            }
        }
    }
}

impl Store {
    pub(super) fn first(&self, slot: ContentSlot) -> Result<Option<UrlKey>, FrontierError> {
        let first = self.get(&self.copies, &slot.key())?;
        first.map(|first| UrlKey::from_bytes(&first).ok_or_else(|| self.unreadable("copies"))).transpose()
    }

    /// Simhashes of slot owners within `within` bits, nearest first.
    pub(super) fn near(&self, simhash: u64, within: u8) -> Result<Vec<u64>, FrontierError> {
        let mut found = Vec::new();
        for (number, table) in (0_u8..).zip(&*TABLES) {
            // The order of the first table is that of the simhashes themselves.
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

    /// None for a URL that is no longer known.
    pub(super) fn url_of(&self, url: UrlKey) -> Result<Option<String>, FrontierError> {
        Ok(self.page_of(url)?.filter(|page| page.state.is_live()).map(|page| page.url))
    }

    /// Whether it was a duplicate of a page that is gone.
    pub(super) fn is_orphan(&self, work: &Work) -> Result<bool, FrontierError> {
        let (Some(Likeness { of: Some(of), .. }), Some(digest)) = (&work.known.likeness, &work.known.digest) else {
            return Ok(false);
        };
        Ok(self.first(ContentSlot::shared(of, beginning(digest)))?.is_none())
    }

    /// Duplicates of a page, up to `at_most`.
    pub(super) fn duplicates_of(&self, page: &PageRecord, at_most: usize) -> Result<Vec<String>, FrontierError> {
        let mut duplicates = Vec::new();
        for slot in Role::of(Some(page)).slots {
            for member in self.url_keys(&self.copies, self.copies.range(slot.members()).take(at_most))? {
                duplicates.extend(self.url_of(member)?);
            }
        }
        duplicates.truncate(at_most);
        Ok(duplicates)
    }
}

/// Changes of `copies` and `near`.
pub struct Copies<'a> {
    store: &'a Store,
    entries: Entries,
    near: BTreeMap<[u8; 9], bool>,
    /// See [`crate::FrontierOptions::wakes_duplicates`].
    wakes_duplicates: bool,
    /// The number of live pages that are duplicates, after this batch.
    duplicates: u64,
}

impl<'a> Copies<'a> {
    pub fn new(store: &'a Store, wakes_duplicates: bool, duplicates: u64) -> Copies<'a> {
        Copies { store, entries: Entries::default(), near: BTreeMap::new(), wakes_duplicates, duplicates }
    }

    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// Updates the slots for the new record of a URL. It must be rechecked at once if it is a duplicate of a page that is
    /// gone, or first in a slot that another page has. A fetch that found it unchanged decides nothing about that.
    pub fn compare(&mut self, answer: Answer) -> Result<Consequences, FrontierError> {
        let Answer { url, before, record } = answer;
        let (was, is) = (Role::of(before), Role::of(Some(record)));
        if was == Role::default() && is == Role::default() {
            return Ok(Consequences::default());
        }
        let left = was.slots.iter().filter(|slot| !is.slots.contains(slot)).copied();
        let left: Vec<ContentSlot> = left.chain(was.shared.filter(|slot| is.shared != Some(*slot))).collect();
        for slot in &left {
            match was.shared {
                Some(_) => self.entries.delete(slot.member(url)),
                None if self.first(*slot)? == Some(url) => self.put_first(*slot, None),
                None => {}
            }
        }
        let mut is_anothers = false;
        for slot in &is.slots {
            match self.first(*slot)? {
                Some(first) if first != url => is_anothers = true,
                _ => self.put_first(*slot, Some(url)),
            }
        }
        if let Some(slot) = is.shared {
            self.entries.put(slot.member(url), Vec::new());
            is_anothers = self.first(slot)?.is_none();
        }
        let (counted, counts) = (u64::from(was.shared.is_some()), u64::from(is.shared.is_some()));
        self.duplicates = (self.duplicates + counts).saturating_sub(counted);
        let is_rechecked = is_anothers && answer.is_new() && self.wakes_duplicates;
        Ok(Consequences { is_rechecked, heirs: self.heirs_of(left, url)? })
    }

    /// Some duplicates of each slot that has no owner. If no destination skips duplicates, they are rechecked when they
    /// are due.
    fn heirs_of(&self, left: Vec<ContentSlot>, but: UrlKey) -> Result<Vec<Heirs>, FrontierError> {
        let mut heirs = Vec::new();
        for slot in left {
            if self.wakes_duplicates && self.first(slot)?.is_none() {
                let duplicates = self.entries.urls(self.store, &self.store.copies, slot.members())?;
                heirs.push(Heirs::among(duplicates, but, false));
            }
        }
        Ok(heirs)
    }

    /// The owner of a slot, including this batch.
    fn first(&self, slot: ContentSlot) -> Result<Option<UrlKey>, FrontierError> {
        match self.entries.get(&slot.key()) {
            Some(first) => Ok(first.and_then(UrlKey::from_bytes)),
            None => self.store.first(slot),
        }
    }

    fn put_first(&mut self, slot: ContentSlot, first: Option<UrlKey>) {
        match first {
            Some(first) => self.entries.put(slot.key(), first.to_bytes().to_vec()),
            None => self.entries.delete(slot.key()),
        }
        if let ContentSlot::Simhash(simhash) = slot {
            let others = (0_u8..).zip(&*TABLES).skip(1);
            self.near.extend(others.map(|(number, table)| (tagged(number, table.permute(simhash)), first.is_some())));
        }
    }

    pub fn write(&self, batch: &mut OwnedWriteBatch) {
        self.entries.write(batch, &self.store.copies);
        for (key, is_there) in &self.near {
            put(batch, &self.store.near, key, is_there.then_some([]));
        }
    }
}
