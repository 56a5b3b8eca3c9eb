//! A server: its indices, aliases and templates.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::index::Index;
use super::mapping::shown;

/// A server with one node.
#[derive(Debug, Clone)]
pub struct Server {
    pub uuid: String,
    pub indices: BTreeMap<String, Index>,
    pub aliases: BTreeMap<String, Alias>,
    pub(super) templates: BTreeMap<String, Value>,
    /// `action.auto_create_index`.
    pub auto_create: bool,
    /// `http.max_content_length`.
    pub most_bytes: usize,
    random: fastrand::Rng,
}

#[derive(Debug, Clone, Default)]
pub struct Alias {
    pub indices: BTreeSet<String>,
    /// The index that writes go to.
    pub write: Option<String>,
    /// Indices that are declared not to be the write index.
    refused: BTreeSet<String>,
}

impl Alias {
    pub(super) fn remove(&mut self, index: &str) {
        self.indices.remove(index);
        self.refused.remove(index);
        self.write.take_if(|write| write == index);
    }

    /// The write index; none: there is no write index.
    fn writes_to(&self) -> Option<String> {
        let only = self.indices.first().filter(|only| self.indices.len() == 1 && !self.refused.contains(*only));
        self.write.clone().or_else(|| only.cloned())
    }

    /// `is_write_index` as a server shows it for an index.
    pub(super) fn said_of(&self, index: &str) -> Option<bool> {
        if self.write.as_deref() == Some(index) {
            return Some(true);
        }
        self.refused.contains(index).then_some(false)
    }
}

/// An answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    pub status: u16,
    pub body: Value,
}

impl Reply {
    pub fn ok(body: Value) -> Reply {
        Reply { status: 200, body }
    }

    pub fn error(status: u16, kind: &str, reason: impl Into<String>) -> Reply {
        let reason = reason.into();
        let cause = json!({ "type": kind, "reason": reason });
        Reply {
            status,
            body: json!({ "error": { "root_cause": [cause], "type": kind, "reason": reason }, "status": status }),
        }
    }

    pub fn no_index(name: &str) -> Reply {
        Reply::error(404, "index_not_found_exception", format!("no such index [{name}]"))
    }
}

/// The index for an operation on one document.
pub enum Target {
    Index(String),
    Nothing,
    /// With the reason.
    Refused(String),
}

impl Server {
    pub fn new(seed: u64) -> Server {
        let mut random = fastrand::Rng::with_seed(seed);
        Server {
            uuid: uuid(&mut random),
            indices: BTreeMap::new(),
            aliases: BTreeMap::new(),
            templates: BTreeMap::new(),
            auto_create: true,
            most_bytes: 100 << 20,
            random,
        }
    }

    /// The indices of a name: the index itself, or those behind an alias.
    pub fn behind(&self, name: &str) -> Vec<String> {
        match self.aliases.get(name) {
            Some(alias) => alias.indices.iter().cloned().collect(),
            None => self.indices.contains_key(name).then(|| name.to_owned()).into_iter().collect(),
        }
    }

    /// The index for a write.
    pub fn write_target(&self, name: &str) -> Target {
        let Some(alias) = self.aliases.get(name) else {
            return match self.indices.contains_key(name) {
                true => Target::Index(name.to_owned()),
                false => Target::Nothing,
            };
        };
        match alias.writes_to() {
            Some(index) => Target::Index(index),
            None => Target::Refused(format!(
                "no write index is defined for alias [{name}]. The write index may be explicitly disabled using \
                 is_write_index=false or the alias points to multiple indices without one being designated as a write index"
            )),
        }
    }

    /// The index for a read of one document.
    pub fn read_target(&self, name: &str) -> Target {
        match self.behind(name).as_slice() {
            [] => Target::Nothing,
            [index] => Target::Index(index.clone()),
            several => Target::Refused(format!(
                "alias [{name}] has more than one index associated with it [{}], can't execute a single index op",
                several.join(", ")
            )),
        }
    }

