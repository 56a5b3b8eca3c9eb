//! Lists which documents an index holds, for an audit. There is one document id per page.

use std::collections::HashSet;

use bytes::Bytes;
use elasticsearch::http::Method;
use seine_formats::elastic::document_id;
use serde::Deserialize;
use serde_json::json;
use tokio::runtime::Runtime;

use super::client::{Client, JSON, NoAnswer, ServerReply, other};
use crate::config::ElasticConfig;
use crate::sinks::sink::SinkError;

/// Number of ids per request. Each has at most 512 bytes.
pub(crate) const AT_ONCE: usize = 200;
/// Number of documents per answer when all are listed.
const PAGE: usize = 1000;
/// How long the server keeps a scroll between two requests.
const KEPT: &str = "5m";
const REMEDY: &str = "start the server, or correct target_storage.data_format.elasticsearch";

/// Reads one index, or all indices behind an alias.
pub(crate) struct IndexReader {
    runtime: Runtime,
    client: Client,
    index: String,
}

#[derive(Deserialize)]
struct Found {
    #[serde(rename = "_scroll_id")]
    scroll_id: Option<String>,
    hits: Hits,
}

#[derive(Deserialize)]
struct Hits {
    hits: Vec<Hit>,
}

#[derive(Deserialize)]
struct Hit {
    #[serde(rename = "_id")]
    id: String,
}

impl IndexReader {
    /// Also finds the documents written last, if the user may refresh the index.
    pub(crate) fn open(config: &ElasticConfig) -> Result<IndexReader, SinkError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime
            .map_err(|error| other(format!("no thread can be started: {error}"), "raise the limit of threads"))?;
        let reader = IndexReader { runtime, client: Client::new(config)?, index: config.index.clone() };
        reader.send(Method::Post, &format!("/{}/_refresh", reader.index), None)?;
        Ok(reader)
    }

    /// Which of these pages have a document; at most [`AT_ONCE`] pages.
    pub(crate) fn documents_of<'u>(&self, urls: &[&'u str]) -> Result<HashSet<&'u str>, SinkError> {
        let ids: Vec<_> = urls.iter().map(|url| document_id(url)).collect();
        // After a rollover of the alias, a document may be in several indices.
        let query = json!({ "size": AT_ONCE * 10, "_source": false, "query": { "ids": { "values": ids } } });
        let found = self.search(&format!("/{}/_search", self.index), query)?;
        let held: HashSet<String> = found.hits.hits.into_iter().map(|hit| hit.id).collect();
        Ok(urls.iter().copied().filter(|url| held.contains(&*document_id(url))).collect())
    }

    /// Visits the id of every document.
    pub(crate) fn visit(&self, visit: &mut dyn FnMut(&str) -> Result<(), SinkError>) -> Result<(), SinkError> {
        let query = json!({ "size": PAGE, "_source": false, "sort": ["_doc"] });
        let mut found = self.search(&format!("/{}/_search?scroll={KEPT}", self.index), query)?;
        loop {
            for hit in &found.hits.hits {
                visit(&hit.id)?;
            }
            let Some(scroll_id) = found.scroll_id.filter(|_| !found.hits.hits.is_empty()) else { return Ok(()) };
            found = self.search("/_search/scroll", json!({ "scroll": KEPT, "scroll_id": scroll_id }))?;
        }
    }

    fn search(&self, path: &str, query: serde_json::Value) -> Result<Found, SinkError> {
        let answer = self.send(Method::Post, path, Some((query.to_string().into(), JSON)))?;
        let found = serde_json::from_slice(&answer.body).ok().filter(|_| answer.is_success());
        found.ok_or_else(|| answer.denied().unwrap_or_else(|| other(answer.shown(), REMEDY)))
    }

    fn send(&self, method: Method, path: &str, body: Option<(Bytes, &'static str)>) -> Result<ServerReply, SinkError> {
        let unanswered = |why: NoAnswer| other(format!("no answer: {why}"), REMEDY);
        self.runtime.block_on(self.client.send(method, path, body)).map_err(unanswered)
    }
}
