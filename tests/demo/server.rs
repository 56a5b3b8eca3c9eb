//! The web server: a client gets what a handler answers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::server::{Answer, Ask, Body, Handler, ServeError, serve};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::plain_client;
use crate::support::Running;
use crate::support::visits::VisitLog;

/// A server on one address that always gives the same answer.
fn answering(answer: Answer) -> Running {
    Running::start(1, Arc::new(move |_: &Ask| answer.clone()))
}

/// The bytes that a server sends to one GET until it closes.
async fn exchange(running: &Running, request: &str) -> Vec<u8> {
    let mut stream = TcpStream::connect((running.addresses[0], running.port)).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut received = Vec::new();
    stream.read_to_end(&mut received).await.unwrap();
    received
}

const CLOSING: &str = "GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
const KEEPING: &str = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";

#[tokio::test]
async fn several_addresses_share_a_port_and_the_handler_sees_which_was_asked() {
    let handler: Handler = Arc::new(|ask| {
        let Ask { method, host, address, path_and_query, .. } = ask;
        Answer::text(format!("{method} {host} {address} {path_and_query} {}", ask.header("x-mark").unwrap_or("-")))
    });
    let running = Running::start(3, handler);
    let client = plain_client();
    for host in 0..3 {
        let url = format!("{}/a/b?c=d", running.origin(host));
        let text = client.get(url).header("x-mark", "m").send().await.unwrap().text().await.unwrap();
        let ip = running.addresses[host];
        assert_eq!(text, format!("GET {ip} {ip} /a/b?c=d m"));
    }
    assert_eq!(running.visits.len(), 3);
}

#[tokio::test]
async fn a_server_without_addresses_or_on_somebody_elses_is_an_error() {
    let handler: Handler = Arc::new(|_| Answer::close());
    assert!(matches!(serve(&[], handler.clone()).await, Err(ServeError::NoAddress)));
    let foreign = "192.0.2.1".parse().unwrap();
    let error = serve(&[foreign], handler).await.unwrap_err();
    assert!(error.to_string().contains("192.0.2.1"), "{error}");
}

#[tokio::test]
async fn headers_repeat_in_order_and_the_reason_is_the_handlers() {
    let answer = Answer::new(299, "body")
        .reason("Fine By Me")
        .header("x-b", "1")
        .header("x-a", "2")
        .header("x-b", b"\xe9".to_vec());
    let received = exchange(&answering(answer), CLOSING).await;
    let head = String::from_utf8_lossy(&received).to_lowercase();
    assert!(head.starts_with("http/1.1 299 fine by me\r\n"), "{head}");
    assert!(
        head.contains("x-b: 1\r\nx-b: \u{fffd}\r\nx-a: 2\r\n")
            || head.contains("x-b: 1\r\nx-a: 2\r\nx-b: \u{fffd}\r\n"),
        "{head}"
    );
    assert!(head.contains("content-length: 4\r\n") && head.ends_with("body"), "{head}");
}

#[tokio::test]
async fn a_header_that_is_not_http_is_reported_not_sent() {
    let running = answering(Answer::text("x").header("bad name", "v"));
    let response = plain_client().get(running.origin(0)).send().await.unwrap();
    assert_eq!(response.status(), 500);
    assert!(response.text().await.unwrap().contains("not HTTP"));
}

#[tokio::test]
async fn connections_are_kept_alive() {
    let running = answering(Answer::text("again\n"));
    let mut stream = TcpStream::connect((running.addresses[0], running.port)).await.unwrap();
    for _ in 0..3 {
        stream.write_all(KEEPING.as_bytes()).await.unwrap();
        let mut received = Vec::new();
        while !received.ends_with(b"again\n") {
            assert_ne!(stream.read_buf(&mut received).await.unwrap(), 0, "closed after {received:?}");
        }
    }
}

#[tokio::test]
async fn a_raw_answer_arrives_byte_for_byte_and_ends_the_connection() {
    let raw = b"HTTP/1.0 200 \r\nX-ODD:  \x80 caf\xe9\r\nx-Odd:twice\r\nContent-Length: 2, 2\r\n\r\nhi".as_slice();
    assert_eq!(exchange(&answering(Answer::raw(raw)), KEEPING).await, raw);
    let large = vec![b'x'; 3 << 20];
    assert_eq!(exchange(&answering(Answer::raw(large.clone())), KEEPING).await, large);
}

