//! Detects parameters that carry a session: their values differ from page to page while the pages stay the same.
//!
//! Each page is remembered without the parameter. When it comes again with another value, an equal text speaks for a
//! session and a different text against. A parameter counts as a session after [`VALUES`] different values in
//! [`AGREED`] agreements over [`TEXTS`] different texts, with almost nothing against. So these do not count: `?page=2`
//! of a list that is shown whole, a `?lang=en` without effect, or one "not found" page for everything.
//!
//! DUST rules (Bar-Yossef, Keidar and Schonfeld, "Do Not Crawl in the DUST", WWW 2007) are learned from logs in a
//! similar way. This module learns the one rule that matters most, during the crawl and from the first pages on.

use minicbor::{Decode, Encode};
use xxhash_rust::xxh3::xxh3_64;

use super::pattern;
use super::text::PageWords;

const AGREED: u16 = 8;
const VALUES: usize = 6;
const TEXTS: usize = 4;
/// One disagreement is allowed per this many agreements, since pages change.
const AGAINST: u16 = 16;
/// Limits: parameters per URL, parameters watched, pages remembered, and parameters learned per host.
const OF_URL: usize = 8;
const WATCHED: usize = 8;
const PAGES: usize = 64;
const LEARNED: usize = 16;
/// Longest name of a parameter.
const NAME_BYTES: usize = 64;

#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct Parameters {
    /// Names of session parameters; `;name` for one in the path. Names are never removed, as that would change the URLs
    /// of known pages.
    #[n(0)]
    learned: Vec<String>,
    #[n(1)]
    watched: Vec<Watched>,
    #[n(2)]
    pages: Vec<Page>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
struct Watched {
    #[n(0)]
    name: String,
    #[n(1)]
    agreed: u16,
    #[n(2)]
    against: u16,
    /// Distinct values and texts of the agreements.
    #[n(3)]
    values: Vec<u32>,
    #[n(4)]
    texts: Vec<u32>,
}

/// A page without one of its parameters.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
struct Page {
    #[n(0)]
    page: u32,
    #[n(1)]
    value: u32,
    #[n(2)]
    text: u32,
    /// The page has agreed once, so it is kept longer.
    #[n(3)]
    has_agreed: bool,
}

impl Parameters {
    pub fn learned(&self) -> &[String] {
        &self.learned
    }

    /// Counts a page by its path, query and text. Returns the parameter that was learned, if any. A value that looks
    /// random may be a session on pages that count their visitors, so numbers in the text do not matter then.
    pub fn see(&mut self, path_and_query: &str, said: &PageWords) -> Option<String> {
        let mut learned = None;
        for (name, value) in parameters(path_and_query).take(OF_URL) {
            if value.is_empty() || name.len() > NAME_BYTES || self.learned.len() >= LEARNED {
                continue;
            }
            let Some(page) = without(path_and_query, &[name.as_str()]) else { continue };
            let text = if pattern::is_random(value) { said.mark_of_words } else { said.mark };
            let page = xxh3_64(format!("{name} {page}").as_bytes()) as u32;
            let is_learned = self.compare(&name, page, xxh3_64(value.as_bytes()) as u32, text as u32);
            if is_learned && learned.is_none() {
                self.watched.retain(|watched| watched.name != name);
                self.learned.push(name.clone());
                learned = Some(name);
            }
        }
        learned
    }

    fn compare(&mut self, name: &str, page: u32, value: u32, text: u32) -> bool {
        let Some(at) = self.pages.iter().position(|known| known.page == page) else {
            if self.pages.len() >= PAGES {
                let first = self.pages.iter().position(|known| !known.has_agreed).unwrap_or(0);
                self.pages.remove(first);
            }
            self.pages.push(Page { page, value, text, has_agreed: false });
            return false;
        };
        let known = &mut self.pages[at];
        if known.value == value {
            known.text = text;
            return false;
        }
        let agrees = known.text == text;
        (known.value, known.text) = (value, text);
        known.has_agreed |= agrees;
        let watched = self.watched(name);
        if !agrees {
            watched.against = watched.against.saturating_add(1);
            return false;
        }
        watched.agreed = watched.agreed.saturating_add(1);
        note(&mut watched.values, value, VALUES);
        note(&mut watched.texts, text, TEXTS);
        watched.agreed >= AGREED
            && watched.values.len() >= VALUES
            && watched.texts.len() >= TEXTS
            && u32::from(watched.against) * u32::from(AGAINST) <= u32::from(watched.agreed)
    }

    fn watched(&mut self, name: &str) -> &mut Watched {
        let at = self.watched.iter().position(|watched| watched.name == name).unwrap_or_else(|| {
            if self.watched.len() >= WATCHED {
                let least = (0..self.watched.len()).min_by_key(|at| self.watched[*at].agreed).unwrap_or(0);
                self.watched.remove(least);
            }
            self.watched.push(Watched { name: name.to_owned(), ..Watched::default() });
            self.watched.len() - 1
        });
        &mut self.watched[at]
    }
}

fn note(values: &mut Vec<u32>, value: u32, most: usize) {
    if values.len() < most && !values.contains(&value) {
        values.push(value);
    }
}

/// Names and values of parameters, those in the path first.
fn parameters(path_and_query: &str) -> impl Iterator<Item = (String, &str)> {
    let (path, query) = path_and_query.split_once('?').unwrap_or((path_and_query, ""));
    let in_path = path.split('/').flat_map(|segment| segment.split(';').skip(1));
    let in_path =
        in_path.filter_map(|parameter| parameter.split_once('=')).map(|(name, value)| (format!(";{name}"), value));
    let in_query = query.split('&').filter_map(|parameter| parameter.split_once('='));
    in_path.chain(in_query.map(|(name, value)| (name.to_owned(), value)))
}

/// Path and query without the given parameters. None if the URL has none of them.
pub fn without<N: AsRef<str>>(path_and_query: &str, names: &[N]) -> Option<String> {
    if names.is_empty() {
        return None;
    }
    let has = |name: &str| names.iter().any(|one| one.as_ref() == name);
    let name = |parameter: &str| parameter.split('=').next().unwrap_or_default().to_owned();
    let (path, query) = path_and_query.split_once('?').unwrap_or((path_and_query, ""));
    let mut out = String::with_capacity(path_and_query.len());
    for (place, piece) in path.split(';').enumerate() {
        // The part of the path behind a parameter begins with a slash.
        let (parameter, behind) = piece.split_at(piece.find('/').unwrap_or(piece.len()));
        match place {
            0 => out.push_str(piece),
            _ if has(&format!(";{}", name(parameter))) => out.push_str(behind),
            _ => out.extend([";", piece]),
        }
    }
    let mut separator = '?';
    for parameter in query.split('&').filter(|parameter| !parameter.is_empty() && !has(&name(parameter))) {
        out.push(separator);
        out.push_str(parameter);
        separator = '&';
    }
    (out != path_and_query).then_some(out)
}
