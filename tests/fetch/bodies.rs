//! What arrives of a body, and why not all of it.

use std::time::{Duration, Instant};

use bytes::Bytes;
use seine::config::FetchConfig;
use seine::demo::server::{Answer, Body};
use seine::page::Truncated;

use crate::support::{fetch_config, get, get_with, response, site};

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
        // The length of what would have come, as for HEAD (RFC 9110 §8.6).
        let sent = format!("HTTP/1.1 {status} None\r\nETag: \"x\"\r\nContent-Length: 5000\r\n\r\n");
        let response = response(get(Answer::raw(sent)).await);
        assert_eq!((response.status, response.body.len(), response.truncated), (status, 0, None));
        assert_eq!(response.headers.get("etag"), Some("\"x\""));
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
