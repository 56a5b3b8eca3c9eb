//! The saved objects for Kibana and OpenSearch Dashboards, checked without either: references are complete, and only
//! existing fields are used. tests/consumers/index.rs runs their queries.

use std::collections::{BTreeMap, BTreeSet};

use seine_formats::elastic_mapping::{HeaderType, fields};
use serde_json::Value;

use crate::support::program::json_lines;
use crate::text_of_file;

pub const KIBANA: &str = "config/kibana/seine.ndjson";
pub const OPENSEARCH_DASHBOARDS: &str = "config/opensearch-dashboards/seine.ndjson";

/// The objects of an export; the last line counts them.
pub fn objects(path: &str) -> Vec<Value> {
    let mut objects = json_lines(&text_of_file(path));
    let summary = objects.pop().expect("a summary");
    assert_eq!(summary["exportedCount"], objects.len());
    assert_eq!(summary["missingReferences"], serde_json::json!([]));
    objects
}

pub fn of_type(objects: &[Value], kind: &str) -> Vec<Value> {
    objects.iter().filter(|it| it["type"] == kind).cloned().collect()
}

/// JSON kept as text inside JSON.
pub fn inner(text: &Value) -> Value {
    serde_json::from_str(text.as_str().unwrap_or_else(|| panic!("{text} is no text"))).unwrap()
}

/// The aggregations of a chart, in order.
pub fn aggregations(visualization: &Value) -> Vec<Value> {
    inner(&visualization["attributes"]["visState"])["aggs"].as_array().expect("a chart has aggregations").clone()
}

fn name_of(object: &Value) -> (String, String) {
    let text = |name: &str| object[name].as_str().unwrap_or_else(|| panic!("{name} is missing in {object}")).to_owned();
    (text("type"), text("id"))
}

/// Names of references that the attributes use.
fn references_used(object: &Value) -> BTreeSet<String> {
    let attributes = &object["attributes"];
    let mut used = BTreeSet::new();
    if let Some(meta) = attributes.get("kibanaSavedObjectMeta") {
        used.extend(inner(&meta["searchSourceJSON"])["indexRefName"].as_str().map(str::to_owned));
    }
    if object["type"] == "dashboard" {
        for panel in inner(&attributes["panelsJSON"]).as_array().unwrap() {
            let name = panel["panelRefName"].as_str().unwrap();
            // Kibana puts the panel's number before it.
            let numbered = format!("{}:{name}", panel["panelIndex"].as_str().unwrap());
            used.insert(if object.get("typeMigrationVersion").is_some() { numbered } else { name.to_owned() });
        }
    }
    used
}

#[test]
fn every_reference_leads_to_an_object_and_every_object_is_on_the_dashboard() {
    for path in [KIBANA, OPENSEARCH_DASHBOARDS] {
        let objects = objects(path);
        let names: BTreeSet<_> = objects.iter().map(name_of).collect();
        assert_eq!(names.len(), objects.len(), "{path}: two objects have one name");
        let mut referred = BTreeSet::from([("dashboard".to_owned(), "seine".to_owned())]);
        for object in &objects {
            let references = object["references"].as_array().unwrap();
            let given: BTreeSet<_> = references.iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect();
            assert_eq!(given, references_used(object), "{path}: {}", object["id"]);
            referred.extend(references.iter().map(name_of));
        }
        assert_eq!(referred, names, "{path}");
    }
}

#[test]
fn panels_are_inside_the_grid_and_do_not_overlap() {
    for path in [KIBANA, OPENSEARCH_DASHBOARDS] {
        let dashboard = of_type(&objects(path), "dashboard").remove(0);
        let mut taken = BTreeMap::new();
        for panel in inner(&dashboard["attributes"]["panelsJSON"]).as_array().unwrap() {
            let at = |name: &str| panel["gridData"][name].as_u64().unwrap();
            assert!(at("x") + at("w") <= 48, "{path}: {panel}");
            for (x, y) in (at("x")..at("x") + at("w")).flat_map(|x| (at("y")..at("y") + at("h")).map(move |y| (x, y))) {
                assert_eq!(taken.insert((x, y), panel.clone()), None, "{path}: panels overlap");
            }
        }
    }
}

#[test]
fn every_field_is_in_the_mapping_and_can_do_what_is_asked_of_it() {
    let mapping = fields(HeaderType::Flattened);
    let kind = |field: &Value| {
        let name = field.as_str().unwrap();
        mapping.get(name).unwrap_or_else(|| panic!("{name} is no field"))["type"].as_str().unwrap().to_owned()
    };
    for path in [KIBANA, OPENSEARCH_DASHBOARDS] {
        let objects = objects(path);
        assert_eq!(kind(&of_type(&objects, "index-pattern")[0]["attributes"]["timeFieldName"]), "date");
        for search in of_type(&objects, "search") {
            let attributes = &search["attributes"];
            attributes["columns"].as_array().unwrap().iter().for_each(|it| drop(kind(it)));
            attributes["sort"].as_array().unwrap().iter().for_each(|it| assert_ne!(kind(&it[0]), "text"));
        }
        for chart in of_type(&objects, "visualization") {
            let state = inner(&chart["attributes"]["visState"]);
            assert_eq!(state["type"].is_string(), state["title"] == chart["attributes"]["title"]);
            inner(&chart["attributes"]["uiStateJSON"]);
            for aggregation in aggregations(&chart) {
                match aggregation["type"].as_str().unwrap() {
                    "count" => {}
                    "date_histogram" => assert_eq!(kind(&aggregation["params"]["field"]), "date"),
                    _ => assert_ne!(kind(&aggregation["params"]["field"]), "text", "{aggregation}"),
                }
            }
        }
    }
}

#[test]
fn both_files_hold_the_same_charts() {
    let charts = |path| -> BTreeMap<_, _> {
        of_type(&objects(path), "visualization").iter().map(|it| (name_of(it), aggregations(it))).collect()
    };
    assert_eq!(charts(KIBANA), charts(OPENSEARCH_DASHBOARDS));
    let panels = |path: &str| {
        inner(&of_type(&objects(path), "dashboard")[0]["attributes"]["panelsJSON"]).as_array().unwrap().len()
    };
    assert_eq!(panels(KIBANA), panels(OPENSEARCH_DASHBOARDS));
}
