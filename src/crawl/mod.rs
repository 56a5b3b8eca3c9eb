//! A running crawl: opens the stores, starts the parts under the supervisor, watches for the end.

mod deliver;
mod dispatch;
mod summary;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::config::{Config, ScopeRule};
use crate::fetch::client::now_ms;
use crate::fetch::robots::RulesCache;
use crate::fetch::{Client, ClientError, Visitor};
use crate::frontier::scope::{Scope, ScopeError};
use crate::frontier::{Counts, EmbeddedFrontier, Frontier, FrontierError, FrontierOptions, Proposal};
use crate::log::{LogError, PageLog, Recovery, VALIDATOR};
use crate::page::Kind;
use crate::parse::{self, DeriveOptions};
use crate::sinks::SinkError;
use crate::supervisor::Supervisor;
use crate::telemetry::Metrics;
use crate::telemetry::metrics::Snapshot;
use crate::telemetry::progress::{Figures, Progress, Screen};
use crate::telemetry::server::{self, ListenError};
use crate::validate::Validator;

pub use summary::Summary;

/// What a crawl is started with.
pub struct Crawl {
    pub config: Config,
    /// The data folder; a crawl that stopped there goes on.
    pub folder: PathBuf,
    /// Normalised URLs. May be empty when the folder holds a crawl.
    pub seeds: Vec<String>,
    /// Keep running when nothing is due.
    pub stay: bool,
    pub screen: Screen,
}

