//! Counts the results of the fetches of one pattern, and decides whether it is cool.

use minicbor::{Decode, Encode};

use super::OTHERS;
use super::seen::{NewWords, News, OfPattern};

/// A pattern becomes cool after about this many fetches with a text seen before, or with no new word.
pub const SAME: u16 = 12;
pub const STALE: u16 = 24;
/// One fetch with new content cancels this many of the first kind, and twice as many of the second while the pattern is
/// warm, or half as many while it is cool. So a pattern stays warm if one in nine of its fetches brings something, and
/// becomes warm again with one in three.
const OUTWEIGHS: u16 = 4;
/// News on a page of a cool pattern leads on if at least one of this many fetches brought something.
const LEADS_ON_ONE_OF: u32 = 8;
/// A page has new content if at least one of this many of its words is new. An old version of a page has a few.
const NEW_ONE_OF: usize = 24;
/// Words are made up if, after the first fetches and of this many words at least, more than `MADE_UP` percent were not
/// seen before. A real text repeats most of its words: at most 37 percent of the words of source code and manuals were
/// new, and 40 to 60 percent of words that are put together from syllables.
const FIRST: u32 = 24;
const JUDGED_WORDS: u16 = 1024;
const MADE_UP: u32 = 40;
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
    /// The last words, and how many of them were new to the host.
    #[cbor(n(12), default)]
    pub(super) told: u16,
    #[cbor(n(13), default)]
    pub(super) unknown: u16,
}

impl PatternStats {
    /// Returns whether the fetch brought something new.
    pub(super) fn count(&mut self, news: &News) -> bool {
        self.fetches = self.fetches.saturating_add(1);
        self.silent = self.silent.saturating_add(1);
        match news {
            News::Words(new) if self.is_news(new) => {
                self.silent = 0;
                self.bring();
                return true;
            }
            News::Same => (self.same, self.stale) = ((self.same + 1).min(2 * SAME), (self.stale + 1).min(2 * STALE)),
            // The words of many pages have shown it.
            News::Words(_) if self.is_made_up() => self.stale = (self.stale + STALE / 4).min(2 * STALE),
            News::Words(_) | News::None => self.stale = (self.stale + 1).min(2 * STALE),
        }
        if self.same >= SAME || self.stale >= STALE {
            (self.is_cool, self.is_draining) = (true, false);
        }
        false
    }

    fn is_news(&mut self, new: &NewWords) -> bool {
        let NewWords { words, of, has_picture } = new;
        if *of == 0 {
            return true; // not a text
        }
        if self.fetches > FIRST {
            self.told = self.told.saturating_add(*of as u16);
            self.unknown = self.unknown.saturating_add(words.len() as u16);
        }
        if self.told >= JUDGED_WORDS * 2 {
            (self.told, self.unknown) = (self.told / 2, self.unknown / 2);
        }
        let new = self.words.add_all(words).len();
        !self.is_made_up() && (*has_picture || new * NEW_ONE_OF >= *of)
    }

    /// The words of its pages are made up.
    pub(super) fn is_made_up(&self) -> bool {
        self.told >= JUDGED_WORDS && u32::from(self.unknown) * 100 > u32::from(self.told) * MADE_UP
    }

    /// Counts a known page with a new text.
    pub(super) fn count_again(&mut self, news: &News) {
        match news {
            News::Words(new) if self.is_news(new) => {
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
        self.stale = self.stale.saturating_sub(if self.is_cool { OUTWEIGHS / 2 } else { OUTWEIGHS * 2 });
        self.warm_up();
    }

    /// Whether news on one of its pages is reason enough to follow the links of this page.
    pub(super) fn leads_on(&self) -> bool {
        self.news.saturating_mul(LEADS_ON_ONE_OF) >= self.fetches
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
