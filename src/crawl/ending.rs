//! The end of a crawl: nothing left to do, a limit, or a signal.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::Running;
use super::patience::{Patience, Waits};
use crate::telemetry::progress::Progress;

/// After the first signal, what is in flight has this long to finish.
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
    /// All that is left waits, and has for as long as it was worth.
    Waiting(Box<Waits>),
    /// A signal came.
    Stopped,
    /// Nobody reads standard output any more.
    ReaderGone,
}

/// Watches until there is nothing left to do, all that is left has waited for `patience` (none: the crawl stays) or a
/// signal comes, then ends every part.
pub(super) async fn watch(
    running: Arc<Running>,
    mut signals: Signals,
    patience: Option<Duration>,
    mut progress: Progress,
) -> Ended {
    let mut patience = patience.map(Patience::new);
    let mut tick = tokio::time::interval(TICK);
    let ended = loop {
        tokio::select! {
            received = signals.next() => match received {
                Received::End => break Ended::Stopped,
                Received::HangUp => {
                    tracing::warn!("SIGHUP is ignored: the crawl goes on; SIGTERM or Ctrl-C end it");
                }
            },
            () = running.reader_gone.cancelled() => break Ended::ReaderGone,
            _ = tick.tick() => {}
        }
        running.look_at_room();
        progress.show(&running.figures());
        if running.is_page_limit_reached() {
            break Ended::PageLimit;
        }
        let Some(patience) = &mut patience else { continue };
        if running.is_done() {
            break Ended::Done;
        }
        if let Some(waits) = patience.run_out(&running) {
            break Ended::Waiting(Box::new(waits));
        }
    };
    let mut hurried = matches!(ended, Ended::Stopped | Ended::ReaderGone);
    let deadline = hurried.then(|| Instant::now() + GRACE);
    let ending = end_parts(running.clone(), deadline);
    tokio::pin!(ending);
    loop {
        tokio::select! {
            () = &mut ending => return ended,
            received = signals.next() => {
                if received == Received::HangUp {
                    continue; // it is ending
                }
                if std::mem::replace(&mut hurried, true) {
                    // Everything accepted is on disk: leaving now loses nothing.
                    std::process::exit(130);
                }
                running.hurry();
            }
            _ = tick.tick() => {
                running.look_at_room();
                progress.show(&running.figures());
            }
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Received {
    /// SIGTERM or SIGINT.
    End,
    /// SIGHUP: the terminal is gone.
    HangUp,
}

/// All are listened for all the time: a signal that comes while nobody waits for it is not lost, and SIGHUP, listened for,
/// does not kill.
pub(super) struct Signals {
    terminate: Option<Signal>,
    interrupt: Option<Signal>,
    hang_up: Option<Signal>,
}

impl Signals {
    /// To be called on a runtime.
    pub fn listen() -> Signals {
        let listen =
            |kind, name| signal(kind).inspect_err(|error| tracing::warn!(%error, "{name} is not listened for")).ok();
        Signals {
            terminate: listen(SignalKind::terminate(), "SIGTERM"),
            interrupt: listen(SignalKind::interrupt(), "SIGINT"),
            hang_up: listen(SignalKind::hangup(), "SIGHUP"),
        }
    }

    async fn next(&mut self) -> Received {
        tokio::select! {
            () = one(&mut self.interrupt) => Received::End,
            () = one(&mut self.terminate) => Received::End,
            () = one(&mut self.hang_up) => Received::HangUp,
        }
    }
}

async fn one(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => _ = signal.recv().await,
        None => std::future::pending().await,
    }
}
