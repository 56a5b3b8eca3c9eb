//! Reading complete records of any writer.

use std::io::Read;

use super::*;
use proptest::prelude::*;
use seine_formats::warc::DigestVerdict;

fn any_bytes(most: usize) -> impl Strategy<Value = Bytes> {
    prop_oneof![
        4 => prop::collection::vec(any::<u8>(), 0..most).prop_map(Bytes::from),
        1 => Just(Bytes::from_static(b"\r\n\r\nWARC/1.0\r\n")),
        1 => Just(Bytes::from_static(b"\n\n\n")),
        1 => Just(Bytes::new()),
    ]
}

fn any_record() -> impl Strategy<Value = WarcRecord> {
    let name =
        "[A-Za-z][A-Za-z0-9-]{0,20}".prop_filter("it is written", |it| !it.eq_ignore_ascii_case("content-length"));
    let value = "[ -~äöü日]{0,40}".prop_map(|it| it.trim().to_owned());
    let version = prop::sample::select(vec!["0.17", "0.18", "1.0", "1.1"]);
    (version, prop::collection::vec((name, value), 0..12), any_bytes(3_000)).prop_map(|(version, fields, block)| {
        // Only a digest distinguishes a block that contains a record from a wrong length.
        let digest = data_encoding::BASE32.encode(&<sha1::Sha1 as sha1::Digest>::digest(&block));
        let mut fields: Vec<_> =
            fields.into_iter().filter(|(name, _)| !name.eq_ignore_ascii_case("warc-block-digest")).collect();
        fields.push(("WARC-Block-Digest".into(), format!("sha1:{digest}")));
        fields.push(("Content-Length".into(), block.len().to_string()));
        WarcRecord { version: version.into(), fields: Headers(fields), block, location: Default::default() }
    })
}

fn without_places(records: Vec<WarcRecord>) -> Vec<WarcRecord> {
    records.into_iter().map(|record| WarcRecord { location: Default::default(), ..record }).collect()
}

struct OneByOne<'a>(&'a [u8]);

impl Read for OneByOne<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = buffer.len().min(1);
        self.0.read(&mut buffer[..length])
    }
}

proptest! {
    #[test]
    fn every_record_comes_back_however_the_file_is_compressed(
        all in prop::collection::vec(any_record(), 0..6),
        piece in 1..4_000_usize,
    ) {
        let (mut plain, mut members) = (Vec::new(), Vec::new());
        for record in &all {
            let mut alone = Vec::new();
            record.write(&mut alone);
            plain.extend_from_slice(&alone);
            members.extend(gzip(&alone));
        }
        // A file compressed in pieces without regard to records.
        let pieces: Vec<u8> = plain.chunks(piece).flat_map(gzip).collect();
        // A block that continues with a version line at the start of a member is taken for one that was cut.
        let is_ambiguous = plain.chunks(piece).skip(1).any(|it| it.starts_with(b"WARC/"));
        let pieces = if is_ambiguous { plain.clone() } else { pieces };
        for (kind, file) in [("plain", &plain), ("members", &members), ("whole", &gzip(&plain)), ("pieces", &pieces)] {
            let (read, errors, truncated) = read(file);
            prop_assert!(errors.is_empty() && !truncated, "{}: {:?} {}", kind, errors, truncated);
            prop_assert_eq!(without_places(read), all.clone(), "{}", kind);
        }
        let slowly: Result<Vec<_>, _> = WarcReader::new(OneByOne(&members)).collect();
        prop_assert_eq!(without_places(slowly.unwrap()), all);
    }

    #[test]
    fn every_page_comes_back(
        body in any_bytes(2_000),
        status in (100..=599_u16).prop_filter("a revisit", |it| *it != 304),
        fields in prop::collection::vec(("[a-z][a-z-]{0,12}", "[ -~]{0,30}"), 0..40),
        kind in 0..3_u8,
        compressed in any::<bool>(),
    ) {
        let mut event = match kind {
            0 => event(1, &body),
            1 => exact(1, &body),
            _ => chunked(1, &body),
        };
        if kind == 0 {
            let response = response(&mut event);
            response.status = status;
            let framing = |name: &str| ["content-length", "transfer-encoding"].contains(&name);
            response.headers = Headers(fields.into_iter().filter(|(name, _)| !framing(name)).collect());
            response.headers.0.iter_mut().for_each(|(_, value)| *value = value.trim().to_owned());
        }
        if kind == 2 && body.len() < 2 {
            return Ok(()); // a chunk of no bytes ends the body
        }
        let file = file_of(std::slice::from_ref(&event), if compressed { GZIP } else { PLAIN });
        let [mut read] = <[_; 1]>::try_from(pages(&file)).unwrap();
        let written = event.response().unwrap();
        let found = response(&mut read);
        prop_assert_eq!(&found.body, &written.body);
        prop_assert_eq!(&found.wire, &written.wire);
        prop_assert_eq!(found.status, written.status);
    }
}

