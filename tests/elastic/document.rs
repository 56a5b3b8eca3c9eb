//! The document: its fields, their order, and reading it back.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use seine_formats::elastic::{
    ElasticDocument, MAX_ID_BYTES, document_id, document_version, parse_document, write_event,
};
use seine_formats::files::stores_event;
use seine_parse::PageText;
use seine_parse::clean_text::{Extractor, TextOptions};
use seine_parse::page::{
    Failure, FailureReason, Headers, Hop, Kind, Outcome, PageChange, PageEvent, Relevance, TextChange,
};
use serde_json::Value;

use crate::{FETCHED, at, changed, numbered, page, response, text};

fn written(event: &PageEvent) -> String {
    let mut out = Vec::new();
    assert!(write_event(event, &text(event), 0, &mut out));
    String::from_utf8(out).expect("JSON is UTF-8")
}

fn value(event: &PageEvent) -> Value {
    serde_json::from_str(&written(event)).expect("JSON")
}

#[test]
fn a_page_is_written_field_by_field_in_this_order() {
    let html = "<html lang=en><head><title>Eels &amp; nets</title><meta name=keywords content=fish></head>\
        <body><p>Eels, \"eels\".</p></body></html>";
    let mut event = page("http://www.example.co.uk/a?b=1", "text/html; charset=utf-8", html);
    event.hops = vec![Hop {
        url: event.url.clone(),
        status: 301,
        headers: Headers::default(),
        target: "http://www.example.co.uk/c".into(),
        ip: None,
    }];
    event.final_url = "http://www.example.co.uk/c".into();
    event.change = Some(PageChange::Changed);
    event.relevance = Relevance { relevance: 0.625, is_relevant: true };
    response(&mut event).headers.push("set-cookie", "a=1");
    response(&mut event).headers.push("set-cookie", "b=2");
    let expected = concat!(
        r#"{"domain":"example.co.uk","url":"http://www.example.co.uk/a?b=1","title":"Eels & nets","text":"","#,
        r#""retrieved":"2026-11-21T14:37:05.985+0000","words":["eels","nets","example","co","uk"],"#,
        r#""wordsMeta":["fish"],"topPrivateDomain":"example.co.uk","#,
        r#""html":"<html lang=en><head><title>Eels &amp; nets</title><meta name=keywords content=fish></head>"#,
        r#"<body><p>Eels, \"eels\".</p></body></html>","#,
        r#""responseHeaders":{"server":["test/1.0"],"content-type":["text/html; charset=utf-8"],"#,
        r#""set-cookie":["a=1","b=2"]},"isRelevant":"relevant","relevance":0.625,"crawlerId":"test","#,
        r#""redirectedUrl":"http://www.example.co.uk/c","status":200,"contentType":"text/html; charset=utf-8","#,
        r#""language":"en","digest":"bd632b1cb852e3d5a322f29102a89f1111442ed1eef8c190a6cd58af8f3c9a30","#,
        r#""eventId":"0190163d8694739b9f0c1a2b3c4d5e6f","change":"changed","keywords":["fish"]}"#,
    );
    assert_eq!(written(&event), expected);
}

#[test]
fn a_page_says_what_it_is_about() {
    let html = "<html lang=en><base href=/b/><meta name=description content=Eels><meta name=author content=Ann>\
        <meta property=article:published_time content=2026-11-20><meta property=og:type content=article>\
        <link rel=alternate hreflang=de href=de><link rel=canonical href=/eels><a rel=license href=../free>x</a><h2>Nets</h2>\
        <script type=application/ld+json>{\"@type\":\"Article\",\"headline\":\"All eels\"}</script>";
    let mut event = page("http://a.example/eels?x", "text/html", html);
    response(&mut event).headers.push("last-modified", "Sat, 21 Nov 2026 08:00:00 GMT");
    response(&mut event).headers.push("content-language", "en, de");
    let document = value(&event);
    let expected = serde_json::json!({
        "description": "Eels", "author": ["Ann"], "authorFrom": "meta", "published": "2026-11-20T00:00:00.000+0000",
        "modified": "2026-11-21T08:00:00.000+0000", "modifiedSource": "header", "canonical": "http://a.example/eels",
        "alternates": { "de": ["http://a.example/b/de"] }, "openGraph": { "type": ["article"] }, "types": ["Article"],
        "headline": "All eels", "headings": ["Nets"], "license": ["http://a.example/free"], "contentLanguage": "en, de",
    });
    for (field, said) in expected.as_object().unwrap() {
        assert_eq!(&document[field], said, "{field}");
    }
    assert_eq!(document.get("keywords"), None);
    let by_itself = page("http://a.example/", "text/html", "<meta property=og:updated_time content=2026-01-02>");
    assert_eq!(value(&by_itself)["modifiedSource"], "page");
}

