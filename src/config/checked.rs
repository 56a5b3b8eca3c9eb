//! The checked configuration: types that cannot be wrong. Everything behind the command line reads these and nothing else.
//!
//! What holds without a configuration stands in `defaults.yml` alone, and [`Config::default`] is read from there. The
//! `Default` of a part is empty, for the table of keys to fill.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use super::scope::ScopeConfig;
use super::secret::Secret;
use crate::budgets::Budget;
use crate::formats::filesystem::Naming;
use crate::formats::held::{Field, Held};
use crate::formats::options::Options;
use crate::formats::{Format, elastic};
use crate::parse::clean_text::TextOptions;
use crate::revisit::RevisitPolicy;

/// Everything a crawl needs to know. [`Config::default`] is polite: see `defaults.yml` for each value's meaning.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    pub crawler_id: String,
    pub frontier: FrontierConfig,
    pub fetch: FetchConfig,
    pub scope: ScopeConfig,
    /// None: HTML is relevant, and nothing else.
    pub classifier: Option<std::sync::Arc<crate::relevance::PageClassifier>>,
    pub log: LogConfig,
    pub sinks: Vec<SinkConfig>,
    /// Archives of the crawl: a sink that comes later is filled from them first.
    pub from_archive: Vec<String>,
    /// Which main text destinations get that index text.
    pub text: TextOptions,
    pub http: HttpConfig,
    pub work: WorkConfig,
    pub logging: LoggingConfig,
}

/// `link_storage.*`: what is fetched when.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FrontierConfig {
    /// Between the end of one visit of a host and the start of the next; also between visits of one address.
    pub host_delay: Duration,
    /// Between visits of one address, when it differs from `host_delay`.
    pub ip_delay: Option<Duration>,
    /// A robots.txt crawl-delay above this counts as this.
    pub max_crawl_delay: Duration,
    pub max_depth: Option<u16>,
    pub max_pages_per_host: Option<u64>,
    pub max_hosts_per_domain: Option<u64>,
    /// The crawl ends once all of its runs have brought this many pages.
    pub max_pages: Option<u64>,
    /// No two of the same.
    pub budgets: Vec<Budget>,
    pub max_retries: u16,
    /// First back-off of a host after a failure; doubles with each, jittered, up to `backoff_max`.
    pub backoff_base: Duration,
    pub backoff_max: Duration,
    /// The longest rest that a server gets by asking for it.
    pub retry_after_max: Duration,
    /// A host in trouble for so long is given up.
    pub give_up_after: Duration,
    pub revisit: RevisitPolicy,
    pub focus: super::FocusConfig,
    pub redirects: Redirects,
    pub canonical: Canonical,
    /// Bits that near copies of a text differ in at most, 0 to 3 (0: none but exact ones); none: duplicates are not looked for.
    pub duplicates: Option<u8>,
    /// Of what a host gives, the part for pages looked at again: 0 to 1.
    pub revisit_share: f64,
    /// Read sitemaps named in robots.txt, and `/sitemap.xml` by guess.
    pub sitemaps: bool,
    /// Patterns of URLs that bring nothing new cool down.
    pub traps: bool,
    /// Bytes of memory for the store's block cache.
    pub cache_bytes: u64,
}

/// Under which URL a page is delivered that several lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Redirects {
    /// The first that led to it; the others are its aliases.
    #[default]
    First,
    /// Each of them, as in ACHE.
    Follow,
}

/// What becomes of a page that names another URL as its canonical one (`rel=canonical`, RFC 6596).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Canonical {
    /// It is delivered under its own.
    #[default]
    Ignore,
    /// It is an alias of that URL's page.
    Obey,
}

