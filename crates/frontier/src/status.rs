//! The status of a frontier: its sizes, and the state of its disk.

/// The state of a frontier's disk. The texts say where, and what is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiskState {
    Well,
    /// Nothing is written until there is free space again.
    Full(String),
    /// A write failed. The store cannot be used until it is opened again ([`super::EmbeddedFrontier::restore`]).
    Failed(String),
}

/// Sizes, all O(1).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Counts {
    /// Queued URLs, including retries and rechecks.
    pub work_proposed: u64,
    /// The part of `work_proposed` without a final answer so far; the rest are rechecks.
    pub first_time: u64,
    /// The part of `first_time` that is deferred ([`super::deferred`]). No run waits for these URLs.
    #[serde(default)]
    pub deferred: u64,
    /// The part of `deferred` whose pages exist under another URL: without a session, or on the host that is mirrored.
    #[serde(default)]
    pub deferred_elsewhere: u64,
    /// The part of `work_proposed` that waits because its host was given up. Their last fetch is counted in `page`. For the
    /// summary; not reported.
    #[serde(skip)]
    pub given_up: u64,
    /// URLs in `page`, without sitemaps.
    pub page: u64,
    /// The part of `page` in each state.
    pub live: u64,
    pub gone: u64,
    pub refused: u64,
    pub failed: u64,
    pub withheld: u64,
    pub alias: u64,
    /// The part of `live` that are duplicates.
    #[serde(default)]
    pub duplicates: u64,
    /// Truncated pages ([`super::PageRecord::is_truncated`]).
    #[serde(default)]
    pub truncated: u64,
    /// Hosts ever seen.
    pub hosts: u64,
    /// Links left out because they lead to new hosts of a domain at its limit. A link counts each time.
    #[serde(default)]
    pub over_hosts: u64,
    /// Hosts with queued URLs.
    pub hosts_with_work: u64,
    /// Hosts with URLs that have no answer yet and never failed, neither in trouble nor blocked. For the end of a run; not reported.
    #[serde(skip)]
    pub hosts_fresh: u64,
    /// Hosts leased now, and URLs leased or fetched without a verdict.
    pub hosts_leased: u64,
    pub in_flight: u64,
    /// Links applied over the crawl's life (for links per page).
    pub links_seen: u64,
    /// Pages fetched (2xx) over the crawl's life, and how many of them were relevant.
    #[serde(default)]
    pub judged: u64,
    #[serde(default)]
    pub relevant: u64,
}
