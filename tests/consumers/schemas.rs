//! docs/schemas: the schemas accept their own examples, and nothing that deviates from them.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::{installed, json_of_file, project_file};

pub const ALL: [&str; 5] = ["files-record", "cdr31", "elastic-document", "change", "dead-letter"];

/// The errors of each document under the schema of this name; empty for a valid one.
pub fn errors(schema: &str, documents: &[Value]) -> Vec<Vec<String>> {
    let python = installed("scripts/services/python", "install");
    let mut command = Command::new(python);
    command.arg(project_file("tests/consumers/validate.py")).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("Python starts");
    let mut input = child.stdin.take().unwrap();
    let lines: String =
        documents.iter().map(|it| format!("{}\n", json!([format!("{schema}.schema.json"), it]))).collect();
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "validate.py failed, see above");
    writer.join().unwrap().unwrap();
    let errors: Vec<Vec<String>> = output
        .stdout
        .split(|it| *it == b'\n')
        .filter(|it| !it.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    assert_eq!(errors.len(), documents.len());
    errors
}

#[track_caller]
pub fn assert_valid(schema: &str, documents: &[Value]) {
    assert!(!documents.is_empty());
    for (document, errors) in documents.iter().zip(errors(schema, documents)) {
        assert!(errors.is_empty(), "{schema}: {errors:#?}\nin {document:#}");
    }
}

fn examples(schema: &str) -> Vec<Value> {
    let schema = json_of_file(&format!("docs/schemas/{schema}.schema.json"));
    schema["examples"].as_array().expect("a schema has examples").clone()
}

#[test]
fn every_schema_holds_its_examples_and_describes_every_field() {
    for name in ALL {
        assert_valid(name, &examples(name));
        let schema = json_of_file(&format!("docs/schemas/{name}.schema.json"));
        for (field, described) in schema["properties"].as_object().unwrap() {
            let speaks_for_itself = described.get("const").or(described.get("enum")).is_some();
            assert!(speaks_for_itself || described["description"].is_string(), "{name}: {field} has no description");
        }
    }
}

#[test]
fn a_field_too_many_too_few_or_of_another_type_is_told() {
    for name in ALL {
        let schema = json_of_file(&format!("docs/schemas/{name}.schema.json"));
        let right = examples(name).remove(0);
        let mut wrong = vec![right.clone()];
        wrong[0]["somethingNew"] = json!(1);
        for field in schema["required"].as_array().unwrap() {
            let field = field.as_str().unwrap();
            let mut without = right.clone();
            without.as_object_mut().unwrap().remove(field);
            wrong.push(without);
        }
        for (field, _) in right.as_object().unwrap() {
            let mut other = right.clone();
            other[field] = json!([[]]);
            wrong.push(other);
        }
        for (document, errors) in wrong.iter().zip(errors(name, &wrong)) {
            assert!(!errors.is_empty(), "{name} takes {document}");
        }
    }
}
