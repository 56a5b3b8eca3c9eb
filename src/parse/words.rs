//! The words of a page, most significant first: `words` and `wordsMeta` of ACHE's ELASTICSEARCH format.
//!
//! A word is a run of letters, digits, marks and inner hyphens, in lower case and composed form. A Latin word with
//! accents counts without them as well, so that `creme` finds `crème`. The weights are those of ACHE; where a weight is shared,
//! the word that comes first in the page is first.

use std::fmt;
use std::ops::Range;

use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};
use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use xxhash_rust::xxh3::xxh3_64;

/// Of a page with more different words, the most significant are kept.
pub const MAX_WORDS: usize = 10_000;
/// Longer runs of letters are no words (coded data, mostly) and are left out.
pub const MAX_WORD_CHARS: usize = 100;
/// Different words looked at; a page of 20 MB can hold millions.
const MAX_SEEN: usize = 200_000;

const IN_TITLE: u32 = 7;
const IN_HOST: u32 = 3;
const IN_TEXT: u32 = 2;
/// Image descriptions and the options of forms.
const IN_PASSING: u32 = 1;
/// Parts of a host's name that say nothing of the page.
const COMMON_HOST_PARTS: [&str; 6] = ["www", "org", "gov", "com", "br", "onion"];

/// A page's different words, by falling weight: 7 for each time in the title, 3 in the host's name, 2 in the text, 1 in
/// an image's `alt`, `title` or `id` or in an option of a form. `text`: what a reader sees; `passing`: the latter.
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

/// The different words in the `content` of the page's `<meta>` elements, the most frequent first.
pub fn meta_words<'a>(contents: impl Iterator<Item = &'a str>) -> Words {
    let mut weights = Weights::new(64);
    contents.for_each(|content| weights.add(content, 1));
    weights.into_words()
}

/// Words in some order.
#[derive(Clone, Default)]
pub struct Words {
    letters: String,
    /// Where each is in `letters`.
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
                formatter.write_str("a list of words")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Words, A::Error> {
                std::iter::from_fn(|| list.next_element::<String>().transpose()).collect()
            }
        }
        deserializer.deserialize_seq(List)
    }
}

/// Words with their weights, in order of first appearance: one string of them all, and a table of hashes.
struct Weights {
    letters: String,
    words: Vec<Word>,
    /// Numbers of words from 1 on, each at its hash or in the next free place behind it; a power of two of them, half of them
    /// free at least.
    table: Vec<u32>,
    /// The word at hand in lower case.
    lower: String,
}

struct Word {
    hash: u64,
    at: Range<u32>,
    weight: u32,
}

impl Weights {
    /// `expected`: so many different words.
    fn new(expected: usize) -> Weights {
        let places = (2 * expected).clamp(64, 4 * MAX_WORDS).next_power_of_two();
        Weights { letters: String::new(), words: Vec::new(), table: vec![0; places], lower: String::new() }
    }

    fn add(&mut self, text: &str, weight: u32) {
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            // What is beyond ASCII is looked at more closely behind this.
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
        let mut word = std::mem::take(&mut self.lower);
        word.clear();
        word.push_str(run);
        word.make_ascii_lowercase();
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
        let hash = xxh3_64(word.as_bytes());
        let mut place = self.place(hash);
        while let Some(known) = self.words.get_mut((self.table[place] as usize).wrapping_sub(1)) {
            if known.hash == hash && &self.letters[known.at.start as usize..known.at.end as usize] == word {
                known.weight = known.weight.saturating_add(weight);
                return;
            }
            place = (place + 1) & (self.table.len() - 1);
        }
        if self.words.len() == MAX_SEEN {
            return;
        }
        let begin = self.letters.len() as u32;
        self.letters.push_str(word);
        self.words.push(Word { hash, at: begin..self.letters.len() as u32, weight });
        self.table[place] = self.words.len() as u32;
        if self.words.len() > self.table.len() / 2 {
            self.grow();
        }
    }

    fn place(&self, hash: u64) -> usize {
        hash as usize & (self.table.len() - 1)
    }

    fn grow(&mut self) {
        self.table = vec![0; 2 * self.table.len()];
        for number in 0..self.words.len() {
            let mut place = self.place(self.words[number].hash);
            while self.table[place] != 0 {
                place = (place + 1) & (self.table.len() - 1);
            }
            self.table[place] = number as u32 + 1;
        }
    }

    fn into_words(self) -> Words {
        // By falling weight, then in the order of the page.
        let mut order: Vec<u64> =
            self.words.iter().zip(0_u64..).map(|(word, place)| u64::from(!word.weight) << 32 | place).collect();
        order.sort_unstable();
        order.truncate(MAX_WORDS);
        let places = order.iter().map(|key| self.words[(key & u64::from(u32::MAX)) as usize].at.clone()).collect();
        Words { letters: self.letters, places }
    }
}

/// Bytes that may be in a word: all that is not ASCII may be.
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

/// The runs of letters, digits, marks and inner hyphens in a text, as they are written.
pub(crate) fn runs(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !is_word_char(c)).map(|run| run.trim_matches('-')).filter(|run| !run.is_empty())
}

/// Puts a run into `word`, in lower case and composed form.
pub(crate) fn lower_case(run: &str, word: &mut String) {
    word.clear();
    if run.is_ascii() {
        word.push_str(run);
        word.make_ascii_lowercase();
    } else {
        word.push_str(&ComposingNormalizerBorrowed::new_nfc().normalize(&run.to_lowercase()));
    }
}

/// Letters and digits of any script, the marks that belong to them, and hyphens.
fn is_word_char(c: char) -> bool {
    match c {
        // Where many are, without a look into Unicode's tables.
        '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}' | '\u{f8}'..='\u{2c1}' => true,
        '\u{3a3}'..='\u{3f5}' | '\u{3f7}'..='\u{481}' => true,
        '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fa}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' => true,
        '\u{2000}'..='\u{206f}' | '\u{3000}'..='\u{3004}' => false,
        _ => c == '-' || c.is_alphanumeric() || (!c.is_ascii() && is_mark(c)),
    }
}

/// Marks that are no letters by Unicode's count, and are written within words: accents, and the signs of Indic scripts.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{900}'..='\u{dff}' if !is_indic_punctuation(c))
}

fn is_indic_punctuation(c: char) -> bool {
    matches!(c, '\u{964}' | '\u{965}' | '\u{970}')
}

/// The word without the accents (U+0300 to U+036F) of its Latin letters; none when it has none. In other scripts they
/// make other letters: `й` is no `и`.
fn without_accents(word: &str) -> Option<String> {
    // How letters with accents begin in UTF-8, and accents by themselves.
    if !word.bytes().any(|byte| matches!(byte, 0xc3..=0xc9 | 0xcc | 0xcd | 0xe1)) {
        return None;
    }
    let taken_apart = DecomposingNormalizerBorrowed::new_nfd().normalize(word);
    let mut on_latin = false;
    let mut plain = String::with_capacity(taken_apart.len());
    for c in taken_apart.chars() {
        let is_accent = matches!(c, '\u{300}'..='\u{36f}');
        if !is_accent {
            on_latin = c < '\u{250}' && c.is_alphabetic();
        }
        if !(is_accent && on_latin) {
            plain.push(c);
        }
    }
    if plain.len() == taken_apart.len() {
        return None;
    }
    Some(ComposingNormalizerBorrowed::new_nfc().normalize(&plain).into_owned())
}
