//! The signals that end a crawl, and SIGHUP.

use std::sync::Arc;

use parking_lot::Mutex;
use seine_simulation_hooks::outside::replacement;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::UnboundedReceiver;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received {
    /// SIGTERM or SIGINT.
    End,
    /// SIGHUP: reload the configuration.
    HangUp,
}

/// Listens to all signals all the time, so that none is lost while nobody waits, and SIGHUP does not kill the process.
pub(crate) struct Signals {
    simulated: Option<UnboundedReceiver<Received>>,
    terminate: Option<Signal>,
    interrupt: Option<Signal>,
    hang_up: Option<Signal>,
}

impl Signals {
    /// Must be called on a runtime.
    pub(crate) fn listen() -> Signals {
        if let Some(SimulatedSignals(signals)) = replacement() {
            return Signals { simulated: signals.lock().take(), terminate: None, interrupt: None, hang_up: None };
        }
        let listen =
            |kind, name| signal(kind).inspect_err(|error| tracing::warn!(%error, "{name} is not listened for")).ok();
        Signals {
            simulated: None,
            terminate: listen(SignalKind::terminate(), "SIGTERM"),
            interrupt: listen(SignalKind::interrupt(), "SIGINT"),
            hang_up: listen(SignalKind::hangup(), "SIGHUP"),
        }
    }

    /// Waits for a signal that ends the process.
    pub(crate) async fn end(&mut self) {
        if let Some(signals) = &mut self.simulated {
            while simulated(signals).await != Received::End {}
            return;
        }
        tokio::select! {
            biased;
            () = one(&mut self.interrupt) => {}
            () = one(&mut self.terminate) => {}
        }
    }

    pub(crate) async fn next(&mut self) -> Received {
        if let Some(signals) = &mut self.simulated {
            return simulated(signals).await;
        }
        tokio::select! {
            biased;
            () = one(&mut self.interrupt) => Received::End,
            () = one(&mut self.terminate) => Received::End,
            () = one(&mut self.hang_up) => Received::HangUp,
        }
    }
}

/// In a simulation: signals for the process that starts next.
#[derive(Clone)]
pub struct SimulatedSignals(pub Arc<Mutex<Option<UnboundedReceiver<Received>>>>);

async fn simulated(signals: &mut UnboundedReceiver<Received>) -> Received {
    match signals.recv().await {
        Some(received) => received,
        None => std::future::pending().await,
    }
}

async fn one(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => _ = signal.recv().await,
        None => std::future::pending().await,
    }
}