    /// `PUT /index`.
    pub fn create(&mut self, name: &str, body: &Value, now_ms: u64) -> Reply {
        if let Some(existing) = self.indices.get(name) {
            let reason = format!("index [{name}/{}] already exists", existing.uuid);
            return Reply::error(400, "resource_already_exists_exception", reason);
        }
        if self.aliases.contains_key(name) {
            let reason = format!("Invalid index name [{name}], already exists as alias");
            return Reply::error(400, "invalid_index_name_exception", reason);
        }
        let template = self.template_of(name);
        let mut properties = Map::new();
        let mut settings = BTreeMap::new();
        for part in [template.as_ref(), Some(body)].into_iter().flatten() {
            if let Some(unknown) = unknown_type(&part["mappings"]["properties"]) {
                let (field, kind) = unknown;
                let reason = format!(
                    "Failed to parse mapping: The mapper type [{kind}] declared on field [{field}] does not exist. It might have \
                     been created within a future version or requires a plugin to be installed. Check the documentation."
                );
                return Reply::error(400, "mapper_parsing_exception", reason);
            }
            for (field, mapped) in part["mappings"]["properties"].as_object().into_iter().flatten() {
                properties.insert(field.clone(), shown(mapped));
            }
            flatten("", &part["settings"], &mut settings);
        }
        let uuid = uuid(&mut self.random);
        self.indices.insert(name.to_owned(), Index::new(uuid, properties, settings, now_ms));
        for (alias, how) in body["aliases"].as_object().into_iter().flatten() {
            self.add_alias(name, alias, how["is_write_index"].as_bool());
        }
        Reply::ok(json!({ "acknowledged": true, "shards_acknowledged": true, "index": name }))
    }

    /// `is_write`: none if not declared; the only index of an alias is then its write index.
    pub fn add_alias(&mut self, index: &str, alias: &str, is_write: Option<bool>) {
        let alias = self.aliases.entry(alias.to_owned()).or_default();
        alias.remove(index);
        alias.indices.insert(index.to_owned());
        match is_write {
            Some(true) => alias.write = Some(index.to_owned()),
            Some(false) => _ = alias.refused.insert(index.to_owned()),
            None => {}
        }
    }

    pub fn remove_index(&mut self, name: &str) -> bool {
        self.aliases.values_mut().for_each(|alias| alias.remove(name));
        self.aliases.retain(|_, alias| !alias.indices.is_empty());
        self.indices.remove(name).is_some()
    }

    /// The matching template with the highest priority.
    fn template_of(&self, name: &str) -> Option<Value> {
        let fits = |template: &&Value| {
            let patterns = template["index_patterns"].as_array().into_iter().flatten();
            patterns.filter_map(Value::as_str).any(|pattern| matches(pattern, name))
        };
        let best = self.templates.values().filter(fits).max_by_key(|it| it["priority"].as_u64().unwrap_or_default())?;
        Some(best["template"].clone())
    }

    /// Creates an index, as a write to a missing index does. None: this is not allowed.
    pub(super) fn create_by_itself(&mut self, name: &str, now_ms: u64) -> Option<()> {
        if !self.auto_create {
            return None;
        }
        self.create(name, &Value::Null, now_ms);
        self.indices.contains_key(name).then_some(())
    }
}

/// Matches a pattern, in which `*` is any text.
pub fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, after)) => {
            let Some(rest) = name.strip_prefix(before) else { return false };
            (0..=rest.len()).any(|from| rest.get(from..).is_some_and(|rest| matches(after, rest)))
        }
    }
}

/// The first field of a type that Elasticsearch does not have.
fn unknown_type(properties: &Value) -> Option<(String, String)> {
    for (name, field) in properties.as_object().into_iter().flatten() {
        if field["type"] == "flat_object" {
            return Some((name.clone(), "flat_object".into()));
        }
        if let Some(unknown) = unknown_type(&field["properties"]) {
            return Some(unknown);
        }
    }
    None
}

/// Settings under their flat names, which begin with `index.`
pub(super) fn flatten(prefix: &str, settings: &Value, flat: &mut BTreeMap<String, String>) {
    match settings {
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
                flatten(&path, value, flat);
            }
        }
        Value::Null => {
            if !prefix.is_empty() {
                flat.remove(&full_name(prefix));
            }
        }
        Value::String(text) => _ = flat.insert(full_name(prefix), text.clone()),
        other => _ = flat.insert(full_name(prefix), other.to_string()),
    }
}

fn full_name(name: &str) -> String {
    if name.starts_with("index.") { name.to_owned() } else { format!("index.{name}") }
}

fn uuid(random: &mut fastrand::Rng) -> String {
    (0..22).map(|_| random.alphanumeric()).collect()
}
