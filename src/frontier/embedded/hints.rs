//! Hints: pages that wait to be looked at again, of which something else says that they have changed since the last look.

use super::changes::Changes;
use super::records::UrlState;
use crate::frontier::{FrontierError, Hint, PageRecord, WHEN_MET_AGAIN};

impl Changes<'_> {
    /// Notes what is said, and has the page looked at no later than it says; one in flight is looked at anyway. What was never
    /// fetched, waits for another attempt or was looked at since is left alone: so the same hint again changes nothing.
    pub fn add_hint(&mut self, hint: &Hint) -> Result<(), FrontierError> {
        let (url, origin, _) = self.frontier.keys.of(&hint.url)?;
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
        self.pages.insert(url, Some(PageRecord { history: Some(history), ..page }));
        Ok(())
    }
}
