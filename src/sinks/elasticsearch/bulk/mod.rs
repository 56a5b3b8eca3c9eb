//! Sends one bulk until every document in it is decided.
//!
//! A rejected document, or one in a request that broke, needs a second check with the [`probe`]. If the index takes
//! other pages, the document is at fault and becomes a dead letter. If the index rejects every page, this is an outage
//! and everything waits. If the server fails at some documents (5xx) and takes others, these are retried several times,
//! like documents that break a request.

mod document_count;
mod ready;
mod rollover;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use elasticsearch::http::Method;
use seine_delivery::Entry;
use seine_formats::elastic::document_id;
use tokio::sync::{Mutex, oneshot};

use self::document_count::DocumentCount;
use super::client::{Client, NDJSON, NoAnswer, ServerReply, bulk_path, other};
use super::identity::IndexIdentity;
use super::index::NotReady;
use super::probe::{self, ProbeResult};
use super::queue::{
    Backoff, Bulk, BulkDocument, BulkOutcome, QueuedBulk, RetryLater, Written, body, halve, narrow_down,
};
use super::touch;
use super::verdict::{BulkAnswer, DocumentVerdict, ItemAnswer, is_over_the_limit};
use crate::config::ElasticConfig;
use crate::shutdown::Shutdown;
use crate::sinks::sink::{SinkContext, SinkError};
use crate::sinks::watch::Watch;

const LAST_BACK_OFF: Duration = Duration::from_secs(5);
/// At shutdown, a request in progress may still take this long.
const LAST_CHANCE: Duration = Duration::from_secs(3);

pub(super) enum BulkFailure {
    /// The process is shutting down.
    ShuttingDown,
    /// No progress for too long, or success is impossible.
    Failed(SinkError),
}

/// Sends bulks to one index.
pub(super) struct BulkSender {
    client: Client,
    pub config: ElasticConfig,
    /// Whether documents will be deleted.
    with_deletes: bool,
    shutdown: Shutdown,
    /// Whether the index and its mapping were checked.
    is_ready: Mutex<bool>,
    /// The identity of the index that documents went to, if the server tells.
    known: parking_lot::Mutex<Option<IndexIdentity>>,
    /// The other indices behind the alias, apart from its write index.
    others: parking_lot::Mutex<Vec<String>>,
    /// Counts the changes of `others`.
    turns: AtomicU64,
    watch: Watch,
    document_count: parking_lot::Mutex<DocumentCount>,
    /// The sink's name, for messages.
    sink: String,
}

/// The result of one attempt.
enum Attempt {
    /// All documents are decided. `again`: documents to retry and why; `failed`: documents at which the server failed.
    Judged { pushed: BulkOutcome, again: RetryLater, failed: RetryLater },
    /// No document is decided; retry later.
    Later(String),
    /// The request is too large, or may be; send it in halves.
    Halve { reason: String, is_final: bool },
    /// The request was in progress when the connection broke, the time ran out, or the server failed.
    Broke(String),
}

/// The rest of a bulk, and the results so far.
struct BulkProgress {
    queue: VecDeque<QueuedBulk>,
    all: BulkOutcome,
    backoff: Backoff,
    is_single: bool,
}

impl BulkSender {
    pub(super) fn new(
        client: Client,
        config: &ElasticConfig,
        with_deletes: bool,
        state: &serde_json::Value,
        context: &SinkContext,
    ) -> BulkSender {
        let sink = context.folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        BulkSender {
            client,
            config: config.clone(),
            with_deletes,
            shutdown: context.shutdown.clone(),
            is_ready: Mutex::new(false),
            known: parking_lot::Mutex::new(IndexIdentity::from_state(state)),
            others: parking_lot::Mutex::default(),
            turns: AtomicU64::new(0),
            watch: context.watch.clone(),
            document_count: parking_lot::Mutex::new(DocumentCount::from_state(state)),
            sink,
        }
    }

    fn moved(&self) -> Backoff {
        self.watch.moved();
        Backoff::new()
    }

