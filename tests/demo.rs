//! The demo's web server, the town it serves, and the websites made for other tests and for the benches.

#[path = "../benches/support/site.rs"]
mod bench_site;
mod support;
#[path = "support/walk.rs"]
mod walk;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::Client;
use seine::demo::server::{Answer, Ask, Body, Handler, ServeError, VisitLog, serve};
use seine::demo::{DemoSite, Expected, Known, MAX_DEPTH, catalogue};
use support::{Final, Plan, Running, TestSite};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use walk::Seen;

/// A client that follows nothing, decodes nothing and knows these names.
fn client(hosts: &BTreeMap<String, Vec<std::net::IpAddr>>) -> Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
    for (host, ips) in hosts {
        let addresses: Vec<SocketAddr> = ips.iter().map(|ip| SocketAddr::new(*ip, 0)).collect();
        builder = builder.resolve_to_addrs(host, &addresses);
    }
    builder.build().unwrap()
}

fn plain_client() -> Client {
    client(&BTreeMap::new())
}

/// A server on one address that gives everyone the same answer.
fn answering(answer: Answer) -> Running {
    Running::start(1, Arc::new(move |_: &Ask| answer.clone()))
}

/// The bytes a server sends to one GET until it closes.
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

/// Says so when the last clone of the bytes it owns is gone.
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

async fn town() -> (DemoSite, Client) {
    let site = seine::demo::start().await.unwrap();
    let client = client(&site.hosts);
    (site, client)
}

/// What an independent crawl makes of the town is what the catalogue says, URL by URL, and nothing else.
#[tokio::test]
async fn the_catalogue_says_what_a_crawl_finds() {
    let (site, client) = town().await;
    let seen = walk::walk(&site, &client).await;
    let mut known: BTreeSet<String> = BTreeSet::new();
    for page in catalogue() {
        let url = page.url(site.server.port);
        let found = seen.get(&url);
        let fits = match (&page.expected, found) {
            (Expected::Fetched, Some(Seen::Answered { status: 200, at })) => *at == url,
            (Expected::Redirect { to }, Some(Seen::Answered { status: 200, at })) => {
                *at == absolute(&page, to, site.server.port)
            }
            (Expected::Failed, Some(Seen::Answered { status, .. })) => *status == page.status && *status >= 400,
            (Expected::Failed, Some(Seen::Lost)) => (300..400).contains(&page.status),
            (Expected::Refused, Some(Seen::Refused)) => true,
            (Expected::Limit, Some(Seen::TooDeep)) => true,
            (Expected::NotFollowed, None) => true,
            _ => false,
        };
        assert!(fits, "{page:?} was {found:?}");
        assert!(known.insert(url), "twice in the catalogue: {page:?}");
    }
    let unknown: Vec<_> = seen.keys().filter(|url| !known.contains(*url)).collect();
    assert!(unknown.is_empty(), "not in the catalogue: {unknown:?}");
    site.server.stop().await;
}

fn absolute(page: &Known, to: &str, port: u16) -> String {
    match to.strip_prefix("http://").and_then(|rest| rest.split_once('/')) {
        Some((host, path)) => format!("http://{host}:{port}/{path}"),
        None => format!("http://{}:{port}{to}", page.host),
    }
}

#[tokio::test]
async fn every_url_answers_with_the_status_and_type_it_is_known_for() {
    let (site, client) = town().await;
    for page in catalogue() {
        let url = page.url(site.server.port);
        let mut response = client.get(&url).send().await.unwrap();
        if response.headers().contains_key("retry-after") {
            assert_eq!(response.status(), 503);
            response = client.get(&url).send().await.unwrap();
        }
        assert_eq!(response.status(), page.status, "{url}");
        let content_type = response.headers().get("content-type").map_or("", |value| value.to_str().unwrap());
        assert_eq!(content_type, page.content_type, "{url}");
        assert_eq!(response.headers().contains_key("location"), (300..400).contains(&page.status), "{url}");
    }
}

