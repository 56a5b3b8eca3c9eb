//! A link as the numbers of weights. The first [`FIXED`] say where it stands; the others are hashes, of words and of places.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::lead::Lead;
use super::words::{Cutter, hash};

/// Weights below this number are nobody's by chance.
pub const FIXED: u16 = 64;
/// Weights in all.
pub const WEIGHTS: usize = 1 << 16;

/// Always.
pub(super) const ALWAYS: u16 = 0;
/// The page's relevance in eighths, 0 to 8; behind them a link that is on no page, and one of which nothing is known.
pub(super) const PAGE: u16 = 1;
const ON_LIST: u16 = 9;
const UNKNOWN: u16 = 10;
/// Links since a relevant page, 0 to 7.
pub(super) const AWAY: u16 = 16;
const ELSEWHERE: u16 = 24;
/// What the host has brought, in eighths, 0 to 8; behind them a host of which nothing is known.
pub(super) const HARVEST: u16 = 32;
pub(super) const NEW_HOST: u16 = 41;

/// Of a URL.
const TOKENS: usize = 12;

/// What a weight is of, for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// The page the link is on.
    Page,
    /// What its host has brought so far.
    Harvest,
    /// The host, and the part of it.
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

/// A link's weights, each with what it is of.
pub type Features = Vec<(u16, Group)>;

/// `harvest`: what the host of `url` has brought, in eighths; none: nothing is known of it.
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

/// The words of a URL, the first few: of its path, then of its host's name.
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

/// The weight of a word in a field: 0 anywhere, 1 in links, 2 in URLs, 3 of places.
fn numbered(field: u64, word: u16) -> u16 {
    let hashed = xxh3_64_with_seed(&word.to_le_bytes(), field);
    FIXED + (hashed % (WEIGHTS as u64 - u64::from(FIXED))) as u16
}
