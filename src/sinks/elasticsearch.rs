//! The ELASTICSEARCH sink: one document a URL, written with `_bulk`, for Elasticsearch 7 and newer and OpenSearch.
//!
//! * `client`: the hosts, who we are to them, one request.
//! * `index`: the index is there and takes our documents.
//! * `identity`: it is the index that the documents before went to.
//! * `bulk`: one bulk until every document in it is judged: written, refused for good, or to be sent again.
//! * `queue`: those that are to be sent again, narrowed down to what breaks a request.
//! * `touch`: pages that are as they were, of which only the time is news.
//! * `verdict`: what the server says of each.
//! * `documents`: which ones there are, for an audit.
//! * `place`: the document of one page, for people.
//! * `probe`: whether the index takes pages at all.
//!
//! The caller's thread makes documents; a thread of the sink's own sends them, so that both go on at once. What the
//! server refuses for good is a dead letter. Every document, and every deletion of one, carries the fetch's time as its external
//! version: what comes twice, or late, changes nothing, and in which order they come does not matter. For how long a deletion
//! is remembered, the index says (`index.gc_deletes`).

mod bulk;
pub mod client;
mod documents;
mod identity;
mod index;
mod place;
mod probe;
mod queue;
mod touch;
mod verdict;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::runtime::{Builder, Handle};
use tokio::task::JoinHandle;

use self::bulk::{BulkFailure, BulkSender};
use self::client::other;
pub(crate) use self::documents::{AT_ONCE, IndexReader};
use self::identity::IndexIdentity;
pub(super) use self::place::find;
use self::queue::{BulkDocument, BulkOutcome};
use super::dead_letters::DeadLetters;
use super::sink::{Delivered, Sink, SinkContext, SinkCount, SinkError};
use super::upkeep::Due;
use crate::blocking::Runtime;
use crate::config::{ElasticConfig, Removed, Upkeep};
use crate::delivery::{Entry, Position};
use crate::formats::elastic::{document_id, document_version, write_event};
use crate::formats::files::is_held;
use crate::outside::stand_in;
use crate::planted;

/// Bulks sent and not yet answered. One is written by the server while the next is being made and sent.
const IN_FLIGHT: usize = 2;
/// Without a bulk, the sink looks this often whether the index is still the same.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// Writes every 2xx page to an index, and deletes what is gone.
pub struct ElasticSink {
    upkeep: Upkeep,
    pusher: Arc<BulkSender>,
    /// Where bulks are sent. None only while the sink is dropped.
    runtime: Option<Runtime>,
    /// A look at the index, until it is over, and when the last one began.
    look: Option<JoinHandle<Result<(), SinkError>>>,
    looked: Instant,
    /// Being filled.
    next: Batch,
    in_flight: VecDeque<InFlightBulk>,
    so_far: Delivered,
    dead: DeadLetters,
    /// Told to end before all was written: what is not in `so_far` comes again with the next start.
    ended: bool,
}

/// Entries on their way into one bulk.
#[derive(Default)]
struct Batch {
    items: Vec<BulkDocument>,
    /// Of which the time alone is written.
    touches: Vec<Arc<Entry>>,
    bytes: usize,
    skipped: u64,
    /// Behind the last entry taken; none while it is empty.
    end: Option<Position>,
    /// When the first entry was taken.
    since: Option<Instant>,
}

struct InFlightBulk {
    task: JoinHandle<Result<BulkOutcome, BulkFailure>>,
    end: Position,
    skipped: u64,
}

impl ElasticSink {
    /// A sink that has delivered nothing yet.
    pub fn open(config: &ElasticConfig, upkeep: Upkeep, context: &SinkContext) -> Result<ElasticSink, SinkError> {
        ElasticSink::reopen(config, upkeep, context, &serde_json::Value::Null)
    }

    /// Waits for no server: what is wrong with the index is told by one of the next calls. `state`: that of the last committed
    /// [`Delivered`].
    pub fn reopen(
        config: &ElasticConfig,
        upkeep: Upkeep,
        context: &SinkContext,
        state: &serde_json::Value,
    ) -> Result<ElasticSink, SinkError> {
        let client = client::Client::new(config)?;
        // A worker rather than the caller's thread: connections live on while the caller does something else.
        let runtime = runtime(Builder::new_multi_thread().worker_threads(1).thread_name("elasticsearch"))?;
        let known = IndexIdentity::from_state(state);
        let pusher = Arc::new(BulkSender::new(client, config, upkeep.removed == Removed::Delete, known, context));
        Ok(ElasticSink {
            look: Some(runtime.handle().spawn(pusher.clone().look())),
            looked: Instant::now(),
            pusher,
            upkeep,
            runtime: Some(runtime),
            next: Batch::default(),
            in_flight: VecDeque::new(),
            so_far: Delivered { state: state.clone(), ..Delivered::default() },
            dead: DeadLetters::open(&context.letters)?,
            ended: false,
        })
    }

    fn take(&mut self, entry: &Arc<Entry>) -> Result<(), SinkError> {
        let due = self.upkeep.due(&entry.event);
        let lines = match due {
            Due::Write if is_held(&entry.event) => Some(self.lines(entry)),
            Due::Delete => Some(action("delete", entry).into()),
            _ => None,
        };
        let bytes = lines.as_ref().map_or(0, Bytes::len);
        if bytes as u64 > self.pusher.config.bulk_bytes {
            // More than a bulk by itself: it goes alone, and no two of them are on their way.
            self.send()?;
            self.settle_all()?;
        }
        self.next.since.get_or_insert_with(Instant::now);
        self.next.end = Some(entry.end);
        self.next.bytes += bytes;
        match lines {
            Some(lines) => self.next.items.push(BulkDocument { entry: entry.clone(), lines }),
            None if due == Due::Touch => self.next.touches.push(entry.clone()),
            None => self.next.skipped += 1,
        }
        Ok(())
    }

