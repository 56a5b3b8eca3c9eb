//! HTTPS: trusted certificates, and HTTP/2 by ALPN. The roots are the system's. `SSL_CERT_FILE` sets others for a whole
//! process, so tests with their own root crawl with the binary.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use seine::config::Config;
use seine_page_log::PageLog;
use seine_parse::DeriveOptions;
use seine_parse::page::{FailureReason, HttpVersion, PageEvent, Truncated};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;

use crate::support::{failure, failure_of, fetch_config, get_url};

/// A root certificate as PEM, and a TLS server with a certificate from it, for `shop.test`.
pub fn credentials(alpn: &[&[u8]]) -> (String, TlsAcceptor) {
    let mut authority = CertificateParams::new(vec![]).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let root = authority.self_signed(&key).unwrap();
    let issuer = Issuer::new(authority, key);
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["shop.test".to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();

    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let mut tls = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], PrivatePkcs8KeyDer::from(key.serialize_der()).into())
        .unwrap();
    tls.alpn_protocols = alpn.iter().map(|protocol| protocol.to_vec()).collect();
    (root.pem(), TlsAcceptor::from(Arc::new(tls)))
}

/// A root certificate, and a server with a certificate from it, for `shop.test`.
struct SecureSite {
    address: SocketAddr,
    /// The root certificate as PEM.
    root: String,
}

impl SecureSite {
    async fn start(alpn: &[&[u8]]) -> SecureSite {
        let (root, acceptor) = credentials(alpn);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(accept(listener, acceptor));
        SecureSite { address, root }
    }
}

impl SecureSite {
    fn url(&self, host: &str) -> String {
        format!("https://{host}:{}/", self.address.port())
    }
}

async fn accept(listener: TcpListener, acceptor: TlsAcceptor) {
    while let Ok((stream, _)) = listener.accept().await {
        let acceptor = acceptor.clone();
        // A client that does not trust us disconnects during the handshake.
        tokio::spawn(async move { converse(acceptor, stream).await.unwrap_or_default() });
    }
}

async fn converse(acceptor: TlsAcceptor, stream: TcpStream) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let stream = acceptor.accept(stream).await?;
    let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let service = service_fn(|request: hyper::Request<hyper::body::Incoming>| async move {
        let body = format!("<title>{:?}</title>", request.version());
        let response = hyper::Response::builder().header("content-type", "text/html");
        Ok::<_, Infallible>(response.body(Full::new(Bytes::from(body))).expect("a valid response"))
    });
    if is_http2 {
        hyper::server::conn::http2::Builder::new(TokioExecutor::new())
            .serve_connection(TokioIo::new(stream), service)
            .await?;
    } else {
        hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await?;
    }
    Ok(())
}

/// Crawls one page with the binary, which trusts only `roots`; returns all events.
fn crawl(folder: &Path, roots: &str, url: &str) -> Vec<Arc<PageEvent>> {
    std::fs::create_dir_all(folder).unwrap();
    let root = folder.join("root.pem");
    std::fs::write(&root, roots).unwrap();
    let data = folder.join("data");
    let done = Command::new(env!("CARGO_BIN_EXE_seine"))
        .args(["crawl", "--quiet", "--delay", "0", "--allow-private", "--sink", "void"])
        .args(["--resolve", "shop.test=127.0.0.1", "--resolve", "other.test=127.0.0.1", "--seed", url, "-o"])
        .arg(&data)
        .env("SSL_CERT_FILE", &root)
        .env_remove("SSL_CERT_DIR")
        .env("SEINE__LINK_STORAGE__DOWNLOAD_SITEMAP_XML", "false")
        .env("SEINE__LINK_STORAGE__SCHEDULER__BACKOFF_BASE", "10ms")
        .env("SEINE__LINK_STORAGE__SCHEDULER__GIVE_UP_AFTER", "50ms")
        .output()
        .unwrap();
    // Finished, with or without a page.
    assert!(matches!(done.status.code(), Some(0 | 3)), "{}", String::from_utf8_lossy(&done.stderr));
    // So few events are all in the open segment, delivered or not.
    let (log, _) = PageLog::open(&data.join("log"), &Config::default().log, DeriveOptions::default()).unwrap();
    let entries = log.reader("test").unwrap().next(1000, 1 << 30, Duration::ZERO).unwrap();
    entries.iter().map(|entry| entry.event.clone()).collect()
}