/// `crawler_manager.downloader.*`: how it is fetched.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FetchConfig {
    /// Hosts fetched from at the same time.
    pub concurrency: usize,
    /// Requests to one host at the same time; at least 1.
    pub connections_per_host: usize,
    pub user_agent: UserAgent,
    pub connect_timeout: Duration,
    /// From asking to the end of the answer's head.
    pub header_timeout: Duration,
    /// Without a byte of the body for so long, the exchange is given up.
    pub read_timeout: Duration,
    /// Bytes a second of the body in every `min_rate_span`, or the exchange is given up; 0: any.
    pub min_rate: u64,
    pub min_rate_span: Duration,
    /// For one whole exchange, body included: the last bound.
    pub total_timeout: Duration,
    /// Received bytes of a body; the rest is cut and the event marked.
    pub max_body_bytes: u64,
    /// Bytes of a body after its codings are taken off.
    pub max_decoded_bytes: u64,
    pub max_redirects: usize,
    pub obey_robots: bool,
    pub allow_private: bool,
    /// Media types wanted (`text/html`, `text/*`); empty: all.
    pub mime_types: Vec<String>,
    /// Extra request headers, such as `Cookie` for a domain.
    pub cookies: Vec<Cookie>,
    /// Requests are kept with their cookies, for WARC: `target_storage.data_format.warc.archive_credentials`.
    pub archive_credentials: bool,
    /// Names answered without asking DNS.
    pub static_hosts: BTreeMap<String, Vec<IpAddr>>,
    /// Asked for names, in this order; empty: the system's.
    pub dns_servers: Vec<SocketAddr>,
    pub dns_cache_entries: usize,
    /// How long a name that does not exist is remembered.
    pub dns_negative_ttl: Duration,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserAgent {
    /// The product token; robots.txt groups are matched with it.
    pub name: String,
    pub url: Option<String>,
    pub email: Option<String>,
    /// The whole header, instead of the one made of the parts.
    pub string: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cookie {
    pub domain: String,
    pub path: String,
    /// `name=value; name=value`, as the Cookie header has it.
    pub cookie: Secret,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct LogConfig {
    pub segment_bytes: u64,
    /// With so much waiting for readers, fetching pauses.
    pub max_bytes: u64,
    /// The longest an event waits for company before it is fsynced.
    pub commit_interval: Duration,
    /// With fewer bytes free on the data folder's disk, fetching pauses. 0: the disk is not looked at.
    pub reserve_bytes: u64,
}

/// The sink that prints: it leaves no place in the log.
pub const STDOUT: &str = "stdout";

/// A sink: what is written, and where.
#[derive(Debug, Clone, PartialEq)]
pub struct SinkConfig {
    /// In folders, metrics and on the command line.
    pub name: String,
    /// None: the destination's own, as STDOUT's lines; VOID keeps nothing.
    pub format: Option<Format>,
    pub options: Options,
    pub destination: Destination,
    pub upkeep: Upkeep,
    /// The destination's name in `target_storage.sinks`.
    pub kind: &'static str,
}

/// What a destination does about the pages it has, so that it comes to hold what is live: `unchanged` and `removed` of its
/// keys, of which each destination takes what it can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Upkeep {
    pub unchanged: Unchanged,
    pub removed: Removed,
    /// A changed page whose main text has changed by fewer bits (0 to 64) is dealt with as one that is as it was.
    pub min_change: u8,
    /// A page that is a duplicate of another is left out, and leaves if it is there.
    pub skip_duplicates: bool,
    /// What it takes besides pages that are to be delivered: by its kind, there is no key.
    pub answers: Answers,
}

/// What a destination takes of answers that are withheld ([`crate::page::Withheld`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Answers {
    /// Nothing: it holds pages.
    #[default]
    None,
    /// What archives hold, but half pages: there is one page a URL, or readers take the last for it.
    Whole,
    /// Whatever was answered, marked as what it is.
    All,
}

/// What becomes of a page that was looked at again and is as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unchanged {
    /// Written as any other, if it came with its content.
    #[default]
    Send,
    Skip,
    /// As `Send`; and of a 304, which has no content, and of a change that is too small to matter, the time is noted.
    Touch,
}

/// What becomes of a page that is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Removed {
    Delete,
    Tombstone,
    Event,
    /// It stays, and the answer is written where the format holds such.
    #[default]
    Keep,
}

/// Where pages go.
#[derive(Debug, Clone, PartialEq)]
pub enum Destination {
    /// Rolling files. A larger file is closed and the next one begun; only a single record that is larger makes a larger
    /// file. The level is zlib's, of formats whose files are one stream.
    Files {
        max_file_size: u64,
        compression_level: u32,
    },
    /// A file a page.
    Filesystem(Naming),
    /// None: the sink's own folder.
    Pagestore {
        base_folder: Option<PathBuf>,
    },
    Kafka(KafkaConfig),
    Elasticsearch(Box<ElasticConfig>),
    Stdout,
    Void,
}

