//! An alias with several indices behind it, as after a rollover: bulks go to its write index alone, and older documents stay in the
//! others. So behind each document that is written or deleted, the sink deletes older ones of the same id in the other indices.
//!
//! A page that is as it was (304) stays where it is: it has one document.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use elasticsearch::http::Method;
use serde::Deserialize;
use serde_json::json;

use super::super::client::{Client, other};
use super::super::identity::IndexIdentity;
use super::super::index::NotReady;
use super::super::queue::{BulkDocument, BulkOutcome};
use super::{BulkFailure, BulkSender};
use crate::delivery::Entry;
use crate::formats::elastic::{document_id, document_version};
use crate::sinks::sink::SinkError;

#[derive(Deserialize)]
struct Aliased {
    aliases: BTreeMap<String, Alias>,
}

#[derive(Deserialize)]
struct Alias {
    is_write_index: Option<bool>,
}

/// The indices behind the alias that bulks do not go to; none where there is one index.
async fn others(client: &Client, name: &str, found: &IndexIdentity) -> Result<Vec<String>, NotReady> {
    if found.names().count() < 2 {
        return Ok(Vec::new());
    }
    let answer = client.send(Method::Get, &format!("/{name}/_alias"), None).await?;
    match answer.status {
        429 | 500.. => return Err(NotReady::Yet(answer.shown())),
        200 => {}
        _ => return Err(NotReady::Ever(cannot_tell(name, &answer.shown()))),
    }
    let aliased: BTreeMap<String, Aliased> = serde_json::from_slice(&answer.body).unwrap_or_default();
    let is_write_index = |index: &String| {
        aliased.get(index).and_then(|it| it.aliases.get(name)).is_some_and(|alias| alias.is_write_index == Some(true))
    };
    if aliased.keys().filter(|index| is_write_index(index)).count() != 1 {
        return Err(NotReady::Yet(format!(
            "{name} has several indices and no write index: mark one as its is_write_index"
        )));
    }
    Ok(aliased.keys().filter(|index| !is_write_index(index)).cloned().collect())
}

fn cannot_tell(name: &str, answer: &str) -> SinkError {
    other(
        format!("{name} has several indices, and which one is written to cannot be told: {answer}"),
        "give the user the right view_index_metadata, or leave one index behind the alias",
    )
}

impl BulkSender {
    /// True when the alias writes to another index than before, or has others behind it.
    pub(super) async fn looks_at_alias(&self, found: &IndexIdentity) -> Result<bool, NotReady> {
        let others = others(&self.client, &self.config.index, found).await?;
        if *self.others.lock() == others {
            return Ok(false);
        }
        tracing::warn!(
            alias = self.config.index,
            others = others.join(", "),
            "the alias writes to another index: older documents in its other indices are deleted as their pages are written again or go"
        );
        self.turns.fetch_add(1, Ordering::Relaxed);
        *self.others.lock() = others;
        Ok(true)
    }

    /// Which turn of the alias it is; none where one index is behind it.
    pub(super) async fn alias_turn(&self) -> Option<u64> {
        if self.others.lock().is_empty() {
            return None;
        }
        // Whoever writes next is told what is wrong.
        let _ = self.prepare().await;
        Some(self.turns.load(Ordering::Relaxed))
    }

    /// Deletes what the other indices behind the alias hold of pages that were written or deleted. `since`: the alias's turn before that.
    pub(super) async fn clean_up_behind(
        &self,
        entries: &[Arc<Entry>],
        outcome: &BulkOutcome,
        since: Option<u64>,
    ) -> Result<(), BulkFailure> {
        if self.others.lock().is_empty() {
            return Ok(());
        }
        // A document of the same fetch is a copy, unless it may be the one that was just written, to what was the write index then.
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
