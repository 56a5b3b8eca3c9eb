//! Records as pages: ours come back unchanged, and those of other programs as what they say.

use super::*;

/// An event as an archive can represent it.
fn as_archived(mut event: PageEvent) -> PageEvent {
    let response = response(&mut event);
    match &response.wire {
        None if !matches!(response.status, 204 | 304) => {
            response.headers.push("Content-Length", response.body.len().to_string());
        }
        _ => {}
    }
    if response.version == HttpVersion::Http2 {
        response.reason = String::new();
    }
    if response.wire.is_none() {
        event.request_headers.0.insert(0, ("Host".into(), "a.example".into()));
    }
    event
}

#[test]
fn every_kind_of_page_comes_back() {
    let written: Vec<_> = zoo().into_iter().map(as_archived).collect();
    for options in [PLAIN, GZIP] {
        let read = pages(&file_of(&zoo(), WarcOptions { metadata: true, ..options }));
        assert_eq!(read.len(), written.len());
        for (read, written) in read.iter().zip(&written) {
            assert_eq!(read, written);
        }
    }
    // Without a metadata record the depth is unknown.
    let [shallow] = <[_; 1]>::try_from(pages(&file_of(&[event(1, b"x")], GZIP))).unwrap();
    assert_eq!(shallow.depth, 0);
}

#[test]
fn a_payload_seen_before_comes_as_not_modified() {
    let again = [exact(1, b"<p>one"), exact(1, b"<p>one")];
    let file = file_of(&again, WarcOptions { revisits: 10, ..GZIP });
    let [first, second] = <[_; 2]>::try_from(pages(&file)).unwrap();
    assert_eq!((first.response().unwrap().status, first.response().unwrap().body.len()), (200, 6));
    let second = second.response().unwrap();
    assert_eq!((second.status, second.reason.as_str(), second.body.len()), (304, "Not Modified", 0));
    assert_eq!(second.headers.get("X-Odd"), Some("value"));
    assert_eq!(second.wire, None);
}

fn record(fields: &[(&str, &str)], block: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let fields = headers(fields);
    WarcRecord { version: "1.0".into(), fields, block: Bytes::copy_from_slice(block), location: Default::default() }
        .write(&mut out);
    out
}

/// As ACHE 0.16 writes them: an empty `warcinfo`, and blocks without a status line. Of redirects only two URLs are
/// left.
#[test]
fn ache_files_are_read() {
    let id = ("WARC-Record-ID", "<urn:uuid:4475e5c4-7cf3-4606-b4ec-84650c974dd5>");
    let date = ("WARC-Date", "2026-11-21T14:37:44Z");
    let http = ("Content-Type", "application/http; msgtype=response");
    let page = |target: &str, requested: &str, relevant: &str, relevance: &str, head: &str| {
        let fields = [
            ("WARC-Type", "response"),
            ("WARC-Target-URI", target),
            date,
            ("ACHE-IsRelevant", relevant),
            ("ACHE-Relevance", relevance),
            ("ACHE-Requested-URL", requested),
            id,
            http,
        ];
        record(&fields, format!("{head}\r\n\r\n<p>\u{fc}</p>").as_bytes())
    };
    let html = "Server: golden/1.0\r\nContent-Type: text/html\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2";
    let file: Vec<u8> = [
        record(&[("WARC-Type", "warcinfo"), date, ("WARC-Filename", "crawl_data.warc.gz"), id], b""),
        page("http://b.example/to", "http://a.example/from", "true", "1.0000000000", html),
        page("http://a.example/x.png", "http://a.example/x.png", "false", "0.0000000000", "Content-Type: image/png"),
        page("http://a.example/none", "http://a.example/none", "false", "0.2500000000", "X-Only: this"),
    ]
    .iter()
    .flat_map(|it| gzip(it))
    .collect();
    let [first, picture, last] = <[_; 3]>::try_from(pages(&file)).unwrap();
    assert_eq!((first.url.as_str(), first.final_url.as_str()), ("http://a.example/from", "http://b.example/to"));
    assert_eq!(first.redirected_url(), Some("http://b.example/to"));
    assert_eq!(first.id, "4475e5c47cf34606b4ec84650c974dd5");
    assert_eq!((first.started_ms, first.ended_ms), (1_795_271_864_000, 1_795_271_864_000));
    let response = first.response().unwrap();
    assert_eq!((response.status, &response.body[..]), (200, "<p>ü</p>".as_bytes()));
    assert_eq!(response.headers.all("set-cookie").collect::<Vec<_>>(), ["a=1", "b=2"]);
    assert_eq!((first.relevance, picture.relevance), (Relevance::by_type(true), Relevance::by_type(false)));
    assert_eq!(picture.redirected_url(), None);
    assert_eq!(last.relevance, Relevance { relevance: 0.25, is_relevant: false });
    let (lines, _) = seine_formats::warc::cdxj::index(&file[..], "x.warc.gz");
    assert!(lines[0].starts_with("example,a)/none 20261121143744 {"), "{}", lines[0]);
    assert!(lines[1].contains(r#""mime":"image/png","status":"200","digest":"sha1:"#), "{}", lines[1]);
    // Written again, they are valid: a redirect without known details gives no record.
    let kinds: Vec<_> = records(&file_of(&[first], GZIP)).iter().map(|it| it.kind().to_owned()).collect();
    assert_eq!(kinds, ["warcinfo", "response"]);
}

/// The order and links of records by other writers: wget (request first, without links), Browsertrix and warcio
/// (request last, linked to the response), Heritrix (both linked to each other, metadata last).
fn file_of_others() -> Vec<u8> {
    let http = |kind: &'static str| {
        (
            "Content-Type",
            if kind == "request" { "application/http; msgtype=request" } else { "application/http; msgtype=response" },
        )
    };
    let part = |kind: &'static str, id: &str, target: &str, more: &[(&str, &str)], block: &[u8]| {
        let id = format!("<urn:x:{id}>");
        let fields =
            [&[("WARC-Type", kind), ("WARC-Record-ID", &id), ("WARC-Target-URI", target), http(kind)], more].concat();
        record(&fields, block)
    };
    let answer = |id: &str, target: &str, more: &[(&str, &str)]| {
        part("response", id, target, more, b"HTTP/1.1 200 OK\r\n\r\nhi")
    };
    let ask = |id: &str, target: &str, more: &[(&str, &str)]| {
        part("request", id, target, more, format!("HEAD /{id} HTTP/1.1\r\nHost: h\r\nX-Id: {id}\r\n\r\n").as_bytes())
    };
    let (a, b, c, d) = ("http://a.example/a", "http://a.example/b", "http://a.example/c", "<http://a.example/d>");
    [
        ask("a1", a, &[]),
        answer("a2", a, &[]),
        answer("b1", b, &[]),
        ask("b2", b, &[("WARC-Concurrent-To", "<urn:x:b1>")]),
        answer("c1", c, &[]),
        ask("c2", c, &[("WARC-Concurrent-To", "<urn:x:c1>")]),
        record(
            &[("WARC-Type", "metadata"), ("WARC-Record-ID", "<urn:x:c3>"), ("WARC-Concurrent-To", "<urn:x:c1>")],
            b"via: http://a.example/\r\nhopsFromSeed: LLRL\r\n",
        ),
        record(&[("WARC-Type", "conversion"), ("WARC-Record-ID", "<urn:x:c4>"), ("WARC-Target-URI", c)], b"text"),
        // A request linked to an unknown record belongs to no page.
        ask("e1", "http://a.example/e", &[("WARC-Concurrent-To", "<urn:x:nowhere>")]),
        answer("d1", d, &[("WARC-Truncated", "unspecified")]),
        answer("d2", d, &[("WARC-Segment-Number", "1")]),
        answer("f1", "ftp://a.example/", &[]),
        part("response", "g1", "dns:a.example", &[], b"20261121143744\na.example. 60 IN A 192.0.2.1"),
        record(
            &[
                ("WARC-Type", "resource"),
                ("WARC-Target-URI", "https://a.example/r"),
                ("Content-Type", "text/html"),
                ("WARC-Date", "2026"),
            ],
            b"<p>only this",
        ),
        record(
            &[("WARC-Type", "revisit"), ("WARC-Target-URI", a), ("WARC-Profile", "http://example.com/my-own")],
            b"?",
        ),
    ]
    .concat()
}

