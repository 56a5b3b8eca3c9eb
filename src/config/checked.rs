//! The checked configuration: types that cannot hold a wrong value. All code behind the command line reads only these.
//!
//! The defaults are in `defaults.yml` alone, and [`Config::default`] reads them from there. The `Default` of each part
//! is empty; the table of keys fills it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use seine_formats::options::Options;
use seine_formats::stored_fields::{Field, Stored};
use seine_formats::{Format, elastic};
use seine_frontier::ScopeConfig;
use seine_page_log::LogConfig;
use seine_parse::clean_text::TextOptions;
use seine_policies::budgets::Budget;
use seine_policies::revisit::RevisitPolicy;

use super::destinations::Destination;
use super::secret::Secret;

/// All settings of a crawl. [`Config::default`] is polite; `defaults.yml` explains each value.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    pub crawler_id: String,
    pub frontier: FrontierConfig,
    pub fetch: FetchConfig,
    pub scope: ScopeConfig,
    /// None: HTML pages are relevant, other pages are not.
    pub classifier: Option<std::sync::Arc<seine_policies::relevance::PageClassifier>>,
    pub log: LogConfig,
    pub sinks: Vec<SinkConfig>,
    /// Archives of this crawl. A sink that is added later is filled from them first (backfill).
    pub from_archive: Vec<String>,
    /// How destinations that index text get the main text.
    pub text: TextOptions,
    pub http: HttpConfig,
    pub work: WorkConfig,
    pub logging: LoggingConfig,
}

/// `link_storage.*`: which URLs are fetched, and when.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FrontierConfig {
    /// Delay between the end of a request to a host and the start of the next. Also the default of `ip_delay`.
    pub host_delay: Duration,
    /// Delay between requests to one IP address, if it differs from `host_delay`.
    pub ip_delay: Option<Duration>,
    /// Limit for the crawl-delay of a robots.txt.
    pub max_crawl_delay: Duration,
    pub max_depth: Option<u16>,
    pub max_pages_per_host: Option<u64>,
    pub max_hosts_per_domain: Option<u64>,
    /// The crawl ends after this many pages, over all of its runs.
    pub max_pages: Option<u64>,
    /// No two budgets limit the same thing.
    pub budgets: Vec<Budget>,
    pub max_retries: u16,
    /// Back-off of a host after its first failure. It doubles with each failure, with jitter, up to `backoff_max`.
    pub backoff_base: Duration,
    pub backoff_max: Duration,
    /// Limit for Retry-After.
    pub retry_after_max: Duration,
    /// A host that has failed for this long is given up.
    pub give_up_after: Duration,
    pub revisit: RevisitPolicy,
    pub focus: super::FocusConfig,
    pub redirects: Redirects,
    pub canonical: Canonical,
    /// In near duplicates at most about this many of 100 words differ, 0 to 3. 0: only equal bytes. None: no detection of
    /// duplicates.
    pub duplicates: Option<u8>,
    /// The share of the requests to a host that rechecks get, 0 to 1.
    pub revisit_share: f64,
    /// Read the sitemaps that robots.txt names, and `/sitemap.xml`.
    pub sitemaps: bool,
    /// Detect crawl traps and defer their URLs.
    pub traps: bool,
    /// How many deferred URLs of a host are fetched though they lead to as many again.
    pub deferred_per_host: u32,
    /// Bytes of memory for the store's block cache.
    pub cache_bytes: u64,
}

/// The URL under which a page is delivered that several URLs redirect to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Redirects {
    /// The first URL that redirected to it; the others are its aliases.
    #[default]
    First,
    /// Each of the URLs, as in ACHE.
    Follow,
}

/// How a page is treated that names another URL as canonical (`rel=canonical`, RFC 6596).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Canonical {
    /// It is delivered under its own URL.
    #[default]
    Ignore,
    /// It is an alias of the canonical URL.
    Obey,
}

/// What happens to an answer that is a wall: a challenge, a log-in, an error page with status 200.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Walls {
    /// It says nothing about its page, and the earlier page stays.
    #[default]
    Hold,
    /// It is delivered like a page, with what was recognised.
    Deliver,
}

