//! Counts the results of the fetches of one pattern, and decides whether it is cool.

use minicbor::{Decode, Encode};

use super::OTHERS;
use super::seen::{News, OfPattern};

/// A pattern becomes cool after about this many fetches with a text seen before, or with no new word.
pub const SAME: u16 = 12;
pub const STALE: u16 = 24;
/// One fetch with new content cancels this many of the first kind, and twice as many of the second.
const OUTWEIGHS: u16 = 6;
/// A pattern counts as a dead end after this many pages that lead to no more URLs.
const LEADS: u8 = 8;

/// One pattern.
#[derive(Debug, Clone, Default, PartialEq, Encode, Decode)]
pub(super) struct PatternStats {
    #[n(0)]
    pub(super) pattern: String,
    #[n(1)]
    pub(super) mark: u32,
    #[n(2)]
    pub(super) fetches: u32,
    /// Fetches with new content.
    #[n(3)]
    pub(super) news: u32,
    /// Fetches with a text seen before, and with no new word, minus those cancelled.
    #[n(4)]
    pub(super) same: u16,
    #[n(5)]
    pub(super) stale: u16,
    /// Fetches since the last new word.
    #[n(6)]
    pub(super) silent: u16,
    #[n(7)]
    pub(super) is_cool: bool,
    /// Fetches of the host since one of the deferred URLs was released.
    #[n(8)]
    pub(super) earned: u16,
    /// The pattern was cool and its deferred URLs are being released.
    #[n(9)]
    pub(super) is_draining: bool,
    /// The words of the pattern's pages.
    #[n(10)]
    pub(super) words: OfPattern,
    /// Above 0: one of the last pages that feed the trap led to more deferred URLs.
    #[cbor(n(11), default)]
    pub(super) leads: u8,
}

impl PatternStats {
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

    /// Counts a known page with a new text.
    pub(super) fn count_again(&mut self, news: &News) {
        match news {
            News::Words(words) if !self.words.add_all(words).is_empty() => {
                self.silent = 0;
                self.bring();
            }
            News::Words(_) | News::None if self.same > 0 => {
                (self.same, self.stale) = (self.same - 1, self.stale.saturating_sub(1));
                self.warm_up();
            }
            News::Words(_) | News::None | News::Same => {}
        }
    }

    /// Tells whether a page that feeds the trap led to more deferred URLs.
    pub(super) fn lead(&mut self, leads_on: bool) {
        self.leads = if leads_on { LEADS } else { self.leads.saturating_sub(1) };
    }

    pub(super) fn bring(&mut self) {
        self.news = self.news.saturating_add(1);
        self.same = self.same.saturating_sub(OUTWEIGHS);
        self.stale = self.stale.saturating_sub(OUTWEIGHS * 2);
        self.warm_up();
    }

    fn warm_up(&mut self) {
        if self.is_cool && self.same < SAME / 2 && self.stale < STALE / 2 {
            (self.is_cool, self.is_draining) = (false, true);
        }
    }

    /// One deferred URL is fetched per this many pages of the host.
    pub(super) fn every(&self) -> u16 {
        self.same + self.stale
    }

    pub(super) fn name(&self) -> &str {
        if self.mark == OTHERS { "URLs without a pattern of their own" } else { &self.pattern }
    }

    pub(super) fn yield_text(&self) -> String {
        format!("{} of {} fetches brought anything new", self.news, self.fetches)
    }

    /// Describes a cool pattern.
    pub(super) fn description(&self) -> String {
        let (name, brought, every) = (self.name(), self.yield_text(), self.every());
        format!("{name} is deferred: {brought}; one URL is fetched per {every} pages of the host")
    }
}
