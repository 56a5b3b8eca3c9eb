//! The character encoding of an HTML body, and the body as text.
//!
//! Order of trust (HTML standard, "determining the character encoding"): byte order mark, HTTP `charset`, the prescan
//! for `<meta charset>`, then the bytes themselves.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, REPLACEMENT, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

use super::media_type::media_type;
use super::prescan::prescan;

/// Frequency detection is the slowest step of reading a page and learns nothing more after this many bytes.
const DETECT_BYTES: usize = 64 << 10;
/// How much is looked at for the zero bytes of UTF-16.
const UTF16_SAMPLE: usize = 1024;

/// The encoding of an HTML body. `content_type` is the whole header value.
///
/// A byte order mark of UTF-8 is none when the header names another encoding and what follows is no UTF-8: somebody has put
/// the two together without looking.
///
/// A label that cannot be true counts as none: UTF-16 without one zero byte, and those that the Encoding standard maps
/// to `replacement` (their links would be lost).
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

/// The body as text, its byte order mark taken off, what is malformed replaced by U+FFFD. Not copied when it is valid
/// UTF-8 (or ASCII) already.
pub fn decode_text<'a>(body: &'a [u8], encoding: &'static Encoding) -> Cow<'a, str> {
    let is_marked = encoding != UTF_8 && body.starts_with(b"\xef\xbb\xbf");
    encoding.decode_with_bom_removal(if is_marked { &body[3..] } else { body }).0
}

/// The `charset` parameter of a media type, when it names an encoding (RFC 9110 §8.3.1; single quotes, and a blank or a comma
/// instead of the semicolon, as seen in the wild).
pub(super) fn http_charset(content_type: &str) -> Option<&'static Encoding> {
    let (_, parameters) = content_type.split_once(media_type(content_type))?;
    parameters.split([';', ',']).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let is_charset = name.trim().eq_ignore_ascii_case("charset");
        let label = value.trim().trim_matches(['"', '\'']);
        is_charset.then(|| Encoding::for_label(label.as_bytes())).flatten()
    })
}

/// Whether there are more characters of UTF-8 than places where it is malformed. A character that was cut off is none.
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

/// From the bytes alone: UTF-16 by its zero bytes, UTF-8 when valid, else by letter frequencies. Pure ASCII is
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

/// Valid UTF-8; a last character that a cut took half of is forgiven.
fn is_utf8(text: &[u8]) -> bool {
    std::str::from_utf8(text).map_or_else(|error| error.error_len().is_none(), |_| true)
}

/// UTF-16 of markup has a zero in every second byte: nearly all on one side and hardly any on the other.
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
