//! What is kept of a page to tell later whether another look at it saw the same.

use sha2::{Digest, Sha256};
use xxhash_rust::xxh3::xxh3_64;

use crate::large;
use crate::page::PageEvent;
use crate::parse::{self, DeriveOptions, media_type, simhash};

/// Main texts that differ in no more bits of 64 are one page's: news, comments and the time of day change some of it. Pages
/// that have nothing in common differ in about 32.
const SAME_TEXT: u32 = 16;
/// So many links may be others without being half of them: short lists change quickly.
const FEW_LINKS: usize = 3;
/// Of a page with more links, so many are compared.
const MOST_LINKS: usize = 2000;

/// A page, as far as two looks at it are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sketch {
    status: u16,
    media_type: String,
    digest: [u8; 32],
    length: u64,
    /// Of the main text; none where nothing is said.
    text: Option<u64>,
    links: Vec<u64>,
}

impl Sketch {
    /// None of a failure. Parses the page: milliseconds of a core.
    pub fn of(event: &PageEvent, options: &DeriveOptions) -> Option<Sketch> {
        let response = event.response()?;
        let page = large::derive(event, options, |decoded| parse::facts(event, decoded, options));
        let mut links: Vec<u64> = page.links.iter().take(MOST_LINKS).map(|link| xxh3_64(link.url.as_bytes())).collect();
        links.sort_unstable();
        Some(Sketch {
            status: response.status,
            media_type: response.content_type().map(media_type).unwrap_or_default().to_ascii_lowercase(),
            digest: page.digest,
            length: page.body.len() as u64,
            text: simhash::of_page(&page, response.content_type(), false).map(|text| text.bits),
            links,
        })
    }

    /// Of an answer that leads elsewhere.
    pub fn of_redirect(status: u16, target: &str) -> Sketch {
        let digest = Sha256::digest(target.as_bytes()).into();
        Sketch { status, media_type: String::new(), digest, length: 0, text: None, links: Vec::new() }
    }

    /// Whether `self`, which somebody sent and which was not what `first` is, may be what `second` is, which we fetched after it. None:
    /// what we fetched differs itself, so nothing can be compared.
    pub fn compared_with_two(&self, first: &Sketch, second: &Sketch) -> Option<bool> {
        match self.agrees_with(second) {
            true => Some(true),
            false => first.agrees_with(second).then_some(false),
        }
    }

    /// Whether `self`, which somebody sent, may be what `ours` is: pages that are made anew for each visitor differ, too.
    pub fn agrees_with(&self, ours: &Sketch) -> bool {
        if self.status != ours.status || self.media_type != ours.media_type {
            return false;
        }
        if self.digest == ours.digest {
            return true;
        }
        if (300..400).contains(&self.status) {
            return false; // it leads elsewhere
        }
        let is_text_alike = match (self.text, ours.text) {
            (Some(theirs), Some(ours)) => (theirs ^ ours).count_ones() <= SAME_TEXT,
            (None, None) => {
                self.length <= ours.length.saturating_mul(2) && ours.length <= self.length.saturating_mul(2)
            }
            (Some(_), None) | (None, Some(_)) => false,
        };
        let invented = self.links.iter().filter(|link| ours.links.binary_search(link).is_err()).count();
        is_text_alike && (invented <= FEW_LINKS || invented * 2 <= self.links.len())
    }
}
