//! Brings words to one spelling: lower case, composed form, and without accents.

use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};

/// Puts a run into `word`, in lower case and composed form.
pub fn lower_case(run: &str, word: &mut String) {
    word.clear();
    if run.is_ascii() {
        word.push_str(run);
        word.make_ascii_lowercase();
    } else if run.bytes().all(|byte| IS_COMPOSED[usize::from(byte)]) {
        for c in run.chars() {
            match c {
                // The most frequent ranges, without a look-up in Unicode's tables.
                'à'..='ÿ' | 'а'..='џ' | '\u{4e00}'..='\u{9fff}' => word.push(c),
                _ if c.is_ascii() => word.push(c.to_ascii_lowercase()),
                _ => word.extend(c.to_lowercase()),
            }
        }
    } else {
        word.push_str(&ComposingNormalizerBorrowed::new_nfc().normalize(&run.to_lowercase()));
    }
}

/// First bytes of characters that are always in composed form, and so is their lower case: Latin, Cyrillic and Chinese.
const IS_COMPOSED: [bool; 256] = {
    let mut composed = [true; 256];
    let mut byte = 0xcc;
    while byte < 256 {
        composed[byte] = matches!(byte, 0xd0 | 0xd1 | 0xe4..=0xe9);
        byte += 1;
    }
    composed
};

/// The word without the accents (U+0300 to U+036F) of its Latin letters; none if it has none. In other scripts accents
/// make different letters: `й` is not `и`.
pub(super) fn without_accents(word: &str) -> Option<String> {
    // First UTF-8 bytes of letters with accents, and of combining accents.
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
