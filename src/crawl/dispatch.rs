//! The dispatcher leases hosts that are due and gives each to a worker.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use seine_frontier::{FrontierError, Lease, LeaseLimits, Scheduler};
use seine_parse::page::EpochMs;
use seine_system::blocking::{self, Idle};
use seine_system::clock::{now_ms, take_set_ahead};
use seine_system::descriptors::Shares;
use tokio::sync::{Semaphore, watch};
use tokio_util::task::TaskTracker;

use super::running::Running;
use crate::api::Refusal;
use crate::config::FrontierConfig;
use crate::supervisor::Beat;
use crate::visit::outage::Permission;

/// Time until the next check if no host is due. A change ends the wait early.
const CHECK_EVERY: Duration = Duration::from_millis(500);
/// Minimum time until the next check.
const SOONEST: Duration = Duration::from_millis(2);
/// Minimum time if the only free workers are reserved for other domains.
const SPARED_AGAIN: Duration = Duration::from_millis(20);
/// Intended duration of a lease, short enough that other hosts get their turn.
const LEASE_TIME: Duration = Duration::from_secs(1);
/// Maximum number of URLs per lease.
const MAX_URLS: u64 = 32;

/// Leases hosts until the crawl ends, then waits for the workers and closes the log.
pub(crate) async fn dispatch(running: &Arc<Running>, beat: &Beat) -> anyhow::Result<()> {
    let tasks = TaskTracker::new();
    let result = lease_on(running, beat, &tasks).await;
    tasks.close();
    tasks.wait().await;
    running.clients.visits.close();
    running.clients.visits.wait().await;
    result?;
    running.log.close();
    Ok(())
}

async fn lease_on(running: &Arc<Running>, beat: &Beat, tasks: &TaskTracker) -> anyhow::Result<()> {
    let mut workers = Workers::new(running.config().fetch.concurrency);
    let mut changed = running.visitor().services.changed.subscribe();
    let shutdown = &running.shutdown;
    let mut idle = Idle::new(CHECK_EVERY);
    catch_up(running, beat, &mut changed).await?;
    while !shutdown.is_finishing() {
        beat.idle();
        changed.mark_unchanged();
        workers.are(running.config().fetch.concurrency);
        let permission = running.visitor().services.outage.permission(now_ms());
        let open = how_much(running, &workers);
        let limits = match permission {
            Permission::Open => open,
            Permission::Probe => LeaseLimits { hosts: open.hosts.min(1), urls: 1, ..open },
            Permission::Closed(_) => LeaseLimits::new(0, 0),
        };
        let now = now_ms();
        let leases = match limits.hosts {
            0 => Vec::new(),
            _ => match lease(running, now, limits).await {
                Err(error) if error.is_waiting() => Vec::new(),
                leases => leases?,
            },
        };
        if leases.is_empty() {
            let at_most = until_next(running, permission, limits.hosts, now, idle.time());
            wait(running, &mut changed, at_most).await;
            continue;
        }
        beat.progress();
        let is_probe = permission == Permission::Probe;
        if is_probe {
            running.visitor().services.outage.probing();
        }
        for lease in leases {
            let permit = workers.workers.clone().acquire_owned().await?;
            let running = running.clone();
            tasks.spawn(async move {
                work(&running, lease).await;
                drop(permit);
                if is_probe {
                    running.visitor().services.outage.probed(now_ms());
                }
                running.visitor().services.changed.send_replace(());
            });
        }
    }
    Ok(())
}

/// Waits until the events of an earlier run are validated, because their URLs are still in work_proposed.
async fn catch_up(running: &Arc<Running>, beat: &Beat, changed: &mut watch::Receiver<()>) -> anyhow::Result<()> {
    let shutdown = &running.shutdown;
    let mut idle = Idle::new(CHECK_EVERY);
    while !running.is_validated() && !shutdown.is_finishing() {
        wait(running, changed, idle.time()).await;
        beat.idle();
    }
    // Events that the last run accepted just before its end may have set the clock ahead. Then the pauses that all hosts
    // make after a start would end early by as much.
    let set_ahead = Duration::from_millis(take_set_ahead());
    if !set_ahead.is_zero() {
        let FrontierConfig { host_delay, ip_delay, .. } = running.config().frontier;
        let pause = set_ahead + host_delay.max(ip_delay.unwrap_or_default());
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = shutdown.finishing() => {}
        }
    }
    if !shutdown.is_finishing() {
        let running = running.clone();
        blocking::run_blocking(move || end_orders(&running)).await?;
    }
    running.has_caught_up.store(true, Ordering::Relaxed);
    Ok(())
}

