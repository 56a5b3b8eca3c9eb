//! Requests, by method and path.

use std::collections::BTreeMap;

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};

use super::mapping;
use super::server::{Reply, Server, Target, flatten, matches};

impl Server {
    /// Answers a request. `path`: as it stands in the URL, query included.
    pub fn answer(&mut self, method: &str, path: &str, body: &[u8], now_ms: u64) -> Reply {
        if body.len() > self.most_bytes {
            return Reply { status: 413, body: Value::Null };
        }
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let parts: Vec<String> = path
            .split('/')
            .filter(|part| !part.is_empty())
            .map(|part| percent_decode_str(part).decode_utf8_lossy().into_owned())
            .collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let json = || serde_json::from_slice::<Value>(body).unwrap_or_default();
        match (method, parts.as_slice()) {
            ("GET", []) => Reply::ok(
                json!({ "cluster_name": "model", "cluster_uuid": self.uuid, "version": { "number": "8.19.0" } }),
            ),
            ("POST", ["_bulk"]) => self.bulk(None, body, now_ms),
            ("POST", ["_aliases"]) => self.change_aliases(&json()),
            ("PUT" | "POST", ["_index_template", name]) => self.put_template(name, json()),
            ("POST", [index, "_bulk"]) => self.bulk(Some(index), body, now_ms),
            ("PUT", [index]) => self.create(index, &json(), now_ms),
            ("DELETE", [index]) => self.delete_index(index),
            ("HEAD", [index]) => {
                Reply { status: if self.behind(index).is_empty() { 404 } else { 200 }, body: Value::Null }
            }
            ("GET", [index, "_mapping"]) => self.mappings(index),
            ("PUT", [index, "_mapping"]) => self.put_mapping(index, &json()),
            ("GET", [index, "_settings"]) => self.settings(index, None, query),
            ("GET", [index, "_settings", names]) => self.settings(index, Some(names), query),
            ("PUT", [index, "_settings"]) => self.put_settings(index, &json()),
            ("GET", [index, "_alias"]) | ("GET", ["_alias", index]) => self.aliases_of(index),
            ("POST", [index, "_refresh"]) => self.refresh(index, now_ms),
            ("GET" | "POST", [index, "_count"]) => self.count(index, now_ms),
            ("GET" | "POST", [index, "_search"]) => self.search(index, &json(), query, now_ms),
            ("POST", [index, "_mget"]) => self.get_many(index, &json(), query),
            ("GET", [index, "_doc", id]) => self.get_one(index, id, query),
            _ => Reply::error(
                400,
                "illegal_argument_exception",
                format!("no handler found for uri [{path}] and method [{method}]"),
            ),
        }
    }

    fn put_template(&mut self, name: &str, body: Value) -> Reply {
        self.templates.insert(name.to_owned(), body);
        Reply::ok(json!({ "acknowledged": true }))
    }

    fn delete_index(&mut self, name: &str) -> Reply {
        if self.aliases.contains_key(name) {
            let reason = format!(
                "The provided expression [{name}] matches an alias, specify the corresponding concrete indices instead."
            );
            return Reply::error(400, "illegal_argument_exception", reason);
        }
        match self.remove_index(name) {
            true => Reply::ok(json!({ "acknowledged": true })),
            false => Reply::no_index(name),
        }
    }

    fn mappings(&self, name: &str) -> Reply {
        let mappings = |properties: &Map<String, Value>| match properties.is_empty() {
            true => json!({ "mappings": {} }),
            false => json!({ "mappings": { "properties": properties } }),
        };
        self.each(name, |server, index| mappings(&server.indices[index].properties))
    }

    fn settings(&self, name: &str, names: Option<&str>, query: &str) -> Reply {
        let is_wanted =
            |setting: &str| names.is_none_or(|names| names.split(',').any(|pattern| matches(pattern, setting)));
        let is_flat = query.contains("flat_settings=true");
        self.each(name, |server, index| {
            let mut settings = server.indices[index].settings_shown(index);
            settings.retain(|name, _| is_wanted(name));
            match is_flat {
                true => json!({ "settings": settings }),
                false => json!({ "settings": nested(settings) }),
            }
        })
    }

    /// 404 for an alias without an index, or an unknown name.
    fn each(&self, name: &str, show: impl Fn(&Server, &str) -> Value) -> Reply {
        let indices = self.behind(name);
        if indices.is_empty() {
            return Reply::no_index(name);
        }
        let shown: Map<String, Value> = indices.into_iter().map(|index| (index.clone(), show(self, &index))).collect();
        Reply::ok(Value::Object(shown))
    }

