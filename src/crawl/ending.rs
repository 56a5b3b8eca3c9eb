//! The end of a crawl: nothing left to fetch, a limit, or a signal.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use seine_system::blocking::{self, Idle};
use tokio::time::{sleep, timeout};

use super::parts::LOG;
use super::patience::{Patience, Waits};
use super::progress_log::ProgressLog;
use super::running::Running;
use super::service_manager::ServiceManager;
use super::spending::{SpentBudgets, spent_of_crawl};
use super::stuck_sinks::StuckSinks;
use super::{reload, status};
use crate::signals::{Received, Signals};
use crate::telemetry::logging;
use crate::telemetry::manager::Manager;
use crate::telemetry::progress::Progress;

/// Time for fetches in progress after the first signal, or when a sink is stuck.
const GRACE: Duration = Duration::from_secs(10);
/// Time for the remaining parts to notice the end.
const LAST_GRACE: Duration = Duration::from_secs(2);
const TICK: Duration = Duration::from_millis(100);

/// Why a crawl ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// Nothing is left to fetch.
    Done,
    /// The page limit was reached.
    PageLimit,
    /// A budget of the crawl is used up, or the budgets of all hosts that have queued URLs.
    BudgetSpent(Box<SpentBudgets>),
    /// All remaining URLs have waited for the time of `--patience`.
    Waiting(Box<Waits>),
    /// The page log is full and no sink has consumed anything for the time of `--patience`.
    LogFull,
    /// Stopped by a signal.
    Stopped,
    /// Standard output was closed.
    ReaderGone,
}

/// Runs until nothing is left to fetch, all remaining URLs have waited for `patience` (none: the crawl stays), or a
/// signal comes. Then ends every part. Sinks that are behind get the same time, and more while one of them makes
/// progress.
pub(super) async fn watch(
    running: Arc<Running>,
    mut signals: Signals,
    patience: Option<Duration>,
    mut shown: Shown,
) -> Ended {
    let mut stuck_sinks = patience.map(StuckSinks::new);
    let mut patience = patience.map(Patience::new);
    let mut tick = if patience.is_none() { Idle::woken(TICK) } else { Idle::new(TICK) };
    let ended = loop {
        tokio::select! {
            biased;
            received = signals.next() => match received {
                Received::End => break Ended::Stopped,
                Received::HangUp => {
                    let running = running.clone();
                    blocking::run_detached(move || {
                        if let Err(why) = reload::read_again(&running, "SIGHUP") {
                            tracing::error!(%why, "the configuration is not changed");
                        }
                    });
                }
            },
            () = running.reader_gone.notified() => break Ended::ReaderGone,
            () = sleep(tick.time()) => {}
        }
        shown.check(&running);
        if let Some(ended) = is_over(&running, patience.as_mut(), stuck_sinks.as_mut()) {
            break ended;
        }
    };
    if matches!(ended, Ended::Stopped | Ended::ReaderGone) {
        running.shutdown.hurry();
    }
    tokio::select! {
        biased;
        () = end_parts(&running) => {}
        never = see_out(&running, signals, stuck_sinks, &mut shown) => match never {},
    }
    shown.service_manager.stopping();
    logging::log_repeats(true);
    ended
}

/// Outputs of the progress: terminal, log, service manager.
pub(super) struct Shown {
    progress: Progress,
    progress_log: ProgressLog,
    service_manager: ServiceManager,
}

impl Shown {
    /// For a crawl that has started to serve.
    pub(super) fn new(running: &Running, progress: Progress, manager: Manager) -> Shown {
        Shown { progress, progress_log: ProgressLog::new(running), service_manager: ServiceManager::ready(manager) }
    }

    fn check(&mut self, running: &Arc<Running>) {
        running.room.check();
        running.spending.check(running.frontier.as_ref());
        status::note_rates(running);
        status::keep_refused(running);
        running.supervisor.log_stuck();
        running.stall.check(running);
        let figures = status::figures(running);
        self.progress.show(&figures);
        self.progress_log.log_if_due(running);
        self.service_manager.notify(running, || self.progress.line(&figures));
    }
}

/// The reason to end, if there is one.
fn is_over(running: &Running, patience: Option<&mut Patience>, stuck_sinks: Option<&mut StuckSinks>) -> Option<Ended> {
    if running.is_page_limit_reached() {
        return Some(Ended::PageLimit);
    }
    let (patience, stuck_sinks) = (patience?, stuck_sinks?);
    if running.pauses.is_crawl_paused() {
        return None; // whoever paused it will have it go on
    }
    if running.is_done() {
        return Some(Ended::Done);
    }
    if spent_of_crawl(running.frontier.as_ref()).is_some() && running.is_stopped() {
        return Some(Ended::BudgetSpent(Box::new(SpentBudgets::of(running.frontier.as_ref()))));
    }
    if let Some(waits) = patience.run_out(running) {
        return Some(match waits.is_for_budgets() {
            true => Ended::BudgetSpent(Box::new(waits.spent)),
            false => Ended::Waiting(Box::new(waits)),
        });
    }
    let is_full = !running.log.status().room;
    if !is_full && !patience.is_waiting() {
        stuck_sinks.begin_anew();
        return None;
    }
    (stuck_sinks.have_run_out(running) && is_full).then_some(Ended::LogFull)
}

/// Watches while the parts end: stuck sinks, and further signals.
async fn see_out(
    running: &Arc<Running>,
    mut signals: Signals,
    mut stuck_sinks: Option<StuckSinks>,
    shown: &mut Shown,
) -> Infallible {
    let mut tick = Idle::new(TICK);
    loop {
        tokio::select! {
            biased;
            received = signals.next() => match received {
                Received::HangUp => {} // it is ending
                // All accepted events are on disk, so nothing is lost.
                Received::End if running.shutdown.is_hurrying() => std::process::exit(130),
                Received::End => running.shutdown.hurry(),
            },
            () = sleep(tick.time()) => {
                shown.check(running);
                if let Some(stuck_sinks) = stuck_sinks.as_mut().filter(|_| !running.shutdown.is_hurrying())
                    && stuck_sinks.have_run_out(running)
                {
                    stuck_sinks.tell(running);
                    running.shutdown.hurry();
                }
            }
        }
    }
}

/// Ends fetching first, then the writer of the log, then its readers, in the order of the data flow.
async fn end_parts(running: &Running) {
    running.shutdown.finish();
    let supervisor = &running.supervisor;
    tokio::select! {
        biased;
        () = supervisor.all_ended() => return,
        () = running.shutdown.hurrying() => {}
    }
    let soon = async {
        supervisor.ended(LOG).await;
        // The disk may be full, so nobody waits for events that cannot be written.
        running.log.abandon();
        supervisor.all_ended().await;
    };
    if timeout(GRACE, soon).await.is_err() {
        // The remaining parts wait for each other, so the log is closed.
        running.log.close();
        let _ = timeout(LAST_GRACE, supervisor.all_ended()).await;
    }
}
