//! Reservations of content slots, in memory, until the store has the verdict (`disk/content_slots.rs`).

use std::collections::HashMap;
use std::sync::Arc;

use locks::Mutex;

use crate::FrontierError;
use crate::embedded::disk::content_slots::ContentSlot;
use crate::embedded::disk::reopenable_store::ReopenableStore;
use crate::embedded::disk::store::Store;
use crate::keys::UrlKey;
use seine_parse::page::DuplicateOf;
use seine_policies::duplicates::Content;

/// Decisions for workers, until the verdict on the event that says so.
type Contents = HashMap<UrlKey, ContentDecision>;

struct ContentDecision {
    url: String,
    content: Content,
    is_first: bool,
}

/// Which fetched pages are first with their content. The lock is held only briefly, and no other is taken in it.
pub(crate) struct ContentReservations {
    store_handle: Arc<ReopenableStore>,
    decided: Mutex<Contents>,
}

impl ContentReservations {
    pub(crate) fn new(store_handle: Arc<ReopenableStore>) -> ContentReservations {
        ContentReservations { store_handle, decided: Mutex::default() }
    }

    /// No lock is held while the store is read. A concurrent call sees this page as the first. An event validated
    /// meanwhile was in the store before it left memory. If two pages still become first, the validator has one of them
    /// rechecked.
    pub(crate) fn reserve(
        &self,
        content: Content,
        within: u8,
        (by, key): (&str, UrlKey),
    ) -> Result<Option<DuplicateOf>, FrontierError> {
        let nearest_decided = {
            let mut contents = self.decided.lock();
            contents.remove(&key);
            let nearest_decided = nearest(&contents, &content, within);
            contents.insert(key, ContentDecision { url: by.to_owned(), content, is_first: nearest_decided.is_none() });
            nearest_decided
        };
        let known = self.known_copy(&content, within, key);
        let mut contents = self.decided.lock();
        match &known {
            Err(_) => drop(contents.remove(&key)),
            Ok(Some(_)) => drop(contents.insert(key, ContentDecision { url: by.to_owned(), content, is_first: false })),
            Ok(None) => {}
        }
        Ok(known?.or(nearest_decided))
    }

    fn known_copy(&self, content: &Content, within: u8, by: UrlKey) -> Result<Option<DuplicateOf>, FrontierError> {
        let store = &*self.store_handle.store()?;
        if let Some(url) = self.first_but(store, ContentSlot::Digest(content.digest), by)? {
            return Ok(Some(DuplicateOf { url, ..DuplicateOf::default() }));
        }
        let Some(sketch) = content.sketch.filter(|_| within > 0) else { return Ok(None) };
        for (distance, other) in store.near(&sketch, within)? {
            if let Some(url) = self.first_but(store, ContentSlot::Text(other), by)? {
                return Ok(Some(DuplicateOf { url, distance, text: Some(other), ..DuplicateOf::default() }));
            }
        }
        Ok(None)
    }

    /// The owner of a slot, unless it is `by` or about to leave.
    fn first_but(&self, store: &Store, slot: ContentSlot, by: UrlKey) -> Result<Option<String>, FrontierError> {
        let Some(key) = store.first(slot)?.filter(|first| *first != by) else { return Ok(None) };
        let stays = |decision: &ContentDecision| decision.is_first && slot.is_of(&decision.content);
        if self.decided.lock().get(&key).is_some_and(|decision| !stays(decision)) {
            return Ok(None);
        }
        store.url_of(key)
    }

    /// Drops the decision about a URL.
    pub(crate) fn give_up(&self, url: UrlKey) {
        self.decided.lock().remove(&url);
    }
}

/// Among the pages decided to be first: the one with the same content, otherwise the nearest.
fn nearest(contents: &Contents, content: &Content, within: u8) -> Option<DuplicateOf> {
    let judged = contents.values().filter(|decision| decision.is_first).filter_map(|decision| {
        if decision.content.digest == content.digest {
            return Some(DuplicateOf { url: decision.url.clone(), ..DuplicateOf::default() });
        }
        let distance = decision.content.distance(content).filter(|distance| within > 0 && *distance <= within)?;
        let text = decision.content.sketch.map(|sketch| sketch.id());
        Some(DuplicateOf { url: decision.url.clone(), distance, text, ..DuplicateOf::default() })
    });
    judged.min_by_key(|of| (of.is_near(), of.distance))
}