async fn lease(running: &Running, now: EpochMs, limits: LeaseLimits) -> Result<Vec<Lease>, FrontierError> {
    let frontier = running.frontier.clone();
    blocking::run_blocking(move || frontier.lease(now, limits)).await
}

/// How long to wait after nothing was leased. `hosts` is the number of hosts that could have been leased. If no worker
/// is free, or the disk is full, a due host changes nothing; only a finished lease does.
fn until_next(running: &Running, permission: Permission, hosts: usize, now: EpochMs, look_again: Duration) -> Duration {
    match permission {
        Permission::Closed(until) => until_ms(until, look_again),
        _ if hosts == 0 => look_again,
        // Due hosts wait for a worker that is not reserved. Hosts of other domains may become due first.
        _ => match running.frontier.next_due() {
            Some(due) if due <= now => SPARED_AGAIN,
            due => due.map_or(look_again, |due| until_ms(due, look_again)),
        },
    }
}

/// Finishes orders of the last run, when all of its events are validated.
fn end_orders(running: &Running) -> Result<(), Refusal> {
    running.clients.question_again();
    running.console().forgetting.finish()
}

/// The workers: as many as configured; a reload can change the number.
struct Workers {
    workers: Arc<Semaphore>,
    configured: usize,
    /// Present and wanted number of workers. Surplus workers end when they become free.
    count: usize,
    wanted: usize,
}

impl Workers {
    fn new(configured: usize) -> Workers {
        let count = allowed(configured);
        Workers { workers: Arc::new(Semaphore::new(count)), configured, count, wanted: count }
    }

    fn are(&mut self, configured: usize) {
        if self.configured != configured {
            (self.configured, self.wanted) = (configured, allowed(configured));
        }
        if self.wanted > self.count {
            self.workers.add_permits(self.wanted - self.count);
            self.count = self.wanted;
        } else {
            self.count -= self.workers.forget_permits(self.count - self.wanted);
        }
    }

    /// The last free workers are reserved for domains that have no worker, so one domain with endless subdomains cannot
    /// use all.
    fn spared(&self) -> usize {
        self.count / 8
    }

    fn free(&self) -> usize {
        self.workers.available_permits()
    }
}

/// The configured number, or fewer if the limit of open files is too low for so many connections.
fn allowed(configured: usize) -> usize {
    let Shares { limit, workers, .. } = Shares::now();
    if workers < configured {
        tracing::warn!(
            configured,
            workers,
            limit,
            "the system allows too few open files for so many workers; raise its hard limit (ulimit -Hn, LimitNOFILE)"
        );
    }
    configured.min(workers)
}

/// How much to lease, from the free workers, the room in the log, and the rest of `max_pages`.
fn how_much(running: &Running, workers: &Workers) -> LeaseLimits {
    if !running.may_lease() {
        return LeaseLimits::new(0, 0);
    }
    let delay = running.config().frontier.host_delay.as_millis().max(1);
    let beside = running.config().fetch.connections_per_host as u64;
    let urls = ((LEASE_TIME.as_millis() / delay) as u64 * beside).clamp(beside, MAX_URLS.max(beside));
    running.within_budgets(LeaseLimits { hosts: workers.free(), urls: urls as usize, spared: workers.spared() })
}

/// A worker lives for one lease.
async fn work(running: &Running, lease: Lease) {
    let visitor = running.visitor();
    let (lease_at_start, at) = (lease.clone(), visitor.clone());
    visitor.run_isolated(lease_at_start, async move { at.visit(lease).await }).await;
}

fn until_ms(time: EpochMs, at_most: Duration) -> Duration {
    Duration::from_millis(time.saturating_sub(now_ms())).clamp(SOONEST, at_most)
}

async fn wait(running: &Running, changed: &mut watch::Receiver<()>, at_most: Duration) {
    tokio::select! {
        biased;
        _ = changed.changed() => {}
        () = running.shutdown.finishing() => {}
        () = tokio::time::sleep(at_most) => {}
    }
}
