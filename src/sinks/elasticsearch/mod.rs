//! The ELASTICSEARCH sink: one document per URL, written with `_bulk`. For Elasticsearch 7 and newer and for
//! OpenSearch.
//!
//! * `client`: hosts, credentials, one request.
//! * `index`: checks or creates the index and its mapping.
//! * `identity`: detects that the index was replaced.
//! * `bulk`: sends a bulk until each document is decided: written, rejected, or to be retried.
//! * `queue`: documents to retry, halved until the one that breaks a request is found.
//! * `touch`: updates only the time of unchanged pages.
//! * `verdict`: reads the server's answer for each document.
//! * `documents`: lists the documents, for an audit.
//! * `location`: finds the document of one page, for people.
//! * `probe`: tests whether the index takes pages at all.
//!
//! The caller's thread builds documents while the sink's own thread sends them. A document that the server rejects for
//! good becomes a dead letter. Every write and every deletion has the fetch time as its external version. So a repeated
//! or late request changes nothing, and the order of requests does not matter. The index decides how long it remembers
//! deletions (`index.gc_deletes`).

mod bulk;
pub mod client;
mod documents;
mod identity;
mod index;
mod location;
mod probe;
mod queue;
mod touch;
mod verdict;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use seine_delivery::{Entry, Offset};
use seine_formats::elastic::{document_id, document_version, write_event};
use seine_formats::files::stores_event;
use seine_parse::page::{PageEvent, Withheld};
use seine_simulation_hooks::outside::replacement;
use seine_simulation_hooks::planted;
use seine_system::blocking::Runtime;
use tokio::runtime::{Builder, Handle};
use tokio::task::JoinHandle;

use self::bulk::{BulkFailure, BulkSender};
use self::client::other;
pub(crate) use self::documents::{AT_ONCE, IndexReader};
pub(super) use self::location::find;
use self::queue::{Bulk, BulkDocument, BulkOutcome, Written};
use super::dead_letters::DeadLetters;
use super::sink::{Delivered, Sink, SinkContext, SinkCount, SinkError};
use crate::config::{ElasticConfig, Removed, Upkeep};
use crate::judge::upkeep::DeliveryAction;

/// Number of bulks sent but not yet answered. The server writes one while the next is built and sent.
const IN_FLIGHT: usize = 2;
/// While no bulk is sent, the index is checked at this interval.
const CHECK_EVERY: Duration = Duration::from_secs(if cfg!(feature = "simulate") { 60 } else { 5 });

/// Writes every 2xx page to an index, and deletes pages that are gone.
pub struct ElasticSink {
    upkeep: Upkeep,
    pusher: Arc<BulkSender>,
    /// The runtime that sends bulks. None only while the sink is dropped.
    runtime: Option<Runtime>,
    /// The check of the index in progress, and when the last one started.
    check: Option<JoinHandle<Result<(), SinkError>>>,
    checked: Instant,
    /// The index was ready once. Before that no document is built, because a sink that fails builds all of them again.
    was_ready: bool,
    /// Entries that wait for it, the first of them a document.
    waiting: Vec<Arc<Entry>>,
    /// The bulk being filled.
    next: Batch,
    in_flight: VecDeque<InFlightBulk>,
    /// Told when the last bulk on its way is written.
    last: Written,
    so_far: Delivered,
    dead: DeadLetters,
    /// The sink had to end before all was written. Pages not counted in `so_far` are delivered again after the next
    /// start.
    ended: bool,
}

/// The entries of one bulk.
#[derive(Default)]
struct Batch {
    items: Vec<BulkDocument>,
    /// Deletions of pages that became aliases. They come last, so that the page that each leads to is there before.
    leaving: Vec<BulkDocument>,
    /// Unchanged pages, for which only the time is written.
    touches: Vec<Arc<Entry>>,
    bytes: usize,
    skipped: u64,
    /// The position after the last entry; none while the bulk is empty.
    end: Option<Offset>,
    /// When the first entry was added.
    since: Option<Instant>,
}

impl Batch {
    fn documents(&self) -> usize {
        self.items.len() + self.leaving.len() + self.touches.len()
    }
}

struct InFlightBulk {
    task: JoinHandle<Result<BulkOutcome, BulkFailure>>,
    end: Offset,
    skipped: u64,
}

