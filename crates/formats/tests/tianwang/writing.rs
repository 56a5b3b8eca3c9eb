//! Writing, and reading back.

use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use flate2::read::ZlibDecoder;
use proptest::prelude::*;
use seine_formats::tianwang::{TianwangReader, TianwangRecord, TianwangWriter, stores_event};
use seine_parse::page::wire::{Framing, Wire};
use seine_parse::page::{Failure, FailureReason, Headers, Kind, Outcome, PageEvent, Truncated};

use crate::support::{event, numbered, read, record, recovered, response, written};

fn of(event: &PageEvent, compress: bool) -> Vec<u8> {
    let mut out = b"before".to_vec();
    assert!(TianwangWriter::new(compress).write_event(event, &mut out));
    assert!(stores_event(event));
    out.split_off(6)
}

fn shown(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string().replace("\\n", "\n")
}

#[test]
fn a_record_is_the_documented_one() {
    let mut page =
        event("http://www.pku.edu.cn/", 200, &[("Content-Type", "text/html"), ("Set-Cookie", "a")], b"<p>\0\xff");
    insta::assert_snapshot!("plain", shown(&of(&page, false)));

    // After a redirect: the final URL, and the URL requested.
    page.final_url = "http://www.pku.edu.cn/home".into();
    page.ip = None;
    *response(&mut page) = response(&mut event("x", 404, &[], b"")).clone();
    insta::assert_snapshot!("redirected", shown(&of(&page, false)));
}

#[test]
fn a_cut_body_is_marked_by_a_property() {
    let mut cut = event("http://a.example/", 200, &[], b"the beginning");
    response(&mut cut).truncated = Some(Truncated::Time);
    for compress in [false, true] {
        let bytes = of(&cut, compress);
        assert!(
            memchr::memmem::find(&bytes, b"\nip: 162.105.129.12\ntruncated: time\n").is_some(),
            "{}",
            shown(&bytes)
        );
        let of_intact = read(&bytes).0.remove(0);
        let of_damaged = recovered(&[b"lost\n", &bytes[..]].concat()).found.remove(0).record;
        for record in [of_intact, of_damaged] {
            assert_eq!(record.into_event().response().unwrap().truncated, Some(Truncated::Time));
        }
    }
}

#[test]
fn compressed_data_is_one_zlib_stream() {
    let body = "long and the same ".repeat(500);
    let page = event("http://a.example/", 200, &[], body.as_bytes());
    let (plain, compressed) = (of(&page, false), of(&page, true));
    let head_end = |bytes: &[u8]| memchr::memmem::find(bytes, b"\n\n").unwrap() + 2;
    let data = &plain[head_end(&plain)..plain.len() - 1];
    let stored = &compressed[head_end(&compressed)..compressed.len() - 1];
    let head = String::from_utf8(compressed[..head_end(&compressed)].to_vec()).unwrap();
    assert!(head.ends_with(&format!("\nunzip-length: {}\nlength: {}\n\n", data.len(), stored.len())), "{head}");
    assert!(stored.len() < data.len() / 10);
    let mut decoder = ZlibDecoder::new(stored);
    assert_eq!(std::io::copy(&mut decoder, &mut std::io::sink()).unwrap(), data.len() as u64);
    assert_eq!(decoder.total_in(), stored.len() as u64);
}

#[test]
fn data_is_the_exchange_as_it_was_where_it_was_kept() {
    let mut page = event("http://a.example/", 200, &[("transfer-encoding", "chunked")], b"hello");
    let head = Bytes::from_static(b"HTTP/1.1 200 Fine\r\nTRANSFER-Encoding:chunked\r\n\r\n");
    let at = |at, bytes| Framing { at, bytes: Bytes::from_static(bytes) };
    let framing = vec![at(0, b"2\r\n"), at(2, b"\r\n3\r\n"), at(5, b"\r\n0\r\n\r\n")];
    response(&mut page).wire = Some(Wire { request: Bytes::new(), head: head.clone(), framing });
    let (records, errors, _) = read(&of(&page, true));
    assert!(errors.is_empty());
    assert_eq!(records[0].data, [&head[..], b"2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"].concat());
    let back = records[0].clone().into_event();
    let read_back = back.response().unwrap();
    assert_eq!((&read_back.body[..], &read_back.reason[..]), (&b"hello"[..], "Fine"));
    assert_eq!(read_back.headers.0, [("TRANSFER-Encoding".to_owned(), "chunked".to_owned())]);
}

