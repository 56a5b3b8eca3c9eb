//! Handles an alias with several indices, as after a rollover. Bulks go only to its write index, and older documents
//! stay in the other indices. So after writing or deleting a document, the sink deletes older documents of the same id
//! from the other indices.
//!
//! An unchanged page (304) keeps its one document where it is, with a new time.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use elasticsearch::http::Method;
use seine_delivery::Entry;
use seine_formats::elastic::{document_id, document_version};
use serde::Deserialize;
use serde_json::json;

use super::super::client::{Client, other};
use super::super::identity::IndexIdentity;
use super::super::index::NotReady;
use super::super::queue::{BulkDocument, BulkOutcome};
use super::{BulkFailure, BulkSender};
use crate::sinks::sink::SinkError;

#[derive(Deserialize)]
struct Aliased {
    aliases: BTreeMap<String, Alias>,
}

#[derive(Deserialize)]
struct Alias {
    is_write_index: Option<bool>,
}

/// The indices behind the alias other than its write index; empty if there is only one.
async fn others(client: &Client, name: &str, found: &IndexIdentity) -> Result<Vec<String>, NotReady> {
    if found.names().count() < 2 {
        return Ok(Vec::new());
    }
    let answer = client.send(Method::Get, &format!("/{name}/_alias"), None).await?;
    match answer.status {
        429 | 500.. => return Err(NotReady::Temporary(answer.shown())),
        200 => {}
        _ => return Err(NotReady::Permanent(cannot_tell(name, &answer.shown()))),
    }
    let aliased: BTreeMap<String, Aliased> = serde_json::from_slice(&answer.body).unwrap_or_default();
    let is_write_index = |index: &String| {
        aliased.get(index).and_then(|it| it.aliases.get(name)).is_some_and(|alias| alias.is_write_index == Some(true))
    };
    if aliased.keys().filter(|index| is_write_index(index)).count() != 1 {
        return Err(NotReady::Temporary(format!(
            "{name} has several indices and no write index: mark one as its is_write_index"
        )));
    }
    Ok(aliased.keys().filter(|index| !is_write_index(index)).cloned().collect())
}

fn cannot_tell(name: &str, answer: &str) -> SinkError {
    other(
        format!("{name} has several indices, and it is unknown which one is written to: {answer}"),
        "give the user the right view_index_metadata, or leave one index behind the alias",
    )
}

impl BulkSender {
    /// Returns true if the alias has a new write index, or other indices behind it.
    pub(super) async fn checks_alias(&self, found: &IndexIdentity) -> Result<bool, NotReady> {
        let others = others(&self.client, &self.config.index, found).await?;
        if *self.others.lock() == others {
            return Ok(false);
        }
        tracing::warn!(
            alias = self.config.index,
            others = others.join(", "),
            "the alias has a new write index: older documents in its other indices are deleted when their pages are written again or are gone"
        );
        self.turns.fetch_add(1, Ordering::Relaxed);
        *self.others.lock() = others;
        Ok(true)
    }

    /// All indices behind the alias, the write index first; empty if there is only one.
    pub(super) fn indices_behind_alias(&self) -> Vec<String> {
        let others = self.others.lock().clone();
        let (false, Some(known)) = (others.is_empty(), self.known.lock().clone()) else { return Vec::new() };
        known.names().filter(|name| !others.contains(name)).chain(&others).cloned().collect()
    }

    /// The number of alias changes so far; none if there is only one index.
    pub(super) async fn alias_turn(&self) -> Option<u64> {
        if self.others.lock().is_empty() {
            return None;
        }
        // The next write reports any error.
        let _ = self.prepare().await;
        Some(self.turns.load(Ordering::Relaxed))
    }

    /// Deletes the documents of written or deleted pages from the other indices. `since` is the number of alias changes
    /// before the write.
    pub(super) async fn clean_up_behind(
        &self,
        entries: &[Arc<Entry>],
        outcome: &BulkOutcome,
        since: Option<u64>,
    ) -> Result<(), BulkFailure> {
        if self.others.lock().is_empty() {
            return Ok(());
        }
        // Another index may have a document of the same fetch. It is a copy and is deleted, unless the alias changed:
        // then it may be the one just written.
        let is_same_turn = since.is_some() && self.alias_turn().await == since;
        let others = self.others.lock().clone();
        let dead: HashSet<&str> = outcome.dead.iter().map(|(entry, _)| entry.event.id.as_str()).collect();
        let written = entries.iter().filter(|entry| !dead.contains(entry.event.id.as_str()));
        let version_type = if is_same_turn { "external_gte" } else { "external" };
        let cleaned = self.push_all(deletions(written, &others, version_type)).await?;
        for (entry, reason) in cleaned.dead {
            tracing::warn!(url = entry.event.url, reason, "an older document stays in another index behind the alias");
        }
        Ok(())
    }
}

fn deletions<'a>(
    entries: impl Iterator<Item = &'a Arc<Entry>> + Clone,
    others: &[String],
    version_type: &str,
) -> Vec<BulkDocument> {
    let deletion = |index: &String, entry: &Arc<Entry>| {
        let (id, version) = (document_id(&entry.event.url), document_version(&entry.event));
        let action =
            json!({ "delete": { "_index": index, "_id": id, "version": version, "version_type": version_type } });
        BulkDocument { entry: entry.clone(), lines: format!("{action}\n").into() }
    };
    let deletion = &deletion;
    others.iter().flat_map(|index| entries.clone().map(move |entry| deletion(index, entry))).collect()
}