#[derive(Debug, thiserror::Error)]
pub enum CrawlError {
    #[error("data folder {path} cannot be made: {source}; choose one you may write to with -o")]
    Folder { path: PathBuf, source: std::io::Error },
    #[error("no seeds: give --seed URL or -s FILE (or -o with the folder of an earlier crawl)")]
    NoSeeds,
    #[error(transparent)]
    Frontier(#[from] FrontierError),
    #[error(transparent)]
    Log(#[from] LogError),
    /// A sink of this run cannot know what it has delivered.
    #[error("{0}")]
    Cursor(String),
    #[error(transparent)]
    Scope(#[from] ScopeError),
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error(transparent)]
    Sink(#[from] SinkError),
    #[error("the runtime cannot be started: {0}")]
    Runtime(#[source] std::io::Error),
    #[error("{0} did not end in time and was left behind; what it had is on disk and goes on with the next start")]
    Unfinished(String),
}

/// After the first signal, what is in flight has this long to finish.
const GRACE: Duration = Duration::from_secs(10);
/// And this long to notice that the others are gone.
const LAST_GRACE: Duration = Duration::from_secs(2);
/// A part without a sign for longer is shown as stuck.
const STUCK_AFTER: Duration = Duration::from_secs(60);
const TICK: Duration = Duration::from_millis(100);
/// The scope of a crawl, kept with its frontier.
const SCOPE_NOTE: &str = "scope";

/// Everything the running parts share.
pub(crate) struct Running {
    pub config: Arc<Config>,
    pub folder: PathBuf,
    pub frontier: Arc<dyn Frontier>,
    pub log: PageLog,
    pub visitor: Arc<Visitor>,
    pub metrics: Arc<Metrics>,
    pub supervisor: Supervisor,
    /// No new leases.
    pub stop: CancellationToken,
    /// Sinks end after their present batch, whatever is pending.
    pub hurry: Arc<AtomicBool>,
    /// Nobody takes the pages any more, as with `| head`.
    pub reader_gone: CancellationToken,
}

impl Crawl {
    /// Crawls until nothing is left to do or a signal comes. The first SIGTERM or Ctrl-C ends cleanly, a second one at
    /// once; neither loses anything.
    pub fn run(self) -> Result<Summary, CrawlError> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(CrawlError::Runtime)?;
        let Crawl { config, folder, seeds, stay, screen } = self;
        let running = {
            let _guard = runtime.enter();
            Arc::new(open(config, folder, &seeds)?)
        };
        if let Some(address) = running.config.http.listen {
            let bound = runtime.block_on(server::start(address, running.clone()))?;
            tracing::info!("metrics at http://{bound}/metrics");
        }
        let started = Instant::now();
        start_parts(&running, runtime.handle());
        let ended = runtime.block_on(watch(running.clone(), stay, Progress::new(screen.clone())));
        screen.clear();
        let summary = Summary::new(&running, ended, started.elapsed());
        running.frontier.flush()?;
        // What did not end in time must not hold up the process: a thread of it may be waiting for a server.
        runtime.shutdown_background();
        match running.supervisor.status().into_iter().find(|part| part.phase == crate::supervisor::Phase::Running) {
            Some(part) => Err(CrawlError::Unfinished(part.name)),
            None => Ok(summary),
        }
    }
}

fn open(config: Config, folder: PathBuf, seeds: &[String]) -> Result<Running, CrawlError> {
    if seeds.is_empty() && !folder.join("frontier").is_dir() {
        return Err(CrawlError::NoSeeds); // before anything is made
    }
    std::fs::create_dir_all(&folder).map_err(|source| CrawlError::Folder { path: folder.clone(), source })?;
    let options = FrontierOptions {
        max_pages_per_host: config.frontier.max_pages_per_host,
        default_delay: config.frontier.host_delay.max(config.frontier.ip_delay.unwrap_or_default()),
        cache_bytes: config.frontier.cache_bytes,
    };
    let (log, recovery) = PageLog::open(&folder.join("log"), &config.log)?;
    warn_of(&recovery, &config);
    if let Some((_, why)) = recovery.unreadable.iter().find(|(name, _)| is_sink(name, &config)) {
        return Err(CrawlError::Cursor(why.clone()));
    }
    let frontier: Arc<dyn Frontier> = Arc::new(EmbeddedFrontier::open(&folder.join("frontier"), options, now_ms())?);
    let scope = Arc::new(scope(&config, &*frontier, seeds)?);
    propose_seeds(&*frontier, seeds)?;
    let metrics = Arc::new(Metrics::new());
    let stop = CancellationToken::new();
    let derive = DeriveOptions::new(&config);
    let config = Arc::new(config);
    let visitor = Visitor {
        frontier: frontier.clone(),
        log: log.clone(),
        client: Client::new(&config.fetch)?,
        scope: scope.clone(),
        config: config.clone(),
        derive: derive.clone(),
        rules: RulesCache::new(&config.fetch.user_agent.name),
        metrics: metrics.clone(),
        changed: Default::default(),
        parking: Default::default(),
        stop: stop.clone(),
        crawler_id: config.crawler_id.as_str().into(),
    };
    Ok(Running {
        config,
        folder,
        frontier,
        log,
        visitor: Arc::new(visitor),
        metrics,
        supervisor: Supervisor::default(),
        stop,
        hurry: Arc::default(),
        reader_gone: CancellationToken::new(),
    })
}

/// What a look at the log's folder found that an operator should know.
fn warn_of(recovery: &Recovery, config: &Config) {
    if let Some(torn) = &recovery.torn {
        tracing::warn!(segment = %torn.segment.display(), bytes = torn.bytes, "page log: cut what a crash left of records that were never accepted");
    }
    for damage in &recovery.damage {
        tracing::error!(segment = %damage.segment.display(), offset = damage.offset, events = damage.events, "page log: damaged, these events are lost");
    }
    for (name, why) in &recovery.unreadable {
        tracing::error!(reader = name, why, "page log: a reader's cursor cannot be read; it holds every segment");
    }
    for (name, _) in &recovery.readers {
        if name != VALIDATOR && !is_sink(name, config) {
            tracing::warn!(
                reader = name,
                "page log: this sink is not among those of this run, and the log keeps everything for it; \
                 remove its file in log/cursors to give that up"
            );
        }
    }
}

fn is_sink(name: &str, config: &Config) -> bool {
    config.sinks.iter().any(|sink| sink.name() == name)
}

/// The crawl's scope: the seeds' hosts of this run and of all runs before it in this folder.
fn scope(config: &Config, frontier: &dyn Frontier, seeds: &[String]) -> Result<Scope, CrawlError> {
    let known = frontier.note(SCOPE_NOTE)?;
    if seeds.is_empty() && known.is_none() {
        return Err(CrawlError::NoSeeds);
    }
    let scope = match known {
        Some(note) => Scope::from_note(&config.scope, &note, seeds)?,
        None => Scope::new(&config.scope, seeds)?,
    };
    frontier.set_note(SCOPE_NOTE, &scope.to_note())?;
    if config.scope.rule == ScopeRule::Any {
        tracing::warn!("scope is any: the crawl follows links to every host");
    }
    Ok(scope)
}

fn propose_seeds(frontier: &dyn Frontier, seeds: &[String]) -> Result<(), FrontierError> {
    let seed = |url: &String| Proposal { url: url.clone(), kind: Kind::Page, depth: 0, priority: 0 };
    let proposed = frontier.propose(&seeds.iter().map(seed).collect::<Vec<_>>(), now_ms())?;
    tracing::info!(new = proposed.added, known = proposed.known, "seeds");
    Ok(())
}

fn start_parts(running: &Arc<Running>, handle: &tokio::runtime::Handle) {
    let supervisor = &running.supervisor;
    let at = running.clone();
    supervisor.start("log", STUCK_AFTER, move |beat| Ok(at.log.run_writer(&mut || beat.progress(1))?));

    let at = running.clone();
    let validator = Validator {
        frontier: running.frontier.clone(),
        scope: running.visitor.scope.clone(),
        config: running.config.frontier.clone(),
        derive: running.visitor.derive.clone(),
        metrics: running.metrics.clone(),
    };
    supervisor.start("validator", STUCK_AFTER, move |beat| {
        let mut reader = at.log.follower(VALIDATOR, at.frontier.cursor()?)?;
        Ok(validator.run(&mut reader, beat, &|| at.visitor.changed.send_replace(()))?)
    });

    for sink in running.config.sinks.clone() {
        let at = running.clone();
        supervisor.start(&format!("sink {}", sink.name()), STUCK_AFTER, move |beat| {
            match deliver::deliver(&at, &sink, beat) {
                Err(error) if matches!(error.downcast_ref(), Some(SinkError::ReaderGone)) => {
                    at.reader_gone.cancel();
                    Ok(())
                }
                result => result,
            }
        });
    }

    let at = running.clone();
    let handle = handle.clone();
    supervisor.start("fetch", STUCK_AFTER, move |beat| handle.block_on(dispatch::dispatch(&at, beat)));
}

/// How a crawl came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Nothing left to do.
    Done,
    /// The limit of pages was reached.
    PageLimit,
    /// A signal came.
    Stopped,
    /// Nobody reads standard output any more.
    ReaderGone,
}

/// Watches until there is nothing left to do or a signal comes, then ends every part.
async fn watch(running: Arc<Running>, stay: bool, mut progress: Progress) -> Ended {
    let mut signals = Signals::listen();
    let mut tick = tokio::time::interval(TICK);
    let ended = loop {
        tokio::select! {
            () = signals.next() => break Ended::Stopped,
            () = running.reader_gone.cancelled() => break Ended::ReaderGone,
            _ = tick.tick() => {}
        }
        progress.show(&running.figures());
        if running.is_page_limit_reached() {
            break Ended::PageLimit;
        }
        if !stay && running.is_done() {
            break Ended::Done;
        }
    };
    let mut hurried = matches!(ended, Ended::Stopped | Ended::ReaderGone);
    let deadline = hurried.then(|| Instant::now() + GRACE);
    let ending = end_parts(running.clone(), deadline);
    tokio::pin!(ending);
    loop {
        tokio::select! {
            () = &mut ending => return ended,
            () = signals.next() => {
                if std::mem::replace(&mut hurried, true) {
                    // Everything accepted is on disk: leaving now loses nothing.
                    std::process::exit(130);
                }
                running.hurry();
            }
            _ = tick.tick() => progress.show(&running.figures()),
        }
    }
}

/// Fetching ends first, then the log's writer, then its readers: the order in which a page goes.
async fn end_parts(running: Arc<Running>, deadline: Option<Instant>) {
    running.stop.cancel();
    if deadline.is_some() {
        running.hurry();
    }
    let join = move || {
        let far = Instant::now() + Duration::from_secs(365 * 24 * 3600);
        if !running.supervisor.join(deadline.unwrap_or(far)) {
            // Whoever is still there waits for something that does not come: no more restarts, no more waiting for each
            // other.
            running.supervisor.end();
            running.log.close();
            running.supervisor.join(Instant::now() + LAST_GRACE);
        }
    };
    if let Err(panic) = tokio::task::spawn_blocking(join).await {
        tracing::error!(%panic, "waiting for the parts failed");
    }
}

/// Both are listened for all the time: a signal that comes while nobody waits for it is not lost.
struct Signals {
    terminate: Option<Signal>,
    interrupt: Option<Signal>,
}

impl Signals {
    fn listen() -> Signals {
        let listen =
            |kind, name| signal(kind).inspect_err(|error| tracing::warn!(%error, "{name} is not listened for")).ok();
        Signals {
            terminate: listen(SignalKind::terminate(), "SIGTERM"),
            interrupt: listen(SignalKind::interrupt(), "SIGINT"),
        }
    }

    async fn next(&mut self) {
        async fn one(signal: &mut Option<Signal>) {
            match signal {
                Some(signal) => _ = signal.recv().await,
                None => std::future::pending().await,
            }
        }
        tokio::select! {
            () = one(&mut self.interrupt) => {}
            () = one(&mut self.terminate) => {}
        }
    }
}

impl Running {
    /// Parts end soon, whatever is pending; one that fails is not started again, such as a sink whose server is away.
    fn hurry(&self) {
        self.hurry.store(true, Ordering::Relaxed);
        self.supervisor.end();
    }

    /// Nothing to fetch for the first time, nothing in flight, everything accepted is validated, no page to look at again.
    fn is_done(&self) -> bool {
        // The order matters: what validating brings is in the frontier before it counts as validated.
        self.is_validated() && !self.frontier.has_work(now_ms())
    }

    fn is_page_limit_reached(&self) -> bool {
        // What is in flight does not count: it may bring no page.
        self.config.frontier.max_pages.is_some_and(|pages| self.frontier.counts().live >= pages)
    }

    /// Pages to go until `max_pages`, those in flight counted as if they were there.
    pub(crate) fn pages_left(&self) -> Option<u64> {
        let counts = self.frontier.counts();
        self.config.frontier.max_pages.map(|pages| pages.saturating_sub(counts.live + counts.in_flight))
    }

    pub(crate) fn is_validated(&self) -> bool {
        self.frontier.cursor().is_ok_and(|cursor| cursor.index >= self.log.status().end.index)
    }

    fn figures(&self) -> Figures {
        let counts = self.frontier.counts();
        let log = self.log.status();
        let mut notice = (!log.room).then(|| "log full, fetching waits for the sinks".to_owned());
        if self.stop.is_cancelled() {
            notice = Some("finishing".to_owned());
        } else if let Some(due) = self.frontier.next_due().filter(|_| counts.hosts_leased == 0) {
            let wait = due.saturating_sub(now_ms()) / 1000;
            notice = notice.or((wait > 5).then(|| format!("next URL due in {wait} s")));
        }
        Figures {
            pages: counts.live + log.page_proposed(),
            bytes: self.metrics.bytes_fetched(),
            hosts: counts.hosts,
            queue: counts.work_proposed,
            pending: log.sinks().map(|(name, books)| (name.to_owned(), books.pending)).collect(),
            notice,
        }
    }
}

impl server::Status for Running {
    fn metrics(&self) -> String {
        let dns = self.visitor.client.dns().counts();
        let read = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        self.metrics.expose(&Snapshot {
            counts: self.frontier.counts(),
            log: &self.log.status(),
            parts: &self.supervisor.status(),
            dns: [
                ("cached", read(&dns.cached)),
                ("asked", read(&dns.asked)),
                ("failed", read(&dns.failed)),
                ("refused_private", read(&dns.refused_private)),
            ],
        })
    }

    fn ready(&self) -> Result<(), Vec<String>> {
        let mut reasons = Vec::new();
        for part in self.supervisor.status() {
            if part.stuck {
                reasons.push(format!("{}: no progress for {} s", part.name, part.since_last_sign.as_secs()));
            }
            if part.phase == crate::supervisor::Phase::BackingOff {
                reasons.push(format!("{}: failed: {}", part.name, part.last_error.unwrap_or_default()));
            }
        }
        if !self.log.status().room {
            reasons.push("page log: at its disk limit (page_log.max_size), fetching waits for the sinks".to_owned());
        }
        if reasons.is_empty() { Ok(()) } else { Err(reasons) }
    }
}

/// `seine stats`: what the stores of a crawl that is not running hold.
pub fn stats(folder: &Path) -> Result<(Counts, crate::log::LogStatus), CrawlError> {
    let (log, _) = PageLog::open(&folder.join("log"), &Config::default().log)?;
    let options = FrontierOptions::default();
    let frontier = EmbeddedFrontier::open(&folder.join("frontier"), options, 0)?;
    let _validator = log.follower(VALIDATOR, frontier.cursor()?)?;
    Ok((frontier.counts(), log.status()))
}

/// Seeds as they were typed, normalised.
pub fn normalise_seed(seed: &str) -> Option<String> {
    parse::url::parse(seed)
}