/// The demo's crawl should take ten to twenty seconds: enough pages, and none of the hosts too many.
#[test]
fn the_town_is_a_few_hundred_pages() {
    let mut by_host: BTreeMap<String, u64> = BTreeMap::new();
    let all = catalogue();
    for page in all.iter().filter(|page| page.expected != Expected::Limit) {
        *by_host.entry(page.host.clone()).or_default() += 1;
    }
    assert_eq!(by_host.len(), 8);
    assert!((300..700).contains(&by_host.values().sum::<u64>()), "{by_host:?}");
    assert!(by_host.values().all(|pages| *pages < seine::demo::MAX_PAGES_PER_HOST), "{by_host:?}");
    assert!(by_host["weather.localhost"] <= 10, "a second a page");
    let months = all.iter().filter(|page| page.path.starts_with("/calendar/")).count();
    assert_eq!(months, usize::from(MAX_DEPTH) + 1);
}

#[tokio::test]
async fn content_codings_follow_accept_encoding_and_decode_to_the_plain_body() {
    let (site, client) = town().await;
    let mut used = BTreeSet::new();
    for page in catalogue().iter().filter(|page| page.host.starts_with("harbour") && page.path.starts_with("/ships/")) {
        let url = page.url(site.server.port);
        let plain = client.get(&url).send().await.unwrap();
        assert!(!plain.headers().contains_key("content-encoding"), "{url}");
        let plain = plain.bytes().await.unwrap();
        let coded = client.get(&url).header("accept-encoding", "gzip, br;q=0.8, zstd").send().await.unwrap();
        let coding = coded.headers().get("content-encoding").map(|value| value.to_str().unwrap().to_owned());
        let body = coded.bytes().await.unwrap();
        let decoded = match coding.as_deref() {
            Some("gzip") => walk::gunzip(&body).into_bytes(),
            Some("br") => unbrotli(&body),
            Some("zstd") => zstd::stream::decode_all(body.as_ref()).unwrap(),
            other => {
                assert_eq!(other, None);
                body.to_vec()
            }
        };
        assert_eq!(decoded, plain, "{url} in {coding:?}");
        let refused = client.get(&url).header("accept-encoding", "gzip;q=0, br;q=0, zstd;q=0").send().await.unwrap();
        assert!(!refused.headers().contains_key("content-encoding"), "{url}");
        used.extend(coding);
    }
    assert_eq!(used.into_iter().collect::<Vec<_>>(), ["br", "gzip", "zstd"]);
}

fn unbrotli(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    brotli::Decompressor::new(bytes, 4096).read_to_end(&mut plain).unwrap();
    plain
}

#[tokio::test]
async fn letters_come_in_six_charsets_declared_in_five_ways() {
    let (site, client) = town().await;
    // Path, encoding, charset in the header, charset in the first bytes of the page, words of the letter.
    let letters = [
        ("bordeaux", "windows-1252", Some("iso-8859-1"), false, "la rivière est haute et l'été"),
        ("arkhangelsk", "windows-1251", Some("windows-1251"), false, "Река встала раньше обычного"),
        ("yokohama", "shift_jis", None, true, "船の汽笛だけが聞こえます"),
        ("canton", "gbk", None, true, "码头又热闹起来"),
        ("busan", "euc-kr", None, false, "오늘은 바람이 잔잔하여"),
        ("reykjavik", "utf-8", None, false, "saltfiski og einn mjög undrandi"),
    ];
    for (port, charset, in_header, in_page, words) in letters {
        let url = format!("http://museum.localhost:{}/letters/{port}", site.server.port);
        let response = client.get(&url).send().await.unwrap();
        let content_type = response.headers()["content-type"].to_str().unwrap().to_owned();
        let expected = in_header.map_or("text/html".to_owned(), |name| format!("text/html; charset={name}"));
        assert_eq!(content_type, expected, "{port}");
        let body = response.bytes().await.unwrap();
        let encoding = encoding_rs::Encoding::for_label(charset.as_bytes()).unwrap();
        let (text, _, errors) = encoding.decode(&body);
        assert!(!errors && text.contains(words), "{port}: {text}");
        assert_eq!(text.contains("charset="), in_page, "{port}");
        assert_eq!(body.starts_with(b"\xef\xbb\xbf"), port == "reykjavik", "{port}");
    }
}