    /// Returns when every document is judged. `before`: of the bulk before this one. `written` is notified when this bulk
    /// is judged.
    pub(super) async fn push(
        self: Arc<Self>,
        bulk: Bulk,
        before: Written,
        written: oneshot::Sender<()>,
    ) -> Result<BulkOutcome, BulkFailure> {
        let pushed = tokio::select! {
            biased;
            pushed = self.push_in_order(bulk, before) => pushed?,
            () = self.out_of_time() => return Err(BulkFailure::ShuttingDown),
        };
        let _ = written.send(()); // nobody waits for the last one
        Ok(pushed)
    }

    /// A page that became an alias leaves when the page that it leads to is written, which may be in the bulk before. Touches come last:
    /// their documents may be among those written.
    async fn push_in_order(&self, bulk: Bulk, before: Written) -> Result<BulkOutcome, BulkFailure> {
        let mut all = self.push_and_clean_up(bulk.items).await?;
        if !before.succeeded().await {
            return Err(BulkFailure::ShuttingDown); // the previous bulk reports the error
        }
        all.add(self.push_and_clean_up(bulk.leaving).await?);
        if !bulk.touches.is_empty() {
            let updates = self.updates(&bulk.touches).await?;
            all.written += (bulk.touches.len() - updates.len()) as u64;
            all.add(self.push_all(updates).await?);
        }
        Ok(all)
    }

    async fn push_and_clean_up(&self, documents: Vec<BulkDocument>) -> Result<BulkOutcome, BulkFailure> {
        if documents.is_empty() {
            return Ok(BulkOutcome::default());
        }
        let entries: Vec<_> = documents.iter().map(|document| document.entry.clone()).collect();
        self.document_count.lock().will_delete(&documents);
        let since = self.alias_turn().await;
        let outcome = self.push_all(documents).await?;
        self.clean_up_behind(&entries, &outcome, since).await?;
        Ok(outcome)
    }

    async fn updates(&self, touches: &[Arc<Entry>]) -> Result<Vec<BulkDocument>, BulkFailure> {
        let mut patience = Backoff::new();
        loop {
            let asked = async {
                self.prepare().await?;
                let behind = self.indices_behind_alias();
                touch::updates(&self.client, &self.config.index, &behind, touches).await.map_err(NotReady::Temporary)
            };
            match asked.await {
                Ok(updates) => return Ok(updates),
                Err(NotReady::Temporary(reason)) => self.wait(&mut patience, reason).await?,
                Err(NotReady::Permanent(error)) => return Err(BulkFailure::Failed(error)),
            }
        }
    }

    async fn push_all(&self, bulk: Vec<BulkDocument>) -> Result<BulkOutcome, BulkFailure> {
        let is_single = bulk.len() == 1;
        let queue = VecDeque::from([QueuedBulk::new(bulk)]);
        let mut work = BulkProgress { queue, all: BulkOutcome::default(), backoff: Backoff::new(), is_single };
        while let Some(mut next) = work.queue.pop_front().filter(|next| !next.bulk.is_empty()) {
            let to_wait_for = match next.broke.take() {
                Some(reason) => self.find_what_breaks(next, reason, &mut work).await,
                None => {
                    let attempt = self.attempt(&next.bulk).await.map_err(BulkFailure::Failed)?;
                    self.settle(next, attempt, &mut work)
                }
            };
            if let Some(reason) = to_wait_for {
                self.wait(&mut work.backoff, reason).await?;
            }
        }
        Ok(work.all)
    }

    /// Handles a bulk whose request broke. Returns the reason to wait before the next attempt, if any.
    async fn find_what_breaks(
        &self,
        mut broken: QueuedBulk,
        reason: String,
        work: &mut BulkProgress,
    ) -> Option<String> {
        if let Err(why) = self.find_the_fault(broken.bulk.first()).await {
            broken.broke = Some(reason);
            work.queue.push_front(broken);
            return Some(why);
        }
        // Halving the bulk counts as progress, since it comes closer to the fault.
        work.backoff = self.moved();
        narrow_down(broken, &reason, &mut work.queue, &mut work.all);
        let fewest = work.queue.iter().map(|next| next.breaks).min().unwrap_or_default();
        work.backoff.back_off *= 1 << fewest;
        (fewest > 0).then_some(reason)
    }

