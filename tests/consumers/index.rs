//! The index after a crawl in a real server: its documents, its mapping, and the queries of the saved objects.

use std::collections::{BTreeMap, BTreeSet};

use reqwest::Method;
use seine_formats::elastic_mapping::{HeaderType, template_body};
use serde_json::{Map, Value, json};

use crate::node::Node;
use crate::saved_objects::{self, aggregations, of_type};
use crate::schemas::assert_valid;
use crate::{json_of_file, site};

const INDEX: &str = "ache-data";
/// The label of a chart for pages without the field.
const MISSING: &str = "__missing__";

#[test]
fn the_template_files_are_what_the_code_makes() {
    for (path, headers) in [
        ("docs/elasticsearch/index-template.json", HeaderType::Flattened),
        ("docs/elasticsearch/index-template.opensearch.json", HeaderType::FlatObject),
    ] {
        let made = template_body(INDEX, headers);
        assert_eq!(json_of_file(path), made, "{path} has to be:\n{made:#}");
    }
}

#[test]
fn elasticsearch_holds_what_is_documented() {
    let node = Node::start("elasticsearch", "8.19.21");
    check(&node, "docs/elasticsearch/index-template.json", saved_objects::KIBANA);
}

#[test]
fn opensearch_holds_what_is_documented() {
    let node = Node::start("opensearch", "2.19.0");
    check(&node, "docs/elasticsearch/index-template.opensearch.json", saved_objects::OPENSEARCH_DASHBOARDS);
}

fn check(node: &Node, template: &str, objects: &str) {
    let site = site::start();
    let settings = format!(
        "target_storage.data_formats: [ELASTICSEARCH]\n\
         target_storage.data_format.elasticsearch.rest.hosts: ['{}']\n",
        node.url
    );
    site::crawl(&site, &settings);
    let documents = documents(node);
    let urls: BTreeSet<String> = site::expected().keys().map(|path| format!("{}{path}", site.origin(0))).collect();
    assert_eq!(documents.keys().cloned().collect::<BTreeSet<_>>(), urls);
    let sources: Vec<Value> = documents.into_values().collect();
    assert_valid("elastic-document", &sources);
    let redirected: Vec<_> = sources.iter().filter(|it| it["redirectedUrl"].is_string()).map(|it| &it["url"]).collect();
    assert_eq!(redirected, [&json!(site.origin(0) + "/moved")]);

    let objects = saved_objects::objects(objects);
    for chart in of_type(&objects, "visualization") {
        check_chart(node, &chart, &sources);
    }
    for search in of_type(&objects, "search") {
        check_search(node, &search["attributes"], sources.len());
    }
    check_template(node, template);
}

/// `_id` → the document.
fn documents(node: &Node) -> BTreeMap<String, Value> {
    node.count_all(INDEX);
    let found = node.get(&format!("/{INDEX}/_search?size=1000"));
    let document = |hit: &Value| (hit["_id"].as_str().unwrap().to_owned(), hit["_source"].clone());
    let documents: BTreeMap<_, _> = found["hits"]["hits"].as_array().unwrap().iter().map(document).collect();
    assert!(documents.iter().all(|(id, source)| source["url"] == id.as_str()));
    documents
}

/// The template in the file, put as docs/consuming.md says, creates the same index as Seine.
fn check_template(node: &Node, path: &str) {
    let mapping = || node.get(&format!("/{INDEX}/_mapping"))[INDEX]["mappings"].clone();
    let made_by_seine = mapping();
    assert_eq!(node.ask(Method::DELETE, &format!("/{INDEX}"), None).0, 200);
    assert_eq!(node.ask(Method::DELETE, &format!("/_index_template/seine-{INDEX}"), None).0, 200);
    node.put(&format!("/_index_template/seine-{INDEX}"), &json_of_file(path));
    node.put(&format!("/{INDEX}"), &json!({}));
    assert_eq!(mapping(), made_by_seine);
}

