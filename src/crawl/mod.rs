//! A running crawl: opens the stores, starts the parts under the supervisor, and waits for the end.

mod api_service;
pub mod audit;
mod backfill;
mod clients;
pub(crate) mod console;
mod disk_space;
mod dispatch;
mod ending;
mod error;
mod focus;
pub mod letters;
mod limits;
mod open;
mod parts;
mod patience;
mod pauses;
mod progress_log;
mod purposes;
mod readers;
mod refill;
mod reload;
mod restart_sink;
mod running;
mod saved;
mod saved_scope;
mod seeds;
mod service_manager;
mod spending;
pub mod stall;
mod start_disk_space;
mod status;
mod stopped;
mod stuck_sinks;
mod summary;

use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use seine_simulation_hooks::outside::replacement;
use seine_system::blocking;
use seine_system::descriptors;

use crate::api;
use crate::config::{Loaded, StartedWith};
use crate::signals::Signals;
use crate::supervisor::Phase;
use crate::telemetry::fetch_log::FetchLog;
use crate::telemetry::manager::Manager;
use crate::telemetry::progress::{Progress, Screen};
use crate::validate::release_by_larger_allowance;
use api_service::CrawlService;
use ending::Shown;
use service_manager::Opening;
use start_disk_space::StartDiskSpace;

pub use ending::Ended;
pub use error::CrawlError;
pub(crate) use open::clock_is_ahead;
pub use summary::Summary;
pub(crate) use summary::meaning;

/// The inputs of a crawl.
pub struct Crawl {
    pub loaded: Loaded,
    /// The source of the configuration. It is stored in the data folder, and a reload reads it again.
    pub started_with: StartedWith,
    /// The data folder. A crawl in it continues.
    pub folder: PathBuf,
    /// Normalised URLs. May be empty if the folder has a crawl.
    pub seeds: Vec<String>,
    /// How long to wait when all remaining URLs must wait for hosts, DNS, the network or a stuck sink. None: keep
    /// running, even when nothing is left to fetch.
    pub patience: Option<Duration>,
    pub screen: Screen,
}

impl Crawl {
    /// Crawls until nothing is left to fetch or a signal comes. The first SIGTERM or Ctrl-C ends cleanly, a second one
    /// at once; neither loses accepted events.
    pub fn run(self) -> Result<Summary, CrawlError> {
        descriptors::raise();
        let runtime = blocking::Runtime::new().map_err(CrawlError::Runtime)?;
        let Crawl { loaded, started_with, folder, seeds, patience, screen } = self;
        let manager = Manager::of_environment();
        let config = &loaded.config;
        progress_log::log_start(config, &started_with, &folder);
        // This comes before anything is stored, so a port in use has no effect on the data folder.
        let port = config.http.listen.map(|address| runtime.block_on(api::listen(address))).transpose()?;
        let (running, signals, _socket) = {
            let _guard = runtime.enter();
            let _opening = Opening::begin(&manager, &folder);
            let mut room = StartDiskSpace::new(Signals::listen()); // opening a large crawl takes a while, too
            let running = room.open(|room| {
                let running = open::open(loaded.clone(), started_with.clone(), folder.clone(), &seeds, room)?;
                started_with.save(&running.folder)?;
                Ok(Arc::new(running))
            })?;
            if let Some(port) = port {
                tracing::info!("metrics at http://{}/metrics, the API at /api/v1", port.address);
                port.serve(Arc::new(CrawlService::new(running.clone())));
            }
            let socket = serve(&running)?;
            (running, room.into_signals(), socket)
        };
        // Before the crawl is found to be done.
        release_by_larger_allowance(&running.frontier, &running.config().frontier)?;
        let started = Instant::now();
        parts::start(&running, runtime.handle());
        let shown = Shown::new(&running, Progress::new(screen.clone()), manager);
        let ended = runtime.block_on(ending::watch(running.clone(), signals, patience, shown));
        screen.clear();
        running.metrics.fetch_log.iter().for_each(FetchLog::end);
        let summary = Summary::new(&running, ended, started.elapsed(), &seeds)?;
        // Pending pages belong to this round. The same command delivers them, and fetches no seed again.
        if summary.ended == Ended::Done && !summary.is_pending() {
            seeds::end_round(&running.frontier)?;
        }
        readers::part(&running.log);
        keep(&running)?;
        // A thread may be stuck in a request to a server; the process ends without it.
        runtime.shutdown_background();
        match running.supervisor.status().into_iter().find(|part| part.phase == Phase::Running) {
            Some(part) => Err(CrawlError::Unfinished(part.name)),
            None => Ok(summary),
        }
    }
}

/// Serves the operator at a socket in the data folder.
fn serve(running: &Arc<running::Running>) -> Result<Option<api::Presence>, CrawlError> {
    if let Some(operator) = replacement::<Operator>() {
        (operator.0)(Arc::new(CrawlService::new(running.clone())));
        return Ok(None);
    }
    match api::listen_in(&running.folder) {
        Ok(socket) => Ok(Some(socket.serve(Arc::new(CrawlService::new(running.clone()))))),
        Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => {
            Err(CrawlError::Socket { folder: running.folder.clone() })
        }
        // The file system may not support sockets, for example.
        Err(error) => {
            tracing::warn!(%error, "there is no socket in the data folder, so seine status, why and other commands \
                cannot ask this crawl");
            Ok(None)
        }
    }
}

/// In a simulation: receives the running crawl, to ask it and give it orders.
#[derive(Clone)]
pub struct Operator(pub Arc<dyn Fn(Arc<dyn api::Service>) + Send + Sync>);

/// Writes data that is only in memory.
fn keep(running: &running::Running) -> Result<(), CrawlError> {
    if let Err(error) = running.visitor().services.scope.refused.keep(&*running.frontier) {
        tracing::debug!(%error, "the list of refused links could not be saved");
    }
    match running.frontier.flush() {
        // Unwritten state is recovered from the page log, as after a crash.
        Err(error) if error.is_waiting() => tracing::warn!(%error, "ended because the disk is full"),
        flushed => flushed?,
    }
    Ok(())
}
