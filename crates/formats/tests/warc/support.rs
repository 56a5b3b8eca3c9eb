//! Pages and files that the tests share.

// Each test binary uses its own part of this.
#![allow(dead_code, unused_imports)]

#[path = "../../../parse/tests/support/event.rs"]
mod made;

pub use bytes::Bytes;
pub use made::response;
pub use seine_formats::encoder::NewFile;
pub use seine_formats::options::WarcOptions;
pub use seine_formats::warc::{WarcError, WarcPages, WarcReader, WarcRecord, WarcWriter};
pub use seine_parse::Link;
pub use seine_parse::page::wire::{Framing, Wire};
pub use seine_parse::page::{Headers, Hop, HttpVersion, Kind, Outcome, PageEvent, Relevance, Truncated};

pub const STARTED: u64 = 1_795_271_825_000;

pub fn headers(pairs: &[(&str, &str)]) -> Headers {
    Headers(pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect())
}

pub fn url(number: u64) -> String {
    format!("http://a.example/{number}")
}

/// A page whose exchange was not kept byte for byte.
pub fn event(number: u64, body: &[u8]) -> PageEvent {
    let headers = [("content-type", "text/html; charset=utf-8"), ("x-multi", "1"), ("x-multi", "2")];
    let page = made::page(url(number), &headers, Bytes::copy_from_slice(body));
    PageEvent {
        id: format!("0193500000007000800000000000{number:04x}"),
        depth: 2,
        request_headers: made::answer(&[("accept", "text/html"), ("user-agent", "Seine")], "").headers,
        ip: Some([192, 0, 2, 1].into()),
        started_ms: STARTED + number,
        ended_ms: STARTED + number + 985,
        ..page
    }
}

/// The same, with the bytes as received.
pub fn exact(number: u64, body: &[u8]) -> PageEvent {
    let mut event = event(number, body);
    let length = body.len();
    let head =
        format!("HTTP/1.1 200 Fine\r\nContent-Type: text/html\r\nX-Odd:value\r\nContent-Length: {length}\r\n\r\n");
    let response = response(&mut event);
    response.reason = "Fine".into();
    let length = length.to_string();
    response.headers = headers(&[("Content-Type", "text/html"), ("X-Odd", "value"), ("Content-Length", &length)]);
    let request = Bytes::from(format!("GET /{number} HTTP/1.1\r\nHost: a.example\r\nAccept: */*\r\n\r\n"));
    response.wire = Some(Wire { request, head: head.into(), framing: Vec::new() });
    event.request_headers = headers(&[("Host", "a.example"), ("Accept", "*/*")]);
    event
}

/// The same, in two chunks, one with an extension.
pub fn chunked(number: u64, body: &[u8]) -> PageEvent {
    let mut event = exact(number, body);
    let response = response(&mut event);
    response.headers = headers(&[("Transfer-Encoding", "chunked"), ("Content-Type", "text/html")]);
    let half = body.len() / 2;
    let frame = |at: usize, bytes: String| Framing { at: at as u64, bytes: bytes.into() };
    let wire = response.wire.as_mut().unwrap();
    wire.head = "HTTP/1.1 200 Fine\r\nTransfer-Encoding: chunked\r\nContent-Type: text/html\r\n\r\n".into();
    wire.framing = vec![
        frame(0, format!("{half:X}\r\n")),
        frame(half, format!("\r\n{:x};a=b\r\n", body.len() - half)),
        frame(body.len(), "\r\n0\r\n\r\n".into()),
    ];
    event
}

pub fn redirected(number: u64) -> PageEvent {
    let mut event = event(number, b"<p>moved here");
    event.url = url(900);
    let hop = |from: &str, to: &str, status| Hop {
        url: from.into(),
        status,
        headers: headers(&[("location", to), ("x-hop", "yes")]),
        target: to.into(),
        ip: Some("2001:db8::1".parse().unwrap()),
    };
    event.hops = vec![hop(&url(900), &url(901), 301), hop(&url(901), &url(number), 307)];
    event
}

