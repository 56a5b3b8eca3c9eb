//! One bulk until every document in it is judged.
//!
//! What is refused, or breaks the request it is in, is looked at twice: with the index well, it is that document's fault,
//! and it is dead; with the index refusing any page ([`probe`]), it is an outage, and everything waits. What the server fails
//! at (5xx) while it takes others is tried some times, as what breaks its request.

mod rollover;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use elasticsearch::http::Method;
use tokio::sync::Mutex;

use super::client::{Client, NDJSON, NoAnswer, ServerReply, bulk_path, other};
use super::identity::{self, Found, IndexIdentity};
use super::index::{self, NotReady};
use super::probe::{self, ProbeResult};
use super::queue::{Backoff, BulkDocument, BulkOutcome, QueuedBulk, RetryLater, body, halve, narrow_down};
use super::touch;
use super::verdict::{BulkAnswer, DocumentVerdict, ItemAnswer, is_over_the_limit};
use crate::config::ElasticConfig;
use crate::delivery::Entry;
use crate::formats::elastic::document_id;
use crate::shutdown::Shutdown;
use crate::sinks::sink::{SinkContext, SinkError};
use crate::sinks::watch::Watch;

const LAST_BACK_OFF: Duration = Duration::from_secs(5);
/// Told to hurry, a request under way still has this long.
const LAST_CHANCE: Duration = Duration::from_secs(3);

pub(super) enum BulkFailure {
    /// Told to hurry.
    Hurried,
    /// Without progress for too long, or never to succeed.
    Failed(SinkError),
}

/// Sends bulks to one index.
pub(super) struct BulkSender {
    client: Client,
    pub config: ElasticConfig,
    /// Documents will be deleted.
    with_deletes: bool,
    shutdown: Shutdown,
    /// The index was found to be there, with its mapping.
    is_ready: Mutex<bool>,
    /// The one that documents went to, as far as the server tells.
    known: parking_lot::Mutex<Option<IndexIdentity>>,
    /// Behind the alias, besides the one that is written to.
    others: parking_lot::Mutex<Vec<String>>,
    /// How often these were found to be others.
    turns: AtomicU64,
    watch: Watch,
}

/// How one attempt went.
enum Attempt {
    /// Everything in it is judged; `again` is what the server could not take now, and why; `failed` is what it failed at.
    Judged { pushed: BulkOutcome, again: RetryLater, failed: RetryLater },
    /// Nothing in it is judged.
    Later(String),
    /// It is too much at once, or may be.
    Halve { reason: String, is_final: bool },
    /// It was under way when the connection broke, the time was over, or the server failed.
    Broke(String),
}

/// What is left to do of one bulk, and what came of the rest.
struct Work {
    queue: VecDeque<QueuedBulk>,
    all: BulkOutcome,
    backoff: Backoff,
    is_single: bool,
}

impl BulkSender {
    pub fn new(
        client: Client,
        config: &ElasticConfig,
        with_deletes: bool,
        known: Option<IndexIdentity>,
        context: &SinkContext,
    ) -> BulkSender {
        BulkSender {
            client,
            config: config.clone(),
            with_deletes,
            shutdown: context.shutdown.clone(),
            is_ready: Mutex::new(false),
            known: parking_lot::Mutex::new(known),
            others: parking_lot::Mutex::default(),
            turns: AtomicU64::new(0),
            watch: context.watch.clone(),
        }
    }

    fn moved(&self) -> Backoff {
        self.watch.moved();
        Backoff::new()
    }

    /// Returns when every document is judged. `touches`: of pages that are as they were, the time alone.
    pub async fn push(
        self: Arc<Self>,
        bulk: Vec<BulkDocument>,
        touches: Vec<Arc<Entry>>,
    ) -> Result<BulkOutcome, BulkFailure> {
        tokio::select! {
            biased;
            pushed = self.push_and_touch(bulk, &touches) => pushed,
            () = self.out_of_time() => Err(BulkFailure::Hurried),
        }
    }

