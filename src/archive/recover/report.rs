//! The result of a recovery.

use seine_formats::Format;

/// Most ranges that are listed.
pub(super) const MAX_RANGES: usize = 1000;

/// The result of a recovery.
#[derive(Debug, Clone, PartialEq)]
pub struct RecoveryReport {
    pub format: Format,
    /// Complete records, all of which are in the new file.
    pub records: u64,
    /// Length of the damaged file in bytes.
    pub length: u64,
    /// The lost parts: the first ranges, the number of ranges, and their total bytes.
    pub lost: Vec<LostRange>,
    pub ranges: u64,
    pub lost_bytes: u64,
}

/// A range of the damaged file from which nothing could be saved. Inside a compressed stream its bounds are accurate to
/// a few kilobytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostRange {
    pub from: u64,
    /// The position after its last byte.
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
