//! Detects the character encoding of an HTML body, and decodes it.
//!
//! Sources in order of trust (HTML standard, "determining the character encoding"): byte order mark, HTTP `charset`,
//! the prescan for `<meta charset>`, then the bytes themselves.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, REPLACEMENT, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

use super::media_type::media_type;
use super::prescan::prescan;

/// Bytes used for frequency detection. It is the slowest step of reading a page, and more bytes do not improve the
/// result.
const DETECT_BYTES: usize = 64 << 10;
/// Bytes searched for the zero bytes of UTF-16.
const UTF16_SAMPLE: usize = 1024;

/// The encoding of an HTML body. `content_type` is the whole header value.
///
/// A UTF-8 byte order mark is ignored if the header names another encoding and the rest is not UTF-8. Then somebody has
/// prepended the mark by mistake.
///
/// Impossible labels are ignored: UTF-16 without a zero byte, and labels that the Encoding standard maps to
/// `replacement`, with which all links would be lost.
pub fn detect(body: &[u8], content_type: Option<&str>) -> &'static Encoding {
    let header = content_type.and_then(http_charset);
    if let Some((encoding, length)) = Encoding::for_bom(body)
        && (encoding != UTF_8 || header.is_none_or(|header| header == UTF_8) || is_mostly_utf8(&body[length..]))
    {
        return encoding;
    }
    let declared = header
        .filter(|label| is_plausible(label, body))
        .or_else(|| prescan(body).filter(|label| is_plausible(label, body)));
    declared.unwrap_or_else(|| guess(body))
}

/// Decodes the body. Removes its byte order mark; malformed bytes become U+FFFD. Valid UTF-8 (or ASCII) is not copied.
pub fn decode_text<'a>(body: &'a [u8], encoding: &'static Encoding) -> Cow<'a, str> {
    let is_marked = encoding != UTF_8 && body.starts_with(b"\xef\xbb\xbf");
    encoding.decode_with_bom_removal(if is_marked { &body[3..] } else { body }).0
}

/// The `charset` parameter of a media type, if it names an encoding (RFC 9110 §8.3.1). Also accepts single quotes, and
/// a blank or comma instead of the semicolon, as servers send them.
pub(super) fn http_charset(content_type: &str) -> Option<&'static Encoding> {
    let (_, parameters) = content_type.split_once(media_type(content_type))?;
    parameters.split([';', ',']).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let is_charset = name.trim().eq_ignore_ascii_case("charset");
        let label = value.trim().trim_matches(['"', '\'']);
        is_charset.then(|| Encoding::for_label(label.as_bytes())).flatten()
    })
}

/// Whether the text has more UTF-8 characters than malformed sequences. A character that was cut off does not count.
fn is_mostly_utf8(text: &[u8]) -> bool {
    if is_utf8(text) {
        return true;
    }
    let (mut characters, mut malformed) = (0_usize, 0_usize);
    for chunk in text.utf8_chunks() {
        characters += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        malformed += usize::from(!chunk.invalid().is_empty());
    }
    characters > malformed
}

fn is_plausible(label: &&'static Encoding, body: &[u8]) -> bool {
    let is_utf16 = *label == UTF_16LE || *label == UTF_16BE;
    *label != REPLACEMENT && (!is_utf16 || utf16_without_bom(body).is_some())
}

/// Guesses from the bytes: UTF-16 by its zero bytes, UTF-8 if valid, otherwise by letter frequencies. Pure ASCII is
/// windows-1252, the standard's default.
fn guess(body: &[u8]) -> &'static Encoding {
    if let Some(utf16) = utf16_without_bom(body) {
        return utf16;
    }
    let ascii = Encoding::ascii_valid_up_to(body);
    let sample = &body[ascii..];
    if is_utf8(sample) {
        return if ascii == body.len() && !body.contains(&0x1b) { WINDOWS_1252 } else { UTF_8 };
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    match sample.get(..DETECT_BYTES) {
        Some(start) => detector.feed(start, false),
        None => detector.feed(sample, true),
    };
    detector.guess(None, Utf8Detection::Deny)
}

/// Whether the text is valid UTF-8. A last character that was cut is ignored.
fn is_utf8(text: &[u8]) -> bool {
    std::str::from_utf8(text).map_or_else(|error| error.error_len().is_none(), |_| true)
}

/// UTF-16 markup has a zero in every second byte: nearly all at odd or nearly all at even offsets.
fn utf16_without_bom(body: &[u8]) -> Option<&'static Encoding> {
    let sample = body.get(..UTF16_SAMPLE).unwrap_or(body);
    let zeros = |offset: usize| sample.iter().skip(offset).step_by(2).filter(|&&byte| byte == 0).count();
    let (even, odd, pairs) = (zeros(0), zeros(1), sample.len() / 2);
    let many = |count: usize| count * 4 > pairs && count >= 2;
    let few = |count: usize| count * 20 <= pairs;
    match (many(even), many(odd)) {
        (true, false) if few(odd) => Some(UTF_16BE),
        (false, true) if few(even) => Some(UTF_16LE),
        _ => None,
    }
}
