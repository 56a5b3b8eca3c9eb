//! `_bulk`: operations one by one, each with a verdict of its own.

use serde_json::{Map, Value, json};

use super::index::{Condition, Done, Index};
use super::server::{Reply, Server, Target};

/// Elasticsearch refuses longer ids, in bytes.
const LONGEST_ID: usize = 512;

/// One operation.
#[derive(Debug)]
struct Operation {
    name: String,
    index: String,
    id: String,
    condition: Condition,
    source: Value,
}

impl Operation {
    /// For deletions: only those with a version.
    fn makes_index(&self) -> bool {
        self.name != "delete" || matches!(self.condition, Condition::Newer(_) | Condition::NotOlder(_))
    }
}

impl Server {
    pub(super) fn bulk(&mut self, default_index: Option<&str>, body: &[u8], now_ms: u64) -> Reply {
        let operations = match parse(default_index, body, &mut fastrand::Rng::with_seed(now_ms)) {
            Ok(operations) => operations,
            Err(reply) => return reply,
        };
        // Checked for all operations before any is executed.
        for operation in operations.iter().filter(|operation| operation.makes_index()) {
            if let Target::Nothing = self.write_target(&operation.index) {
                self.create_by_itself(&operation.index, now_ms);
            }
        }
        let items: Vec<Value> = operations.into_iter().map(|operation| self.operate(operation, now_ms)).collect();
        let errors =
            items.iter().any(|item| item.as_object().is_some_and(|it| it.values().any(|it| it["error"].is_object())));
        Reply::ok(json!({ "took": 1, "errors": errors, "items": items }))
    }

    fn operate(&mut self, operation: Operation, now_ms: u64) -> Value {
        let verdict = self.verdict(&operation, now_ms);
        let mut item = Map::new();
        item.insert(operation.name, verdict);
        Value::Object(item)
    }

    fn verdict(&mut self, operation: &Operation, now_ms: u64) -> Value {
        let Operation { name, index, id, condition, source } = operation;
        let target = match self.write_target(index) {
            Target::Index(target) => target,
            Target::Nothing => {
                return failed(index, id, 404, "index_not_found_exception", &format!("no such index [{index}]"));
            }
            Target::Refused(reason) => return failed(index, id, 400, "illegal_argument_exception", &reason),
        };
        let Some(found) = self.indices.get_mut(&target) else {
            return failed(index, id, 404, "index_not_found_exception", &format!("no such index [{index}]"));
        };
        if let Some((status, kind, reason)) = found.block(&target) {
            return failed(&target, id, status, kind, &reason);
        }
        let done = do_it(found, name, id, source, *condition, now_ms);
        shown(&target, id, done)
    }
}

fn do_it(index: &mut Index, name: &str, id: &str, source: &Value, condition: Condition, now_ms: u64) -> Done {
    match name {
        "create" if index.get(id).is_some() => {
            Done::Conflict(format!("[{id}]: version conflict, document already exists (current version [1])"))
        }
        "delete" => index.delete(id, condition, now_ms),
        "update" => index.update(id, &source["doc"], condition, now_ms),
        _ => index.index(id, source.clone(), condition, now_ms),
    }
}

fn shown(index: &str, id: &str, done: Done) -> Value {
    let said = |result: &str, status: u16, version: u64, seq_no: u64| {
        json!({
            "_index": index, "_id": id, "_version": version, "result": result, "_seq_no": seq_no, "_primary_term": 1,
            "status": status,
        })
    };
    match done {
        Done::Created { version, seq_no } => said("created", 201, version, seq_no),
        Done::Updated { version, seq_no } => said("updated", 200, version, seq_no),
        Done::Deleted { version, seq_no } => said("deleted", 200, version, seq_no),
        Done::NotFound { version, seq_no } => said("not_found", 404, version, seq_no),
        Done::Noop { version, seq_no } => said("noop", 200, version, seq_no),
        Done::Conflict(reason) => failed(index, id, 409, "version_conflict_engine_exception", &reason),
        Done::Missing => failed(index, id, 404, "document_missing_exception", &format!("[{id}]: document missing")),
        Done::Misfit(misfit) => failed(index, id, 400, misfit.kind, &misfit.reason),
    }
}

fn failed(index: &str, id: &str, status: u16, kind: &str, reason: &str) -> Value {
    json!({ "_index": index, "_id": id, "status": status, "error": { "type": kind, "reason": reason } })
}

/// An error refuses the whole request; no operation is executed.
fn parse(default_index: Option<&str>, body: &[u8], random: &mut fastrand::Rng) -> Result<Vec<Operation>, Reply> {
    let malformed = |reason: &str| Err(Reply::error(400, "illegal_argument_exception", reason));
    if body.last() != Some(&b'\n') {
        return malformed("The bulk request must be terminated by a newline [\\n]");
    }
    let mut lines = body.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let mut operations = Vec::new();
    while let Some(line) = lines.next() {
        let Ok(action) = serde_json::from_slice::<Value>(line) else {
            return malformed("Malformed action/metadata line, expected START_OBJECT");
        };
        let Some((name, meta)) = action.as_object().and_then(|it| it.iter().next()) else {
            return malformed("Malformed action/metadata line, expected FIELD_NAME");
        };
        let source = match name.as_str() {
            "delete" => Value::Null,
            "index" | "create" | "update" => {
                let line = lines.next().unwrap_or_default();
                match serde_json::from_slice(line) {
                    Ok(source) => source,
                    Err(_) => return malformed("Malformed document"),
                }
            }
            _ => return malformed("Malformed action/metadata line, expected one of [create, delete, index, update]"),
        };
        let id = meta["_id"].as_str().map_or_else(|| (0..20).map(|_| random.alphanumeric()).collect(), str::to_owned);
        if id.len() > LONGEST_ID {
            let reason = format!(
                "Validation Failed: 1: id [{id}] is too long, must be no longer than 512 bytes but was: {};",
                id.len()
            );
            return Err(Reply::error(400, "action_request_validation_exception", reason));
        }
        let index = meta["_index"].as_str().or(default_index).unwrap_or_default().to_owned();
        operations.push(Operation { name: name.clone(), index, id, condition: condition(meta), source });
    }
    match operations.is_empty() {
        true => {
            Err(Reply::error(400, "action_request_validation_exception", "Validation Failed: 1: no requests added;"))
        }
        false => Ok(operations),
    }
}

fn condition(meta: &Value) -> Condition {
    let number = |name: &str| meta[name].as_u64();
    match (number("version"), meta["version_type"].as_str(), number("if_seq_no"), number("if_primary_term")) {
        (Some(version), Some("external"), ..) => Condition::Newer(version),
        (Some(version), Some("external_gte"), ..) => Condition::NotOlder(version),
        (_, _, Some(seq_no), Some(term)) => Condition::As { seq_no, term },
        _ => Condition::None,
    }
}
