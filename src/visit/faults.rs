//! A panic of a worker costs one URL, which fails with `fault`. The other URLs of the lease are released.

use std::sync::Arc;

use parking_lot::Mutex;
use seine_frontier::{Lease, Release, Work};
use seine_parse::page::{Failure, FailureReason};
use seine_system::clock::now_ms;

use super::lease::Queued;
use super::visitor::Visitor;
use crate::judge::blame::Whose;
use crate::judge::reading::Reading;
use crate::judge::{Fetched, Way};

/// The URL that caused the panic.
pub(super) type Culprit = Arc<Mutex<Option<String>>>;

tokio::task_local! {
    /// For the visit that runs in this task.
    pub(super) static CULPRIT: Culprit;
}

/// A worker is busy with this URL. A panic drops it, and the first one dropped is the cause.
pub(super) struct At(String);

impl At {
    pub(super) fn url(url: &str) -> At {
        At(url.to_owned())
    }
}

impl Drop for At {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // Outside of such a task (in tests) the cause is not recorded.
            let _ = CULPRIT.try_with(|culprit| culprit.lock().get_or_insert_with(|| std::mem::take(&mut self.0)).len());
        }
    }
}

impl Visitor {
    /// After a panic of a visit. `spare`: its lease as it was at the start.
    pub(super) async fn end_panicked(&self, spare: Lease, culprit: Option<String>, panic: &str) {
        let host = spare.host.origin.as_str();
        tracing::error!(
            host,
            url = culprit,
            panic,
            "a worker panicked: please report this bug; this URL fails, and the other URLs of its lease are fetched \
            again"
        );
        // Before its first URL a visit asks for budget and robots.txt. A panic there is charged to the first URL.
        // Otherwise the same panic would come again for ever.
        let named = culprit.and_then(|url| spare.work.iter().find(|work| work.url == url));
        let work = named.or_else(|| spare.work.first());
        let mut fetched = Vec::new();
        if let Some(work) = work
            && self.has_failed(work, panic).await
        {
            fetched.push(work.url.clone());
        }
        let rest = now_ms() + self.services.config.frontier.backoff_base.as_millis() as u64;
        let release = Release { fetched, not_before: rest, ..Release::default() };
        self.asker.hosts.give_back_beside(spare, release);
    }

    /// Writes to the page log that a URL failed by a fault. False if that failed.
    async fn has_failed(&self, work: &Work, panic: &str) -> bool {
        let failure = Failure { reason: FailureReason::Fault, message: format!("Seine panicked: {panic}") };
        let event = self.unasked(failure, work).event;
        let (reading, way) = (Reading::default(), Way::charged(Whose::Page, 0));
        let fetched = Fetched { event: &event, reading: &reading, way: &way };
        let Ok(verdict) = self.bench.judge(&fetched, None, work).await else { return false };
        let event = verdict.written(event);
        match self.journal.append(event, None).await {
            Ok(ticket) => {
                let queued = Queued { url: work.url.clone(), ticket, settled: None };
                self.journal.accepted(queued).await.is_some()
            }
            Err(_) => false,
        }
    }
}
