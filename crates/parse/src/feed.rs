//! Feeds: RSS 0.9x, 1.0 and 2.0, Atom 0.3 and 1.0 (RFC 4287). This module recognises them; [`super::sitemap`] reads
//! them, since a feed can serve as a sitemap.

/// Bytes that are searched for the first element, after comments and processing instructions.
const MAX_PROLOGUE: usize = 4 << 10;

/// Whether a body is a feed, by its first element, whatever its media type (MIME Sniffing standard §7.1).
pub fn is_feed(body: &[u8]) -> bool {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let start = String::from_utf8_lossy(body.get(..MAX_PROLOGUE).unwrap_or(body));
    first_element(&start).is_some_and(|name| matches!(name, "rss" | "feed" | "RDF"))
}

/// The local name of the first element.
fn first_element(text: &str) -> Option<&str> {
    let mut rest = text.trim_start();
    while let Some(at) = rest.strip_prefix('<') {
        let end = match at {
            _ if at.starts_with("!--") => at.find("-->")? + 3,
            _ if at.starts_with(['?', '!']) => at.find('>')? + 1,
            _ => {
                let name = &at[..at.find(|c: char| c.is_whitespace() || matches!(c, '>' | '/'))?];
                return name.rsplit(':').next();
            }
        };
        rest = at[end..].trim_start();
    }
    None
}