#[tokio::test]
async fn a_cut_answer_announces_more_than_it_sends() {
    let body = Body::Cut { bytes: "half".into(), announced: 1000 };
    let running = answering(Answer::text("").body(body));
    let received = String::from_utf8(exchange(&running, KEEPING).await).unwrap();
    assert!(received.contains("content-length: 1000\r\n") && received.ends_with("\r\n\r\nhalf"), "{received}");
    let response = plain_client().get(running.origin(0)).send().await.unwrap();
    assert!(response.bytes().await.is_err());
}

#[tokio::test]
async fn close_sends_nothing() {
    assert_eq!(exchange(&answering(Answer::close()), KEEPING).await, b"");
}

#[tokio::test]
async fn delay_and_trickle_take_their_time() {
    let every = Duration::from_millis(20);
    let body = Body::Trickle { bytes: "0123456789".into(), piece: 3, every };
    let running = answering(Answer::text("").body(body).after(Duration::from_millis(100)));
    let started = Instant::now();
    let mut response = plain_client().get(running.origin(0)).send().await.unwrap();
    assert!(started.elapsed() >= Duration::from_millis(100));
    assert_eq!(response.content_length(), Some(10));
    let mut text = Vec::new();
    while let Some(piece) = response.chunk().await.unwrap() {
        text.extend_from_slice(&piece);
    }
    assert_eq!(text, b"0123456789");
    assert!(started.elapsed() >= Duration::from_millis(160), "three waits between four pieces");
}

/// Signals when the last clone of its bytes is dropped.
struct LastSeen(Option<tokio::sync::oneshot::Sender<()>>);

impl AsRef<[u8]> for LastSeen {
    fn as_ref(&self) -> &[u8] {
        b"more and more and "
    }
}

impl Drop for LastSeen {
    fn drop(&mut self) {
        let _ = self.0.take().map(|gone| gone.send(()));
    }
}

#[tokio::test]
async fn an_endless_body_ends_when_the_client_leaves() {
    let (gone, noticed) = tokio::sync::oneshot::channel();
    let piece = std::sync::Mutex::new(Some(bytes::Bytes::from_owner(LastSeen(Some(gone)))));
    let handler: Handler = Arc::new(move |_| match piece.lock().unwrap().take() {
        Some(piece) => Answer::text("").body(Body::Endless(piece)),
        None => Answer::text("here"),
    });
    let running = Running::start(1, handler);
    let client = plain_client();
    let mut response = client.get(running.origin(0)).send().await.unwrap();
    let mut received = 0;
    while received < 4 << 20 {
        received += response.chunk().await.unwrap().expect("it never ends").len();
    }
    drop(response);
    tokio::time::timeout(Duration::from_secs(10), noticed).await.expect("the server lets go of the body").unwrap();
    assert_eq!(client.get(running.origin(0)).send().await.unwrap().text().await.unwrap(), "here");
}

#[tokio::test]
async fn stop_breaks_off_what_would_not_end_and_frees_the_port() {
    let handler: Handler = Arc::new(|_| Answer::text("").body(Body::Endless("on and on ".into())));
    let address = "127.0.0.1".parse().unwrap();
    let server = serve(&[address], handler).await.unwrap();
    let port = server.port;
    let mut endless = plain_client().get(format!("http://127.0.0.1:{port}/")).send().await.unwrap();
    assert!(endless.chunk().await.unwrap().is_some());
    let _idle = TcpStream::connect((address, port)).await.unwrap();
    let started = Instant::now();
    server.stop().await;
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    assert!(TcpStream::connect((address, port)).await.is_err());
    let cut = loop {
        match endless.chunk().await {
            Ok(Some(_)) => {}
            end => break end,
        }
    };
    assert!(cut.is_err(), "a chunked body that was broken off is no complete one");
}

#[tokio::test]
async fn visits_know_when_and_how_far_apart() {
    let log = VisitLog::default();
    let server = serve(&["127.0.0.1".parse().unwrap()], log.watch(Arc::new(|_| Answer::text("x")))).await.unwrap();
    let client = plain_client();
    for path in ["a", "b", "c"] {
        client.get(format!("http://127.0.0.1:{}/{path}", server.port)).header("user-agent", "T").send().await.unwrap();
    }
    let visits = log.all();
    assert_eq!(visits.iter().map(|v| v.path.as_str()).collect::<Vec<_>>(), ["/a", "/b", "/c"]);
    assert!(visits.iter().all(|v| v.user_agent == "T" && v.epoch_ms > 1_700_000_000_000));
    let gaps = [visits[1].at - visits[0].at, visits[2].at - visits[1].at];
    assert_eq!(log.min_gap(|_| true), gaps.into_iter().min());
    assert_eq!(log.min_gap(|v| v.path != "/b"), Some(visits[2].at - visits[0].at));
    assert_eq!(log.min_gap(|v| v.path == "/b"), None);
}
