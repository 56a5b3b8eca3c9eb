//! Language tags (RFC 5646), and detection of the language of a page's text, whatever the page declares.
//!
//! `whatlang` detects the language by script and by the most frequent groups of three letters, in a sample of the text.
//! It compares 300 groups per language, and 37 languages use Latin script. So only those languages are compared whose
//! most common words occur in the sample (`languages.txt`).

use std::collections::HashMap;
use std::sync::LazyLock;

use whatlang::{Detector, Lang};

use super::words::lower_case;

/// Size of the sample.
const SAMPLE_BYTES: usize = 400;
/// Shorter texts get no language.
pub const MIN_BYTES: usize = 60;
/// Shorter lines are used only if there is nothing else.
const LINE_BYTES: usize = 60;
/// A language needs at least this many of its most common words to become a candidate.
const MIN_COMMON: u32 = 3;
/// Number of languages compared: those whose most common words are most frequent.
const CANDIDATES: usize = 4;

/// Languages with their tags (ISO 639-1) and, for Latin script, their most common words.
static LANGUAGES: LazyLock<Vec<(Lang, &str, &str)>> = LazyLock::new(|| {
    let lines = include_str!("languages.txt").lines().filter(|line| !line.starts_with('#'));
    let read = |line: &'static str| {
        let (code, rest) = line.split_once(' ')?;
        let (tag, common) = rest.split_once(' ').unwrap_or((rest, ""));
        Some((Lang::from_code(code)?, tag, common))
    };
    lines.filter_map(read).collect()
});

/// The language that a text is in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Language {
    /// ISO 639-1: `en`.
    pub tag: &'static str,
    /// The distance from the next language, 0.9 to 1, rounded to three digits. Less certain results are not returned.
    pub confidence: f64,
}

/// The primary language of a tag in lower case, `en` of `en-GB`; none if it is not a tag.
pub fn primary_language(tag: &str) -> Option<String> {
    let primary = tag.trim().split(['-', '_']).next()?;
    let is_language = (2..=8).contains(&primary.len()) && primary.bytes().all(|it| it.is_ascii_alphabetic());
    is_language.then(|| primary.to_ascii_lowercase())
}

/// The language of a text, judged by its first long lines, or by any lines if there are none. None for short texts, and
/// if two languages are equally likely.
pub fn of_text(text: &str) -> Option<Language> {
    let sample = sample(text.lines().filter(|line| line.len() >= LINE_BYTES));
    let sample = if sample.len() >= MIN_BYTES { sample } else { self::sample(text.lines()) };
    if sample.len() < MIN_BYTES {
        return None;
    }
    let detector = match likely(&sample) {
        likely if !likely.is_empty() => Detector::with_allowlist(likely),
        // Without accents and common words there is no result: comparing all languages would take four times as long as
        // the rest.
        _ if sample.is_ascii() => return None,
        _ => Detector::new(),
    };
    let found = detector.detect(&sample).filter(|found| found.is_reliable())?;
    let tag = LANGUAGES.iter().find(|(lang, ..)| *lang == found.lang())?.1;
    Some(Language { tag, confidence: (found.confidence() * 1000.0).round() / 1000.0 })
}

fn sample<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let mut sample = String::new();
    for word in lines.flat_map(str::split_ascii_whitespace) {
        if sample.len() >= SAMPLE_BYTES {
            break;
        }
        sample.push_str(&word[..word.floor_char_boundary(SAMPLE_BYTES)]);
        sample.push(' ');
    }
    sample
}

/// The languages whose most common words are most frequent; empty if there is too little evidence.
fn likely(text: &str) -> Vec<Lang> {
    static WORDS: LazyLock<HashMap<&str, u64>> = LazyLock::new(|| {
        let mut words = HashMap::new();
        for (place, (.., common)) in LANGUAGES.iter().enumerate() {
            common.split_ascii_whitespace().for_each(|word| *words.entry(word).or_default() |= 1 << place);
        }
        words
    });
    let mut counts = [0_u32; u64::BITS as usize];
    let (mut words, mut lower) = (0, String::new());
    for word in text.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()) {
        words += 1;
        lower_case(word, &mut lower);
        let mut among = WORDS.get(&*lower).copied().unwrap_or_default();
        while among != 0 {
            counts[among.trailing_zeros() as usize] += 1;
            among &= among - 1;
        }
    }
    let mut likely: Vec<(u32, Lang)> =
        counts.into_iter().zip(LANGUAGES.iter()).map(|(count, (lang, ..))| (count, *lang)).collect();
    likely.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let most = likely[0].0;
    if most < MIN_COMMON || most * 10 < words {
        return Vec::new();
    }
    likely.truncate(CANDIDATES);
    likely.into_iter().map(|(_, lang)| lang).collect()
}
