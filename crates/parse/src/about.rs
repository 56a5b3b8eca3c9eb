//! Facts that a page states about itself, besides its text and links: description, keywords, authors, dates, languages,
//! licences, Open Graph, JSON-LD. Values are as written. Longer values are cut or left out.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use serde::Deserialize;
use serde_json::Value;

use super::date;
use super::html::decode_attribute;
use super::html::names::Name;
use super::html::outline::Element;
use super::html_facts::{collapse, has_token};
use crate::page::EpochMs;

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
const MAX_ITEMS: usize = 1_000;

static CREATIVE_COMMONS: LazyLock<Finder> = LazyLock::new(|| Finder::new("creativecommons.org/"));

/// Facts that a page states about itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct About {
    /// Every `<meta … content>`: its `name`, `property`, `itemprop` or `http-equiv` in lower case (or empty), and the
    /// content.
    pub meta: Vec<(String, String)>,
    /// `<link rel=alternate hreflang>`: a language, and the page in that language.
    pub alternates: Vec<(String, String)>,
    /// `rel=license` and links to Creative Commons licences, without repeats.
    pub licenses: Vec<String>,
    /// The first `<base href>`.
    pub base: Option<String>,
    /// `<time datetime>` elements with the time of publication or modification.
    published: Option<String>,
    modified: Option<String>,
    /// The items of its JSON-LD, articles first.
    items: Vec<Item>,
    json_bytes: usize,
    in_json: bool,
}

/// The parts of a JSON-LD item that are read.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Item {
    #[serde(rename = "@type")]
    types: Value,
    #[serde(rename = "@id")]
    id: Value,
    #[serde(rename = "@graph")]
    graph: Graph,
    name: Value,
    headline: Value,
    description: Value,
    author: Value,
    #[serde(rename = "datePublished")]
    published: Value,
    #[serde(rename = "dateModified")]
    modified: Value,
    license: Value,
}

/// One item or a list of items; anything else is ignored.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
enum Graph {
    Many(Vec<Item>),
    One(Box<Item>),
    Else(serde::de::IgnoredAny),
}

impl Default for Graph {
    fn default() -> Graph {
        Graph::Many(Vec::new())
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
            Name::Time => self.time(element),
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
        let text = text.trim().trim_end_matches(';');
        if let Ok(graph) = serde_json::from_str::<Graph>(text) {
            self.add_items(graph);
            self.items.sort_by_key(|item| !is_article(item));
        }
    }

    fn add_items(&mut self, graph: Graph) {
        let mut waiting = vec![graph];
        while let Some(graph) = waiting.pop() {
            let items = match graph {
                Graph::Many(items) => items,
                Graph::One(item) => vec![*item],
                Graph::Else(_) => Vec::new(),
            };
            for mut item in items {
                waiting.push(std::mem::take(&mut item.graph));
                if self.items.len() < MAX_ITEMS {
                    self.items.push(item);
                }
            }
        }
    }

