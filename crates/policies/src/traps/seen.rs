//! The recent texts of a host: words of the host and of each pattern, and the marks of the last texts. Words are
//! kept in two Bloom filters; when the newer is full, the older is dropped.
//!
//! The host's filters fill up quickly. A calendar would then seem new again with each year. So a pattern has filters of
//! its own, which need little memory for a pattern with few words.

use minicbor::{Decode, Encode};

use super::text::{PageWords, url_words};

/// Bytes of one filter of a host, and of a pattern.
const OF_HOST: usize = 1024;
const OF_PATTERN: usize = 64;
/// Number of texts remembered, four bytes each.
const TEXTS: usize = 256;

#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub(super) struct Seen {
    #[n(0)]
    words: Words<OF_HOST>,
    #[cbor(n(1), with = "minicbor::bytes")]
    texts: Vec<u8>,
    /// Index for the next text.
    #[n(2)]
    at: u16,
}

/// The words of one pattern that were new to its host.
pub(super) type OfPattern = Words<OF_PATTERN>;

#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub(super) struct Words<const BYTES: usize> {
    #[cbor(n(0), with = "minicbor::bytes")]
    now: Vec<u8>,
    #[cbor(n(1), with = "minicbor::bytes")]
    before: Vec<u8>,
    /// Number of bits set in `now`.
    #[n(2)]
    set: u16,
}

/// What is new to the host in a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum News {
    /// These words. Empty if the body is not text: then all of it is new.
    Words(NewWords),
    /// All words are known, but not this text.
    None,
    /// The same text was seen lately.
    Same,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct NewWords {
    pub(super) words: Vec<u32>,
    /// Number of words of the page.
    pub(super) of: usize,
    /// It has a new picture.
    pub(super) has_picture: bool,
}

impl Seen {
    /// Remembers a page. A page without words is identified by `digest`, that of its bytes. Words of its own URL say
    /// nothing: a search repeats what it was asked for.
    pub(super) fn see(&mut self, said: &PageWords, digest: &[u8; 32], path_and_query: &str) -> News {
        let mark = match said.mark {
            0 => u32::from_le_bytes([digest[0], digest[1], digest[2], digest[3]]),
            mark => (mark >> 32) as u32 ^ mark as u32,
        };
        let is_same = self.texts.as_chunks().0.iter().any(|text| u32::from_le_bytes(*text) == mark);
        if !is_same {
            self.texts.resize(TEXTS * 4, 0);
            let at = usize::from(self.at) % TEXTS;
            self.texts[at * 4..at * 4 + 4].copy_from_slice(&mark.to_le_bytes());
            self.at = ((at + 1) % TEXTS) as u16;
        }
        let of_url = url_words(path_and_query);
        let told: Vec<u32> = said.words.iter().copied().filter(|word| of_url.binary_search(word).is_err()).collect();
        let words = self.words.add_all(&told);
        let has_picture = !self.words.add_all(&said.pictures).is_empty();
        match is_same {
            true if !has_picture => News::Same,
            false if words.is_empty() && !has_picture && said.mark != 0 => News::None,
            _ => News::Words(NewWords { words, of: told.len(), has_picture }),
        }
    }
}

impl<const BYTES: usize> Words<BYTES> {
    /// Adds words, and returns those that were in neither filter.
    pub(super) fn add_all(&mut self, words: &[u32]) -> Vec<u32> {
        let new = words.iter().copied().filter(|word| self.add(*word)).collect();
        // Full at a quarter of the bits, so that at most half of the new words go unnoticed.
        if usize::from(self.set) > BYTES * 8 / 4 {
            self.before = std::mem::take(&mut self.now);
            self.set = 0;
        }
        new
    }

    fn add(&mut self, word: u32) -> bool {
        self.now.resize(BYTES, 0);
        let (byte, bit) = (word as usize / 8 % BYTES, 1 << (word % 8));
        let is_set = |filter: &[u8]| filter.get(byte).is_some_and(|byte| byte & bit != 0);
        if is_set(&self.now) {
            return false;
        }
        self.now[byte] |= bit;
        self.set += 1;
        !is_set(&self.before)
    }
}
