//! An event on its way to those who read it. It derives itself: whoever has it asks for what he needs, and gets that and
//! no less, whoever asked before him and for what.
//!
//! What was derived is kept with an entry only while several readers may share it, and within its [`Deriver`]'s bounds:
//! entries wait in batches and queues that are bounded by what was received. Beyond that it is made for who asks, and is
//! his alone, so an encoder asks once, for the most that it needs. A large page's room is given back when the last of it
//! is dropped: before anything waits for a server.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use parking_lot::Mutex;

use super::{Deriver, Kept, Position};
use crate::large;
use crate::page::PageEvent;
use crate::parse::clean_text::TextOptions;
use crate::parse::decode::Decoded;
use crate::parse::{self, Derived, PageText};

/// An event in its place.
#[derive(Debug)]
pub struct Entry {
    /// Behind this entry: what a reader commits when it is done with it.
    pub end: Position,
    pub event: Arc<PageEvent>,
    deriver: Arc<Deriver>,
    shared: Mutex<Option<Arc<Shared>>>,
}

/// Filled by whoever derives first; with nothing, when that cannot be kept.
type Shared = OnceLock<Option<Kept>>;

impl Entry {
    /// An entry that one reader has for himself.
    pub fn new(end: Position, event: Arc<PageEvent>, deriver: &Arc<Deriver>) -> Entry {
        Entry { end, event, deriver: deriver.clone(), shared: Mutex::new(None) }
    }

    /// One that several readers get. `kept`: what is derived already; without it the first who needs it derives for all.
    pub fn shared(end: Position, event: Arc<PageEvent>, kept: Option<Kept>, deriver: &Arc<Deriver>) -> Entry {
        let shared = kept.map_or_else(Shared::new, |kept| Some(kept).into());
        Entry { end, event, deriver: deriver.clone(), shared: Mutex::new(Some(Arc::new(shared))) }
    }

    /// The body with its content codings taken off, and no more: the page is not read.
    pub fn body(&self) -> Bytes {
        match self.kept() {
            Some(facts) => facts.body.clone(),
            None => self.deriver.derive(&self.event, parse::body).body,
        }
    }

    /// The body, its digest, and what kind of content it is. Of the markup nothing need be read: what it says may be missing.
    pub fn content(&self) -> Arc<Derived> {
        let options = &self.deriver.options;
        let read = |decoded| parse::content(&self.event, decoded, options);
        self.kept().unwrap_or_else(|| Arc::new(self.deriver.derive(&self.event, read)))
    }

    /// Everything that is derived of a page, but not its text.
    pub fn facts(&self) -> Arc<Derived> {
        self.read(|decoded| parse::facts(&self.event, decoded, &self.deriver.options))
    }

    /// The same for who does not need the body, which may be missing: a large one is given back at once.
    pub fn without_body(&self) -> Arc<Derived> {
        let mut facts = self.facts();
        if let Some(own) = Arc::get_mut(&mut facts) {
            own.body = Bytes::new();
        }
        facts
    }

    /// A page for who reads its text, which nobody shares: it is read for each who asks.
    pub fn text(&self) -> PageText {
        PageText { options: self.text_options(), ..self.facts().into() }
    }

    /// Which main text is wanted.
    pub fn text_options(&self) -> TextOptions {
        self.deriver.options.text
    }

    /// Parameters that its links have no more.
    pub fn drop_parameters(&self) -> &[String] {
        &self.deriver.options.drop_parameters
    }

    /// Whoever has the entry still derives for himself from now on.
    pub(crate) fn forget(&self) {
        *self.shared.lock() = None;
    }

    /// What is kept, or what `read` makes now: for all who share the entry if it can be kept, else for the caller.
    fn read(&self, read: impl Fn(Decoded) -> Derived) -> Arc<Derived> {
        let mut own = None;
        if let Some(shared) = self.sharing() {
            // Others wait for this, so it must not wait for anything: what is large is left to each.
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
