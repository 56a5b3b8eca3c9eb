//! The probe: finds out whether the page or the index is at fault when a document is rejected, by sending a harmless
//! document.
//!
//! The probe passes through pipeline and mapping like any page but is never written: it asks to replace a version that
//! does not exist. An index that takes pages answers with a version conflict.

use std::sync::LazyLock;

use bytes::Bytes;
use elasticsearch::http::Method;
use seine_formats::elastic::ElasticDocument;
use seine_formats::elastic_about::{ElasticAbout, TimeSource};
use seine_parse::about::Origin;
use seine_parse::page::PageChange;
use seine_parse::page::preferences::{Says, Scheme, Source, Statement, Usage};

use super::client::{Client, NDJSON, bulk_path};
use super::verdict::BulkAnswer;

/// About the size of a page, so that an index that takes only small requests does not pass.
const BODY_BYTES: usize = 16 << 10;

/// The result of the probe.
pub(super) enum ProbeResult {
    /// The index takes pages, so the rejected page was at fault.
    Well,
    /// The index rejects every page, with the reason.
    RefusesAll(String),
    /// The index does not take pages at the moment.
    NotNow(String),
}

/// Probes the index without writing. `beside` is a document id; its shard is probed.
pub(super) async fn probe(client: &Client, index: &str, beside: Option<&str>) -> ProbeResult {
    match ask(client, index, beside).await {
        // The alias may set the routing itself, so try again without it.
        ProbeResult::RefusesAll(reason) if beside.is_some() && reason.contains("routing") => {
            ask(client, index, None).await
        }
        found => found,
    }
}

async fn ask(client: &Client, index: &str, beside: Option<&str>) -> ProbeResult {
    let path = bulk_path(index);
    let answer = match client.send(Method::Post, &path, Some((lines(beside), NDJSON))).await {
        Ok(answer) => answer,
        Err(reason) => return ProbeResult::NotNow(reason.to_string()),
    };
    match answer.status {
        200 => {}
        400 => return ProbeResult::RefusesAll(answer.shown()),
        _ => return ProbeResult::NotNow(answer.shown()),
    }
    let verdict = serde_json::from_slice::<BulkAnswer>(&answer.body).ok().and_then(|answer| answer.into_items().next());
    match verdict {
        Some(verdict) if verdict.is_there() => ProbeResult::Well,
        Some(verdict) if verdict.status == 400 => ProbeResult::RefusesAll(verdict.shown()),
        Some(verdict) => ProbeResult::NotNow(verdict.shown()),
        None => ProbeResult::NotNow(format!("not an answer to a bulk: {}", answer.shown())),
    }
}

/// Advice to the operator about a server that rejects every page, judged by its message.
pub(super) fn remedy(reason: &str) -> &'static str {
    let says = |words: &[&str]| words.iter().any(|word| reason.contains(word));
    if says(&["data stream"]) {
        "a data stream cannot replace a page by a newer version: name an index with -e or index_name"
    } else if says(&["pipeline", "processor"]) {
        "create or repair that ingest pipeline, or remove index.default_pipeline and index.final_pipeline from the index's settings"
    } else if says(&["maximum normal shards", "maximum shards", "max_shards_per_node", "this action would add"]) {
        "delete unused indices, or raise cluster.max_shards_per_node"
    } else if says(&["write index"]) {
        "mark one index of the alias as its is_write_index"
    } else {
        "check the mapping and the settings of the index, or of the one that its alias points to now"
    }
}

fn lines(beside: Option<&str>) -> Bytes {
    // Elasticsearch counts from 0, so no document has this sequence number.
    let mut action = serde_json::json!({
        "index": { "_id": "seine-asks-whether-pages-are-taken", "if_seq_no": 1_u64 << 52, "if_primary_term": 1 }
    });
    if let Some(id) = beside {
        action["index"]["routing"] = id.into();
    }
    let mut lines = format!("{action}\n").into_bytes();
    lines.extend_from_slice(&DOCUMENT);
    lines.push(b'\n');
    lines.into()
}

static DOCUMENT: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut json = Vec::new();
    document().write(&mut json);
    json
});

/// Every field as in an ordinary page.
fn document() -> ElasticDocument<'static> {
    let text = "An ordinary page, with which Seine asks whether this index takes pages. ";
    let html = format!("<html lang=en><title>Probe</title><body>{}", text.repeat(BODY_BYTES / text.len()));
    let (says, terms) = (Says::one(Usage::Search, true), Some("http://probe.example/".into()));
    let statement = Statement { scheme: Scheme::Rsl, source: Source::RobotsTxt, line: 1, says, terms };
    ElasticDocument {
        truncated: None,
        wall: None,
        wall_evidence: None,
        duplicate_of: None,
        duplicate_kind: None,
        duplicate_distance: None,
        domain: "probe.example".into(),
        url: "http://probe.example/".into(),
        title: Some("Probe".into()),
        text: Some(text.into()),
        retrieved: 1_790_000_000_000,
        words: Some(["ordinary", "page"].into_iter().collect()),
        words_meta: Some(["probe"].into_iter().collect()),
        top_private_domain: "probe.example".into(),
        html: Some(html.into()),
        response_headers: vec![("content-type".into(), vec!["text/html".into()])],
        is_relevant: true,
        relevance: 1.0,
        crawler_id: "default".into(),
        redirected_url: Some("http://probe.example/".into()),
        status: Some(200),
        content_type: Some("text/html".into()),
        language: Some("en".into()),
        digest: Some("0".repeat(64).into()),
        event_id: Some("0".repeat(32).into()),
        change: Some(PageChange::New),
        distance: Some(0),
        relevance_model: Some("model@00000000".into()),
        preferences: Some(vec![statement].into()),
        markdown: Some("Probe".into()),
        text_confidence: Some(1.0),
        language_detected: Some("en".into()),
        language_confidence: Some(1.0),
        about: ElasticAbout {
            description: Some(text.into()),
            keywords: vec!["probe".into()],
            author: vec!["Seine".into()],
            author_from: Some(Origin::Meta),
            published: Some(1_790_000_000_000),
            published_from: Some(Origin::Meta),
            modified: Some(1_790_000_000_000),
            modified_source: Some(TimeSource::Page),
            modified_from: Some(Origin::Meta),
            canonical: Some("http://probe.example/".into()),
            alternates: vec![("de".into(), vec!["http://probe.example/de".into()])],
            open_graph: vec![("type".into(), vec!["article".into()])],
            types: vec!["Article".into()],
            headline: Some("Probe".into()),
            headings: vec!["Probe".into()],
            license: vec!["https://creativecommons.org/licenses/by/4.0/".into()],
            content_language: Some("en".into()),
        },
    }
}