/// Up to 10,000 headers, and every status.
#[test]
fn thousands_of_headers_and_every_status_come_back() {
    let mut many = event(1, b"x");
    response(&mut many).headers = Headers((0..10_000).map(|at| (format!("x-{at}"), "v".repeat(20))).collect());
    let [mut read] = <[_; 1]>::try_from(pages(&file_of(std::slice::from_ref(&many), GZIP))).unwrap();
    // And the length of the stored body.
    assert_eq!(response(&mut read).headers.0.len(), 10_001);
    assert_eq!(response(&mut read).headers.get("x-9999"), Some("v".repeat(20).as_str()));
    let every: Vec<_> = (100..=599)
        .map(|status| {
            let mut event = event(u64::from(status), b"body");
            response(&mut event).status = status;
            event
        })
        .collect();
    let statuses: Vec<_> = pages(&file_of(&every, GZIP)).iter().map(|it| it.response().unwrap().status).collect();
    assert_eq!(statuses, (100..=599).collect::<Vec<_>>());
}

#[test]
fn older_and_looser_files_are_read() {
    let loose = b"WARC/0.17\nWARC-Type: response\nWARC-Target-URI: <http://a.example/>\nwarc-date: 2006-09-19\n\
        X-Folded: one\n\ttwo\nContent-type: application/http; msgtype=response\nCONTENT-LENGTH: 19\n\n\
        HTTP/1.0 200 OK\n\nhi\n\n\
        WARC/1.0 \r\nWARC-Type: resource\r\nno colon here\r\nContent-Length:2\r\n\r\nab\r\n\r\n\r\n\r\n\
        WARC/1.1\r\nContent-Length: 0\r\n\r\n\r\n\r\n";
    let all = records(loose);
    assert_eq!(all.iter().map(|it| it.version.as_str()).collect::<Vec<_>>(), ["0.17", "1.0", "1.1"]);
    assert_eq!(all[0].target_uri(), Some("http://a.example/"));
    assert_eq!(all[0].get("x-folded"), Some("one two"));
    assert_eq!(all[0].date(), Some(1_158_624_000_000));
    assert_eq!(&all[0].block[..], b"HTTP/1.0 200 OK\n\nhi");
    assert_eq!(all[1].fields.0[1], ("no colon here".into(), String::new()));
    assert_eq!(all[1].block, "ab");
    assert_eq!(all[0].check_block(), DigestVerdict::Absent);
}

#[test]
fn digests_of_every_spelling_are_checked() {
    let check = |digest: &str| {
        let fields =
            headers(&[("WARC-Type", "resource"), ("WARC-Block-Digest", digest), ("WARC-Payload-Digest", digest)]);
        let block = Bytes::from_static(b"abc");
        let record = WarcRecord { version: "1.1".into(), fields, block, location: Default::default() };
        assert_eq!(record.check_block(), record.check_payload());
        record.check_block()
    };
    for right in [
        "sha1:VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5",
        "SHA-1:vgmt4nsha2awvor6evyxqugcnsonbwe5",
        "sha1:a9993e364706816aba3e25717850c26c9cd0d89d",
        "sha256:BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD",
        "sha256:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=",
    ] {
        assert_eq!(check(right), DigestVerdict::Right, "{right}");
    }
    let wrong = check("sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
    let found = "sha1:VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5".to_owned();
    assert_eq!(wrong, DigestVerdict::Wrong { stated: "sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA".into(), found });
    for unknown in ["md5:900150983cd24fb0d6963f7d28e17f72", "sha1:", "sha1:1", "nonsense", ""] {
        assert!(check(unknown) == DigestVerdict::Unknown, "{unknown}");
    }
}

#[test]
fn a_block_beyond_the_limit_is_passed_over() {
    let events = [event(1, b"short"), event(2, &[b'x'; 5_000]), event(3, b"short too")];
    for file in [file_of(&events, PLAIN), file_of(&events, GZIP), gzip(&file_of(&events, PLAIN))] {
        let items: Vec<_> = WarcReader::with_max_block(&file[..], 4_000).collect();
        let too_long = |item: &&Result<WarcRecord, WarcError>| matches!(item, Err(WarcError::TooLong { length, limit: 4_000, .. }) if *length > 5_000);
        assert_eq!(items.iter().filter(too_long).count(), 1);
        assert_eq!(items.iter().filter(|it| it.is_ok()).count(), 6, "warcinfo, two pages, three requests");
        assert_eq!(items.len(), 7);
    }
}

#[test]
fn a_length_that_nobody_could_hold_is_no_reason_to_try() {
    for length in ["99999999999999999999999", "18446744073709551615", "-1", "1e3", ""] {
        let mut file = format!("WARC/1.1\r\nContent-Length: {length}\r\n\r\nabc\r\n\r\n").into_bytes();
        file.extend(file_of(&[event(1, b"next")], PLAIN));
        for file in [file.clone(), gzip(&file)] {
            let (found, errors, _) = read(&file);
            assert_eq!(errors.len(), 1, "{length}: {errors:?}");
            // In a compressed file the length is trusted within the member.
            assert!(found.len() == 3 || found.is_empty(), "{length}");
        }
    }
}
