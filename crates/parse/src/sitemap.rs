//! Sitemaps (sitemaps.org protocol 0.9): XML `urlset` and `sitemapindex`, RSS and Atom feeds, plain text; gzip or not.
//!
//! Elements are recognised by their local names and parents, so a missing or wrong namespace does no harm. URLs inside
//! extensions (`image:image/image:loc`, `video:player_loc`, `xhtml:link`) are never taken for pages. Entities defined
//! by the document are not expanded.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io::Read;

use encoding_rs::{UTF_8, UTF_16BE, UTF_16LE};
use flate2::read::MultiGzDecoder;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use url::Url;
use xxhash_rust::xxh3::xxh3_128;

use super::charset::http_charset;
use super::prescan::xml_encoding;
use super::short::starts_with;
use crate::page::EpochMs;

/// Bytes that are read of a sitemap after gunzip (the protocol's own limit).
pub const MAX_BYTES: usize = 50 << 20;

/// URLs that are read from a sitemap (the protocol's own limit).
pub const MAX_URLS: usize = 50_000;
/// … and their total bytes: ten times what the longest sitemaps need.
const MAX_URLS_BYTES: usize = super::url::MAX_LINK_BYTES;

/// Real sitemaps nest four levels, feeds with XHTML some dozens.
const MAX_DEPTH: usize = 200;

/// The content of a sitemap.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sitemap {
    /// Pages, each with the stated time of its last change: `lastmod`, or the latest time of a feed's entry.
    pub urls: Vec<(String, Option<EpochMs>)>,
    /// Further sitemaps of a sitemap index. An index may list an index, or itself: the caller limits the depth.
    pub sitemaps: Vec<(String, Option<EpochMs>)>,
    /// Language of a feed: `<language>`, `<dc:language>` or `xml:lang`, as written. Languages of single items are
    /// ignored.
    pub language: Option<String>,
    /// Set if the rest was not read. The lists are valid nevertheless.
    pub incomplete: Option<Incomplete>,
    /// Bytes of the URLs so far, as written.
    bytes: usize,
    /// The first item, or the first URL of a sitemap, was read.
    has_begun: bool,
}

/// Why a sitemap was not read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Incomplete {
    /// The gzip stream or the XML is broken.
    Malformed,
    /// Longer than [`MAX_BYTES`], or nested too deeply.
    TooLarge,
    /// More than [`MAX_URLS`] URLs.
    TooManyUrls,
}

/// Parses a sitemap into normalised URLs, in order, without repeats. `body`: without content codings (but a `.xml.gz`
/// file may still be gzipped). `content_type`: the HTTP header, for its charset. `url`: that of the sitemap; a feed's
/// links are relative to it. `dropped`: parameters to remove, as for links.
pub fn parse(body: &[u8], content_type: Option<&str>, url: &str, dropped: &[String]) -> Sitemap {
    let base = Url::parse(url).ok();
    let normal = |text: &str| {
        let url = base.as_ref().map_or_else(|| super::url::parse(text), |base| super::url::resolve(base, text))?;
        Some(super::query::without(url, dropped))
    };
    let mut seen = HashSet::new();
    let mut once = |named: Vec<(String, Option<EpochMs>)>| {
        let urls = named.iter().filter_map(|(text, changed)| Some((normal(text)?, *changed)));
        urls.filter(|(url, _)| seen.insert(xxh3_128(url.as_bytes()))).collect()
    };
    let written = read(body, content_type);
    Sitemap { urls: once(written.urls), sitemaps: once(written.sitemaps), ..written }
}

/// Reads the URLs of a sitemap as written, without surrounding blanks. Absolute http(s) URLs; only a feed's links may
/// be relative.
pub fn read(body: &[u8], content_type: Option<&str>) -> Sitemap {
    let mut found = Sitemap::default();
    let bytes = found.inflate(body);
    let text = decode(&bytes, content_type);
    if text.trim_start().starts_with('<') {
        found.read_xml(&text);
    } else {
        text.split(['\r', '\n']).take_while(|line| found.take_absolute(Tag::Url, line.trim(), None)).for_each(drop);
    }
    found
}

