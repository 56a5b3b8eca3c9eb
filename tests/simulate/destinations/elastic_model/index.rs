//! One index: documents, their versions, and the remembered versions of deleted ones.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::mapping::{self, Misfit};

/// The default of `index.refresh_interval`.
const REFRESH_MS: u64 = 1000;

/// One index of a server.
#[derive(Debug, Clone)]
pub struct Index {
    pub uuid: String,
    pub properties: Map<String, Value>,
    /// Flat names and their values.
    pub settings: BTreeMap<String, String>,
    documents: BTreeMap<String, Document>,
    deleted: BTreeMap<String, Deletion>,
    next_seq_no: u64,
    /// For documents written since the last refresh: the old state that searches still see; none: no document.
    unrefreshed: BTreeMap<String, Option<Document>>,
    refreshed_ms: u64,
}

#[derive(Debug, Clone)]
pub struct Document {
    pub version: u64,
    pub seq_no: u64,
    pub source: Value,
}

#[derive(Debug, Clone, Copy)]
struct Deletion {
    version: u64,
    at_ms: u64,
}

/// The condition of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// The document gets the next version.
    None,
    /// `version_type: external`.
    Newer(u64),
    /// `version_type: external_gte`.
    NotOlder(u64),
    /// `if_seq_no` and `if_primary_term`.
    As { seq_no: u64, term: u64 },
}

/// How an operation ended.
#[derive(Debug)]
pub enum Done {
    Created {
        version: u64,
        seq_no: u64,
    },
    Updated {
        version: u64,
        seq_no: u64,
    },
    Deleted {
        version: u64,
        seq_no: u64,
    },
    NotFound {
        version: u64,
        seq_no: u64,
    },
    Noop {
        version: u64,
        seq_no: u64,
    },
    Conflict(String),
    /// An update of a missing document.
    Missing,
    Misfit(Misfit),
}

impl Index {
    pub fn new(uuid: String, properties: Map<String, Value>, settings: BTreeMap<String, String>, now_ms: u64) -> Index {
        Index {
            uuid,
            properties,
            settings,
            documents: BTreeMap::new(),
            deleted: BTreeMap::new(),
            next_seq_no: 0,
            unrefreshed: BTreeMap::new(),
            refreshed_ms: now_ms,
        }
    }

    /// How long a deletion's version is remembered.
    fn gc_deletes_ms(&self) -> u64 {
        self.settings.get("index.gc_deletes").and_then(|text| millis(text)).unwrap_or(60_000)
    }

    /// Why no operation is possible: status, type and reason.
    pub fn block(&self, name: &str) -> Option<(u16, &'static str, String)> {
        let is_set = |block: &str| self.settings.get(&format!("index.blocks.{block}")).is_some_and(|it| it == "true");
        let blocked = |status: u16, what: &str| {
            Some((status, "cluster_block_exception", format!("index [{name}] blocked by: [{what}];")))
        };
        if is_set("read_only_allow_delete") {
            let what = "TOO_MANY_REQUESTS/12/disk usage exceeded flood-stage watermark, index has read-only-allow-delete block";
            return blocked(429, what);
        }
        if is_set("read_only") {
            return blocked(403, "FORBIDDEN/5/index read-only (api)");
        }
        if is_set("write") {
            return blocked(403, "FORBIDDEN/8/index write (api)");
        }
        None
    }

    pub fn get(&self, id: &str) -> Option<&Document> {
        self.documents.get(id)
    }

    /// As a search sees it.
    pub fn refreshed(&mut self, now_ms: u64) -> BTreeMap<&String, &Document> {
        if now_ms >= self.refreshed_ms + REFRESH_MS {
            self.refresh(now_ms);
        }
        let mut seen: BTreeMap<&String, &Document> = self.documents.iter().collect();
        for (id, before) in &self.unrefreshed {
            match before {
                Some(before) => _ = seen.insert(id, before),
                None => _ = seen.remove(id),
            }
        }
        seen
    }

    /// Number of documents that a search sees.
    pub fn count(&mut self, now_ms: u64) -> usize {
        if now_ms >= self.refreshed_ms + REFRESH_MS {
            self.refresh(now_ms);
        }
        let is_added = |id: &&String| self.documents.contains_key(*id);
        let unseen = self.unrefreshed.iter().filter(|(id, before)| before.is_none() && is_added(id)).count();
        let still_seen = self.unrefreshed.iter().filter(|(id, before)| before.is_some() && !is_added(id)).count();
        self.documents.len() - unseen + still_seen
    }

    pub fn refresh(&mut self, now_ms: u64) {
        self.unrefreshed.clear();
        self.refreshed_ms = now_ms;
    }

    /// Deletes all documents as if by hand, one by one. No version of them is remembered.
    pub fn clear(&mut self) {
        self.documents.clear();
        self.deleted.clear();
        self.unrefreshed.clear();
    }

    /// As after a restart of the node, or when `gc_deletes` has passed.
    pub fn forget_deletions(&mut self) {
        self.deleted.clear();
    }

    pub fn documents(&self) -> impl Iterator<Item = (&String, &Document)> {
        self.documents.iter()
    }

