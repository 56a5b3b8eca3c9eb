//! Pages that are as they were, and of which nothing came but that (304): `retrieved` of their documents is brought up to date.
//!
//! An update takes no external version. It adds 1 to the document's, one millisecond, so that every later fetch still has a
//! higher one and every older a lower. But it would set an older time in a newer document: so the documents are looked at first,
//! and those that are older are updated if nobody has changed them meanwhile. One that is not there stays so: a 304 has no page.

use std::collections::HashSet;
use std::sync::Arc;

use elasticsearch::http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::client::{Client, JSON};
use super::queue::BulkDocument;
use crate::delivery::Entry;
use crate::formats::elastic::{ElasticDocument, document_id, write_touch};

#[derive(Deserialize)]
struct Documents {
    docs: Vec<Document>,
}

/// As `_mget` shows it.
#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    found: bool,
    /// It could not be looked at.
    error: Option<Value>,
    #[serde(rename = "_seq_no")]
    seq_no: Option<u64>,
    #[serde(rename = "_primary_term")]
    primary_term: Option<u64>,
    #[serde(rename = "_source", default)]
    source: Value,
}

/// The updates that are needed; an error says why the server cannot tell now.
pub(super) async fn updates(client: &Client, index: &str, touches: &[Arc<Entry>]) -> Result<Vec<BulkDocument>, String> {
    // Of one URL the last.
    let mut urls = HashSet::new();
    let touches: Vec<&Arc<Entry>> = touches.iter().rev().filter(|entry| urls.insert(&entry.event.url)).collect();
    let ids: Vec<_> = touches.iter().map(|entry| document_id(&entry.event.url)).collect();
    let path = format!("/{index}/_mget?_source_includes=url,retrieved");
    let body = json!({ "ids": ids }).to_string();
    let answer = client.send(Method::Post, &path, Some((body.into(), JSON))).await;
    let answer = answer.map_err(|why| why.to_string())?;
    // Who may write and not read touches unseen.
    if answer.status == 403 {
        return Ok(touches.into_iter().map(|entry| update(entry, None)).collect());
    }
    let documents = serde_json::from_slice::<Documents>(&answer.body).ok().filter(|_| answer.is_success());
    let documents = documents.filter(|found| found.docs.len() == touches.len()).ok_or_else(|| answer.shown())?;
    let needed = |(entry, document): (&Arc<Entry>, Document)| {
        (document.error.is_some() || document.is_older(entry))
            .then(|| update(entry, document.seq_no.zip(document.primary_term)))
    };
    Ok(touches.into_iter().zip(documents.docs).filter_map(needed).collect())
}

impl Document {
    fn is_older(&self, touch: &Entry) -> bool {
        let retrieved = ElasticDocument::deserialize(&self.source).map_or(0, |document| document.retrieved);
        self.found && retrieved < touch.event.ended_ms
    }
}

/// `as_seen`: where the document stood; it is left alone if it has changed since.
fn update(entry: &Arc<Entry>, as_seen: Option<(u64, u64)>) -> BulkDocument {
    let mut action = json!({ "_id": document_id(&entry.event.url) });
    if let Some((seq_no, primary_term)) = as_seen {
        action["if_seq_no"] = seq_no.into();
        action["if_primary_term"] = primary_term.into();
    }
    let mut lines = format!("{}\n{{\"doc\":", json!({ "update": action })).into_bytes();
    write_touch(&entry.event, &mut lines);
    lines.extend_from_slice(b"}\n");
    BulkDocument { entry: entry.clone(), lines: lines.into() }
}
