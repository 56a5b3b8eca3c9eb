//! Near duplicates: how much the sketches of two pages differ ([`seine_parse::text_sketch`]). Arithmetic only; the
//! frontier stores the sketches by their bands (`seine-frontier`) and compares those that have a band in common.
//!
//! Before, simhashes were compared (Manku, Jain and Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007).
//! They need ten tables, and three bits miss most texts in which one word of 100 differs
//! ([docs/benchmarks.md](../../../../docs/benchmarks.md#duplicates) has both).

use seine_parse::text_sketch::{BodySketch, MAX_DETAILS, TextSketch};

/// Largest distance that is looked for.
pub const MAX_DISTANCE: u8 = 3;

/// Number of different minima → about how many of 100 words differ. If one word of 100 differs, so do 1.3 of 64 bits: the
/// word is in two pairs, so 4 % of all pairs are in one text alone. Different minima have the same bit half the time.
const PERCENT: [u8; 6] = [0, 1, 1, 2, 3, 3];
/// One detail may differ, and in pages with this many another one.
const MANY_DETAILS: u8 = 30;

/// About how many of 100 words differ in pages with a band in common. None if they are too many, or if too many details
/// differ.
pub fn distance(one: &BodySketch, other: &BodySketch) -> Option<u8> {
    let minima = (one.minima ^ other.minima).count_ones() as usize;
    let percent = PERCENT.get(minima).copied()?;
    has_same_details(one, other).then_some(percent)
}

fn has_same_details(one: &BodySketch, other: &BodySketch) -> bool {
    let count = one.detail_count.max(other.detail_count);
    // A detail that was replaced is missing on both sides.
    let allowed = if count < MANY_DETAILS { 2 } else { 4 };
    count > MAX_DETAILS || one.details.differences(&other.details) <= allowed
}

/// The values by which duplicates of a page are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Content {
    /// The first 64 bits of its SHA-256.
    pub digest: u64,
    /// None if its text is too short.
    pub sketch: Option<TextSketch>,
}

impl Content {
    pub fn new(digest: &[u8; 32], sketch: Option<TextSketch>) -> Content {
        Content { digest: beginning(digest), sketch }
    }

    /// [`distance`] of the texts, if both are known.
    pub fn distance(&self, other: &Content) -> Option<u8> {
        let (one, other): (TextSketch, TextSketch) = (self.sketch?, other.sketch?);
        let has_common_band = one.bands.iter().zip(other.bands).any(|(one, other)| *one == other);
        distance(&one.body, &other.body).filter(|_| has_common_band)
    }
}

/// The first 64 bits of a digest. They are enough to tell pages apart: one in 3,700 crawls of 100 million pages has two
/// pages with the same bits.
pub fn beginning(digest: &[u8; 32]) -> u64 {
    digest.first_chunk().map_or(0, |first| u64::from_be_bytes(*first))
}
