//! A panic of a worker costs one URL, which fails with `fault`. The other URLs of the lease are released.

use std::sync::Arc;

use parking_lot::Mutex;
use seine_frontier::{FrontierError, Lease, Release, Work};
use seine_parse::page::{Failure, FailureReason};
use seine_system::clock::now_ms;

use super::host_visit::Queued;
use super::visitor::Visitor;
use crate::judge::blame::ChargedTo;
use crate::judge::reading::Reading;
use crate::judge::{FetchContext, Fetched};
use crate::supervisor::panic_message;

/// The URL that caused the panic.
type Culprit = Arc<Mutex<Option<String>>>;

tokio::task_local! {
    /// For the visit that runs in this task.
    static CULPRIT: Culprit;
}

/// A guard for the URL that the worker is processing. If a panic unwinds through the guard, its URL is recorded as the
/// cause. If it unwinds through several, the first counts.
pub(super) struct CurrentUrl(String);

impl CurrentUrl {
    pub(super) fn new(url: &str) -> CurrentUrl {
        CurrentUrl(url.to_owned())
    }
}

impl Drop for CurrentUrl {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // Outside of such a task (in tests) the cause is not recorded.
            let _ = CULPRIT.try_with(|culprit| culprit.lock().get_or_insert_with(|| std::mem::take(&mut self.0)).len());
        }
    }
}

/// Runs a visit in a task of its own, so that a panic costs one URL. None if it failed. `lease_at_start`: a copy of its
/// lease, to release the host after a panic.
pub(super) async fn run_isolated<T: Send + 'static>(
    visitor: &Visitor,
    lease_at_start: Lease,
    visit: impl Future<Output = Result<T, FrontierError>> + Send + 'static,
) -> Option<T> {
    let culprit = Culprit::default();
    match tokio::spawn(CULPRIT.scope(culprit.clone(), visit)).await {
        Ok(Ok(ended)) => return Some(ended),
        // This was already reported (`crawl/disk_space.rs`); its URLs are still in work_proposed.
        Ok(Err(error)) if error.is_waiting() => {
            tracing::debug!(host = lease_at_start.host.origin, %error, "a visit ended early")
        }
        Ok(Err(error)) => {
            tracing::error!(host = lease_at_start.host.origin, %error, "a visit failed, because the frontier failed")
        }
        Err(error) => {
            let panic = error.try_into_panic().ok();
            let culprit = culprit.lock().take();
            let why = panic.as_deref().map_or("the task was cancelled", |panic| panic_message(panic));
            Panicked { visitor, why }.end(lease_at_start, culprit).await;
        }
    }
    None
}

/// A visit that panicked.
struct Panicked<'p> {
    visitor: &'p Visitor,
    why: &'p str,
}

impl Panicked<'_> {
    /// Records that its URL failed, and releases the host.
    async fn end(&self, lease_at_start: Lease, culprit: Option<String>) {
        let Panicked { visitor, why } = *self;
        let host = lease_at_start.host.origin.as_str();
        tracing::error!(
            host,
            url = culprit,
            panic = why,
            "a worker panicked: please report this bug; this URL fails, and the other URLs of its lease are fetched \
            again"
        );
        // Before its first URL a visit asks for budget and robots.txt. A panic there is charged to the first URL.
        // Otherwise the same panic would come again for ever.
        let named = culprit.and_then(|url| lease_at_start.work.iter().find(|work| work.url == url));
        let work = named.or_else(|| lease_at_start.work.first());
        let mut fetched = Vec::new();
        if let Some(work) = work
            && self.record_panic(work).await
        {
            fetched.push(work.url.clone());
        }
        let rest = now_ms() + visitor.services.config.frontier.backoff_base.as_millis() as u64;
        let release = Release { fetched, not_before: rest, ..Release::default() };
        visitor.requester.hosts.release_in_background(lease_at_start, release);
    }

    /// Writes to the page log that a URL failed by a fault. False if that failed.
    async fn record_panic(&self, work: &Work) -> bool {
        let Panicked { visitor, why } = *self;
        let failure = Failure { reason: FailureReason::Fault, message: format!("Seine panicked: {why}") };
        let event = visitor.follower.not_requested(failure, work).event;
        let (reading, context) = (Reading::default(), FetchContext::charged(ChargedTo::Page, 0));
        let fetched = Fetched { event: &event, reading: &reading, context: &context };
        let Ok(verdict) = visitor.body_reader.judge(&fetched, None, work).await else { return false };
        let event = verdict.written(event);
        match visitor.events.append(event, None).await {
            Ok(ticket) => {
                let queued = Queued { url: work.url.clone(), ticket, settled: None };
                visitor.events.accepted(queued).await.is_some()
            }
            Err(_) => false,
        }
    }
}
