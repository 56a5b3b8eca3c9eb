//! An event on its way to its readers. An entry derives data on demand: a reader asks for what it needs and always gets
//! all of that, whatever other readers asked for before.
//!
//! Entries wait in batches and queues that are limited by received bytes only. So derived data is kept only while
//! several readers may share it, and within the limit of the [`Deriver`]. Otherwise each call derives it again for the
//! caller. An encoder therefore asks once, for the most that it needs. The memory reserved for a large page is freed
//! when its last part is dropped. Drop it before waiting for a server.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use parking_lot::Mutex;

use super::{Deriver, Kept, Offset};
use crate::large;
use seine_parse::clean_text::TextOptions;
use seine_parse::decode::Decoded;
use seine_parse::page::PageEvent;
use seine_parse::{self as parse, Derived, PageText};

/// An event and its position.
#[derive(Debug)]
pub struct Entry {
    /// The position after this entry. A reader commits it when it is done with the entry.
    pub end: Offset,
    pub event: Arc<PageEvent>,
    deriver: Arc<Deriver>,
    shared: Mutex<Option<Arc<Shared>>>,
}

/// Set by the first reader that derives the data; None if the data cannot be kept.
type Shared = OnceLock<Option<Kept>>;

impl Entry {
    /// An entry with one reader.
    pub fn new(end: Offset, event: Arc<PageEvent>, deriver: &Arc<Deriver>) -> Entry {
        Entry { end, event, deriver: deriver.clone(), shared: Mutex::new(None) }
    }

    /// An entry that several readers share. `kept` is data derived earlier; without it the first reader that needs data
    /// derives it for all.
    pub fn shared(end: Offset, event: Arc<PageEvent>, kept: Option<Kept>, deriver: &Arc<Deriver>) -> Entry {
        let shared = kept.map_or_else(Shared::new, |kept| Some(kept).into());
        Entry { end, event, deriver: deriver.clone(), shared: Mutex::new(Some(Arc::new(shared))) }
    }

    /// The body with its content codings removed. Does not parse the page.
    pub fn body(&self) -> Bytes {
        match self.kept() {
            Some(facts) => facts.body.clone(),
            None => self.deriver.derive(&self.event, parse::body).body,
        }
    }

    /// The body, its digest and its content type. May skip the markup, so data that comes from markup may be missing.
    pub fn content(&self) -> Arc<Derived> {
        let options = &self.deriver.options;
        let read = |decoded| parse::content(&self.event, decoded, options);
        self.kept().unwrap_or_else(|| Arc::new(self.deriver.derive(&self.event, read)))
    }

    /// Everything derived from a page, except its text.
    pub fn facts(&self) -> Arc<Derived> {
        self.read(|decoded| parse::facts(&self.event, decoded, &self.deriver.options))
    }

    /// Like [`facts`](Entry::facts), for readers that do not need the body. The body may be missing: a large one is
    /// freed at once.
    pub fn without_body(&self) -> Arc<Derived> {
        let mut facts = self.facts();
        if let Some(own) = Arc::get_mut(&mut facts) {
            own.body = Bytes::new();
        }
        facts
    }

    /// The page, for readers that extract its text. Not cached: parsed on every call.
    pub fn text(&self) -> PageText {
        PageText { options: self.text_options(), ..self.facts().into() }
    }

    /// Which main text to extract.
    pub fn text_options(&self) -> TextOptions {
        self.deriver.options.text
    }

    /// Query parameters that are removed from the page's links.
    pub fn drop_parameters(&self) -> &[String] {
        &self.deriver.options.drop_parameters
    }

    /// Stops sharing. Readers that still have the entry derive data for themselves from now on.
    pub fn forget(&self) {
        *self.shared.lock() = None;
    }

    /// The shared data, or the result of `read`. The result is shared if it can be kept; otherwise only the caller gets
    /// it.
    fn read(&self, read: impl Fn(Decoded) -> Derived) -> Arc<Derived> {
        let mut own = None;
        if let Some(shared) = self.sharing() {
            // Other readers block on this call, so it must not wait. Each reader derives large pages for itself.
            let kept = shared.get_or_init(|| {
                let facts = Arc::new(read(large::decode_small(&self.event, &self.deriver.options)?));
                own = Some(facts.clone());
                self.deriver.keep(&self.event, facts)
            });
            own = kept.as_ref().map(|kept| kept.facts.clone()).or(own);
        }
        own.unwrap_or_else(|| Arc::new(self.deriver.derive(&self.event, read)))
    }

    fn kept(&self) -> Option<Arc<Derived>> {
        Some(self.sharing()?.get()?.as_ref()?.facts.clone())
    }

    fn sharing(&self) -> Option<Arc<Shared>> {
        self.shared.lock().clone()
    }
}
