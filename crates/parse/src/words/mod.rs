//! The words of a page, most significant first: `words` and `wordsMeta` of ACHE's ELASTICSEARCH format.
//!
//! A word is a run of letters, digits, marks and inner hyphens, in lower case and composed form. A Latin word with
//! accents also counts without them, so that `creme` finds `crème`. The weights are those of ACHE. Words of equal
//! weight are in order of first appearance.

mod spelling;

use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::short::{LOWER, SHORT, number};
pub use spelling::lower_case;
use spelling::without_accents;

/// Most words kept; the most significant ones.
pub const MAX_WORDS: usize = 10_000;
/// Longer runs of letters are left out; they are mostly encoded data.
pub const MAX_WORD_CHARS: usize = 100;
/// Most distinct words that are counted; a page of 20 MB can have millions.
const MAX_SEEN: usize = 200_000;

const IN_TITLE: u32 = 7;
const IN_HOST: u32 = 3;
const IN_TEXT: u32 = 2;
/// Weight of image descriptions and options of forms.
const IN_PASSING: u32 = 1;
/// Parts of host names that say nothing about the page.
const COMMON_HOST_PARTS: [&str; 6] = ["www", "org", "gov", "com", "br", "onion"];

/// The distinct words of a page by falling weight. Each occurrence adds 7 in the title, 3 in the host name, 2 in the
/// text, and 1 in an image's `alt`, `title` or `id` or in an option of a form. `text`: the visible text; `passing`: the
/// text with weight 1.
pub fn words(title: Option<&str>, host: Option<&str>, text: &str, passing: &str) -> Words {
    let mut weights = Weights::new(text.len() / 16);
    weights.add(title.unwrap_or_default(), IN_TITLE);
    for part in host.unwrap_or_default().split('.').filter(|part| !COMMON_HOST_PARTS.contains(part)) {
        weights.add(part, IN_HOST);
    }
    weights.add(text, IN_TEXT);
    weights.add(passing, IN_PASSING);
    weights.into_words()
}

/// The distinct words in the `content` of the page's `<meta>` elements, most frequent first.
pub fn meta_words<'a>(contents: impl Iterator<Item = &'a str>) -> Words {
    let mut weights = Weights::new(64);
    contents.for_each(|content| weights.add(content, 1));
    weights.into_words()
}

/// Words in some order.
#[derive(Clone, Default)]
pub struct Words {
    letters: String,
    /// The range of each word in `letters`.
    places: Vec<Range<u32>>,
}

impl Words {
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        self.places.iter().map(|at| &self.letters[at.start as usize..at.end as usize])
    }
}

impl PartialEq for Words {
    fn eq(&self, other: &Words) -> bool {
        self.iter().eq(other.iter())
    }
}

impl fmt::Debug for Words {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.debug_list().entries(self.iter()).finish()
    }
}

impl<T: AsRef<str>> FromIterator<T> for Words {
    fn from_iter<I: IntoIterator<Item = T>>(given: I) -> Words {
        let mut words = Words::default();
        for word in given {
            let begin = words.letters.len() as u32;
            words.letters.push_str(word.as_ref());
            words.places.push(begin..words.letters.len() as u32);
        }
        words
    }
}

impl Serialize for Words {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Words, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = Words;

            fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                formatter.write_str("a sequence")
            }

            // Keeping thousands of words as separate strings would take a quarter of the time for reading a document.
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Words, A::Error> {
                std::iter::from_fn(|| list.next_element::<String>().transpose()).collect()
            }
        }
        deserializer.deserialize_seq(List)
    }
}

/// Words with weights, in order of first appearance: one string with all of them, and a hash table.
struct Weights {
    /// UTF-8.
    letters: Vec<u8>,
    words: Vec<Word>,
    /// Numbers of words from 1 on, each at its hash or in the next free slot. The size is a power of two, and at least
    /// half is free.
    table: Vec<u32>,
    /// Number of bits to shift a hash to get a slot.
    shift: u32,
    /// Random and odd, so that no page can be made of words that all share a slot.
    seed: u64,
    /// The current word in lower case.
    lower: String,
}

struct Word {
    /// For a [short](SHORT) word its letters as a number, times the seed: unique for each word.
    hash: u64,
    at: Range<u32>,
    weight: u32,
}

