//! Words as 16-bit hashes, in any script.

use xxhash_rust::xxh3::xxh3_64;

/// Longer runs of letters are not words (mostly encoded data).
const LONGEST: usize = 64;

/// Splits text that arrives in pieces into words: runs of letters and digits, in lower case. In scripts without spaces
/// each pair of neighbouring characters is a word. Single Latin letters and plain numbers are left out.
#[derive(Debug, Default)]
pub(super) struct Cutter {
    word: String,
    has_letter: bool,
    /// The last character, if its script has no spaces.
    before: Option<char>,
}

impl Cutter {
    pub(super) fn text(&mut self, text: &str, take: &mut impl FnMut(u16)) {
        text.chars().for_each(|c| self.character(c, take));
    }

    fn character(&mut self, c: char, take: &mut impl FnMut(u16)) {
        if is_unspaced(c) {
            let before = self.before;
            self.end(take);
            self.before = Some(c);
            return before.into_iter().for_each(|before| take(hash(&String::from_iter([before, c]))));
        }
        if !c.is_alphanumeric() {
            return self.end(take);
        }
        self.before = None;
        self.has_letter |= !c.is_ascii_digit();
        if self.word.len() <= LONGEST {
            self.word.extend(c.to_lowercase());
        }
    }

    /// Ends the current word.
    pub(super) fn end(&mut self, take: &mut impl FnMut(u16)) {
        if self.has_letter && self.word.len() > 1 && self.word.len() <= LONGEST {
            take(hash(&self.word));
        }
        self.word.clear();
        (self.has_letter, self.before) = (false, None);
    }
}

/// Scripts without spaces: Han, Kana, Thai, Lao, Khmer, Burmese.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}'
        | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// The hash is stored, so it must be the same on every run and every machine.
pub(super) fn hash(word: &str) -> u16 {
    xxh3_64(word.as_bytes()) as u16
}