impl ElasticSink {
    /// Opens a sink that has delivered nothing yet.
    pub fn open(config: &ElasticConfig, upkeep: Upkeep, context: &SinkContext) -> Result<ElasticSink, SinkError> {
        ElasticSink::reopen(config, upkeep, context, &serde_json::Value::Null)
    }

    /// Does not wait for a server; later calls report problems with the index. `state` is that of the last committed
    /// [`Delivered`].
    pub fn reopen(
        config: &ElasticConfig,
        upkeep: Upkeep,
        context: &SinkContext,
        state: &serde_json::Value,
    ) -> Result<ElasticSink, SinkError> {
        let client = client::Client::new(config)?;
        // A worker thread, not the caller's, so that connections are served while the caller does something else.
        let runtime = runtime(Builder::new_multi_thread().worker_threads(1).thread_name("elasticsearch"))?;
        let pusher = Arc::new(BulkSender::new(client, config, upkeep.removed == Removed::Delete, state, context));
        Ok(ElasticSink {
            check: Some(runtime.handle().spawn(pusher.clone().check())),
            checked: Instant::now(),
            was_ready: false,
            waiting: Vec::new(),
            pusher,
            upkeep,
            runtime: Some(runtime),
            next: Batch::default(),
            in_flight: VecDeque::new(),
            last: Written::nothing(),
            so_far: Delivered { state: state.clone(), ..Delivered::default() },
            dead: DeadLetters::open(&context.letters)?,
            ended: false,
        })
    }

    fn take(&mut self, entry: &Arc<Entry>) -> Result<(), SinkError> {
        if self.ended {
            return Ok(());
        }
        let due = self.upkeep.due(&entry.event);
        let lines = match due {
            DeliveryAction::Write if stores_event(&entry.event) => Some(self.lines(entry)),
            DeliveryAction::Delete => Some(action("delete", entry).into()),
            _ => None,
        };
        let bytes = lines.as_ref().map_or(0, Bytes::len);
        if bytes as u64 > self.pusher.config.bulk_bytes {
            // A page larger than a bulk goes alone, and only one such page is in flight.
            self.send()?;
            self.settle_all()?;
        }
        self.next.since.get_or_insert_with(Instant::now);
        self.next.end = Some(entry.end);
        self.next.bytes += bytes;
        match lines {
            Some(lines) if is_alias(&entry.event) => {
                self.next.leaving.push(BulkDocument { entry: entry.clone(), lines })
            }
            Some(lines) => self.next.items.push(BulkDocument { entry: entry.clone(), lines }),
            None if due == DeliveryAction::Touch => self.next.touches.push(entry.clone()),
            None => self.next.skipped += 1,
        }
        if self.is_due() { self.send() } else { Ok(()) }
    }

    /// Whether an entry must wait until the index is ready.
    fn must_wait(&self, entry: &Entry) -> bool {
        let is_document = || self.upkeep.due(&entry.event) == DeliveryAction::Write && stores_event(&entry.event);
        !self.was_ready && (!self.waiting.is_empty() || is_document())
    }

    /// If entries wait, waits for the first check and then for the server, and takes them. Ends the sink if the process
    /// is shutting down.
    fn take_waiting(&mut self) -> Result<(), SinkError> {
        let Some(runtime) = self.runtime.as_ref().filter(|_| !self.waiting.is_empty()) else { return Ok(()) };
        match runtime.block_on(self.pusher.clone().await_index(self.check.take())) {
            Ok(()) => self.was_ready = true,
            Err(BulkFailure::ShuttingDown) => self.ended = true,
            Err(BulkFailure::Failed(error)) => return Err(error),
        }
        std::mem::take(&mut self.waiting).iter().try_for_each(|entry| self.take(entry))
    }

