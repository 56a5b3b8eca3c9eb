//! Facts that a page states about itself, and its links.
//!
//! [`read`] reads the page once without a tree. The result equals that from a tree built by the HTML standard
//! (`crates/parse/tests/html` compares them), except that links in elements that the tree repeats occur once.

use std::borrow::Cow;

use super::html::names::{HEAD, Name};
use super::html::outline::{self, Element, Namespace, Visitor};
use super::html::{decode_attribute, decode_text};
use super::media_type::{HTML_TYPES, media_type};
use super::meta::{self, RobotsMeta};
use super::robots::MAX_LICENSES;
use super::short::starts_with;

/// Further links of a page are not read ([`HtmlFacts::is_cut`]). The same limit as for sitemaps.
pub const MAX_LINKS: usize = 50_000;
/// Longer references are ignored. RFC 9110 §4.1 asks servers to support 8000 bytes.
pub(super) const MAX_HREF_BYTES: usize = 8 << 10;
/// Longer titles are cut; they come from a `<title>` that was never closed.
pub const MAX_TITLE_BYTES: usize = 4 << 10;
const MAX_META: usize = 1_000;
/// Longer language names are ignored.
const MAX_LANG_BYTES: usize = 256;

/// Facts from the markup, as written; URLs are not resolved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HtmlFacts {
    /// The first `<base href>`.
    pub base: Option<String>,
    /// The first `<title>` that is not blank, with white space collapsed.
    pub title: Option<String>,
    /// In order of appearance, with repeats.
    pub links: Vec<RawLink>,
    /// There were more than [`MAX_LINKS`] links.
    pub is_cut: bool,
    /// `<meta name|property|http-equiv … content>` in order: the name in lower case, the content as written.
    pub meta: Vec<(String, String)>,
    /// The first `<link rel=canonical>`.
    pub canonical: Option<String>,
    /// The page has `<link rel=shortlink>`. In WordPress such a page is a single post.
    pub has_shortlink: bool,
    /// The first `<meta http-equiv=refresh>` with a URL: the delay in seconds, and the URL.
    pub refresh: Option<(u32, String)>,
    pub robots: RobotsMeta,
    /// `<link rel=license>` to an RSL licence, as written.
    pub rsl: Vec<String>,
    /// `<html lang>`.
    pub lang: Option<String>,
}

/// A reference to another page as written, with entities decoded and without surrounding white space.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RawLink {
    pub href: String,
    /// `rel` has `nofollow`, `ugc` or `sponsored`.
    pub nofollow: bool,
    pub source: LinkSource,
}

/// The kind of element that the link comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LinkSource {
    A,
    Area,
    Link,
    /// `<link rel=alternate>` to a feed.
    Feed,
    Frame,
    Iframe,
    /// `<meta http-equiv=refresh>`.
    Refresh,
}

/// Reads a page. `agent` is our product token, for `<meta name=AGENT>`.
pub fn read(text: &str, agent: &str) -> HtmlFacts {
    let mut collector = Collector::default();
    outline::read(text, &mut collector);
    collector.finish(agent)
}

/// Collects facts from elements, in the order of their start tags.
#[derive(Debug, Default)]
pub struct Collector {
    facts: HtmlFacts,
    /// Number of links before the body began.
    in_head: Option<usize>,
}

impl<'a> Visitor<'a> for Collector {
    fn open(&mut self, element: &Element<'_, 'a>) {
        if self.in_head.is_none() && !element.name.has(HEAD) {
            self.in_head = Some(self.facts.links.len());
        }
        match element.namespace {
            Namespace::Html => self.element(element.name, |name| element.attribute(name).map(decode_attribute)),
            // SVG has links, too.
            Namespace::Svg if element.name == Name::A => self.element(element.name, |name| {
                let xlink = || element.attribute("xlink:href").filter(|_| name == "href");
                element.attribute(name).or_else(xlink).map(decode_attribute)
            }),
            _ => {}
        }
    }

    fn raw(&mut self, name: Name, text: &'a str) {
        if name == Name::Title && self.facts.title.is_none() {
            self.title(&decode_text(text));
        }
    }

    fn frames(&mut self) {
        self.facts.links.truncate(self.in_head.unwrap_or(usize::MAX));
    }
}