impl Sitemap {
    fn inflate<'a>(&mut self, body: &'a [u8]) -> Cow<'a, [u8]> {
        let mut bytes = Cow::Borrowed(body);
        if body.starts_with(&[0x1f, 0x8b]) {
            let mut inflated = Vec::new();
            if MultiGzDecoder::new(body).take(MAX_BYTES as u64 + 1).read_to_end(&mut inflated).is_err() {
                self.stop(Incomplete::Malformed);
            }
            bytes = Cow::Owned(inflated);
        }
        if bytes.len() > MAX_BYTES {
            self.stop(Incomplete::TooLarge);
            match &mut bytes {
                Cow::Borrowed(bytes) => *bytes = &bytes[..MAX_BYTES],
                Cow::Owned(bytes) => bytes.truncate(MAX_BYTES),
            }
        }
        bytes
    }

    fn read_xml(&mut self, text: &str) {
        let mut reader = Reader::from_str(text);
        let config = reader.config_mut();
        config.check_end_names = false;
        config.allow_dangling_amp = true;
        let mut open: Vec<Tag> = Vec::new();
        let mut entry = Entry::default();
        loop {
            match reader.read_event() {
                Ok(Event::Start(start)) if open.len() < MAX_DEPTH => {
                    let mut tag = self.tag(&start);
                    if tag == Tag::Item && open.contains(&Tag::Item) {
                        tag = Tag::Other; // an extension's: `content:item`
                    }
                    entry.start(tag, open.last().copied(), &start);
                    if matches!(tag, Tag::Url | Tag::Sitemap) {
                        entry.first = self.list(tag).len();
                    }
                    open.push(tag);
                }
                Ok(Event::Start(_)) => return self.stop(Incomplete::TooLarge),
                Ok(Event::Empty(start)) => {
                    let tag = self.tag(&start);
                    entry.start(tag, open.last().copied(), &start);
                    entry.reading = false;
                }
                Ok(Event::End(_)) => {
                    let tag = open.pop();
                    if !self.end(tag, open.last().copied(), &mut entry) {
                        return;
                    }
                }
                Ok(Event::Text(text)) => entry.push(&text.into_inner()),
                Ok(Event::CData(text)) => entry.push(&text.into_inner()),
                Ok(Event::GeneralRef(reference)) => entry.push_reference(&reference.into_inner()),
                Ok(Event::Eof) if open.is_empty() => return,
                Ok(Event::Eof) | Err(_) => return self.stop(Incomplete::Malformed),
                Ok(_) => {}
            }
        }
    }

    /// Handles a start tag. Records the language of a feed, which precedes its first item.
    fn tag(&mut self, start: &BytesStart) -> Tag {
        let tag = Tag::of(start.local_name().as_ref());
        self.has_begun |= matches!(tag, Tag::Item | Tag::Loc);
        if !self.has_begun && self.language.is_none() {
            self.language = attribute(start, "xml:lang").and_then(|said| language_tag(&said));
        }
        tag
    }

    /// Handles an end tag: of a complete text or a complete feed entry. Returns false when the sitemap is full.
    fn end(&mut self, tag: Option<Tag>, parent: Option<Tag>, entry: &mut Entry) -> bool {
        let was_reading = std::mem::take(&mut entry.reading);
        match (tag, parent) {
            (Some(Tag::Loc), Some(parent @ (Tag::Url | Tag::Sitemap))) if was_reading => {
                self.take_absolute(parent, entry.text.trim(), entry.changed)
            }
            (Some(Tag::Changed), Some(parent)) if was_reading => {
                entry.changed = entry.changed.max(super::date::parse(&entry.text));
                self.date(parent, entry)
            }
            (Some(Tag::Language), _) if was_reading && !self.has_begun && self.language.is_none() => {
                self.language = language_tag(&entry.text);
                true
            }
            (Some(Tag::Link), Some(Tag::Item)) if was_reading => entry.link(Rank::Stated),
            (Some(Tag::Guid), Some(Tag::Item)) if was_reading => entry.link(Rank::Implied),
            (Some(Tag::Item), _) if entry.rank.is_some() => self.take(Tag::Url, &entry.resolved(), entry.changed),
            _ => true,
        }
    }

    /// In sitemaps only absolute URLs count, since the base of relative ones is not defined.
    fn take_absolute(&mut self, parent: Tag, text: &str, changed: Option<EpochMs>) -> bool {
        let is_absolute = ["http://", "https://"].iter().any(|it| starts_with(text.as_bytes(), it.as_bytes()));
        !is_absolute || self.take(parent, text, changed)
    }

    /// Handles a date that follows its `loc`. A feed's entry is completed at its end instead.
    fn date(&mut self, parent: Tag, entry: &Entry) -> bool {
        let named = self.list(parent);
        if let (true, Some(last)) = (parent != Tag::Item && entry.first < named.len(), named.last_mut()) {
            last.1 = entry.changed;
        }
        true
    }

    fn list(&mut self, parent: Tag) -> &mut Vec<(String, Option<EpochMs>)> {
        if parent == Tag::Sitemap { &mut self.sitemaps } else { &mut self.urls }
    }

    fn take(&mut self, parent: Tag, text: &str, changed: Option<EpochMs>) -> bool {
        self.bytes += text.len();
        if self.urls.len() + self.sitemaps.len() == MAX_URLS || self.bytes > MAX_URLS_BYTES {
            self.stop(Incomplete::TooManyUrls);
            return false;
        }
        self.list(parent).push((text.to_owned(), changed));
        true
    }

    /// The first reason counts.
    fn stop(&mut self, why: Incomplete) {
        self.incomplete.get_or_insert(why);
    }
}

