//! Updates `retrieved` in the documents of pages that were unchanged (304).
//!
//! An update cannot have an external version. It adds 1 to the document's version, which is one millisecond. Later
//! fetches still have a higher version, and older ones a lower. But an update could set an older time in a newer
//! document. So the sink reads the documents first, and updates only the older ones, if nobody has changed them in
//! between. A missing document stays missing, since a 304 has no page.
//!
//! A server does not read documents through an alias of several indices. Then the sink looks for each document in all of
//! them, and updates it where it is; in the write index, if that has one.

use std::collections::HashSet;
use std::sync::Arc;

use elasticsearch::http::Method;
use seine_delivery::Entry;
use seine_formats::elastic::{ElasticDocument, document_id, write_touch};
use serde::Deserialize;
use serde_json::{Value, json};

use super::client::{Client, JSON};
use super::queue::BulkDocument;

#[derive(Deserialize)]
struct Documents {
    docs: Vec<Document>,
}

/// A document in the answer of `_mget`.
#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    found: bool,
    /// Set if the document could not be read.
    error: Option<Value>,
    #[serde(rename = "_seq_no")]
    seq_no: Option<u64>,
    #[serde(rename = "_primary_term")]
    primary_term: Option<u64>,
    #[serde(rename = "_source", default)]
    source: Value,
}

/// The updates needed, at most one for each touch. `behind`: the indices behind the alias `index`, the write index
/// first, if there are several; otherwise empty. An error tells why the server cannot answer now.
pub(super) async fn updates(
    client: &Client,
    index: &str,
    behind: &[String],
    touches: &[Arc<Entry>],
) -> Result<Vec<BulkDocument>, String> {
    // For each URL only the last touch counts.
    let mut urls = HashSet::new();
    let touches: Vec<&Arc<Entry>> = touches.iter().rev().filter(|entry| urls.insert(&entry.event.url)).collect();
    let ids = touches.iter().map(|entry| document_id(&entry.event.url));
    let path = format!("/{index}/_mget?_source_includes=url,retrieved");
    let body = match behind {
        [] => json!({ "ids": ids.collect::<Vec<_>>() }),
        _ => {
            let everywhere = ids.flat_map(|id| behind.iter().map(move |index| json!({ "_index": index, "_id": id })));
            json!({ "docs": everywhere.collect::<Vec<_>>() })
        }
    };
    let answer = client.send(Method::Post, &path, Some((body.to_string().into(), JSON))).await;
    let answer = answer.map_err(|why| why.to_string())?;
    // A user who may write but not read updates without this check.
    if answer.status == 403 {
        return Ok(touches.into_iter().map(|entry| update(entry, None, None)).collect());
    }
    let each = behind.len().max(1);
    let documents = serde_json::from_slice::<Documents>(&answer.body).ok().filter(|_| answer.is_success());
    let documents = documents.filter(|found| found.docs.len() == touches.len() * each).ok_or_else(|| answer.shown())?;
    let needed = |(entry, documents): (&Arc<Entry>, &[Document])| {
        let first = (0..each).find(|at| documents[*at].found);
        let at = first.or_else(|| (0..each).find(|at| documents[*at].error.is_some()))?;
        let document = &documents[at];
        (document.error.is_some() || document.retrieved() < entry.event.ended_ms)
            .then(|| update(entry, behind.get(at), document.seq_no.zip(document.primary_term)))
    };
    Ok(touches.into_iter().zip(documents.docs.chunks(each)).filter_map(needed).collect())
}

impl Document {
    fn retrieved(&self) -> u64 {
        ElasticDocument::deserialize(&self.source).map_or(0, |document| document.retrieved)
    }
}

/// `behind`: the index that has the document, if the alias has several. `as_seen`: sequence number and term of the document; it is not updated if these changed.
fn update(entry: &Arc<Entry>, behind: Option<&String>, as_seen: Option<(u64, u64)>) -> BulkDocument {
    let mut action = json!({ "_id": document_id(&entry.event.url) });
    if let Some(index) = behind {
        action["_index"] = index.as_str().into();
    }
    if let Some((seq_no, primary_term)) = as_seen {
        action["if_seq_no"] = seq_no.into();
        action["if_primary_term"] = primary_term.into();
    }
    let mut lines = format!("{}\n{{\"doc\":", json!({ "update": action })).into_bytes();
    write_touch(&entry.event, &mut lines);
    lines.extend_from_slice(b"}\n");
    BulkDocument { entry: entry.clone(), lines: lines.into() }
}