    /// Touches come last: their documents may be among those written.
    async fn push_and_touch(
        &self,
        bulk: Vec<BulkDocument>,
        touches: &[Arc<Entry>],
    ) -> Result<BulkOutcome, BulkFailure> {
        let entries: Vec<_> = bulk.iter().map(|document| document.entry.clone()).collect();
        let since = self.alias_turn().await;
        let mut all = self.push_all(bulk).await?;
        self.clean_up_behind(&entries, &all, since).await?;
        if !touches.is_empty() {
            let updates = self.updates(touches).await?;
            all.written += (touches.len() - updates.len()) as u64;
            let touched = self.push_all(updates).await?;
            all.written += touched.written;
            all.dead.extend(touched.dead);
        }
        Ok(all)
    }

    async fn updates(&self, touches: &[Arc<Entry>]) -> Result<Vec<BulkDocument>, BulkFailure> {
        let mut patience = Backoff::new();
        loop {
            let asked = async {
                self.prepare().await?;
                touch::updates(&self.client, &self.config.index, touches).await.map_err(NotReady::Yet)
            };
            match asked.await {
                Ok(updates) => return Ok(updates),
                Err(NotReady::Yet(reason)) => self.wait(&mut patience, reason).await?,
                Err(NotReady::Ever(error)) => return Err(BulkFailure::Failed(error)),
            }
        }
    }

