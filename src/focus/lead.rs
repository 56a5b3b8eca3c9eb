//! What is kept of a link with the URL it leads to.

use minicbor::{Decode, Encode};

/// Words of a link that count.
pub(super) const ANCHOR: usize = 8;
/// … and words on either side of it.
pub(super) const BESIDE: usize = 8;
/// Pages between the last relevant one and a link are told apart up to so many.
pub(super) const FARTHEST: u8 = 7;
/// Relevance of a page in so many steps.
const STEPS: f64 = 8.0;
/// In the place of a relevance.
const NO_PAGE: u8 = 15;

/// The words of a link, as hashes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LinkWords {
    pub anchor: Vec<u16>,
    pub around: Vec<u16>,
}

/// What a link stands on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Source {
    /// A list of URLs (a sitemap, a feed), or nothing that is known.
    List,
    /// A page: its relevance (0 to 1), whether that counts as relevant, and how many links away from a relevant page it was itself,
    /// where that is known.
    Page { relevance: f64, is_relevant: bool, away: Option<u8> },
}

/// A link as it is kept: a byte of where it stands (relevance of its page, 4 bits; links since a relevant page, 3; whether it leads to
/// another host), one of how many words are its own, then the words, two bytes each.
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

    /// None was kept.
    pub fn is_unknown(&self) -> bool {
        self.0.is_empty()
    }

    /// Relevance of the page it is on in steps of an eighth; none: it is on no page.
    pub fn relevance(&self) -> Option<u8> {
        self.0.first().map(|byte| byte >> 4).filter(|step| *step != NO_PAGE)
    }

    /// Links from a relevant page to this one's page: 0 on one.
    pub fn away(&self) -> Option<u8> {
        self.relevance().and_then(|_| Some(self.0.first()? >> 1 & FARTHEST))
    }

    pub fn leads_elsewhere(&self) -> bool {
        self.0.first().is_some_and(|byte| byte & 1 == 1)
    }

    /// Its own words, and those around it.
    pub fn words(&self) -> (impl Iterator<Item = u16>, impl Iterator<Item = u16>) {
        let own = usize::from(self.0.get(1).copied().unwrap_or(0));
        let (anchor, around) =
            self.0.get(2..).unwrap_or_default().as_chunks().0.split_at_checked(own).unwrap_or_default();
        let word = |bytes: &[u8; 2]| u16::from_le_bytes(*bytes);
        (anchor.iter().map(word), around.iter().map(word))
    }
}