    /// The document and its action line.
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
        self.next.documents() >= config.bulk_documents
            || self.next.bytes as u64 >= config.bulk_bytes
            || waited.is_some_and(|waited| waited >= config.flush_interval)
    }

    /// Sends the current bulk. Waits for an earlier bulk if too many are in flight.
    fn send(&mut self) -> Result<(), SinkError> {
        let batch = std::mem::take(&mut self.next);
        let Some(end) = batch.end else { return Ok(()) };
        while self.in_flight.len() >= IN_FLIGHT {
            self.settle_first()?;
        }
        if let Some(runtime) = self.runtime.as_ref().filter(|_| !self.ended) {
            let (written, last) = Written::channel();
            let bulk = Bulk { items: batch.items, leaving: batch.leaving, touches: batch.touches };
            let before = std::mem::replace(&mut self.last, last);
            let task = runtime.handle().spawn(self.pusher.clone().push(bulk, before, written));
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

    /// Waits for the first bulk in flight and counts its result.
    fn settle_first(&mut self) -> Result<(), SinkError> {
        let (Some(flight), Some(runtime)) = (self.in_flight.pop_front(), &self.runtime) else { return Ok(()) };
        let pushed = runtime.block_on(flight.task).map_err(|error| {
            other(format!("the sending thread failed: {error}"), "report this as a bug; nothing is lost")
        })?;
        match pushed {
            Ok(pushed) => {
                // Dead letters must be on disk before the sink's cursor passes them.
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
            Err(BulkFailure::ShuttingDown) => {
                self.ended = true;
                self.in_flight.clear();
                Ok(())
            }
            Err(BulkFailure::Failed(error)) => Err(error),
        }
    }

    /// Reports an index that can never take our pages before the first bulk, and a replaced index even if no bulk is
    /// sent.
    fn settle_check(&mut self) -> Result<(), SinkError> {
        let Some(runtime) = &self.runtime else { return Ok(()) };
        if let Some(look) = self.check.take_if(|look| look.is_finished()) {
            return runtime.block_on(look).unwrap_or(Ok(()));
        }
        if self.check.is_none() && self.checked.elapsed() >= CHECK_EVERY {
            self.checked = Instant::now();
            self.check = Some(runtime.handle().spawn(self.pusher.clone().check()));
        }
        Ok(())
    }

    /// Runs a step, unless the sink has ended.
    fn step(&mut self, step: impl FnOnce(&mut Self) -> Result<(), SinkError>) -> Result<Delivered, SinkError> {
        if !self.ended {
            self.settle_check()?;
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
            sink.take_waiting()?;
            for entry in entries {
                match sink.must_wait(entry) {
                    true => sink.waiting.push(entry.clone()),
                    false => sink.take(entry)?,
                }
            }
            while sink.in_flight.front().is_some_and(|flight| flight.task.is_finished()) {
                sink.settle_first()?;
            }
            Ok(())
        })
    }

    /// Waits for the server as long as it takes, but not if the process is shutting down. Returns an error after
    /// `max_retry_timeout` without progress.
    fn flush(&mut self) -> Result<Delivered, SinkError> {
        self.step(|sink| {
            sink.take_waiting()?;
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

/// The simulation's runtime, if any; otherwise a new one.
fn runtime(builder: &mut Builder) -> Result<Runtime, SinkError> {
    if let Some(handle) = replacement::<Handle>() {
        return Ok(Runtime::Simulated(handle));
    }
    let built = builder.enable_all().build();
    let failed = |error| other(format!("no thread can be started: {error}"), "raise the limit of threads");
    Ok(Runtime::Own(built.map_err(failed)?))
}

/// It had a page of its own, perhaps, and has another's now.
fn is_alias(event: &PageEvent) -> bool {
    matches!(event.withheld, Some(Withheld::Alias { .. }))
}

/// The number of documents in the index, from any writer.
pub(super) fn count_documents(config: &ElasticConfig) -> Result<SinkCount, SinkError> {
    let count = runtime(&mut Builder::new_current_thread())?
        .block_on(index::count(&client::Client::new(config)?, &config.index))?;
    Ok(SinkCount::new("documents", count))
}

/// The action line of a document. A deletion has nothing else.
fn action(name: &str, entry: &Entry) -> Vec<u8> {
    let (id, version) = (document_id(&entry.event.url), document_version(&entry.event));
    let action = match planted::is("version_dropped") {
        true => serde_json::json!({ name: { "_id": id } }),
        false => serde_json::json!({ name: { "_id": id, "version": version, "version_type": "external" } }),
    };
    format!("{action}\n").into_bytes()
}
