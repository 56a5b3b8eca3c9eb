//! Letters, digits and blanks as defined by Java, by Unicode's general categories.

use icu_properties::CodePointMapData;
use icu_properties::props::GeneralCategory as Category;

/// How a character affects the words around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    /// A letter or a decimal digit.
    Letter,
    /// Another number, such as `²`: a word of its own.
    Number,
    /// An accent: part of the letter before it.
    Mark,
    /// `_`: allowed among letters, but not a word of its own.
    Line,
    /// Allowed next to or within words: `don't`, `and/or`, `end.`
    Joining,
    Other,
}

impl Sign {
    pub(super) fn of(c: char) -> Sign {
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
pub(super) fn is_letter_or_digit(c: char) -> bool {
    Sign::of(c) == Sign::Letter
}

/// Length of the blank at the start of a text, by [`is_space`]; 0 if there is none.
pub(super) fn space_at(text: &[u8]) -> usize {
    match text {
        [9..=13 | 28..=32, ..] => 1,
        [0xe1, 0x9a, 0x80, ..] | [0xe2, 0x81, 0x9f, ..] | [0xe3, 0x80, 0x80, ..] => 3,
        [0xe2, 0x80, 0x80..=0x86 | 0x88..=0x8a | 0xa8 | 0xa9, ..] => 3,
        _ => 0,
    }
}

/// Java's `Character.isWhitespace`, which excludes no-break spaces.
pub(super) fn is_space(c: char) -> bool {
    matches!(c,
        '\t'..='\r' | '\u{1c}'..=' ' | '\u{1680}' | '\u{2000}'..='\u{2006}' | '\u{2008}'..='\u{200a}'
        | '\u{2028}' | '\u{2029}' | '\u{205f}' | '\u{3000}')
}
