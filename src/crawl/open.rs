//! Opens a crawl: its stores, scope and seeds.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};
use seine_frontier::scope::{CurrentScope, Scope};
use seine_frontier::{CLOCK_NOTE, EmbeddedFrontier, FrontierError, FrontierOptions, Notes, RefusedLinks, Verdicts};
use seine_page_log::{LogConfig, LogError, PageLog, Recovery, VALIDATOR};
use seine_parse::DeriveOptions;
use seine_system::blocking;
use seine_system::clock::{self, now_ms};
use seine_system::folders::make_private;

use super::clients::Clients;
use super::disk_space::DiskSpace;
use super::error::CrawlError;
use super::limits::OrderedLimits;
use super::pauses::Pauses;
use super::readers;
use super::restart_sink;
use super::running::{Running, page_limit};
use super::saved::{InForce, parameters_in_force};
use super::seeds::{propose_seeds, scope, try_seeds_again};
use super::spending::Spending;
use super::stall::Stall;
use super::start_disk_space::StartDiskSpace;
use crate::api;
use crate::backup::refuse_half_restored;
use crate::config::{Config, FrontierConfig, Loaded, SinkConfig, StartedWith};
use crate::fetch::Client;
use crate::shutdown::Shutdown;
use crate::sinks::watch::Watch;
use crate::supervisor::Supervisor;
use crate::telemetry::Metrics;
use crate::telemetry::fetch_log::FetchLog;
use crate::telemetry::progress::span;
use crate::telemetry::rates::Rates;
use crate::visit::rules_cache::RulesCache;
use crate::visit::shorter_delays;
use crate::visit::{Services, Visitor};

pub(super) fn open(
    loaded: Loaded,
    started_with: StartedWith,
    folder: PathBuf,
    seeds: &[String],
    room: &mut StartDiskSpace,
) -> Result<Running, CrawlError> {
    check_folder_is_crawl(&folder, seeds)?;
    let mut config = loaded.config.clone();
    make_private(&folder).map_err(|source| CrawlError::Folder { path: folder.clone(), source })?;
    let Stores { log, frontier, derive } = stores(&loaded, &mut config, &folder, room)?;
    let ordered = ordered_limits(&frontier, &mut config)?;
    room.write(&frontier, || restart_sink::after_restore(&folder, &frontier))?;
    let scope = scope_with(seeds, &frontier, &config, room)?;
    room.write(&frontier, || shorter_delays::bring_forward_at_start(&frontier, &config))?;
    let frontier: Arc<EmbeddedFrontier> = Arc::new(frontier);
    let pauses = Arc::new(open_pauses(&frontier, &folder)?);
    room.write(&frontier, || try_seeds_again(&frontier, seeds))?;
    let (client, metrics) = client_and_metrics(&config, &folder)?;
    let (config, shutdown) = (Arc::new(config), Shutdown::default());
    let supervisor = Supervisor::new(shutdown.clone());
    let visitor = Visitor::new(Services {
        frontier: frontier.clone(),
        log: log.clone(),
        client: Arc::new(client),
        scope: Arc::new(CurrentScope::new(scope, RefusedLinks::open(&*frontier)?)),
        config: config.clone(),
        derive,
        rules: Arc::new(RulesCache::new(&config.fetch.user_agent.name)),
        metrics: metrics.clone(),
        changed: Default::default(),
        parking: Default::default(),
        settled: Default::default(),
        waits: Default::default(),
        busy_hosts: Default::default(),
        outage: Default::default(),
        control_answers: Default::default(),
        shutdown: shutdown.clone(),
        crawler_id: config.crawler_id.as_str().into(),
    });
    Ok(Running {
        watches: config.sinks.iter().map(|sink| (sink.name().to_owned(), Watch::default())).collect(),
        in_force: Mutex::new(loaded),
        started_with,
        following: Default::default(),
        clients: Arc::new(Clients::open(&config.work, &folder, frontier.clone(), log.clone(), shutdown.clone())?),
        folder,
        room: Arc::new(DiskSpace::new(frontier.clone(), log.clone(), supervisor.clone())),
        frontier,
        accepted_before: log.status().end.index,
        log,
        visitor: RwLock::new(Arc::new(visitor)),
        metrics,
        supervisor,
        shutdown,
        pauses,
        limits: Arc::new(ordered),
        refills: Default::default(),
        forgetting: Default::default(),
        rates: Rates::new(),
        started_ms: now_ms(),
        reader_gone: Default::default(),
        spending: Spending::default(),
        stall: Stall::default(),
        has_caught_up: Default::default(),
    })
}

/// This check comes before anything is created.
fn check_folder_is_crawl(folder: &Path, seeds: &[String]) -> Result<(), CrawlError> {
    refuse_half_restored(folder)?;
    match seeds.is_empty() && !folder.join("frontier").is_dir() {
        true => Err(CrawlError::NoSeeds),
        false => Ok(()),
    }
}