/// A chart's aggregations as its application sends them, innermost first, and its figures compared with the documents.
fn check_chart(node: &Node, chart: &Value, sources: &[Value]) {
    let title = chart["attributes"]["title"].as_str().unwrap();
    let (metrics, buckets): (Vec<_>, Vec<_>) = aggregations(chart).into_iter().partition(|it| it["schema"] == "metric");
    let mut asked = Map::new();
    for metric in metrics.iter().filter(|it| it["type"] != "count") {
        asked.insert(metric["id"].as_str().unwrap().into(), request(metric));
    }
    let all_metrics = asked.clone();
    for bucket in buckets.iter().rev() {
        let mut outer = request(bucket);
        outer["aggs"] = asked.into();
        asked = Map::from_iter([(bucket["id"].as_str().unwrap().to_owned(), outer)]);
    }
    // The metrics over everything, besides those in each bucket.
    asked.extend(all_metrics);
    let body = json!({ "size": 0, "aggs": asked });
    let (status, answer) = node.ask(Method::POST, &format!("/{INDEX}/_search"), Some(&body));
    assert_eq!(status, 200, "{title}: {body}\n{answer}");
    let figures = &answer["aggregations"];

    for metric in metrics.iter().filter(|it| it["type"] != "count") {
        let values = values(sources, metric, None);
        let shown = &figures[metric["id"].as_str().unwrap()];
        match metric["type"].as_str().unwrap() {
            "cardinality" => assert_eq!(shown["value"], values.iter().collect::<BTreeSet<_>>().len(), "{title}"),
            "max" => assert_eq!(shown["value_as_string"], newest(&values), "{title}"),
            other => panic!("{title}: this test does not know {other}"),
        }
    }
    if buckets.is_empty() {
        return;
    }
    let terms = buckets.iter().find(|it| it["type"] == "terms").expect("every chart has terms");
    let missing = terms["params"]["missingBucket"].as_bool().unwrap().then_some(MISSING);
    let mut expected = BTreeMap::new();
    for value in values(sources, terms, missing) {
        *expected.entry(value).or_insert(0) += 1;
    }
    let mut counted = BTreeMap::new();
    count(figures, &buckets, &mut counted);
    assert!(!counted.is_empty());
    assert_eq!(counted, expected, "{title}: {answer:#}");
}

fn request(aggregation: &Value) -> Value {
    let params = &aggregation["params"];
    match aggregation["type"].as_str().unwrap() {
        "terms" => {
            assert_eq!(params["orderBy"], "1", "by the number of pages");
            let mut terms =
                json!({ "field": params["field"], "size": params["size"], "order": { "_count": params["order"] } });
            if params["missingBucket"] == true {
                terms["missing"] = json!(MISSING);
            }
            json!({ "terms": terms })
        }
        "date_histogram" => {
            let least = &params["min_doc_count"];
            json!({ "date_histogram": { "field": params["field"], "fixed_interval": "1s", "min_doc_count": least } })
        }
        kind => json!({ kind: { "field": params["field"] } }),
    }
}

/// Number of pages by term, at any time.
fn count(figures: &Value, buckets: &[Value], counted: &mut BTreeMap<String, u64>) {
    let Some((outer, inner)) = buckets.split_first() else { return };
    for bucket in figures[outer["id"].as_str().unwrap()]["buckets"].as_array().unwrap() {
        if outer["type"] == "terms" {
            *counted.entry(text(&bucket["key"])).or_insert(0) += bucket["doc_count"].as_u64().unwrap();
        } else {
            count(bucket, inner, counted);
        }
    }
}

fn values(sources: &[Value], aggregation: &Value, missing: Option<&str>) -> Vec<String> {
    let field = aggregation["params"]["field"].as_str().unwrap();
    let value = |source: &Value| match &source[field] {
        Value::Null => missing.map(str::to_owned),
        value => Some(text(value)),
    };
    sources.iter().filter_map(value).collect()
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The newest of some times in documents, in the form that servers show.
fn newest(times: &[String]) -> String {
    times.iter().max().unwrap().replace("+0000", "Z")
}

fn check_search(node: &Node, search: &Value, pages: usize) {
    let [sort] = &search["sort"].as_array().unwrap()[..] else { panic!("one order: {search}") };
    let body = json!({ "sort": [{ sort[0].as_str().unwrap(): sort[1] }], "_source": search["columns"], "size": 100 });
    let (status, answer) = node.ask(Method::POST, &format!("/{INDEX}/_search"), Some(&body));
    assert_eq!(status, 200, "{answer}");
    let hits = answer["hits"]["hits"].as_array().unwrap();
    assert_eq!(hits.len(), pages);
    assert!(hits.is_sorted_by_key(|hit| std::cmp::Reverse(hit["sort"][0].as_i64().unwrap())));
    let shown = |hit: &Value| hit["_source"].as_object().unwrap().len();
    assert!(hits.iter().all(|hit| shown(hit) == search["columns"].as_array().unwrap().len()));
}