#[test]
fn what_is_not_html_has_no_text_but_is_there() {
    let document = value(&page("http://a.example/x.pdf", "application/pdf", &b"%PDF\xff"[..]));
    for field in ["title", "text", "words", "wordsMeta", "html", "language", "redirectedUrl"] {
        assert_eq!(document[field], Value::Null, "{field}");
    }
    assert_eq!((&document["isRelevant"], &document["relevance"]), (&"irrelevant".into(), &0.0.into()));
}

#[test]
fn a_page_is_decoded_in_its_true_charset() {
    let latin = page("http://a.example/", "text/html; charset=iso-8859-1", &b"<title>caf\xe9</title>na\xefve"[..]);
    let document = value(&latin);
    assert_eq!(document["title"], "café");
    assert_eq!(document["html"], "<title>café</title>naïve");
    assert_eq!(document["words"], serde_json::json!(["café", "cafe", "a", "example", "naïve", "naive"]));
    // XHTML is HTML, and so is content that only looks like HTML.
    assert_eq!(value(&page("http://a.example/", "application/xhtml+xml", "<title>x</title>"))["title"], "x");
}

#[test]
fn a_coded_body_is_decoded_and_loses_the_headers_that_described_it() {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(b"<title>gz</title>").unwrap();
    let mut event = page("http://a.example/", "text/html", gzip.finish().unwrap());
    response(&mut event).headers.push("content-encoding", "gzip");
    let document = value(&event);
    assert_eq!(document["html"], "<title>gz</title>");
    assert_eq!(document["responseHeaders"]["content-encoding"], Value::Null);
    assert_eq!(document["digest"], value(&page("http://a.example/", "text/html", "<title>gz</title>"))["digest"]);
}

#[test]
fn what_is_no_successful_page_is_not_held() {
    let mut missing = page("http://a.example/", "text/html", "x");
    response(&mut missing).status = 404;
    let mut sitemap = page("http://a.example/", "text/xml", "x");
    sitemap.kind = Kind::Sitemap;
    let mut failed = page("http://a.example/", "text/html", "x");
    failed.outcome = Outcome::Failure(Failure { reason: FailureReason::Dns, message: "no such host".into() });
    for event in [missing, sitemap, failed] {
        let mut out = Vec::new();
        assert!(!stores_event(&event) && !write_event(&event, &text(&event), 0, &mut out) && out.is_empty());
    }
}

#[test]
fn the_main_text_is_that_of_the_extractor_asked_for() {
    let event = numbered(1);
    let written = |extractor: Extractor, markdown: bool| {
        let text = PageText { options: TextOptions { extractor, markdown, language: false }, ..text(&event) };
        let mut out = Vec::new();
        assert!(write_event(&event, &text, 0, &mut out));
        parse_document(&out).unwrap()
    };
    let plain = written(Extractor::Boilerpipe, false);
    assert_eq!((plain.text.as_deref(), &plain.markdown, plain.text_confidence), (Some(""), &None, None));
    let readable = written(Extractor::Readable, true);
    assert_eq!(readable.text.as_deref(), Some("Heading 1\nText of page number 1.\n"));
    assert_eq!(readable.markdown.as_deref(), Some("# Heading 1\n\nText of page number 1.\n"));
    assert!(readable.text_confidence.is_some_and(|it| (0.0..=1.0).contains(&it)));
}

