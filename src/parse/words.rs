//! The words of a page, most significant first: `words` and `wordsMeta` of ACHE's ELASTICSEARCH format.
//!
//! A word is a run of letters, digits, marks and inner hyphens, in lower case and composed form. A Latin word with
//! accents counts without them as well, so that `creme` finds `crème`. The weights are those of ACHE; where a weight is shared,
//! the word that comes first in the page is first.

use std::collections::HashMap;

use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};

use super::html_tree::{Element, Step, Tree};

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
/// an image's `alt`, `title` or `id` or in an option of a form. `text`: what a reader sees.
pub fn words(tree: &Tree, title: Option<&str>, host: Option<&str>, text: &str) -> Vec<String> {
    let mut weights = Weights::default();
    weights.add(title.unwrap_or_default(), IN_TITLE);
    for part in host.unwrap_or_default().split('.').filter(|part| !COMMON_HOST_PARTS.contains(part)) {
        weights.add(part, IN_HOST);
    }
    weights.add(text, IN_TEXT);
    add_in_passing(tree, &mut weights);
    weights.into_words()
}

/// The different words in the `content` of the page's `<meta>` elements, the most frequent first.
pub fn meta_words(tree: &Tree) -> Vec<String> {
    let mut weights = Weights::default();
    for step in tree.walk() {
        if let Step::Open(_, element) = step
            && element.name() == "meta"
            && let Some(content) = element.attribute("content")
        {
            weights.add(content, 1);
        }
    }
    weights.into_words()
}

fn add_in_passing(tree: &Tree, weights: &mut Weights) {
    let mut options = 0_usize;
    let is_option = |element: &Element| element.name() == "option";
    for step in tree.walk() {
        match step {
            Step::Open(_, element) if element.name() == "img" => {
                for attribute in ["alt", "title", "id"] {
                    weights.add(element.attribute(attribute).unwrap_or_default(), IN_PASSING);
                }
            }
            Step::Open(_, element) if is_option(element) => options += 1,
            Step::Close(_, element) if is_option(element) => options = options.saturating_sub(1),
            Step::Text(text) if options > 0 => weights.add(text, IN_PASSING),
            _ => {}
        }
    }
}

/// Words with their weights, in order of first appearance.
#[derive(Default)]
struct Weights {
    places: HashMap<String, usize>,
    weights: Vec<u32>,
    /// The word at hand in lower case: most are known already, and cost no memory of their own.
    lower: String,
}

impl Weights {
    fn add(&mut self, text: &str, weight: u32) {
        let mut word = std::mem::take(&mut self.lower);
        for run in runs(text).filter(|run| run.chars().nth(MAX_WORD_CHARS).is_none()) {
            lower_case(run, &mut word);
            self.add_word(&word, weight);
            if !run.is_ascii()
                && let Some(plain) = without_accents(&word)
            {
                self.add_word(&plain, weight);
            }
        }
        self.lower = word;
    }

    fn add_word(&mut self, word: &str, weight: u32) {
        if let Some(place) = self.places.get(word) {
            if let Some(sum) = self.weights.get_mut(*place) {
                *sum = sum.saturating_add(weight);
            }
        } else if self.weights.len() < MAX_SEEN {
            self.places.insert(word.to_owned(), self.weights.len());
            self.weights.push(weight);
        }
    }

    fn into_words(self) -> Vec<String> {
        let weight_of = |place: usize| self.weights.get(place).copied().unwrap_or_default();
        let mut words: Vec<(String, usize)> = self.places.into_iter().collect();
        words.sort_unstable_by_key(|&(_, place)| (std::cmp::Reverse(weight_of(place)), place));
        words.truncate(MAX_WORDS);
        words.into_iter().map(|(word, _)| word).collect()
    }
}

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
    c == '-' || c.is_alphanumeric() || (!c.is_ascii() && is_mark(c))
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
    let taken_apart = DecomposingNormalizerBorrowed::new_nfd().normalize(word);
    let mut on_latin = false;
    let mut plain = String::with_capacity(taken_apart.len());
    for c in taken_apart.chars() {
        let is_accent = matches!(c, '\u{300}'..='\u{36f}');
        if !is_accent {
            on_latin = c.is_alphabetic() && c < '\u{250}';
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
