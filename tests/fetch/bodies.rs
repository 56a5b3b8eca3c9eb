//! How much of a body arrives, and why not all of it.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use seine_parse::page::Truncated;

use crate::sites::server::{Answer, Body};
use bytes::Bytes;
use seine::config::FetchConfig;

use crate::raw_server::{RawServer, Reply, Then};
use crate::sites::Running;
use crate::support::{MiniCrawl, config_for, event_of, fetch_config, get, get_url, get_with, response, site};

#[tokio::test]
async fn a_body_over_the_limit_is_cut_and_marked() {
    for (size, kept, cut) in [
        (999, 999, None),
        (1000, 1000, None),
        (1001, 1000, Some(Truncated::Length)),
        (500_000, 1000, Some(Truncated::Length)),
    ] {
        let site = site(move |_| Answer::html(vec![b'x'; size]));
        let config = FetchConfig { max_body_bytes: 1000, ..fetch_config() };
        let response = response(get_with(&config, &site).await);
        assert_eq!((response.body.len(), response.truncated), (kept, cut), "{size} bytes sent");
    }
}

#[tokio::test]
async fn a_body_in_pieces_is_cut_at_the_byte() {
    let bytes: Bytes = (0..=255u8).cycle().take(10_000).collect();
    let sent = bytes.clone();
    let site = site(move |_| {
        Answer::html("").body(Body::Trickle { bytes: sent.clone(), piece: 900, every: Duration::from_millis(1) })
    });
    for limit in [899, 900, 901, 2000, 9999, 10_000, 20_000] {
        let config = FetchConfig { max_body_bytes: limit, ..fetch_config() };
        let response = response(get_with(&config, &site).await);
        let cut = (limit < 10_000).then_some(Truncated::Length);
        assert_eq!((response.body, response.truncated), (bytes.slice(..10_000.min(limit as usize)), cut), "{limit}");
    }
}

#[tokio::test]
async fn an_endless_body_ends_at_the_limit() {
    let site = site(|_| Answer::html("").body(Body::Endless(Bytes::from_static(&[b'e'; 1000]))));
    let config = FetchConfig { max_body_bytes: 5_000_000, ..fetch_config() };
    let response = response(get_with(&config, &site).await);
    assert_eq!((response.body.len(), response.truncated), (5_000_000, Some(Truncated::Length)));
}

#[tokio::test]
async fn what_came_in_time_of_a_slow_body_is_kept() {
    let site = site(|_| {
        let bytes = Bytes::from_static(&[b's'; 1000]);
        Answer::html("").body(Body::Trickle { bytes, piece: 1, every: Duration::from_millis(100) })
    });
    let config = FetchConfig { total_timeout: Duration::from_millis(1500), ..fetch_config() };
    let started = Instant::now();
    let response = response(get_with(&config, &site).await);
    assert_eq!(response.truncated, Some(Truncated::Time));
    assert!((1..=20).contains(&response.body.len()), "{} bytes came", response.body.len());
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn a_body_that_falls_silent_is_given_up() {
    let site = site(|_| {
        let bytes = Bytes::from_static(b"then nothing");
        Answer::html("").body(Body::Trickle { bytes, piece: 4, every: Duration::from_secs(60) })
    });
    let config = FetchConfig { read_timeout: Duration::from_millis(1500), ..fetch_config() };
    let response = response(get_with(&config, &site).await);
    assert_eq!((&response.body[..], response.truncated), (&b"then"[..], Some(Truncated::Time)));
}

#[tokio::test]
async fn what_came_before_a_connection_broke_is_kept() {
    let cut = Body::Cut { bytes: Bytes::from_static(b"half a pa"), announced: 1000 };
    let response = response(get(Answer::html("").body(cut)).await);
    assert_eq!((&response.body[..], response.truncated), (&b"half a pa"[..], Some(Truncated::Disconnect)));
    assert_eq!(response.headers.get("content-length"), Some("1000"));
}

#[tokio::test]
async fn chunks_are_joined_and_a_broken_chunk_is_a_disconnect() {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n";
    let whole =
        response(get(Answer::raw(format!("{head}5\r\nHello\r\n6;name=x\r\n world\r\n0\r\nTrailer: 1\r\n\r\n"))).await);
    assert_eq!((&whole.body[..], whole.truncated), (&b"Hello world"[..], None));
    for broken in ["5\r\nHello\r\n", "5\r\nHello\r\nzz\r\n", "5\r\nHello\r\n40\r\n world"] {
        let response = response(get(Answer::raw(format!("{head}{broken}"))).await);
        assert!(response.body.starts_with(b"Hello"), "{broken:?}");
        assert_eq!(response.truncated, Some(Truncated::Disconnect), "{broken:?}");
    }
}

#[tokio::test]
async fn without_a_length_the_body_lasts_until_the_connection_closes() {
    let response = response(get(Answer::raw("HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nuntil the end")).await);
    assert_eq!((&response.body[..], response.truncated), (&b"until the end"[..], None));
}

#[tokio::test]
async fn answers_that_have_no_body_have_none() {
    for status in [204, 304] {
        // The length that the body would have, as for HEAD (RFC 9110 §8.6).
        let sent = format!("HTTP/1.1 {status} None\r\nETag: \"x\"\r\nContent-Length: 5000\r\n\r\n");
        let response = response(get(Answer::raw(sent)).await);
        assert_eq!((response.status, response.body.len(), response.truncated), (status, 0, None));
        assert_eq!(response.headers.get("etag"), Some("\"x\""));
    }
}

#[tokio::test]
async fn a_part_that_nobody_asked_for_is_a_body_that_came_short() {
    let ranges = [
        ("", Some(Truncated::Disconnect)),
        ("Content-Range: bytes 0-3/9\r\n", Some(Truncated::Disconnect)),
        ("Content-Range: bytes 5-8/9\r\n", Some(Truncated::Disconnect)),
        ("Content-Range: bytes 0-3/*\r\n", Some(Truncated::Disconnect)),
        ("Content-Range: nonsense\r\n", Some(Truncated::Disconnect)),
        ("Content-Range: bytes 0-3/4\r\n", None),
    ];
    for (range, truncated) in ranges {
        let sent = format!("HTTP/1.1 206 Partial Content\r\n{range}Content-Length: 4\r\n\r\nhalf");
        let response = response(get(Answer::raw(sent)).await);
        assert_eq!((&response.body[..], response.truncated), (&b"half"[..], truncated), "{range}");
    }
}

#[tokio::test]
async fn content_codings_stay_on() {
    let bytes = b"\x1f\x8b\x08 this is not even gzip".to_vec();
    for coding in ["gzip", "br", "zstd", "deflate", "nonsense"] {
        let response = response(get(Answer::html(bytes.clone()).header("content-encoding", coding)).await);
        assert_eq!(&response.body[..], &bytes[..], "{coding}");
        assert_eq!(response.headers.get("content-encoding"), Some(coding));
        assert_eq!(response.headers.get("content-length"), Some(bytes.len().to_string().as_str()));
    }
}

#[tokio::test]
async fn whatever_way_a_body_comes_short_it_is_marked() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nHello\r\n";
    for (sent, and_then) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nHello", Then::Close),
        ("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nHello", Then::Reset),
        ("HTTP/1.0 200 OK\r\nContent-Length: 6\r\n\r\nHello", Then::Close),
        ("HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nHello", Then::Close),
        // Without a length and chunks, the end of the connection is the end of the body; a reset is not.
        ("HTTP/1.1 200 OK\r\n\r\nHello", Then::Reset),
        ("HTTP/1.0 200 OK\r\n\r\nHello", Then::Reset),
        (chunked, Then::Close),
        (chunked, Then::Reset),
        (&format!("{chunked}0"), Then::Close),
        (&format!("{chunked}0\r\n"), Then::Close),
        (&format!("{chunked}0\r\nTrailer: 1"), Then::Close),
        (&format!("{chunked}5\r"), Then::Close),
    ] {
        let reply = Reply::new(sent, and_then);
        let server = RawServer::start(vec![reply.clone(), reply]).await;
        let response = response(get_url(&fetch_config(), &server.url()).await);
        assert_eq!((&response.body[..], response.truncated), (&b"Hello"[..], Some(Truncated::Disconnect)), "{sent:?}");
    }
    let sent = "HTTP/1.1 200 OK\r\n\r\nHello";
    let server = RawServer::start(vec![Reply::new(sent, Then::Close), Reply::new(sent, Then::Close)]).await;
    assert_eq!(response(get_url(&fetch_config(), &server.url()).await).truncated, None);
}

