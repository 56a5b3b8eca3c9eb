//! Simhash of a text: 64 bits, of which few differ for similar texts, and about half for unrelated ones.
//!
//! Charikar, "Similarity Estimation Techniques from Rounding Algorithms" (STOC 2002). Manku, Jain and Das Sarma,
//! "Detecting Near-Duplicates for Web Crawling" (WWW 2007), count texts within 3 of 64 bits as near-duplicates. Seine
//! measures with it how far a page has changed; duplicates have a [sketch](super::text_sketch). Two texts differ in about
//! 64/π · arccos(c) bits, where c is the cosine of their features: 1.6 bits if 3 of 1000 features differ, and 9 bits if
//! a tenth differs.
//!
//! Features are pairs of neighbouring words, and the first word alone. Each distinct pair counts once, so that neither
//! "of the" nor a long list dominates. Words are those of [`words`](super::words); in scripts without spaces each
//! character is a word. A word's hash is XXH3 (64 bits, seed 0) of its UTF-8. A pair's hash is XXH3 of both words'
//! hashes, little-endian, concatenated. **Records store simhashes, so this must not change.** Otherwise every page
//! would seem changed.

use xxhash_rust::xxh3::xxh3_64;

use super::Derived;
use super::html_text::visible_text;
use super::main_text::main_text;
use super::media_type::is_text;
use super::words::{lower_case, runs};

/// Pairs that are counted together. In longer texts a pair counts once per part of this size.
const MAX_PAIRS: usize = 200_000;

/// None for a text without words.
pub fn simhash(text: &str) -> Option<u64> {
    let mut features = Features { pairs: Vec::new(), count: 0, with_bit: [0; 64] };
    each_pair(text, |pair| features.add(pair));
    features.simhash()
}

/// The simhash of a page: of its main text; of its visible text if no block looks like main text, as in short pages; of
/// the whole text if it is not HTML. None if there are no words, and for bodies that are not text.
pub fn of_page(page: &Derived, content_type: Option<&str>) -> Option<u64> {
    if page.is_html {
        let text = page.text();
        return simhash(&main_text(&text)).or_else(|| simhash(&visible_text(&text)));
    }
    is_text(content_type).then(|| simhash(&page.text())).flatten()
}

/// The hashes of the pairs of neighbouring words in a text.
pub(crate) fn each_pair(text: &str, mut each: impl FnMut(u64)) {
    // Hash of the last word; 0 before the first.
    let mut last = 0;
    let mut lower = String::new();
    for run in runs(text) {
        lower_case(run, &mut lower);
        each_word(&lower, |word| {
            let word = xxh3_64(word.as_bytes());
            let mut pair = [0; 16];
            pair[..8].copy_from_slice(&u64::to_le_bytes(last));
            pair[8..].copy_from_slice(&word.to_le_bytes());
            last = word;
            each(xxh3_64(&pair));
        });
    }
}

struct Features {
    /// Hashes of pairs that are counted together, once each.
    pairs: Vec<u64>,
    /// Number of pairs counted, and how many of them have each bit.
    count: u32,
    with_bit: [u32; 64],
}

impl Features {
    fn add(&mut self, pair: u64) {
        self.pairs.push(pair);
        if self.pairs.len() == MAX_PAIRS {
            self.count_pairs();
        }
    }

    fn count_pairs(&mut self) {
        self.pairs.sort_unstable();
        self.pairs.dedup();
        self.count += self.pairs.len() as u32;
        // As many pairs as a byte can count: eight bit counters are kept in one 64-bit word.
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

    /// The bits set in more than half of the features.
    fn simhash(mut self) -> Option<u64> {
        self.count_pairs();
        let has = |bit: usize| u64::from(self.with_bit[bit] > self.count / 2) << bit;
        (self.count > 0).then(|| (0..64).map(has).sum())
    }
}

/// For each byte value, its bits spread over eight bytes.
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

/// A run of letters is a word, unless its script has no spaces.
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

/// Scripts without spaces: Thai, Lao, Burmese, Khmer, kana and Chinese characters.
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
