//! Which page can tell whether its host is well.

use super::open::EmbeddedFrontier;
use crate::clock;
use crate::frontier::{FrontierError, PageRecord, Work};

/// Records of a host that are looked at.
const LOOKED_AT: usize = 256;

impl EmbeddedFrontier {
    /// Of a host's first pages, the one that was there last.
    pub(super) fn find_witness(&self, origin: &str, except: &str) -> Result<Option<Work>, FrontierError> {
        let store = &*self.shelf.store()?;
        let mut last: Option<(u64, PageRecord)> = None;
        for entry in store.pages.prefix(self.keys.host(origin).to_be_bytes()).take(LOOKED_AT) {
            let (_, record): (_, PageRecord) = store.read(&store.pages, entry)?;
            let record = record.with_origin(origin);
            match answered_ms(&record).filter(|_| record.url != except) {
                Some(answered) if last.as_ref().is_none_or(|(latest, _)| answered > *latest) => {
                    last = Some((answered, record));
                }
                _ => {}
            }
        }
        Ok(last.map(|(_, page)| Work::new(page.url.clone(), page.kind, page.depth, 0, Some(page))))
    }
}

/// When a page was there, if it was when it was last asked for.
fn answered_ms(page: &PageRecord) -> Option<u64> {
    let alive = page.history().filter(|_| page.kind.is_delivered() && page.state.is_live())?.alive_ms;
    // An attempt has its id before it is made.
    (clock::time_of(&page.event_id)? <= alive).then_some(alive)
}
