//! The items of a page's JSON-LD. Reads what people write, which is often not quite JSON.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::html::decode_text;

/// Further items of a page are ignored.
const MAX_ITEMS: usize = 1_000;
/// Properties whose value is one more item, or a list of items.
const NESTED: [&str; 2] = ["@graph", "mainEntity"];
/// Items that are about something on the page, such as a film that it shows. Their dates and authors are not those of
/// the page.
const PARTS: [&str; 12] = [
    "VideoObject",
    "ImageObject",
    "AudioObject",
    "Review",
    "Comment",
    "Answer",
    "Person",
    "Organization",
    "Event",
    "Product",
    "Offer",
    "BreadcrumbList",
];

/// A JSON-LD item.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Item(Map<String, Value>);

impl Item {
    /// A property; null if there is none.
    pub(super) fn get(&self, property: &str) -> &Value {
        self.0.get(property).unwrap_or(&Value::Null)
    }

    pub(super) fn types(&self) -> impl Iterator<Item = &str> {
        let value = self.get("@type");
        let many = value.as_array().map(Vec::as_slice).unwrap_or_default();
        many.iter().chain(Some(value)).filter_map(Value::as_str)
    }

    pub(super) fn is_article(&self) -> bool {
        let is = |kind: &str| ["Article", "Posting", "Question", "Recipe"].iter().any(|end| kind.ends_with(end));
        self.types().any(is)
    }

    /// The item is the page, or the work that the page shows.
    pub(super) fn is_page(&self) -> bool {
        !self.types().any(|kind| PARTS.contains(&kind))
    }
}

/// Appends the items of a script.
pub(super) fn read(script: &str, items: &mut Vec<Item>) {
    let script = unwrap(script);
    let mut waiting = values(script);
    if waiting.is_empty() && !script.is_empty() {
        waiting = values(&repair(script));
    }
    waiting.reverse();
    while let Some(value) = waiting.pop() {
        match value {
            Value::Array(list) => waiting.extend(list.into_iter().rev()),
            Value::Object(mut item) => {
                waiting.extend(NESTED.iter().rev().filter_map(|property| item.remove(*property)));
                if items.len() < MAX_ITEMS {
                    items.push(Item(item));
                }
            }
            _ => {}
        }
    }
}

/// The script without what hid it from old browsers: comments of HTML, CDATA sections, and comments around these.
fn unwrap(script: &str) -> &str {
    let before = ["<!--", "<![CDATA[", "//", "/*", "*/", ";"];
    let after = ["-->", "]]>", "//", "/*", "*/", ";"];
    let mut script = script.trim();
    while let Some(rest) = before.iter().find_map(|mark| script.strip_prefix(mark)) {
        script = rest.trim_start();
    }
    while let Some(rest) = after.iter().find_map(|mark| script.strip_suffix(mark)) {
        script = rest.trim_end();
    }
    script
}

/// The values in a script, which should be one, up to the first fault.
fn values(script: &str) -> Vec<Value> {
    serde_json::Deserializer::from_str(script).into_iter().map_while(Result::ok).collect()
}

/// Makes valid JSON of the usual faults: control characters and unknown escapes in strings, commas before a closing
/// bracket, and a script whose quotes are written as character references.
fn repair(script: &str) -> String {
    let script = if script.contains('"') { Cow::Borrowed(script) } else { decode_text(script) };
    let mut valid = String::with_capacity(script.len());
    let mut in_string = false;
    let mut characters = script.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => {
                in_string = !in_string;
                valid.push('"');
            }
            '\\' if in_string => match characters.next() {
                Some(escaped @ ('"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' | 'u')) => valid.extend(['\\', escaped]),
                Some(other) => valid.push(if other.is_control() { ' ' } else { other }),
                None => {}
            },
            _ if in_string && character.is_control() => valid.push(' '),
            ']' | '}' if !in_string => {
                let length = valid.trim_end().trim_end_matches(',').len();
                valid.truncate(length);
                valid.push(character);
            }
            _ => valid.push(character),
        }
    }
    valid
}