    /// Handles the result of an attempt. Returns the reason to wait before the next attempt, if any.
    fn settle(&self, tried: QueuedBulk, attempt: Attempt, work: &mut BulkProgress) -> Option<String> {
        let (queue, all) = (&mut work.queue, &mut work.all);
        match attempt {
            Attempt::Judged { pushed, mut again, failed } => {
                if pushed.written > 0 || !pushed.dead.is_empty() {
                    work.backoff = self.moved();
                }
                all.written += pushed.written;
                all.dead.extend(pushed.dead);
                let breaks = tried.breaks;
                if all.written == 0 && !work.is_single {
                    // The server took nothing, so no single document is at fault.
                    again.add(failed);
                } else if !failed.items.is_empty() {
                    queue.push_back(QueuedBulk { bulk: failed.items, broke: Some(failed.reason), breaks });
                }
                if again.items.is_empty() {
                    return None;
                }
                queue.push_front(QueuedBulk { bulk: again.items, broke: None, breaks });
                Some(again.reason)
            }
            Attempt::Broke(reason) => {
                queue.push_front(QueuedBulk { broke: Some(reason), ..tried });
                None
            }
            Attempt::Halve { reason, is_final } if tried.bulk.len() > 1 => {
                halve(tried.bulk, &reason, queue);
                (!is_final).then_some(reason)
            }
            Attempt::Halve { reason, is_final: true } => {
                all.dead.extend(tried.bulk.into_iter().map(|item| (item.entry, reason.clone())));
                None
            }
            Attempt::Later(reason) | Attempt::Halve { reason, is_final: false } => {
                queue.push_front(tried);
                Some(reason)
            }
        }
    }

    /// Returns Ok if the index takes pages, so that the documents sent were at fault. Otherwise returns why nothing can
    /// be sent now. Probes the shard of `item`, since other shards may work.
    async fn find_the_fault(&self, item: Option<&BulkDocument>) -> Result<(), String> {
        match self.prepare().await {
            Ok(()) => {}
            Err(NotReady::Temporary(reason)) => return Err(reason),
            // The next attempt reports this error. A probe would create the missing index.
            Err(NotReady::Permanent(error)) => return Err(error.to_string()),
        }
        let id = item.map(|item| document_id(&item.entry.event.url));
        match probe::probe(&self.client, &self.config.index, id.as_deref()).await {
            ProbeResult::Well => Ok(()),
            ProbeResult::NotNow(reason) => Err(reason),
            ProbeResult::RefusesAll(reason) => {
                // The index may have been replaced.
                *self.is_ready.lock().await = false;
                let remedy = probe::remedy(&reason);
                Err(format!("{} rejects every page: {reason}; {remedy}; pages wait meanwhile", self.config.index))
            }
        }
    }

    /// Returns an error if success is impossible.
    async fn attempt(&self, bulk: &[BulkDocument]) -> Result<Attempt, SinkError> {
        match self.prepare().await {
            Ok(()) => {}
            Err(NotReady::Temporary(reason)) => return Ok(Attempt::Later(reason)),
            Err(NotReady::Permanent(error)) => return Err(error),
        }
        let body = body(bulk);
        let size = body.len();
        let answer = match self.client.send(Method::Post, &bulk_path(&self.config.index), Some((body, NDJSON))).await {
            Ok(answer) => answer,
            Err(NoAnswer::Unreachable(reason)) => return Ok(Attempt::Later(reason)),
            // A server that closes the connection within a body may have found the body too long.
            Err(NoAnswer::Broken(reason)) => return Ok(Attempt::Broke(reason)),
        };
        let too_long = || format!("413: {size} bytes exceed the server's limit (http.max_content_length)");
        Ok(match answer.status {
            200 => self.judge(bulk, &answer).await,
            413 => Attempt::Halve { reason: too_long(), is_final: true },
            400 => match self.find_the_fault(bulk.first()).await {
                Ok(()) => Attempt::Halve { reason: answer.shown(), is_final: true },
                Err(reason) => Attempt::Later(reason),
            },
            // The whole request was refused: it may exceed `indexing_pressure.memory.limit`.
            429 => Attempt::Halve { reason: answer.shown(), is_final: is_over_the_limit(&answer) },
            // From the server, or from a proxy that got no answer from it.
            500 | 502 | 504 => Attempt::Broke(answer.shown()),
            401 => return answer.denied().map_or_else(|| Ok(Attempt::Later(answer.shown())), Err),
            _ => Attempt::Later(answer.shown()),
        })
    }

