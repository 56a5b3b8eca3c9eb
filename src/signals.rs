//! The signals that end a crawl, and the one that does not.

use tokio::signal::unix::{Signal, SignalKind, signal};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Received {
    /// SIGTERM or SIGINT.
    End,
    /// SIGHUP: the configuration is to be read again.
    HangUp,
}

/// All are listened for all the time: a signal that comes while nobody waits for it is not lost, and SIGHUP, listened for,
/// does not kill.
pub(crate) struct Signals {
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

    /// Waits for one that ends the process.
    pub async fn end(&mut self) {
        tokio::select! {
            () = one(&mut self.interrupt) => {}
            () = one(&mut self.terminate) => {}
        }
    }

    pub async fn next(&mut self) -> Received {
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
