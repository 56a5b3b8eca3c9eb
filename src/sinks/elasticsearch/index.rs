//! Creates a missing index with its mapping, and checks an existing one.

use bytes::Bytes;
use elasticsearch::http::Method;
use seine_formats::elastic_mapping::{Comparison, GC_DELETES, HeaderType, compare, fields, index_body, template_body};
use serde_json::{Value, json};

use super::client::{Client, JSON, NoAnswer, ServerReply, other};
use super::probe::remedy;
use crate::config::{ElasticConfig, parse_duration};
use crate::sinks::sink::SinkError;

/// Why the index is not ready.
pub(super) enum NotReady {
    /// It may be ready later.
    Temporary(String),
    /// Somebody must change something first.
    Permanent(SinkError),
}

impl From<NoAnswer> for NotReady {
    fn from(error: NoAnswer) -> NotReady {
        NotReady::Temporary(error.to_string())
    }
}

/// Checks or creates the index, and its template if one is configured. `with_deletes`: documents will be deleted.
pub(super) async fn prepare(client: &Client, config: &ElasticConfig, with_deletes: bool) -> Result<(), NotReady> {
    let index = config.index.as_str();
    if config.index_template {
        put_template(client, index).await?;
    }
    let answer = client.send(Method::Get, &format!("/{index}/_mapping"), None).await?;
    match answer.status {
        200 => {
            check(client, index, &answer).await?;
            if with_deletes { check_deletes(client, index).await } else { Ok(()) }
        }
        404 => create(client, index).await,
        _ => Err(unexpected(&answer, "reading the index's mapping")),
    }
}

/// The number of documents in the index, including the last ones.
pub(super) async fn count(client: &Client, index: &str) -> Result<u64, SinkError> {
    let remedy = "start the server, or correct target_storage.data_format.elasticsearch";
    let unanswered = |why: NoAnswer| other(format!("no answer: {why}"), remedy);
    // A refresh makes the last documents visible. Without the right to refresh they become visible soon anyway.
    client.send(Method::Post, &format!("/{index}/_refresh"), None).await.map_err(unanswered)?;
    let answer = client.send(Method::Get, &format!("/{index}/_count"), None).await.map_err(unanswered)?;
    let counted = serde_json::from_slice::<Value>(&answer.body).ok().and_then(|answer| answer["count"].as_u64());
    match counted.filter(|_| answer.is_success()) {
        Some(count) => Ok(count),
        None => Err(answer.denied().unwrap_or_else(|| other(answer.shown(), remedy))),
    }
}

/// The same without the last documents; none if the server does not tell, or not of all shards.
pub(super) async fn count_of(client: &Client, index: &str) -> Option<u64> {
    let answer = client.send(Method::Get, &format!("/{index}/_count"), None).await.ok()?;
    let counted: Value = serde_json::from_slice(&answer.body).ok()?;
    counted["count"].as_u64().filter(|_| answer.is_success() && counted["_shards"]["failed"] == 0)
}

async fn create(client: &Client, index: &str) -> Result<(), NotReady> {
    let answer = put_mapped(client, &format!("/{index}"), index_body).await?;
    if answer.is_success() {
        tracing::info!(index, "index created");
        return Ok(());
    }
    if has_text(&answer, "resource_already_exists_exception") {
        return Err(NotReady::Temporary("somebody else created the index just now".into()));
    }
    Err(unexpected(&answer, "creating the index"))
}

/// Checks the mapping of an index, or of all indices behind an alias.
async fn check(client: &Client, index: &str, answer: &ServerReply) -> Result<(), NotReady> {
    let found: Value = serde_json::from_slice(&answer.body).map_err(|_| unexpected(answer, "reading its mapping"))?;
    // Only the indices behind a data stream have such names.
    if found.as_object().is_some_and(|indices| indices.keys().any(|name| name.starts_with(".ds-"))) {
        return Err(NotReady::Permanent(other(format!("{index} is a data stream"), remedy("data stream"))));
    }
    let mut missing = Vec::new();
    let mut conflicts = Vec::new();
    for (name, described) in found.as_object().into_iter().flatten() {
        let of_it: Comparison = compare(described.get("mappings").unwrap_or(&Value::Null));
        let on = |conflict: String| if name == index { conflict } else { format!("{conflict} (in {name})") };
        conflicts.extend(of_it.conflicts.into_iter().map(on));
        missing.extend(of_it.missing);
        if of_it.headers_are_fields {
            tracing::warn!(
                index = name,
                "the index has a field for every name in responseHeaders; an index created by Seine would not"
            );
        }
    }
    if !conflicts.is_empty() {
        let problem = format!("the mapping of index {index} does not fit its documents: {}", conflicts.join("; "));
        let remedy = "choose another index with -e or index_name, or reindex into one that Seine creates";
        return Err(NotReady::Permanent(other(problem, remedy)));
    }
    if missing.is_empty() { Ok(()) } else { add_fields(client, index, &missing).await }
}

