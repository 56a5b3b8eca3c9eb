//! Reads the markup of a page: the standard's tokens ([`tokens`]) and the elements they form ([`outline`]).

use std::borrow::Cow;

pub mod names;
pub mod outline;
pub mod tokens;

/// The value of an attribute with character references decoded.
pub fn decode_attribute(raw: &str) -> Cow<'_, str> {
    match memchr::memchr3(b'&', b'\r', b'\0', raw.as_bytes()) {
        Some(_) => Cow::Owned(htmlize::unescape_attribute(&*normalize_input(raw)).into_owned()),
        None => Cow::Borrowed(raw),
    }
}

/// Text with character references decoded.
pub fn decode_text(raw: &str) -> Cow<'_, str> {
    match memchr::memchr3(b'&', b'\r', b'\0', raw.as_bytes()) {
        Some(_) => Cow::Owned(htmlize::unescape(&*normalize_input(raw)).into_owned()),
        None => Cow::Borrowed(raw),
    }
}

/// As the standard requires before parsing: line breaks become `\n`, NUL characters are replaced.
fn normalize_input(raw: &str) -> Cow<'_, str> {
    match memchr::memchr2(b'\r', b'\0', raw.as_bytes()) {
        Some(_) => Cow::Owned(raw.replace("\r\n", "\n").replace('\r', "\n").replace('\0', "\u{fffd}")),
        None => Cow::Borrowed(raw),
    }
}
