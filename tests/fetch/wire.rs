//! Exact bytes: what a server sent and received, byte for byte, or nothing.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use seine_formats::http::{Exactness, parse_response, write_response};
use seine_parse::page::wire::Wire;
use seine_parse::page::{FailureReason, Kind, Response, Truncated};

use crate::sites::server::{Answer, Ask, Body};
use proptest::collection::vec;
use proptest::prelude::*;
use seine::config::FetchConfig;
use seine::fetch::Client;
use seine::fetch::client::Exchange;
use tokio::net::TcpListener;

use crate::raw_server::{RawServer, Reply, Then};
use crate::support::{MiniCrawl, config_for, event_of, failure, fetch_config, get_by, response};
use crate::tls::credentials;

async fn get_with(config: &FetchConfig, reply: Reply) -> (Exchange, RawServer) {
    let server = RawServer::start(vec![reply]).await;
    let client = Client::keeping_wire(config).unwrap();
    (get_by(&client, &server.url()).await, server)
}

async fn get(reply: Reply) -> (Response, RawServer) {
    let (exchange, server) = get_with(&fetch_config(), reply).await;
    (response(exchange), server)
}

/// The bytes that an archive would store.
fn received(response: &Response) -> Vec<u8> {
    let mut bytes = Vec::new();
    assert_eq!(write_response(response, &mut bytes), Exactness::Exact);
    bytes
}

fn wire(response: &Response) -> &Wire {
    response.wire.as_ref().expect("exact bytes")
}

#[track_caller]
fn assert_bytes(found: &[u8], expected: &[u8]) {
    let shown = |bytes: &[u8]| bytes.escape_ascii().to_string();
    assert_eq!(shown(found), shown(expected));
}

const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

