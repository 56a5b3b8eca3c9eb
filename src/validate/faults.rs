//! What costs one event and not the crawl: a panic over it, and damage of the page log.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::{ValidateError, Validator};
use crate::clock::now_ms;
use crate::delivery::{Deriver, Entry, Position};
use crate::frontier::{Batch, Unjudged};
use crate::page::{Failure, FailureReason, Outcome, PageEvent};
use crate::page_log::Reader;
use crate::parse::DeriveOptions;
use crate::supervisor::panic_message;

/// URLs whose events damage took away. They are in flight, and nothing else would end that before a restart.
#[derive(Default)]
pub(super) struct Lost {
    /// Damaged events of which it is known.
    damaged: u64,
    /// What had no verdict when damage was met, and the log's end of then: behind it, what still has none is lost.
    suspects: Option<(Unjudged, Position)>,
}

impl Validator {
    /// As [`Validator::validate`], but that a panic costs the event it is about: its URL fails with `fault`.
    pub(super) fn validate_each(&self, entries: &[Arc<Entry>], reader: &Reader) -> Result<(), ValidateError> {
        if let Ok(validated) = caught(|| self.validate(entries)) {
            return validated;
        }
        // What of them is applied already changes nothing.
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
            "the validator panicked over this event: a fault in Seine, please report it; its URL fails, the others go on"
        );
        let message = format!("Seine panicked over its page: {panic}");
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
                tracing::error!(url, "nothing can be said of this URL either: it may be fetched again");
                self.lost.lock().suspects.get_or_insert((unjudged, reader.end()));
                Ok(())
            }
        }
    }

    /// Lets URLs come again whose events the disk has lost, as soon as everything is validated that could be about them.
    pub(super) fn look_for_lost(&self, reader: &Reader) -> Result<(), ValidateError> {
        let mut lost = self.lost.lock();
        if reader.damaged() > lost.damaged && lost.suspects.is_none() {
            // In this order: the events of all of them are before the end.
            let unjudged = self.frontier.unjudged();
            lost.suspects = Some((unjudged, reader.end()));
            lost.damaged = reader.damaged();
        }
        let cursor = self.frontier.cursor()?;
        if let Some((unjudged, _)) = lost.suspects.take_if(|(_, end)| cursor.index >= end.index) {
            let urls = self.frontier.fetch_again(&unjudged);
            if urls > 0 {
                tracing::warn!(urls, "URLs whose events the page log has lost are fetched again");
            }
        }
        Ok(())
    }
}

/// What a panic says of itself.
fn caught<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| panic_message(&*panic).to_owned())
}
