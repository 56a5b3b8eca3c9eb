//! Facts that a page states about itself, besides its text and links: description, keywords, authors, dates, languages,
//! licences, Open Graph, JSON-LD. Values are as written. Longer values are cut or left out.

use std::sync::LazyLock;

use super::html::names::Name;
use super::html::outline::Element;
use super::html::{decode_attribute, decode_text};
use super::html_facts::{collapse, has_token};
use json_ld::Item;
use memchr::memmem::Finder;
pub use origin::{Found, Origin};

mod authors;
mod dates;
pub(crate) mod headline;
mod json_ld;
pub(crate) mod marks;
mod origin;

const MAX_META: usize = 1_000;
/// Limit for each of: pages in other languages, licences, authors, Open Graph properties.
const MAX_EACH: usize = 100;
/// Longer values are cut; longer URLs are left out.
const MAX_VALUE_BYTES: usize = 4 << 10;
/// `<meta>` elements with longer names are ignored.
const MAX_NAME_BYTES: usize = 256;
/// Bytes kept of a `<meta>` element's content.
const MAX_CONTENT_BYTES: usize = 64 << 10;
/// Keywords that are read from a list.
const MAX_LISTED: usize = 10_000;
/// Bytes of JSON-LD that are read per page, in whole blocks. Blocks nested deeper than 128 levels (the limit of
/// `serde_json`) are ignored.
const MAX_JSON_BYTES: usize = 256 << 10;

static CREATIVE_COMMONS: LazyLock<Finder> = LazyLock::new(|| Finder::new("creativecommons.org/"));

/// Facts that a page states about itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct About {
    /// Every `<meta … content>`.
    pub meta: Vec<Meta>,
    /// `<link rel=alternate hreflang>`: a language, and the page in that language.
    pub alternates: Vec<(String, String)>,
    /// `rel=license` and links to Creative Commons licences, without repeats.
    pub licenses: Vec<String>,
    /// The first `<base href>`.
    pub base: Option<String>,
    /// The first `<title>`.
    pub(crate) title: String,
    /// The items of its JSON-LD, articles first.
    items: Vec<Item>,
    json_bytes: usize,
    in_json: bool,
}

/// A `<meta … content>`. Names are in lower case.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Meta {
    /// Its `name` or `http-equiv`, or empty.
    pub name: String,
    /// Its `property` or `itemprop`, or empty; one name or several with blanks between them.
    pub property: String,
    pub content: String,
}

impl Meta {
    fn is(&self, name: &str) -> bool {
        self.name == name || self.property == name || self.properties().any(|property| property == name)
    }

    fn properties(&self) -> impl Iterator<Item = &str> {
        self.property.split_ascii_whitespace()
    }
}

impl About {
    /// Handles the start tag of an element.
    pub(super) fn open(&mut self, element: &Element) {
        if !element.is_html() {
            return;
        }
        match element.name {
            Name::Meta => self.meta(element),
            Name::Link | Name::A | Name::Area => self.link(element),
            Name::Base if self.base.is_none() => {
                self.base = element.attribute("href").map(|href| decode_attribute(href).into_owned());
            }
            Name::Script => {
                let kind = element.attribute("type").unwrap_or_default().trim();
                self.in_json = kind.eq_ignore_ascii_case("application/ld+json");
            }
            _ => {}
        }
    }

    /// Handles the content of a script.
    pub(super) fn script(&mut self, text: &str) {
        if !std::mem::take(&mut self.in_json) || self.json_bytes + text.len() > MAX_JSON_BYTES {
            return;
        }
        self.json_bytes += text.len();
        json_ld::read(text, &mut self.items);
        self.items.sort_by_key(|item| !item.is_article());
    }

    pub(super) fn title(&mut self, text: &str) {
        if self.title.is_empty() {
            self.title = collapse(&decode_text(text), MAX_VALUE_BYTES);
        }
    }

    fn meta(&mut self, element: &Element) {
        let Some(content) = element.attribute("content") else { return };
        if self.meta.len() < MAX_META {
            let first = |names: [&str; 2]| {
                let name = names.iter().find_map(|name| element.attribute(name));
                let name = name.filter(|name| name.len() <= MAX_NAME_BYTES).unwrap_or_default();
                decode_attribute(name).trim().to_ascii_lowercase()
            };
            let content = &content[..content.floor_char_boundary(MAX_CONTENT_BYTES)];
            self.meta.push(Meta {
                name: first(["name", "http-equiv"]),
                property: first(["property", "itemprop"]),
                content: decode_attribute(content).into_owned(),
            });
        }
    }

