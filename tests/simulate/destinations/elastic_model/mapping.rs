//! Mappings: the types that an index guesses for fields, and documents that contradict them.

use serde_json::{Map, Value, json};

/// Fields of one index, objects below objects counted.
const MOST_FIELDS: usize = 1000;

/// Why a document contradicts the mapping.
#[derive(Debug)]
pub struct Misfit {
    pub kind: &'static str,
    pub reason: String,
}

/// Adds the fields of `document` to `properties` (those of the index, by name), or says why the document is refused. A real
/// server may keep some new fields of a refused document. This model does not.
pub fn take(properties: &mut Map<String, Value>, document: &Value) -> Result<(), Misfit> {
    let Some(fields) = document.as_object() else { return Ok(()) };
    let mut new = Vec::new();
    check_object(properties, fields, "", &mut new)?;
    if new.is_empty() {
        return Ok(());
    }
    let mut grown = properties.clone();
    for (path, field) in new {
        add(&mut grown, &path, field);
    }
    if count(&grown) > MOST_FIELDS {
        let reason = format!("Limit of total fields [{MOST_FIELDS}] has been exceeded while adding new fields");
        return Err(Misfit { kind: "document_parsing_exception", reason });
    }
    *properties = grown;
    Ok(())
}

fn check_object(
    properties: &Map<String, Value>,
    fields: &Map<String, Value>,
    prefix: &str,
    new: &mut Vec<(Vec<String>, Value)>,
) -> Result<(), Misfit> {
    for (name, value) in fields {
        let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        match properties.get(name) {
            Some(field) => check_field(field, value, &path, new)?,
            None => {
                if let Some(field) = guess(value) {
                    new.push((path.split('.').map(str::to_owned).collect(), field));
                }
            }
        }
    }
    Ok(())
}

fn check_field(field: &Value, value: &Value, path: &str, new: &mut Vec<(Vec<String>, Value)>) -> Result<(), Misfit> {
    let kind = field["type"].as_str().unwrap_or("object");
    match value {
        Value::Null => Ok(()),
        Value::Array(values) => values.iter().try_for_each(|value| check_field(field, value, path, new)),
        Value::Object(fields) => match kind {
            "flattened" | "flat_object" => Ok(()),
            "object" if field["enabled"] == json!(false) => Ok(()),
            "object" => {
                let none = Map::new();
                check_object(field["properties"].as_object().unwrap_or(&none), fields, path, new)
            }
            _ => Err(misfit(path, kind)),
        },
        _ if fits(kind, field, value) => Ok(()),
        _ if kind == "object" => Err(Misfit {
            kind: "document_parsing_exception",
            reason: format!(
                "object mapping for [{path}] tried to parse field [{path}] as object, but found a concrete value"
            ),
        }),
        _ => Err(misfit(path, kind)),
    }
}

fn misfit(path: &str, kind: &str) -> Misfit {
    Misfit { kind: "document_parsing_exception", reason: format!("failed to parse field [{path}] of type [{kind}]") }
}