/// `target_storage.data_format.kafka.*`: a topic, and how it is written to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KafkaConfig {
    pub topic: String,
    /// By librdkafka's names; any of them may be secret.
    pub properties: BTreeMap<String, Secret>,
    /// Make the topic when it is absent.
    pub create_topic: bool,
    /// Of a topic that is made; none: as the broker has it by default.
    pub partitions: Option<u16>,
    pub replication_factor: Option<u16>,
    /// A producer that delivers nothing for so long, while the broker answers, is made anew.
    pub stuck_after: Duration,
}

/// `target_storage.data_format.elasticsearch.*`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ElasticConfig {
    /// At least one, each with its port.
    pub hosts: Vec<url::Url>,
    /// A valid name, made when absent.
    pub index: String,
    /// Basic authentication …
    pub username: Option<String>,
    pub password: Option<Secret>,
    /// … or an API key, as Elasticsearch shows it: base64 of id and key.
    pub api_key: Option<Secret>,
    /// Certificates in PEM that are trusted besides the usual ones.
    pub ca_file: Option<PathBuf>,
    pub connect_timeout: Duration,
    /// For one request and its whole answer.
    pub socket_timeout: Duration,
    /// How long one bulk is tried again without progress before the sink reports failure and is started anew.
    pub max_retry: Duration,
    /// A bulk is sent with so many bytes …
    pub bulk_bytes: u64,
    /// … or so many documents …
    pub bulk_documents: usize,
    /// … or when its first document has waited for so long.
    pub flush_interval: Duration,
    /// The mapping is also put as an index template.
    pub index_template: bool,
}

/// The service's own web server: metrics and health.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HttpConfig {
    /// None: no server.
    pub listen: Option<SocketAddr>,
    /// Who has it may look; and may steer, too.
    pub read_token: Option<Secret>,
    pub operate_token: Option<Secret>,
}

/// `work.*`: other crawlers that fetch for this one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WorkConfig {
    /// Names, and what each shows that it is that one. None: no work is given out.
    pub clients: Vec<(String, Secret)>,
    /// How long a client has for a lease before it must have renewed it.
    pub lease: Duration,
    /// Hosts that one client may have at a time.
    pub max_hosts: usize,
    /// Of what a proven client sends, the part that is fetched again by ourselves; 0 to 1.
    pub verify_share: f64,
    /// Pages of a client that must agree with what we see before it is proven.
    pub prove_after: u32,
}

/// `fetch_log.*`: a line an attempt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FetchLogConfig {
    pub enabled: bool,
    /// Of one file.
    pub max_file_bytes: u64,
    /// The one that is written to included.
    pub max_files: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoggingConfig {
    pub json: bool,
    pub fetches: FetchLogConfig,
    /// Between two lines that say how far the crawl is; none: there are none.
    pub interval: Option<Duration>,
    /// A `tracing` filter: `info`, `seine=debug`.
    pub filter: String,
}

impl Destination {
    /// Pages go to a server, and not into the sink's folder.
    pub fn is_server(&self) -> bool {
        matches!(self, Destination::Kafka(_) | Destination::Elasticsearch(_))
    }
}

impl Config {
    pub fn sink(&self, name: &str) -> Option<&SinkConfig> {
        self.sinks.iter().find(|sink| sink.name() == name)
    }

    /// With nothing in it: what the table of keys fills.
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

    /// The least changes of main texts that sinks ask for, in bits. Empty where nobody wants to know: reading a text costs more than all
    /// else that is done for a page.
    pub fn thresholds(&self) -> BTreeSet<u8> {
        let is_looked_at = !self.frontier.revisit.is_off();
        let wants = |sink: &&SinkConfig| sink.upkeep.min_change > 0 || (is_looked_at && sink.tells_distance());
        self.sinks.iter().filter(wants).map(|sink| sink.upkeep.min_change).collect()
    }
}

impl SinkConfig {
    /// Whether it says by how much a page has changed: in the document, or beside the message.
    fn tells_distance(&self) -> bool {
        matches!(self.destination, Destination::Kafka(_)) || self.format == Some(elastic::FORMAT)
    }

    /// In folders, metrics and on the command line.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it holds exchanges exactly as they went over the connection: the client has to keep those bytes, and speaks
    /// HTTP/1.1 only.
    pub fn wants_exact_bytes(&self) -> bool {
        self.format.is_some_and(|format| format.holds(Field::Exchange) != Held::No)
    }
}
