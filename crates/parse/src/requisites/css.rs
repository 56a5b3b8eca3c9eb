//! Finds the references of a style sheet by the tokens that matter (css-syntax-3 §4): comments, strings, `url()`.

use memchr::memchr3_iter;
use memchr::memmem;

use crate::short::starts_with;

/// Calls `found` with each reference, with escapes decoded. One pass for any input.
pub(super) fn references(css: &str, found: &mut impl FnMut(String)) {
    let bytes = css.as_bytes();
    let mut at = 0;
    // A string right after `@import` is a reference; other strings are not.
    let mut is_import = false;
    while at < bytes.len() {
        match bytes[at] {
            b'/' if bytes[at..].starts_with(b"/*") => {
                at = memmem::find(&bytes[at + 2..], b"*/").map_or(bytes.len(), |end| at + 2 + end + 2);
            }
            quote @ (b'"' | b'\'') => {
                let end = string_end(bytes, at + 1, quote);
                if is_import {
                    found(unescaped(&css[at + 1..end]));
                }
                is_import = false;
                at = end + 1;
            }
            b'@' => {
                is_import = starts_with(&bytes[at..], b"@import");
                at += if is_import { b"@import".len() } else { 1 };
            }
            b'u' | b'U' if starts_with(&bytes[at..], b"url(") && !is_within_name(bytes, at) => {
                let (reference, end) = url(css, at + b"url(".len());
                found(unescaped(reference));
                (is_import, at) = (false, end);
            }
            byte => {
                is_import &= byte.is_ascii_whitespace();
                at += if is_import { 1 } else { to_next(&bytes[at..]) };
            }
        }
    }
}

/// Number of bytes to the next one that may start a token.
fn to_next(bytes: &[u8]) -> usize {
    let may_begin = |byte: &u8| matches!(byte, b'/' | b'"' | b'\'' | b'@' | b'u' | b'U');
    bytes.iter().skip(1).position(may_begin).map_or(bytes.len(), |at| at + 1)
}

fn is_within_name(bytes: &[u8], at: usize) -> bool {
    at.checked_sub(1).is_some_and(|before| {
        let byte = bytes[before];
        byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'\\') || !byte.is_ascii()
    })
}

/// The content of `url(`, and its end.
fn url(css: &str, from: usize) -> (&str, usize) {
    let bytes = css.as_bytes();
    let begin = bytes[from..].iter().position(|byte| !byte.is_ascii_whitespace()).map_or(bytes.len(), |at| from + at);
    match bytes.get(begin) {
        Some(&quote @ (b'"' | b'\'')) => {
            let end = string_end(bytes, begin + 1, quote);
            (&css[begin + 1..end], end + 1)
        }
        _ => {
            let end = unescaped_byte(bytes, begin, b')');
            (css[begin..end].trim_end_matches(|c: char| c.is_ascii_whitespace()), end + 1)
        }
    }
}

/// A line break ends an unclosed string.
fn string_end(bytes: &[u8], from: usize, quote: u8) -> usize {
    let mut at = from;
    for found in memchr3_iter(quote, b'\\', b'\n', &bytes[from..]).map(|found| from + found) {
        if found < at {
            continue; // escaped
        }
        if bytes[found] != b'\\' {
            return found;
        }
        at = found + 2;
    }
    bytes.len()
}

fn unescaped_byte(bytes: &[u8], from: usize, wanted: u8) -> usize {
    let mut at = from;
    while at < bytes.len() && bytes[at] != wanted {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at.min(bytes.len())
}

/// `\26 ` and `\&` both mean `&`; an escaped line break is removed.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let digits = rest.bytes().take(6).take_while(u8::is_ascii_hexdigit).count();
        if digits > 0 {
            let number = u32::from_str_radix(&rest[..digits], 16).ok().and_then(char::from_u32);
            out.push(number.unwrap_or(char::REPLACEMENT_CHARACTER));
            rest = &rest[digits..];
            rest = rest.strip_prefix(|c: char| c.is_ascii_whitespace()).unwrap_or(rest);
        } else if let Some(escaped) = rest.chars().next() {
            if escaped != '\n' {
                out.push(escaped);
            }
            rest = &rest[escaped.len_utf8()..];
        }
    }
    out + rest
}