impl Weights {
    /// `expected`: number of distinct words.
    fn new(expected: usize) -> Weights {
        let places = (2 * expected).clamp(64, 4 * MAX_WORDS).next_power_of_two();
        Weights {
            letters: Vec::new(),
            words: Vec::new(),
            table: vec![0; places],
            shift: u64::BITS - places.ilog2(),
            seed: fastrand::u64(..) | 1,
            lower: String::new(),
        }
    }

    fn add(&mut self, text: &str, weight: u32) {
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            // Most words are at most eight bytes long.
            if let Some(eight) = bytes[at..].first_chunk().map(|eight| u64::from_le_bytes(*eight)) {
                let inside = in_words(eight);
                let length = (!inside & HIGH).trailing_zeros() as usize / 8;
                if length == 0 {
                    at += inside.trailing_zeros() as usize / 8;
                    continue;
                }
                let letters = eight & u64::MAX >> (8 * (SHORT - length));
                let is_hyphen = |at: usize| letters >> (8 * at) & 0xff == u64::from(b'-');
                if length < SHORT && letters & HIGH == 0 && !is_hyphen(0) && !is_hyphen(length - 1) {
                    let lower = LOWER >> (8 * (SHORT - length));
                    self.add_short(letters | lower, length, weight);
                    at += length + 1;
                    continue;
                }
            }
            // Non-ASCII characters are checked further below.
            while at < bytes.len() && !IN_WORDS[usize::from(bytes[at])] {
                at += 1;
            }
            let (begin, mut all) = (at, 0);
            while at < bytes.len() && IN_WORDS[usize::from(bytes[at])] {
                all |= bytes[at];
                at += 1;
            }
            let run = &text[begin..at];
            if all.is_ascii() {
                self.add_ascii(run, weight);
            } else {
                runs(run).for_each(|run| self.add_run(run, weight));
            }
        }
    }

    fn add_ascii(&mut self, run: &str, weight: u32) {
        let run = if run.starts_with('-') || run.ends_with('-') { run.trim_matches('-') } else { run };
        if run.is_empty() || run.len() > MAX_WORD_CHARS {
            return;
        }
        if run.len() <= SHORT {
            let lower = LOWER >> (8 * (SHORT - run.len()));
            return self.add_short(number(run.as_bytes()) | lower, run.len(), weight);
        }
        let mut word = std::mem::take(&mut self.lower);
        lower_case(run, &mut word);
        self.add_word(&word, weight);
        self.lower = word;
    }

    fn add_run(&mut self, run: &str, weight: u32) {
        if run.is_ascii() {
            return self.add_ascii(run, weight);
        }
        if run.chars().nth(MAX_WORD_CHARS).is_some() {
            return;
        }
        let mut word = std::mem::take(&mut self.lower);
        lower_case(run, &mut word);
        self.add_word(&word, weight);
        if let Some(plain) = without_accents(&word) {
            self.add_word(&plain, weight);
        }
        self.lower = word;
    }

    fn add_word(&mut self, word: &str, weight: u32) {
        let bytes = word.as_bytes();
        if bytes.len() <= SHORT {
            return self.add_short(number(bytes), bytes.len(), weight);
        }
        let hash = xxh3_64_with_seed(bytes, self.seed);
        let is_it = |at: &Range<u32>| self.letters[at.start as usize..at.end as usize] == *bytes;
        match self.find(hash, is_it) {
            Ok(known) => self.words[known].add(weight),
            Err(place) => self.insert(place, Word { hash, at: 0..0, weight }, bytes),
        }
    }

    fn add_short(&mut self, number: u64, length: usize, weight: u32) {
        let hash = number.wrapping_mul(self.seed);
        match self.find(hash, |at| at.len() <= SHORT) {
            Ok(known) => self.words[known].add(weight),
            Err(place) => self.insert(place, Word { hash, at: 0..0, weight }, &number.to_le_bytes()[..length]),
        }
    }

    /// Index of a word, or the free slot for it.
    fn find(&self, hash: u64, is_it: impl Fn(&Range<u32>) -> bool) -> Result<usize, usize> {
        let mut place = (hash >> self.shift) as usize;
        while let Some(number) = (self.table[place] as usize).checked_sub(1) {
            let known = &self.words[number];
            if known.hash == hash && is_it(&known.at) {
                return Ok(number);
            }
            place = (place + 1) & (self.table.len() - 1);
        }
        Err(place)
    }

    fn insert(&mut self, place: usize, word: Word, letters: &[u8]) {
        if self.words.len() == MAX_SEEN {
            return;
        }
        let begin = self.letters.len() as u32;
        self.letters.extend_from_slice(letters);
        self.words.push(Word { at: begin..self.letters.len() as u32, ..word });
        self.table[place] = self.words.len() as u32;
        if self.words.len() > self.table.len() / 2 {
            self.grow();
        }
    }

    fn grow(&mut self) {
        self.table = vec![0; 2 * self.table.len()];
        self.shift -= 1;
        for (word, number) in self.words.iter().zip(1..) {
            let mut place = (word.hash >> self.shift) as usize;
            while self.table[place] != 0 {
                place = (place + 1) & (self.table.len() - 1);
            }
            self.table[place] = number;
        }
    }

    fn into_words(self) -> Words {
        // By falling weight, then by first appearance. Most words have one of few weights, so they are sorted by
        // counting.
        const FEW: usize = 64;
        let weight = |word: &Word| (word.weight as usize).min(FEW);
        let mut places = [0; FEW + 1];
        self.words.iter().for_each(|word| places[weight(word)] += 1);
        let mut heavier = 0;
        for place in places.iter_mut().rev() {
            heavier += std::mem::replace(place, heavier);
        }
        let heaviest = places[FEW - 1];
        let mut order = vec![0; self.words.len()];
        for (number, word) in self.words.iter().enumerate() {
            let place = &mut places[weight(word)];
            order[*place] = number;
            *place += 1;
        }
        order[..heaviest].sort_by_key(|&number| std::cmp::Reverse(self.words[number].weight));
        order.truncate(MAX_WORDS);
        let places = order.into_iter().map(|number| self.words[number].at.clone()).collect();
        Words { letters: String::from_utf8(self.letters).unwrap_or_default(), places }
    }
}

