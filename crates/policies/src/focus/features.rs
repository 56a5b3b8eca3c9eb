//! A link as a list of weight indices. The first [`FIXED`] describe its position; the others are hashes of words,
//! of hosts and of their sections.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::lead::Lead;
use super::words::{Cutter, hash};

/// Words are never hashed to indices below this.
pub(crate) const FIXED: u16 = 64;
/// Number of weights.
pub(crate) const WEIGHTS: usize = 1 << 16;

/// The bias: part of every link.
pub(super) const ALWAYS: u16 = 0;
/// Relevance of the page in eighths, 0 to 8. The next two: a link from a list, and a link of unknown origin.
pub(super) const PAGE: u16 = 1;
const ON_LIST: u16 = 9;
const UNKNOWN: u16 = 10;
/// Number of links since a relevant page, 0 to 7.
pub(super) const AWAY: u16 = 16;
const ELSEWHERE: u16 = 24;
/// Share of the host's pages that were relevant, in eighths, 0 to 8. The next: a host without fetched pages.
pub(super) const HARVEST: u16 = 32;
pub(super) const NEW_HOST: u16 = 41;

/// Number of words of a URL that count.
const TOKENS: usize = 12;

/// The meaning of a weight, for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// The page with the link.
    Page,
    /// The share of the host's pages that were relevant.
    Harvest,
    /// The host, and the section of the host.
    Place,
    Anchor,
    Around,
    Url,
}

impl Group {
    /// `page`, `harvest`, `place`, `anchor`, `around`, `url`.
    pub fn name(self) -> &'static str {
        match self {
            Group::Page => "page",
            Group::Harvest => "harvest",
            Group::Place => "place",
            Group::Anchor => "anchor",
            Group::Around => "around",
            Group::Url => "url",
        }
    }
}

/// The weight indices of a link, each with its group.
pub type Features = Vec<(u16, Group)>;

/// `harvest`: share of the host's pages that were relevant, in eighths; None if unknown.
pub fn of(lead: &Lead, url: &str, harvest: Option<u8>) -> Features {
    let mut features = vec![(ALWAYS, Group::Page)];
    let page = match lead.relevance() {
        Some(step) => PAGE + u16::from(step.min(8)),
        None if lead.is_unknown() => UNKNOWN,
        None => ON_LIST,
    };
    features.push((page, Group::Page));
    features.extend(lead.away().map(|away| (AWAY + u16::from(away), Group::Page)));
    if lead.leads_elsewhere() {
        features.push((ELSEWHERE, Group::Page));
    }
    features.push((harvest.map_or(NEW_HOST, |step| HARVEST + u16::from(step.min(8))), Group::Harvest));
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    features.push((place(host), Group::Place));
    if let Some((first, _)) = path.get(1..).and_then(|path| path.split_once('/')) {
        features.push((place(&[host, "/", first].concat()), Group::Place));
    }
    let (anchor, around) = lead.words();
    for word in anchor {
        features.extend([(numbered(1, word), Group::Anchor), (numbered(0, word), Group::Anchor)]);
    }
    features.extend(around.map(|word| (numbered(0, word), Group::Around)));
    url_words(host, path, &mut |word| {
        features.extend([(numbered(2, word), Group::Url), (numbered(0, word), Group::Url)]);
    });
    features.sort_unstable();
    features.dedup_by_key(|(number, _)| *number);
    features
}

/// The first words of a URL: first of the path, then of the host name.
fn url_words(host: &str, path: &str, take: &mut impl FnMut(u16)) {
    let mut left = TOKENS;
    let mut some = |word| {
        if left > 0 {
            left -= 1;
            take(word);
        }
    };
    let mut cutter = Cutter::default();
    for text in [path.get(..path.len().min(256)).unwrap_or_default(), host] {
        cutter.text(text, &mut some);
        cutter.end(&mut some);
    }
}

fn place(name: &str) -> u16 {
    numbered(3, hash(name))
}

/// Weight index of a word in a field. Fields: 0 any, 1 links, 2 URLs, 3 hosts and sections.
fn numbered(field: u64, word: u16) -> u16 {
    let hashed = xxh3_64_with_seed(&word.to_le_bytes(), field);
    FIXED + (hashed % (WEIGHTS as u64 - u64::from(FIXED))) as u16
}