#[tokio::test]
async fn who_is_not_trusted_is_a_tls_failure() {
    let site = SecureSite::start(&[b"h2", b"http/1.1"]).await;
    let mut config = fetch_config();
    config.static_hosts.insert("shop.test".into(), vec![site.address.ip()]);
    let failure = failure(get_url(&config, &format!("https://shop.test:{}/", site.address.port())).await);
    assert_eq!(failure.reason, FailureReason::Tls, "{}", failure.message);
    assert!(failure.message.contains("certificate"), "{}", failure.message);
}

#[tokio::test]
async fn plain_http_where_tls_should_be_is_a_tls_failure() {
    let site = crate::support::site(|_| crate::sites::server::Answer::html("plain"));
    let failure = failure(get_url(&fetch_config(), &format!("https://127.0.0.11:{}/", site.port)).await);
    assert_eq!(failure.reason, FailureReason::Tls, "{}", failure.message);
}

#[tokio::test(flavor = "multi_thread")]
async fn https_is_fetched_in_the_version_the_server_chooses() {
    for (alpn, expected) in [
        (&[&b"h2"[..], b"http/1.1"][..], HttpVersion::Http2),
        (&[b"http/1.1"], HttpVersion::Http11),
        (&[], HttpVersion::Http11),
    ] {
        let site = SecureSite::start(alpn).await;
        let folder = tempfile::tempdir().unwrap();
        let events = tokio::task::block_in_place(|| crawl(folder.path(), &site.root, &site.url("shop.test")));
        let response = events[0].response().unwrap_or_else(|| panic!("{:?}", events[0].outcome));
        assert_eq!((response.status, response.version), (200, expected));
        let (reason, title) = match expected {
            HttpVersion::Http2 => ("", "HTTP/2.0"),
            _ => ("OK", "HTTP/1.1"),
        };
        assert_eq!(response.reason, reason);
        assert_eq!(response.body, format!("<title>{title}</title>"));
        assert_eq!(events[0].ip, Some(site.address.ip()));
    }
}

/// A frame of HTTP/2 (RFC 9113 §4.1).
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const END_STREAM: u8 = 1;
const ACK: u8 = 1;
const END_HEADERS: u8 = 4;
/// Entries of HPACK's static table (RFC 7541, appendix A).
const STATUS_200: u8 = 0x88;
const STATUS_404: u8 = 0x8d;
/// An error code (RFC 9113 §7).
const NO_ERROR: u32 = 0;

/// Answers the stream of each request with `answer`, given its number on this connection. The first request of all, for
/// robots.txt, gets a 404.
async fn answer_streams(
    acceptor: TlsAcceptor,
    stream: TcpStream,
    answer: impl Fn(u32) -> Vec<u8>,
) -> std::io::Result<()> {
    let mut stream = acceptor.accept(stream).await?;
    let mut preface = [0; 24];
    stream.read_exact(&mut preface).await?;
    stream.write_all(&frame(SETTINGS, 0, 0, &[])).await?;
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await?;
        let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
        stream.read_exact(&mut payload).await?;
        let number = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        let answer = match (head[3], head[4]) {
            (SETTINGS, 0) => frame(SETTINGS, ACK, 0, &[]),
            (HEADERS, _) => answer(number),
            _ => continue,
        };
        stream.write_all(&answer).await?;
        stream.flush().await?;
    }
}

