//! The end of a crawl: nothing left to do, a limit, or a signal.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::minutes::Minutes;
use super::parts::LOG;
use super::patience::{Patience, Waits};
use super::running::Running;
use super::spending::{SpentBudgets, spent_of_crawl};
use super::stillness::Stillness;
use super::telling::Telling;
use crate::blocking::{self, Idle};
use crate::signals::{Received, Signals};
use crate::telemetry::logging;
use crate::telemetry::manager::Manager;
use crate::telemetry::progress::Progress;

/// After the first signal, or when a sink was waited for in vain, what is in flight has this long to finish.
const GRACE: Duration = Duration::from_secs(10);
/// And this long to notice that the others are gone.
const LAST_GRACE: Duration = Duration::from_secs(2);
const TICK: Duration = Duration::from_millis(100);

/// How a crawl came to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// Nothing left to do.
    Done,
    /// The limit of pages was reached.
    PageLimit,
    /// A budget of the crawl is spent, or of every host that has anything left.
    BudgetSpent(Box<SpentBudgets>),
    /// All that is left waits, and has for as long as it was worth.
    Waiting(Box<Waits>),
    /// The page log is full, and no sink has taken anything from it for as long as that was worth.
    LogFull,
    /// A signal came.
    Stopped,
    /// Nobody reads standard output any more.
    ReaderGone,
}

/// Watches until there is nothing left to do, all that is left has waited for `patience` (none: the crawl stays) or a
/// signal comes, then ends every part. Sinks that are behind by then have as long, and longer as long as one moves.
pub(super) async fn watch(
    running: Arc<Running>,
    mut signals: Signals,
    patience: Option<Duration>,
    mut shown: Shown,
) -> Ended {
    let mut stillness = patience.map(Stillness::new);
    let mut patience = patience.map(Patience::new);
    let mut tick = Idle::new(TICK);
    let ended = loop {
        tokio::select! {
            biased;
            received = signals.next() => match received {
                Received::End => break Ended::Stopped,
                Received::HangUp => {
                    let running = running.clone();
                    blocking::beside(move || {
                        if let Err(why) = running.read_again("SIGHUP") {
                            tracing::error!(%why, "the configuration is not changed");
                        }
                    });
                }
            },
            () = running.reader_gone.notified() => break Ended::ReaderGone,
            () = sleep(tick.time()) => {}
        }
        shown.look(&running);
        if let Some(ended) = is_over(&running, patience.as_mut(), stillness.as_mut()) {
            break ended;
        }
    };
    if matches!(ended, Ended::Stopped | Ended::ReaderGone) {
        running.shutdown.hurry();
    }
    tokio::select! {
        biased;
        () = end_parts(&running) => {}
        never = see_out(&running, signals, stillness, &mut shown) => match never {},
    }
    shown.telling.stopping();
    logging::tell_repeats(true);
    ended
}

/// Who is shown how far it is: people, the log, the service manager.
pub(super) struct Shown {
    progress: Progress,
    minutes: Minutes,
    telling: Telling,
}

impl Shown {
    /// Of a crawl that serves from now on.
    pub fn new(running: &Running, progress: Progress, manager: Manager) -> Shown {
        Shown { progress, minutes: Minutes::new(running), telling: Telling::ready(manager) }
    }

    fn look(&mut self, running: &Arc<Running>) {
        running.room.look();
        running.spending.look(running.frontier.as_ref());
        running.note_rates();
        running.keep_refused();
        running.supervisor.tell_stuck();
        running.stall.look(running);
        let figures = running.figures();
        self.progress.show(&figures);
        self.minutes.look(running);
        self.telling.look(running, || self.progress.line(&figures));
    }
}

/// Whether there is a reason to end.
fn is_over(running: &Running, patience: Option<&mut Patience>, stillness: Option<&mut Stillness>) -> Option<Ended> {
    if running.is_page_limit_reached() {
        return Some(Ended::PageLimit);
    }
    let (patience, stillness) = (patience?, stillness?);
    if running.pauses.is_crawl_paused() {
        return None; // whoever paused it will have it go on
    }
    if running.is_done() {
        return Some(Ended::Done);
    }
    if spent_of_crawl(running.frontier.as_ref()).is_some() && running.is_at_rest() {
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
        stillness.begin_anew();
        return None;
    }
    (stillness.has_run_out(running) && is_full).then_some(Ended::LogFull)
}

/// Watches while the parts end: who is waited for in vain, and who does not want to wait.
async fn see_out(
    running: &Arc<Running>,
    mut signals: Signals,
    mut stillness: Option<Stillness>,
    shown: &mut Shown,
) -> Infallible {
    let mut tick = Idle::new(TICK);
    loop {
        tokio::select! {
            biased;
            received = signals.next() => match received {
                Received::HangUp => {} // it is ending
                // Everything accepted is on disk: leaving now loses nothing.
                Received::End if running.shutdown.is_hurrying() => std::process::exit(130),
                Received::End => running.shutdown.hurry(),
            },
            () = sleep(tick.time()) => {
                shown.look(running);
                if let Some(stillness) = stillness.as_mut().filter(|_| !running.shutdown.is_hurrying())
                    && stillness.has_run_out(running)
                {
                    stillness.tell(running);
                    running.shutdown.hurry();
                }
            }
        }
    }
}

/// Fetching ends first, then the log's writer, then its readers: the order in which a page goes.
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
        // Its disk may be full. Nobody waits for what it will not write.
        running.log.abandon();
        supervisor.all_ended().await;
    };
    if timeout(GRACE, soon).await.is_err() {
        // Whoever is still there waits for something that does not come: no more waiting for each other.
        running.log.close();
        let _ = timeout(LAST_GRACE, supervisor.all_ended()).await;
    }
}