/// `crawler_manager.downloader.*`: how pages are fetched.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FetchConfig {
    /// Number of hosts fetched from at the same time.
    pub concurrency: usize,
    /// Number of concurrent requests to one host; at least 1.
    pub connections_per_host: usize,
    pub user_agent: UserAgent,
    pub connect_timeout: Duration,
    /// Time limit from the request to the end of the response headers.
    pub header_timeout: Duration,
    /// Time limit without a byte of the body.
    pub read_timeout: Duration,
    /// Minimum rate of a body, in bytes per second over each `min_rate_span`; 0: no minimum.
    pub min_rate: u64,
    pub min_rate_span: Duration,
    /// Time limit for a whole request, body included.
    pub total_timeout: Duration,
    /// Maximum size of a body as received. The rest is cut off and the event is marked as truncated.
    pub max_body_bytes: u64,
    /// Maximum size of a decoded body.
    pub max_decoded_bytes: u64,
    pub max_redirects: usize,
    pub obey_robots: bool,
    pub allow_private: bool,
    /// Media types to fetch (`text/html`, `text/*`); empty: all.
    pub mime_types: Vec<String>,
    pub walls: Walls,
    /// Cookies to send.
    pub cookies: Vec<Cookie>,
    /// Keep cookies in archived requests: `target_storage.data_format.warc.archive_credentials`.
    pub archive_credentials: bool,
    /// Host names that are resolved without DNS.
    pub static_hosts: BTreeMap<String, Vec<IpAddr>>,
    /// DNS servers in order of preference; empty: those of the system.
    pub dns_servers: Vec<SocketAddr>,
    pub dns_cache_entries: usize,
    /// How long to cache that a name does not exist.
    pub dns_negative_ttl: Duration,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserAgent {
    /// The product token, which groups of a robots.txt are matched with.
    pub name: String,
    pub url: Option<String>,
    pub email: Option<String>,
    /// The complete header. None: made of the other fields.
    pub string: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cookie {
    pub domain: String,
    pub path: String,
    /// `name=value; name=value`, as in the Cookie header.
    pub cookie: Secret,
}

/// The sink that prints. It has no offset in the log.
pub const STDOUT: &str = "stdout";

/// A sink: its format and its destination.
#[derive(Debug, Clone, PartialEq)]
pub struct SinkConfig {
    /// The name in folders, metrics and on the command line.
    pub name: String,
    /// None: the destination has a format of its own (STDOUT), or writes nothing (VOID).
    pub format: Option<Format>,
    pub options: Options,
    pub destination: Destination,
    pub upkeep: Upkeep,
    /// Name of the destination in `target_storage.sinks`.
    pub kind: &'static str,
}

/// How a destination updates pages that it has, so that it converges to the live pages. Each destination has only the
/// keys that it supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Upkeep {
    pub unchanged: Unchanged,
    pub removed: Removed,
    /// A page is treated as unchanged if its main text changed by fewer bits (0 to 64).
    pub min_change: u8,
    /// Leave out duplicates, and remove a page that becomes one.
    pub skip_duplicates: bool,
    /// Which withheld answers the destination takes. Its kind decides this; there is no key.
    pub answers: Answers,
}

/// Which withheld answers ([`seine_parse::page::Withheld`]) a destination takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Answers {
    /// None: it holds only pages.
    #[default]
    None,
    /// All but truncated pages. There is one page per URL, or readers use the last one.
    Whole,
    /// All answers, each marked as what it is.
    All,
}

/// How a recheck is handled that found the page unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unchanged {
    /// Write it like any other page, if the answer had a body.
    #[default]
    Send,
    Skip,
    /// As `Send`. After a 304 or a change that is too small, update only the time.
    Touch,
}

/// How a page that is gone is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Removed {
    Delete,
    Tombstone,
    Event,
    /// Keep the page, and write the answer if the format can hold it.
    #[default]
    Keep,
}

/// `target_storage.data_format.kafka.*`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KafkaConfig {
    pub topic: String,
    /// Properties under librdkafka's names. Any of them may be secret.
    pub properties: BTreeMap<String, Secret>,
    /// Create the topic if it is missing.
    pub create_topic: bool,
    /// For a topic that Seine creates; none: the broker's default.
    pub partitions: Option<u16>,
    pub replication_factor: Option<u16>,
    /// Replace a producer that has delivered nothing for this long although the broker answers.
    pub stuck_after: Duration,
}

