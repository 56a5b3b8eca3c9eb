//! Feeds: RSS 0.9x, 1.0 and 2.0, Atom 0.3 and 1.0 (RFC 4287). Their items are read by [`super::sitemap`], as a feed may
//! stand for a sitemap; here is how one is known, and what language it says it is in.

use quick_xml::Reader;
use quick_xml::events::Event;

use super::sitemap;
use crate::page::EpochMs;

/// What a feed says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Feed {
    /// The articles' URLs, normalised, each once, in order.
    pub items: Vec<String>,
    /// When each of them changed, as it is said.
    pub items_changed: Vec<Option<EpochMs>>,
    /// `<language>`, `<dc:language>` or `xml:lang`, as written.
    pub language: Option<String>,
}

/// Comments and processing instructions before the first element are read so far, in bytes.
const MAX_PROLOGUE: usize = 4 << 10;
/// What a feed says of itself stands before its first item; so many elements are looked at for it.
const MAX_ELEMENTS: usize = 200;

/// Whether a body is a feed, whatever its media type says: its first element is one's (MIME Sniffing standard §7.1 knows
/// them the same way).
pub fn is_feed(body: &[u8]) -> bool {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let start = String::from_utf8_lossy(body.get(..MAX_PROLOGUE).unwrap_or(body));
    first_element(&start).is_some_and(|name| matches!(name, "rss" | "feed" | "RDF"))
}

/// Reads a feed. `content_type`: the HTTP header, for its charset. `url`: where it came from. `dropped`: parameters that are
/// taken out of its links.
pub fn parse(body: &[u8], content_type: Option<&str>, url: &str, dropped: &[String]) -> Feed {
    let found = sitemap::parse(body, content_type, url, dropped);
    let language = language(&sitemap::decode(body, content_type));
    Feed { items: found.urls, items_changed: found.urls_changed, language }
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

/// Of the whole feed: what an item says of itself is not asked.
fn language(text: &str) -> Option<String> {
    let mut reader = Reader::from_str(text);
    reader.config_mut().check_end_names = false;
    let mut inside = false;
    for _ in 0..MAX_ELEMENTS {
        match reader.read_event().ok()? {
            Event::Start(start) | Event::Empty(start) => {
                let name = start.local_name();
                if matches!(name.as_ref(), "item" | "entry") {
                    return None;
                }
                if let Some(said) = sitemap::attribute(&start, "xml:lang").and_then(|it| tag(&it)) {
                    return Some(said);
                }
                inside = name.as_ref() == "language";
            }
            Event::Text(text) if inside => return tag(&text.into_inner()),
            Event::End(_) => inside = false,
            Event::Eof => return None,
            _ => {}
        }
    }
    None
}

/// Letters, digits and hyphens (RFC 5646), as written.
fn tag(text: &str) -> Option<String> {
    let text = text.trim();
    let is_tag =
        !text.is_empty() && text.len() <= 35 && text.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-');
    is_tag.then(|| text.to_owned())
}
