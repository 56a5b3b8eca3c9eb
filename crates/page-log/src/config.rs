//! The settings of a page log.

use std::time::Duration;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct LogConfig {
    pub segment_bytes: u64,
    /// Fetching pauses when this much waits for readers.
    pub max_bytes: u64,
    /// The longest time that an event waits for others before the fsync.
    pub commit_interval: Duration,
    /// Fetching pauses when the disk of the data folder has fewer free bytes. 0: the free space is not checked.
    pub reserve_bytes: u64,
}
