//! Helpers to turn records back into page events, for formats that store less than the HTTP exchange.

use std::borrow::Cow;

use bytes::Bytes;

use seine_parse::charset;
use seine_parse::page::{Headers, Outcome, PageEvent, Response, Truncated};

/// A header's name and its values.
pub(crate) type Header<'a> = (Cow<'a, str>, Vec<Cow<'a, str>>);

/// Headers stored as names with their values, as single headers. `content_type` is stored separately by some formats,
/// and is used if no header has it.
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

/// Gives an event from an archive its answer, and the id that this answer always gets.
pub(super) fn answer(event: &mut PageEvent, headers: Headers, body: Bytes) {
    if let Some(response) = response_mut(event) {
        response.headers = headers;
        response.body = body;
    }
    event.give_id();
}

/// Sets why the body of an event from an archive was cut, if it was.
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

/// Encodes a text so that it is read as the same text again. Uses the charset that the page declares if it can encode
/// the whole text, since these are the bytes received. Otherwise uses UTF-8 with a byte order mark, which overrides any
/// declaration.
pub(super) fn body_of_text(text: String, content_type: Option<&str>) -> Bytes {
    let reads_as_text = |bytes: &[u8]| charset::decode_text(bytes, charset::detect(bytes, content_type)) == text;
    // ACHE keeps the byte order mark in the text, so it may be there already.
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