    pub fn index(&mut self, id: &str, source: Value, condition: Condition, now_ms: u64) -> Done {
        if let Err(misfit) = mapping::take(&mut self.properties, &source) {
            return Done::Misfit(misfit);
        }
        let version = match self.next_version(id, condition, now_ms) {
            Ok(version) => version,
            Err(conflict) => return Done::Conflict(conflict),
        };
        let seq_no = self.take_seq_no();
        self.remember(id);
        self.deleted.remove(id);
        match self.documents.insert(id.to_owned(), Document { version, seq_no, source }) {
            Some(_) => Done::Updated { version, seq_no },
            None => Done::Created { version, seq_no },
        }
    }

    pub fn delete(&mut self, id: &str, condition: Condition, now_ms: u64) -> Done {
        let version = match self.next_version(id, condition, now_ms) {
            Ok(version) => version,
            Err(conflict) => return Done::Conflict(conflict),
        };
        let seq_no = self.take_seq_no();
        self.remember(id);
        self.deleted.insert(id.to_owned(), Deletion { version, at_ms: now_ms });
        match self.documents.remove(id) {
            Some(_) => Done::Deleted { version, seq_no },
            None => Done::NotFound { version, seq_no },
        }
    }

    pub fn update(&mut self, id: &str, part: &Value, condition: Condition, now_ms: u64) -> Done {
        let Some(document) = self.documents.get(id) else { return Done::Missing };
        if let Condition::As { seq_no, term } = condition
            && let Some(conflict) = self.is_another(id, seq_no, term)
        {
            return Done::Conflict(conflict);
        }
        let mut source = document.source.clone();
        if !merge(&mut source, part) {
            return Done::Noop { version: document.version, seq_no: document.seq_no };
        }
        let (version, seq_no) = (document.version, document.seq_no);
        match self.index(id, source, Condition::None, now_ms) {
            Done::Conflict(_) => Done::Noop { version, seq_no },
            done => done,
        }
    }

    fn take_seq_no(&mut self) -> u64 {
        self.next_seq_no += 1;
        self.next_seq_no - 1
    }

    /// Remembers the state of a document that searches see until the next refresh.
    fn remember(&mut self, id: &str) {
        let before = || self.documents.get(id).cloned();
        if !self.unrefreshed.contains_key(id) {
            let before = before();
            self.unrefreshed.insert(id.to_owned(), before);
        }
    }

    /// The known version: that of the document, or that of its deletion as long as the index remembers it.
    fn known_version(&self, id: &str, now_ms: u64) -> Option<u64> {
        let deleted = || {
            let deletion = self.deleted.get(id)?;
            (now_ms.saturating_sub(deletion.at_ms) <= self.gc_deletes_ms()).then_some(deletion.version)
        };
        self.documents.get(id).map(|document| document.version).or_else(deleted)
    }

    fn next_version(&self, id: &str, condition: Condition, now_ms: u64) -> Result<u64, String> {
        let known = self.known_version(id, now_ms);
        match condition {
            Condition::Newer(version) => match known {
                Some(known) if version <= known => Err(format!(
                    "[{id}]: version conflict, current version [{known}] is higher or equal to the one provided [{version}]"
                )),
                _ => Ok(version),
            },
            Condition::NotOlder(version) => match known {
                Some(known) if version < known => Err(format!(
                    "[{id}]: version conflict, current version [{known}] is higher than the one provided [{version}]"
                )),
                _ => Ok(version),
            },
            Condition::As { seq_no, term } => match self.is_another(id, seq_no, term) {
                Some(conflict) => Err(conflict),
                None => Ok(known.unwrap_or_default() + 1),
            },
            Condition::None => Ok(known.unwrap_or_default() + 1),
        }
    }

    fn is_another(&self, id: &str, seq_no: u64, term: u64) -> Option<String> {
        let wanted = format!("[{id}]: version conflict, required seqNo [{seq_no}], primary term [{term}].");
        match self.documents.get(id) {
            None => Some(format!("{wanted} but no document was found")),
            Some(document) if document.seq_no != seq_no || term != 1 => {
                Some(format!("{wanted} current document has seqNo [{}] and primary term [1]", document.seq_no))
            }
            Some(_) => None,
        }
    }

    pub fn settings_shown(&self, name: &str) -> Map<String, Value> {
        let mut shown: Map<String, Value> =
            self.settings.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        shown.insert("index.uuid".into(), json!(self.uuid));
        shown.insert("index.provided_name".into(), json!(name));
        shown
    }
}

/// Merges a partial document into a document; false if this changes nothing.
fn merge(into: &mut Value, part: &Value) -> bool {
    match (into, part) {
        (Value::Object(into), Value::Object(part)) => {
            let mut changed = false;
            for (name, value) in part {
                changed |= match into.get_mut(name) {
                    Some(known) if known.is_object() && value.is_object() => merge(known, value),
                    Some(known) if known == value => false,
                    _ => {
                        into.insert(name.clone(), value.clone());
                        true
                    }
                };
            }
            changed
        }
        (into, part) => {
            let changed = into != part;
            *into = part.clone();
            changed
        }
    }
}

/// A time as settings have it.
fn millis(text: &str) -> Option<u64> {
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let number: u64 = number.parse().ok()?;
    Some(match unit {
        "ms" | "" => number,
        "s" => number * 1000,
        "m" => number * 60_000,
        "h" => number * 3_600_000,
        "d" => number * 86_400_000,
        _ => return None,
    })
}