/// `target_storage.data_format.elasticsearch.*`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ElasticConfig {
    /// At least one; each has a port.
    pub hosts: Vec<url::Url>,
    /// A valid name. Seine creates a missing index.
    pub index: String,
    /// Basic authentication, …
    pub username: Option<String>,
    pub password: Option<Secret>,
    /// … or an API key as Elasticsearch shows it: base64 of id and key.
    pub api_key: Option<Secret>,
    /// PEM certificates to trust in addition to the public ones.
    pub ca_file: Option<PathBuf>,
    pub connect_timeout: Duration,
    /// Time limit for one request with its whole response.
    pub socket_timeout: Duration,
    /// A bulk is retried for this long without progress. Then the sink reports a failure and is restarted.
    pub max_retry: Duration,
    /// A bulk is sent when it has this many bytes …
    pub bulk_bytes: u64,
    /// … or this many documents …
    pub bulk_documents: usize,
    /// … or when its first document has waited this long.
    pub flush_interval: Duration,
    /// Also store the mapping as an index template.
    pub index_template: bool,
}

/// The web server of this process: metrics, health and the API.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HttpConfig {
    /// None: no server.
    pub listen: Option<SocketAddr>,
    /// The first token allows reading the API, the second also operating the crawl.
    pub read_token: Option<Secret>,
    pub operate_token: Option<Secret>,
}

/// `work.*`: remote workers, other crawlers that fetch for this one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WorkConfig {
    /// Names of the remote workers, each with its token. Empty: no remote workers.
    pub clients: Vec<(String, Secret)>,
    /// Length of a lease of a remote worker; it may renew the lease.
    pub lease: Duration,
    /// Maximum number of hosts per remote worker.
    pub max_hosts: usize,
    /// The share of a trusted worker's pages that we fetch ourselves to compare, 0 to 1.
    pub verify_share: f64,
    /// A worker becomes trusted after this many pages in a row that agree with our own fetches.
    pub prove_after: u32,
}

/// `fetch_log.*`: one line per fetch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FetchLogConfig {
    pub enabled: bool,
    /// Maximum size of one file.
    pub max_file_bytes: u64,
    /// Number of files to keep, including the open one.
    pub max_files: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoggingConfig {
    pub json: bool,
    pub fetches: FetchLogConfig,
    /// Time between two progress lines; none: no progress lines.
    pub interval: Option<Duration>,
    /// A filter of `tracing`: `info`, `seine=debug`.
    pub filter: String,
}

impl Config {
    pub fn sink(&self, name: &str) -> Option<&SinkConfig> {
        self.sinks.iter().find(|sink| sink.name() == name)
    }

    /// An empty configuration, which the table of keys fills.
    pub(super) fn empty() -> Config {
        Config {
            crawler_id: String::new(),
            frontier: FrontierConfig::default(),
            fetch: FetchConfig::default(),
            scope: ScopeConfig::default(),
            classifier: None,
            log: LogConfig::default(),
            sinks: Vec::new(),
            from_archive: Vec::new(),
            text: TextOptions { language: true, ..TextOptions::default() },
            http: HttpConfig::default(),
            work: WorkConfig::default(),
            logging: LoggingConfig::default(),
        }
    }

    /// The values of `min_change` in use, in bits. Empty if no sink measures changes: then texts are not read, which
    /// would cost more than all other work for a page.
    pub fn thresholds(&self) -> BTreeSet<u8> {
        let is_looked_at = !self.frontier.revisit.is_off();
        let wants = |sink: &&SinkConfig| sink.upkeep.min_change > 0 || (is_looked_at && sink.tells_distance());
        self.sinks.iter().filter(wants).map(|sink| sink.upkeep.min_change).collect()
    }
}

impl SinkConfig {
    /// Whether a page is delivered with the distance of its change, in the document or in a header.
    fn tells_distance(&self) -> bool {
        self.destination.row().tells_distance || self.format == Some(elastic::FORMAT)
    }

    /// The name in folders, metrics and on the command line.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the format stores requests and responses byte for byte. Then the client keeps the bytes and speaks
    /// HTTP/1.1 only.
    pub(crate) fn wants_exact_bytes(&self) -> bool {
        self.format.is_some_and(|format| format.holds(Field::Exchange) != Stored::No)
    }
}
