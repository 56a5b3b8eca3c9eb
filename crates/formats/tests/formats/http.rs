//! HTTP messages as bytes: rebuilding a parsed message gives the same bytes.

use bytes::Bytes;
use proptest::collection::vec;
use proptest::prelude::*;
use seine_formats::chunked::Dechunker;
use seine_formats::http::{Exactness, HttpError, parse_response, write_request, write_response};
use seine_parse::page::wire::Wire;
use seine_parse::page::{Headers, HttpVersion, Outcome, PageEvent, Response};

fn parsed(bytes: &[u8]) -> Response {
    parse_response(&Bytes::copy_from_slice(bytes)).unwrap()
}

fn written(response: &Response) -> (Vec<u8>, Exactness) {
    let mut out = Vec::new();
    let exactness = write_response(response, &mut out);
    (out, exactness)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_response_is_read_with_its_case_order_and_repeats() {
    let response =
        parsed(b"HTTP/1.1 404 Not  Here\r\nX-B: 1\r\nset-cookie: a\r\nSet-Cookie: b\xe9\r\nEmpty:\r\n\r\nbody\0");
    assert_eq!((response.status, response.reason.as_str(), response.version), (404, "Not  Here", HttpVersion::Http11));
    let headers: Vec<_> = response.headers.0.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(headers, [("X-B", "1"), ("set-cookie", "a"), ("Set-Cookie", "bé"), ("Empty", "")]);
    assert_eq!(&response.body[..], b"body\0");
}

#[test]
fn line_feeds_alone_folded_values_and_odd_lines_are_taken() {
    let response = parsed(b"HTTP/1.0 200\nA: one\n  two\nno colon here\n: no name\nB:x\n\nbody");
    assert_eq!((response.status, response.version), (200, HttpVersion::Http10));
    assert_eq!(response.headers, Headers(vec![("A".into(), "one two".into()), ("B".into(), "x".into())]));
    assert_eq!(&response.body[..], b"body");
}

#[test]
fn chunks_are_joined_and_can_be_put_back() {
    let bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n4;x=\"y\"\r\nWiki\r\n5 \r\npedia\r\n0\r\nTrailer: t\r\n\r\n";
    let response = parsed(bytes);
    assert_eq!(&response.body[..], b"Wikipedia");
    assert_eq!(written(&response), (bytes.to_vec(), Exactness::Exact));
}

#[test]
fn a_body_whose_chunks_were_joined_before_is_taken_as_it_is() {
    let response = parsed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n<html>whole</html>");
    assert_eq!(&response.body[..], b"<html>whole</html>");
}

#[test]
fn what_is_no_response_is_refused_by_its_first_line() {
    for (bytes, first) in
        [(&b"Content-Type: text/html\r\n\r\n"[..], "Content-Type: text/html"), (b"HTTP/1.1 20\n", "HTTP/1.1 20")]
    {
        let error = parse_response(&Bytes::from_static(bytes)).unwrap_err();
        assert_eq!(error, HttpError::StatusLine(first.into()));
    }
    assert_eq!(parse_response(&Bytes::new()), Err(HttpError::Empty));
}

#[test]
fn a_rebuilt_response_has_the_length_it_has_and_no_framing() {
    let mut event = PageEvent::empty("http://a.example/p?q=1");
    let Outcome::Response(response) = &mut event.outcome else { unreachable!() };
    response.version = HttpVersion::Http2;
    response.reason = "two\r\nlines".into();
    response.headers = Headers(vec![
        ("transfer-encoding".into(), "chunked".into()),
        ("content-length".into(), "99".into()),
        ("content-encoding".into(), "gzip".into()),
    ]);
    response.body = Bytes::from_static(b"abc");
    let (bytes, exactness) = written(response);
    assert_eq!(text(&bytes), "HTTP/1.1 200 two  lines\r\ncontent-encoding: gzip\r\nContent-Length: 3\r\n\r\nabc");
    assert_eq!(exactness, Exactness::Rebuilt);
    response.status = 304;
    response.body = Bytes::new();
    assert_eq!(text(&written(response).0), "HTTP/1.1 304 two  lines\r\ncontent-encoding: gzip\r\n\r\n");
}

#[test]
fn a_request_names_the_host_of_the_final_url() {
    let mut event = PageEvent::empty("http://a.example/");
    event.final_url = "https://b.example:8443/p/q?r=s#t".into();
    event.request_headers = Headers(vec![("accept".into(), "*/*".into())]);
    let mut out = Vec::new();
    assert_eq!(write_request(&event, &mut out), Some(Exactness::Rebuilt));
    assert_eq!(text(&out), "GET /p/q?r=s HTTP/1.1\r\nHost: b.example:8443\r\naccept: */*\r\n\r\n");

    let Outcome::Response(response) = &mut event.outcome else { unreachable!() };
    response.wire = Some(Wire { request: Bytes::from_static(b"GET / HTTP/1.1\r\n\r\n"), ..Wire::default() });
    out.clear();
    assert_eq!(write_request(&event, &mut out), Some(Exactness::Exact));
    assert_eq!(text(&out), "GET / HTTP/1.1\r\n\r\n");
}

/// A body in chunks, as a server may send it.
fn chunked(pieces: &[Vec<u8>], extension: &str, trailers: &[String]) -> Vec<u8> {
    let mut out = Vec::new();
    for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
        out.extend(format!("{:x}{extension}\r\n", piece.len()).bytes());
        out.extend(piece);
        out.extend(b"\r\n");
    }
    out.extend(format!("0\r\n{}\r\n", trailers.concat()).bytes());
    out
}

