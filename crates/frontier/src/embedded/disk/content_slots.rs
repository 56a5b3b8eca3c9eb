//! Duplicates: pages with the same content or nearly the same text ([`seine_policies::duplicates`]). The first page with a
//! content has its content slot, and the others are duplicates of it. A page is only compared with pages that have a
//! slot. So two duplicates of one page differ by at most twice the distance, and there are no chains of similar pages.
//!
//! In `copies`, each key begins with a kind:
//! - 0, then the beginning of a digest. The value is the owner of this slot.
//! - 3, then the id of a sketch. The value is the owner of this slot, and the sketch without its bands.
//! - 2, then the key of a slot and the key of a URL: the URL is a duplicate in this slot. No value.
//! - 1, then a simhash of 0.2.0. No page is compared with these, and each leaves with the next fetch of its page.
//!
//! `near` has the bands of the owners' sketches, each with the sketch's id.
//!
//! A slot belongs to a content and not to a URL. When its owner leaves, another page with exactly the same content
//! takes it, and no other page is affected.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use super::store::Store;
use crate::keys::{UrlKey, tagged};
use crate::{FrontierError, PageRecord, Work};
use seine_parse::page::{DuplicateOf, Likeness};
use seine_parse::text_sketch::{BANDS, BodySketch, METHOD, TextSketch};
use seine_policies::duplicates::{Content, beginning, distance};

/// Maximum number of sketches compared per band. If this many have the same title and similar texts, they are from a
/// crawl trap, and a duplicate may be missed.
const COMPARED: usize = 256;
/// The note with the method by which `near` was written. 0.2.0 had none.
const METHOD_NOTE: &str = "near";

/// A content slot: the key of equal or similar contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentSlot {
    Digest(u64),
    /// The id of a sketch.
    Text(u64),
    /// Of a page that 0.2.0 fetched last.
    Simhash(u64),
}

impl ContentSlot {
    /// The slot that a duplicate belongs to.
    fn shared(of: &DuplicateOf, digest: u64) -> ContentSlot {
        match (of.text, of.simhash) {
            (Some(text), _) => ContentSlot::Text(text),
            (None, Some(simhash)) => ContentSlot::Simhash(simhash),
            (None, None) => ContentSlot::Digest(digest),
        }
    }

    pub fn is_of(self, content: &Content) -> bool {
        match self {
            ContentSlot::Digest(digest) => content.digest == digest,
            ContentSlot::Text(text) => content.sketch.is_some_and(|sketch| sketch.id() == text),
            ContentSlot::Simhash(_) => false,
        }
    }

    pub fn key(self) -> [u8; 9] {
        match self {
            ContentSlot::Digest(digest) => tagged(0, digest),
            ContentSlot::Simhash(simhash) => tagged(1, simhash),
            ContentSlot::Text(text) => tagged(3, text),
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
    /// The sketch of which it has the slot.
    pub sketch: Option<TextSketch>,
    /// The slot of which it is a duplicate.
    pub shared: Option<ContentSlot>,
}

/// The keys of a sketch in `near`: number and value of a band, then its id.
pub(crate) fn near_keys(sketch: &TextSketch) -> [[u8; 13]; BANDS] {
    let prefixes = near_prefixes(sketch);
    prefixes.map(|prefix| {
        let mut key = [0; 13];
        key[..5].copy_from_slice(&prefix);
        key[5..].copy_from_slice(&sketch.id().to_be_bytes());
        key
    })
}

fn near_prefixes(sketch: &TextSketch) -> [[u8; 5]; BANDS] {
    std::array::from_fn(|band| {
        let [a, b, c, d] = sketch.bands[band].to_be_bytes();
        [band as u8, a, b, c, d]
    })
}

/// The value of a sketch's slot.
pub(crate) fn owner_bytes(owner: UrlKey, sketch: Option<&TextSketch>) -> Vec<u8> {
    let mut value = owner.to_bytes().to_vec();
    value.extend(sketch.into_iter().flat_map(|sketch| sketch.body.to_bytes()));
    value
}

impl ContentRole {
    pub(crate) fn of(record: Option<&PageRecord>) -> ContentRole {
        let record = record.filter(|record| record.state.is_live());
        let Some((likeness, digest)) = record.and_then(|it| it.likeness.as_ref().zip(it.digest.as_ref())) else {
            return ContentRole::default();
        };
        let digest = beginning(digest);
        match &likeness.of {
            Some(of) => ContentRole { shared: Some(ContentSlot::shared(of, digest)), ..ContentRole::default() },
            None => {
                let text = likeness.sketch.map(|sketch| ContentSlot::Text(sketch.id()));
                let text = text.or(likeness.simhash.map(ContentSlot::Simhash));
                let slots = [ContentSlot::Digest(digest)].into_iter().chain(text).collect();
                ContentRole { slots, sketch: likeness.sketch, shared: None }
            }
        }
    }
}

impl Store {
    /// Empties `near` if it was written by another method of comparison. The slots in `copies` leave with the next fetch
    /// of their pages.
    pub(crate) fn clear_old_bands(&self) -> Result<(), FrontierError> {
        let now = METHOD.to_string();
        if self.note_bytes(METHOD_NOTE)?.is_some_and(|method| method == now.as_bytes()) {
            return Ok(());
        }
        self.near.clear().map_err(|source| self.failed(source))?;
        self.notes.insert(METHOD_NOTE, now).map_err(|source| self.failed(source))
    }

    pub fn first(&self, slot: ContentSlot) -> Result<Option<UrlKey>, FrontierError> {
        let first = self.get(&self.copies, &slot.key())?;
        first.map(|first| UrlKey::from_bytes(&first).ok_or_else(|| self.unreadable("copies"))).transpose()
    }

    /// Distances and ids of slot owners' sketches within `within`, nearest first.
    pub fn near(&self, sketch: &TextSketch, within: u8) -> Result<Vec<(u8, u64)>, FrontierError> {
        let mut ids = BTreeSet::new();
        for prefix in near_prefixes(sketch) {
            for entry in self.near.prefix(prefix).take(COMPARED) {
                let key = entry.key().map_err(|source| self.failed(source))?;
                let id = key.last_chunk().map(|id| u64::from_be_bytes(*id));
                ids.insert(id.ok_or_else(|| self.unreadable(self.near.name()))?);
            }
        }
        let mut found = Vec::new();
        for id in ids {
            let Some(owner) = self.get(&self.copies, &ContentSlot::Text(id).key())? else { continue };
            let other = owner.get(16..).and_then(BodySketch::from_bytes);
            let other = other.ok_or_else(|| self.unreadable(self.copies.name()))?;
            found.extend(
                distance(&sketch.body, &other).filter(|distance| *distance <= within).map(|distance| (distance, id)),
            );
        }
        found.sort_unstable();
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