impl Collector {
    /// Handles an element, given its name. `attribute` returns the decoded value of an attribute.
    pub fn element<'a>(&mut self, name: Name, attribute: impl Fn(&str) -> Option<Cow<'a, str>>) {
        match name {
            Name::A => self.anchor(LinkSource::A, &attribute),
            Name::Area => self.anchor(LinkSource::Area, &attribute),
            Name::Link => self.link_element(&attribute),
            Name::Iframe => self.link(attribute("src"), false, LinkSource::Iframe),
            Name::Frame => self.link(attribute("src"), false, LinkSource::Frame),
            Name::Meta => self.meta(&attribute),
            Name::Base if self.facts.base.is_none() => self.facts.base = reference(attribute("href")),
            Name::Html if self.facts.lang.is_none() => {
                let lang = attribute("lang").filter(|lang| lang.len() <= MAX_LANG_BYTES);
                self.facts.lang = lang.map(Cow::into_owned);
            }
            _ => {}
        }
    }

    pub fn title(&mut self, text: &str) {
        let title = collapse(text, MAX_TITLE_BYTES);
        if self.facts.title.is_none() && !title.is_empty() {
            self.facts.title = Some(title);
        }
    }

    pub fn finish(mut self, agent: &str) -> HtmlFacts {
        self.facts.robots = meta::from_meta(&self.facts.meta, agent);
        self.facts
    }

    fn anchor<'a>(&mut self, source: LinkSource, attribute: &impl Fn(&str) -> Option<Cow<'a, str>>) {
        let href = attribute("href");
        if href.is_some() {
            let nofollow = attribute("rel").is_some_and(|rel| is_nofollow(&rel));
            self.link(href, nofollow, source);
        }
    }

    fn link_element<'a>(&mut self, attribute: &impl Fn(&str) -> Option<Cow<'a, str>>) {
        let Some(rel) = attribute("rel") else { return };
        self.facts.has_shortlink |= has_token(&rel, "shortlink");
        if is_rsl(&rel, || attribute("type")) && self.facts.rsl.len() < MAX_LICENSES {
            self.facts.rsl.extend(reference(attribute("href")));
        }
        let Some(source) = relation(&rel, || attribute("type")) else { return };
        let href = attribute("href");
        if self.facts.canonical.is_none() && has_token(&rel, "canonical") {
            self.facts.canonical = reference(href.clone());
        }
        self.link(href, is_nofollow(&rel), source);
    }

    fn meta<'a>(&mut self, attribute: &impl Fn(&str) -> Option<Cow<'a, str>>) {
        let Some(content) = attribute("content") else { return };
        let pragma = attribute("http-equiv").map(|pragma| pragma.to_ascii_lowercase());
        if pragma.as_deref() == Some("refresh")
            && let Some((seconds, url)) = parse_refresh(&content)
        {
            self.link(Some(url.as_str().into()), false, LinkSource::Refresh);
            self.facts.refresh.get_or_insert((seconds, url));
        }
        let name = attribute("name").or_else(|| attribute("property")).map(|name| name.trim().to_ascii_lowercase());
        if let Some(name) = name.or(pragma)
            && self.facts.meta.len() < MAX_META
        {
            self.facts.meta.push((name, content.into_owned()));
        }
    }

    fn link(&mut self, href: Option<Cow<str>>, nofollow: bool, source: LinkSource) {
        let Some(href) = reference(href) else { return };
        if self.facts.links.len() < MAX_LINKS {
            self.facts.links.push(RawLink { href, nofollow, source });
        } else {
            self.facts.is_cut = true;
        }
    }
}

/// A reference without surrounding white space; none if it is empty (the page itself) or too long.
pub(super) fn reference(href: Option<Cow<str>>) -> Option<String> {
    let href = href?;
    let trimmed = href.trim_ascii();
    if trimmed.is_empty() || trimmed.len() > MAX_HREF_BYTES {
        return None;
    }
    Some(if trimmed.len() == href.len() { href.into_owned() } else { trimmed.to_owned() })
}

pub(super) fn has_token(rel: &str, token: &str) -> bool {
    rel.split_ascii_whitespace().any(|given| given.eq_ignore_ascii_case(token))
}

/// The three `rel` values by which a site disowns a link.
pub(super) fn is_nofollow(rel: &str) -> bool {
    ["nofollow", "ugc", "sponsored"].iter().any(|hint| has_token(rel, hint))
}