/// Warns if the index, or one behind the alias, remembers deletions for a shorter time than the index that Seine
/// creates. Skipped if the user may not read the settings.
async fn check_deletes(client: &Client, index: &str) -> Result<(), NotReady> {
    let path = format!("/{index}/_settings/index.gc_deletes,index.uuid?flat_settings=true");
    let answer = client.send(Method::Get, &path, None).await?;
    let found: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let wanted = parse_duration(GC_DELETES);
    for (name, described) in found.as_object().into_iter().flatten().filter(|_| answer.is_success()) {
        let given = described["settings"]["index.gc_deletes"].as_str().unwrap_or("60s");
        if parse_duration(given).is_ok_and(|given| wanted.as_ref().is_ok_and(|wanted| given < *wanted)) {
            tracing::warn!(
                index = name,
                "index.gc_deletes is {given}: a page older than its deletion that arrives later than that would come \
                 back; PUT /{name}/_settings {{\"index.gc_deletes\": \"{GC_DELETES}\"}} fixes it"
            );
        }
    }
    Ok(())
}

async fn add_fields(client: &Client, index: &str, missing: &[String]) -> Result<(), NotReady> {
    let body = |headers: HeaderType| {
        let mut fields = fields(headers);
        fields.retain(|name, _| missing.contains(name));
        json!({ "properties": fields })
    };
    let answer = put_mapped(client, &format!("/{index}/_mapping"), body).await?;
    if answer.is_success() {
        tracing::info!(index, fields = missing.join(", "), "fields added to the index");
        return Ok(());
    }
    Err(unexpected(&answer, "adding fields to the index"))
}

/// A server that refuses the template can still be used.
async fn put_template(client: &Client, index: &str) -> Result<(), NotReady> {
    let path = format!("/_index_template/seine-{index}");
    let answer = put_mapped(client, &path, |headers| template_body(index, headers)).await?;
    match answer.status {
        200..300 => {}
        401 => return Err(unexpected(&answer, "creating the index template")),
        429 | 500.. => return Err(NotReady::Temporary(answer.shown())),
        _ => tracing::warn!(
            answer = answer.shown(),
            "no index template: if the index is deleted, the server would recreate it with a mapping that it guesses; \
             target_storage.data_format.elasticsearch.index_template: false turns the template off"
        ),
    }
    Ok(())
}

/// Sends a body with a mapping of the response headers. Tries each way of mapping until the server accepts one.
async fn put_mapped(client: &Client, path: &str, body: impl Fn(HeaderType) -> Value) -> Result<ServerReply, NoAnswer> {
    let mut last = None;
    for headers in HeaderType::ALL {
        let json = Bytes::from(body(headers).to_string());
        let answer = client.send(Method::Put, path, Some((json, JSON))).await?;
        let lacks_type = answer.status == 400 && has_text(&answer, &format!("type [{}]", headers.name()));
        if !lacks_type {
            return Ok(answer);
        }
        last = Some(answer);
    }
    last.ok_or_else(|| NoAnswer::Broken("no mapping was tried".into()))
}

fn has_text(answer: &ServerReply, text: &str) -> bool {
    memchr::memmem::find(&answer.body, text.as_bytes()).is_some()
}

fn unexpected(answer: &ServerReply, doing: &str) -> NotReady {
    if let Some(denied) = answer.denied() {
        return NotReady::Permanent(denied);
    }
    match answer.status {
        429 | 500.. => NotReady::Temporary(answer.shown()),
        400 => NotReady::Permanent(other(format!("{doing}: {}", answer.shown()), remedy(&answer.shown()))),
        _ => NotReady::Permanent(other(
            format!("{doing}: {}", answer.shown()),
            "check that target_storage.data_format.elasticsearch.rest.hosts are Elasticsearch 7 or newer, or OpenSearch",
        )),
    }
}
