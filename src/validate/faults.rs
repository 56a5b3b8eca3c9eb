//! Faults that cost one event and not the crawl: a panic, and damage of the page log.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use seine_delivery::{Deriver, Entry, Offset};
use seine_frontier::{Batch, Unjudged};
use seine_page_log::Reader;
use seine_parse::DeriveOptions;
use seine_parse::page::{Failure, FailureReason, Outcome, PageEvent};
use seine_system::clock::now_ms;

use super::{ValidateError, Validator};
use crate::supervisor::panic_message;

/// URLs whose events were lost by damage. Without this list they would stay in flight until a restart.
#[derive(Default)]
pub(super) struct Lost {
    /// Number of damaged events so far.
    damaged: u64,
    /// URLs in flight when the damage was found, and the log's end then. A URL still in flight after that offset has
    /// lost its event.
    suspects: Option<(Unjudged, Offset)>,
}

impl Validator {
    /// As [`Validator::validate`], but a panic costs only its event: the URL fails with `fault`.
    pub(super) fn validate_each(&self, entries: &[Arc<Entry>], reader: &Reader) -> Result<(), ValidateError> {
        if let Ok(validated) = caught(|| self.validate(entries)) {
            return validated;
        }
        // Entries that are already applied change nothing.
        for entry in entries {
            match caught(|| self.validate(std::slice::from_ref(entry))) {
                Ok(validated) => validated?,
                Err(panic) => self.fail(entry, &panic, reader)?,
            }
        }
        Ok(())
    }

    fn fail(&self, entry: &Entry, panic: &str, reader: &Reader) -> Result<(), ValidateError> {
        let PageEvent { id, url, .. } = &*entry.event;
        tracing::error!(
            url,
            id,
            index = entry.end.index,
            panic,
            "the validator panicked at this event: please report this bug; its URL fails, and the other events are \
            applied"
        );
        let message = format!("Seine panicked at its page: {panic}");
        let event = PageEvent {
            outcome: Outcome::Failure(Failure { reason: FailureReason::Fault, message }),
            again: None,
            withheld: None,
            change: None,
            likeness: None,
            ..(*entry.event).clone()
        };
        let failed = Arc::new(Entry::new(entry.end, Arc::new(event), &Deriver::new(DeriveOptions::default())));
        match caught(|| self.validate(&[failed])) {
            Ok(validated) => validated,
            Err(_) => {
                let unjudged = self.frontier.unjudged();
                self.frontier.apply(&Batch { cursor: entry.end, ..Batch::default() }, now_ms())?;
                tracing::error!(
                    url,
                    "the failure of this URL cannot be stored: the URL may be fetched again: it may be fetched again"
                );
                self.lost.lock().suspects.get_or_insert((unjudged, reader.end()));
                Ok(())
            }
        }
    }

    /// Queues URLs again whose events were lost, when all other events that could concern them are validated.
    pub(super) fn requeue_lost_events(&self, reader: &Reader) -> Result<(), ValidateError> {
        let mut lost = self.lost.lock();
        if reader.damaged() > lost.damaged && lost.suspects.is_none() {
            // In this order: the events of all these URLs are before the end.
            let unjudged = self.frontier.unjudged();
            lost.suspects = Some((unjudged, reader.end()));
            lost.damaged = reader.damaged();
        }
        let cursor = self.frontier.cursor()?;
        if let Some((unjudged, _)) = lost.suspects.take_if(|(_, end)| cursor.index >= end.index) {
            let urls = self.frontier.fetch_again(&unjudged);
            if urls > 0 {
                tracing::warn!(urls, "the page log has lost events; their URLs are fetched again");
            }
        }
        Ok(())
    }
}

/// Runs a function and returns the message of a panic.
fn caught<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| panic_message(&*panic).to_owned())
}
