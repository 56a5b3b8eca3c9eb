//! Feeds: RSS 0.9x, 1.0 and 2.0, Atom 0.3 and 1.0 (RFC 4287). This module recognises them; [`super::sitemap`] reads
//! them, since a feed can serve as a sitemap.

use quick_xml::Reader;
use quick_xml::events::Event;

/// Bytes that are searched for the first element, after comments and processing instructions, and that hold its tag.
const MAX_PROLOGUE: usize = 16 << 10;

/// Whether a body is a feed, by its first element, whatever its media type (MIME Sniffing standard §7.1).
pub fn is_feed(body: &[u8]) -> bool {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let start = String::from_utf8_lossy(body.get(..MAX_PROLOGUE).unwrap_or(body));
    let mut reader = Reader::from_str(&start);
    loop {
        match reader.read_event() {
            Ok(Event::Start(first) | Event::Empty(first)) => {
                return matches!(first.local_name().as_ref(), "rss" | "feed" | "RDF");
            }
            Ok(Event::Text(text)) if text.trim_start().is_empty() => {}
            Ok(Event::Decl(_) | Event::PI(_) | Event::Comment(_) | Event::DocType(_)) => {}
            _ => return false,
        }
    }
}
