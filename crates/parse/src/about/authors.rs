//! Who wrote a page.

use serde_json::Value;

use super::marks::{Kind, Mark};
use super::{About, Found, Origin, each_once, headline};
use crate::html_text::PageFacts;
use crate::page_date;

/// Longer texts of the page are not names.
const MAX_NAME_BYTES: usize = 80;
/// Bytes of a byline that are read; a whole page may be marked as one.
const MAX_BYLINE_BYTES: usize = 400;
/// More names in marked elements are those of a list of pages or of comments.
const MAX_NAMES: usize = 3;
/// Deeper lists of authors are ignored.
const MAX_DEPTH: usize = 4;
/// Lines near the headline that may begin with "By".
const MAX_LINES: usize = 12;

/// Names of `<meta>` elements: Dublin Core, Highwire Press, Parse.ly, Sailthru and others.
const NAMED: [&str; 14] = [
    "author",
    "article:author",
    "article:author_name",
    "og:article:author",
    "dc.creator",
    "dc:creator",
    "dcterms.creator",
    "parsely-author",
    "sailthru.author",
    "citation_author",
    "rnews:author",
    "byl",
    "article.author",
    "authors",
];
/// Labels of names in `twitter:label1`.
const LABELS: [&str; 8] =
    ["written by", "author", "by", "verfasst von", "écrit par", "escrito por", "scritto da", "geschreven door"];
/// Words before a name in a line of text.
const BEFORE: [&str; 11] = [
    "written by",
    "posted by",
    "published by",
    "authored by",
    "guide by",
    "words by",
    "story by",
    "author:",
    "by:",
    "by",
    "author",
];
/// In the text of a byline that names nobody.
const OTHERS: [&str; 9] =
    ["updated", "published", "written", "comment", "posts", "read ", "minutes", "subscribe", "share"];
/// Names of nobody.
const NOBODY: [&str; 12] = [
    "admin",
    "administrator",
    "author",
    "unknown",
    "anonymous",
    "null",
    "none",
    "undefined",
    "user",
    "root",
    "about the author",
    "authors",
];

impl PageFacts {
    /// The names of the authors; none if the page names none.
    pub fn authors(&self) -> Option<Found<Vec<String>>> {
        let about = &self.about;
        let or = |names: Vec<String>, origin| (!names.is_empty()).then_some(Found { value: names, origin });
        // Many sites state themselves in JSON-LD, and name the person elsewhere.
        or(about.item_authors(false), Origin::JsonLd)
            .or_else(|| or(about.meta_authors(), Origin::Meta))
            .or_else(|| or(self.property_authors(), Origin::Microdata))
            .or_else(|| or(self.linked_authors(), Origin::Text))
            .or_else(|| or(self.byline(), Origin::Text))
            .or_else(|| or(about.item_authors(true), Origin::JsonLd))
    }

    /// Elements with the property `author` near the headline, or else the only ones: the `name` in each, or all its text.
    fn property_authors(&self) -> Vec<String> {
        self.few(Kind::Author, |author| {
            let is_within = |name: &&Mark| author.at.start <= name.at.start && name.at.end <= author.at.end;
            let mut names = self.marks.of(Kind::Name).filter(is_within);
            let name = names.find(|name| !name.at.is_empty() || name.value.is_some()).unwrap_or(author);
            name.value.as_deref().or_else(|| self.text.get(name.at.clone()))
        })
    }

    /// Links with `rel=author` and elements with the class of a byline, near the headline or the only ones.
    fn linked_authors(&self) -> Vec<String> {
        let text = |mark: &'_ Mark| self.text.get(mark.at.clone());
        let linked = self.few(Kind::AuthorLink, text);
        if linked.is_empty() { self.few(Kind::Byline, text) } else { linked }
    }

    /// The names of marks near the headline, or else of the first one behind it; none if there are many, as in lists of
    /// other pages.
    fn few<'a>(&'a self, kind: Kind, text: impl Fn(&'a Mark) -> Option<&'a str>) -> Vec<String> {
        let near = headline::near(self).map(|(before, behind)| before.start..behind.end);
        let is_near = |mark: &&Mark| near.as_ref().is_none_or(|near| near.contains(&mark.at.start));
        let names = each_once(self.marks.of(kind).filter(is_near).filter_map(|mark| as_name(text(mark)?)));
        if (1..=MAX_NAMES).contains(&names.len()) {
            return names;
        }
        let begin = near.map_or(usize::MAX, |near| near.start);
        let first = self.marks.of(kind).filter(|mark| mark.at.start >= begin).find_map(|mark| as_name(text(mark)?));
        each_once(first.filter(|_| kind == Kind::Author).into_iter())
    }

    /// A line near the headline that begins with "By".
    fn byline(&self) -> Vec<String> {
        let Some((_, behind)) = headline::near(self) else { return Vec::new() };
        let lines = self.text[behind].lines().filter(|line| !line.is_empty()).take(MAX_LINES);
        let name = lines.filter_map(after_by).find_map(|line| as_name(line).filter(|name| is_capital(name)));
        each_once(name.into_iter())
    }
}

