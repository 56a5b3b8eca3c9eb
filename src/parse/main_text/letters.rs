//! Letters, digits and blanks as Java counts them, by Unicode's general categories.

use icu_properties::CodePointMapData;
use icu_properties::props::GeneralCategory as Category;

/// What a character does to the words around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// A letter or a decimal digit.
    Letter,
    /// Another number, `²`: a word by itself.
    Number,
    /// An accent: part of the letter before it.
    Mark,
    /// `_`: stands among letters, but is no word.
    Line,
    /// Written beside or within words: `don't`, `and/or`, `end.`
    Joining,
    Other,
}

impl Sign {
    pub fn of(c: char) -> Sign {
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' => Sign::Letter,
            '"' | '\'' | '.' | ',' | '!' | '@' | '-' | ':' | ';' | '$' | '?' | '(' | ')' | '/' => Sign::Joining,
            '_' => Sign::Line,
            _ if c.is_ascii() => Sign::Other,
            _ => match CodePointMapData::<Category>::new().get(c) {
                Category::UppercaseLetter
                | Category::LowercaseLetter
                | Category::TitlecaseLetter
                | Category::ModifierLetter
                | Category::OtherLetter
                | Category::DecimalNumber => Sign::Letter,
                Category::LetterNumber | Category::OtherNumber => Sign::Number,
                Category::NonspacingMark => Sign::Mark,
                _ => Sign::Other,
            },
        }
    }
}

/// Java's `Character.isLetterOrDigit`.
pub fn is_letter_or_digit(c: char) -> bool {
    Sign::of(c) == Sign::Letter
}

/// Where the first blank begins, and behind it.
pub fn find_space(text: &str) -> Option<(usize, usize)> {
    let mut from = 0;
    loop {
        // Blanks beyond ASCII begin with three bytes of UTF-8.
        let found = text.as_bytes()[from..].iter().position(|byte| matches!(byte, 9..=13 | 28..=32 | 0xe1..=0xe3))?;
        let at = from + found;
        let c = text[at..].chars().next()?;
        from = at + c.len_utf8();
        if is_space(c) {
            return Some((at, from));
        }
    }
}

/// Java's `Character.isWhitespace`: no-break spaces are none.
pub fn is_space(c: char) -> bool {
    matches!(c,
        '\t'..='\r' | '\u{1c}'..=' ' | '\u{1680}' | '\u{2000}'..='\u{2006}' | '\u{2008}'..='\u{200a}'
        | '\u{2028}' | '\u{2029}' | '\u{205f}' | '\u{3000}')
}
