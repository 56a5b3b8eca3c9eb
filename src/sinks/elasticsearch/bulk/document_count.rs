//! Notices an index that somebody empties in place (`_delete_by_query`): its identity stays, and its documents go.
//!
//! The documents are counted at the start and once a minute. The count and what Seine has deleted since say how many there must be. The
//! expected count is kept in the sink's committed state, so that a loss between two runs is noticed, too.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::super::index;
use super::super::queue::BulkDocument;
use super::{BulkSender, IndexIdentity, NotReady};
use crate::sinks::sink::SinkError;

/// Counting takes a server some milliseconds.
const COUNT_AGAIN: Duration = Duration::from_secs(60);
/// Smaller indices are not judged.
const FEWEST: u64 = 100;
/// In the sink's committed state.
const DOCUMENTS: &str = "documents";

/// The documents that must be in the index.
#[derive(Default)]
pub(super) struct DocumentCount {
    expected: Option<u64>,
    counted: Option<Instant>,
    /// Deletions sent since the sink was opened.
    deleted: u64,
}

impl DocumentCount {
    pub(super) fn from_state(state: &Value) -> DocumentCount {
        DocumentCount { expected: state[DOCUMENTS].as_u64(), counted: None, deleted: 0 }
    }

    /// These are about to be sent.
    pub(super) fn will_delete(&mut self, documents: &[BulkDocument]) {
        let deletions = documents.iter().filter(|document| document.lines.starts_with(b"{\"delete\"")).count() as u64;
        self.deleted += deletions;
        self.expected = self.expected.map(|expected| expected.saturating_sub(deletions));
    }

    /// Takes in a count, during which `deletions` were sent. Returns how many must have been there, if most of them are gone.
    fn take(&mut self, documents: u64, deletions: u64) -> Option<u64> {
        let expected = self.expected.replace(documents.saturating_sub(deletions)).unwrap_or(0);
        (expected >= FEWEST && documents < expected / 2).then_some(expected)
    }
}

impl BulkSender {
    /// Checks or creates the index at the start, in order to report errors early. Does not wait for temporary problems.
    pub(crate) async fn check(self: Arc<Self>) -> Result<(), SinkError> {
        match self.prepare().await {
            Err(NotReady::Permanent(error)) => Err(error),
            Err(NotReady::Temporary(_)) => Ok(()),
            Ok(()) => {
                self.count().await;
                Ok(())
            }
        }
    }

    /// Reports when most documents are gone. Without the right to count them, it reports nothing.
    async fn count(&self) {
        let deleted_before = {
            let mut document_count = self.document_count.lock();
            if document_count.counted.is_some_and(|counted| counted.elapsed() < COUNT_AGAIN) {
                return;
            }
            document_count.counted = Some(Instant::now());
            document_count.deleted
        };
        let Some(documents) = index::count_of(&self.client, &self.config.index).await else { return };
        let mut document_count = self.document_count.lock();
        let deletions = document_count.deleted - deleted_before;
        if let Some(expected) = document_count.take(documents, deletions) {
            tracing::error!(
                index = self.config.index,
                documents,
                expected,
                "most documents of the index are gone, and Seine has not deleted them: seine sinks refill {} delivers them again",
                self.sink
            );
        }
    }

    /// The identity and the expected documents, as saved in the sink's committed state; none if nothing is known.
    pub(crate) fn known(&self) -> Option<Value> {
        let mut state = self.known.lock().as_ref().map(IndexIdentity::to_state)?;
        let expected = self.document_count.lock().expected.filter(|expected| *expected >= FEWEST);
        if let (Some(expected), Some(state)) = (expected, state.as_object_mut()) {
            state.insert(DOCUMENTS.to_owned(), expected.into());
        }
        Some(state)
    }
}