#[test]
fn requests_and_metadata_of_others_are_joined() {
    let read = pages(&file_of_others());
    let seen: Vec<_> = read
        .iter()
        .map(|it| (it.url.rsplit('/').next().unwrap(), it.method.as_str(), it.request_headers.get("x-id"), it.depth))
        .collect();
    let get = |name| (name, "GET", None, 0);
    assert_eq!(
        seen,
        [
            ("a", "HEAD", Some("a1"), 0),
            ("b", "HEAD", Some("b2"), 0),
            ("c", "HEAD", Some("c2"), 3),
            get("d"),
            get("d"),
            get("r")
        ]
    );
    let request = &read[0].response().unwrap().wire.as_ref().unwrap().request;
    assert!(request.starts_with(b"HEAD /a1 HTTP/1.1\r\n"), "{request:?}");
    let cut = |at: usize| read[at].response().unwrap().truncated;
    assert_eq!((cut(2), cut(3), cut(4)), (None, Some(Truncated::Length), Some(Truncated::Length)));
    assert_eq!(
        (read[5].response().unwrap().content_type(), &read[5].response().unwrap().body[..]),
        (Some("text/html"), &b"<p>only this"[..])
    );
    assert!(read.iter().all(|it| it.id.len() == 32), "an id for each, though none is a UUID");
    assert_ne!(read[3].id, read[0].id);
}

#[test]
fn a_block_that_is_no_message_is_an_error_and_the_next_page_is_read() {
    let bad =
        [("WARC-Type", "response"), ("WARC-Target-URI", "http://a.example/"), ("Content-Type", "application/http")];
    let file = [record(&bad, b"\x00\x01 no message"), record(&bad, b""), file_of(&[event(1, b"x")], PLAIN)].concat();
    let items: Vec<_> = WarcPages::new(WarcReader::new(&file[..])).collect();
    let told: Vec<_> = items.iter().filter_map(|it| it.as_ref().err()).map(|it| it.to_string()).collect();
    assert_eq!(items.len(), 3);
    assert_eq!(told.len(), 2);
    assert!(told[0].starts_with("the block of the record at byte 0 is not an HTTP message: "), "{told:?}");
    assert_eq!(items[2].as_ref().unwrap().url, url(1));
    assert_eq!(&*items[2].as_ref().unwrap().crawler_id, "test");
}

#[test]
fn what_stands_beside_a_page_is_bounded() {
    let response = [
        ("WARC-Type", "response"),
        ("WARC-Record-ID", "<urn:x:1>"),
        ("WARC-Target-URI", "http://a.example/"),
        ("Content-Type", "application/http"),
    ];
    let beside = [("WARC-Type", "metadata"), ("WARC-Concurrent-To", "<urn:x:1>")];
    let mut file = record(&response, b"HTTP/1.1 200 OK\r\n\r\n");
    file.extend(record(&beside, &vec![b'x'; 5 << 20]));
    for _ in 0..500 {
        file.extend(record(&beside, b"hopsFromSeed: L\r\n"));
    }
    assert_eq!(pages(&file).len(), 1);
}
