//! A remote worker: leases hosts from a server over its API, fetches their URLs with the same client, and sends the
//! responses back. It stores nothing, so killing it costs only its leases' time.

mod server;
mod visit;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use seine_system::clock::now_ms;
use tokio_util::task::TaskTracker;

use crate::api::schema::work::{HostLease, LeaseWanted, LeasedWork};
use crate::config::{FetchConfig, Secret};
use crate::fetch::{Client, ClientError};
use crate::shutdown::Shutdown;
use crate::signals::Signals;
use crate::telemetry::progress::{Screen, bytes, grouped};
use crate::visit::outage::{OutageDetector, Permission};
use server::Server;

pub(crate) use server::ServerError;

/// The settings of a remote worker.
pub(crate) struct Worker {
    /// URL of the server: `http://crawl.example:8080`.
    pub server: url::Url,
    pub token: Secret,
    /// How to fetch. The server decides the user agent.
    pub fetch: FetchConfig,
    /// The worker ends if the server cannot be reached for this long.
    pub patience: Duration,
    pub screen: Screen,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkError {
    #[error("cannot start: {0}")]
    Runtime(std::io::Error),
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error(transparent)]
    Server(#[from] ServerError),
}

/// Counts of finished work.
#[derive(Default)]
pub(crate) struct Done {
    pub accepted: AtomicU64,
    pub refetched: AtomicU64,
    pub refused: AtomicU64,
    pub bytes: AtomicU64,
}

/// Shared by all visits.
#[derive(Clone)]
struct Working {
    server: Server,
    /// The HTTP client with the server's settings, made with the first lease.
    client: Arc<Client>,
    user_agent: String,
    max_body_bytes: u64,
    outage: Arc<OutageDetector>,
    done: Arc<Done>,
    shutdown: Shutdown,
}

/// How long the server waits if no host is due.
const WAIT: Duration = Duration::from_secs(10);
/// Pause before the next request, if the server could not be reached or had no work; it doubles each time.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);
const PROGRESS: Duration = Duration::from_secs(60);

impl Worker {
    /// Works until a signal, or until the server is away for too long. Returns a summary.
    pub(crate) fn run(self) -> Result<String, WorkError> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(WorkError::Runtime)?;
        let ended = runtime.block_on(self.work());
        runtime.shutdown_background();
        ended
    }

    async fn work(self) -> Result<String, WorkError> {
        let (shutdown, done) = (Shutdown::default(), Arc::new(Done::default()));
        let mut signals = Signals::listen();
        let finishing = shutdown.clone();
        tokio::spawn(async move {
            signals.end().await;
            finishing.finish();
            signals.end().await;
            std::process::exit(130); // what was not sent is somebody else's in a minute
        });
        tokio::spawn(log_progress(done.clone(), self.screen.clone()));
        let visits = TaskTracker::new();
        let ended = self.take_work(&shutdown, &done, &visits).await;
        visits.close();
        visits.wait().await;
        self.screen.clear();
        ended.map(|()| done.to_string())
    }

    async fn take_work(&self, shutdown: &Shutdown, done: &Arc<Done>, visits: &TaskTracker) -> Result<(), WorkError> {
        // Prepares TLS, which requests to the server need too.
        let client = Arc::new(Client::new(&self.fetch)?);
        let mut working = Arc::new(Working {
            server: Server::new(self.server.clone(), self.token.clone())?,
            client,
            user_agent: self.fetch.user_agent.header(),
            max_body_bytes: self.fetch.max_body_bytes,
            outage: Arc::new(OutageDetector::default()),
            done: done.clone(),
            shutdown: shutdown.clone(),
        });
        let (mut pause, mut reached) = (FIRST_PAUSE, Instant::now());
        while !shutdown.is_finishing() {
            let free = self.fetch.concurrency.saturating_sub(visits.len());
            let permission = working.outage.permission(now_ms());
            let is_probe = permission == Permission::Probe;
            if free == 0 || matches!(permission, Permission::Closed(_)) {
                rest(shutdown, FIRST_PAUSE).await;
                continue;
            }
            let hosts = if is_probe { 1 } else { free };
            let wanted = LeaseWanted { hosts, wait_ms: WAIT.as_millis() as u64 };
            let asked = tokio::select! {
                asked = working.server.lease(&wanted) => asked,
                () = shutdown.finishing() => break,
            };
            match asked {
                Ok(work) => {
                    reached = Instant::now();
                    pause = if work.leases.is_empty() { longer(pause) } else { FIRST_PAUSE };
                    working = self.with_settings_of(working, &work)?;
                    work.leases.into_iter().for_each(|lease| begin(&working, lease, is_probe, visits));
                }
                // The worker has its maximum number of hosts.
                Err(error) if error.is_for_later() => {
                    reached = Instant::now();
                    rest(shutdown, pause).await;
                    pause = longer(pause);
                }
                Err(error) if error.is_away() && reached.elapsed() < self.patience => {
                    tracing::warn!(%error, "the server cannot be reached; trying again");
                    rest(shutdown, pause).await;
                    pause = longer(pause);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Uses the server's user agent, for which robots.txt was evaluated.
    fn with_settings_of(&self, working: Arc<Working>, work: &LeasedWork) -> Result<Arc<Working>, WorkError> {
        if working.user_agent == work.user_agent && working.max_body_bytes == work.max_body_bytes {
            return Ok(working);
        }
        let mut fetch = self.fetch.clone();
        fetch.user_agent.string = Some(work.user_agent.clone());
        fetch.max_body_bytes = work.max_body_bytes;
        let (client, user_agent) = (Arc::new(Client::new(&fetch)?), work.user_agent.clone());
        let max_body_bytes = work.max_body_bytes;
        Ok(Arc::new(Working { client, user_agent, max_body_bytes, ..Working::clone(&working) }))
    }
}

/// `is_probe`: this machine has an outage, and the visit tests whether it is over.
fn begin(working: &Arc<Working>, lease: HostLease, is_probe: bool, visits: &TaskTracker) {
    if is_probe {
        working.outage.probing();
    }
    let working = working.clone();
    visits.spawn(async move {
        visit::visit(&working, lease).await;
        if is_probe {
            working.outage.probed(now_ms());
        }
    });
}

fn longer(pause: Duration) -> Duration {
    (pause * 2).min(LONGEST_PAUSE)
}

async fn rest(shutdown: &Shutdown, time: Duration) {
    tokio::select! {
        () = tokio::time::sleep(time) => {}
        () = shutdown.finishing() => {}
    }
}

async fn log_progress(done: Arc<Done>, screen: Screen) {
    let mut ticks = tokio::time::interval(Duration::from_secs(1));
    let mut told = Instant::now();
    loop {
        ticks.tick().await;
        screen.live(|| done.to_string());
        if told.elapsed() >= PROGRESS {
            told = Instant::now();
            tracing::info!("{done}");
        }
    }
}

impl std::fmt::Display for Done {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (accepted, held, refused) = (read(&self.accepted), read(&self.refetched), read(&self.refused));
        write!(out, "{} pages taken", grouped(accepted))?;
        if held > 0 {
            write!(out, ", {} that the server refetches itself", grouped(held))?;
        }
        if refused > 0 {
            write!(out, ", {} refused", grouped(refused))?;
        }
        write!(out, ", {}", bytes(read(&self.bytes)))
    }
}
