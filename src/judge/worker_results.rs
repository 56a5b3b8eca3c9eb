//! Decides what to believe from a remote worker: which of its outcomes, and whether its page is the same as ours.

use seine_parse::page::{FailureReason, Outcome, Response};
use seine_parse::{Derived, media_type, simhash};
use sha2::{Digest, Sha256};
use xxhash_rust::xxh3::xxh3_64;

/// Main texts whose simhashes differ in at most this many of 64 bits count as the same page, because news, comments and
/// times change. Unrelated pages differ in about 32 bits.
const SAME_TEXT: u32 = 16;
/// Number of links that may differ in any case, because short lists change quickly.
const FEW_LINKS: usize = 3;
/// Maximum number of links to compare.
const MOST_LINKS: usize = 2000;

/// A summary of a page for comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sketch {
    status: u16,
    media_type: String,
    digest: [u8; 32],
    length: u64,
    /// Simhash of the main text; none without text.
    text: Option<u64>,
    links: Vec<u64>,
}

impl Sketch {
    /// `page`: what is derived from the response.
    pub(crate) fn of(response: &Response, page: &Derived) -> Sketch {
        let mut links: Vec<u64> = page.links.iter().take(MOST_LINKS).map(|link| xxh3_64(link.url.as_bytes())).collect();
        links.sort_unstable();
        Sketch {
            status: response.status,
            media_type: response.content_type().map(media_type).unwrap_or_default().to_ascii_lowercase(),
            digest: page.digest,
            length: page.body.len() as u64,
            text: simhash::of_page(page, response.content_type()),
            links,
        }
    }

    /// For a redirect.
    pub(crate) fn of_redirect(status: u16, target: &str) -> Sketch {
        let digest = Sha256::digest(target.as_bytes()).into();
        Sketch { status, media_type: String::new(), digest, length: 0, text: None, links: Vec::new() }
    }

    /// Compares a worker's page (`self`) that differs from our first fetch with our second fetch. None if our own
    /// fetches differ, so that nothing can be compared.
    pub(crate) fn compared_with_two(&self, first: &Sketch, second: &Sketch) -> Option<bool> {
        match self.agrees_with(second) {
            true => Some(true),
            false => first.agrees_with(second).then_some(false),
        }
    }

    /// Whether a worker's page may be the same as ours. Pages made for each visitor differ in details.
    pub(crate) fn agrees_with(&self, ours: &Sketch) -> bool {
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

/// Whether it is host trouble or a truncated page, which we do not believe from a worker.
pub(crate) fn is_not_trusted(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Failure(failure) => failure.reason != FailureReason::UnwantedType,
        Outcome::Response(response) => response.may_get_better(),
    }
}