/// The events of a crawl of one page by HTTP/2. `answer`: for the streams of each connection, by both numbers.
async fn crawl_streams(answer: impl Fn(usize, u32) -> Vec<u8> + Clone + Send + 'static) -> Vec<Arc<PageEvent>> {
    let (root, acceptor) = credentials(&[b"h2"]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://shop.test:{}/", listener.local_addr().unwrap().port());
    tokio::spawn(async move {
        for connection in 0.. {
            let Ok((stream, _)) = listener.accept().await else { return };
            let answer = answer.clone();
            let answer = move |number| match (connection, number) {
                (0, 1) => frame(HEADERS, END_HEADERS | END_STREAM, number, &[STATUS_404]),
                _ => answer(connection, number),
            };
            tokio::spawn(answer_streams(acceptor.clone(), stream, answer));
        }
    });
    let folder = tempfile::tempdir().unwrap();
    tokio::task::block_in_place(|| crawl(folder.path(), &root, &url))
}

/// A page whose only data frame ends the stream if `is_whole`.
fn page(number: u32, is_whole: bool) -> Vec<u8> {
    let ends = if is_whole { END_STREAM } else { 0 };
    [frame(HEADERS, END_HEADERS, number, &[STATUS_200]), frame(DATA, ends, number, b"<p>half a page")].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_http2_that_is_reset_is_cut_whatever_the_reason() {
    const INTERNAL_ERROR: u32 = 2;
    const CANCEL: u32 = 8;
    for reason in [Some(NO_ERROR), Some(INTERNAL_ERROR), Some(CANCEL), None] {
        let events = crawl_streams(move |_, number| {
            let reset = reason.map(|reason| frame(RST_STREAM, 0, number, &reason.to_be_bytes()));
            [page(number, reason.is_none()), reset.unwrap_or_default()].concat()
        })
        .await;
        let response = events[0].response().unwrap_or_else(|| panic!("{:?}", events[0].outcome));
        assert_eq!((response.version, &response.body[..]), (HttpVersion::Http2, &b"<p>half a page"[..]));
        assert_eq!(response.truncated, reason.map(|_| Truncated::Disconnect), "{reason:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_a_server_of_http2_has_not_looked_at_is_sent_again_at_once() {
    const GOAWAY: u8 = 7;
    const REFUSED_STREAM: u32 = 7;
    let refused = |_, number: u32| match number {
        3 | 5 => frame(RST_STREAM, 0, number, &REFUSED_STREAM.to_be_bytes()),
        _ => page(number, true),
    };
    // The server has processed the first stream of the connection, which ends.
    let sent_away = |connection, number| match connection {
        0 => frame(GOAWAY, 0, 0, &[1u32.to_be_bytes(), NO_ERROR.to_be_bytes()].concat()),
        _ => page(number, true),
    };
    let answers: [fn(usize, u32) -> Vec<u8>; 2] = [refused, sent_away];
    for answer in answers {
        let events = crawl_streams(answer).await;
        let response = events[0].response().unwrap_or_else(|| panic!("{:?}", events[0].outcome));
        assert_eq!((response.version, &response.body[..]), (HttpVersion::Http2, &b"<p>half a page"[..]));
        assert_eq!(events.len(), 1, "that was one attempt");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_for_another_name_is_a_tls_failure() {
    let site = SecureSite::start(&[b"http/1.1"]).await;
    let folder = tempfile::tempdir().unwrap();
    let events = tokio::task::block_in_place(|| crawl(folder.path(), &site.root, &site.url("other.test")));
    let failure = failure_of(events.last().unwrap());
    assert_eq!(failure.reason, FailureReason::HostUnreachable);
    assert!(failure.message.contains("the last failure: tls"), "{}", failure.message);
    assert!(failure.message.contains("name \"other.test\""), "why exactly: {}", failure.message);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_any_roots_http_still_works() {
    let folder = tempfile::tempdir().unwrap();
    let plain = crate::support::site(|_| crate::sites::server::Answer::html("plain"));
    let url = format!("{}/", plain.origin(0));
    let events = tokio::task::block_in_place(|| crawl(&folder.path().join("plain"), "", &url));
    assert_eq!(crate::support::status_of(&events[0]), 200);
    let site = SecureSite::start(&[b"http/1.1"]).await;
    let url = site.url("shop.test");
    let events = tokio::task::block_in_place(|| crawl(&folder.path().join("secure"), "", &url));
    let failure = failure_of(events.last().unwrap());
    assert!(failure.message.contains("the last failure: tls"), "{failure:?}");
}