struct Stores {
    log: PageLog,
    frontier: EmbeddedFrontier,
    /// How links are normalised, which the data folder influences.
    derive: DeriveOptions,
}

fn stores(
    loaded: &Loaded,
    config: &mut Config,
    folder: &Path,
    room: &mut StartDiskSpace,
) -> Result<Stores, CrawlError> {
    check_log_exists(config, folder)?;
    let log = log_for(config, folder, &DeriveOptions::from(&*config))?;
    if log.status().end.index > 0 && !folder.join("frontier").is_dir() {
        return Err(CrawlError::Half { folder: folder.to_owned(), missing: "frontier", there: "log" });
    }
    let frontier = open_frontier(config, folder, room)?;
    // Before anything is appended: if the log has lost its end, new events are numbered behind the frontier's cursor.
    log.number_after(VALIDATOR, frontier.cursor()?)?;
    config.scope.drop_parameters = room.write(&frontier, || parameters_in_force(&frontier, loaded))?;
    let derive = DeriveOptions::from(&*config);
    log.derive_by(derive.clone());
    Ok(Stores { log, frontier, derive })
}

/// A frontier that has read from a log needs that log. A new frontier does not: its folder may be the mount point of a disk.
fn check_log_exists(config: &Config, folder: &Path) -> Result<(), CrawlError> {
    if !folder.join("frontier").is_dir() || folder.join("log").is_dir() {
        return Ok(());
    }
    let open = || EmbeddedFrontier::open(&folder.join("frontier"), options(config), now_ms());
    match retry_while_locked(folder, FrontierError::is_in_use, open)?.cursor()?.index {
        0 => Ok(()),
        _ => Err(CrawlError::Half { folder: folder.to_owned(), missing: "log", there: "frontier" }),
    }
}

/// The operator's limits override the configuration.
fn ordered_limits(frontier: &EmbeddedFrontier, config: &mut Config) -> Result<OrderedLimits, FrontierError> {
    let ordered = OrderedLimits::open(frontier)?;
    ordered.lay_over(&mut config.frontier);
    ordered.tell();
    frontier.reconfigure(options(config));
    Ok(ordered)
}

/// The scope. Queues the seeds, and applies changed settings to known URLs.
fn scope_with(
    seeds: &[String],
    frontier: &EmbeddedFrontier,
    config: &Config,
    room: &mut StartDiskSpace,
) -> Result<Scope, CrawlError> {
    let scope = scope(config, frontier, seeds, room)?;
    room.write(frontier, || propose_seeds(frontier, seeds))?;
    room.write(frontier, || InForce { frontier, scope: &scope, config }.follow())?;
    room.write(frontier, || restart_sink::mark_again(frontier))?;
    Ok(scope)
}

fn open_pauses(frontier: &EmbeddedFrontier, folder: &Path) -> Result<Pauses, FrontierError> {
    let pauses = Pauses::open(frontier)?;
    if pauses.is_crawl_paused() {
        tracing::warn!("the crawl is paused, by its operator's order: seine resume -o {}", folder.display());
    }
    Ok(pauses)
}

/// The log, with the offsets of the sinks.
fn log_for(config: &Config, folder: &Path, derive: &DeriveOptions) -> Result<PageLog, CrawlError> {
    let (log, recovery) = open_log(folder, &config.log, derive)?;
    warn_of(&recovery);
    if let Some((_, why)) = recovery.unreadable.iter().find(|(name, _)| config.sink(name).is_some()) {
        return Err(CrawlError::Cursor(why.clone()));
    }
    readers::meet(&log, config, folder)?;
    Ok(log)
}

fn open_log(folder: &Path, config: &LogConfig, derive: &DeriveOptions) -> Result<(PageLog, Recovery), LogError> {
    let is_locked = |error: &LogError| matches!(error, LogError::Locked { .. });
    retry_while_locked(folder, is_locked, || PageLog::open(&folder.join("log"), config, derive.clone()))
}

/// Retries for a moment, because a command such as `seine status` locks a stopped crawl briefly. A process that was just
/// killed also holds the locks, and its socket accepts connections, until the kernel has ended it. A running crawl accepts
/// connections for longer.
fn retry_while_locked<T, E>(
    folder: &Path,
    is_locked: impl Fn(&E) -> bool,
    mut open: impl FnMut() -> Result<T, E>,
) -> Result<T, E> {
    const PATIENCE: Duration = Duration::from_secs(5);
    const DYING: Duration = Duration::from_secs(1);
    const AGAIN: Duration = Duration::from_millis(50);
    let (began, mut answered_since) = (Instant::now(), None::<Instant>);
    loop {
        match open() {
            Err(error) if is_locked(&error) && began.elapsed() < PATIENCE => {
                answered_since =
                    if api::is_answered(folder) { answered_since.or_else(|| Some(Instant::now())) } else { None };
                if answered_since.is_some_and(|since| since.elapsed() >= DYING) {
                    return Err(error);
                }
                blocking::sleep(AGAIN);
            }
            opened => return opened,
        }
    }
}

