//! The mapping of the ELASTICSEARCH format: how each field is indexed, and whether an existing index can take our
//! documents. For servers without types: Elasticsearch 7 and newer, OpenSearch.

use serde_json::{Map, Value, json};

/// Longer values are stored but not indexed. Lucene accepts no term over 32,766 bytes, and a character may take four.
const IGNORE_ABOVE: usize = 8191;

/// How the response headers are indexed. The types are tried in this order until the server knows one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderType {
    /// Elasticsearch: one field for all header names.
    Flattened,
    /// The corresponding type of OpenSearch.
    FlatObject,
    /// Stored but not indexed.
    Unindexed,
}

impl HeaderType {
    pub const ALL: [HeaderType; 3] = [HeaderType::Flattened, HeaderType::FlatObject, HeaderType::Unindexed];

    /// Name of the field type. A server without this type names it in its error.
    pub fn name(self) -> &'static str {
        match self {
            HeaderType::Flattened => "flattened",
            HeaderType::FlatObject => "flat_object",
            HeaderType::Unindexed => "object",
        }
    }

    fn field(self) -> Value {
        match self {
            HeaderType::Flattened => json!({ "type": "flattened", "ignore_above": IGNORE_ABOVE }),
            HeaderType::FlatObject => json!({ "type": "flat_object" }),
            HeaderType::Unindexed => json!({ "type": "object", "enabled": false }),
        }
    }
}

/// `index.gc_deletes` of an index that Seine creates: how long the server remembers a deletion and refuses older
/// documents. The default of one minute is shorter than an outage. A page may also come days later, as a dead letter
/// replayed by people. Each deletion takes about 200 bytes of the server's memory.
pub const GC_DELETES: &str = "7d";

/// The body of `PUT /<index>`.
pub fn index_body(headers: HeaderType) -> Value {
    json!({
        "settings": { "index": { "gc_deletes": GC_DELETES } },
        "mappings": { "properties": fields(headers) },
    })
}

/// The body of `PUT /_index_template/<name>`. If somebody deletes the index and the server creates it again, it gets
/// the same mapping.
pub fn template_body(index: &str, headers: HeaderType) -> Value {
    json!({ "index_patterns": [index], "priority": 500, "template": index_body(headers) })
}

/// Every field with its mapping.
pub fn fields(headers: HeaderType) -> Map<String, Value> {
    let keyword = || json!({ "type": "keyword", "ignore_above": IGNORE_ABOVE });
    let text = || json!({ "type": "text" });
    let date = || json!({ "type": "date", "format": "date_optional_time||epoch_millis" });
    let fields = [
        ("domain", keyword()),
        ("url", keyword()),
        ("title", text()),
        ("text", text()),
        ("retrieved", date()),
        ("words", keyword()),
        ("wordsMeta", keyword()),
        ("topPrivateDomain", keyword()),
        ("html", json!({ "type": "text", "index": false })),
        ("responseHeaders", headers.field()),
        ("isRelevant", keyword()),
        ("relevance", json!({ "type": "double" })),
        ("crawlerId", keyword()),
        ("redirectedUrl", keyword()),
        ("status", json!({ "type": "short" })),
        ("contentType", keyword()),
        ("language", keyword()),
        ("digest", keyword()),
        ("eventId", keyword()),
        ("change", keyword()),
        ("truncated", keyword()),
        ("wall", keyword()),
        ("wallEvidence", keyword()),
        ("distance", json!({ "type": "short" })),
        ("relevanceModel", keyword()),
        ("preferences", preferences()),
        ("duplicateOf", keyword()),
        ("duplicateKind", keyword()),
        ("duplicateDistance", json!({ "type": "short" })),
        ("markdown", json!({ "type": "text", "index": false })),
        ("textConfidence", json!({ "type": "half_float" })),
        ("languageDetected", keyword()),
        ("languageConfidence", json!({ "type": "half_float" })),
        ("description", text()),
        ("keywords", keyword()),
        ("author", keyword()),
        ("authorFrom", keyword()),
        ("published", date()),
        ("publishedFrom", keyword()),
        ("modified", date()),
        ("modifiedSource", keyword()),
        ("modifiedFrom", keyword()),
        ("canonical", keyword()),
        ("alternates", headers.field()),
        ("openGraph", headers.field()),
        ("types", keyword()),
        ("headline", text()),
        ("headings", text()),
        ("license", keyword()),
        ("contentLanguage", keyword()),
    ];
    fields.into_iter().map(|(name, field)| (name.to_owned(), field)).collect()
}

/// Statements can be searched by part: `preferences.says: "train-ai=n"`.
fn preferences() -> Value {
    let keyword = || json!({ "type": "keyword", "ignore_above": IGNORE_ABOVE });
    json!({ "type": "object", "properties": {
        "scheme": keyword(), "source": keyword(), "line": { "type": "integer" }, "says": keyword(), "terms": keyword(),
    } })
}

/// How an existing index differs from our mapping.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Comparison {
    /// One sentence for each field with an incompatible mapping, such as `url is text, and has to be keyword`.
    pub conflicts: Vec<String>,
    /// Missing fields, which can be added.
    pub missing: Vec<String>,
    /// Header names become fields of their own, as with ACHE, up to the index's limit of fields.
    pub headers_are_fields: bool,
}

/// Compares an index's mapping (`mappings` of `GET /<index>/_mapping`) with ours. Other fields do not matter.
pub fn compare(mappings: &Value) -> Comparison {
    let mut comparison = Comparison::default();
    let theirs = mappings.get("properties").and_then(Value::as_object);
    for (name, ours) in fields(HeaderType::Flattened) {
        let Some(field) = theirs.and_then(|fields| fields.get(&name)) else {
            comparison.missing.push(name);
            continue;
        };
        let given = field.get("type").and_then(Value::as_str).unwrap_or("object");
        let wanted = ours.get("type").and_then(Value::as_str).unwrap_or_default();
        if !accepted(&name, wanted).contains(&given) {
            comparison.conflicts.push(format!("{name} is {given}, and has to be {wanted}"));
        }
        comparison.headers_are_fields |=
            name == "responseHeaders" && given == "object" && field.get("enabled").is_none();
    }
    if mappings["_routing"]["required"] == true {
        comparison.conflicts.push("_routing is required, and pages have none".to_owned());
    }
    if mappings["_source"]["enabled"] == false {
        comparison.conflicts.push("_source is not stored, so unchanged pages cannot be updated".to_owned());
    }
    comparison
}

/// The field types that accept our documents and allow the documented searches.
fn accepted<'a>(name: &str, wanted: &'a str) -> Vec<&'a str> {
    match (name, wanted) {
        ("responseHeaders" | "alternates" | "openGraph", _) => vec!["flattened", "flat_object", "object"],
        ("html", _) => vec!["text", "match_only_text", "wildcard"],
        (_, "text") => vec!["text", "match_only_text"],
        (_, "keyword") => vec!["keyword", "wildcard"],
        (_, "date") => vec!["date", "date_nanos"],
        (_, "double") => vec!["double", "float", "half_float", "scaled_float"],
        (_, "short") => vec!["short", "integer", "long", "keyword"],
        (_, other) => vec![other],
    }
}
