//! A client against one answer, and a small crawl in this process: visitor, page log and validator, without dispatcher
//! and supervisor.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use seine_formats::http::{Exactness, parse_response, write_response};
use seine_frontier::RefusedLinks;
use seine_frontier::ScopeConfig;
use seine_frontier::scope::{CurrentScope, Scope};
use seine_frontier::{
    EmbeddedFrontier, Fetching, FrontierOptions, HostLeases, LeaseLimits, Proposal, Scheduler, Validation, Verdicts,
};
use seine_page_log::{LogConfig, PageLog};
use seine_parse::DeriveOptions;
use seine_parse::page::{Failure, Outcome, PageEvent, Response, Truncated};
use seine_system::clock::now_ms;

use crate::sites::server::{Answer, Ask};
use parking_lot::Mutex;
use seine::config::{Config, FetchConfig, FrontierConfig};
use seine::fetch::Client;
use seine::fetch::client::{Conditions, Exchange};
use seine::telemetry::Metrics;
use seine::validate::Validator;
use seine::visit::rules_cache::RulesCache;
use seine::visit::{Services, Visitor};
use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::sites::Running;

/// Loopback allowed; short waits everywhere.
pub fn fetch_config() -> FetchConfig {
    FetchConfig {
        allow_private: true,
        connect_timeout: Duration::from_secs(5),
        header_timeout: Duration::from_secs(20),
        read_timeout: Duration::from_secs(20),
        total_timeout: Duration::from_secs(60),
        ..Config::default().fetch
    }
}

pub fn config() -> Config {
    Config {
        fetch: fetch_config(),
        frontier: FrontierConfig {
            host_delay: Duration::ZERO,
            max_retries: 1,
            backoff_base: Duration::from_millis(20),
            backoff_max: Duration::from_secs(1),
            sitemaps: false,
            ..Config::default().frontier
        },
        log: LogConfig { commit_interval: Duration::from_millis(1), ..Config::default().log },
        ..Config::default()
    }
}

/// `a.test` is the site's first address, `b.test` its second, and so on.
pub fn names(site: &Running) -> BTreeMap<String, Vec<IpAddr>> {
    let name = |at: usize| format!("{}.test", (b'a' + at as u8) as char);
    site.addresses.iter().enumerate().map(|(at, ip)| (name(at), vec![*ip])).collect()
}

/// A server that gives every request the same kind of answer.
pub fn site(answer: impl Fn(&Ask) -> Answer + Send + Sync + 'static) -> Running {
    Running::start(1, Arc::new(answer))
}

/// Requests `/` from `site`.
pub async fn get_with(config: &FetchConfig, site: &Running) -> Exchange {
    get_url(config, &format!("{}/", site.origin(0))).await
}

/// Uses the client without [`Response::wire`] and the one with it; both must give the same result.
pub async fn get_url(config: &FetchConfig, url: &str) -> Exchange {
    let clients = [Client::new(config).unwrap(), Client::keeping_wire(config).unwrap()];
    let (plain, kept) = tokio::join!(get_by(&clients[0], url), get_by(&clients[1], url));
    assert_alike(&plain, &kept);
    plain
}

pub async fn get_by(client: &Client, url: &str) -> Exchange {
    client.get(&url.parse().unwrap(), &Conditions::default(), client.limits()).await
}

fn assert_alike(plain: &Exchange, kept: &Exchange) {
    assert_eq!((plain.ip, &plain.request_headers), (kept.ip, &kept.request_headers));
    match (&plain.outcome, &kept.outcome) {
        (Outcome::Response(plain), Outcome::Response(kept)) => {
            let without_wire = Response { wire: None, ..kept.clone() };
            // How much arrived in time is random.
            let is_late = plain.truncated == Some(Truncated::Time) && kept.truncated == plain.truncated;
            let body = if is_late { plain.body.clone() } else { kept.body.clone() };
            assert_eq!(*plain, Response { body, ..without_wire });
            assert_parses_as(kept);
        }
        (Outcome::Failure(plain), Outcome::Failure(kept)) => {
            assert_eq!(plain.reason, kept.reason, "{} | {}", plain.message, kept.message);
            assert!(!kept.message.is_empty());
        }
        (plain, kept) => panic!("{plain:?}\n{kept:?}"),
    }
}

/// The exact bytes are there, and match the parsed response.
fn assert_parses_as(response: &Response) {
    let mut bytes = Vec::new();
    assert_eq!(write_response(response, &mut bytes), Exactness::Exact);
    let parsed = parse_response(&bytes.into()).unwrap();
    assert_eq!((parsed.status, parsed.version), (response.status, response.version));
    assert_eq!(parsed.body, response.body);
    for (name, value) in &response.headers.0 {
        assert!(parsed.headers.all(name).any(|it| it == value), "{name}: {value}");
    }
}