fn open_frontier(config: &Config, folder: &Path, room: &mut StartDiskSpace) -> Result<EmbeddedFrontier, CrawlError> {
    let open = || EmbeddedFrontier::open(&folder.join("frontier"), options(config), now_ms());
    let frontier = retry_while_locked(folder, FrontierError::is_in_use, open)?;
    room.write(&frontier, || set_clock(&frontier))?;
    room.write(&frontier, || frontier.try_put_off_again(now_ms()).map(|_| ()))?;
    Ok(frontier)
}

/// Options of the frontier, including those that can change while it is open.
pub(super) fn options(config: &Config) -> FrontierOptions {
    let FrontierConfig { max_pages_per_host, max_hosts_per_domain, .. } = config.frontier;
    let FrontierConfig { revisit_share, cache_bytes, host_delay, ip_delay, .. } = config.frontier;
    let limit = config.frontier.max_pages.map(page_limit);
    let others = config.frontier.budgets.iter().copied().filter(|budget| !limit.is_some_and(|limit| limit == *budget));
    FrontierOptions {
        budgets: limit.into_iter().chain(others).collect(),
        max_pages_per_host,
        max_hosts_per_domain,
        lowers_depths: config.frontier.max_depth.is_some(),
        default_delay: host_delay.max(ip_delay.unwrap_or_default()),
        revisit_share,
        ranks: config.frontier.focus.ranks,
        cache_bytes,
        // A smaller reserve, so that fetching pauses long before the frontier stops writing.
        reserve_bytes: config.log.reserve_bytes / 4,
        wakes_duplicates: config.sinks.iter().any(|sink| sink.upkeep.skip_duplicates),
    }
}

/// Warns about damage that was found when the log was opened.
fn warn_of(recovery: &Recovery) {
    if let Some(torn) = &recovery.torn {
        tracing::warn!(segment = %torn.segment.display(), bytes = torn.bytes, "page log: removed incomplete records \
            of a crash; they were never accepted");
    }
    for damage in &recovery.damage {
        tracing::error!(segment = %damage.segment.display(), offset = damage.offset, events = damage.events, "page \
            log: damaged; these events are lost");
    }
    for (name, why) in &recovery.unreadable {
        tracing::error!(
            reader = name,
            why,
            "page log: the committed offset of a reader cannot be read, so all \
            segments are kept"
        );
    }
}

/// The client and the metrics, which include all counts of the client.
fn client_and_metrics(config: &Config, folder: &Path) -> Result<(Client, Arc<Metrics>), CrawlError> {
    let client = match config.sinks.iter().any(SinkConfig::wants_exact_bytes) {
        true => Client::keeping_wire(&config.fetch)?,
        false => Client::new(&config.fetch)?,
    };
    let mut metrics = Metrics::default();
    metrics.fetch_log = FetchLog::open(folder, &config.logging.fetches)?;
    metrics.show(client.counts());
    config.sinks.iter().for_each(|sink| metrics.show_sink(sink.name()));
    Ok((client, Arc::new(metrics)))
}

/// By how much the crawl's clock was ahead of the machine's at the last start (ms), if an earlier run had a wrong clock.
const CLOCK_LEAD_NOTE: &str = "clock lead";

/// Times continue after those of the last run, even if the machine's clock was set back.
pub(super) fn set_clock(frontier: &EmbeddedFrontier) -> Result<(), FrontierError> {
    let saved = |name: &str| Ok(frontier.note(name)?.and_then(|text| text.parse().ok()).unwrap_or(0));
    let (latest, lead_before) = (saved(CLOCK_NOTE)?, saved(CLOCK_LEAD_NOTE)?);
    let (start, lead) = clock::continued(clock::wall_ms(), latest, lead_before);
    clock::begin_at(start);
    if lead != lead_before {
        frontier.set_note(CLOCK_LEAD_NOTE, &lead.to_string())?;
    }
    if let Some(ahead) = clock::ahead() {
        tracing::warn!("{}", clock_is_ahead(ahead));
    }
    Ok(())
}

/// The sentence for a crawl whose clock is ahead of the machine's.
pub(crate) fn clock_is_ahead(ahead: Duration) -> String {
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    let consequence = match ahead > DAY {
        true => "rechecks run at the right intervals, but fetch times stored in pages are in the future",
        false => "nothing is due until this machine's clock has caught up, or while the crawl runs",
    };
    let span = span(ahead.as_secs());
    format!(
        "the times in this data folder are {span} ahead of this machine's clock: {consequence}; if the clock was wrong \
        before, another data folder has the right times"
    )
}
