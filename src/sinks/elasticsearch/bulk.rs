//! One bulk until every document in it is judged.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use elasticsearch::http::Method;
use serde::Deserialize;
use tokio::sync::Mutex;

use super::client::{Answer, Client, NoAnswer};
use super::index::{self, NotReady};
use super::other;
use crate::config::ElasticConfig;
use crate::log::Entry;
use crate::sinks::SinkError;

const FIRST_BACK_OFF: Duration = Duration::from_millis(100);
const LAST_BACK_OFF: Duration = Duration::from_secs(5);
/// Told to hurry, a request under way still has this long.
const LAST_CHANCE: Duration = Duration::from_secs(3);
const LOOK_UP: Duration = Duration::from_millis(50);
const LONGEST_REASON: usize = 500;

/// A document and the line before it.
#[derive(Clone)]
pub(super) struct Item {
    pub entry: Arc<Entry>,
    pub lines: Bytes,
}

/// Documents for one request.
pub(super) struct Bulk(pub Vec<Item>);

/// What became of a bulk.
#[derive(Default)]
pub(super) struct Pushed {
    /// They, or newer ones, are in the index.
    pub written: u64,
    /// Refused for good, and why.
    pub dead: Vec<(Arc<Entry>, String)>,
}

pub(super) enum Unpushed {
    /// Told to hurry.
    Hurried,
    /// Without progress for too long, or never to succeed.
    Failed(SinkError),
}

/// Sends bulks to one index.
pub(super) struct Pusher {
    client: Client,
    index: String,
    with_template: bool,
    max_retry: Duration,
    hurry: Arc<AtomicBool>,
    /// The index is known to be there.
    is_ready: Mutex<bool>,
}

/// How one attempt went.
enum Attempt {
    /// Everything in it is judged; `again` is what the server could not take now, and why.
    Judged {
        pushed: Pushed,
        again: Vec<Item>,
        reason: String,
    },
    /// Nothing in it is judged.
    Later(String),
    /// It is too much at once, or may be.
    Halve {
        reason: String,
        is_final: bool,
    },
    Failed(SinkError),
}

impl Pusher {
    pub fn new(client: Client, config: &ElasticConfig, hurry: Arc<AtomicBool>) -> Pusher {
        Pusher {
            client,
            index: config.index.clone(),
            with_template: config.index_template,
            max_retry: config.max_retry,
            hurry,
            is_ready: Mutex::new(false),
        }
    }

    /// Returns when every document is judged.
    pub async fn push(self: Arc<Self>, bulk: Bulk) -> Result<Pushed, Unpushed> {
        tokio::select! {
            pushed = self.push_all(bulk) => pushed,
            () = self.out_of_time() => Err(Unpushed::Hurried),
        }
    }

    async fn push_all(&self, bulk: Bulk) -> Result<Pushed, Unpushed> {
        let mut all = Pushed::default();
        let mut patience = Patience::new();
        let mut queue = VecDeque::from([bulk]);
        while let Some(mut bulk) = queue.pop_front().filter(|bulk| !bulk.0.is_empty()) {
            let reason = match self.attempt(&bulk).await {
                Attempt::Judged { pushed, again, reason } => {
                    if pushed.written > 0 || !pushed.dead.is_empty() {
                        patience = Patience::new();
                    }
                    all.written += pushed.written;
                    all.dead.extend(pushed.dead);
                    if again.is_empty() {
                        continue;
                    }
                    queue.push_front(Bulk(again));
                    reason
                }
                Attempt::Later(reason) => {
                    queue.push_front(bulk);
                    reason
                }
                Attempt::Halve { reason, is_final } if bulk.0.len() > 1 => {
                    let second = Bulk(bulk.0.split_off(bulk.0.len() / 2));
                    tracing::info!(reason, documents = bulk.0.len() + second.0.len(), "a bulk is sent in halves");
                    queue.push_front(second);
                    queue.push_front(bulk);
                    if is_final {
                        continue;
                    }
                    reason
                }
                Attempt::Halve { reason, is_final: true } => {
                    all.dead.extend(bulk.0.into_iter().map(|item| (item.entry, reason.clone())));
                    continue;
                }
                Attempt::Halve { reason, is_final: false } => {
                    queue.push_front(bulk);
                    reason
                }
                Attempt::Failed(error) => return Err(Unpushed::Failed(error)),
            };
            self.wait(&mut patience, reason).await?;
        }
        Ok(all)
    }

    async fn attempt(&self, bulk: &Bulk) -> Attempt {
        if let Err(not_ready) = self.prepare().await {
            return match not_ready {
                NotReady::Yet(reason) => Attempt::Later(reason),
                NotReady::Ever(error) => Attempt::Failed(error),
            };
        }
        let path = format!(
            "/{}/_bulk?filter_path=items.*.status,items.*.error.type,items.*.error.reason,items.*.error.caused_by",
            self.index
        );
        let body = bulk.body();
        let size = body.len();
        let answer = match self.client.send(Method::Post, &path, Some((body, "application/x-ndjson"))).await {
            Ok(answer) => answer,
            Err(NoAnswer::Unreachable(reason)) => return Attempt::Later(reason),
            // A server that gives up in the middle of a body may have found it too long.
            Err(NoAnswer::Broken(reason)) => return Attempt::Halve { reason, is_final: false },
        };
        let too_long = || format!("413: {size} bytes are more than the server takes (http.max_content_length)");
        match answer.status {
            200 => self.judge(bulk, &answer).await,
            413 => Attempt::Halve { reason: too_long(), is_final: true },
            400 => Attempt::Halve { reason: answer.shown(), is_final: true },
            // Of the whole request: it alone may be more than `indexing_pressure.memory.limit`.
            429 => Attempt::Halve { reason: answer.shown(), is_final: false },
            401 => answer.denied().map_or_else(|| Attempt::Later(answer.shown()), Attempt::Failed),
            _ => Attempt::Later(answer.shown()),
        }
    }

