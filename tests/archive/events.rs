//! Pages of every kind, difficult ones first.

use std::io::Write;
use std::sync::Arc;

use bytes::Bytes;
use fastrand::Rng;
use seine_parse::page::{
    Failure, FailureReason, Headers, Hop, HttpVersion, Kind, Outcome, PageChange, PageEvent, Relevance, Response,
    Truncated,
};

/// An HTML page.
pub fn page(number: u64, body: impl Into<Bytes>) -> PageEvent {
    with_type(number, "text/html; charset=utf-8", body)
}

pub fn with_type(number: u64, content_type: &str, body: impl Into<Bytes>) -> PageEvent {
    let url = format!("http://h{}.example/{number}?q=a%20b", number % 3);
    let is_html = content_type.starts_with("text/html");
    PageEvent {
        id: format!("{number:032x}"),
        url: url.clone(),
        kind: Kind::Page,
        depth: 1,
        attempt: 0,
        method: "GET".into(),
        request_headers: Headers(vec![("accept".into(), "*/*".into())]),
        hops: Vec::new(),
        final_url: url,
        ip: Some([192, 0, 2, number as u8].into()),
        started_ms: 1_795_271_825_000 + number * 1_001,
        ended_ms: 1_795_271_825_985 + number * 1_001,
        outcome: Outcome::Response(Response {
            status: 200,
            reason: "OK".into(),
            version: HttpVersion::Http11,
            headers: Headers(vec![("server".into(), "test/1.0".into()), ("content-type".into(), content_type.into())]),
            body: body.into(),
            truncated: None,
            wall: None,
            wire: None,
        }),
        relevance: Relevance { relevance: number as f64 / 7.0, is_relevant: is_html },
        model: Some("topic@0a1b2c3d".into()),
        crawler_id: Arc::from("crawler-1"),
        again: None,
        withheld: None,
        bytes_beside: 0,
        text: None,
        preferences: None,
        likeness: None,
        was_duplicate: Default::default(),
        change: number.is_multiple_of(2).then_some(PageChange::Changed),
    }
}

pub fn response(event: &mut PageEvent) -> &mut Response {
    match &mut event.outcome {
        Outcome::Response(response) => response,
        Outcome::Failure(_) => panic!("a response"),
    }
}

/// One of each kind that has ever caused a bug.
pub fn nasty() -> Vec<PageEvent> {
    let mut events = Vec::new();
    let mut add = |make: &dyn Fn(u64) -> PageEvent| events.push(make(events.len() as u64));
    add(&|n| page(n, "<title>Plain</title><p>text</p>"));
    add(&|n| page(n, ""));
    add(&|n| page(n, &b"<p>\0NUL\0\0</p>\n\n\r\n\r\n"[..]));
    add(&|n| page(n, &b"<p>\xff\xfe\x80 no UTF-8 \xc3\x28</p>"[..]));
    add(&|n| with_type(n, "text/html; charset=windows-1251", &b"<p>\xcf\xf0\xe8\xe2\xe5\xf2</p>"[..]));
    add(&|n| with_type(n, "text/html; charset=utf-16", utf16("<p>日本語</p>")));
    add(&|n| with_type(n, "text/html", "<meta charset=iso-8859-1><p>é – not in Latin-1</p>"));
    add(&|n| with_type(n, "image/png", &b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..]));
    add(&|n| with_type(n, "text/plain", "WARC/1.1\r\nversion: 1.0\n{\"url\":\"http://a/\"}\n"));
    add(&|n| with_type(n, "application/json", "{\"url\": 5}\n{\n"));
    add(&redirected);
    add(&gzipped);
    add(&|n| {
        let mut event = page(n, "not gzip at all");
        response(&mut event).headers.push("content-encoding", "gzip");
        event
    });
    add(&repeated_headers);
    add(&|n| {
        let mut event = page(n, "<p>no type</p>");
        response(&mut event).headers = Headers::default();
        event
    });
    add(&|n| {
        let mut event = page(n, "cut");
        response(&mut event).truncated = Some(Truncated::Length);
        event
    });
    add(&|n| {
        let mut event = page(n, "HTTP/2");
        let response = response(&mut event);
        (response.version, response.reason) = (HttpVersion::Http2, String::new());
        event
    });
    add(&|n| {
        let mut event = page(n, "IPv6");
        event.ip = Some("2001:db8::1".parse().unwrap());
        event.url = "http://[2001:db8::1]:8080/p".into();
        event.final_url = event.url.clone();
        event
    });
    add(&|n| {
        let mut event = page(n, "");
        let message = "no such name".into();
        event.outcome = Outcome::Failure(Failure { reason: FailureReason::Dns, message });
        event
    });
    events
}

/// Every possible status.
pub fn statuses() -> Vec<PageEvent> {
    let with = |status: u16| {
        let mut event = page(u64::from(status), format!("<p>{status}</p>"));
        response(&mut event).status = status;
        event
    };
    (200..600).map(with).collect()
}

/// More headers than any server sends.
pub fn many_headers() -> Vec<PageEvent> {
    let mut event = page(1, "many");
    let headers = (0..10_000).map(|n| (format!("x-{}", n % 7_000), format!("value {n}")));
    response(&mut event).headers.0.extend(headers);
    vec![event]
}

/// Pages of random bytes, sizes and types, the same in every run.
pub fn random(count: u64) -> Vec<PageEvent> {
    let mut rng = Rng::with_seed(5);
    let page = |number: u64| {
        let bits = rng.usize(..14);
        let length = rng.usize(..1 << bits);
        let body: Vec<u8> = match rng.u8(..3) {
            0 => (0..length).map(|_| rng.u8(..)).collect(),
            1 => (0..length).map(|_| b"{}\"\\\r\n:<>WARC/1.0 \0"[rng.usize(..19)]).collect(),
            _ => (0..length).map(|_| rng.alphanumeric() as u8).collect(),
        };
        let types = ["text/html", "text/html; charset=utf-8", "text/plain", "application/pdf"];
        with_type(number, types[rng.usize(..types.len())], body)
    };
    (0..count).map(page).collect()
}

fn redirected(number: u64) -> PageEvent {
    let mut event = page(number, "<p>moved</p>");
    let hop = |url: &str, target: &str| Hop {
        url: url.into(),
        status: 301,
        headers: Headers(vec![("location".into(), target.into())]),
        target: target.into(),
        ip: Some([192, 0, 2, 9].into()),
    };
    event.final_url = "http://final.example/%C3%A9?x=1".into();
    event.hops = vec![hop(&event.url, "http://mid.example/"), hop("http://mid.example/", &event.final_url)];
    event
}

fn gzipped(number: u64) -> PageEvent {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all("<title>packed</title>".repeat(50).as_bytes()).unwrap();
    let packed = encoder.finish().unwrap();
    let length = packed.len().to_string();
    let mut event = page(number, packed);
    let headers = &mut response(&mut event).headers;
    headers.push("content-encoding", "gzip");
    headers.push("content-length", length);
    event
}

fn repeated_headers(number: u64) -> PageEvent {
    let mut event = page(number, "<p>cookies</p>");
    let headers = &mut response(&mut event).headers;
    for (name, value) in
        [("Set-Cookie", "a=1; Path=/"), ("X-Latin", "caf\u{e9}"), ("Set-Cookie", "b=2"), ("x-empty", "")]
    {
        headers.push(name, value);
    }
    event
}

fn utf16(text: &str) -> Vec<u8> {
    let units = std::iter::once(0xfeff).chain(text.encode_utf16());
    units.flat_map(u16::to_le_bytes).collect()
}