/// In addition to the declared language, which may be wrong.
#[test]
fn a_document_says_which_language_its_text_is_in() {
    let german = "Die Boote kamen am Abend mit der Flut zurück, und das meiste von dem, was sie gefangen hatten, war bald verkauft.";
    let written = |html: &str, language: bool| {
        let event = page("http://a.example/", "text/html; charset=utf-8", html.to_owned());
        let text = PageText { options: TextOptions { language, ..TextOptions::default() }, ..text(&event) };
        let mut out = Vec::new();
        assert!(write_event(&event, &text, 0, &mut out));
        serde_json::from_slice::<Value>(&out).unwrap()
    };
    // A page of one paragraph has no main text, so its visible text decides.
    for html in
        [format!("<html lang=en><p>{german}"), format!("<html lang=en>{}", format!("<p>{german}</p>").repeat(5))]
    {
        let document = written(&html, true);
        assert_eq!((&document["language"], &document["languageDetected"]), (&"en".into(), &"de".into()), "{document}");
        assert!(document["languageConfidence"].as_f64().is_some_and(|it| (0.9..=1.0).contains(&it)), "{document}");
        assert!(written(&html, false).get("languageDetected").is_none());
    }
    let short = written("<html lang=en><p>Die Boote", true);
    assert_eq!(
        (&short["language"], short.get("languageDetected"), short.get("languageConfidence")),
        (&"en".into(), None, None)
    );
}

