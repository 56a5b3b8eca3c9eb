//! `page::codec`: every event is read back as it was written; arbitrary bytes never cause a panic.

#[path = "support/event.rs"]
mod made;

use bytes::Bytes;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use seine_parse::page::codec::{body, decode, encode, encode_head};
use seine_parse::page::preferences::{OptedOut, Purpose, Says, Scheme, Source, Statement, Usage};
use seine_parse::page::wire::{Framing, Wire};
use seine_parse::page::*;
use seine_parse::text_sketch::TextSketch;

fn event(n: u64, body: usize) -> PageEvent {
    let page = made::page(format!("http://example.com/{n}"), &[("content-type", "text/html")], vec![n as u8; body]);
    PageEvent { id: made::id(n), started_ms: n, ended_ms: n + 1, ..page }
}

fn headers() -> impl Strategy<Value = Headers> {
    // Arbitrary bytes from a server, read as Latin-1; and arbitrary text.
    let value = prop_oneof![vec(any::<u8>(), 0..40).prop_map(|bytes| latin1_to_string(&bytes)), any::<String>()];
    vec((any::<String>(), value), 0..6).prop_map(Headers)
}

fn hop() -> impl Strategy<Value = Hop> {
    (any::<String>(), any::<u16>(), headers(), any::<String>(), option::of(any::<std::net::IpAddr>()))
        .prop_map(|(url, status, headers, target, ip)| Hop { url, status, headers, target, ip })
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![response().prop_map(Outcome::Response), failure().prop_map(Outcome::Failure)]
}

fn response() -> impl Strategy<Value = Response> {
    let version = prop_oneof![Just(HttpVersion::Http10), Just(HttpVersion::Http11), Just(HttpVersion::Http2)];
    let cut = prop_oneof![Just(Truncated::Length), Just(Truncated::Time), Just(Truncated::Disconnect)];
    let body = prop_oneof![Just(Vec::new()), Just(vec![0; 300]), vec(any::<u8>(), 0..300)];
    (any::<u16>(), any::<String>(), version, headers(), body, option::of(cut), option::of(wire())).prop_map(
        |(status, reason, version, headers, body, truncated, wire)| Response {
            status,
            reason,
            version,
            headers,
            body: body.into(),
            truncated,
            wire,
        },
    )
}

fn wire() -> impl Strategy<Value = Wire> {
    let bytes = || vec(any::<u8>(), 0..100).prop_map(Bytes::from);
    let framing = (any::<u64>(), bytes()).prop_map(|(at, bytes)| Framing { at, bytes });
    (bytes(), bytes(), vec(framing, 0..4)).prop_map(|(request, head, framing)| Wire { request, head, framing })
}

fn failure() -> impl Strategy<Value = Failure> {
    (proptest::sample::select(&FailureReason::ALL[..]), any::<String>())
        .prop_map(|(reason, message)| Failure { reason, message })
}

fn likeness() -> impl Strategy<Value = Likeness> {
    let of = (any::<String>(), 0..=3u8, option::of(any::<u64>()), option::of(any::<u64>()));
    let of = option::of(of.prop_map(|(url, distance, simhash, text)| DuplicateOf { url, distance, simhash, text }));
    let sketch = any::<[u8; TextSketch::BYTES]>().prop_map(|bytes| TextSketch::from_bytes(&bytes).unwrap());
    let likeness = (option::of(any::<u64>()), of, 0..=3u8, option::of(sketch), any::<u8>());
    likeness.prop_map(|(simhash, of, within, sketch, method)| Likeness { simhash, of, within, sketch, method })
}

