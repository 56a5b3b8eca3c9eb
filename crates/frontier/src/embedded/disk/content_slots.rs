//! Duplicates: pages with the same content or nearly the same main text ([`seine_policies::duplicates`]). The first page
//! with a content has its content slot, and the others are duplicates of it. A page is only compared with pages that have
//! a slot. So two duplicates of one page differ by at most twice the distance, and there are no chains of similar pages.
//!
//! In `copies`, each key begins with a kind. 0 and the beginning of a digest, or 1 and a simhash: the owner of that
//! slot. The same with 2 and a duplicate's key: no value. `near` has the simhashes of the owners in the order of
//! further tables.
//!
//! A slot belongs to a content and not to a URL. When its owner leaves, another page with exactly the same content
//! takes it, and no other page is affected.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use super::store::Store;
use crate::keys::{UrlKey, tagged};
use crate::{FrontierError, PageRecord, Work};
use seine_parse::page::{DuplicateOf, Likeness};
use seine_policies::duplicates::{Content, Table, beginning, distance};

/// Maximum number of simhashes compared per table. If this many are similar, they are from a crawl trap, and a
/// duplicate may be missed.
const COMPARED: usize = 16 << 10;

/// The tables of `near` by their number; the first is `copies` itself.
pub(crate) static TABLES: LazyLock<Vec<Table>> = LazyLock::new(Table::chosen);

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

    pub fn member(self, url: UrlKey) -> Vec<u8> {
        [&[2], &self.key()[..], &url.to_bytes()].concat()
    }

    /// The keys of its duplicates.
    pub fn members(self) -> RangeInclusive<Vec<u8>> {
        self.member(UrlKey::FIRST)..=self.member(UrlKey::LAST)
    }
}

/// The role of a URL among the pages with its content.
#[derive(Default, PartialEq)]
pub(crate) struct ContentRole {
    /// The slots of a page that is first.
    pub slots: Vec<ContentSlot>,
    /// The slot of which it is a duplicate.
    pub shared: Option<ContentSlot>,
}

impl ContentRole {
    pub(crate) fn of(record: Option<&PageRecord>) -> ContentRole {
        let record = record.filter(|record| record.state.is_live());
        let Some((likeness, digest)) = record.and_then(|it| it.likeness.as_ref().zip(it.digest.as_ref())) else {
            return ContentRole::default();
        };
        let digest = beginning(digest);
        match &likeness.of {
            Some(of) => ContentRole { slots: Vec::new(), shared: Some(ContentSlot::shared(of, digest)) },
            None => {
                let simhash = likeness.simhash.map(ContentSlot::Simhash);
                ContentRole { slots: [ContentSlot::Digest(digest)].into_iter().chain(simhash).collect(), shared: None }
            }
        }
    }
}

impl Store {
    pub fn first(&self, slot: ContentSlot) -> Result<Option<UrlKey>, FrontierError> {
        let first = self.get(&self.copies, &slot.key())?;
        first.map(|first| UrlKey::from_bytes(&first).ok_or_else(|| self.unreadable("copies"))).transpose()
    }

    /// Simhashes of slot owners within `within` bits, nearest first.
    pub fn near(&self, simhash: u64, within: u8) -> Result<Vec<u64>, FrontierError> {
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
    pub fn url_of(&self, url: UrlKey) -> Result<Option<String>, FrontierError> {
        Ok(self.page_of(url)?.filter(|page| page.state.is_live()).map(|page| page.url))
    }

    /// Whether it was a duplicate of a page that is gone.
    pub fn is_orphan(&self, work: &Work) -> Result<bool, FrontierError> {
        let (Some(Likeness { of: Some(of), .. }), Some(digest)) = (&work.known.likeness, &work.known.digest) else {
            return Ok(false);
        };
        Ok(self.first(ContentSlot::shared(of, beginning(digest)))?.is_none())
    }

    /// Duplicates of a page, up to `at_most`.
    pub(crate) fn duplicates_of(&self, page: &PageRecord, at_most: usize) -> Result<Vec<String>, FrontierError> {
        let mut duplicates = Vec::new();
        for slot in ContentRole::of(Some(page)).slots {
            for member in self.url_keys(&self.copies, self.copies.range(slot.members()).take(at_most))? {
                duplicates.extend(self.url_of(member)?);
            }
        }
        duplicates.truncate(at_most);
        Ok(duplicates)
    }
}