    async fn judge(&self, bulk: &[BulkDocument], answer: &ServerReply) -> Attempt {
        let Ok(verdicts) = serde_json::from_slice::<BulkAnswer>(&answer.body) else {
            return Attempt::Later(format!("not an answer to a bulk: {}", answer.shown()));
        };
        let verdicts: Vec<ItemAnswer> = verdicts.into_items().collect();
        if verdicts.len() != bulk.len() {
            return Attempt::Later(format!("{} documents, {} verdicts", bulk.len(), verdicts.len()));
        }
        let mut pushed = BulkOutcome::default();
        let (mut again, mut failed, mut refused) = (RetryLater::default(), RetryLater::default(), Vec::new());
        let index_is_gone = verdicts.iter().any(|verdict| verdict.status == 404 && !verdict.has_no_document());
        for (item, verdict) in bulk.iter().zip(verdicts) {
            match verdict.judge() {
                // 409: the index has this document, or a newer one of the same URL.
                DocumentVerdict::Written => pushed.written += 1,
                DocumentVerdict::Refused(reason) => refused.push((item, reason)),
                DocumentVerdict::Failed(reason) => failed.push(item, reason),
                DocumentVerdict::Later(reason) => again.push(item, reason),
            }
        }
        if index_is_gone {
            *self.is_ready.lock().await = false;
        }
        if let Some((first, _)) = refused.first() {
            match self.find_the_fault(Some(first)).await {
                Ok(()) => {
                    let dead = |(item, reason): (&BulkDocument, String)| (item.entry.clone(), reason);
                    pushed.dead.extend(refused.into_iter().map(dead));
                }
                Err(reason) => {
                    let items = refused.into_iter().map(|(item, _)| item.clone()).collect();
                    // This reason tells more than those of single documents, so it comes first.
                    let others = std::mem::replace(&mut again, RetryLater { items, reason });
                    again.add(others);
                }
            }
        }
        Attempt::Judged { pushed, again, failed }
    }

    /// Waits before the next attempt; longer each time.
    async fn wait(&self, patience: &mut Backoff, reason: String) -> Result<(), BulkFailure> {
        if self.watch.is_outdated() {
            return Err(BulkFailure::Failed(SinkError::Outdated));
        }
        self.watch.waits(reason.as_str());
        let (index, waited) = (&self.config.index, patience.since.elapsed());
        if waited >= self.config.max_retry {
            let problem = format!("nothing written to {index} for {} s: {reason}", waited.as_secs());
            let remedy =
                "check the server; nothing is lost: a crawl tries again by itself, and a replay can be repeated";
            return Err(BulkFailure::Failed(other(problem, remedy)));
        }
        if !std::mem::replace(&mut patience.is_reported, true) {
            tracing::warn!(index, reason, "Elasticsearch does not take documents now; retrying");
        }
        let pause = patience.back_off.mul_f64(0.75 + fastrand::f64() / 2.0);
        patience.back_off = (patience.back_off * 2).min(LAST_BACK_OFF);
        tokio::select! {
            biased;
            () = tokio::time::sleep(pause) => Ok(()),
            () = self.shutdown.hurrying() => Err(BulkFailure::ShuttingDown),
        }
    }

    async fn out_of_time(&self) {
        self.shutdown.hurrying().await;
        tokio::time::sleep(LAST_CHANCE).await;
    }
}
