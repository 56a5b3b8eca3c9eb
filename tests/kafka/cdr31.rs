//! The CDR 3.1 codec.

use std::borrow::Cow;

use proptest::prelude::*;
use seine_formats::cdr31::{self, CdrRecord};
use seine_formats::text::IsoSeconds;
use seine_parse::page::{Hop, Kind};

use crate::{derive, html, page, response};

fn written(event: &seine_parse::page::PageEvent, team: Option<&str>) -> Option<String> {
    let mut out = b"before".to_vec();
    let held = cdr31::write_event(event, &derive(event), team, 1_795_272_000_999, &mut out);
    let text = String::from_utf8(out.split_off(6)).unwrap();
    assert_eq!(out, b"before");
    assert_eq!(held, !text.is_empty());
    held.then_some(text)
}

fn latin1() -> seine_parse::page::PageEvent {
    let mut event = page(1, "text/html; charset=ISO-8859-1", b"<title>caf\xe9</title>\"\\\0");
    event.final_url = "http://b.example/there".into();
    event.hops.push(Hop {
        url: event.url.clone(),
        status: 302,
        headers: Default::default(),
        target: event.final_url.clone(),
        ip: None,
    });
    let headers = &mut response(&mut event).headers;
    headers.push("set-cookie", "a=1");
    headers.push("server", "x");
    headers.push("set-cookie", "b=2; Path=/");
    event
}

#[test]
fn a_document_has_ache_keys_in_aches_order() {
    insta::assert_snapshot!(written(&latin1(), Some("NYU")).unwrap());
    assert!(!written(&latin1(), None).unwrap().contains("team"));
}

#[test]
fn html_pages_alone_are_held() {
    assert!(written(&html(1, ""), None).is_some());
    let looks_like_it = page(1, "", b"<!DOCTYPE html><p>x");
    let document = written(&looks_like_it, None).unwrap();
    assert_eq!(cdr31::parse_document(document.as_bytes()).unwrap().content_type.as_deref(), Some(""));
    let mut untyped = looks_like_it;
    response(&mut untyped).headers.0.clear();
    let document = written(&untyped, None).unwrap();
    assert_eq!(cdr31::parse_document(document.as_bytes()).unwrap().content_type.as_deref(), Some("text/html"));

    assert!(written(&page(1, "text/plain", b"x"), None).is_none());
    assert!(written(&page(1, "application/pdf", b"%PDF"), None).is_none());
    let mut missing = html(1, "x");
    response(&mut missing).status = 404;
    assert!(written(&missing, None).is_none());
    let mut sitemap = html(1, "x");
    sitemap.kind = Kind::Sitemap;
    assert!(written(&sitemap, None).is_none());
}

#[test]
fn a_redelivered_page_has_the_same_id() {
    let id = cdr31::id_of("http://b.example/there", 1_795_271_825_985);
    assert!(written(&latin1(), None).unwrap().starts_with(&format!("{{\"_id\":\"{id}\"")));
    assert_eq!(id, cdr31::id_of("http://b.example/there", 1_795_271_825_001), "whole seconds count");
    assert_ne!(id, cdr31::id_of("http://b.example/there", 1_795_271_826_000));
}

#[test]
fn what_ache_wrote_is_read() {
    let ache = r#"{"_id":"E04D737AEAD2106BBB05EE72213CA76543A3F6FFB88D2D03B2B47CD539D8EAB5","content_type":"text/html; charset=utf-8","crawler":"ACHE","objects":[],"raw_content":"<title>Host B page</title>\n","response_headers":{"Server":"golden/1.0","Content-Length":"321","Date":"Sat, 01 Jan 2022 00:00:00 GMT"},"team":"NYU","timestamp_crawl":"2026-11-21T14:37:07Z","timestamp_index":"2026-11-21T14:40:00Z","url":"http://127.0.0.52:8801/b.html","version":3.1}"#;
    let record = cdr31::parse_document(ache.as_bytes()).unwrap();
    assert_eq!(
        (record.timestamp_crawl, record.timestamp_index),
        (IsoSeconds(1_795_271_827_000), Some(IsoSeconds(1_795_272_000_000)))
    );
    let mut again = Vec::new();
    record.write(&mut again);
    assert_eq!(String::from_utf8(again).unwrap(), ache);

    // CDR 3.0, keys in another order, and an unknown key.
    let older = r#"{"version":3.0,"url":"u","extra":{"a":[1]},"_id":"I","crawler":"c","raw_content":"","objects":[{"obj_stored_url":"s"}],"timestamp_crawl":"2016-01-01T01:00:00.5+01:00"}"#;
    let record = cdr31::parse_document(older.as_bytes()).unwrap();
    assert_eq!((record.timestamp_crawl, record.objects.len()), (IsoSeconds(1_451_606_400_500), 1));

    for wrong in [
        &ache.replace("3.1", "2.0"),
        &ache.replace("2026-11-21T14:37:07Z", "yesterday"),
        &ache.replace("\"url\"", "\"urn\""),
        &ache.replace("}", ""),
    ] {
        cdr31::parse_document(wrong.as_bytes()).unwrap_err();
    }
}

proptest! {
    #[test]
    fn a_record_is_read_as_it_was_written(
        (id, crawler, raw_content, url) in any::<(String, String, String, String)>(),
        (content_type, team) in any::<(Option<String>, Option<String>)>(),
        response_headers in any::<Vec<(String, String)>>(),
        (crawl, index) in (0..253_402_300_799_u64, 0..253_402_300_799_u64),
    ) {
        let (timestamp_crawl, timestamp_index) = (IsoSeconds(crawl * 1000), Some(IsoSeconds(index * 1000)));
        let objects = vec![serde_json::json!({"content_type": "image/png"})];
        let response_headers = response_headers.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        let record = CdrRecord {
            id: id.into(),
            content_type: content_type.map(Cow::from),
            crawler: crawler.into(),
            objects,
            raw_content: raw_content.into(),
            response_headers,
            team: team.map(Cow::from),
            timestamp_crawl,
            timestamp_index,
            url: url.into(),
            version: cdr31::VERSION,
            truncated: None,
        };
        let mut out = Vec::new();
        record.write(&mut out);
        prop_assert_eq!(cdr31::parse_document(&out).unwrap(), record);
    }
}
