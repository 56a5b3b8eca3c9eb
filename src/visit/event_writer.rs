//! Writes the events of visits to the page log.

use std::sync::Arc;

use seine_frontier::Settled;
use seine_page_log::{LogError, PageLog, Ticket, VALIDATOR};
use seine_parse::Derived;
use seine_parse::page::PageEvent;

use super::host_visit::Queued;
use super::visitor::{Interrupted, Services};
use crate::shutdown::Shutdown;
use crate::telemetry::Metrics;

/// The page log, as workers use it.
#[derive(Clone)]
pub(super) struct EventWriter {
    log: PageLog,
    metrics: Arc<Metrics>,
    shutdown: Shutdown,
}

impl EventWriter {
    pub(super) fn new(services: &Services) -> EventWriter {
        let Services { log, metrics, shutdown, .. } = services.clone();
        EventWriter { log, metrics, shutdown }
    }

    /// Counts a judged event, and queues it for the log. `derived`: what is known of its body, for the log's readers.
    pub(super) async fn append(&self, event: PageEvent, derived: Option<Arc<Derived>>) -> Result<Ticket, LogError> {
        self.metrics.fetched(&event);
        self.log.append(event, derived).await
    }

    /// Waits until the page log has the event. None: the log has ended without it.
    pub(super) async fn accepted(&self, Queued { url, ticket, settled }: Queued) -> Option<String> {
        match ticket.accepted().await {
            Ok((_, took)) => {
                self.metrics.accept_seconds.observe(took.as_secs_f64());
                Some(url)
            }
            Err(error) => {
                tracing::debug!(%url, %error, "the event was not accepted; the URL stays queued");
                settled.into_iter().for_each(Settled::withdraw);
                None
            }
        }
    }

    /// Waits until the validator is near the end of the log. Otherwise it would have to read events from disk and parse
    /// them again. [`Interrupted::LogFull`]: the log is full; the visit ends and releases the host.
    pub(super) async fn wait_for_log(&self) -> Result<(), Interrupted> {
        if !self.log.room() {
            return Err(Interrupted::LogFull);
        }
        tokio::select! {
            biased;
            () = self.log.near_end(VALIDATOR) => Ok(()),
            () = self.shutdown.finishing() => Err(Interrupted::Stopping),
        }
    }
}