#[tokio::test]
async fn the_letter_without_a_charset_can_be_told_by_its_bytes() {
    let (site, client) = town().await;
    let url = format!("http://museum.localhost:{}/letters/busan", site.server.port);
    let body = client.get(&url).send().await.unwrap().bytes().await.unwrap();
    let mut detector = chardetng::EncodingDetector::new(chardetng::Iso2022JpDetection::Deny);
    detector.feed(&body, true);
    assert_eq!(detector.guess(None, chardetng::Utf8Detection::Allow), encoding_rs::EUC_KR);
}

#[tokio::test]
async fn files_are_what_their_types_say() {
    let (site, client) = town().await;
    let get = async |host: &str, path: &str| {
        let url = format!("http://{host}.localhost:{}{path}", site.server.port);
        client.get(url).send().await.unwrap().bytes().await.unwrap()
    };
    let png = get("museum", "/evening.png").await;
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n") && png.ends_with(b"IEND\xae\x42\x60\x82"));
    let pdf = get("museum", "/guide.pdf").await;
    assert!(pdf.starts_with(b"%PDF-1.4") && pdf.ends_with(b"%%EOF\n"));
    let schedule: serde_json::Value = serde_json::from_slice(&get("radio", "/schedule.json").await).unwrap();
    assert_eq!(schedule["slots"].as_array().unwrap().len(), 8);
    assert!(get("radio", "/feed.xml").await.starts_with(b"<?xml"));
    assert!(get("library", "/catalogue").await.len() > 1 << 20);
}

#[tokio::test]
async fn an_unchanged_page_is_not_sent_twice() {
    let (site, client) = town().await;
    let url = format!("http://harbour.localhost:{}/", site.server.port);
    let etag = client.get(&url).send().await.unwrap().headers()["etag"].clone();
    let again = client.get(&url).header("if-none-match", etag).send().await.unwrap();
    assert_eq!(again.status(), 304);
    assert_eq!(again.bytes().await.unwrap(), "");
}

#[tokio::test]
async fn the_calendar_never_ends() {
    let (site, client) = town().await;
    let origin = format!("http://tides.localhost:{}", site.server.port);
    let page = client.get(format!("{origin}/calendar/9876/12")).send().await.unwrap().text().await.unwrap();
    assert!(page.contains("href=\"/calendar/9877/01\""), "{page}");
    for wrong in ["/calendar/2026/13", "/calendar/2026/1", "/calendar/2026/00", "/calendar/99999/01", "/calendar/x/01"]
    {
        assert_eq!(client.get(format!("{origin}{wrong}")).send().await.unwrap().status(), 404, "{wrong}");
    }
}