    fn meta(&mut self, element: &Element) {
        let Some(content) = element.attribute("content") else { return };
        if self.meta.len() < MAX_META {
            let name = ["name", "property", "itemprop", "http-equiv"].iter().find_map(|name| element.attribute(name));
            let name = name.filter(|name| name.len() <= MAX_NAME_BYTES);
            let name = decode_attribute(name.unwrap_or_default()).trim().to_ascii_lowercase();
            let content = &content[..content.floor_char_boundary(MAX_CONTENT_BYTES)];
            self.meta.push((name, decode_attribute(content).into_owned()));
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

    fn time(&mut self, element: &Element) {
        let Some(time) = element.attribute("datetime").filter(|time| time.len() <= 40) else { return };
        let property = element.attribute("itemprop").unwrap_or_default();
        if element.attribute("pubdate").is_some() || property.eq_ignore_ascii_case("datePublished") {
            self.published.get_or_insert_with(|| time.to_owned());
        } else if property.eq_ignore_ascii_case("dateModified") {
            self.modified.get_or_insert_with(|| time.to_owned());
        }
    }

    /// The contents of `<meta>` elements with these names, in the order of `names`; blank ones are skipped.
    fn metas<'a, 'n>(&'a self, names: &'n [&'n str]) -> impl Iterator<Item = &'a str> + use<'a, 'n> {
        names.iter().flat_map(|name| {
            let named = self.meta.iter().filter(move |(given, _)| given == name);
            named.map(|(_, content)| content.trim()).filter(|content| !content.is_empty())
        })
    }

    fn of_items<'a>(&'a self, value: impl Fn(&'a Item) -> &'a Value) -> impl Iterator<Item = &'a str> {
        self.items.iter().filter_map(move |item| value(item).as_str()).map(str::trim).filter(|text| !text.is_empty())
    }

    /// The first `<meta>` with this name that is not blank.
    pub fn first(&self, name: &str) -> Option<&str> {
        self.metas(&[name]).next()
    }

    pub fn description(&self) -> Option<String> {
        let names = ["description", "og:description", "dc.description", "dcterms.description", "twitter:description"];
        let found = self.metas(&names).next().or_else(|| self.of_items(|item| &item.description).next());
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

    /// Author names; profile URLs are skipped.
    pub fn authors(&self) -> Vec<String> {
        let is_name = |name: &&str| !name.starts_with("http://") && !name.starts_with("https://");
        let named = self.metas(&["author", "article:author", "dc.creator", "dcterms.creator", "parsely-author"]);
        let named = each_once(named.filter(is_name));
        if !named.is_empty() {
            return named;
        }
        let author = self.items.iter().map(|item| self.names(&item.author)).find(|names| !names.is_empty());
        each_once(author.unwrap_or_default().into_iter().filter(is_name))
    }

    /// Names of people in JSON-LD: a text, an item's name, or the name of an item it refers to.
    fn names<'a>(&'a self, value: &'a Value) -> Vec<&'a str> {
        let name_of = |value: &'a Value| match value {
            Value::String(name) => Some(name.as_str()),
            Value::Object(item) => item.get("name").and_then(Value::as_str).or_else(|| {
                let id = item.get("@id")?;
                self.items.iter().find(|item| item.id == *id)?.name.as_str()
            }),
            _ => None,
        };
        match value {
            Value::Array(list) => list.iter().filter_map(name_of).collect(),
            one => name_of(one).into_iter().collect(),
        }
    }

    /// The time of publication stated by the page.
    pub fn published(&self) -> Option<EpochMs> {
        let names = [
            "article:published_time",
            "datepublished",
            "dcterms.issued",
            "dcterms.created",
            "dcterms.date",
            "dc.date.issued",
            "dc.date",
            "parsely-pub-date",
            "date",
        ];
        let of_items = self.of_items(|item| &item.published);
        of_items.chain(self.metas(&names)).chain(self.published.as_deref()).find_map(date::parse)
    }

    /// The time of the last modification stated by the page.
    pub fn modified(&self) -> Option<EpochMs> {
        let names = ["article:modified_time", "og:updated_time", "datemodified", "dcterms.modified", "last-modified"];
        let of_items = self.of_items(|item| &item.modified);
        of_items.chain(self.metas(&names)).chain(self.modified.as_deref()).find_map(date::parse)
    }

    /// `<meta http-equiv=content-language>`.
    pub fn content_language(&self) -> Option<&str> {
        self.first("content-language")
    }

    /// Open Graph properties without `og:`, with their values.
    pub fn open_graph(&self) -> impl Iterator<Item = (&str, &str)> {
        let named = self.meta.iter().filter_map(|(name, content)| Some((name.strip_prefix("og:")?, content.trim())));
        named.filter(|(_, content)| (1..=MAX_VALUE_BYTES).contains(&content.len())).take(MAX_EACH)
    }

    /// The types of its JSON-LD items, without repeats, articles first.
    pub fn types(&self) -> Vec<String> {
        each_once(self.items.iter().flat_map(|item| types(&item.types)))
    }

    /// The first headline in its JSON-LD.
    pub fn headline(&self) -> Option<String> {
        self.of_items(|item| &item.headline).next().map(|text| collapse(text, MAX_VALUE_BYTES))
    }

    /// Licences as written: those of the markup, then those of the JSON-LD.
    pub fn licenses(&self) -> Vec<String> {
        let of_items = self.of_items(|item| &item.license);
        each_once(self.licenses.iter().map(String::as_str).chain(of_items))
    }
}

fn types(value: &Value) -> impl Iterator<Item = &str> {
    let many = value.as_array().map(Vec::as_slice).unwrap_or_default();
    many.iter().chain(Some(value)).filter_map(Value::as_str)
}

fn is_article(item: &Item) -> bool {
    types(&item.types).any(|kind| kind.ends_with("Article") || kind.ends_with("Posting"))
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
