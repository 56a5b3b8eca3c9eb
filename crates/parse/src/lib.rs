#![forbid(unsafe_code)]
#![warn(unreachable_pub)]
#![doc = include_str!("../README.md")]

use std::borrow::Cow;
use std::sync::Arc;

use ::url::Url as BaseUrl;
use bytes::Bytes;
use encoding_rs::{Encoding, UTF_8};
use sha2::{Digest, Sha256};

use crate::page::preferences::Statement;
use crate::page::{EpochMs, Kind, PageEvent, Response};

pub mod about;
pub mod charset;
pub mod clean_text;
pub mod date;
pub mod decode;
pub mod feed;
pub mod html;
pub mod html_facts;
pub mod html_text;
pub mod language;
pub mod link_header;
mod links;
pub mod main_text;
mod media_type;
pub mod meta;
pub mod page;
mod page_date;
mod path_pattern;
pub mod preferences;
mod prescan;
mod query;
pub mod readable;
pub mod requisites;
pub mod robots;
pub mod set_sketch;
mod short;
pub mod simhash;
pub mod sitemap;
mod stretches;
pub mod text_sketch;
pub mod url;
pub mod words;

use clean_text::TextOptions;
use decode::{DecodeProblem, Decoded, decode_body};
use html_facts::HtmlFacts;
use html_text::{PageFacts, page_facts};
pub use links::Resolver;
pub use media_type::{is_html, media_type};
use meta::RobotsMeta;
use requisites::{Named, Requisites};

/// Data derived from an event, once for all who need it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Derived {
    /// The decoded body. If a coding is broken or too long, the part that could be decoded.
    pub body: Bytes,
    /// Why `body` is incomplete.
    pub decode_problem: Option<DecodeProblem>,
    /// SHA-256 of `body`; zeros without a response.
    pub digest: [u8; 32],
    /// The media type is HTML, or there is none and the body looks like HTML. Independent of the status.
    pub is_html: bool,
    /// The encoding of an HTML body by its standard name, for example `UTF-8`.
    pub charset: Option<&'static str>,
    /// Like the next three, set only for successful HTML responses; headers count for others, too.
    pub title: Option<String>,
    /// Normalised, from `<link rel=canonical>` or the `Link` header (of any successful page).
    pub canonical: Option<String>,
    /// `<html lang>` as written.
    pub lang: Option<String>,
    /// Normalised http(s) URLs of the page's links, in order of first appearance, without repeats.
    pub links: Vec<Link>,
    /// Set if a successful response is an RSS or Atom feed, with its declared language. Its articles are in `links`.
    pub feed: Option<FeedFacts>,
    /// Normalised URLs of the page requisites of a page or style sheet, without repeats, as selected by
    /// [`DeriveOptions::requisites`].
    pub requisites: Vec<String>,
    /// Further sitemaps listed by a sitemap.
    pub sitemaps: Vec<String>,
    /// The times of changes stated by a sitemap or a feed: index in `links`, or beyond them in `sitemaps`.
    pub changed: Vec<(u32, EpochMs)>,
    /// Robots directives from `meta` elements and `X-Robots-Tag`, for any response.
    pub robots: RobotsMeta,
    /// What headers and markup say about the use of the page.
    pub preferences: Vec<Statement>,
}

/// Facts about a feed, apart from its articles.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FeedFacts {
    pub language: Option<String>,
}

/// A link, resolved against the page's base and normalised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    pub url: String,
    /// Not to be followed: by `rel=nofollow` (`ugc`, `sponsored`) on every occurrence, or for all links of the page.
    pub nofollow: bool,
}

/// The options of [`derive()`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeriveOptions {
    /// Limit of a body in bytes after each coding is removed; the rest is cut.
    pub max_decoded_bytes: u64,
    /// Mark links that are not to be followed; otherwise none is marked.
    pub obey_nofollow: bool,
    /// Our product token, as in robots.txt: `Seine`.
    pub agent: String,
    /// Which page requisites to list.
    pub requisites: Requisites,
    /// Whether the targets of forms with GET count as links.
    pub forms: bool,
    /// Query parameters that are removed from links: names, or prefixes with a `*`. Empty: none.
    pub drop_parameters: Arc<[String]>,
    /// The main text wanted by sinks that index text. [`derive()`] itself does not use it.
    pub text: TextOptions,
}

