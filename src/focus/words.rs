//! Words as 16-bit hashes, in any script.

use xxhash_rust::xxh3::xxh3_64;

/// Longer runs of letters are no words (coded data, mostly).
const LONGEST: usize = 64;

/// Cuts text that comes in pieces into words: runs of letters and digits in lower case; where a script has no blanks, pairs of
/// neighbouring characters. What is a single Latin letter, or digits alone, is left out.
#[derive(Debug, Default)]
pub(super) struct Cutter {
    word: String,
    has_letter: bool,
    /// The last character, if it was one of a script without blanks.
    before: Option<char>,
}

impl Cutter {
    pub fn text(&mut self, text: &str, take: &mut impl FnMut(u16)) {
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

    /// Whatever comes next is another word.
    pub fn end(&mut self, take: &mut impl FnMut(u16)) {
        if self.has_letter && self.word.len() > 1 && self.word.len() <= LONGEST {
            take(hash(&self.word));
        }
        self.word.clear();
        (self.has_letter, self.before) = (false, None);
    }
}

/// Han, Kana, Thai, Lao, Khmer, Burmese.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}'
        | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Never differs from one start or machine to the next: it is kept.
pub(super) fn hash(word: &str) -> u16 {
    xxh3_64(word.as_bytes()) as u16
}
