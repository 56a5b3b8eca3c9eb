//! The options of a frontier.

use std::time::Duration;

use seine_policies::budgets::Budget;

/// The options of every frontier.
#[derive(Debug, Clone, PartialEq)]
pub struct FrontierOptions {
    pub budgets: Vec<Budget>,
    /// Maximum number of pages per host (without sitemaps); none: no limit.
    pub max_pages_per_host: Option<u64>,
    /// Maximum number of hosts per registrable domain; none: no limit. Links to further hosts are left out; seeds are
    /// not.
    pub max_hosts_per_domain: Option<u64>,
    /// A known URL takes the depth of the shortest way to it, and is refetched when its depth falls, so that its links
    /// are followed from there. For crawls with a maximum depth: it costs reads for each link.
    pub lowers_depths: bool,
    /// No host is leased earlier than this after the start, because a killed process cannot have stored when its last
    /// requests ended. At least the delays of hosts and of addresses.
    pub default_delay: Duration,
    /// The share of rechecks while a host has both rechecks and new URLs, 0 to 1.
    pub revisit_share: f64,
    /// Links have scores: hosts come in the order of their best queued URL, not of their waiting time.
    pub ranks: bool,
    /// Bytes of memory for the store's block cache.
    pub cache_bytes: u64,
    /// With fewer free bytes on its disk nothing is written, because the store needs them for its background work. 0:
    /// not checked.
    pub reserve_bytes: u64,
    /// Some destination skips duplicates. When a page is removed, some of its duplicates are then rechecked at once.
    pub wakes_duplicates: bool,
}

/// As a crawl without a configuration opens it.
impl Default for FrontierOptions {
    fn default() -> Self {
        FrontierOptions {
            budgets: Vec::new(),
            max_pages_per_host: None,
            max_hosts_per_domain: None,
            lowers_depths: false,
            default_delay: Duration::from_secs(1),
            revisit_share: 0.5,
            ranks: false,
            cache_bytes: 32 << 20,
            reserve_bytes: 0,
            wakes_duplicates: false,
        }
    }
}
