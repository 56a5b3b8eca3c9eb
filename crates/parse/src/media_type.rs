//! Detects the kind of a body: by its media type, or by its beginning.

use super::short::starts_with;

/// Whether a body is HTML: by its media type, or without one by its beginning.
pub fn is_html(content_type: Option<&str>, body: &[u8]) -> bool {
    match content_type.map(media_type).unwrap_or_default() {
        "" => looks_like_html(body),
        essence => HTML_TYPES.iter().any(|html| essence.eq_ignore_ascii_case(html)),
    }
}

/// The media types that servers use for HTML.
pub(super) const HTML_TYPES: [&str; 4] =
    ["text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml", "application/xhtml"];

/// The media type of a `Content-Type` header without parameters, in its original case. Accepts what servers send:
/// parameters after a blank instead of a semicolon, the whole value repeated after a comma, or quotes.
pub fn media_type(content_type: &str) -> &str {
    let is_around = |c: char| c.is_ascii_whitespace() || matches!(c, ';' | ',' | '"' | '\'');
    content_type.trim_start_matches(is_around).split(is_around).next().unwrap_or_default()
}

/// The HTML patterns of the MIME Sniffing standard §7.1: the start of a tag, then a blank or `>`.
fn looks_like_html(body: &[u8]) -> bool {
    const STARTS: [&str; 17] = [
        "<!doctype html",
        "<html",
        "<head",
        "<script",
        "<iframe",
        "<h1",
        "<div",
        "<font",
        "<table",
        "<a",
        "<style",
        "<title",
        "<b",
        "<body",
        "<br",
        "<p",
        "<!--",
    ];
    let start = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body).trim_ascii_start();
    STARTS.iter().any(|pattern| {
        starts_with(start, pattern.as_bytes())
            && (*pattern == "<!--" || matches!(start.get(pattern.len()), Some(b' ' | b'>')))
    })
}

/// Whether it is `text/…`.
pub(crate) fn is_text(content_type: Option<&str>) -> bool {
    let kind = content_type.map(media_type).and_then(|essence| essence.get(..5));
    kind.is_some_and(|kind| kind.eq_ignore_ascii_case("text/"))
}