/// The options of a crawl without a configuration, except that links keep all their parameters.
impl Default for DeriveOptions {
    fn default() -> DeriveOptions {
        DeriveOptions {
            max_decoded_bytes: 20 << 20,
            obey_nofollow: true,
            agent: "Seine".to_owned(),
            requisites: Requisites::default(),
            forms: false,
            drop_parameters: Arc::default(),
            text: TextOptions { language: true, ..TextOptions::default() },
        }
    }
}

/// Derives everything that the pipeline needs from an event, in one pass over the body. Empty for a failure.
pub fn derive(event: &PageEvent, options: &DeriveOptions) -> Derived {
    facts(event, decode(event, options.max_decoded_bytes), options)
}

/// The decoded body; empty for a failure.
pub fn decode(event: &PageEvent, max_bytes: u64) -> Decoded {
    let max_bytes = match event.kind {
        Kind::Page | Kind::Requisite => max_bytes,
        Kind::Sitemap => max_bytes.max(sitemap::MAX_BYTES as u64),
    };
    event.response().map_or_else(Decoded::default, |response| decode_body(response, max_bytes))
}

/// Only the [decoded](decode()) body.
pub fn body(decoded: Decoded) -> Derived {
    Derived { body: decoded.body, decode_problem: decoded.problem, ..Derived::default() }
}

/// The body with its digest, content type and encoding, but nothing from the markup.
pub fn content(event: &PageEvent, decoded: Decoded, options: &DeriveOptions) -> Derived {
    event.response().map_or_else(Derived::default, |response| derive_body(event, response, decoded, options))
}

/// [`derive()`] for a decoded body.
pub fn facts(event: &PageEvent, decoded: Decoded, options: &DeriveOptions) -> Derived {
    let Some(response) = event.response() else { return Derived::default() };
    let mut derived = derive_body(event, response, decoded, options);
    let is_style_sheet =
        || response.content_type().is_some_and(|sent| media_type(sent).eq_ignore_ascii_case("text/css"));
    match event.kind {
        Kind::Sitemap if response.is_success() => _ = add_named(&mut derived, event, response, options),
        Kind::Sitemap => {}
        Kind::Requisite if options.requisites.styles && response.is_success() && is_style_sheet() => {
            let named = Named::of_style_sheet(&derived.text(), options).references;
            // References in a style sheet are UTF-8 whatever its encoding, and keep their parameters.
            let resolver = BaseUrl::parse(&event.final_url).map(|sheet| Resolver::of_headers(&sheet, &[]));
            derived.requisites = resolver.map_or(Vec::new(), |resolver| resolver.resolve_each(&named));
        }
        // An embedded resource may be a feed, too.
        Kind::Page | Kind::Requisite if response.is_success() && feed::is_feed(&derived.body) => {
            let language = add_named(&mut derived, event, response, options);
            derived.feed = Some(FeedFacts { language });
            derived.canonical = canonical_of_headers(event, response, options);
        }
        Kind::Page | Kind::Requisite if derived.is_html && response.is_success() => {
            let text = derived.text();
            let facts = html_facts::read(&text, &options.agent);
            let named = Named::of_page(&text, options);
            drop(text);
            add_facts(&mut derived, facts, named, event, response, options);
        }
        Kind::Page | Kind::Requisite if response.is_success() => {
            derived.canonical = canonical_of_headers(event, response, options)
        }
        Kind::Page | Kind::Requisite => {}
    }
    derived
}

/// A page for readers of its text: the derived data, and for HTML its content.
#[derive(Debug)]
pub struct PageText {
    pub facts: Arc<Derived>,
    pub page: Option<PageFacts>,
    /// Which main text is wanted.
    pub options: TextOptions,
}

impl From<Arc<Derived>> for PageText {
    fn from(facts: Arc<Derived>) -> PageText {
        let page = facts.is_html.then(|| page_facts(&facts.text()));
        PageText { facts, page, options: TextOptions::default() }
    }
}

