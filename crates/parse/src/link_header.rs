//! The `Link` header (RFC 8288): targets with their relation types.

use std::borrow::Cow;

/// One link of a `Link` header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderLink {
    /// As written between `<` and `>`; may be relative to the response's URL.
    pub target: String,
    /// The `rel` parameter: relation types separated by blanks.
    pub rel: String,
    /// The `type` parameter: the target's media type, as a hint.
    pub media_type: Option<String>,
}

/// The links in a header value that concern the page itself (no `anchor` parameter). Malformed parts are skipped.
pub fn parse(value: &str) -> Vec<HeaderLink> {
    let text = as_utf8(value);
    let mut links = Vec::new();
    let mut rest = text.as_ref();
    while let Some((_, after)) = rest.split_once('<') {
        let Some((target, after)) = after.split_once('>') else { break };
        let (parameters, after) = cut(after, b',');
        rest = after;
        if let Some((rel, media_type)) = rel_and_type(parameters) {
            links.push(HeaderLink { target: target.trim().to_owned(), rel, media_type });
        }
    }
    links
}

/// Header values are bytes as Latin-1. Non-ASCII URLs in them are UTF-8 in practice.
fn as_utf8(value: &str) -> Cow<'_, str> {
    if value.is_ascii() {
        return Cow::Borrowed(value);
    }
    match String::from_utf8(crate::page::string_to_latin1(value)) {
        Ok(text) => Cow::Owned(text),
        Err(_) => Cow::Borrowed(value),
    }
}

/// Splits at the first `separator` outside quotes.
fn cut(text: &str, separator: u8) -> (&str, &str) {
    let mut in_quotes = false;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_quotes => escaped = true,
            b'"' => in_quotes = !in_quotes,
            _ if byte == separator && !in_quotes => return (&text[..at], &text[at + 1..]),
            _ => {}
        }
    }
    (text, "")
}

/// The first `rel` and the first `type`; none without `rel`, or if the link concerns another page.
fn rel_and_type(parameters: &str) -> Option<(String, Option<String>)> {
    let (mut rel, mut media_type) = (None, None);
    let mut rest = parameters;
    while !rest.is_empty() {
        let (parameter, after) = cut(rest, b';');
        rest = after;
        let Some((name, value)) = parameter.split_once('=') else { continue };
        let value = || value.trim().trim_matches('"').to_owned();
        match name.trim().to_ascii_lowercase().as_str() {
            "anchor" => return None,
            "rel" => drop(rel.get_or_insert_with(value)),
            "type" => drop(media_type.get_or_insert_with(value)),
            _ => {}
        }
    }
    Some((rel?, media_type))
}
