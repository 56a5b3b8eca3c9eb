//! Reads the server's answer to a bulk, and for each document.

use std::collections::HashMap;

use serde::Deserialize;

use super::client::{ServerReply, cut};

/// For a 429: whether the request is larger than the node ever takes, even when idle. The node says so with `…
/// operation_bytes=N, max_…_bytes=M`.
pub(super) fn is_over_the_limit(answer: &ServerReply) -> bool {
    let text = String::from_utf8_lossy(&answer.body);
    let number_behind = |text: &str| {
        let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u64>().ok()
    };
    let needed = text.split_once("operation_bytes=").and_then(|(_, rest)| number_behind(rest));
    let most = text.split_once("max_").and_then(|(_, rest)| number_behind(rest.split_once('=')?.1));
    needed.zip(most).is_some_and(|(needed, most)| needed > most)
}

#[derive(Deserialize)]
pub(super) struct BulkAnswer {
    /// One per document, in order, each keyed by the action's name.
    items: Vec<HashMap<String, ItemAnswer>>,
}

impl BulkAnswer {
    pub(super) fn into_items(self) -> impl Iterator<Item = ItemAnswer> {
        self.items.into_iter().flat_map(HashMap::into_values)
    }
}

#[derive(Deserialize)]
pub(super) struct ItemAnswer {
    pub status: u16,
    error: Option<ItemError>,
}

#[derive(Deserialize)]
struct ItemError {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    reason: Option<String>,
    caused_by: Option<serde_json::Value>,
}

pub(super) enum DocumentVerdict {
    Written,
    Refused(String),
    /// The server failed, at this document only or at all of them.
    Failed(String),
    Later(String),
}

impl ItemAnswer {
    /// The document was written, or another version exists.
    pub(super) fn is_there(&self) -> bool {
        matches!(self.status, 200..300 | 409)
    }

    /// There is no document to delete or to update.
    pub(super) fn has_no_document(&self) -> bool {
        let is_said = |error: &ItemError| error.kind == "document_missing_exception";
        self.status == 404 && self.error.as_ref().is_none_or(is_said)
    }

    pub(super) fn judge(self) -> DocumentVerdict {
        let shown = self.shown();
        match self.status {
            _ if self.is_there() || self.has_no_document() => DocumentVerdict::Written,
            400 if self.is_about_the_index() => DocumentVerdict::Later(shown),
            400 | 413 => DocumentVerdict::Refused(shown),
            500..600 => DocumentVerdict::Failed(shown),
            // 429: too busy; 403 and 404: the index is blocked or missing, which an operator may fix.
            _ => DocumentVerdict::Later(shown),
        }
    }

    /// Whether the reason applies to every document.
    fn is_about_the_index(&self) -> bool {
        self.error.as_ref().is_some_and(|error| {
            matches!(error.kind.as_str(), "index_closed_exception" | "invalid_index_name_exception")
                || error.reason.as_deref().is_some_and(|reason| reason.contains("no write index"))
        })
    }

    pub(super) fn shown(&self) -> String {
        let Some(error) = &self.error else { return self.status.to_string() };
        let reason = cut(error.reason.as_deref().unwrap_or_default());
        let cause = error.caused_by.as_ref().map(|cause| format!("; caused by {cause}")).unwrap_or_default();
        format!("{} {}: {reason}{}", self.status, error.kind, cut(&cause))
    }
}
