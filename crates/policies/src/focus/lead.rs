//! The data about a link that is stored with its target URL.

use minicbor::{Decode, Encode};

/// Number of words of a link that count …
pub(super) const ANCHOR: usize = 8;
/// … and of words on each side of it.
pub(super) const BESIDE: usize = 8;
/// The number of links since the last relevant page is counted up to this.
pub(super) const FARTHEST: u8 = 7;
/// Number of steps in which a page's relevance is stored.
const STEPS: f64 = 8.0;
/// Stored instead of a relevance if the link is on no page.
const NO_PAGE: u8 = 15;

/// The words of a link and around it, as hashes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LinkWords {
    pub anchor: Vec<u16>,
    pub around: Vec<u16>,
}

/// Where a link was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Source {
    /// In a list of URLs (a sitemap, a feed), or unknown.
    List,
    /// On a page: its relevance (0 to 1), whether it counts as relevant, and its own number of links since a relevant
    /// page, if known.
    Page { relevance: f64, is_relevant: bool, away: Option<u8> },
}

/// A link as stored. The first byte is its position: relevance of the page (4 bits), links since a relevant page (3),
/// whether it leads to another host (1). The second byte is the number of its own words. Then the words follow, two
/// bytes each.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(transparent)]
pub struct Lead(
    #[n(0)]
    #[cbor(with = "minicbor::bytes")]
    Vec<u8>,
);

impl Lead {
    pub fn new(source: Source, leads_elsewhere: bool, words: &LinkWords) -> Lead {
        let (relevance, away) = match source {
            Source::List => (NO_PAGE, 0),
            Source::Page { relevance, is_relevant, away } => {
                let step = (relevance.clamp(0.0, 1.0) * STEPS).round() as u8;
                let away = away.unwrap_or(0).saturating_add(1).min(FARTHEST);
                (step, if is_relevant { 0 } else { away })
            }
        };
        let anchor = words.anchor.iter().take(ANCHOR);
        let mut bytes = vec![relevance << 4 | away << 1 | u8::from(leads_elsewhere), anchor.len() as u8];
        let all = anchor.chain(words.around.iter().take(2 * BESIDE));
        bytes.extend(all.flat_map(|word| word.to_le_bytes()));
        Lead(bytes)
    }

    /// Whether nothing was stored.
    pub fn is_unknown(&self) -> bool {
        self.0.is_empty()
    }

    /// Relevance of the page in eighths; none if the link is on no page.
    pub fn relevance(&self) -> Option<u8> {
        self.0.first().map(|byte| byte >> 4).filter(|step| *step != NO_PAGE)
    }

    /// Number of links from a relevant page to the page with this link; 0 if that page is relevant.
    pub fn away(&self) -> Option<u8> {
        self.relevance().and_then(|_| Some(self.0.first()? >> 1 & FARTHEST))
    }

    pub fn leads_elsewhere(&self) -> bool {
        self.0.first().is_some_and(|byte| byte & 1 == 1)
    }

    /// The words of the link, and the words around it.
    pub fn words(&self) -> (impl Iterator<Item = u16>, impl Iterator<Item = u16>) {
        let own = usize::from(self.0.get(1).copied().unwrap_or(0));
        let (anchor, around) =
            self.0.get(2..).unwrap_or_default().as_chunks().0.split_at_checked(own).unwrap_or_default();
        let word = |bytes: &[u8; 2]| u16::from_le_bytes(*bytes);
        (anchor.iter().map(word), around.iter().map(word))
    }
}