fn page_event() -> impl Strategy<Value = PageEvent> {
    let texts = (any::<String>(), any::<String>(), any::<String>(), any::<String>(), any::<String>());
    let numbers = (any::<u16>(), any::<u16>(), any::<u64>(), any::<u64>());
    let kind = prop_oneof![Just(Kind::Page), Just(Kind::Sitemap)];
    let relevance =
        (0.0..=1.0f64, any::<bool>()).prop_map(|(relevance, is_relevant)| Relevance { relevance, is_relevant });
    let change = option::of(prop_oneof![
        Just(PageChange::New),
        Just(PageChange::Unchanged),
        Just(PageChange::Changed),
        Just(PageChange::Gone)
    ]);
    let again = option::of((any::<u64>(), any::<bool>(), any::<bool>()).prop_map(|(at, counts, host_is_well)| Again {
        at,
        counts,
        host_is_well,
    }));
    let alias = any::<(String, String)>().prop_map(|(of, target)| Withheld::Alias { of, target });
    let withheld = option::of(prop_oneof![Just(Withheld::Noindex), alias, asked().prop_map(opted_out)]);
    let bits = btree_map(0..=64u8, 0..=64u8, 0..3);
    let text = (btree_map(0..=64u8, any::<u64>(), 0..3), bits);
    let text = option::of(text.prop_map(|(given, distances)| TextChange { given, distances }));
    let text = (text, option::of(vec(asked(), 0..3)));
    let likeness = option::of(likeness());
    let was = prop_oneof![Just(WasDuplicate::No), Just(WasDuplicate::Yes), Just(WasDuplicate::Unknown)];
    let ip = option::of(any::<std::net::IpAddr>());
    let rest = (kind, relevance, ip, change, again, withheld, text, likeness, was);
    (texts, numbers, rest, headers(), vec(hop(), 0..3), outcome()).prop_map(
        |(texts, numbers, rest, request_headers, hops, outcome)| {
            let (kind, relevance, ip, change, again, withheld, (text, preferences), likeness, was_duplicate) = rest;
            PageEvent {
                id: texts.0.clone(),
                url: texts.1,
                kind,
                depth: numbers.0,
                attempt: numbers.1,
                method: texts.2,
                request_headers,
                hops,
                final_url: texts.3,
                ip,
                started_ms: numbers.2,
                ended_ms: numbers.3,
                outcome,
                again,
                withheld,
                bytes_beside: numbers.2 % 3,
                change,
                text,
                preferences,
                likeness,
                was_duplicate,
                relevance,
                model: (numbers.0 % 2 == 0).then(|| texts.0.as_str().into()),
                crawler_id: texts.4.into(),
            }
        },
    )
}

fn asked() -> impl Strategy<Value = Statement> {
    let says =
        prop_oneof![Just(Says::nothing()), Just(Says::one(Usage::Tdm, false)), Just(Says::one(Usage::Search, true))];
    let source =
        prop_oneof![Just(Source::RobotsTxt), Just(Source::TdmFile), Just(Source::Header), Just(Source::Markup)];
    let scheme = prop_oneof![Just(Scheme::ContentUsage), Just(Scheme::Robots), Just(Scheme::Rsl)];
    let statement = (scheme, source, any::<u32>(), says, option::of(any::<String>()));
    statement.prop_map(|(scheme, source, line, says, terms)| Statement { scheme, source, line, says, terms })
}

fn opted_out(by: Statement) -> Withheld {
    Withheld::OptedOut(Box::new(OptedOut { of: Purpose::AiInput, archived: by.line.is_multiple_of(2), by }))
}

proptest! {
    #[test]
    fn an_event_comes_back_as_it_was(event in page_event()) {
        let mut bytes = Vec::new();
        encode(&event, &mut bytes);
        prop_assert_eq!(decode(&Bytes::from(bytes)).unwrap(), event);
    }

    #[test]
    fn head_and_body_are_the_whole(event in page_event()) {
        let (mut whole, mut parts) = (Vec::new(), b"before".to_vec());
        encode(&event, &mut whole);
        encode_head(&event, &mut parts);
        parts.extend_from_slice(body(&event));
        prop_assert_eq!(&parts[6..], &whole[..]);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..200)) {
        let _ = decode(&Bytes::from(bytes));
    }

    #[test]
    fn a_changed_event_never_panics(event in page_event(), at in any::<prop::sample::Index>(), to in any::<u8>()) {
        let mut bytes = Vec::new();
        encode(&event, &mut bytes);
        let at = at.index(bytes.len());
        bytes[at] = to;
        let _ = decode(&Bytes::from(bytes));
    }
}

#[test]
fn a_cut_event_is_an_error_that_says_how_much_is_missing() {
    let mut bytes = Vec::new();
    encode(&event(1, 0), &mut bytes);
    for length in 0..bytes.len() {
        let error = decode(&Bytes::copy_from_slice(&bytes[..length])).expect_err("it is cut");
        assert!(error.to_string().contains(&format!("{length} bytes")), "{error}");
    }
}

#[test]
fn a_relevance_that_is_no_number_does_not_lose_the_event() {
    let mut event = event(1, 10);
    event.relevance.relevance = f64::NAN;
    let mut bytes = Vec::new();
    encode(&event, &mut bytes);
    assert_eq!(decode(&Bytes::from(bytes)).expect("it can be read").relevance.relevance, 0.0);
}
