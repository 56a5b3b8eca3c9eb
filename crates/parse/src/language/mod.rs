//! Language tags (RFC 5646), and detection of the language of a page's text, whatever the page declares.
//!
//! Most scripts of the world belong to one language. For the others a model has the weights of some 150,000 groups of
//! letters (`ngrams`) in each language. The language with the largest sum is the candidate. It is reported only if the
//! text looks like that language, too: the model does not know most languages of the world, and each of them is nearest
//! to some language that it knows. `scripts/language` makes and measures the model.

mod candidate;
mod model;
pub mod ngrams;
mod sample;
pub mod script;

pub use candidate::Evidence;
use model::model;
use script::{Counts, Script};

/// Shorter texts get no language.
pub const MIN_BYTES: usize = 40;
/// Nor do texts with fewer letters. An ideograph counts as three.
const MIN_LETTERS: u32 = 20;
/// Results that are less certain are not returned.
const MIN_CONFIDENCE: f64 = 0.9;

/// The language that a text is in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Language {
    /// ISO 639-1, such as `en`, or ISO 639-3 for languages without such a code.
    pub tag: &'static str,
    /// The estimated probability of being right, 0.9 to 1, rounded to three digits.
    pub confidence: f64,
}

/// The primary language of a tag in lower case, `en` of `en-GB`; none if it is not a tag.
pub fn primary_language(tag: &str) -> Option<String> {
    let primary = tag.trim().split(['-', '_']).next()?;
    let is_language = (2..=8).contains(&primary.len()) && primary.bytes().all(|it| it.is_ascii_alphabetic());
    is_language.then(|| primary.to_ascii_lowercase())
}

/// The language of a text, judged by pieces of its long lines, or of any lines if there are few long ones. None for short
/// texts, for languages that the model does not know, and if no language prevails.
pub fn of_text(text: &str) -> Option<Language> {
    let (pieces, script, share) = script_of(text)?;
    let (tag, confidence) = match script {
        // A text with many letters of another script may as well be in another language.
        Script::Single(tag) => (tag, 1.0 - (1.0 - share).powi(2)),
        Script::Shared(script) => {
            let evidence = Evidence::of(&pieces, script)?;
            (evidence.tag()?, f64::from(evidence.probability()))
        }
    };
    let confidence = (confidence * 1000.0).round() / 1000.0;
    (confidence >= MIN_CONFIDENCE).then_some(Language { tag, confidence })
}

/// What [`of_text`] decides by. None also for scripts that belong to one language.
pub fn evidence(text: &str) -> Option<Evidence> {
    match script_of(text)? {
        (pieces, Script::Shared(script), _) => Evidence::of(&pieces, script),
        _ => None,
    }
}

/// The tags of all languages that [`of_text`] knows.
pub fn tags() -> Vec<&'static str> {
    let mut tags: Vec<_> = model().languages.iter().filter_map(|language| language.tag).chain(script::SINGLE).collect();
    tags.sort_unstable();
    tags.dedup();
    tags
}

/// The pieces of a text that are judged, the script of most letters, and its share.
fn script_of(text: &str) -> Option<(Vec<String>, Script, f64)> {
    if text.len() < MIN_BYTES {
        return None;
    }
    let pieces = sample::pieces(text);
    let mut letters = Counts::default();
    pieces.iter().for_each(|piece| letters.add(piece));
    let (script, share) = letters.main()?;
    (letters.total() >= MIN_LETTERS && share >= 0.5).then_some((pieces, script, share))
}