pub fn truncated(number: u64, why: Truncated) -> PageEvent {
    let mut event = event(number, b"<p>as far as it ca");
    response(&mut event).truncated = Some(why);
    event
}

pub fn not_modified(number: u64) -> PageEvent {
    let mut event = event(number, b"");
    let response = response(&mut event);
    (response.status, response.reason) = (304, "Not Modified".into());
    response.headers = headers(&[("etag", "\"1\"")]);
    event.relevance = Relevance::by_type(false);
    event
}

pub fn http2(number: u64) -> PageEvent {
    let mut event = event(number, b"<p>two");
    let response = response(&mut event);
    (response.version, response.reason) = (HttpVersion::Http2, String::new());
    event
}

pub fn missing(number: u64) -> PageEvent {
    let mut event = event(number, b"<h1>Not here</h1>");
    let response = response(&mut event);
    (response.status, response.reason) = (404, "Not Found".into());
    event.relevance = Relevance::by_type(false);
    event
}

/// One page of every kind.
pub fn zoo() -> Vec<PageEvent> {
    vec![
        event(1, b"<p>rebuilt"),
        exact(2, b"<p>exact"),
        chunked(3, b"<p>in two chunks"),
        redirected(4),
        truncated(5, Truncated::Length),
        truncated(6, Truncated::Time),
        truncated(7, Truncated::Disconnect),
        not_modified(8),
        http2(9),
        missing(10),
        exact(11, b""),
        event(12, &[0, 255, 254, 13, 10, 13, 10, b'W', b'A', b'R', b'C', b'/', b'1', b'.', b'1', 13, 10]),
    ]
}

pub const PLAIN: WarcOptions = options(false);
pub const GZIP: WarcOptions = options(true);

pub const fn options(compress: bool) -> WarcOptions {
    WarcOptions {
        compress,
        compression_level: 6,
        cdxj: false,
        metadata: false,
        revisits: 0,
        operator: None,
        user_agent: String::new(),
        obeys_robots: true,
    }
}

pub fn links() -> Vec<Link> {
    let link = |url: &str, nofollow| Link { url: url.into(), nofollow };
    vec![link("http://a.example/x", false), link("http://b.example/?q=a b", true)]
}

/// A whole file.
pub fn file_of(events: &[PageEvent], options: WarcOptions) -> Vec<u8> {
    let (operator, user_agent) = ("Jo <jo@a.example>".to_owned(), "Mozilla/5.0 (compatible; Seine)".into());
    let mut writer = WarcWriter::new(WarcOptions { operator: Some(operator), user_agent, ..options });
    let (new, mut file) = (NewFile { name: "test.warc", crawler_id: "test", hostname: Some("box") }, Vec::new());
    writer.write_info("Seine/test", &new, STARTED, &mut file);
    for event in events {
        assert!(writer.write_event(event, &links(), &mut file));
    }
    file
}

/// Records, errors, and whether the end was missing.
pub fn read(file: &[u8]) -> (Vec<WarcRecord>, Vec<WarcError>, bool) {
    let mut reader = WarcReader::new(file);
    let (mut records, mut errors) = (Vec::new(), Vec::new());
    for item in reader.by_ref() {
        match item {
            Ok(record) => records.push(record),
            Err(error) => errors.push(error),
        }
    }
    (records, errors, reader.truncated())
}

/// The records of an intact file.
pub fn records(file: &[u8]) -> Vec<WarcRecord> {
    let (records, errors, truncated) = read(file);
    assert!(errors.is_empty() && !truncated, "{errors:?}, truncated: {truncated}");
    records
}

pub fn pages(file: &[u8]) -> Vec<PageEvent> {
    WarcPages::new(WarcReader::new(file)).map(|page| page.unwrap()).collect()
}

pub fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut encoder, data).unwrap();
    encoder.finish().unwrap()
}
