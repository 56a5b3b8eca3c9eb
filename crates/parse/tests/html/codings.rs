//! Content codings are removed, within limits.

use super::*;

#[test]
fn every_coding_is_taken_off() {
    let text = sample_text();
    let coded = [
        ("gzip", gzip(&text)),
        ("X-GZip", gzip(&text)),
        ("deflate", zlib(&text)),
        ("deflate", raw_deflate(&text)),
        ("br", brotli(&text)),
        (" zstd ", zstd(&text)),
        ("identity", text.clone()),
        ("", text.clone()),
    ];
    for (coding, body) in coded {
        let decoded = decode(coding, body, 1 << 20);
        assert_eq!(decoded.problem, None, "{coding}");
        assert_eq!(decoded.body, text, "{coding}");
    }
}

#[test]
fn several_codings_are_taken_off_last_first() {
    let text = sample_text();
    let body = brotli(&zlib(&gzip(&text)));
    let one_header = decode("gzip, identity ,deflate,br", body.clone(), 1 << 20);
    assert_eq!((one_header.problem, &one_header.body[..]), (None, &text[..]));
    let headers = [("Content-Encoding", "gzip"), ("content-encoding", "deflate, br")];
    assert_eq!(decode_body(&response(&headers, body), 1 << 20).body, text);

    let many = decode("gzip,gzip,gzip,gzip,gzip", text.clone(), 1 << 20);
    assert_eq!(many.problem, Some(DecodeProblem::TooMany { count: 5 }));
    assert_eq!(many.body, text);
}

#[test]
fn a_body_without_coding_is_not_copied() {
    let response = response(&[], sample_text());
    assert_eq!(decode_body(&response, 10).body.as_ptr(), response.body.as_ptr());
}

#[test]
fn gzip_members_follow_each_other_and_padding_is_ignored() {
    let mut body = gzip(b"one ");
    body.extend(gzip(b"two"));
    body.extend([0; 64]);
    let decoded = decode("gzip", body, 1 << 20);
    assert_eq!((decoded.problem, &decoded.body[..]), (None, &b"one two"[..]));
}

#[test]
fn what_breaks_off_is_kept_as_far_as_it_goes() {
    let text = sample_text();
    for (coding, mut body) in [
        ("gzip", gzip(&text)),
        ("deflate", zlib(&text)),
        ("deflate", raw_deflate(&text)),
        ("br", brotli(&text)),
        ("zstd", zstd(&text)),
    ] {
        body.truncate(body.len() * 2 / 3);
        let decoded = decode(coding, body, 1 << 20);
        assert!(
            matches!(decoded.problem, Some(DecodeProblem::Cut { kept, .. }) if kept == decoded.body.len()),
            "{coding}: {:?}",
            decoded.problem
        );
        assert!(text.starts_with(&decoded.body), "{coding}");
        assert!(decoded.body.len() > text.len() / 3, "{coding}: {}", decoded.body.len());
    }
}

#[test]
fn a_stream_without_its_very_end_is_cut_short_too() {
    let text = sample_text();
    for (coding, body) in [
        ("gzip", gzip(&text)),
        ("deflate", zlib(&text)),
        ("deflate", raw_deflate(&text)),
        ("br", brotli(&text)),
        ("zstd", zstd(&text)),
    ] {
        for cut in [1, 2, body.len() / 2] {
            let decoded = decode(coding, body[..body.len() - cut].to_vec(), 1 << 20);
            assert!(
                matches!(decoded.problem, Some(DecodeProblem::Cut { .. })),
                "{coding} -{cut}: {:?}",
                decoded.problem
            );
            assert!(text.starts_with(&decoded.body), "{coding} -{cut}");
        }
    }
    // Damaged data with more data after it is another case.
    for (coding, mut body) in [("gzip", gzip(&text)), ("deflate", zlib(&text)), ("zstd", zstd(&text))] {
        let middle = body.len() / 2;
        body[middle..middle + 100].fill(0xff);
        let problem = decode(coding, body, 1 << 20).problem;
        assert!(matches!(problem, Some(DecodeProblem::Broken { .. })), "{coding}: {problem:?}");
    }
}

#[test]
fn a_checksum_that_is_wrong_is_named_and_the_text_kept() {
    let mut body = gzip(b"<p>still a page");
    let checksum = body.len() - 8;
    body[checksum] ^= 0xff;
    let decoded = decode("gzip", body, 1 << 20);
    assert_eq!(decoded.body, "<p>still a page");
    assert!(matches!(decoded.problem, Some(DecodeProblem::Broken { coding: "gzip", .. })));
}

#[test]
fn a_bomb_stops_at_the_limit() {
    let zeros = vec![b' '; 30 << 20];
    for (coding, body) in
        [("gzip", gzip(&zeros)), ("deflate", zlib(&zeros)), ("br", brotli(&zeros)), ("zstd", zstd(&zeros))]
    {
        assert!(body.len() < 100_000);
        let decoded = decode(coding, body, 100_000);
        assert_eq!(decoded.body.len(), 100_000, "{coding}");
        assert!(matches!(decoded.problem, Some(DecodeProblem::OverLimit { limit: 100_000, .. })), "{coding}");
    }
    // A bomb within a bomb: the inner coding has the same limit.
    let decoded = decode("gzip, gzip", gzip(&gzip(&zeros)), 100_000);
    assert_eq!(decoded.body.len(), 100_000);
    // A body exactly at the limit is allowed.
    assert_eq!(decode("gzip", gzip(&zeros[..1000]), 1000).problem, None);
}

#[test]
fn what_is_not_coded_as_declared_is_kept_as_received() {
    for coding in ["gzip", "deflate", "br", "zstd"] {
        let decoded = decode(coding, b"<!doctype html><a href=/x>plain</a>".to_vec(), 1 << 20);
        assert!(matches!(decoded.problem, Some(DecodeProblem::NotCoded { .. })), "{coding}: {:?}", decoded.problem);
        assert_eq!(decoded.body, "<!doctype html><a href=/x>plain</a>");
    }
    let unknown = decode("gzip, sdch", gzip(b"x"), 1 << 20);
    assert_eq!(unknown.problem, Some(DecodeProblem::Unknown { coding: "sdch".into() }));
    assert_eq!(unknown.body, gzip(b"x"));
    assert_eq!(decode("gzip", Vec::new(), 10), Decoded::default());
}

#[test]
fn a_zstd_window_beyond_the_webs_is_refused() {
    let mut encoder = zstd::stream::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(27).unwrap();
    encoder.write_all(&sample_text()).unwrap();
    let body = encoder.finish().unwrap();
    let decoded = decode("zstd", body, 1 << 20);
    assert!(
        matches!(decoded.problem, Some(DecodeProblem::Broken { coding: "zstd", kept: 0, .. })),
        "{:?}",
        decoded.problem
    );
    assert!(decoded.body.is_empty());
}
