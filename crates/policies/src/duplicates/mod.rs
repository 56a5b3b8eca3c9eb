//! Near duplicates: finds fingerprints that differ in few bits among very many. Arithmetic only; the frontier stores
//! the tables (`seine-frontier`).
//!
//! The method is that of Manku, Jain and Das Sarma, "Detecting Near-Duplicates for Web Crawling" (WWW 2007). A
//! fingerprint has 64 bits in five blocks. Two fingerprints that differ in at most three bits have at least two blocks
//! in common. So there are ten tables, one for each pair of blocks. Each table stores every fingerprint permuted so
//! that its two blocks come first (25 or 26 bits). A near duplicate has the same first bits in one of the tables. Among
//! 100 million fingerprints, one or two others have the same first bits. Four tables with one block of 16 bits each
//! would be smaller but give 1,500 candidates ([docs/benchmarks.md](../../../../docs/benchmarks.md) has both).

use std::ops::RangeInclusive;

/// Largest distance in bits that the tables find.
pub const MAX_DISTANCE: u8 = 3;

/// Number of bits in which two fingerprints differ.
pub fn distance(one: u64, other: u64) -> u8 {
    (one ^ other).count_ones() as u8
}

/// The values by which duplicates of a page are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Content {
    /// The first 64 bits of its SHA-256.
    pub digest: u64,
    /// Simhash of the main text, if that is long enough.
    pub simhash: Option<u64>,
}

impl Content {
    pub fn new(digest: &[u8; 32], simhash: Option<u64>) -> Content {
        Content { digest: beginning(digest), simhash }
    }

    /// Number of bits in which the main texts differ, if both are known.
    pub fn distance(&self, other: &Content) -> Option<u8> {
        Some(distance(self.simhash?, other.simhash?))
    }
}

/// The first 64 bits of a digest. They are enough to tell pages apart: one in 3,700 crawls of 100 million pages has two
/// pages with the same bits.
pub fn beginning(digest: &[u8; 32]) -> u64 {
    digest.first_chunk().map_or(0, |first| u64::from_be_bytes(*first))
}

/// An order of a fingerprint's blocks. Bits are counted from the highest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Start and width of each block.
    blocks: Vec<(u32, u32)>,
    /// Width of the common blocks.
    leading: u32,
}

impl Table {
    /// The tables in use.
    pub fn chosen() -> Vec<Table> {
        Table::all(5, 2)
    }

    /// All tables for a number of blocks of which `common` come first. The first table keeps the blocks in order.
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

    /// A fingerprint as stored in this table.
    pub fn permute(&self, fingerprint: u64) -> u64 {
        let cut = |(begin, width): &(u32, u32)| fingerprint << begin >> (64 - width);
        self.blocks.iter().fold(0, |permuted, block| permuted << block.1 | cut(block))
    }

    /// The inverse of [`permute`](Table::permute).
    pub fn restore(&self, permuted: u64) -> u64 {
        let mut left = permuted;
        self.blocks.iter().fold(0, |fingerprint, (begin, width)| {
            let block = left >> (64 - width);
            left <<= width;
            fingerprint | block << (64 - width - begin)
        })
    }

    /// The range of this table with the same leading bits as `fingerprint`.
    pub fn range(&self, fingerprint: u64) -> RangeInclusive<u64> {
        let rest = u64::MAX >> self.leading;
        let permuted = self.permute(fingerprint);
        permuted & !rest..=permuted | rest
    }
}
