//! What came of a recovery.

use crate::formats::Format;

/// So many ranges are kept by name.
pub const MAX_RANGES: usize = 1000;

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct RecoveryReport {
    pub format: Format,
    /// Whole records, all of which are in the new file.
    pub records: u64,
    /// Bytes of the damaged file.
    pub length: u64,
    /// What of it is lost: the first ranges, how many there are, and their bytes.
    pub lost: Vec<LostRange>,
    pub ranges: u64,
    pub lost_bytes: u64,
}

/// A range of the damaged file of which nothing could be saved. Inside a compressed stream the edges are those of the
/// nearest few kilobytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostRange {
    pub from: u64,
    /// Behind its last byte.
    pub to: u64,
    pub why: String,
}

impl RecoveryReport {
    pub(super) fn new(format: Format, length: u64) -> RecoveryReport {
        RecoveryReport { format, records: 0, length, lost: Vec::new(), ranges: 0, lost_bytes: 0 }
    }

    pub(super) fn lose(&mut self, from: u64, to: u64, why: &str) {
        if to <= from {
            return;
        }
        self.lost_bytes += to - from;
        if let Some(last) = self.lost.last_mut().filter(|last| last.to == from && last.why == why) {
            last.to = to;
            return;
        }
        self.ranges += 1;
        if self.lost.len() < MAX_RANGES {
            self.lost.push(LostRange { from, to, why: why.to_owned() });
        }
    }
}