    fn link(&mut self, element: &Element) {
        let Some(href) = element.attribute("href").filter(|href| href.len() <= MAX_VALUE_BYTES) else { return };
        let rel = element.attribute("rel").unwrap_or_default();
        let names_license = |href: &str| {
            let licenses = ["licenses/", "publicdomain/"];
            let mut named =
                CREATIVE_COMMONS.find_iter(href.as_bytes()).map(|at| &href[at + CREATIVE_COMMONS.needle().len()..]);
            named.any(|path| licenses.iter().any(|licenses| path.starts_with(licenses)))
        };
        if has_token(rel, "license") || names_license(href) {
            let href = decode_attribute(href.trim()).into_owned();
            if self.licenses.len() < MAX_EACH && !self.licenses.contains(&href) {
                self.licenses.push(href);
            }
        }
        if element.name == Name::Link
            && has_token(rel, "alternate")
            && let Some(language) = element.attribute("hreflang").filter(|language| language.len() <= 35)
            && self.alternates.len() < MAX_EACH
        {
            self.alternates
                .push((decode_attribute(language.trim()).into_owned(), decode_attribute(href.trim()).into_owned()));
        }
    }

    /// The contents of `<meta>` elements with these names, in the order of `names`; blank ones are skipped.
    fn metas<'a, 'n>(&'a self, names: &'n [&'n str]) -> impl Iterator<Item = &'a str> + use<'a, 'n> {
        names.iter().flat_map(|name| {
            let named = self.meta.iter().filter(move |meta| meta.is(name));
            named.map(|meta| meta.content.trim()).filter(|content| !content.is_empty())
        })
    }

    fn of_items(&self, property: &'static str) -> impl Iterator<Item = &str> {
        self.items.iter().filter_map(|item| item.get(property).as_str()).map(str::trim).filter(|text| !text.is_empty())
    }

    /// The first `<meta>` with this name that is not blank.
    pub fn first(&self, name: &str) -> Option<&str> {
        self.metas(&[name]).next()
    }

    pub fn description(&self) -> Option<String> {
        let names = ["description", "og:description", "dc.description", "dcterms.description", "twitter:description"];
        let found = self.metas(&names).next().or_else(|| self.of_items("description").next());
        found.map(|text| collapse(text, MAX_VALUE_BYTES))
    }

    /// The keywords listed by `<meta name=keywords>`.
    pub fn keywords(&self) -> Vec<String> {
        let listed = self
            .metas(&["keywords", "news_keywords"])
            .flat_map(|list| list.split([',', ';', '，', '、']))
            .take(MAX_LISTED);
        let articles = self.metas(&["article:tag"]);
        each_once(listed.chain(articles))
    }

    /// `<meta http-equiv=content-language>`.
    pub fn content_language(&self) -> Option<&str> {
        self.first("content-language")
    }

    /// Open Graph properties without `og:`, with their values.
    pub fn open_graph(&self) -> impl Iterator<Item = (&str, &str)> {
        let named = self.meta.iter().flat_map(|meta| {
            let name = (!meta.properties().any(|property| property == meta.name)).then_some(&*meta.name);
            let properties = meta.properties().chain(name).filter_map(|property| property.strip_prefix("og:"));
            properties.map(|property| (property, meta.content.trim()))
        });
        named.filter(|(_, content)| (1..=MAX_VALUE_BYTES).contains(&content.len())).take(MAX_EACH)
    }

    /// The types of its JSON-LD items, without repeats, articles first.
    pub fn types(&self) -> Vec<String> {
        each_once(self.items.iter().flat_map(Item::types))
    }

    /// The first headline in its JSON-LD.
    pub fn headline(&self) -> Option<String> {
        self.of_items("headline").next().map(|text| collapse(text, MAX_VALUE_BYTES))
    }

    /// Licences as written: those of the markup, then those of the JSON-LD.
    pub fn licenses(&self) -> Vec<String> {
        let of_items = self.of_items("license");
        each_once(self.licenses.iter().map(String::as_str).chain(of_items))
    }
}

fn each_once<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut all = Vec::new();
    for text in texts {
        let text = collapse(text, MAX_VALUE_BYTES);
        if !text.is_empty() && !all.contains(&text) {
            all.push(text);
        }
        if all.len() == MAX_EACH {
            break;
        }
    }
    all
}