/// The client's result for one answer.
pub async fn get(answer: Answer) -> Exchange {
    let site = site(move |_| answer.clone());
    get_with(&fetch_config(), &site).await
}

pub fn response(exchange: Exchange) -> Response {
    match exchange.outcome {
        Outcome::Response(response) => response,
        Outcome::Failure(failure) => panic!("failed: {failure:?}"),
    }
}

pub fn failure(exchange: Exchange) -> Failure {
    match exchange.outcome {
        Outcome::Response(response) => panic!("answered: {response:?}"),
        Outcome::Failure(failure) => failure,
    }
}

pub fn failure_of(event: &PageEvent) -> &Failure {
    match &event.outcome {
        Outcome::Failure(failure) => failure,
        Outcome::Response(response) => panic!("{} answered {}", event.url, response.status),
    }
}

pub fn status_of(event: &PageEvent) -> u16 {
    event.response().map_or(0, |response| response.status)
}

/// A crawl in this process. Ends with its runtime; [`MiniCrawl::run`] works until nothing is left.
pub struct MiniCrawl {
    pub frontier: Arc<EmbeddedFrontier>,
    pub visitor: Arc<Visitor>,
    events: Arc<Mutex<Vec<Arc<PageEvent>>>>,
    pub log: PageLog,
    _folder: TempDir,
}

impl MiniCrawl {
    pub fn new(config: Config, seeds: &[&str]) -> MiniCrawl {
        MiniCrawl::with_frontier(config, seeds, |frontier| frontier)
    }

    /// The same with a client that keeps exact bytes.
    pub fn keeping_wire(config: Config, seeds: &[&str]) -> MiniCrawl {
        let client = Client::keeping_wire(&config.fetch).unwrap();
        MiniCrawl::with_client(config, seeds, client, |frontier| frontier)
    }

