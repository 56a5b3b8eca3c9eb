//! The mapping, and how other mappings affect our documents.

use std::collections::BTreeSet;

use seine_formats::elastic::write_event;
use seine_formats::elastic_mapping::{HeaderType, compare, fields, index_body, template_body};
use seine_parse::PageText;
use seine_parse::clean_text::TextOptions;
use seine_parse::page::{Outcome, Truncated};
use seine_parse::walls::{Wall, WallKind};
use serde_json::{Value, json};

use crate::{changed, page, text};

#[test]
fn every_field_of_the_document_is_mapped_and_no_other() {
    let about = "<meta name=description content=d><meta name=keywords content=k><meta name=author content=a><meta name=date content=2026-05-17>\
        <meta property=og:updated_time content=2026-05-18><meta http-equiv=content-language content=en><link rel=canonical href=/c>\
        <link rel=alternate hreflang=de href=/de><a rel=license href=/l>l</a><h1>h</h1>\
        <script type=application/ld+json>{\"@type\":\"Article\",\"headline\":\"h\"}</script>\
        <p>The boats came back with the tide in the evening, and most of what they had caught was sold before it was dark.";
    let mut event = changed(page("http://a.example/", "text/html", about));
    event.model = Some("topic@0a1b2c3d".into());
    if let Outcome::Response(response) = &mut event.outcome {
        response.truncated = Some(Truncated::Disconnect);
        let wall = Wall { kind: WallKind::Cloudflare, evidence: "cf-mitigated".into(), is_delivered: true };
        response.wall = Some(wall.into());
    }
    let mut document = Vec::new();
    let options = TextOptions { markdown: true, language: true, ..TextOptions::default() };
    write_event(&event, &PageText { options, ..text(&event) }, 0, &mut document);
    let document: Value = serde_json::from_slice(&document).unwrap();
    let names: BTreeSet<&String> = document.as_object().unwrap().keys().collect();
    for headers in HeaderType::ALL {
        assert_eq!(fields(headers).keys().collect::<BTreeSet<_>>(), names);
    }
}

#[test]
fn our_own_mapping_needs_nothing() {
    for headers in HeaderType::ALL {
        assert_eq!(compare(&index_body(headers)["mappings"]), Default::default());
    }
    let template = template_body("pages", HeaderType::Flattened);
    assert_eq!(template["index_patterns"], json!(["pages"]));
    assert_eq!(template["template"], index_body(HeaderType::Flattened));
}

#[test]
fn an_empty_index_lacks_every_field() {
    for nothing in [json!({}), json!(null), json!({ "properties": {} })] {
        let comparison = compare(&nothing);
        assert_eq!((comparison.missing.len(), comparison.conflicts.len()), (fields(HeaderType::Flattened).len(), 0));
    }
}

/// Every page, or every unchanged one, would become a dead letter.
#[test]
fn an_index_that_needs_routing_or_keeps_no_source_does_not_do() {
    for mappings in [json!({ "_routing": { "required": true } }), json!({ "_source": { "enabled": false } })] {
        assert_eq!(compare(&mappings).conflicts.len(), 1, "{mappings}");
    }
    let usual = json!({ "_routing": { "required": false }, "_source": { "enabled": true } });
    assert_eq!(compare(&usual).conflicts, [""; 0]);
}

#[test]
fn what_the_server_guessed_is_named_where_it_does_not_do() {
    // The mapping that a server guesses for our documents.
    let text = || json!({ "type": "text", "fields": { "keyword": { "type": "keyword", "ignore_above": 256 } } });
    let guessed = json!({ "properties": {
        "domain": text(), "title": text(), "retrieved": text(), "relevance": { "type": "float" }, "html": text(),
        "status": { "type": "long" }, "responseHeaders": { "properties": { "server": text() } },
        "crawlerId": { "properties": { "x": text() } },
    }});
    let comparison = compare(&guessed);
    let expected = [
        "crawlerId is object, and has to be keyword",
        "domain is text, and has to be keyword",
        "retrieved is text, and has to be date",
    ];
    assert_eq!(comparison.conflicts, expected);
    assert!(comparison.headers_are_fields);
    assert!(comparison.missing.contains(&"url".to_owned()) && !comparison.missing.contains(&"title".to_owned()));
}