proptest! {
    #[test]
    fn chunks_come_apart_the_same_however_they_arrive(
        pieces in vec(vec(any::<u8>(), 0..300), 0..12),
        extension in "(|;[a-z]{1,9}=1| )",
        trailers in vec("[A-Z]{1,9}: [a-z]{0,9}\r\n", 0..3),
        behind in vec(any::<u8>(), 0..20),
        step in 1..400_usize,
    ) {
        let mut input = chunked(&pieces, &extension, &trailers);
        let length = input.len();
        input.extend(&behind);
        let mut chunks = Dechunker::default();
        let mut body = Vec::new();
        let mut taken = 0;
        for arriving in input.chunks(step) {
            taken += chunks.feed(arriving, &mut body).unwrap();
        }
        prop_assert!(chunks.is_ended());
        prop_assert_eq!(taken, length);
        prop_assert_eq!(&body, &pieces.concat());
        let wire = Wire { framing: chunks.into_framing(), ..Wire::default() };
        let mut out = Vec::new();
        wire.write_response(&body, &mut out);
        prop_assert_eq!(out, &input[..length]);
    }

    #[test]
    fn a_chunked_body_that_breaks_off_loses_no_byte(pieces in vec(vec(any::<u8>(), 1..50), 1..6), cut in any::<prop::sample::Index>()) {
        let whole = chunked(&pieces, "", &[]);
        let cut = &whole[..cut.index(whole.len())];
        let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        let bytes = [&head[..], cut].concat();
        prop_assert_eq!(written(&parsed(&bytes)).0, bytes);
    }

    #[test]
    fn any_bytes_are_refused_or_given_back(bytes in vec(any::<u8>(), 0..300), status_line in any::<bool>(), is_chunked in any::<bool>()) {
        let mut all = Vec::new();
        if status_line {
            all.extend(b"HTTP/1.1 200 OK\r\n");
        }
        if is_chunked {
            all.extend(b"Transfer-Encoding: chunked\r\n\r\n");
        }
        all.extend(bytes);
        if let Ok(response) = parse_response(&Bytes::from(all.clone())) {
            prop_assert_eq!(written(&response).0, all);
        }
    }

    #[test]
    fn a_rebuilt_response_is_read_back(
        status in 100..1000_u16,
        headers in vec(("[A-Za-z][A-Za-z0-9-]{0,20}", "[!-~\u{a1}-\u{ff}]{0,30}"), 0..40),
        body in vec(any::<u8>(), 0..300),
    ) {
        let headers: Vec<_> = headers.into_iter()
            .filter(|(name, _)| !["content-length", "transfer-encoding"].contains(&name.to_ascii_lowercase().as_str()))
            .collect();
        let mut event = PageEvent::empty("http://a.example/");
        let Outcome::Response(response) = &mut event.outcome else { unreachable!() };
        *response = Response { status, headers: Headers(headers), body: body.into(), ..response.clone() };
        let mut read = parsed(&written(response).0);
        read.headers.0.retain(|(name, _)| name != "Content-Length");
        read.wire = None;
        prop_assert_eq!(&read, &*response);
    }
}
