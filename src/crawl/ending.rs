//! The end of a crawl: nothing left to do, a limit, or a signal.

use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::Running;
use super::patience::{Patience, Waits};
use super::stillness::Stillness;
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
    mut progress: Progress,
) -> Ended {
    let mut stillness = patience.map(Stillness::new);
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
        let (Some(patience), Some(stillness)) = (&mut patience, &mut stillness) else { continue };
        if running.is_done() {
            break Ended::Done;
        }
        if let Some(waits) = patience.run_out(&running) {
            break Ended::Waiting(Box::new(waits));
        }
        let is_full = !running.log.status().room;
        if !is_full && !patience.is_waiting() {
            stillness.begin_anew();
        } else if stillness.has_run_out(&running) && is_full {
            break Ended::LogFull;
        }
    };
    let mut hurried = matches!(ended, Ended::Stopped | Ended::ReaderGone);
    if hurried {
        running.hurry();
    }
    let ending = end_parts(running.clone());
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
                if let Some(stillness) = stillness.as_mut().filter(|_| !hurried)
                    && stillness.has_run_out(&running)
                {
                    stillness.tell(&running);
                    hurried = true;
                    running.hurry();
                }
            }
        }
    }
}

/// Fetching ends first, then the log's writer, then its readers: the order in which a page goes.
async fn end_parts(running: Arc<Running>) {
    running.stop.cancel();
    let join = move || {
        while !running.supervisor.join(Instant::now() + TICK) {
            let Some(since) = running.hurried.get() else { continue };
            if !running.has_log_writer() {
                // Its disk may be full. Nobody waits for what it will not write.
                running.log.abandon();
            }
            if since.elapsed() < GRACE {
                continue;
            }
            // Whoever is still there waits for something that does not come: no more waiting for each other.
            running.log.close();
            running.supervisor.join(Instant::now() + LAST_GRACE);
            return;
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

    /// Whether one that ends the process has come. For who cannot wait for it; the next is waited for by [`Signals::next`].
    pub fn are_to_end(&mut self) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        [&mut self.terminate, &mut self.interrupt]
            .into_iter()
            .flatten()
            .any(|signal| signal.poll_recv(&mut context).is_ready())
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
