//! Totals that are stored with every change.

use minicbor::{Decode, Encode};

use crate::{Harvest, PageRecord, PageState};
use seine_delivery::Offset;

/// The store's totals, written with every change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Encode, Decode)]
pub struct Totals {
    #[n(0)]
    pub cursor: Offset,
    #[n(1)]
    pub next_sequence: u64,
    #[n(2)]
    pub next_host: u64,
    #[n(3)]
    pub work: u64,
    #[n(4)]
    pub first_time: u64,
    #[n(5)]
    pub live: u64,
    #[n(6)]
    pub gone: u64,
    #[n(7)]
    pub refused: u64,
    #[n(8)]
    pub failed: u64,
    #[n(9)]
    pub links_seen: u64,
    #[cbor(n(10), default)]
    pub withheld: u64,
    #[cbor(n(11), default)]
    pub alias: u64,
    /// The part of `live` that are duplicates.
    #[cbor(n(12), default)]
    pub duplicates: u64,
    #[cbor(n(13), default)]
    pub judged: u64,
    #[cbor(n(14), default)]
    pub relevant: u64,
    /// The deferred part of `first_time`.
    #[cbor(n(15), default)]
    pub deferred: u64,
    /// Truncated pages. Older stores have not counted them.
    #[cbor(n(16), default)]
    pub truncated: u64,
    /// Links left out because they lead to new hosts of a domain at its limit.
    #[cbor(n(17), default)]
    pub over_hosts: u64,
    /// The part of `deferred` whose pages exist under another URL. Older stores have not counted them.
    #[cbor(n(18), default)]
    pub deferred_elsewhere: u64,
}

impl Totals {
    pub fn judge(&mut self, harvest: Harvest) {
        self.judged += harvest.judged;
        self.relevant += harvest.relevant;
    }

    /// A page's record changes from `before` to `now`.
    pub(crate) fn count_pages(&mut self, before: Option<&PageRecord>, now: Option<&PageRecord>) {
        if let Some(before) = before {
            self.count_page(before.state, -1);
            self.truncated = self.truncated.saturating_sub(u64::from(before.is_truncated()));
        }
        if let Some(now) = now {
            self.count_page(now.state, 1);
            self.truncated += u64::from(now.is_truncated());
        }
    }

    /// Adds `by` (1 or -1) to the number of pages in `state`.
    fn count_page(&mut self, state: PageState, by: i64) {
        let slot = match state {
            PageState::New | PageState::Unchanged | PageState::Changed => &mut self.live,
            PageState::Gone => &mut self.gone,
            PageState::Refused => &mut self.refused,
            PageState::Failed(_) => &mut self.failed,
            PageState::Withheld => &mut self.withheld,
            PageState::Alias => &mut self.alias,
        };
        *slot = slot.saturating_add_signed(by);
    }
}
