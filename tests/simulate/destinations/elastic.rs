//! An Elasticsearch server at the end of a network.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use elasticsearch::http::Method;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};

use seine::sinks::elasticsearch::client::{ElasticServer, NoAnswer, ServerReply};
use seine_formats::elastic::ElasticDocument;
use seine_simulation_hooks::outside;

use super::elastic_model::{Reply, Server};
use super::mishaps::Mishaps;
use super::{TrueTime, note};
use crate::world::{Change, Done, Held, Trouble};

pub struct Elastic(Arc<Shared>);

struct Shared {
    clock: TrueTime,
    state: Mutex<State>,
}

struct State {
    server: Server,
    mishaps: Mishaps,
    chance: fastrand::Rng,
    log: Vec<Change>,
    /// Documents that were refused for good.
    refused: Vec<Change>,
}

/// A request on its way.
struct Request {
    method: Method,
    path: String,
    body: Bytes,
}

impl Elastic {
    pub fn new(seed: u64, clock: TrueTime) -> Elastic {
        let state = State {
            server: Server::new(seed),
            mishaps: Mishaps::default(),
            chance: fastrand::Rng::with_seed(seed ^ 0xe1a5),
            log: Vec::new(),
            refused: Vec::new(),
        };
        Elastic(Arc::new(Shared { clock, state: Mutex::new(state) }))
    }

    pub fn happen(&self, trouble: &Trouble, index: &str, now_ms: u64) {
        let state = &mut *self.0.state.lock();
        if state.mishaps.begin(trouble, now_ms) {
            return;
        }
        match trouble {
            Trouble::Emptied => {
                for name in state.server.behind(index) {
                    state.server.indices.get_mut(&name).expect("it is listed").clear();
                }
            }
            Trouble::Replaced => state.server = Server::new(state.chance.u64(..)),
            Trouble::Recreated => {
                for name in state.server.behind(index) {
                    state.server.remove_index(&name);
                }
                state.server.create(index, &json!({ "settings": { "index.number_of_replicas": "0" } }), now_ms);
            }
            Trouble::AliasRolledOver => state.roll_over(index, now_ms),
            Trouble::Compacted => state.server.indices.values_mut().for_each(|index| index.forget_deletions()),
            _ => {}
        }
    }

    pub fn contents(&self, index: &str) -> BTreeMap<String, Held> {
        let server = &self.0.state.lock().server;
        let mut all = BTreeMap::new();
        for name in server.behind(index) {
            for (_, document) in server.indices[&name].documents() {
                if let Some((url, held)) = held(&document.source) {
                    note(&mut all, url, held);
                }
            }
        }
        all
    }

    pub fn log(&self) -> Vec<Change> {
        self.0.state.lock().log.clone()
    }

    pub fn refused(&self) -> Vec<Change> {
        self.0.state.lock().refused.clone()
    }
}

impl ElasticServer for Elastic {
    fn ask(
        &self,
        method: Method,
        path: String,
        body: Option<Bytes>,
    ) -> BoxFuture<'static, Result<ServerReply, NoAnswer>> {
        let request = Request { method, path, body: body.unwrap_or_default() };
        let shared = self.0.clone();
        // A task of its own, because a client that stops waiting does not cancel the request.
        Box::pin(async move {
            match tokio::spawn(shared.answer(request)).await {
                Ok(answer) => answer,
                Err(error) => Err(NoAnswer::Broken(error.to_string())),
            }
        })
    }
}

impl Shared {
    async fn answer(self: Arc<Shared>, request: Request) -> Result<ServerReply, NoAnswer> {
        let (there, back) = self.state.lock().delays(self.clock.now_ms());
        if self.state.lock().mishaps.away(self.clock.now_ms()).is_some() {
            tokio::time::sleep(there).await;
            return Err(NoAnswer::Unreachable("model: Connection refused".into()));
        }
        tokio::time::sleep(there).await;
        if outside::is_dead() {
            pending::<()>().await;
        }
        let (reply, is_lost, hangs) = self.state.lock().carry_out(&request, self.clock.now_ms())?;
        if is_lost && hangs {
            pending::<()>().await;
        }
        tokio::time::sleep(back).await;
        if is_lost {
            return Err(NoAnswer::Broken("model: connection closed before message completed".into()));
        }
        let body = if reply.body.is_null() { Bytes::new() } else { Bytes::from(reply.body.to_string()) };
        Ok(ServerReply { status: reply.status, body })
    }
}

