//! Hints: pages that wait to be looked at again, of which something else says that they have changed since the last look.

use super::changes::Changes;
use super::records::UrlState;
use crate::frontier::keys::split;
use crate::frontier::{FrontierError, Hint, PageRecord, WHEN_MET_AGAIN};

impl Changes<'_> {
    /// Notes what is said, and has the pages looked at no later than it says; those in flight are looked at anyway. What was never
    /// fetched, waits for another attempt or was looked at since is left alone: so the same hints again change nothing.
    pub fn add_hints(&mut self, hints: &[Hint]) -> Result<(), FrontierError> {
        for hint in hints {
            self.add_hint(hint)?;
        }
        Ok(())
    }

    fn add_hint(&mut self, hint: &Hint) -> Result<(), FrontierError> {
        let (origin, path) = split(&hint.url)?;
        let keys = self.frontier.keys;
        let url = keys.url(keys.host(origin), path);
        let Some(state @ UrlState::Later { due, rank }) = self.state_of(url)? else { return Ok(()) };
        let item = self.queued(url, state)?.filter(|item| item.revisit && item.attempt == 0 && due != WHEN_MET_AGAIN);
        let Some(item) = item else { return Ok(()) };
        let Some(page) = self.page(url, origin)?.filter(|page| page.state.is_there()) else { return Ok(()) };
        let Some(history) = page.history().and_then(|history| history.after_hint(hint.changed_ms)) else {
            return Ok(());
        };
        self.host(url.host, origin)?;
        if hint.due < due && !self.is_in_flight(url) {
            self.dequeue(url, state);
            self.enqueue_later(url, hint.due, rank, &item);
        }
        self.pages.insert(url, PageRecord { history: Some(history), ..page });
        Ok(())
    }
}
