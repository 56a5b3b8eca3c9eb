//! A running crawl: opens the stores, starts the parts under the supervisor, watches for the end.

pub mod audit;
mod deliver;
mod dispatch;
mod ending;
mod open;
mod patience;
mod readers;
mod room;
mod start_room;
mod stillness;
mod summary;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::clock::now_ms;
use crate::config::{Config, StartedWith, StartedWithError};
use crate::descriptors;
use crate::fetch::ClientError;
use crate::frontier::scope::ScopeError;
use crate::frontier::{Frontier, FrontierError, Standing};
use crate::page_log::{LogError, PageLog, VALIDATOR};
use crate::parse;
use crate::sinks::SinkError;
use crate::sinks::watch::Watch;
use crate::supervisor::{Phase, Supervisor};
use crate::telemetry::Metrics;
use crate::telemetry::metrics::Snapshot;
use crate::telemetry::progress::{Figures, Progress, Screen};
use crate::telemetry::server::{self, ListenError};
use crate::validate::Validator;
use crate::visit::Visitor;
use crate::visit::outage::Part;
use start_room::StartRoom;

pub use ending::Ended;
pub use open::stats;
pub use patience::Waits;
pub use summary::Summary;
pub(crate) use summary::meaning;

/// What a crawl is started with.
pub struct Crawl {
    pub config: Config,
    /// Where `config` comes from; kept in the folder.
    pub started_with: StartedWith,
    /// The data folder; a crawl that stopped there goes on.
    pub folder: PathBuf,
    /// Normalised URLs. May be empty when the folder holds a crawl.
    pub seeds: Vec<String>,
    /// How long it waits when all that is left waits: for hosts in trouble, for name servers, the network, or a sink that
    /// does not move. None: it keeps running, even with nothing left to do.
    pub patience: Option<Duration>,
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
    #[error(transparent)]
    StartedWith(#[from] StartedWithError),
    /// By a signal, before it began.
    #[error("stopped while it waited for room on the disk; the same command goes on")]
    Stopped,
    #[error("the runtime cannot be started: {0}")]
    Runtime(#[source] std::io::Error),
    #[error("{0} did not end in time and was left behind; what it had is on disk and goes on with the next start")]
    Unfinished(String),
}

/// The part that writes the page log.
const LOG: &str = "log";
/// A part without a sign for longer is shown as stuck.
const STUCK_AFTER: Duration = Duration::from_secs(60);

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
    /// Since when.
    hurried: OnceLock<Instant>,
    /// What each sink of this run shows of itself.
    pub watches: BTreeMap<String, Watch>,
    /// Nobody takes the pages any more, as with `| head`.
    pub reader_gone: CancellationToken,
    pub room: room::Room,
}

impl Crawl {
    /// Crawls until nothing is left to do or a signal comes. The first SIGTERM or Ctrl-C ends cleanly, a second one at
    /// once; neither loses anything.
    pub fn run(self) -> Result<Summary, CrawlError> {
        descriptors::raise();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(CrawlError::Runtime)?;
        let Crawl { config, started_with, folder, seeds, patience, screen } = self;
        // Before anything is stored: a port in use ends it here.
        let port = config.http.listen.map(|address| runtime.block_on(server::listen(address))).transpose()?;
        let (running, signals) = {
            let _guard = runtime.enter();
            let mut room = StartRoom::new(ending::Signals::listen()); // opening a large crawl takes a while, too
            let running = room.open(|room| {
                let running = open::open(config.clone(), folder.clone(), &seeds, room)?;
                started_with.save(&running.folder)?;
                Ok(Arc::new(running))
            })?;
            if let Some(port) = port {
                tracing::info!("metrics at http://{}/metrics", port.address);
                port.serve(running.clone());
            }
            (running, room.into_signals())
        };
        let started = Instant::now();
        start_parts(&running, runtime.handle());
        let ended = runtime.block_on(ending::watch(running.clone(), signals, patience, Progress::new(screen.clone())));
        screen.clear();
        let summary = Summary::new(&running, ended, started.elapsed(), &seeds)?;
        // What is pending belongs to this round: the same command delivers it, and fetches nothing anew.
        if summary.ended == Ended::Done && !summary.is_pending() {
            open::end_round(&*running.frontier)?;
        }
        readers::part(&running.log);
        match running.frontier.flush() {
            // As after a kill: what is not written comes again from the page log.
            Err(error) if error.is_waiting() => tracing::warn!(%error, "ended without room on the disk"),
            flushed => flushed?,
        }
        // What did not end in time must not hold up the process: a thread of it may be waiting for a server.
        runtime.shutdown_background();
        match running.supervisor.status().into_iter().find(|part| part.phase == Phase::Running) {
            Some(part) => Err(CrawlError::Unfinished(part.name)),
            None => Ok(summary),
        }
    }
}

fn start_parts(running: &Arc<Running>, handle: &tokio::runtime::Handle) {
    let supervisor = &running.supervisor;
    let at = running.clone();
    supervisor.start(LOG, STUCK_AFTER, move |beat| Ok(at.log.run_writer(&mut || beat.progress(1))?));

    let at = running.clone();
    let validator = Validator {
        frontier: running.frontier.clone(),
        scope: running.visitor.scope.clone(),
        config: running.config.frontier.clone(),
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

impl Running {
    /// Parts end soon, whatever is pending; one that fails is not started again, such as a sink whose server is away.
    fn hurry(&self) {
        self.hurried.get_or_init(Instant::now);
        self.hurry.store(true, Ordering::Relaxed);
        self.supervisor.end();
    }

    fn has_log_writer(&self) -> bool {
        self.supervisor.status().iter().any(|part| part.name == LOG && part.phase != Phase::Finished)
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
        if self.lacks_room().is_some() {
            notice = Some("disk full, fetching waits for room".to_owned());
        } else if self.stop.is_cancelled() {
            notice = Some("finishing".to_owned());
        } else if let Some(away) = self.visitor.outage.pause(now_ms()) {
            notice = notice.or(Some(away.notice(now_ms())));
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
        let overdue = self.frontier.next_due().map_or(0, |due| now_ms().saturating_sub(due));
        let away = self.visitor.outage.away();
        let is_away = |part| away.iter().any(|away| away.part == part);
        self.metrics.expose(&Snapshot {
            counts: self.frontier.counts(),
            overdue: Duration::from_millis(overdue),
            log: &self.log.status(),
            log_limit: self.config.log.max_bytes,
            lacks_room: self.is_said_to_lack_room(),
            frontier_away: self.alive().is_err(),
            parts: &self.supervisor.status(),
            away: [
                ("resolver", is_away(Part::Resolver)),
                ("network", is_away(Part::Network)),
                ("files", is_away(Part::Files)),
            ],
            dns: [
                ("cached", read(&dns.cached)),
                ("asked", read(&dns.asked)),
                ("failed", read(&dns.failed)),
                ("refused_private", read(&dns.refused_private)),
            ],
        })
    }

    fn ready(&self) -> Result<Vec<String>, Vec<String>> {
        let mut reasons = Vec::new();
        for part in self.supervisor.status() {
            if part.stuck {
                reasons.push(format!("{}: no progress for {} s", part.name, part.since_last_sign.as_secs()));
            }
            if part.phase == Phase::BackingOff {
                reasons.push(format!("{}: failed: {}", part.name, part.last_error.unwrap_or_default()));
            }
        }
        if !self.log.status().room {
            reasons.push("page log: at its disk limit (page_log.max_size), fetching waits for the sinks".to_owned());
        }
        for away in self.visitor.outage.away() {
            reasons.push(format!(
                "{} away for {} s: {}",
                away.part,
                now_ms().saturating_sub(away.since) / 1000,
                away.example
            ));
        }
        reasons.extend(self.lacks_room());
        let is_ready = reasons.is_empty();
        reasons.extend(readers::left_behind(&self.log.status(), &self.config, &self.folder));
        if is_ready { Ok(reasons) } else { Err(reasons) }
    }

    fn alive(&self) -> Result<(), String> {
        match self.frontier.standing() {
            Standing::Away(why) => Err(why),
            Standing::Well | Standing::NoRoom(_) => Ok(()),
        }
    }
}

/// Seeds as they were typed, normalised.
pub fn normalise_seed(seed: &str) -> Option<String> {
    parse::url::parse(seed)
}
