//! FILES and its parts: base64, compressed streams, text and times.

mod damage;

use std::borrow::Cow;
use std::io::{Cursor, Read, Write};
use std::sync::Arc;

use bytes::Bytes;
use flate2::write::{GzEncoder, ZlibEncoder};
use proptest::prelude::*;
use seine_formats::files::{self, FilesReader, FilesRecord, parse_line};
use seine_formats::lines::LinesError;
use seine_formats::text::{IsoTime, text_of};
use seine_formats::zlib_stream::{self, ZlibStream};
use seine_parse::page::{
    Failure, FailureReason, Headers, Hop, Kind, Outcome, PageEvent, Relevance, Truncated, latin1_to_string,
};

use crate::made::{self, response};

fn event(headers: &[(&str, &str)], body: &[u8]) -> PageEvent {
    let page = made::page("http://a.example/päge?q=\"1\"", headers, Bytes::copy_from_slice(body));
    PageEvent { crawler_id: Arc::from("golden"), ..page }
}

fn line_of(event: &PageEvent, body: &[u8]) -> String {
    let mut out = Vec::new();
    assert!(files::write_event(event, body, &mut out));
    String::from_utf8(out).unwrap()
}

fn record(number: usize) -> FilesRecord<'static> {
    FilesRecord {
        url: format!("http://a.example/{number}").into(),
        redirected_url: (number % 3 == 1).then(|| format!("http://b.example/{number}").into()),
        content: vec![number as u8; number * 7].into(),
        content_type: Some("text/html".into()),
        response_headers: vec![("Server".into(), vec!["x".into(), format!("{number}").into()])],
        fetch_time: 1_795_271_825_985 + number as u64,
        relevance: Relevance::by_type(true),
        crawler_id: "golden".into(),
        truncated: (number % 4 == 3).then_some(Truncated::Disconnect),
    }
}

fn lines(numbers: std::ops::Range<usize>) -> Vec<u8> {
    let mut out = Vec::new();
    numbers.for_each(|number| record(number).write_line(&mut out));
    out
}