#[test]
fn pages_with_an_answer_are_held_whatever_their_status() {
    for status in 100..600 {
        let (records, errors, _) = read(&of(&event("http://a.example/", status, &[], b"x"), false));
        assert!(errors.is_empty(), "{errors:?}");
        assert_eq!(records[0].clone().into_event().response().unwrap().status, status);
    }
    let mut sitemap = event("http://a.example/", 200, &[], b"x");
    sitemap.kind = Kind::Sitemap;
    let mut failure = event("http://a.example/", 200, &[], b"x");
    failure.outcome = Outcome::Failure(Failure { reason: FailureReason::Dns, message: "no such name".into() });
    let endless = event(&format!("http://a.example/{}", "x".repeat(64 << 10)), 200, &[], b"x");
    for event in [sitemap, failure, endless] {
        let mut out = Vec::new();
        assert!(!stores_event(&event) && !TianwangWriter::new(true).write_event(&event, &mut out));
        assert!(out.is_empty());
    }
}

#[test]
fn the_longest_head_that_is_written_is_read() {
    let url = format!("http://a.example/{}", "x".repeat(10_800));
    let page = event(&url, 200, &[], b"x");
    let (records, errors, _) = read(&of(&page, false));
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(records[0].url, url);
    assert_eq!(crate::support::recovered(&of(&page, false)).found.len(), 1);
}

#[test]
fn what_would_break_the_lines_is_written_otherwise() {
    let mut strange = event("http://a.example/\nlength: 3", 200, &[], b"data");
    strange.url = "a\r\n\r\nb".into();
    let written = shown(&of(&strange, false));
    let head = "version: 1.0\nurl: http://a.example/%0Alength: 3\norigin: a%0D%0A%0D%0Ab\ndate: ";
    assert!(written.starts_with(head), "{written}");
}

#[test]
fn times_beyond_the_calendar_are_written() {
    let mut page = event("http://a.example/", 200, &[], b"");
    page.ended_ms = u64::MAX;
    let record = read(&of(&page, false)).0.remove(0);
    assert_eq!(record.date.as_deref(), Some("Fri, 31 Dec 9999 23:59:59 GMT"));
}

#[test]
fn a_writer_keeps_nothing_of_the_record_before() {
    let mut writer = TianwangWriter::new(true);
    let mut all = Vec::new();
    let pages: Vec<_> = [40_000, 3, 0, 100_000]
        .map(|length| event("http://a.example/", 200, &[], &vec![length as u8; length]))
        .to_vec();
    for page in &pages {
        assert!(writer.write_event(page, &mut all));
    }
    assert_eq!(all, pages.iter().flat_map(|page| of(page, true)).collect::<Vec<_>>());
}

// ---- and read back

fn value() -> impl Strategy<Value = String> {
    // Blanks around a value do not belong to it.
    "[^\\x00-\\x1f\\x7f]{0,40}".prop_map(|text| text.trim_matches(|c: char| c.is_ascii_whitespace()).to_owned())
}

prop_compose! {
    fn any_record()(
        url in value(), origin in prop::option::of(value()), date in value().prop_map(Some),
        ip in prop::option::of(value()), others in prop::collection::vec(("x-[a-z0-9_.-]{0,10}", value()), 0..5),
        compress: bool, data in prop::collection::vec(any::<u8>(), 0..2000),
    ) -> TianwangRecord {
        TianwangRecord { origin, date, ip, others, ..record(&format!("u{url}"), compress, &data) }
    }
}