impl State {
    /// How long a request is on its way, and its answer.
    fn delays(&mut self, now_ms: u64) -> (Duration, Duration) {
        let late = self.mishaps.late(now_ms);
        let mut some = || Duration::from_millis(self.chance.u64(1..15));
        let (there, back) = (some(), some());
        match self.chance.bool() {
            true => (there + Duration::from_millis(late), back),
            false => (there, back + Duration::from_millis(late)),
        }
    }

    /// The answer, whether it is lost, and whether the connection then stays open. An error: the server went down meanwhile.
    fn carry_out(&mut self, request: &Request, now_ms: u64) -> Result<(Reply, bool, bool), NoAnswer> {
        if self.mishaps.away(now_ms).is_some() {
            return Err(NoAnswer::Broken("model: Connection reset by peer".into()));
        }
        let is_bulk = request.path.split('?').next().is_some_and(|path| path.ends_with("/_bulk"));
        let reply = match self.mishaps.refused(now_ms) {
            Some((status, _)) if is_bulk && status != 401 && self.chance.bool() => {
                self.refuse_some(request, status, now_ms)
            }
            Some((status, _)) => refusal(status),
            None if is_bulk && self.mishaps.is_rejecting(now_ms) => self.reject_some(request, now_ms),
            None => self.do_all(request, now_ms),
        };
        let is_lost = self.mishaps.loses(now_ms) && self.chance.u32(..3) > 0;
        Ok((reply, is_lost, self.chance.bool()))
    }

    fn do_all(&mut self, request: &Request, now_ms: u64) -> Reply {
        let reply = self.server.answer(name(request.method), &request.path, &request.body, now_ms);
        self.note(&reply, now_ms);
        reply
    }

    /// Executes only some operations of a bulk.
    fn refuse_some(&mut self, request: &Request, status: u16, now_ms: u64) -> Reply {
        self.do_some(request, now_ms, |state, operation| {
            (state.chance.u32(..3) > 0).then(|| refused_item(operation, status))
        })
    }

    /// Refuses some documents for good.
    fn reject_some(&mut self, request: &Request, now_ms: u64) -> Reply {
        self.do_some(request, now_ms, |state, operation| {
            let (url, held) = document(operation)?;
            state.mishaps.rejects(url.as_bytes(), now_ms).then(|| {
                let what = Done::Delivered { fetched_ms: held.fetched_ms, digest: held.body_digest };
                state.refused.push(Change { at_ms: now_ms, url, what });
                refused_item(operation, 400)
            })
        })
    }

    /// Executes the operations of a bulk that `refuse` has no answer for.
    fn do_some(
        &mut self,
        request: &Request,
        now_ms: u64,
        refuse: impl Fn(&mut State, &Bytes) -> Option<Value>,
    ) -> Reply {
        let operations = split(&request.body);
        let mut items = Vec::new();
        let mut has_errors = false;
        for operation in operations {
            if let Some(item) = refuse(self, &operation) {
                has_errors = true;
                items.push(item);
                continue;
            }
            let alone = Request { method: request.method, path: request.path.clone(), body: operation };
            let mut reply = self.do_all(&alone, now_ms);
            has_errors |= reply.body["errors"] == true;
            match reply.body["items"].as_array_mut() {
                Some(done) => items.append(done),
                None => return reply,
            }
        }
        Reply::ok(json!({ "took": 1, "errors": has_errors, "items": items }))
    }

