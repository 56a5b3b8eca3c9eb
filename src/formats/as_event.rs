//! What the formats that keep less than the wire share when they say what they know of a page.

use std::borrow::Cow;

use bytes::Bytes;

use crate::page::{Headers, Outcome, PageEvent, Response, Truncated};
use crate::parse::charset;

/// A header's name and its values.
pub type Header<'a> = (Cow<'a, str>, Vec<Cow<'a, str>>);

/// Headers kept as names with their values, one by one. `content_type`: what the format keeps beside them, taken when no
/// header says it.
pub(super) fn each_header<'a>(
    gathered: impl IntoIterator<Item = Header<'a>>,
    content_type: Option<Cow<'a, str>>,
) -> Headers {
    let mut headers = Headers::default();
    for (name, mut values) in gathered {
        let last = values.pop();
        headers.0.extend(values.into_iter().map(|value| (name.to_string(), value.into_owned())));
        headers.0.extend(last.map(|value| (name.into_owned(), value.into_owned())));
    }
    if let Some(content_type) = content_type.filter(|_| headers.get("content-type").is_none()) {
        headers.push("Content-Type", content_type);
    }
    headers
}

/// Gives a read-back event its answer, and the id that such an answer always has.
pub(super) fn answer(event: &mut PageEvent, headers: Headers, body: Bytes) {
    if let Some(response) = response_mut(event) {
        response.headers = headers;
        response.body = body;
    }
    event.give_id();
}

/// Notes of a read-back event why its body was cut, if it was.
pub(super) fn mark_truncated(event: &mut PageEvent, truncated: Option<Truncated>) {
    if let Some(response) = response_mut(event) {
        response.truncated = truncated;
    }
}

pub(super) fn response_mut(event: &mut PageEvent) -> Option<&mut Response> {
    match &mut event.outcome {
        Outcome::Response(response) => Some(response),
        Outcome::Failure(_) => None,
    }
}

/// Bytes that are read as this text again: in the charset that the page itself claims where that can say all of it, which
/// is what was received; else as UTF-8 with a byte order mark, which nothing overrules.
pub(super) fn body_of_text(text: String, content_type: Option<&str>) -> Bytes {
    let reads_as_text = |bytes: &[u8]| charset::decode_text(bytes, charset::detect(bytes, content_type)) == text;
    // ACHE leaves the byte order mark in the text: it stands before the body as it does there.
    if text.starts_with('\u{feff}') || reads_as_text(text.as_bytes()) {
        return Bytes::from(text);
    }
    let claimed = charset::detect(text.as_bytes(), content_type);
    let (coded, _, lossy) = claimed.encode(&text);
    if !lossy && reads_as_text(&coded) {
        return Bytes::from(coded.into_owned());
    }
    Bytes::from(format!("\u{feff}{text}"))
}