    async fn judge(&self, bulk: &Bulk, answer: &Answer) -> Attempt {
        let Ok(verdicts) = serde_json::from_slice::<BulkAnswer>(&answer.body) else {
            return Attempt::Later(format!("not an answer to a bulk: {}", answer.shown()));
        };
        if verdicts.items.len() != bulk.0.len() {
            return Attempt::Later(format!("{} documents, {} verdicts", bulk.0.len(), verdicts.items.len()));
        }
        let mut pushed = Pushed::default();
        let (mut again, mut first_reason) = (Vec::new(), String::new());
        let index_is_gone = verdicts.items.iter().flat_map(HashMap::values).any(|verdict| verdict.status == 404);
        for (item, verdict) in bulk.0.iter().zip(verdicts.items.into_iter().flat_map(HashMap::into_values)) {
            match verdict.judge() {
                // 409: the index holds this document, or a newer one of the same URL.
                Verdict::Written => pushed.written += 1,
                Verdict::Refused(reason) => {
                    tracing::warn!(url = item.entry.event.url, reason, "document refused");
                    pushed.dead.push((item.entry.clone(), reason));
                }
                Verdict::Later(reason) => {
                    if first_reason.is_empty() {
                        first_reason = reason;
                    }
                    again.push(item.clone());
                }
            }
        }
        if index_is_gone {
            *self.is_ready.lock().await = false;
        }
        Attempt::Judged { pushed, again, reason: first_reason }
    }

    async fn prepare(&self) -> Result<(), NotReady> {
        let mut is_ready = self.is_ready.lock().await;
        if !*is_ready {
            index::prepare(&self.client, &self.index, self.with_template).await?;
            *is_ready = true;
        }
        Ok(())
    }

    /// Waits before the next attempt; longer each time.
    async fn wait(&self, patience: &mut Patience, reason: String) -> Result<(), Unpushed> {
        if patience.since.elapsed() >= self.max_retry {
            let problem =
                format!("nothing written to {} for {} s: {reason}", self.index, patience.since.elapsed().as_secs());
            let remedy = "look at the server; pages wait in the page log, and the sink goes on by itself";
            return Err(Unpushed::Failed(other(problem, remedy)));
        }
        if !std::mem::replace(&mut patience.told, true) {
            tracing::warn!(index = self.index, reason, "Elasticsearch does not take documents now, trying on");
        }
        let pause = patience.back_off.mul_f64(0.75 + fastrand::f64() / 2.0);
        patience.back_off = (patience.back_off * 2).min(LAST_BACK_OFF);
        tokio::select! {
            () = tokio::time::sleep(pause) => Ok(()),
            () = self.hurried() => Err(Unpushed::Hurried),
        }
    }

    async fn hurried(&self) {
        while !self.hurry.load(Ordering::Relaxed) {
            tokio::time::sleep(LOOK_UP).await;
        }
    }

    async fn out_of_time(&self) {
        self.hurried().await;
        tokio::time::sleep(LAST_CHANCE).await;
    }
}

/// How long a bulk has been without progress.
struct Patience {
    since: Instant,
    back_off: Duration,
    told: bool,
}

impl Patience {
    fn new() -> Patience {
        Patience { since: Instant::now(), back_off: FIRST_BACK_OFF, told: false }
    }
}

impl Bulk {
    fn body(&self) -> Bytes {
        let mut body = BytesMut::with_capacity(self.0.iter().map(|item| item.lines.len()).sum());
        self.0.iter().for_each(|item| body.extend_from_slice(&item.lines));
        body.freeze()
    }
}

#[derive(Deserialize)]
struct BulkAnswer {
    /// One a document, in order; each with the action's name around it.
    items: Vec<HashMap<String, ItemAnswer>>,
}

#[derive(Deserialize)]
struct ItemAnswer {
    status: u16,
    error: Option<ItemError>,
}

#[derive(Deserialize)]
struct ItemError {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    reason: Option<String>,
    caused_by: Option<serde_json::Value>,
}

enum Verdict {
    Written,
    Refused(String),
    Later(String),
}

impl ItemAnswer {
    fn judge(self) -> Verdict {
        let shown = self.shown();
        match self.status {
            200..300 | 409 => Verdict::Written,
            400 if self.is_about_the_index() => Verdict::Later(shown),
            400 | 413 => Verdict::Refused(shown),
            // 429 and 5xx: too busy, out of disk; 403 and 404: the index is blocked or gone, and somebody may help.
            _ => Verdict::Later(shown),
        }
    }

    /// A refusal that would meet any document.
    fn is_about_the_index(&self) -> bool {
        self.error.as_ref().is_some_and(|error| {
            matches!(error.kind.as_str(), "index_closed_exception" | "invalid_index_name_exception")
                || error.reason.as_deref().is_some_and(|reason| reason.contains("no write index"))
        })
    }

    fn shown(&self) -> String {
        let Some(error) = &self.error else { return self.status.to_string() };
        let reason = cut(error.reason.as_deref().unwrap_or_default());
        let cause = error.caused_by.as_ref().map(|cause| format!("; caused by {cause}")).unwrap_or_default();
        format!("{} {}: {reason}{}", self.status, error.kind, cut(&cause))
    }
}

/// A server's words at a length that suits a message.
pub(super) fn cut(text: &str) -> &str {
    text.get(..text.floor_char_boundary(LONGEST_REASON)).unwrap_or(text)
}
