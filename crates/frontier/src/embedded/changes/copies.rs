//! Changes of content slots (`disk/content_slots.rs`).

use std::collections::BTreeMap;

use fjall::OwnedWriteBatch;

use super::answer::{Answer, Consequences, Heirs};
use super::entries::Entries;
use crate::FrontierError;
use crate::embedded::disk::content_slots::{ContentRole, ContentSlot, near_keys, owner_bytes};
use crate::embedded::disk::store::{Store, put};
use crate::keys::UrlKey;
use seine_parse::text_sketch::TextSketch;

/// Changes of `copies` and `near`.
pub(super) struct Copies<'a> {
    store: &'a Store,
    entries: Entries,
    near: BTreeMap<[u8; 13], bool>,
    /// See [`crate::FrontierOptions::wakes_duplicates`].
    wakes_duplicates: bool,
    /// The number of live pages that are duplicates, after this batch.
    duplicates: u64,
}

impl<'a> Copies<'a> {
    pub(super) fn new(store: &'a Store, wakes_duplicates: bool, duplicates: u64) -> Copies<'a> {
        Copies { store, entries: Entries::default(), near: BTreeMap::new(), wakes_duplicates, duplicates }
    }

    pub(super) fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// Updates the slots for the new record of a URL. It must be rechecked at once if it is a duplicate of a page that is
    /// gone, or first in a slot that another page has. A fetch that found it unchanged decides nothing about that.
    pub(super) fn compare(&mut self, answer: Answer) -> Result<Consequences, FrontierError> {
        let Answer { url, before, record } = answer;
        let (was, is) = (ContentRole::of(before), ContentRole::of(Some(record)));
        if was == ContentRole::default() && is == ContentRole::default() {
            return Ok(Consequences::default());
        }
        let left = was.slots.iter().filter(|slot| !is.slots.contains(slot)).copied();
        let left: Vec<ContentSlot> = left.chain(was.shared.filter(|slot| is.shared != Some(*slot))).collect();
        for slot in &left {
            match was.shared {
                Some(_) => self.entries.delete(slot.member(url)),
                None if self.first(*slot)? == Some(url) => self.put_first(*slot, None, was.sketch),
                None => {}
            }
        }
        let mut is_anothers = false;
        for slot in &is.slots {
            match self.first(*slot)? {
                Some(first) if first != url => is_anothers = true,
                _ => self.put_first(*slot, Some(url), is.sketch),
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

    /// `sketch`: of the page that takes or leaves the slot.
    fn put_first(&mut self, slot: ContentSlot, first: Option<UrlKey>, sketch: Option<TextSketch>) {
        let sketch = sketch.filter(|_| matches!(slot, ContentSlot::Text(_)));
        match first {
            Some(first) => self.entries.put(slot.key(), owner_bytes(first, sketch.as_ref())),
            None => self.entries.delete(slot.key()),
        }
        if let Some(sketch) = sketch {
            self.near.extend(near_keys(&sketch).map(|key| (key, first.is_some())));
        }
    }

    pub(super) fn write(&self, batch: &mut OwnedWriteBatch) {
        self.entries.write(batch, &self.store.copies);
        for (key, is_there) in &self.near {
            put(batch, &self.store.near, key, is_there.then_some([]));
        }
    }
}
