//! Pages that only a program displays, with their text as data: schema.org's JSON-LD, and the posts embedded by
//! Discourse forums. The text in the data is turned into a page, which is read like any other.

use serde_json::Value;

use super::tree::Tree;
use crate::html::decode_attribute;

/// Limit for data nested in data.
const MAX_NESTED: usize = 3;
/// Members with text for readers, in the order in which they are written.
const TEXTS: [&str; 12] = [
    "headline",
    "title",
    "name",
    "username",
    "author",
    "description",
    "articleBody",
    "text",
    "reviewBody",
    "cooked",
    "content",
    "body",
];
/// Types that only describe the site.
const OF_THE_SITE: [&str; 9] = [
    "Organization",
    "WebSite",
    "WebPage",
    "BreadcrumbList",
    "ImageObject",
    "Person",
    "SiteNavigationElement",
    "ListItem",
    "Corporation",
];

/// The page made from a page's data; none if it has no text.
pub(super) fn page_of_data(tree: &Tree) -> Option<String> {
    let mut page = String::new();
    if let Some(data) = tree.preloaded {
        write_json(&decode_attribute(data), 0, true, &mut page);
    }
    if page.is_empty() {
        tree.data.iter().for_each(|data| write_json(data, 0, false, &mut page));
    }
    (!page.is_empty()).then_some(page)
}

fn write_json(json: &str, depth: usize, is_forum: bool, page: &mut String) {
    if let Ok(value) = serde_json::from_str::<Value>(json.trim()) {
        write_value(&value, depth, is_forum, page);
    }
}

/// `serde_json` reads at most 128 levels, so the recursion is bounded.
fn write_value(value: &Value, depth: usize, is_forum: bool, page: &mut String) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| write_value(item, depth, is_forum, page)),
        Value::String(nested) if depth < MAX_NESTED && nested.starts_with(['{', '[']) => {
            write_json(nested, depth + 1, is_forum, page);
        }
        Value::Object(members) => {
            let is_wanted = match is_forum {
                true => members.contains_key("cooked"),
                false => is_of_the_page(members.get("@type")),
            };
            if is_wanted {
                for name in TEXTS {
                    members.get(name).and_then(Value::as_str).into_iter().for_each(|text| write_text(name, text, page));
                }
            }
            members.values().filter(|value| !is_forum || !is_wanted || value.is_object()).for_each(|value| {
                if value.is_object() || value.is_array() || is_forum {
                    write_value(value, depth, is_forum, page);
                }
            });
        }
        _ => {}
    }
}

fn is_of_the_page(kind: Option<&Value>) -> bool {
    let kind = match kind {
        Some(Value::Array(kinds)) => kinds.first().and_then(Value::as_str),
        kind => kind.and_then(Value::as_str),
    };
    kind.is_some_and(|kind| !OF_THE_SITE.contains(&kind))
}

fn write_text(name: &str, text: &str, page: &mut String) {
    page.push_str("<div class=\"data ");
    page.push_str(name);
    page.push_str("\">");
    if text.contains("</") || text.contains("<br") {
        page.push_str(text);
    } else {
        text.chars().for_each(|c| match c {
            '<' => page.push_str("&lt;"),
            '&' => page.push_str("&amp;"),
            '\n' => page.push_str("<br>"),
            c => page.push(c),
        });
    }
    page.push_str("</div>\n");
}
