//! One bulk until every document in it is judged.
//!
//! What is refused, or breaks the request it is in, is looked at twice: with the index well, it is that document's fault,
//! and it is dead; with the index refusing any page ([`probe`]), it is an outage, and everything waits.

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
use super::probe::{self, Found};
use crate::config::ElasticConfig;
use crate::delivery::Entry;
use crate::sinks::SinkError;

const FIRST_BACK_OFF: Duration = Duration::from_millis(100);
const LAST_BACK_OFF: Duration = Duration::from_secs(5);
/// Told to hurry, a request under way still has this long.
const LAST_CHANCE: Duration = Duration::from_secs(3);
const LOOK_UP: Duration = Duration::from_millis(50);
const LONGEST_REASON: usize = 500;
/// A document that breaks the request it is alone in is tried so often, each time with the server found well behind it.
const MOST_BREAKS: u32 = 6;
pub(super) const NDJSON: &str = "application/x-ndjson";

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

/// Documents that wait for their turn.
struct Waiting {
    bulk: Bulk,
    /// How the last request with them broke, when it did.
    broke: Option<String>,
    /// How often it has, with the server found well behind it. Counted for a document alone.
    breaks: u32,
}

impl Waiting {
    fn new(items: Vec<Item>) -> Waiting {
        Waiting { bulk: Bulk(items), broke: None, breaks: 0 }
    }
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
    /// It was under way when the connection broke, the time was over, or the server failed.
    Broke(String),
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
        let mut queue = VecDeque::from([Waiting::new(bulk.0)]);
        while let Some(mut next) = queue.pop_front().filter(|next| !next.bulk.0.is_empty()) {
            if let Some(reason) = next.broke.take() {
                if let Err(why) = self.look_for_the_fault().await {
                    next.broke = Some(reason);
                    queue.push_front(next);
                    self.wait(&mut patience, why).await?;
                    continue;
                }
                // Closer to what breaks it: that is progress.
                patience = Patience::new();
                narrow_down(next, &reason, &mut queue, &mut all);
                let fewest = queue.iter().map(|next| next.breaks).min().unwrap_or_default();
                if fewest > 0 {
                    patience.back_off *= 1 << fewest;
                    self.wait(&mut patience, reason).await?;
                }
                continue;
            }
            let reason = match self.attempt(&next.bulk).await {
                Attempt::Judged { pushed, again, reason } => {
                    if pushed.written > 0 || !pushed.dead.is_empty() {
                        patience = Patience::new();
                    }
                    all.written += pushed.written;
                    all.dead.extend(pushed.dead);
                    if again.is_empty() {
                        continue;
                    }
                    queue.push_front(Waiting { bulk: Bulk(again), ..next });
                    reason
                }
                Attempt::Later(reason) => {
                    queue.push_front(next);
                    reason
                }
                Attempt::Broke(reason) => {
                    queue.push_front(Waiting { broke: Some(reason), ..next });
                    continue;
                }
                Attempt::Halve { reason, is_final } if next.bulk.0.len() > 1 => {
                    halve(next.bulk, &reason, &mut queue);
                    if is_final {
                        continue;
                    }
                    reason
                }
                Attempt::Halve { reason, is_final: true } => {
                    all.dead.extend(next.bulk.0.into_iter().map(|item| (item.entry, reason.clone())));
                    continue;
                }
                Attempt::Halve { reason, is_final: false } => {
                    queue.push_front(next);
                    reason
                }
                Attempt::Failed(error) => return Err(Unpushed::Failed(error)),
            };
            self.wait(&mut patience, reason).await?;
        }
        Ok(all)
    }

    /// Well: what went wrong was the fault of what was sent. Else why nothing can be sent now.
    async fn look_for_the_fault(&self) -> Result<(), String> {
        if let Err(NotReady::Yet(reason)) = self.prepare().await {
            return Err(reason);
        }
        match probe::probe(&self.client, &self.index).await {
            Found::Well => Ok(()),
            Found::NotNow(reason) => Err(reason),
            Found::RefusesAll(reason) => {
                // It may not be the index any more that was found.
                *self.is_ready.lock().await = false;
                let remedy = probe::remedy(&reason);
                Err(format!("{} refuses any page: {reason}; {remedy}; pages wait meanwhile", self.index))
            }
        }
    }

    async fn attempt(&self, bulk: &Bulk) -> Attempt {
        if let Err(not_ready) = self.prepare().await {
            return match not_ready {
                NotReady::Yet(reason) => Attempt::Later(reason),
                NotReady::Ever(error) => Attempt::Failed(error),
            };
        }
        let body = bulk.body();
        let size = body.len();
        let answer = match self.client.send(Method::Post, &path(&self.index), Some((body, NDJSON))).await {
            Ok(answer) => answer,
            Err(NoAnswer::Unreachable(reason)) => return Attempt::Later(reason),
            // A server that gives up in the middle of a body may have found it too long.
            Err(NoAnswer::Broken(reason)) => return Attempt::Broke(reason),
        };
        let too_long = || format!("413: {size} bytes are more than the server takes (http.max_content_length)");
        match answer.status {
            200 => self.judge(bulk, &answer).await,
            413 => Attempt::Halve { reason: too_long(), is_final: true },
            400 => match self.look_for_the_fault().await {
                Ok(()) => Attempt::Halve { reason: answer.shown(), is_final: true },
                Err(reason) => Attempt::Later(reason),
            },
            // Of the whole request: it alone may be more than `indexing_pressure.memory.limit`.
            429 => Attempt::Halve { reason: answer.shown(), is_final: is_over_the_limit(&answer) },
            // Of the server, or of a proxy before it that had no answer.
            500 | 502 | 504 => Attempt::Broke(answer.shown()),
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
        let mut refused = Vec::new();
        let index_is_gone = verdicts.items.iter().flat_map(HashMap::values).any(|verdict| verdict.status == 404);
        for (item, verdict) in bulk.0.iter().zip(verdicts.items.into_iter().flat_map(HashMap::into_values)) {
            match verdict.judge() {
                // 409: the index holds this document, or a newer one of the same URL.
                Verdict::Written => pushed.written += 1,
                Verdict::Refused(reason) => refused.push((item, reason)),
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
        if !refused.is_empty() {
            match self.look_for_the_fault().await {
                Ok(()) => {
                    let dead = |(item, reason): (&Item, String)| (item.entry.clone(), reason);
                    pushed.dead.extend(refused.into_iter().map(dead));
                }
                Err(reason) => {
                    again.extend(refused.into_iter().map(|(item, _)| item.clone()));
                    first_reason = reason;
                }
            }
        }
        Attempt::Judged { pushed, again, reason: first_reason }
    }

    /// Finds or makes the index, for an error that is told at the start. What passes is not waited for.
    pub async fn look(self: Arc<Self>) -> Result<(), SinkError> {
        match self.prepare().await {
            Err(NotReady::Ever(error)) => Err(error),
            Err(NotReady::Yet(_)) | Ok(()) => Ok(()),
        }
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
        if let [item] = &self.0[..] {
            return item.lines.clone();
        }
        let mut body = BytesMut::with_capacity(self.0.iter().map(|item| item.lines.len()).sum());
        self.0.iter().for_each(|item| body.extend_from_slice(&item.lines));
        body.freeze()
    }
}

/// A request broke, and the server is well: with several documents in it each half is tried, and one that is alone is
/// tried again behind the others, and in the end set aside.
fn narrow_down(broken: Waiting, reason: &str, queue: &mut VecDeque<Waiting>, all: &mut Pushed) {
    if broken.bulk.0.len() > 1 {
        return halve(broken.bulk, reason, queue);
    }
    let breaks = broken.breaks + 1;
    if breaks < MOST_BREAKS {
        return queue.push_back(Waiting { breaks, ..broken });
    }
    let why =
        format!("{breaks} requests with this page alone came to nothing, and those without it are answered: {reason}");
    for item in broken.bulk.0 {
        tracing::warn!(url = item.entry.event.url, reason, "document set aside");
        all.dead.push((item.entry, why.clone()));
    }
}

fn halve(mut bulk: Bulk, reason: &str, queue: &mut VecDeque<Waiting>) {
    let second = bulk.0.split_off(bulk.0.len() / 2);
    tracing::info!(reason, documents = bulk.0.len() + second.len(), "a bulk is sent in halves");
    queue.push_front(Waiting::new(second));
    queue.push_front(Waiting::new(bulk.0));
}

/// Where bulks for an index go, and what of the answer is wanted.
pub(super) fn path(index: &str) -> String {
    format!("/{index}/_bulk?filter_path=items.*.status,items.*.error.type,items.*.error.reason,items.*.error.caused_by")
}

/// Of a 429: the request is larger than the node ever takes, whatever else it has in hand. It says so in the words
/// `… operation_bytes=N, max_…_bytes=M`.
fn is_over_the_limit(answer: &Answer) -> bool {
    let text = String::from_utf8_lossy(&answer.body);
    let number_behind = |text: &str| {
        let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u64>().ok()
    };
    let needed = text.split_once("operation_bytes=").and_then(|(_, rest)| number_behind(rest));
    let most = text.split_once("max_").and_then(|(_, rest)| number_behind(rest.split_once('=')?.1));
    needed.zip(most).is_some_and(|(needed, most)| needed > most)
}

#[derive(Deserialize)]
pub(super) struct BulkAnswer {
    /// One a document, in order; each with the action's name around it.
    items: Vec<HashMap<String, ItemAnswer>>,
}

impl BulkAnswer {
    /// The verdict on the only document.
    pub fn only(self) -> Option<ItemAnswer> {
        self.items.into_iter().flat_map(HashMap::into_values).next()
    }
}

#[derive(Deserialize)]
pub(super) struct ItemAnswer {
    pub status: u16,
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
    /// It was written, or there is another version.
    pub fn is_there(&self) -> bool {
        matches!(self.status, 200..300 | 409)
    }

    fn judge(self) -> Verdict {
        let shown = self.shown();
        match self.status {
            _ if self.is_there() => Verdict::Written,
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

    pub fn shown(&self) -> String {
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