/// Follows the test site's links by itself and compares with its oracle.
#[tokio::test]
async fn the_test_site_is_what_its_oracle_says() {
    let site = TestSite::start(Plan { pages: 120, ..Plan::default() });
    let client = plain_client();
    let links = regex::Regex::new("href=\"([^\"]+)\"").unwrap();
    let mut found: BTreeMap<String, Final> = BTreeMap::new();
    let mut retried = 0;
    let mut waiting = site.seeds();
    while let Some(url) = waiting.pop() {
        if found.contains_key(&url) {
            continue;
        }
        if url.contains("/private/") {
            found.insert(url, Final::Forbidden);
            continue;
        }
        let response = client.get(&url).send().await.unwrap();
        let location = response.headers().get("location").map(|to| to.to_str().unwrap().to_owned());
        let state = match (response.status().as_u16(), location) {
            (503, _) => {
                retried += 1;
                waiting.push(url);
                continue;
            }
            (301, Some(to)) => Final::Redirected(to),
            (404, _) => Final::Missing,
            (200, _) => Final::Fetched,
            other => panic!("{url} answered {other:?}"),
        };
        let text = response.text().await.unwrap();
        waiting.extend(links.captures_iter(&text).map(|link| link[1].to_owned()));
        found.insert(url, state);
    }
    assert_eq!(found, site.oracle());
    assert_eq!(retried, 120 / 25);
    assert_eq!(site.asks(&format!("{}/p/24", site.running.origin(0))), 2);
    let private = |url: &String| site.oracle()[url] == Final::Forbidden;
    let expected: BTreeSet<String> = site.oracle().into_keys().filter(|url| !private(url)).collect();
    assert_eq!(site.visited_urls(), expected);
    assert!(site.min_gap("127.0.0.11").is_some() && site.min_gap("127.0.0.99").is_none());
    let robots = client.get(format!("{}/robots.txt", site.running.origin(0))).send().await.unwrap();
    assert!(robots.text().await.unwrap().contains("Disallow: /private/"));
}

/// Ten thousand pages, all reachable from one, with 140 links and about 30 KB each, compressing like text does.
#[test]
fn the_bench_site_has_the_shape_the_benches_count_on() {
    let mut reached = vec![false; bench_site::PAGES];
    let mut waiting = vec![0];
    while let Some(page) = waiting.pop() {
        if std::mem::replace(&mut reached[page], true) {
            continue;
        }
        waiting.extend(bench_site::links_inside(page));
        waiting.extend(bench_site::links_across(page));
    }
    assert!(reached.iter().all(|reached| *reached));

    let site = bench_site::Site::new(8080);
    let (mut bytes, mut packed) = (0, 0);
    for page in (0..bench_site::PAGES).step_by(997) {
        let mut html = Vec::new();
        site.render(page, &mut html);
        let text = std::str::from_utf8(&html).unwrap();
        assert_eq!(text.matches("<a class=\"card__link\" href=").count(), 140);
        assert_eq!(text.matches("href=\"http://127.0.1.").count(), bench_site::LINKS_ACROSS);
        bytes += html.len();
        packed += zstd::bulk::compress(&html, 3).unwrap().len();
    }
    let (mean, ratio) = (bytes / 11, bytes as f64 / packed as f64);
    assert!((26_000..34_000).contains(&mean), "{mean} bytes a page");
    assert!((3.0..4.5).contains(&ratio), "compresses {ratio} to 1");
}

#[tokio::test]
async fn the_bench_site_serves_its_pages_and_nothing_else() {
    let port = bench_site::start(0).await.unwrap();
    let client = plain_client();
    let status = async |url: String| client.get(url).send().await.unwrap().status().as_u16();
    let site = bench_site::Site::new(port);
    for page in [0, 1, 99, 100, 5050, 9999] {
        let mut html = Vec::new();
        site.render(page, &mut html);
        let response = client.get(bench_site::url(port, page)).send().await.unwrap();
        assert_eq!(response.bytes().await.unwrap(), html, "page {page}");
    }
    assert_eq!(status(format!("http://127.0.1.1:{port}/robots.txt")).await, 404);
    let elsewhere = bench_site::url(port, 142).replace("127.0.1.2:", "127.0.1.3:");
    assert_eq!(status(elsewhere).await, 404, "a page of another host");

    // Two requests at once, one after the other on one connection.
    let mut stream = TcpStream::connect(("127.0.1.1", port)).await.unwrap();
    stream.write_all(b"GET /no HTTP/1.1\r\n\r\nGET /nor HTTP/1.1\r\n\r\n").await.unwrap();
    let mut received = Vec::new();
    while memchr::memmem::find_iter(&received, "not here\r\n").count() < 2 {
        assert_ne!(stream.read_buf(&mut received).await.unwrap(), 0);
    }
}