/// The relevant elements, by local name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tag {
    Url,
    Sitemap,
    Loc,
    /// RSS `item`, Atom `entry`.
    Item,
    Link,
    Guid,
    /// When the entry was changed or made.
    Changed,
    Language,
    Other,
}

impl Tag {
    fn of(local_name: &str) -> Tag {
        match local_name {
            "url" => Tag::Url,
            "sitemap" => Tag::Sitemap,
            "loc" => Tag::Loc,
            "item" | "entry" => Tag::Item,
            "link" => Tag::Link,
            "guid" => Tag::Guid,
            // Of the sitemap protocol, Atom 1.0 and 0.3, RSS 2.0 and 1.0.
            "lastmod" | "updated" | "published" | "modified" | "issued" | "pubDate" | "date" => Tag::Changed,
            "language" => Tag::Language,
            _ => Tag::Other,
        }
    }
}

/// The entry being read.
#[derive(Default)]
struct Entry {
    /// Text is being collected: that of a `loc`, `link`, `guid`, date or language.
    reading: bool,
    text: String,
    /// The best link of a feed entry so far.
    link: String,
    rank: Option<Rank>,
    /// `xml:base` of an Atom feed, and of this entry (RFC 4287 §2).
    bases: [Option<String>; 2],
    changed: Option<EpochMs>,
    /// Number of URLs or sitemaps before this entry.
    first: usize,
}

/// How well a link represents its feed entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// RSS 1.0: the identifier of the item.
    Named,
    /// RSS: a guid that is a permalink. Atom: a link without `rel`.
    Implied,
    /// RSS: a link. Atom: a link with `rel="alternate"`.
    Stated,
}