    /// The same with its frontier wrapped by `wrap`.
    pub fn with_frontier<F: Fetching + Validation + 'static>(
        config: Config,
        seeds: &[&str],
        wrap: impl FnOnce(Arc<EmbeddedFrontier>) -> Arc<F>,
    ) -> MiniCrawl {
        let client = Client::new(&config.fetch).unwrap();
        MiniCrawl::with_client(config, seeds, client, wrap)
    }

    fn with_client<F: Fetching + Validation + 'static>(
        config: Config,
        seeds: &[&str],
        client: Client,
        wrap: impl FnOnce(Arc<EmbeddedFrontier>) -> Arc<F>,
    ) -> MiniCrawl {
        let (crawl, validator) = MiniCrawl::parts(tempfile::tempdir().unwrap(), config, seeds, client, wrap);
        crawl.start_log(validator);
        crawl
    }

    /// A crawl in a data folder without running parts, and its validator.
    pub fn stopped(folder: TempDir, config: Config, seeds: &[&str]) -> (MiniCrawl, Validator) {
        MiniCrawl::stopped_with(folder, config, seeds, |frontier| frontier)
    }

    /// The same with its frontier wrapped by `wrap`.
    pub fn stopped_with<F: Fetching + Validation + 'static>(
        folder: TempDir,
        config: Config,
        seeds: &[&str],
        wrap: impl FnOnce(Arc<EmbeddedFrontier>) -> Arc<F>,
    ) -> (MiniCrawl, Validator) {
        let client = Client::new(&config.fetch).unwrap();
        MiniCrawl::parts(folder, config, seeds, client, wrap)
    }

    fn parts<F: Fetching + Validation + 'static>(
        folder: TempDir,
        config: Config,
        seeds: &[&str],
        client: Client,
        wrap: impl FnOnce(Arc<EmbeddedFrontier>) -> Arc<F>,
    ) -> (MiniCrawl, Validator) {
        let options = FrontierOptions { default_delay: Duration::ZERO, ..FrontierOptions::default() };
        let frontier = Arc::new(EmbeddedFrontier::open(&folder.path().join("frontier"), options, now_ms()).unwrap());
        let wrapped = wrap(frontier.clone());
        let (log, _) = PageLog::open(&folder.path().join("log"), &config.log, DeriveOptions::from(&config)).unwrap();
        let seeds: Vec<String> = seeds.iter().map(|seed| seine_parse::url::parse(seed).unwrap()).collect();
        let scope = Arc::new(CurrentScope::new(Scope::new(&config.scope, &seeds).unwrap(), RefusedLinks::default()));
        frontier.propose(&seeds.iter().map(|url| Proposal::seed(url)).collect::<Vec<_>>(), now_ms()).unwrap();
        let derive = DeriveOptions::from(&config);
        let metrics = Arc::new(Metrics::default());
        let validator =
            Validator::new(wrapped.clone(), scope.clone(), config.frontier.clone(), metrics.clone()).unwrap();
        let visitor = Visitor::new(Services {
            frontier: wrapped,
            log: log.clone(),
            client: client.into(),
            scope,
            derive,
            rules: RulesCache::new(&config.fetch.user_agent.name).into(),
            metrics,
            changed: Default::default(),
            parking: Default::default(),
            settled: Default::default(),
            waits: Default::default(),
            busy_hosts: Default::default(),
            outage: Default::default(),
            control_answers: Default::default(),
            shutdown: Default::default(),
            crawler_id: "test".into(),
            config: Arc::new(config),
        });
        let crawl = MiniCrawl {
            frontier,
            visitor: Arc::new(visitor),
            events: Default::default(),
            log: log.clone(),
            _folder: folder,
        };
        (crawl, validator)
    }

    /// Runs the log's writer and the validator, each in a thread, until the log is closed.
    fn start_log(&self, validator: Validator) {
        let log = self.log.clone();
        std::thread::spawn(move || log.run_writer(&mut || ()).unwrap());
        let mut reader = self.log.reader("validator").unwrap();
        let (events, visitor) = (self.events.clone(), self.visitor.clone());
        std::thread::spawn(move || {
            while !reader.is_closed_and_drained() {
                let entries = reader.next(100, 10 << 20, Duration::from_millis(20)).unwrap();
                // Recorded first, then applied: when no work is left, all events are recorded.
                events.lock().extend(entries.iter().map(|entry| entry.event.clone()));
                validator.validate(&entries).unwrap();
                visitor.services.changed.send_replace(());
            }
        });
    }

    /// Every event so far, in the order of acceptance.
    pub fn events(&self) -> Vec<Arc<PageEvent>> {
        self.events.lock().clone()
    }

    /// Crawls until no work is left; returns all events.
    ///
    /// # Panics
    /// If it takes longer than `limit`.
    pub async fn run(&self, limit: Duration) -> Vec<Arc<PageEvent>> {
        self.run_until(limit, |_| false).await
    }

    /// The same, or until `enough` returns true.
    pub async fn run_until(&self, limit: Duration, enough: impl Fn(&[Arc<PageEvent>]) -> bool) -> Vec<Arc<PageEvent>> {
        let work = async {
            let mut visits = JoinSet::new();
            let mut changed = self.visitor.services.changed.subscribe();
            while !self.is_done() && !enough(&self.events()) {
                changed.mark_unchanged();
                for lease in self.frontier.lease(now_ms(), LeaseLimits::new(8, 4)).unwrap() {
                    let visitor = self.visitor.clone();
                    // As the dispatcher does it.
                    visits.spawn(async move {
                        let (lease_at_start, at) = (lease.clone(), visitor.clone());
                        visitor.run_isolated(lease_at_start, async move { at.visit(lease).await }).await
                    });
                }
                while let Some(visit) = visits.try_join_next() {
                    let _ended = visit.unwrap();
                }
                let due = self.frontier.next_due().map_or(50, |due| due.saturating_sub(now_ms()).clamp(1, 50));
                let _ = tokio::time::timeout(Duration::from_millis(due), changed.changed()).await;
            }
        };
        if tokio::time::timeout(limit, work).await.is_err() {
            let outcomes: Vec<_> =
                self.events().iter().map(|event| format!("{}: {:.80?}", event.url, event.outcome)).collect();
            panic!("not done after {limit:?}: {:?}\n{}", self.frontier.counts(), outcomes.join("\n"));
        }
        self.events()
    }

    fn is_done(&self) -> bool {
        !self.frontier.has_work(now_ms()) && self.frontier.cursor().unwrap() >= self.log.status().end
    }
}

impl Drop for MiniCrawl {
    fn drop(&mut self) {
        self.visitor.services.shutdown.finish();
        self.log.close();
    }
}

/// The last event of a URL.
pub fn event_of<'e>(events: &'e [Arc<PageEvent>], url: &str) -> &'e PageEvent {
    events.iter().rfind(|event| event.url == url).unwrap_or_else(|| panic!("no event of {url}"))
}

/// A configuration in which `a.test`, `b.test`, … are the site's hosts, in scope.
pub fn config_for(site: &Running) -> Config {
    let mut config = config();
    config.fetch.static_hosts = names(site);
    config.scope = ScopeConfig { hosts: names(site).into_keys().collect(), ..config.scope };
    config
}