/// The distance for the destination's own threshold, and none if it is unknown.
#[test]
fn a_document_says_how_much_has_changed() {
    let text = TextChange { distances: [(0, 3), (6, 7)].into(), ..TextChange::default() };
    let event = PageEvent { text: Some(text), likeness: None, preferences: None, ..changed(numbered(1)) };
    let written = |event: &PageEvent, min_change: u8| {
        let mut out = Vec::new();
        assert!(write_event(event, &self::text(event), min_change, &mut out));
        String::from_utf8(out).unwrap()
    };
    assert!(written(&event, 0).ends_with(r#","change":"changed","distance":3,"headings":["Heading 1"]}"#));
    assert!(written(&event, 6).ends_with(r#","change":"changed","distance":7,"headings":["Heading 1"]}"#));
    assert!(written(&event, 5).ends_with(r#","change":"changed","headings":["Heading 1"]}"#));
    let judged = PageEvent { model: Some("topic@0a1b2c3d".into()), ..event.clone() };
    assert!(
        written(&judged, 6).ends_with(r#","distance":7,"relevanceModel":"topic@0a1b2c3d","headings":["Heading 1"]}"#)
    );
    assert_eq!(parse_document(written(&judged, 6).as_bytes()).unwrap().into_event().model, judged.model);
    let new = PageEvent { change: Some(PageChange::New), ..event.clone() };
    assert!(written(&new, 0).ends_with(r#","change":"new","headings":["Heading 1"]}"#));
    let read = parse_document(written(&event, 6).as_bytes()).unwrap().into_event();
    assert_eq!((read.distance(0), read.distance(6)), (Some(7), None));
}

#[test]
fn the_id_is_the_url_as_long_as_servers_take_it() {
    let url = format!("http://a.example/{}", "x".repeat(MAX_ID_BYTES - 17));
    assert_eq!((url.len(), &*document_id(&url)), (512, &*url));
    let long = format!("{url}x");
    // Computed with sha256sum.
    let sum = "bafd7ca7700dbf83b07270fa032cc91ea635e47561e5aa5c549aa38c5e4f9830";
    assert_eq!(document_id(&long), sum);
    assert_eq!(document_version(&page("http://a.example/", "text/html", "")), FETCHED);
}

#[test]
fn times_are_read_in_every_way_they_were_written() {
    for (text, time) in [
        ("\"2015-04-16T07:03:50.257+0000\"", 1_429_167_830_257),
        ("\"2026-11-21T14:40:38.590+00:00\"", 1_795_272_038_590),
        ("\"2026-11-21T14:40:38.590Z\"", 1_795_272_038_590),
        ("\"2026-11-21T16:40:38+02:00\"", 1_795_272_038_000),
        ("\"2026-11-21T09:10:38.5-0530\"", 1_795_272_038_500),
        ("1795272038590", 1_795_272_038_590),
    ] {
        let json = format!(r#"{{"url":"http://a.example/","retrieved":{text}}}"#);
        assert_eq!(parse_document(json.as_bytes()).unwrap().retrieved, time, "{text}");
    }
    for text in ["\"yesterday\"", "\"1850-01-01T00:00:00.000+0000\"", "\"\"", "true"] {
        let json = format!(r#"{{"url":"http://a.example/","retrieved":{text}}}"#);
        parse_document(json.as_bytes()).unwrap_err();
    }
    // After the years of ISO 8601.
    let far = at(page("http://a.example/", "text/html", ""), 253_402_300_800_000);
    assert_eq!(value(&far)["retrieved"], 253_402_300_800_000_u64);
    assert_eq!(parse_document(written(&far).as_bytes()).unwrap().retrieved, 253_402_300_800_000);
}

#[test]
fn documents_of_ache_are_read_bare_as_hit_and_as_update() {
    let document = r#"{"domain":"127.0.0.51","url":"http://127.0.0.51:8801/meta.html","title":"Meta page",
        "text":"Heading two\n","retrieved":"2026-11-21T14:40:39.112+00:00","words":["page","meta"],
        "wordsMeta":["alpha,"],"topPrivateDomain":"127.0.0.51","html":"<p>x","responseHeaders":{"Server":["golden/1.0"],
        "Old":"single"},"isRelevant":"relevant","relevance":1.0,"crawlerId":"golden","theirs":{"more":1}}"#;
    let read = parse_document(document.as_bytes()).unwrap();
    assert_eq!((&*read.title.clone().unwrap(), read.is_relevant, read.status), ("Meta page", true, None));
    assert_eq!(read.response_headers[1], ("Old".into(), vec!["single".into()]));
    let update = format!(r#"{{"doc":{document},"doc_as_upsert":true}}"#);
    assert_eq!(parse_document(update.as_bytes()).unwrap(), read);
    let hit = format!(r#"{{"_index":"ache-data","_id":"x","_score":1.0,"_source":{document}}}"#);
    assert_eq!(parse_document(hit.as_bytes()).unwrap(), read);
    assert_eq!(parse_document(br#"{"url":"http://a.example/"}"#).unwrap().url, "http://a.example/");
    let error = parse_document(br#"{"title":"no URL"}"#).unwrap_err().to_string();
    assert!(error.contains("url"), "{error}");
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(
        path in "[a-z0-9/%é]{0,40}",
        body in any::<Vec<u8>>(),
        headers in proptest::collection::vec(("[a-zA-Z-]{1,8}", "[ -~é]{0,12}"), 0..8),
        fetched in 0_u64..300_000_000_000_000,
        relevance in 0.0..=1.0_f64,
    ) {
        let mut event = at(page(&format!("https://a.example/{path}"), "text/html", body), fetched);
        headers.into_iter().for_each(|(name, value)| response(&mut event).headers.push(name, value));
        event.relevance.relevance = relevance;
        let text = text(&event);
        let document = ElasticDocument::from_event(&event, &text, 0).unwrap();
        let written = written(&event);
        prop_assert!(!written.contains('\n'));
        let html = serde_json::to_string(&document.html).unwrap();
        prop_assert!(written.contains(&html), "{} has no {}", written, html);
        prop_assert_eq!(parse_document(written.as_bytes()).unwrap(), document);
    }

    #[test]
    fn no_text_makes_the_reader_fail_otherwise_than_with_an_error(text in any::<Vec<u8>>()) {
        let _ = parse_document(&text);
    }
}