impl Entry {
    fn start(&mut self, tag: Tag, parent: Option<Tag>, start: &BytesStart) {
        self.text.clear();
        self.reading = matches!(
            (tag, parent),
            (Tag::Loc | Tag::Changed, Some(Tag::Url | Tag::Sitemap))
                | (Tag::Link | Tag::Guid | Tag::Changed, Some(Tag::Item))
                | (Tag::Language, _)
        );
        if matches!(tag, Tag::Url | Tag::Sitemap | Tag::Item) {
            self.changed = None;
        }
        let base = || attribute(start, "xml:base").map(|base| base.trim().to_owned());
        match (tag, parent) {
            (Tag::Other, None) => self.bases[0] = base(),
            (Tag::Item, _) => {
                self.rank = None;
                self.bases[1] = base();
                if let Some(about) = attribute(start, "rdf:about") {
                    self.text.push_str(&about);
                    self.link(Rank::Named);
                }
            }
            (Tag::Guid, Some(Tag::Item)) => {
                self.reading = attribute(start, "isPermaLink").is_none_or(|value| value.trim() != "false");
            }
            (Tag::Link, Some(Tag::Item)) => self.atom_link(start),
            _ => {}
        }
    }

    fn atom_link(&mut self, start: &BytesStart) {
        let Some(href) = attribute(start, "href") else { return };
        self.reading = false;
        let rank = match attribute(start, "rel").as_deref() {
            None => Rank::Implied,
            Some("alternate") => Rank::Stated,
            Some(_) => return,
        };
        self.text.push_str(&href);
        self.link(rank);
    }

    /// Takes the collected text as the entry's link, unless there is an equally good one. Always returns true, since no
    /// list can become full.
    fn link(&mut self, rank: Rank) -> bool {
        let text = self.text.trim();
        if !text.is_empty() && self.rank < Some(rank) {
            self.link.clear();
            self.link.push_str(text);
            self.rank = Some(rank);
        }
        true
    }

    /// The link, resolved with the bases that the feed states.
    fn resolved(&self) -> Cow<'_, str> {
        let mut link = Cow::Borrowed(self.link.as_str());
        for base in self.bases.iter().rev().flatten() {
            // A base may be relative to the one around it, and the outermost to the feed's own URL.
            link = match url::Url::parse(base).and_then(|base| base.join(&link)) {
                Ok(joined) => Cow::Owned(joined.into()),
                Err(_) => link,
            };
        }
        link
    }

    fn push(&mut self, text: &str) {
        // A longer URL is refused anyway.
        if self.reading && self.text.len() + text.len() <= 4 * super::url::MAX_URL_BYTES {
            self.text.push_str(text);
        }
    }

    /// `&amp;`, `&#38;`; an entity unknown to XML is kept as written.
    fn push_reference(&mut self, name: &str) {
        let reference = format!("&{name};");
        let text = quick_xml::escape::unescape(&reference).unwrap_or(Cow::Borrowed(&reference));
        self.push(&text);
    }
}

/// The value of an attribute, with entities decoded.
fn attribute<'a>(start: &'a BytesStart, name: &str) -> Option<Cow<'a, str>> {
    let attribute = start.html_attributes().flatten().find(|attribute| attribute.key.0 == name)?;
    Some(match attribute.value {
        Cow::Borrowed(raw) => quick_xml::escape::unescape(raw).unwrap_or(Cow::Borrowed(raw)),
        Cow::Owned(raw) => Cow::Owned(raw),
    })
}

/// Letters, digits and hyphens (RFC 5646), as written.
fn language_tag(text: &str) -> Option<String> {
    let text = text.trim();
    let is_tag =
        !text.is_empty() && text.len() <= 35 && text.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-');
    is_tag.then(|| text.to_owned())
}

/// Decodes a document. The encoding is that of the byte order mark, the header, or the XML declaration; UTF-16 without
/// a mark, recognised by the zero next to `<`; otherwise UTF-8 (RFC 7303).
fn decode<'a>(bytes: &'a [u8], content_type: Option<&str>) -> Cow<'a, str> {
    let declared = || match bytes {
        [b'<', 0, ..] => Some(UTF_16LE),
        [0, b'<', ..] => Some(UTF_16BE),
        // A declaration that is readable as ASCII cannot be in an incompatible encoding.
        _ => xml_encoding(bytes.trim_ascii_start()).filter(|declared| declared.is_ascii_compatible()),
    };
    content_type.and_then(http_charset).or_else(declared).unwrap_or(UTF_8).decode(bytes).0
}
