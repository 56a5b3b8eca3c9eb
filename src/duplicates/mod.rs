//! Near copies among very many texts: by which of a text's fingerprint's bits others are looked for. Arithmetic alone; the frontier
//! keeps the tables (`frontier/embedded/copies.rs`).
//!
//! Manku, Jain and Das Sarma, "Detecting Near-Duplicates for Web Crawling" (WWW 2007): 64 bits in five blocks. Two fingerprints that
//! differ in at most three bits have two blocks in common at least. So there are ten tables, one for each pair of blocks, each
//! with every fingerprint permuted so that those blocks come first (25 or 26 bits), and what is near another stands in one of the tables
//! among those that begin as it does: with 100 million, one or two besides it. Four tables by one block of 16 bits would be smaller and have
//! 1,500 in its place ([docs/benchmarks.md](../../docs/benchmarks.md) has both).

use std::ops::RangeInclusive;

/// Bits that near copies differ in at most: what the tables find.
pub const MAX_DISTANCE: u8 = 3;

/// Bits that two fingerprints differ in.
pub fn distance(one: u64, other: u64) -> u8 {
    (one ^ other).count_ones() as u8
}

/// What copies of a page are known by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Content {
    /// The beginning of its SHA-256.
    pub digest: u64,
    /// Of its main text, if that is long enough.
    pub simhash: Option<u64>,
}

impl Content {
    pub fn new(digest: &[u8; 32], simhash: Option<u64>) -> Content {
        Content { digest: beginning(digest), simhash }
    }

    /// Bits that both texts differ in, where both are known.
    pub fn distance(&self, other: &Content) -> Option<u8> {
        Some(distance(self.simhash?, other.simhash?))
    }
}

/// Of a digest, as much as tells pages apart: of 3,700 crawls with 100 million of them, one has two that share it.
pub fn beginning(digest: &[u8; 32]) -> u64 {
    digest.first_chunk().map_or(0, |first| u64::from_be_bytes(*first))
}

/// An order of a fingerprint's blocks; bits are counted from the highest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Where each begins, and how wide it is.
    blocks: Vec<(u32, u32)>,
    /// How many bits those have that are in common.
    leading: u32,
}

impl Table {
    /// Those that are kept.
    pub fn chosen() -> Vec<Table> {
        Table::all(5, 2)
    }

    /// Of all, the table for each choice of `common` among so many blocks. The first has all of them in their order.
    pub fn all(blocks: u32, common: u32) -> Vec<Table> {
        let begins = |block: u32| 64 * block / blocks;
        let choices = (0_u32..1 << blocks).filter(|choice| choice.count_ones() == common);
        choices
            .map(|choice| {
                let (first, rest): (Vec<u32>, Vec<u32>) = (0..blocks).partition(|block| choice >> block & 1 == 1);
                let place = |block: &u32| (begins(*block), begins(block + 1) - begins(*block));
                let leading = first.iter().map(|block| place(block).1).sum();
                Table { blocks: first.iter().chain(&rest).map(place).collect(), leading }
            })
            .collect()
    }

    /// A fingerprint as it stands in this table.
    pub fn permute(&self, fingerprint: u64) -> u64 {
        let cut = |(begin, width): &(u32, u32)| fingerprint << begin >> (64 - width);
        self.blocks.iter().fold(0, |permuted, block| permuted << block.1 | cut(block))
    }

    /// The fingerprint that stands in this table so.
    pub fn restore(&self, permuted: u64) -> u64 {
        let mut left = permuted;
        self.blocks.iter().fold(0, |fingerprint, (begin, width)| {
            let block = left >> (64 - width);
            left <<= width;
            fingerprint | block << (64 - width - begin)
        })
    }

    /// Where in this table those stand that have the leading bits of `fingerprint`.
    pub fn range(&self, fingerprint: u64) -> RangeInclusive<u64> {
        let rest = u64::MAX >> self.leading;
        let permuted = self.permute(fingerprint);
        permuted & !rest..=permuted | rest
    }
}