impl Derived {
    /// The pages that a sitemap or a feed lists with the time of their last change.
    pub fn dated(&self) -> impl Iterator<Item = (&str, EpochMs)> {
        let url = |index: usize| match self.links.get(index) {
            Some(link) => Some(link.url.as_str()),
            None => self.sitemaps.get(index - self.links.len()).map(String::as_str),
        };
        self.changed.iter().filter_map(move |(index, changed)| Some((url(*index as usize)?, *changed)))
    }

    /// An HTML body decoded from its charset; any other body as UTF-8, with malformed bytes replaced.
    pub fn text(&self) -> Cow<'_, str> {
        charset::decode_text(&self.body, self.encoding())
    }

    fn encoding(&self) -> &'static Encoding {
        self.charset.and_then(|name| Encoding::for_label(name.as_bytes())).unwrap_or(UTF_8)
    }
}

/// Adds the URLs of a sitemap or a feed. Returns the language that a feed declares.
fn add_named(derived: &mut Derived, event: &PageEvent, response: &Response, options: &DeriveOptions) -> Option<String> {
    let found = sitemap::parse(&derived.body, response.content_type(), &event.final_url, &options.drop_parameters);
    let sitemaps = if event.kind == Kind::Sitemap { found.sitemaps } else { Vec::new() };
    let times = found.urls.iter().chain(&sitemaps).map(|(_, changed)| *changed);
    derived.changed = times.zip(0..).filter_map(|(changed, index)| Some((index, changed?))).collect();
    derived.links = found.urls.into_iter().map(|(url, _)| Link { url, nofollow: false }).collect();
    derived.sitemaps = sitemaps.into_iter().map(|(url, _)| url).collect();
    found.language
}

/// The data for every response.
fn derive_body(event: &PageEvent, response: &Response, decoded: Decoded, options: &DeriveOptions) -> Derived {
    let Decoded { body, problem } = decoded;
    let is_html = is_html(response.content_type(), &body);
    let robots = meta::from_headers(&response.headers, &options.agent);
    let is_image = response.content_type().is_some_and(|given| media_type(given).starts_with("image/"));
    Derived {
        digest: Sha256::digest(&body).into(),
        is_html,
        charset: is_html.then(|| charset::detect(&body, response.content_type()).name()),
        robots,
        preferences: preferences::of_headers(&response.headers, robots, is_image, &event.final_url),
        decode_problem: problem,
        body,
        ..Derived::default()
    }
}

/// Adds the facts from markup and headers, with URLs resolved.
fn add_facts(
    derived: &mut Derived,
    facts: HtmlFacts,
    named: Named,
    event: &PageEvent,
    response: &Response,
    options: &DeriveOptions,
) {
    derived.robots = derived.robots.merge(facts.robots);
    derived.preferences.extend(preferences::of_markup(&facts, &event.final_url));
    let Ok(page) = BaseUrl::parse(&event.final_url) else { return };
    let of_markup = Resolver::new(&page, facts.base.as_deref(), derived, &options.drop_parameters);
    let headers = links::of_headers(response);
    let canonical = facts.canonical.as_deref().and_then(|href| of_markup.resolve(href));
    derived.canonical = canonical.or_else(|| Resolver::of_headers(&page, &options.drop_parameters).canonical(&headers));
    derived.links = links::of_page(&page, &headers, &facts, &of_markup, &named.forms);
    derived.requisites = of_markup.resolve_each(&named.references);
    if !options.obey_nofollow {
        derived.links.iter_mut().for_each(|link| link.nofollow = false);
    } else if derived.robots.nofollow {
        derived.links.iter_mut().for_each(|link| link.nofollow = true);
    }
    derived.title = facts.title;
    derived.lang = facts.lang;
}

fn canonical_of_headers(event: &PageEvent, response: &Response, options: &DeriveOptions) -> Option<String> {
    let page = BaseUrl::parse(&event.final_url).ok()?;
    Resolver::of_headers(&page, &options.drop_parameters).canonical(&links::of_headers(response))
}