    async fn push_all(&self, bulk: Vec<BulkDocument>) -> Result<BulkOutcome, BulkFailure> {
        let is_single = bulk.len() == 1;
        let queue = VecDeque::from([QueuedBulk::new(bulk)]);
        let mut work = Work { queue, all: BulkOutcome::default(), backoff: Backoff::new(), is_single };
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

    /// Of a bulk whose request broke. Returns why the next attempt has to wait, if it has to.
    async fn find_what_breaks(&self, mut broken: QueuedBulk, reason: String, work: &mut Work) -> Option<String> {
        if let Err(why) = self.look_for_the_fault(broken.bulk.first()).await {
            broken.broke = Some(reason);
            work.queue.push_front(broken);
            return Some(why);
        }
        // Closer to what breaks it: that is progress.
        work.backoff = self.moved();
        narrow_down(broken, &reason, &mut work.queue, &mut work.all);
        let fewest = work.queue.iter().map(|next| next.breaks).min().unwrap_or_default();
        work.backoff.back_off *= 1 << fewest;
        (fewest > 0).then_some(reason)
    }

    /// Takes in how an attempt went. Returns why the next one has to wait, if it has to.
    fn settle(&self, tried: QueuedBulk, attempt: Attempt, work: &mut Work) -> Option<String> {
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
                    // Nothing gets through: that is no fault of one document.
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

    /// Well: what went wrong was the fault of what was sent. Else why nothing can be sent now. Asked of the shard that
    /// `item` belongs to: another may be well.
    async fn look_for_the_fault(&self, item: Option<&BulkDocument>) -> Result<(), String> {
        match self.prepare().await {
            Ok(()) => {}
            Err(NotReady::Yet(reason)) => return Err(reason),
            // The next attempt says so. To ask an index that is gone would make it.
            Err(NotReady::Ever(error)) => return Err(error.to_string()),
        }
        let id = item.map(|item| document_id(&item.entry.event.url));
        match probe::probe(&self.client, &self.config.index, id.as_deref()).await {
            ProbeResult::Well => Ok(()),
            ProbeResult::NotNow(reason) => Err(reason),
            ProbeResult::RefusesAll(reason) => {
                // It may not be the index any more that was found.
                *self.is_ready.lock().await = false;
                let remedy = probe::remedy(&reason);
                Err(format!("{} refuses any page: {reason}; {remedy}; pages wait meanwhile", self.config.index))
            }
        }
    }

    /// An error: it can never succeed.
    async fn attempt(&self, bulk: &[BulkDocument]) -> Result<Attempt, SinkError> {
        match self.prepare().await {
            Ok(()) => {}
            Err(NotReady::Yet(reason)) => return Ok(Attempt::Later(reason)),
            Err(NotReady::Ever(error)) => return Err(error),
        }
        let body = body(bulk);
        let size = body.len();
        let answer = match self.client.send(Method::Post, &bulk_path(&self.config.index), Some((body, NDJSON))).await {
            Ok(answer) => answer,
            Err(NoAnswer::Unreachable(reason)) => return Ok(Attempt::Later(reason)),
            // A server that gives up in the middle of a body may have found it too long.
            Err(NoAnswer::Broken(reason)) => return Ok(Attempt::Broke(reason)),
        };
        let too_long = || format!("413: {size} bytes are more than the server takes (http.max_content_length)");
        Ok(match answer.status {
            200 => self.judge(bulk, &answer).await,
            413 => Attempt::Halve { reason: too_long(), is_final: true },
            400 => match self.look_for_the_fault(bulk.first()).await {
                Ok(()) => Attempt::Halve { reason: answer.shown(), is_final: true },
                Err(reason) => Attempt::Later(reason),
            },
            // Of the whole request: it alone may be more than `indexing_pressure.memory.limit`.
            429 => Attempt::Halve { reason: answer.shown(), is_final: is_over_the_limit(&answer) },
            // Of the server, or of a proxy before it that had no answer.
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
                // 409: the index holds this document, or a newer one of the same URL.
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
            match self.look_for_the_fault(Some(first)).await {
                Ok(()) => {
                    let dead = |(item, reason): (&BulkDocument, String)| (item.entry.clone(), reason);
                    pushed.dead.extend(refused.into_iter().map(dead));
                }
                Err(reason) => {
                    let items = refused.into_iter().map(|(item, _)| item.clone()).collect();
                    // It says more than what single documents meet.
                    let others = std::mem::replace(&mut again, RetryLater { items, reason });
                    again.add(others);
                }
            }
        }
        Attempt::Judged { pushed, again, failed }
    }

    /// Finds or makes the index, for an error that is told at the start. What passes is not waited for.
    pub async fn look(self: Arc<Self>) -> Result<(), SinkError> {
        match self.prepare().await {
            Err(NotReady::Ever(error)) => Err(error),
            Err(NotReady::Yet(_)) | Ok(()) => Ok(()),
        }
    }

    /// Before each request that may write. An error, too, when the index is not the one any more that documents went to.
    async fn prepare(&self) -> Result<(), NotReady> {
        let mut is_ready = self.is_ready.lock().await;
        let mut found = identity::find(&self.client, &self.config.index).await?;
        if let Some(known) = self.known.lock().as_ref() {
            known.check(&found, &self.config.index).map_err(NotReady::Ever)?;
        }
        if !*is_ready || matches!(found, Found::Nothing) {
            index::prepare(&self.client, &self.config, self.with_deletes).await?;
            found = identity::find(&self.client, &self.config.index).await?;
            *is_ready = true;
        }
        if let Found::Index(found) = found {
            if self.looks_at_alias(&found).await? {
                // Its new index may be mapped otherwise.
                index::prepare(&self.client, &self.config, self.with_deletes).await?;
            }
            *self.known.lock() = Some(found);
        }
        Ok(())
    }

    /// For the sink's committed state; none as long as nothing is known.
    pub fn known(&self) -> Option<serde_json::Value> {
        self.known.lock().as_ref().map(IndexIdentity::to_state)
    }

    /// Waits before the next attempt; longer each time.
    async fn wait(&self, patience: &mut Backoff, reason: String) -> Result<(), BulkFailure> {
        self.watch.waits(reason.as_str());
        let (index, waited) = (&self.config.index, patience.since.elapsed());
        if waited >= self.config.max_retry {
            let problem = format!("nothing written to {index} for {} s: {reason}", waited.as_secs());
            let remedy = "look at the server; pages wait in the page log, and the sink goes on by itself";
            return Err(BulkFailure::Failed(other(problem, remedy)));
        }
        if !std::mem::replace(&mut patience.told, true) {
            tracing::warn!(index, reason, "Elasticsearch does not take documents now, trying on");
        }
        let pause = patience.back_off.mul_f64(0.75 + fastrand::f64() / 2.0);
        patience.back_off = (patience.back_off * 2).min(LAST_BACK_OFF);
        tokio::select! {
            biased;
            () = tokio::time::sleep(pause) => Ok(()),
            () = self.shutdown.hurrying() => Err(BulkFailure::Hurried),
        }
    }

    async fn out_of_time(&self) {
        self.shutdown.hurrying().await;
        tokio::time::sleep(LAST_CHANCE).await;
    }
}