prop_compose! {
    fn any_event()(
        path in "[a-z0-9/?=&:%-]{0,60}", redirected: bool, status in 100..1000_u16, compress: bool,
        headers in prop::collection::vec(("[A-Za-z][A-Za-z0-9-]{0,20}", "[!-~\u{a0}-\u{ff}]{0,30}"), 0..40),
        many in prop_oneof![9 => Just(0_usize), 1 => Just(3000)],
        body in prop::collection::vec(any::<u8>(), 0..3000), seconds in 0..253_402_300_799_u64,
    ) -> (PageEvent, bool) {
        let mut page = event(&format!("http://a.example/{path}"), status, &[], &body);
        if redirected {
            page.final_url = "http://b.example/".into();
        }
        page.ended_ms = seconds * 1000;
        page.started_ms = page.ended_ms;
        let framing = |name: &str| ["content-length", "transfer-encoding"].iter().any(|it| it.eq_ignore_ascii_case(name));
        let mut kept: Vec<_> = headers.into_iter().filter(|(name, _)| !framing(name)).collect();
        kept.extend((0..many).map(|number| (format!("x-{number}"), "v".to_owned())));
        response(&mut page).headers = Headers(kept);
        (page, compress)
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(records in prop::collection::vec(any_record(), 0..6)) {
        let file: Vec<u8> = records.iter().flat_map(written).collect();
        let mut reader = TianwangReader::new(&file[..]);
        let back: Vec<_> = (&mut reader).map(|it| it.unwrap()).collect();
        prop_assert!(!reader.truncated());
        prop_assert_eq!(back.len(), records.len());
        for (back, record) in back.into_iter().zip(records) {
            let length = back.length;
            prop_assert_eq!(&written(&back), &written(&record));
            prop_assert_eq!(back, TianwangRecord { length, ..record });
        }
    }

    #[test]
    fn of_an_event_the_exchange_is_read_back((page, compress) in any_event()) {
        let (mut records, errors, truncated) = read(&of(&page, compress));
        prop_assert!(errors.is_empty() && !truncated, "{:?}", errors);
        let back = records.remove(0).into_event();
        prop_assert_eq!((&back.url, &back.final_url, back.ip), (&page.url, &page.final_url, page.ip));
        prop_assert_eq!((back.started_ms, back.ended_ms), (page.started_ms, page.ended_ms));
        prop_assert_eq!(back.id.len(), 32);
        let (read_back, sent) = (back.response().unwrap(), page.response().unwrap());
        prop_assert_eq!((read_back.status, &read_back.reason, read_back.version), (sent.status, &sent.reason, sent.version));
        prop_assert_eq!(&read_back.body, &sent.body);
        let mut headers = sent.headers.clone();
        if !matches!(sent.status, 204 | 304) || !sent.body.is_empty() {
            headers.push("Content-Length", sent.body.len().to_string());
        }
        prop_assert_eq!(&read_back.headers, &headers);
        // Writing what was read gives the same bytes again.
        prop_assert_eq!(of(&back, compress), of(&page, compress));
    }
}

#[test]
fn dates_are_read_in_every_usual_form() {
    let at = |date: &str| TianwangRecord { date: Some(date.into()), ..record("u", false, b"") }.fetched_ms();
    let expected = UNIX_EPOCH + Duration::from_millis(1_050_394_386_000);
    for date in [
        "Tue, 15 Apr 2003 08:13:06 GMT",
        "15 Apr 2003 08:13:06 GMT",
        "Tue, 15 Apr 2003 16:13:06 +0800",
        "Tuesday, 15-Apr-03 08:13:06 GMT",
        "Tue Apr 15 08:13:06 2003",
        "Tue, 15 Apr 03 08:13:06 UT",
    ] {
        assert_eq!(at(date).map(|ms| UNIX_EPOCH + Duration::from_millis(ms)), Some(expected), "{date}");
    }
    for date in ["", "yesterday", "Tue, 15 Apr 1903 08:13:06 GMT", "Tue, 99 Apr 2003 08:13:06 GMT"] {
        assert_eq!(at(date), None, "{date}");
    }
    let record =
        TianwangRecord { date: None, ip: Some("unknown".into()), ..record("http://a.example/", false, b"<p>") };
    let page = record.into_event();
    assert_eq!((page.ended_ms, page.ip), (0, None));
    // DATA without a status line is a body.
    assert_eq!((page.response().unwrap().status, &page.response().unwrap().body[..]), (200, &b"<p>"[..]));
    assert!(numbered(0).starts_with(b"version: 1.0\nurl: http://a.example/0\ndate: Tue, 15 Apr 2003 08:13:06 GMT\n"));
}