    fn put_mapping(&mut self, name: &str, body: &Value) -> Reply {
        let indices = self.behind(name);
        if indices.is_empty() {
            return Reply::no_index(name);
        }
        let none = Map::new();
        let more = body["properties"].as_object().unwrap_or(&none);
        for index in indices {
            let Some(index) = self.indices.get_mut(&index) else { continue };
            if let Err(misfit) = mapping::merge(&mut index.properties, more) {
                return Reply::error(400, misfit.kind, misfit.reason);
            }
        }
        Reply::ok(json!({ "acknowledged": true }))
    }

    fn put_settings(&mut self, name: &str, body: &Value) -> Reply {
        let indices = self.behind(name);
        if indices.is_empty() {
            return Reply::no_index(name);
        }
        for index in indices {
            if let Some(index) = self.indices.get_mut(&index) {
                flatten("", body.get("settings").unwrap_or(body), &mut index.settings);
            }
        }
        Reply::ok(json!({ "acknowledged": true }))
    }

    fn aliases_of(&self, name: &str) -> Reply {
        self.each(name, |server, index| {
            let mut aliases = Map::new();
            for (alias, behind) in server.aliases.iter().filter(|(_, alias)| alias.indices.contains(index)) {
                let how = match behind.said_of(index) {
                    Some(is_write) => json!({ "is_write_index": is_write }),
                    None => json!({}),
                };
                aliases.insert(alias.clone(), how);
            }
            json!({ "aliases": aliases })
        })
    }

    /// Applies all of the changes or none.
    fn change_aliases(&mut self, body: &Value) -> Reply {
        let mut changed = self.clone();
        for action in body["actions"].as_array().into_iter().flatten() {
            if let Err(reply) = changed.change_alias(action) {
                return reply;
            }
        }
        *self = changed;
        Reply::ok(json!({ "acknowledged": true }))
    }