fn zlib(data: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

/// Everything readable, the first error, and whether the file was incomplete.
fn read(file: &[u8]) -> (Vec<FilesRecord<'static>>, Option<LinesError>, bool) {
    let mut reader = FilesReader::new(file);
    let (mut records, mut first_error) = (Vec::new(), None);
    for item in &mut reader {
        match item {
            Ok(record) => records.push(record),
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    (records, first_error, reader.truncated())
}

// ---- what is written

#[test]
fn the_line_of_a_page_is_the_documented_one() {
    let mut page = event(
        &[
            ("Server", "golden/1.0"),
            ("Set-Cookie", "a=1; Path=/"),
            ("Content-Type", "text/html; charset=utf-8"),
            ("X-Multi", "one"),
            ("Set-Cookie", "b=2"),
            ("x-multi", "two"),
            ("X-Latin", &latin1_to_string(b"caf\xe9\x01")),
        ],
        b"<p>\0\xff</p>",
    );
    page.hops.push(Hop {
        url: page.url.clone(),
        status: 301,
        headers: Headers::default(),
        target: "http://b.example/".into(),
        ip: None,
    });
    page.final_url = "http://b.example/".into();
    let expected = concat!(
        r#"{"url":"http://a.example/päge?q=\"1\"","redirected_url":"http://b.example/","content":"PHA+AP88L3A+","#,
        r#""content_type":"text/html; charset=utf-8","response_headers":{"Server":["golden/1.0"],"#,
        r#""Set-Cookie":["a=1; Path=/","b=2"],"Content-Type":["text/html; charset=utf-8"],"X-Multi":["one"],"#,
        r#""x-multi":["two"],"X-Latin":["café\u0001"]},"fetch_time":1795271825985,"#,
        r#""relevance":{"relevance":1.0,"isRelevant":true},"crawler_id":"golden"}"#,
        "\n"
    );
    assert_eq!(line_of(&page, b"<p>\0\xff</p>"), expected);

    let page = event(&[], b"");
    let expected = concat!(
        r#"{"url":"http://a.example/päge?q=\"1\"","redirected_url":null,"content":"","content_type":null,"#,
        r#""response_headers":{},"fetch_time":1795271825985,"relevance":{"relevance":1.0,"isRelevant":true},"#,
        r#""crawler_id":"golden"}"#,
        "\n"
    );
    assert_eq!(line_of(&page, b""), expected);
}

#[test]
fn headers_of_the_coded_body_go_with_the_coding() {
    let headers = [("content-encoding", "gzip"), ("Content-Length", "30"), ("Content-MD5", "x"), ("Vary", "*")];
    let coded = gzip(b"hello");
    let decoded = line_of(&event(&headers, &coded), b"hello");
    assert!(decoded.contains(r#""response_headers":{"Vary":["*"]}"#), "{decoded}");
    assert!(decoded.contains(r#""content":"aGVsbG8=""#), "{decoded}");

    // The body is unchanged, so it still is what the headers say.
    let untouched = line_of(&event(&headers, &coded), &coded);
    assert!(untouched.contains(r#"{"content-encoding":["gzip"],"Content-Length":["30"]"#), "{untouched}");
    let plain = line_of(&event(&[("Content-Length", "5")], b"hello"), b"hello");
    assert!(plain.contains(r#"{"Content-Length":["5"]}"#), "{plain}");
}

#[test]
fn only_pages_with_a_2xx_answer_are_held() {
    let mut out = Vec::new();
    for (status, held) in [(199, false), (200, true), (299, true), (301, false), (404, false), (500, false)] {
        let mut page = event(&[], b"x");
        response(&mut page).status = status;
        assert_eq!(files::write_event(&page, b"x", &mut out), held, "{status}");
        assert_eq!(FilesRecord::from_event(&page, b"x").is_some(), held, "{status}");
        assert_eq!(files::stores_event(&page), held);
    }
    out.clear();
    let mut sitemap = event(&[], b"x");
    sitemap.kind = Kind::Sitemap;
    let mut failure = event(&[], b"x");
    failure.outcome = Outcome::Failure(Failure { reason: FailureReason::Dns, message: "no such name".into() });
    assert!(!files::write_event(&sitemap, b"x", &mut out));
    assert!(!files::write_event(&failure, b"x", &mut out));
    assert!(out.is_empty());
}

#[test]
fn the_record_of_an_event_and_its_line_are_the_same() {
    let page = event(&[("A", "1"), ("b", "2"), ("A", "3"), ("Content-Type", "text/html")], b"body");
    let record = FilesRecord::from_event(&page, b"body").unwrap();
    let mut line = Vec::new();
    record.write_line(&mut line);
    assert_eq!(String::from_utf8(line.clone()).unwrap(), line_of(&page, b"body"));
    assert_eq!(parse_line(&line).unwrap(), record);
}

#[test]
fn a_large_body_and_very_many_headers_come_back() {
    let body = Bytes::from((0..5 << 20).map(|i: u32| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect::<Vec<_>>());
    let headers: Vec<_> = (0..10_000).map(|i| (format!("X-{}", i % 5_000), format!("{i}"))).collect();
    let headers: Vec<_> = headers.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    let page = event(&headers, &body);
    let read = parse_line(line_of(&page, &body).as_bytes()).unwrap();
    assert_eq!(*read.content, *body);
    assert_eq!(read.response_headers.len(), 5_000);
    assert_eq!(read.response_headers[4_999], ("X-4999".into(), vec!["4999".into(), "9999".into()]));
}

fn any_record() -> impl Strategy<Value = FilesRecord<'static>> {
    // Arbitrary bytes, as in headers and URLs: read as Latin-1.
    let text = || prop::collection::vec(any::<u8>(), 0..40).prop_map(|bytes| Cow::from(latin1_to_string(&bytes)));
    let headers = prop::collection::vec((text(), prop::collection::vec(text(), 0..3)), 0..8);
    let what =
        (text(), prop::option::of(text()), prop::collection::vec(any::<u8>(), 0..3_000), prop::option::of(text()));
    (what, headers, any::<u64>(), 0..=1000_u32, any::<bool>(), any::<String>().prop_map(Cow::from)).prop_map(
        |(
            (url, redirected_url, content, content_type),
            response_headers,
            fetch_time,
            relevance,
            is_relevant,
            crawler_id,
        )| {
            FilesRecord {
                url,
                redirected_url,
                content: content.into(),
                content_type,
                response_headers,
                fetch_time,
                relevance: Relevance { relevance: f64::from(relevance) / 1000.0, is_relevant },
                crawler_id,
                truncated: None,
            }
        },
    )
}

proptest! {
    #[test]
    fn every_record_comes_back(records in prop::collection::vec(any_record(), 0..6)) {
        let mut data = Vec::new();
        records.iter().for_each(|record| record.write_line(&mut data));
        prop_assert_eq!(data.iter().filter(|&&b| b == b'\n').count(), records.len());
        for file in [data.clone(), zlib(&data), gzip(&data)] {
            let (read, error, truncated) = read(&file);
            prop_assert!(error.is_none() && !truncated);
            prop_assert_eq!(&read, &records);
        }
    }

    #[test]
    fn any_line_is_read_or_refused(line in prop::collection::vec(any::<u8>(), 0..200), json in "[\\[\\]{}\":,a-z0-9u\\\\]{0,80}") {
        let _ = parse_line(&line);
        let _ = parse_line(json.as_bytes());
        let _ = read(&line);
    }
}

// ---- what others wrote

#[test]
fn reads_what_a_killed_java_writer_leaves() {
    let (records, error, truncated) = read(include_bytes!("../../golden/files-killed-writer.deflate"));
    assert!(error.is_none());
    assert!(truncated);
    assert_eq!(records.len(), 3);
    assert_eq!(records[0].content, "<p>ünïcode 日本語</p>".as_bytes());
    let headers = &records[0].response_headers;
    let names: Vec<_> = headers.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["Server", "Set-Cookie", "X-Latin", "X-Multi", "x-multi"]);
    assert_eq!(headers[1].1, ["a=1; Path=/", "b=2"]);
    assert_eq!(headers[2].1, ["café"]);
    assert_eq!(records[1].content, (0..=255).collect::<Vec<u8>>());
    assert_eq!(records[1].redirected_url.as_deref(), Some("http://other.example/final"));
    assert_eq!(records[1].relevance, Relevance::by_type(false));
    assert_eq!((records[2].content.len(), &records[2].content_type), (0, &None));
    assert_eq!(records[2].fetch_time, 1_795_271_825_987);
}

#[test]
fn reads_older_and_stranger_lines() {
    let legacy = br#"{"response_body":"<p>\u00e9</p>","crawlerId":"old","url":"http://a/"}"#;
    let record = parse_line(legacy).unwrap();
    assert_eq!((&*record.url, &*record.crawler_id), ("http://a/", "old"));
    assert_eq!(record.content, "<p>é</p>".as_bytes());
    assert_eq!((record.fetch_time, record.content_type, record.response_headers), (0, None, vec![]));
    assert!(!record.relevance.is_known());

    let strange = br#" {"url":"http://a/","content":"aGk","content_type":"[Text/HTML]","new":{"a":[1,{"b":null}]},
        "response_headers":{"b":"one","a":["[x=1, y=2]"],"c":null,"d":[null,"z"]},"crawler_id":null,"fetch_time":7}"#;
    let record = parse_line(strange).unwrap();
    assert_eq!(record.content, "hi".as_bytes());
    assert_eq!(record.content_type.as_deref(), Some("[Text/HTML]"));
    assert!(!record.relevance.is_known());
    let headers: Vec<_> = record.response_headers.iter().map(|(n, vs)| (&**n, vs.join("|"))).collect();
    assert_eq!(headers, [("b", "one".into()), ("a", "[x=1, y=2]".into()), ("c", "".into()), ("d", "z".into())]);
}

#[test]
fn a_bad_line_is_named_and_the_next_is_read() {
    let mut file = lines(0..1);
    for bad in [&b"{\"url\":5}"[..], b"not json", b"{}", b"{\"url\":\"\xff\"}", b"{\"url\":\"u\",\"content\":\"a%b=\"}"]
    {
        file.extend_from_slice(bad);
        file.push(b'\n');
    }
    file.extend_from_slice(&[b'['; 100_000]);
    file.extend_from_slice(b"\n\r\n");
    file.extend(lines(1..2));
    let items: Vec<_> = FilesReader::new(file.as_slice()).collect();
    assert_eq!(items.len(), 8);
    assert_eq!(items[7].as_ref().unwrap(), &record(1));
    let message = |at: usize| items[at].as_ref().unwrap_err().to_string();
    assert!(message(1).starts_with("line 2 is no FILES record: "), "{}", message(1));
    assert!(message(3).contains("missing field `url`"), "{}", message(3));
    assert!(message(5).contains("content: "), "{}", message(5));
    assert!(message(6).starts_with("line 7 "), "{}", message(6));
}

#[test]
fn a_line_beyond_the_limit_is_passed_over() {
    let mut file = lines(0..3);
    let limit = file.len();
    file.extend(std::iter::repeat_n(b'x', 3 * limit));
    file.push(b'\n');
    file.extend(lines(3..4));
    file.extend(std::iter::repeat_n(b'y', limit + 1));
    let items: Vec<_> = FilesReader::with_max_line(zlib(&file).as_slice(), limit).collect();
    assert_eq!(items.iter().filter(|item| item.is_ok()).count(), 4);
    assert!(matches!(items[3], Err(LinesError::LineTooLong { line: 4, .. })));
    assert_eq!(items[4].as_ref().unwrap(), &record(3));
    assert!(matches!(items[5], Err(LinesError::LineTooLong { line: 6, .. })));
}

#[test]
fn streams_of_every_kind_may_follow_one_another() {
    let mut file = zlib(&lines(0..3));
    // A record may be split between two streams.
    let (head, tail) = { (lines(3..5)[..100].to_vec(), lines(3..5)[100..].to_vec()) };
    file.extend(gzip(&head));
    file.extend(zlib(&tail));
    file.extend(gzip(b""));
    file.extend(lines(5..6));
    let expected: Vec<_> = (0..6).map(record).collect();
    let (records, error, truncated) = read(&file);
    assert!(error.is_none() && !truncated);
    assert_eq!(records, expected);

    // The same when the bytes arrive one by one.
    struct OneByOne(Cursor<Vec<u8>>);
    impl Read for OneByOne {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let length = buffer.len().min(1);
            self.0.read(&mut buffer[..length])
        }
    }
    let slowly: Result<Vec<_>, _> = FilesReader::new(OneByOne(Cursor::new(file))).collect();
    assert_eq!(slowly.unwrap(), expected);
}

#[test]
fn an_empty_file_holds_nothing_and_other_files_are_refused() {
    assert!(matches!(read(b""), (records, None, false) if records.is_empty()));
    for other in [&b"PK\x03\x04"[..], b"\x28\xb5\x2f\xfd", b"<html>", b"\0\0"] {
        let (records, error, _) = read(other);
        assert!(records.is_empty());
        assert!(error.unwrap().to_string().contains("neither zlib, gzip nor text at byte 0"));
    }
    let mut followed = zlib(&lines(0..2));
    let at = followed.len();
    followed.extend_from_slice(b"rubbish");
    let (records, error, _) = read(&followed);
    assert_eq!(records.len(), 2);
    assert!(error.unwrap().to_string().contains(&format!("at byte {at} ")));
}

// ---- damage

#[test]
fn text_is_read_in_its_declared_charset_then_as_utf_8() {
    assert_eq!(text_of(Some("text/html; Charset=\"ISO-8859-1\""), b"caf\xe9").unwrap(), "café");
    assert_eq!(text_of(Some("text/html; charset=utf-8"), "é".as_bytes()).unwrap(), "é");
    assert_eq!(text_of(None, "日本".as_bytes()).unwrap(), "日本");
    assert_eq!(text_of(Some("text/html; charset=nonsense"), b"x").unwrap(), "x");
    assert_eq!(text_of(Some("text/html; charset=shift_jis"), "é".as_bytes()).unwrap(), "ﾃｩ");
    assert_eq!(text_of(Some("image/png"), b"\x89PNG"), None);
    assert_eq!(text_of(Some("text/html; charset=utf-8"), b"\xff"), None);
}

#[test]
fn times_are_iso_8601_as_far_as_it_goes() {
    let written = |ms| serde_json::to_string(&IsoTime(ms)).unwrap();
    assert_eq!(written(0), r#""1970-01-01T00:00:00.000Z""#);
    assert_eq!(written(1_795_271_825_985), r#""2026-11-21T14:37:05.985Z""#);
    assert_eq!(written(u64::MAX), u64::MAX.to_string());
}