impl Word {
    fn add(&mut self, weight: u32) {
        self.weight = self.weight.saturating_add(weight);
    }
}

const HIGH: u64 = 0x8080_8080_8080_8080;

/// Sets the highest bit of each of eight bytes that may be [in words](IN_WORDS).
fn in_words(eight: u64) -> u64 {
    // Only bytes below 128, so that nothing carries into the next byte.
    let ascii = eight & !HIGH;
    let from = |bytes: u64, first: u8| bytes + u64::from(0x80 - first) * 0x0101_0101_0101_0101;
    let among = |bytes: u64, first: u8, last: u8| from(bytes, first) & !from(bytes, last + 1);
    let letters = among(ascii | LOWER, b'a', b'z');
    (eight | letters | among(ascii, b'0', b'9') | among(ascii, b'-', b'-')) & HIGH
}

/// Bytes that may be in a word, including all non-ASCII bytes.
const IN_WORDS: [bool; 256] = {
    let mut may_be = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let own = byte as u8;
        may_be[byte] = own == b'-' || own.is_ascii_alphanumeric() || !own.is_ascii();
        byte += 1;
    }
    may_be
};

/// The runs of letters, digits, marks and inner hyphens in a text, as written.
pub fn runs(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !is_word_char(c)).map(|run| run.trim_matches('-')).filter(|run| !run.is_empty())
}

/// Letters and digits of any script, their marks, and hyphens.
fn is_word_char(c: char) -> bool {
    match c {
        // The most frequent ranges, without a look-up in Unicode's tables.
        '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}' | '\u{f8}'..='\u{2c1}' => true,
        '\u{3a3}'..='\u{3f5}' | '\u{3f7}'..='\u{481}' => true,
        '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fa}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' => true,
        '\u{2000}'..='\u{206f}' | '\u{3000}'..='\u{3004}' => false,
        _ => c == '-' || c.is_alphanumeric() || (!c.is_ascii() && is_mark(c)),
    }
}

/// Marks within words that Unicode does not count as letters: accents, and the signs of Indic scripts.
fn is_mark(c: char) -> bool {
    let is_indic_punctuation = matches!(c, '\u{964}' | '\u{965}' | '\u{970}');
    matches!(c, '\u{300}'..='\u{36f}' | '\u{900}'..='\u{dff}') && !is_indic_punctuation
}