#[tokio::test]
async fn a_body_that_drips_is_given_up_unless_any_rate_will_do() {
    // Ten bytes a second, for two seconds.
    let drip = || {
        site(|_| {
            let bytes = Bytes::from_static(&[b's'; 20]);
            Answer::html("").body(Body::Trickle { bytes, piece: 1, every: Duration::from_millis(100) })
        })
    };
    let span = Duration::from_millis(700);
    for (min_rate, truncated) in [(100, Some(Truncated::Time)), (1, None), (0, None)] {
        let config = FetchConfig { min_rate, min_rate_span: span, ..fetch_config() };
        let response = response(get_with(&config, &drip()).await);
        assert_eq!(response.truncated, truncated, "at least {min_rate} bytes a second");
        assert_eq!(response.body.len() == 20, truncated.is_none());
    }
}

/// `text` in each supported coding.
fn coded(text: &[u8]) -> [(&'static str, Vec<u8>); 4] {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    let mut br = brotli::CompressorWriter::new(Vec::new(), 4096, 5, 22);
    gzip.write_all(text).unwrap();
    zlib.write_all(text).unwrap();
    br.write_all(text).unwrap();
    [
        ("gzip", gzip.finish().unwrap()),
        ("deflate", zlib.finish().unwrap()),
        ("br", br.into_inner()),
        ("zstd", zstd::encode_all(text, 3).unwrap()),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_coding_without_its_end_is_a_body_that_came_short() {
    let page: String = (0..200).map(|n| format!("<p>paragraph {n} of {}</p>", n * 7919 % 1009)).collect();
    for (coding, whole) in coded(page.as_bytes()) {
        let body = whole.clone();
        let site = Running::start(
            1,
            Arc::new(move |ask| match ask.path() {
                "/robots.txt" => Answer::new(404, ""),
                "/cut" => Answer::html(body[..body.len() * 2 / 3].to_vec()).header("content-encoding", coding),
                _ => Answer::html(body.clone()).header("content-encoding", coding),
            }),
        );
        let urls = ["/cut", "/whole"].map(|path| format!("http://a.test:{}{path}", site.port));
        let crawl = MiniCrawl::new(config_for(&site), &urls.each_ref().map(String::as_str));
        let events = crawl.run(Duration::from_secs(20)).await;
        let cut = event_of(&events, &urls[0]).response().unwrap();
        assert_eq!((cut.truncated, cut.body.len()), (Some(Truncated::Disconnect), whole.len() * 2 / 3), "{coding}");
        assert_eq!(event_of(&events, &urls[1]).response().unwrap().truncated, None, "{coding}");
        let attempts = events.iter().filter(|event| event.url == urls[0]).count();
        assert_eq!(attempts, 2, "{coding}: it is tried again, as often as its configuration says, and then kept");
    }
}