    fn change_alias(&mut self, action: &Value) -> Result<(), Reply> {
        let Some((what, how)) = action.as_object().and_then(|it| it.iter().next()) else { return Ok(()) };
        let (index, alias) = (how["index"].as_str().unwrap_or_default(), how["alias"].as_str().unwrap_or_default());
        if !self.indices.contains_key(index) {
            return Err(match self.aliases.contains_key(index) {
                true => {
                    let reason = format!(
                        "The provided expression [{index}] matches an alias, specify the corresponding concrete indices instead."
                    );
                    Reply::error(400, "illegal_argument_exception", reason)
                }
                false => Reply::no_index(index),
            });
        }
        match what.as_str() {
            "add" if self.indices.contains_key(alias) => {
                let reason = format!(
                    "Invalid alias name [{alias}]: an index or data stream exists with the same name as the alias"
                );
                Err(Reply::error(400, "invalid_alias_name_exception", reason))
            }
            "add" => {
                let is_write = how["is_write_index"].as_bool();
                let write = self.aliases.get(alias).and_then(|alias| alias.write.as_deref());
                if let Some(write) = write.filter(|write| is_write == Some(true) && *write != index) {
                    let reason = format!("alias [{alias}] has more than one write index [{write},{index}]");
                    return Err(Reply::error(500, "illegal_state_exception", reason));
                }
                self.add_alias(index, alias, is_write);
                Ok(())
            }
            "remove" => self.remove_alias(index, alias),
            "remove_index" => {
                self.remove_index(index);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn remove_alias(&mut self, index: &str, alias: &str) -> Result<(), Reply> {
        let missing = || Reply::error(404, "aliases_not_found_exception", format!("aliases [{alias}] missing"));
        let known = self.aliases.get_mut(alias).filter(|known| known.indices.contains(index)).ok_or_else(missing)?;
        known.remove(index);
        self.aliases.retain(|_, alias| !alias.indices.is_empty());
        Ok(())
    }

    fn refresh(&mut self, name: &str, now_ms: u64) -> Reply {
        let indices = self.behind(name);
        if indices.is_empty() {
            return Reply::no_index(name);
        }
        for index in indices {
            if let Some(index) = self.indices.get_mut(&index) {
                index.refresh(now_ms);
            }
        }
        Reply::ok(json!({ "_shards": { "total": 1, "successful": 1, "failed": 0 } }))
    }

    fn count(&mut self, name: &str, now_ms: u64) -> Reply {
        let indices = self.behind(name);
        if indices.is_empty() {
            return Reply::no_index(name);
        }
        let count: usize = indices.iter().filter_map(|index| Some(self.indices.get_mut(index)?.count(now_ms))).sum();
        Reply::ok(json!({ "count": count, "_shards": { "total": 1, "successful": 1, "skipped": 0, "failed": 0 } }))
    }

    /// Lists all documents, sorted by `_doc`, `_id` or nothing, a page at a time after `search_after`. Queries are ignored.
    fn search(&mut self, name: &str, body: &Value, query: &str, now_ms: u64) -> Reply {
        let indices = self.behind(name);
        if indices.is_empty() {
            return Reply::no_index(name);
        }
        let size = body["size"].as_u64().unwrap_or(10) as usize;
        let after =
            body["search_after"].as_array().and_then(|it| it.first()).and_then(Value::as_str).map(str::to_owned);
        let wanted = match body.get("_source") {
            Some(Value::Array(names)) => Some(names.iter().filter_map(Value::as_str).map(str::to_owned).collect()),
            _ => wanted_fields(query),
        };
        let mut hits = Vec::new();
        let mut total = 0;
        for index in indices {
            let Some(found) = self.indices.get_mut(&index) else { continue };
            for (id, document) in found.refreshed(now_ms) {
                total += 1;
                if after.as_deref().is_none_or(|after| id.as_str() > after) {
                    let source =
                        if body["_source"] == json!(false) { None } else { Some(chosen(&document.source, &wanted)) };
                    hits.push((id.clone(), index.clone(), source));
                }
            }
        }
        hits.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
        hits.truncate(size);
        let hits: Vec<Value> = hits
            .into_iter()
            .map(|(id, index, source)| {
                let mut hit = json!({ "_index": index, "_id": id, "sort": [id] });
                if let Some(source) = source {
                    hit["_source"] = source;
                }
                hit
            })
            .collect();
        Reply::ok(
            json!({ "timed_out": false, "hits": { "total": { "value": total, "relation": "eq" }, "hits": hits } }),
        )
    }

    fn get_many(&self, name: &str, body: &Value, query: &str) -> Reply {
        let wanted = wanted_fields(query);
        let ids = body["ids"].as_array().into_iter().flatten().filter_map(|id| Some((name, id.as_str()?)));
        let each = body["docs"].as_array().into_iter().flatten();
        let each = each.filter_map(|it| Some((it["_index"].as_str().unwrap_or(name), it["_id"].as_str()?)));
        let shown = |(name, id): (&str, &str)| match self.read_target(name) {
            Target::Index(index) => document_shown(self, &index, id, &wanted, true),
            Target::Nothing => {
                let reason = format!("no such index [{name}]");
                json!({ "_index": name, "_id": id, "error": { "type": "index_not_found_exception", "reason": reason } })
            }
            Target::Refused(reason) => {
                json!({ "_index": name, "_id": id, "error": { "type": "illegal_argument_exception", "reason": reason } })
            }
        };
        Reply::ok(json!({ "docs": ids.chain(each).map(shown).collect::<Vec<_>>() }))
    }

    fn get_one(&self, name: &str, id: &str, query: &str) -> Reply {
        match self.read_target(name) {
            Target::Index(index) => {
                let with_source = !query.contains("_source=false");
                let body = document_shown(self, &index, id, &wanted_fields(query), with_source);
                Reply { status: if body["found"] == json!(true) { 200 } else { 404 }, body }
            }
            Target::Nothing => Reply::no_index(name),
            Target::Refused(reason) => Reply::error(400, "illegal_argument_exception", reason),
        }
    }
}

fn document_shown(server: &Server, index: &str, id: &str, wanted: &Option<Vec<String>>, with_source: bool) -> Value {
    let Some(document) = server.indices[index].get(id) else {
        return json!({ "_index": index, "_id": id, "found": false });
    };
    let mut shown = json!({
        "_index": index, "_id": id, "_version": document.version, "_seq_no": document.seq_no, "_primary_term": 1, "found": true,
    });
    if with_source {
        shown["_source"] = chosen(&document.source, wanted);
    }
    shown
}

fn wanted_fields(query: &str) -> Option<Vec<String>> {
    let value = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("_source_includes=").or_else(|| pair.strip_prefix("_source=")))?;
    (value != "false" && value != "true").then(|| value.split(',').map(str::to_owned).collect())
}

fn chosen(source: &Value, wanted: &Option<Vec<String>>) -> Value {
    let Some(wanted) = wanted else { return source.clone() };
    let fields = source.as_object().into_iter().flatten();
    fields
        .filter(|(name, _)| wanted.contains(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect::<Map<_, _>>()
        .into()
}

/// `a.b` as `b` within `a`.
fn nested(flat: Map<String, Value>) -> Value {
    let mut all = json!({});
    let flat: BTreeMap<String, Value> = flat.into_iter().collect();
    for (name, value) in flat {
        let pointer = name.split('.').fold(&mut all, |at, part| {
            if !at.is_object() {
                *at = json!({});
            }
            &mut at[part]
        });
        *pointer = value;
    }
    all
}