/// The kind of link that `rel` stands for, if worth following: a page ([`LinkSource::Link`]), by the HTML standard's
/// link types and their older names, or a feed. None for everything else: style sheets, icons, hints for cache and
/// network, service endpoints, short URLs. `media_type` returns the link's `type`.
pub(super) fn relation<'a>(rel: &str, media_type: impl FnOnce() -> Option<Cow<'a, str>>) -> Option<LinkSource> {
    const PAGES: [&str; 18] = [
        "canonical",
        "next",
        "prev",
        "previous",
        "first",
        "last",
        "start",
        "contents",
        "index",
        "up",
        "amphtml",
        "author",
        "bookmark",
        "help",
        "license",
        "privacy-policy",
        "tag",
        "terms-of-service",
    ];
    let (mut is_page, mut is_alternate, mut is_no_page) = (false, false, false);
    for token in rel.split_ascii_whitespace() {
        let is = |known: &&str| token.eq_ignore_ascii_case(known);
        if is(&"stylesheet") {
            return None;
        }
        is_page |= PAGES.iter().any(is);
        is_alternate |= is(&"alternate");
        is_no_page |= is(&"icon") || is(&"shortlink");
    }
    if is_page {
        (!is_rsl(rel, media_type)).then_some(LinkSource::Link)
    } else if is_alternate && !is_no_page {
        alternate(media_type().as_deref())
    } else {
        None
    }
}

/// Whether it is an RSL licence, which is made for programs and is not a page.
pub(super) fn is_rsl<'a>(rel: &str, content_type: impl FnOnce() -> Option<Cow<'a, str>>) -> bool {
    let is_it = |given: Cow<'a, str>| media_type(&given).eq_ignore_ascii_case("application/rsl+xml");
    has_token(rel, "license") && content_type().is_some_and(is_it)
}

/// The same page in another language or for another device is a page, and a feed announces new pages. The same page in
/// another format (JSON, oEmbed, an editor's format, PDF) was fetched already.
fn alternate(content_type: Option<&str>) -> Option<LinkSource> {
    const FEEDS: [&str; 4] = ["application/rss+xml", "application/atom+xml", "text/xml", "application/xml"];
    let essence = content_type.map(media_type).unwrap_or_default();
    let is_one_of = |types: &[&str]| types.iter().any(|known| essence.eq_ignore_ascii_case(known));
    if essence.is_empty() || is_one_of(&HTML_TYPES) {
        Some(LinkSource::Link)
    } else {
        is_one_of(&FEEDS).then_some(LinkSource::Feed)
    }
}

/// Collapses white space to single blanks and cuts to `max` bytes.
pub fn collapse(text: &str, max: usize) -> String {
    let mut out = String::new();
    for word in text.split_ascii_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
        if out.len() > max {
            let cut = out.char_indices().map(|(at, _)| at).take_while(|at| *at <= max).last().unwrap_or(0);
            out.truncate(cut);
            break;
        }
    }
    out
}

/// Delay in seconds and URL of a refresh (HTML standard, "shared declarative refresh steps"); none without a URL.
pub fn parse_refresh(content: &str) -> Option<(u32, String)> {
    let content = content.trim_ascii_start();
    let digits = content.bytes().take_while(u8::is_ascii_digit).count();
    let (time, rest) = content.split_at(digits);
    if time.is_empty() && !rest.starts_with('.') {
        return None;
    }
    let seconds = time.bytes().fold(0u32, |sum, digit| sum.saturating_mul(10).saturating_add(u32::from(digit - b'0')));
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    if !rest.starts_with(|c: char| c.is_ascii_whitespace() || c == ';' || c == ',') {
        return None;
    }
    let rest = rest.trim_ascii_start();
    let rest = rest.strip_prefix([';', ',']).unwrap_or(rest).trim_ascii_start();
    let url = unquote(without_url_prefix(rest)).trim_ascii();
    (!url.is_empty() && url.len() <= MAX_HREF_BYTES).then(|| (seconds, url.to_owned()))
}

/// The text after `url=`; the whole text if it does not start so.
fn without_url_prefix(text: &str) -> &str {
    let value = starts_with(text.as_bytes(), b"url").then(|| text[3..].trim_ascii_start().strip_prefix('=')).flatten();
    value.map_or(text, |value| value.trim_ascii_start())
}

fn unquote(text: &str) -> &str {
    match text.chars().next() {
        Some(quote @ ('"' | '\'')) => text[1..].split(quote).next().unwrap_or_default(),
        _ => text,
    }
}
