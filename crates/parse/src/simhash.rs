//! A text's simhash: 64 bits, of which few differ where texts differ little, and about half where they have nothing in common.
//!
//! Charikar, "Similarity Estimation Techniques from Rounding Algorithms" (STOC 2002); Manku, Jain and Das Sarma, "Detecting
//! Near-Duplicates for Web Crawling" (WWW 2007), to whom texts within 3 bits of 64 are near-duplicates. Two texts differ in
//! 64/π · arccos(c) bits, more or less, where c is the cosine of their features: 1.6 where 3 features of 1000 are others, 9 where a
//! tenth are.
//!
//! Features are the pairs of neighbouring words, and the first word behind nothing; each different pair counts once, however
//! often it is there, so that neither "of the" nor a long list outweighs the rest. Words are those of [`words`](super::words); where
//! they are written without blanks, each character is one. A word's hash is XXH3 (64 bits, seed 0) of its UTF-8, a pair's that
//! of both words' hashes, little-endian, one behind the other. **Records keep simhashes: this must not change**, or every page
//! looks like another one.

use xxhash_rust::xxh3::xxh3_64;

use super::html_text::visible_text;
use super::main_text::main_text;
use super::words::{lower_case, runs};
use super::{Derived, media_type};

/// What is counted together. Of a longer text a pair counts once in each part of so many.
const MAX_PAIRS: usize = 200_000;

/// A main text of less than the fourth part of what a page shows does not tell it from the others of its site: it is a notice below a list.
const MAIN_PART: usize = 4;
/// In fewer pairs of words, what differs is what the page is about.
const MIN_PAIRS: u32 = 32;

/// A text's, and of how much that is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Simhash {
    pub bits: u64,
    /// Different pairs of neighbouring words.
    pairs: u32,
    /// Its page says much more, or may.
    is_of_part: bool,
}

impl Simhash {
    /// The bits, where they tell a page from others.
    pub fn telling(self) -> Option<u64> {
        (self.pairs >= MIN_PAIRS && !self.is_of_part).then_some(self.bits)
    }
}

/// None for a text without a word.
pub fn simhash(text: &str) -> Option<Simhash> {
    let mut features = Features { last: 0, pairs: Vec::new(), count: 0, with_bit: [0; 64] };
    let mut lower = String::new();
    for run in runs(text) {
        lower_case(run, &mut lower);
        each_word(&lower, |word| features.add(word));
    }
    features.simhash()
}

/// Of what a page says: its main text, or all that a reader sees where no block looks like that, as of short pages; of a text
/// that is no HTML, all of it. None for what says nothing, and for what is no text.
///
/// `is_to_tell`: whether it is to tell the page from others ([`Simhash::telling`]), for which all that a reader sees is looked at.
pub fn of_page(page: &Derived, content_type: Option<&str>, is_to_tell: bool) -> Option<Simhash> {
    if page.is_html {
        let text = page.text();
        let main = main_text(&text);
        let simhash_of_main = simhash(&main);
        if simhash_of_main.is_some() && !is_to_tell {
            return simhash_of_main.map(|simhash| Simhash { is_of_part: true, ..simhash });
        }
        let visible = visible_text(&text);
        let is_of_part = main.len() * MAIN_PART < visible.len();
        return simhash_of_main.or_else(|| simhash(&visible)).map(|simhash| Simhash { is_of_part, ..simhash });
    }
    let kind = content_type.map(media_type).and_then(|essence| essence.get(..5));
    kind.filter(|kind| kind.eq_ignore_ascii_case("text/")).and_then(|_| simhash(&page.text()))
}

struct Features {
    /// The last word's hash; 0 before the first.
    last: u64,
    /// Of pairs, to be counted together: once each.
    pairs: Vec<u64>,
    /// How many were counted, and how many of them have each bit.
    count: u32,
    with_bit: [u32; 64],
}

impl Features {
    fn add(&mut self, word: &str) {
        let word = xxh3_64(word.as_bytes());
        let mut pair = [0; 16];
        pair[..8].copy_from_slice(&self.last.to_le_bytes());
        pair[8..].copy_from_slice(&word.to_le_bytes());
        self.last = word;
        self.pairs.push(xxh3_64(&pair));
        if self.pairs.len() == MAX_PAIRS {
            self.count_pairs();
        }
    }

    fn count_pairs(&mut self) {
        self.pairs.sort_unstable();
        self.pairs.dedup();
        self.count += self.pairs.len() as u32;
        // As many as a byte can count: the counters of eight bits stand side by side in a word.
        for pairs in self.pairs.chunks(usize::from(u8::MAX)) {
            let mut counters = [0_u64; 8];
            for pair in pairs {
                let bytes = pair.to_le_bytes();
                counters.iter_mut().zip(bytes).for_each(|(counter, byte)| *counter += SPREAD[usize::from(byte)]);
            }
            let counted = counters.iter().flat_map(|counter| counter.to_le_bytes());
            self.with_bit.iter_mut().zip(counted).for_each(|(all, counted)| *all += u32::from(counted));
        }
        self.pairs.clear();
    }

    /// The bits that more than half of the features have.
    fn simhash(mut self) -> Option<Simhash> {
        self.count_pairs();
        let has = |bit: usize| u64::from(self.with_bit[bit] > self.count / 2) << bit;
        (self.count > 0).then(|| Simhash { bits: (0..64).map(has).sum(), pairs: self.count, is_of_part: false })
    }
}

/// Of each byte its bits, each in a byte of its own.
const SPREAD: [u64; 256] = {
    let mut spread = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut bit = 0;
        while bit < 8 {
            spread[byte] |= (byte as u64 >> bit & 1) << (8 * bit);
            bit += 1;
        }
        byte += 1;
    }
    spread
};

/// A run of letters is a word, unless its script is written without blanks.
pub fn each_word(run: &str, mut each: impl FnMut(&str)) {
    if run.is_ascii() {
        return each(run);
    }
    let mut begun = 0;
    for (at, character) in run.char_indices().filter(|(_, c)| is_word_by_itself(*c)) {
        if begun < at {
            each(&run[begun..at]);
        }
        begun = at + character.len_utf8();
        each(&run[at..begun]);
    }
    if begun < run.len() {
        each(&run[begun..]);
    }
}

/// Of the scripts without blanks between words: Thai, Lao, Burmese, Khmer, kana, and Chinese characters.
fn is_word_by_itself(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}'
        | '\u{1000}'..='\u{109f}'
        | '\u{1780}'..='\u{17ff}'
        | '\u{3005}'..='\u{3007}'
        | '\u{3040}'..='\u{30ff}'
        | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}
