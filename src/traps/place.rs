//! One pattern of a host: what its fetches brought, and whether it is cool.

use minicbor::{Decode, Encode};

use super::OTHERS;
use super::seen::{News, OfPattern};

/// Fetches in a row, more or less, that brought a text said before, and texts without a new word, that make a pattern cool.
pub const SAME: u16 = 12;
pub const STALE: u16 = 24;
/// One fetch that brings something outweighs so many of the former that did not, and twice as many of the latter.
const OUTWEIGHS: u16 = 6;
/// Pages that lead to nothing more behind which a pattern is believed to lead nowhere.
const LEADS: u8 = 8;

/// One pattern.
#[derive(Debug, Clone, Default, PartialEq, Encode, Decode)]
pub(super) struct Place {
    #[n(0)]
    pub(super) pattern: String,
    #[n(1)]
    pub(super) mark: u32,
    #[n(2)]
    pub(super) fetches: u32,
    /// Of them, those that brought something.
    #[n(3)]
    pub(super) news: u32,
    /// Fetches that brought a text said before, or no new word, less what others outweigh.
    #[n(4)]
    pub(super) same: u16,
    #[n(5)]
    pub(super) stale: u16,
    /// Fetches since the last with new words.
    #[n(6)]
    pub(super) silent: u16,
    #[n(7)]
    pub(super) is_cool: bool,
    /// Fetches of its host since one of its URLs was released.
    #[n(8)]
    pub(super) earned: u16,
    /// It was cool, and what waits is released.
    #[n(9)]
    pub(super) is_draining: bool,
    /// What it said.
    #[n(10)]
    pub(super) words: OfPattern,
    /// More than none: one of its last pages that fed itself led to more that is held.
    #[cbor(n(11), default)]
    pub(super) leads: u8,
}

impl Place {
    pub(super) fn count(&mut self, news: &News) {
        self.fetches = self.fetches.saturating_add(1);
        self.silent = self.silent.saturating_add(1);
        match news {
            News::Words(words) if words.is_empty() || !self.words.add_all(words).is_empty() => {
                self.silent = 0;
                return self.bring();
            }
            News::Same => (self.same, self.stale) = ((self.same + 1).min(2 * SAME), (self.stale + 1).min(2 * STALE)),
            News::Words(_) | News::None => self.stale = (self.stale + 1).min(2 * STALE),
        }
        if self.same >= SAME || self.stale >= STALE {
            (self.is_cool, self.is_draining) = (true, false);
        }
    }

    /// A page of it that fed itself did or did not lead to more that is held.
    pub(super) fn lead(&mut self, leads_on: bool) {
        self.leads = if leads_on { LEADS } else { self.leads.saturating_sub(1) };
    }

    pub(super) fn bring(&mut self) {
        self.news = self.news.saturating_add(1);
        self.same = self.same.saturating_sub(OUTWEIGHS);
        self.stale = self.stale.saturating_sub(OUTWEIGHS * 2);
        if self.is_cool && self.same < SAME / 2 && self.stale < STALE / 2 {
            (self.is_cool, self.is_draining) = (false, true);
        }
    }

    /// One of its URLs is asked for with so many pages of its host.
    pub(super) fn every(&self) -> u16 {
        self.same + self.stale
    }

    pub(super) fn name(&self) -> &str {
        if self.mark == OTHERS { "what has no pattern of its own" } else { &self.pattern }
    }

    pub(super) fn brought(&self) -> String {
        format!("{} fetches brought {} with anything new", self.fetches, self.news)
    }

    /// Of one that is cool.
    pub(super) fn said(&self) -> String {
        let (name, brought, every) = (self.name(), self.brought(), self.every());
        format!("{name} cools down: {brought}; one is asked for with every {every} pages of its host")
    }
}