impl About {
    /// `organizations`: these, too.
    fn item_authors(&self, organizations: bool) -> Vec<String> {
        let pages = self.items.iter().filter(|item| item.is_page());
        let authors = pages.flat_map(|item| [item.get("author"), item.get("creator")]);
        let names = authors.map(|author| {
            let mut names = Vec::new();
            self.names(author, organizations, MAX_DEPTH, &mut names);
            each_once(names.into_iter().filter(|name| is_somebody(name)))
        });
        names.into_iter().find(|names| !names.is_empty()).unwrap_or_default()
    }

    /// Names in JSON-LD: a text, an item's name, or the name of an item it refers to.
    fn names<'a>(&'a self, value: &'a Value, organizations: bool, depth: usize, names: &mut Vec<&'a str>) {
        match value {
            Value::String(name) => names.push(name),
            Value::Array(list) if depth > 0 => {
                list.iter().for_each(|one| self.names(one, organizations, depth - 1, names));
            }
            Value::Object(item) => {
                let id = item.get("@id");
                let referred = self.items.iter().find(|item| id.is_some_and(|id| item.get("@id") == id));
                let get = |property| item.get(property).or_else(|| Some(referred?.get(property)));
                let is_organization =
                    get("@type").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("Organization"));
                if is_organization && !organizations {
                    return;
                }
                match get("name") {
                    Some(Value::Array(list)) => names.extend(list.iter().filter_map(Value::as_str)),
                    name => names.extend(name.and_then(Value::as_str)),
                }
            }
            _ => {}
        }
    }

    fn meta_authors(&self) -> Vec<String> {
        for name in NAMED {
            let names = each_once(self.metas(&[name]).filter(|name| is_somebody(name)).map(without_by));
            if !names.is_empty() {
                return names;
            }
        }
        let is_label = |label: &str| LABELS.contains(&&*label.to_lowercase());
        let labelled = self.first("twitter:label1").filter(|label| is_label(label)).and(self.first("twitter:data1"));
        each_once(labelled.into_iter().filter(|name| is_somebody(name)))
    }
}

/// Whether a text may name somebody: it has letters, and is no URL, no template, and none of the names of nobody.
fn is_somebody(name: &str) -> bool {
    let name = name.trim();
    let is_address = name.contains("://") || name.starts_with("//") || name.starts_with("www.");
    let is_template = name.contains(['{', '}', '<', '>', '[', '%']);
    let is_nobody = NOBODY.iter().any(|nobody| name.eq_ignore_ascii_case(nobody));
    name.chars().any(char::is_alphabetic) && !is_address && !is_template && !is_nobody
}

/// The name in the text of a byline.
fn as_name(text: &str) -> Option<&str> {
    // A name may be cut out of a longer text, but not out of an address.
    let text = text.trim_start();
    let text = &text[..text.floor_char_boundary(MAX_BYLINE_BYTES)];
    let text = Some(text).filter(|text| !text.contains("://"))?;
    let text = text.trim().trim_start_matches(['|', '•', '·', '-', '–', '—', '/']).trim();
    let text = after_by(text).unwrap_or(text).trim();
    let end = text.find(['\n', '|', '•', '·', '–', '—', '(', '@', '/', ':']).unwrap_or(text.len());
    let name = text[..end].trim_end_matches([',', '-', ' ']);
    let digit = name.find(|letter: char| letter.is_ascii_digit()).unwrap_or(name.len());
    let name = name[..digit].trim_end_matches([',', '-', ' ']);
    let name = name.split(" on ").next().unwrap_or(name).trim();
    let is_short = name.len() <= MAX_NAME_BYTES && name.len() >= 2 && name.split(' ').count() <= 10;
    let lower = name.to_lowercase();
    let is_other = OTHERS.iter().any(|word| lower.contains(word)) || page_date::is_month(&lower);
    (is_short && !is_other && is_somebody(name)).then_some(name)
}

/// The text after "By".
fn after_by(text: &str) -> Option<&str> {
    BEFORE.iter().find_map(|word| {
        let start = text.get(..word.len())?;
        let rest = &text[word.len()..];
        let is_whole = word.ends_with(':') || rest.starts_with([' ', '\n', '\u{a0}', ':']);
        (start.eq_ignore_ascii_case(word) && is_whole).then(|| rest.trim_start_matches([' ', '\n', '\u{a0}', ':']))
    })
}

fn without_by(name: &str) -> &str {
    after_by(name).unwrap_or(name)
}

/// Two words or more, of which the first and the last begin with capitals, as those of a person in a line of text.
fn is_capital(name: &str) -> bool {
    let is_capital = |word: &str| word.starts_with(|letter: char| letter.is_uppercase());
    let mut words = name.split(' ');
    words.next().is_some_and(is_capital) && words.next_back().is_some_and(is_capital)
}