    /// Records the changes by a bulk in the log.
    fn note(&mut self, reply: &Reply, at_ms: u64) {
        let items = reply.body["items"].as_array().into_iter().flatten();
        for (action, item) in items.filter_map(|item| item.as_object()?.iter().next()) {
            let (Some(index), Some(id), Some(200 | 201)) =
                (item["_index"].as_str(), item["_id"].as_str(), item["status"].as_u64())
            else {
                continue;
            };
            let document = self.server.indices.get(index).and_then(|index| index.get(id));
            let found = document.and_then(|document| held(&document.source));
            let (url, what) = match (action.as_str(), found) {
                // A copy in another index behind the alias.
                ("delete", _) if self.server.indices.values().any(|index| index.get(id).is_some()) => continue,
                ("delete", _) => {
                    let fetched_ms = item["_version"].as_u64().unwrap_or_default();
                    (id.to_owned(), Done::Removed { fetched_ms })
                }
                ("update", Some((url, held))) => (url, Done::Touched { fetched_ms: held.fetched_ms }),
                (_, Some((url, held))) => {
                    (url, Done::Delivered { fetched_ms: held.fetched_ms, digest: held.body_digest })
                }
                (_, None) => continue,
            };
            self.log.push(Change { at_ms, url, what });
        }
    }

    /// The operator makes room: writes go to a new index from now on. An index that has the name itself is put behind an alias of
    /// this name first.
    fn roll_over(&mut self, name: &str, now_ms: u64) {
        if let Some(index) = self.server.indices.remove(name) {
            let first = format!("{name}-000001");
            self.server.indices.insert(first.clone(), index);
            self.server.add_alias(&first, name, Some(true));
        }
        let count = self.server.behind(name).len();
        if count > 0 {
            let next = format!("{name}-{:06}", count + 1);
            let properties =
                self.server.indices.values().next().map(|index| index.properties.clone()).unwrap_or_default();
            self.server.create(&next, &json!({ "mappings": { "properties": properties } }), now_ms);
            self.server.add_alias(&next, name, Some(true));
        }
    }
}

fn held(source: &Value) -> Option<(String, Held)> {
    let document = ElasticDocument::deserialize(source).ok()?;
    let body_digest = document.digest.unwrap_or_default().into_owned();
    Some((document.url.into_owned(), Held { body_digest, fetched_ms: document.retrieved }))
}

/// The document that an operation of a bulk writes; none if it only deletes or asks.
fn document(operation: &[u8]) -> Option<(String, Held)> {
    let mut lines = operation.split(|byte| *byte == b'\n');
    let action: Value = serde_json::from_slice(lines.next()?).ok()?;
    action["index"]["version"].as_u64()?;
    held(&serde_json::from_slice(lines.next()?).ok()?)
}

fn name(method: Method) -> &'static str {
    match method {
        Method::Get => "GET",
        Method::Put => "PUT",
        Method::Post => "POST",
        Method::Delete => "DELETE",
        Method::Head => "HEAD",
    }
}

fn refusal(status: u16) -> Reply {
    let (kind, reason) = words(status);
    Reply::error(status, kind, reason)
}

fn words(status: u16) -> (&'static str, &'static str) {
    match status {
        400 => ("document_parsing_exception", "failed to parse field [text]"),
        401 => ("security_exception", "missing authentication credentials for REST request"),
        403 => ("cluster_block_exception", "index blocked by: [FORBIDDEN/8/index write (api)];"),
        429 => ("es_rejected_execution_exception", "rejected execution of coordinating operation"),
        _ => ("unavailable_shards_exception", "primary shard is not active"),
    }
}

fn refused_item(operation: &[u8], status: u16) -> Value {
    let (kind, reason) = words(status);
    let line = operation.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let action: Value = serde_json::from_slice(line).unwrap_or_default();
    let (name, meta) = action.as_object().and_then(|it| it.iter().next()).expect("an action");
    json!({ name: { "_id": meta["_id"], "status": status, "error": { "type": kind, "reason": reason } } })
}

/// Each operation of a bulk with the lines that belong to it.
fn split(body: &Bytes) -> Vec<Bytes> {
    let mut operations = Vec::new();
    let mut lines = body.split_inclusive(|byte| *byte == b'\n');
    while let Some(action) = lines.next() {
        let mut operation = action.to_vec();
        if !action.starts_with(b"{\"delete\"") {
            operation.extend_from_slice(lines.next().unwrap_or_default());
        }
        operations.push(operation.into());
    }
    operations
}
