//! The HTTP API, from its own description.

use std::fmt::Write;

use serde_json::Value;

use super::super::pages::root;
use super::{check, escaped};

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

/// A schema in a few words: `string`, `array of Host`, `"pause" or "resume"`.
fn kind(schema: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap_or_default();
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(values) = schema["enum"].as_array() {
        return values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(" or ");
    }
    if let Some(value) = schema.get("const") {
        return format!("`{value}`");
    }
    for choice in ["oneOf", "anyOf", "allOf"] {
        if let Some(choices) = schema[choice].as_array() {
            let join = if choice == "allOf" { " and " } else { " or " };
            return choices.iter().map(kind).collect::<Vec<_>>().join(join);
        }
    }
    match &schema["type"] {
        Value::String(name) if name == "array" => format!("array of {}", kind(&schema["items"])),
        Value::String(name) if name == "object" && schema["additionalProperties"].is_object() => {
            format!("object of {}", kind(&schema["additionalProperties"]))
        }
        Value::String(name) => name.clone(),
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        _ => "any".to_owned(),
    }
}

fn operation(method: &str, path: &str, operation: &Value, page: &mut String) {
    write!(page, "\n### {} {path}\n\n{}\n", method.to_uppercase(), escaped(text(operation, "summary"))).unwrap();
    let parameters = operation["parameters"].as_array().map(Vec::as_slice).unwrap_or_default();
    if !parameters.is_empty() {
        page.push_str("\n| parameter | in | type | |\n|---|---|---|---|\n");
    }
    for parameter in parameters {
        let (name, place) = (text(parameter, "name"), text(parameter, "in"));
        let (kind, about) = (kind(&parameter["schema"]), escaped(text(parameter, "description")));
        writeln!(page, "| `{name}` | {place} | {kind} | {about} |").unwrap();
    }
    let contents = |content: &Value| -> Vec<String> {
        let types = content["content"].as_object().into_iter().flatten();
        types.map(|(media, content)| format!("`{media}` ({})", kind(&content["schema"]))).collect()
    };
    let request = contents(&operation["requestBody"]);
    if !request.is_empty() {
        write!(page, "\nRequest: {}.\n", request.join(", ")).unwrap();
    }
    page.push('\n');
    for (status, answer) in operation["responses"].as_object().into_iter().flatten() {
        let about = escaped(text(answer, "description"));
        let types = contents(answer);
        let types = if types.is_empty() { String::new() } else { format!(" {}", types.join(", ")) };
        writeln!(page, "- {status}: {about}{types}").unwrap();
    }
}

fn properties(schema: &Value, page: &mut String) {
    let Some(properties) = schema["properties"].as_object() else { return };
    let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    page.push_str("\n| field | type | |\n|---|---|---|\n");
    for (name, property) in properties {
        let optional = if required.iter().any(|required| required == name) { "" } else { " (optional)" };
        writeln!(page, "| `{name}`{optional} | {} | {} |", kind(property), escaped(text(property, "description")))
            .unwrap();
    }
}

#[test]
fn the_api_is_that_of_its_description() {
    let description = std::fs::read_to_string(root().join("src/api/openapi.json")).unwrap();
    let description: Value = serde_json::from_str(&description).unwrap();
    let mut page =
        "# HTTP API\n\nThis page is made from `/api/v1/openapi.json`. All paths are below `/api/v1`.\n".to_owned();
    write!(page, "\n{}\n\n## Calls\n", escaped(text(&description["info"], "description"))).unwrap();
    for (path, methods) in description["paths"].as_object().unwrap() {
        for (method, call) in methods.as_object().unwrap() {
            operation(method, path, call, &mut page);
        }
    }
    page.push_str("\n## Types\n");
    for (name, schema) in description["components"]["schemas"].as_object().unwrap() {
        write!(page, "\n### {name}\n").unwrap();
        if !text(schema, "description").is_empty() {
            write!(page, "\n{}\n", escaped(text(schema, "description"))).unwrap();
        }
        if schema.get("properties").is_none() {
            match schema["oneOf"].as_array() {
                Some(choices) if choices.iter().any(|choice| choice.get("properties").is_some()) => {
                    for choice in choices {
                        let about = escaped(text(choice, "description"));
                        write!(page, "\n{}\n", if about.is_empty() { "Or:" } else { &about }).unwrap();
                        properties(choice, &mut page);
                    }
                }
                _ => write!(page, "\n{}\n", kind(schema)).unwrap(),
            }
        }
        properties(schema, &mut page);
    }
    check("api.md", &page);
}