/// Responses as received, and their bodies. All are complete.
fn whole() -> Vec<(Vec<u8>, &'static [u8])> {
    let mut all: Vec<(Vec<u8>, &[u8])> = Vec::new();
    let mut add = |head: &str, rest: &str, body: &'static [u8]| all.push(([head, rest].concat().into_bytes(), body));
    let head = "HTTP/1.1 200 Fine By Me\r\nX-Case: KEPT\r\nserver:  odd \r\nX-case:again\r\nContent-Length: 4\r\n\r\n";
    add(head, "page", b"page");
    add("HTTP/1.1 200 OK\nContent-Length: 4\n\n", "page", b"page");
    add("HTTP/1.1 200\r\nContent-Length: 4\r\n\n", "page", b"page");
    add("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "", b"");
    add("HTTP/1.1 204 No Content\r\nX: 1\r\n\r\n", "", b"");
    add("HTTP/1.1 304 Not Modified\r\nContent-Length: 5000\r\nTransfer-Encoding: chunked\r\n\r\n", "", b"");
    add("HTTP/1.1 404 Nope\r\nContent-Length: 2\r\n\r\n", "\r\n", b"\r\n");
    add("HTTP/1.1 301 Over There\r\nLocation: /there\r\nContent-Length: 3\r\n\r\n", "gone", b"gon");
    add("HTTP/1.1 200 OK\r\nX-Folded: one\r\n  two\r\n\tthree\r\nContent-Length: 1\r\n\r\n", "x", b"x");
    add("HTTP/1.1 200 OK\r\nBad Header: 1\r\nno colon\r\n: none\r\nContent-Length: 1\r\n\r\n", "x", b"x");
    add(
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\n",
        "\x1f\x0b\0\0\x01",
        b"\x1f\x0b\0\0\x01",
    );
    add(CHUNKED, "4\r\npage\r\n0\r\n\r\n", b"page");
    add(CHUNKED, "0\r\n\r\n", b"");
    add(CHUNKED, "0004\r\npage\r\n00\r\n\r\n", b"page");
    add(
        CHUNKED,
        "5 ;ext=\"a;b\"\r\nHello\r\n6;x\r\n world\r\n0;last\r\nX-Trailer: 1\r\nx-more: 2\r\n\r\n",
        b"Hello world",
    );
    add(CHUNKED, "A\r\n0123456789\r\n1\r\n\r\r\n1\r\n\n\r\n0\r\n\r\n", b"0123456789\r\n");
    add(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nTRANSFER-encoding: x, Chunked\r\n\r\n",
        "1\r\nx\r\n0\r\n\r\n",
        b"x",
    );
    let both = "HTTP/1.1 200 OK\r\nContent-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n";
    add(both, "1\r\nx\r\n0\r\n\r\n", b"x");
    all
}

#[tokio::test]
async fn what_was_received_is_kept_to_the_byte() {
    for (sent, body) in whole() {
        for reply in [Reply::new(&sent, Then::Close), Reply::new(&sent, Then::Close).bytewise()] {
            let (response, server) = get(reply).await;
            assert_bytes(&response.body, body);
            assert_eq!(response.truncated, None);
            let more_than_announced = sent.ends_with(b"gone");
            assert_bytes(&received(&response), if more_than_announced { &sent[..sent.len() - 1] } else { &sent });
            assert_bytes(&wire(&response).request, &server.heard()[0]);
        }
    }
}

#[tokio::test]
async fn the_request_is_kept_as_it_was_sent() {
    let (response, server) = get(Reply::new("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", Then::Close)).await;
    let request = String::from_utf8(wire(&response).request.to_vec()).unwrap();
    assert_bytes(request.as_bytes(), &server.heard()[0]);
    assert!(request.starts_with("GET /page?q=1 HTTP/1.1\r\n"), "{request}");
    assert!(request.contains(&format!("\r\nhost: {}\r\n", server.address)), "{request}");
    assert!(request.ends_with("\r\n\r\n"));
}

#[tokio::test]
async fn a_body_until_the_connection_closes_is_kept() {
    for head in ["HTTP/1.0 200 OK\r\nServer: old\r\n\r\n", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"] {
        let sent = format!("{head}until\r\n\r\n0\r\n\r\nthe end");
        let (response, _) = get(Reply::new(&sent, Then::Close)).await;
        assert_eq!(response.truncated, None);
        assert_bytes(&received(&response), sent.as_bytes());
        assert_eq!(wire(&response).framing, []);
    }
}

#[tokio::test]
async fn what_comes_before_and_behind_a_response_is_no_part_of_it() {
    let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n";
    for (before, sent, behind) in [
        (interim, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage", ""),
        (interim, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npage\r\n0\r\n\r\n", "\r\n"),
        ("\r\n\n", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage", "HTTP/1.1 500 Not Asked For\r\n\r\n"),
        ("", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npage\r\n0\r\nA: 1\r\n\r\n", "5\r\nmore!"),
    ] {
        let all = [before, sent, behind].concat();
        for reply in [Reply::new(&all, Then::Close), Reply::new(&all, Then::Close).bytewise()] {
            let (response, _) = get(reply).await;
            assert_bytes(&response.body, b"page");
            assert_bytes(&received(&response), sent.as_bytes());
        }
    }
}

#[tokio::test]
async fn a_broken_response_is_kept_as_far_as_it_came() {
    for (rest, body, kept) in [
        ("", "", ""),
        ("5", "", "5"),
        ("5\r\nHel", "Hel", "5\r\nHel"),
        ("5\r\nHello", "Hello", "5\r\nHello"),
        ("5\r\nHello\r\n", "Hello", "5\r\nHello\r\n"),
        ("5\r\nHello\r\n40;x\r\n world", "Hello world", "5\r\nHello\r\n40;x\r\n world"),
        ("5\r\nHello\r\n0\r\nTrail", "Hello", "5\r\nHello\r\n0\r\nTrail"),
    ] {
        let (response, _) = get(Reply::new([CHUNKED, rest].concat(), Then::Close)).await;
        assert_eq!(response.truncated, Some(Truncated::Disconnect), "{rest:?}");
        assert_bytes(&response.body, body.as_bytes());
        assert_bytes(&received(&response), [CHUNKED, kept].concat().as_bytes());
    }
    let sent = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf a page";
    let (response, _) = get(Reply::new(sent, Then::Close)).await;
    assert_eq!(response.truncated, Some(Truncated::Disconnect));
    assert_bytes(&received(&response), sent.as_bytes());
}

#[tokio::test]
async fn of_chunks_that_are_none_the_beginning_is_kept() {
    for bad in ["zz\r\n more", "-1\r\nx", "Hello5\r\nHello\r\n", "4\nPage\n0\n\n", "fffffffffffffffff\r\nx"] {
        let sent = format!("{CHUNKED}5\r\nHello\r\n{bad}");
        let (response, _) = get(Reply::new(&sent, Then::Close)).await;
        assert_eq!(response.truncated, Some(Truncated::Disconnect), "{bad:?}");
        let kept = received(&response);
        assert!(sent.as_bytes().starts_with(&kept), "{bad:?}: {}", kept.escape_ascii());
        assert!(kept.len() >= CHUNKED.len() + "5\r\nHello".len(), "{bad:?}: {}", kept.escape_ascii());
        assert_eq!(parse_response(&kept.into()).unwrap().body, response.body, "{bad:?}");
    }
}

#[tokio::test]
async fn a_body_cut_at_the_limit_is_a_beginning_of_what_was_sent() {
    let sent = format!("{CHUNKED}5\r\nHello\r\n6\r\n world\r\n1\r\n!\r\n0\r\n\r\n");
    for limit in 0..=12 {
        let config = FetchConfig { max_body_bytes: limit, ..fetch_config() };
        let (exchange, _) = get_with(&config, Reply::new(&sent, Then::NextRequest)).await;
        let response = response(exchange);
        assert_eq!(response.body.len() as u64, limit);
        assert_eq!(response.truncated, (limit < 12).then_some(Truncated::Length));
        let kept = received(&response);
        assert!(sent.as_bytes().starts_with(&kept), "{limit}: {}", kept.escape_ascii());
        assert_eq!(kept.len() == sent.len(), limit == 12);
    }
}

#[tokio::test]
async fn a_body_cut_for_time_is_a_beginning_of_what_was_sent() {
    for set in [(|config| config.read_timeout = Duration::from_millis(300)) as fn(&mut FetchConfig), |config| {
        config.total_timeout = Duration::from_millis(300)
    }] {
        let mut config = fetch_config();
        set(&mut config);
        let sent = format!("{CHUNKED}5\r\nHello\r\n6\r\n wo");
        let (exchange, _) = get_with(&config, Reply::new(&sent, Then::Hold)).await;
        let response = response(exchange);
        assert_eq!((&response.body[..], response.truncated), (&b"Hello wo"[..], Some(Truncated::Time)));
        assert_bytes(&received(&response), sent.as_bytes());
    }
}

#[tokio::test]
async fn exchanges_on_one_connection_are_told_apart() {
    let all = whole();
    let replies = all.iter().filter(|(sent, _)| !sent.ends_with(b"gone"));
    let expected: Vec<_> = replies.clone().map(|(sent, _)| sent).collect();
    let server = RawServer::start(replies.map(|(sent, _)| Reply::new(sent, Then::NextRequest)).collect()).await;
    let client = Client::keeping_wire(&fetch_config()).unwrap();
    for (number, sent) in expected.iter().enumerate() {
        let url = format!("http://{}/{number}", server.address);
        let response = response(get_by(&client, &url).await);
        assert_bytes(&received(&response), sent);
        assert_bytes(&wire(&response).request, &server.heard()[number]);
        assert!(wire(&response).request.starts_with(format!("GET /{number} HTTP/1.1\r\n").as_bytes()));
    }
    assert_reused(&server, expected.len());
}

/// It is random whether a connection returns to the pool before the next request.
fn assert_reused(server: &RawServer, requests: usize) {
    let connections = server.connections.load(Ordering::SeqCst);
    assert!(connections <= requests / 2, "{connections} connections for {requests} requests");
}

#[tokio::test]
async fn after_a_body_nobody_read_the_next_exchange_is_whole() {
    let large = format!("HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\n{}", "x".repeat(3000));
    let small = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage";
    let unwanted = "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 4\r\n\r\n\u{1}png";
    let replies = [&large, unwanted, small, small].map(|sent| Reply::new(sent, Then::NextRequest));
    let server = RawServer::start(replies.into()).await;
    let config = FetchConfig { max_body_bytes: 100, mime_types: vec!["text/*".into()], ..fetch_config() };
    let client = Client::keeping_wire(&config).unwrap();
    let cut = response(get_by(&client, &server.url()).await);
    assert_eq!(cut.truncated, Some(Truncated::Length));
    assert_bytes(&received(&cut), &large.as_bytes()[..large.len() - 2900]);
    assert_eq!(failure(get_by(&client, &server.url()).await).reason, FailureReason::UnwantedType);
    for _ in 0..2 {
        let whole = response(get_by(&client, &server.url()).await);
        assert_bytes(&received(&whole), small.as_bytes());
    }
}

#[tokio::test]
async fn a_large_body_is_kept_once() {
    let body: Vec<u8> = (0..5_000_000u32).map(|number| (number % 251) as u8).collect();
    let mut sent = CHUNKED.as_bytes().to_vec();
    for chunk in body.chunks(3_333) {
        sent.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        sent.extend_from_slice(chunk);
        sent.extend_from_slice(b"\r\n");
    }
    sent.extend_from_slice(b"0\r\n\r\n");
    let (response, _) = get(Reply::new(&sent, Then::Close)).await;
    assert!(response.body == body, "{} bytes", response.body.len());
    assert!(received(&response) == sent);
    let framing: usize = wire(&response).framing.iter().map(|it| it.bytes.len()).sum();
    assert_eq!(framing + wire(&response).head.len() + body.len(), sent.len());
}

#[tokio::test]
async fn chunks_of_a_byte_each_are_not_worth_keeping() {
    let sent = [CHUNKED, &"1\r\nx\r\n".repeat(220_000), "0\r\n\r\n"].concat();
    let config = FetchConfig { total_timeout: Duration::from_secs(120), ..fetch_config() };
    let (exchange, _) = get_with(&config, Reply::new(&sent, Then::Close)).await;
    let response = response(exchange);
    assert_eq!((response.body.len(), response.truncated), (220_000, None));
    assert_eq!(response.wire, None);
}

#[tokio::test]
async fn a_failure_is_the_same_failure() {
    for (sent, reason) in [
        ("", FailureReason::ConnectionBroken),
        ("HTTP/1.1 200 OK\r\nContent-Ty", FailureReason::ConnectionBroken),
        ("220 mail.test ESMTP\r\n", FailureReason::Protocol),
        ("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", FailureReason::Protocol),
    ] {
        let (exchange, _) = get_with(&fetch_config(), Reply::new(sent, Then::Close)).await;
        assert_eq!(failure(exchange).reason, reason, "{sent:?}");
    }
}

#[tokio::test]
async fn who_does_not_want_exact_bytes_gets_none() {
    let server = RawServer::start(vec![Reply::new("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", Then::Close)]).await;
    let client = Client::new(&fetch_config()).unwrap();
    assert_eq!(response(get_by(&client, &server.url()).await).wire, None);
}

#[tokio::test]
async fn user_and_password_of_a_url_are_never_sent() {
    let reply = || Reply::new("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", Then::Close);
    for userinfo in ["user:pass%20word@", "user@", ":secret@"] {
        let server = RawServer::start(vec![reply(), reply()]).await;
        let url = format!("http://{userinfo}{}/", server.address);
        for client in [Client::new(&fetch_config()), Client::keeping_wire(&fetch_config())] {
            response(get_by(&client.unwrap(), &url).await);
        }
        assert_eq!(server.heard().len(), 2);
        for request in server.heard() {
            let text = String::from_utf8(request).unwrap().to_ascii_lowercase();
            assert!(!text.contains("authorization") && !text.contains("user:") && !text.contains("secret"), "{text}");
        }
    }
}

#[tokio::test]
async fn a_connection_that_takes_too_long_is_a_connect_failure() {
    // Accepts connections and never starts TLS.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    let config = FetchConfig { connect_timeout: Duration::from_millis(200), ..fetch_config() };
    let exchange = crate::support::get_url(&config, &url).await;
    assert_eq!(failure(exchange).reason, FailureReason::Connect);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crawl_keeps_exact_bytes_of_pages_only() {
    let site = crate::sites::Running::start_with(1, |port| {
        Arc::new(move |ask: &Ask| match ask.path() {
            "/robots.txt" => Answer::text(format!("Sitemap: http://a.test:{port}/sitemap.xml\n")),
            "/sitemap.xml" => {
                let map = format!("<urlset><url><loc>http://a.test:{port}/page</loc></url></urlset>");
                Answer::new(200, map).header("content-type", "application/xml")
            }
            "/" => Answer::redirect(301, "/moved"),
            "/moved" => Answer::html("").body(Body::Trickle {
                bytes: "<title>moved</title>".into(),
                piece: 7,
                every: Duration::from_millis(1),
            }),
            _ => Answer::html("<title>page</title>"),
        })
    });
    let mut config = config_for(&site);
    config.frontier.sitemaps = true;
    let seed = format!("http://a.test:{}/", site.port);
    let crawl = MiniCrawl::keeping_wire(config, &[&seed]);
    let found = format!("http://a.test:{}/page", site.port);
    let events = crawl.run_until(Duration::from_secs(20), |events| events.iter().any(|event| event.url == found)).await;
    for (url, target) in [(&seed, "/moved"), (&found, "/page")] {
        let response = event_of(&events, url).response().unwrap();
        let wire = wire(response);
        assert!(wire.request.starts_with(format!("GET {target} HTTP/1.1\r\n").as_bytes()));
        assert!(received(response).starts_with(b"HTTP/1.1 200 OK\r\n"));
        assert!(received(response).ends_with(&response.body));
    }
    let sitemap = events.iter().find(|event| event.kind == Kind::Sitemap).expect("the sitemap was read");
    assert_eq!(sitemap.response().unwrap().wire, None);
}

/// Names a file with the root to trust. `SSL_CERT_FILE` applies to a whole process, so this test runs itself again in a
/// child process.
const ROOT: &str = "SEINE_TEST_ROOT";

#[test]
fn what_goes_through_tls_is_kept_in_the_clear() {
    if let Some(root) = std::env::var_os(ROOT) {
        tokio::runtime::Runtime::new().unwrap().block_on(over_tls(root.as_ref()));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root.pem");
    let done = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "wire::what_goes_through_tls_is_kept_in_the_clear"])
        .env("SSL_CERT_FILE", &root)
        .env_remove("SSL_CERT_DIR")
        .env(ROOT, &root)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{said}{}", String::from_utf8_lossy(&done.stderr));
    assert!(said.contains("1 passed"), "{said}");
}

async fn over_tls(root: &std::path::Path) {
    for alpn in [&[b"h2" as &[u8], b"http/1.1"] as &[&[u8]], &[]] {
        let (trusted, acceptor) = credentials(alpn);
        std::fs::write(root, trusted).unwrap();
        let all: Vec<_> = whole().into_iter().filter(|(sent, _)| !sent.ends_with(b"gone")).collect();
        let replies = all.iter().map(|(sent, _)| Reply::new(sent, Then::NextRequest)).collect();
        let server = RawServer::start_over(replies, Some(acceptor)).await;
        let mut config = fetch_config();
        config.static_hosts.insert("shop.test".into(), vec![server.address.ip()]);
        let client = Client::keeping_wire(&config).unwrap();
        for (number, (sent, _)) in all.iter().enumerate() {
            let url = format!("https://shop.test:{}/{number}", server.address.port());
            let exchange = get_by(&client, &url).await;
            assert_eq!(exchange.ip, Some(server.address.ip()));
            let response = response(exchange);
            assert_bytes(&received(&response), sent);
            assert_bytes(&wire(&response).request, &server.heard()[number]);
        }
        assert_reused(&server, all.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 8, ..ProptestConfig::default() })]

    /// For any body, split into chunks anywhere, arriving in any pieces.
    #[test]
    fn any_chunked_body_is_kept_to_the_byte(
        chunks in vec((vec(any::<u8>(), 1..300), "(;[a-z]{0,9}(=\"[ -!#-~]{0,9}\")?)?"), 0..20),
        trailers in vec("[A-Za-z-]{1,9}: [ -~]{0,20}\r\n", 0..3),
        cuts in vec(1..200usize, 1..20),
    ) {
        let mut sent = CHUNKED.as_bytes().to_vec();
        for (bytes, extension) in &chunks {
            sent.extend_from_slice(format!("{:X}{extension}\r\n", bytes.len()).as_bytes());
            sent.extend_from_slice(bytes);
            sent.extend_from_slice(b"\r\n");
        }
        sent.extend_from_slice(format!("0\r\n{}\r\n", trailers.concat()).as_bytes());
        let body: Vec<u8> = chunks.into_iter().flat_map(|(bytes, _)| bytes).collect();
        let mut left = &sent[..];
        let mut pieces = Vec::new();
        for cut in cuts.iter().cycle() {
            let (piece, rest) = left.split_at((*cut).min(left.len()));
            pieces.push(piece.to_vec());
            left = rest;
            if left.is_empty() {
                break;
            }
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (response, _) = runtime.block_on(get(Reply { pieces, and_then: Then::Close }));
        prop_assert_eq!(response.truncated, None);
        prop_assert_eq!(&response.body[..], &body[..]);
        prop_assert_eq!(received(&response), sent);
    }
}