    /// The document and the line before it.
    fn lines(&self, entry: &Entry) -> Bytes {
        let mut lines = action("index", entry);
        write_event(&entry.event, &entry.text(), self.upkeep.min_change, &mut lines);
        lines.push(b'\n');
        lines.shrink_to_fit();
        lines.into()
    }

    fn is_due(&self) -> bool {
        let config = &self.pusher.config;
        let waited = self.next.since.map(|since| since.elapsed());
        self.next.items.len() + self.next.touches.len() >= config.bulk_documents
            || self.next.bytes as u64 >= config.bulk_bytes
            || waited.is_some_and(|waited| waited >= config.flush_interval)
    }

    /// Sends what is gathered; waits for an earlier bulk when too many are on their way.
    fn send(&mut self) -> Result<(), SinkError> {
        let batch = std::mem::take(&mut self.next);
        let Some(end) = batch.end else { return Ok(()) };
        while self.in_flight.len() >= IN_FLIGHT {
            self.settle_first()?;
        }
        if let Some(runtime) = self.runtime.as_ref().filter(|_| !self.ended) {
            let task = runtime.handle().spawn(self.pusher.clone().push(batch.items, batch.touches));
            self.in_flight.push_back(InFlightBulk { task, end, skipped: batch.skipped });
        }
        Ok(())
    }

    fn settle_all(&mut self) -> Result<(), SinkError> {
        while !self.in_flight.is_empty() {
            self.settle_first()?;
        }
        Ok(())
    }

    /// Waits for the first bulk on its way and counts what became of it.
    fn settle_first(&mut self) -> Result<(), SinkError> {
        let (Some(flight), Some(runtime)) = (self.in_flight.pop_front(), &self.runtime) else { return Ok(()) };
        let pushed = runtime.block_on(flight.task).map_err(|error| {
            other(format!("the sending thread failed: {error}"), "report this as a bug; nothing is lost")
        })?;
        match pushed {
            Ok(pushed) => {
                // On disk before this sink's place in the log passes them.
                for (entry, reason) in &pushed.dead {
                    self.dead.add(&entry.event, reason)?;
                }
                self.dead.sync()?;
                self.so_far.delivered += pushed.written;
                self.so_far.skipped += flight.skipped;
                self.so_far.dead += pushed.dead.len() as u64;
                self.so_far.up_to = flight.end;
                Ok(())
            }
            Err(BulkFailure::Hurried) => {
                self.ended = true;
                self.in_flight.clear();
                Ok(())
            }
            Err(BulkFailure::Failed(error)) => Err(error),
        }
    }

    /// An index that can never take our pages is told before the first of them, and one that was replaced without any.
    fn settle_look(&mut self) -> Result<(), SinkError> {
        let Some(runtime) = &self.runtime else { return Ok(()) };
        if let Some(look) = self.look.take_if(|look| look.is_finished()) {
            return runtime.block_on(look).unwrap_or(Ok(()));
        }
        if self.look.is_none() && self.looked.elapsed() >= LOOK_AGAIN {
            self.looked = Instant::now();
            self.look = Some(runtime.handle().spawn(self.pusher.clone().look()));
        }
        Ok(())
    }

    /// Runs a step, unless it was told to end.
    fn step(&mut self, step: impl FnOnce(&mut Self) -> Result<(), SinkError>) -> Result<Delivered, SinkError> {
        if !self.ended {
            self.settle_look()?;
            step(self)?;
        }
        if let Some(known) = self.pusher.known() {
            self.so_far.state = known;
        }
        Ok(self.so_far.clone())
    }
}

impl Sink for ElasticSink {
    fn deliver(&mut self, entries: &[Arc<Entry>]) -> Result<Delivered, SinkError> {
        self.step(|sink| {
            for entry in entries {
                sink.take(entry)?;
                if sink.is_due() {
                    sink.send()?;
                }
            }
            while sink.in_flight.front().is_some_and(|flight| flight.task.is_finished()) {
                sink.settle_first()?;
            }
            Ok(())
        })
    }

    /// Waits for the server as long as it takes (an error after `max_retry_timeout` without progress), unless told to
    /// hurry.
    fn flush(&mut self) -> Result<Delivered, SinkError> {
        self.step(|sink| {
            sink.send()?;
            sink.settle_all()
        })
    }
}

impl Drop for ElasticSink {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// The simulation's runtime if there is one, else a new one.
fn runtime(builder: &mut Builder) -> Result<Runtime, SinkError> {
    if let Some(handle) = stand_in::<Handle>() {
        return Ok(Runtime::Simulated(handle));
    }
    let built = builder.enable_all().build();
    let failed = |error| other(format!("no thread can be started: {error}"), "raise the limit of threads");
    Ok(Runtime::Own(built.map_err(failed)?))
}

/// The documents in the index, from whoever wrote them.
pub(super) fn held(config: &ElasticConfig) -> Result<SinkCount, SinkError> {
    let count = runtime(&mut Builder::new_current_thread())?
        .block_on(index::count(&client::Client::new(config)?, &config.index))?;
    Ok(SinkCount::new("documents", count))
}

/// The line before a document; of one that is deleted, all there is.
fn action(name: &str, entry: &Entry) -> Vec<u8> {
    let (id, version) = (document_id(&entry.event.url), document_version(&entry.event));
    let action = match planted::is("version_dropped") {
        true => serde_json::json!({ name: { "_id": id } }),
        false => serde_json::json!({ name: { "_id": id, "version": version, "version_type": "external" } }),
    };
    format!("{action}\n").into_bytes()
}
