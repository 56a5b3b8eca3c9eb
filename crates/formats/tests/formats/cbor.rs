//! FILESYSTEM_CBOR: writing, and reading files of other programs.

use std::borrow::Cow;

use bytes::Bytes;
use proptest::collection::vec;
use proptest::prelude::*;
use seine_formats::cbor::{self, Body, CborRecord};
use seine_parse::page::{Headers, Outcome, PageEvent, Truncated};
use seine_parse::{DeriveOptions, derive};

fn event(content_type: &str, body: &[u8]) -> PageEvent {
    let mut event = PageEvent::empty("http://www.a.example/x?y");
    event.ended_ms = 1_795_271_940_123;
    event.request_headers.push("accept", "*/*");
    let Outcome::Response(response) = &mut event.outcome else { unreachable!() };
    response.headers.push("content-type", content_type);
    response.body = Bytes::copy_from_slice(body);
    event
}

fn written(event: &PageEvent) -> Vec<u8> {
    let options = DeriveOptions {
        max_decoded_bytes: 1 << 30,
        obey_nofollow: false,
        agent: "Seine".into(),
        ..DeriveOptions::default()
    };
    let mut out = Vec::new();
    assert!(cbor::write_event(event, &derive(event, &options), &mut out));
    out
}

fn shown(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

#[test]
fn a_text_page_is_a_map_with_its_text() {
    let bytes = written(&event("text/html; charset=iso-8859-1", b"<p>caf\xe9"));
    insta::assert_snapshot!(shown(&bytes));
}

#[test]
fn what_is_no_text_is_bytes() {
    let bytes = written(&event("image/png", b"\x89PNG\0\xff"));
    // A map with one entry, "body", a byte string of six bytes.
    assert!(bytes.ends_with(b"hresponse\xa1dbody\x46\x89PNG\0\xff"), "{}", shown(&bytes));
    let read = cbor::parse(&bytes).unwrap().into_event();
    assert_eq!(&read.response().unwrap().body[..], b"\x89PNG\0\xff");
    assert_eq!(read.ended_ms, 1_795_271_940_000);
    assert_eq!(read.request_headers, Headers(vec![("accept".into(), "*/*".into())]));
}

#[test]
fn a_cut_body_is_marked_beside_it() {
    let mut cut = event("image/png", b"\x89PNG\0\xff");
    let Outcome::Response(response) = &mut cut.outcome else { unreachable!() };
    response.truncated = Some(Truncated::Disconnect);
    let bytes = written(&cut);
    assert!(bytes.ends_with(b"hresponse\xa2dbody\x46\x89PNG\0\xffitruncatedjdisconnect"), "{}", shown(&bytes));
    assert_eq!(cbor::parse(&bytes).unwrap().truncated, Some(Truncated::Disconnect));
    // Other programs may mean something else by this key.
    for strange in [&b"\x01"[..], b"\xf5", b"\xa1aa\x01", b"\x7fbno\xff", b"estorm"] {
        let strange = replace(&bytes, b"jdisconnect", strange);
        assert_eq!(cbor::parse(&strange).map(|record| record.truncated).ok(), Some(None), "{}", shown(&strange));
    }
}

/// Indefinite lengths, nulls and unknown fields, as ACHE writes them.
#[test]
fn a_file_of_ache_is_read() {
    let bytes = b"\xbfcurlt http://a.example/\x68imported\xf6\x63keyaxitimestamp\x1a\x6b\x01\xad\x04grequest\xbfgheaders\xbfoAccept-Languagehen-US,en\xfffmethodcGETfclient\xbfhsoftwaredACHEgcontact\xbfdname`eemail`\xff\xffdbody\xf6\xffhresponse\xbfdbody\x7fcabccdef\xff\xff\xff";
    let bytes = replace(bytes, b"curlt http://a.example/", b"\x63url\x71http://a.example/");
    let record = cbor::parse(&bytes).unwrap();
    assert_eq!((&*record.url, record.timestamp), ("http://a.example/", 1_795_271_940));
    assert_eq!(record.request_headers, Headers(vec![("Accept-Language".into(), "en-US,en".into())]));
    assert_eq!(record.body, Body::Text("abcdef".into()));
}

fn replace(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let at = bytes.windows(from.len()).position(|window| window == from).unwrap();
    [&bytes[..at], to, &bytes[at + from.len()..]].concat()
}

#[test]
fn what_is_no_record_is_refused() {
    for bytes in [&b""[..], b"\x00", b"\xa0", b"\xa1\x63url", b"<html>", b"\x9f\x9f\x9f"] {
        assert!(cbor::parse(bytes).is_err(), "{bytes:?}");
    }
}

fn body() -> impl Strategy<Value = Body<'static>> {
    let text = any::<String>().prop_map(|text| Body::Text(text.into()));
    prop_oneof![text, vec(any::<u8>(), 0..300).prop_map(|bytes| Body::Bytes(Cow::from(bytes)))]
}

proptest! {
    #[test]
    fn every_record_is_read_back(url in any::<String>(), timestamp in any::<u64>(), headers in vec((any::<String>(), any::<String>()), 0..20), body in body()) {
        let record = CborRecord { url: url.into(), timestamp, request_headers: Headers(headers), body, ..CborRecord::default() };
        let mut out = Vec::new();
        record.write(&mut out);
        prop_assert_eq!(cbor::parse(&out).unwrap(), record);
    }

    #[test]
    fn damage_is_refused_or_read(at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<prop::sample::Index>()) {
        let mut bytes = written(&event("text/html", b"<p>text"));
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let _ = cbor::parse(&bytes);
        bytes.truncate(cut.index(bytes.len()));
        let _ = cbor::parse(&bytes);
    }

    #[test]
    fn any_bytes_are_refused_or_read(bytes in vec(any::<u8>(), 0..200)) {
        let _ = cbor::parse(&bytes);
        // Deep nesting and huge lengths after a map's first key.
        let _ = cbor::parse(&[b"\xbf\x61x".as_slice(), &vec![0x9f; 10_000], &bytes].concat());
        let _ = cbor::parse(&[b"\xbf\x63url\x7b\xff\xff\xff\xff\xff\xff\xff\xff".as_slice(), &bytes].concat());
    }
}