fn fits(kind: &str, field: &Value, value: &Value) -> bool {
    match kind {
        "text" | "keyword" | "match_only_text" | "wildcard" => true,
        "flattened" | "flat_object" => false,
        "object" => field["enabled"] == json!(false),
        "date" => match value {
            Value::Number(_) => true,
            Value::String(text) => text.parse::<i64>().is_ok() || is_date(text),
            _ => false,
        },
        "boolean" => matches!(value, Value::Bool(_)) || ["true", "false", ""].iter().any(|it| value == it),
        "long" | "integer" | "short" | "byte" => number(value).is_some_and(|number| {
            let most = match kind {
                "short" => f64::from(i16::MAX),
                "integer" => f64::from(i32::MAX),
                "byte" => f64::from(i8::MAX),
                _ => i64::MAX as f64,
            };
            number.abs() <= most
        }),
        "double" | "float" | "half_float" => number(value).is_some(),
        _ => true,
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

/// `strict_date_optional_time`, as far as documents here write it: `2026-11-23`, `2026-11-23T21:00:00.000Z`, `…+0000`.
fn is_date(text: &str) -> bool {
    let digits =
        |from: usize, to: usize| text.get(from..to).is_some_and(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
    let at = |place: usize, byte: u8| text.as_bytes().get(place) == Some(&byte);
    let is_day = digits(0, 4) && at(4, b'-') && digits(5, 7) && at(7, b'-') && digits(8, 10);
    let is_slashed = text.len() == 10 && digits(0, 4) && at(4, b'/') && digits(5, 7) && at(7, b'/') && digits(8, 10);
    is_slashed || (is_day && (text.len() == 10 || (at(10, b'T') && digits(11, 13))))
}

/// The field that a server creates for the first value of a new name.
fn guess(value: &Value) -> Option<Value> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(_) => json!({ "type": "boolean" }),
        Value::Number(number) if number.is_f64() => json!({ "type": "float" }),
        Value::Number(_) => json!({ "type": "long" }),
        Value::String(text) if is_date(text) => json!({ "type": "date" }),
        Value::String(_) => {
            json!({ "type": "text", "fields": { "keyword": { "type": "keyword", "ignore_above": 256 } } })
        }
        Value::Array(values) => return values.iter().find_map(guess),
        Value::Object(fields) => {
            let mut properties = Map::new();
            for (name, value) in fields {
                if let Some(field) = guess(value) {
                    let path: Vec<String> = name.split('.').map(str::to_owned).collect();
                    add(&mut properties, &path, field);
                }
            }
            match properties.is_empty() {
                true => json!({ "type": "object" }),
                false => json!({ "properties": properties }),
            }
        }
    })
}

/// Inserts a field at its path.
fn add(properties: &mut Map<String, Value>, path: &[String], field: Value) {
    match path {
        [] => {}
        [name] => _ = properties.insert(name.clone(), field),
        [name, below @ ..] => {
            let parent = properties.entry(name.clone()).or_insert_with(|| json!({ "properties": {} }));
            if let Some(parent) = parent.as_object_mut() {
                if parent.get("type").is_some_and(|kind| kind == "object") {
                    parent.remove("type");
                }
                let inner = parent.entry("properties").or_insert_with(|| json!({}));
                if let Some(inner) = inner.as_object_mut() {
                    add(inner, below, field);
                }
            }
        }
    }
}

fn count(properties: &Map<String, Value>) -> usize {
    let of = |field: &Value| {
        let inner = field["properties"].as_object().map_or(0, count);
        1 + inner + field["fields"].as_object().map_or(0, Map::len)
    };
    properties.values().map(of).sum()
}

/// `PUT /index/_mapping`: adds fields. If an existing field would change its type, the whole request is refused.
pub fn merge(properties: &mut Map<String, Value>, more: &Map<String, Value>) -> Result<(), Misfit> {
    for (name, field) in more {
        let Some(known) = properties.get(name) else { continue };
        let (from, to) = (kind_of(known), kind_of(field));
        if from != to {
            let reason = match (from, to) {
                ("object", _) | (_, "object") => {
                    format!("can't merge a non object mapping [{name}] with an object mapping")
                }
                _ => format!("mapper [{name}] cannot be changed from type [{from}] to [{to}]"),
            };
            return Err(Misfit { kind: "illegal_argument_exception", reason });
        }
    }
    for (name, field) in more {
        properties.entry(name.clone()).or_insert_with(|| shown(field));
    }
    Ok(())
}

fn kind_of(field: &Value) -> &str {
    field["type"].as_str().unwrap_or("object")
}

/// A field as a server shows it: what says nothing more than its properties is left out.
pub fn shown(field: &Value) -> Value {
    let mut field = field.clone();
    if let Some(fields) = field.as_object_mut() {
        if fields.get("type").is_some_and(|kind| kind == "object") && fields.contains_key("properties") {
            fields.remove("type");
        }
        if let Some(inner) = fields.get_mut("properties").and_then(Value::as_object_mut) {
            for (_, inner) in inner.iter_mut() {
                *inner = shown(inner);
            }
        }
    }
    field
}
