//! The HTTP API: permissions, and what is refused.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::support::server::{Answer, Ask};
use serde_json::Value;

use crate::support::program::{Place, Process, eventually, free_port, get, run};
use crate::support::{Running, links};

const READ: &str = "0123456789abcdef-read";
const OPERATE: &str = "0123456789abcdef-operate";

fn site() -> Running {
    Running::start(
        1,
        std::sync::Arc::new(|ask: &Ask| match ask.path() {
            "/" => Answer::html(links(&["/1", "/2"])),
            path => Answer::html(format!("<p>{path}</p>")),
        }),
    )
}

fn start(place: &Place, site: &Running) -> (Process, SocketAddr) {
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let more = ["--delay", "0", "--stay", "--listen", &address.to_string()];
    let process = Process::start(place.crawl(&[site.origin(0) + "/"], &more));
    eventually("it is ready", || get(address, "/readyz").is_some_and(|(status, _)| status == 200));
    (process, address)
}

/// Sends one request as written; returns status, head and body.
pub fn ask(address: SocketAddr, first: &str, headers: &[&str], body: &str) -> (u16, String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let has_host = headers.iter().any(|header| header.starts_with("host:"));
    let host = if has_host { String::new() } else { format!("host: {address}\r\n") };
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    let length = body.len();
    let request =
        format!("{first} HTTP/1.1\r\n{host}connection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}");
    // A server that refuses may not read to the end.
    let _ = stream.write_all(request.as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{first}: {answer:?}"));
    (head.split(' ').nth(1).unwrap().parse().unwrap(), head.to_owned(), body.to_owned())
}

/// The answer is a problem document with this status and these words.
#[track_caller]
fn refused((status, head, body): (u16, String, String), wanted: u16, words: &str) {
    assert_eq!(status, wanted, "{body}");
    assert!(head.contains("content-type: application/problem+json"), "{head}");
    let problem: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(problem["status"], wanted);
    assert!(problem["detail"].as_str().unwrap().contains(words), "{words:?} is not in {body}");
}

const JSON: &str = "content-type: application/json";
const PAUSE: &str = r#"{"order": "pause"}"#;

#[test]
fn without_tokens_this_machine_alone_may_ask_and_no_foreign_page() {
    let (site, place) = (site(), Place::new());
    let (process, address) = start(&place, &site);
    let (status, _, body) = ask(address, "GET /api/v1/status", &[], "");
    assert_eq!(status, 200);
    let said: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(said["running"]["phase"], "running");
    let (status, ..) = ask(address, "GET /api/v1/status", &["host: localhost:1"], "");
    assert_eq!(status, 200);
    refused(ask(address, "GET /api/v1/status", &["host: rebound.test"], ""), 403, "localhost alone");
    refused(ask(address, "GET /api/v1/status", &["origin: http://evil.test"], ""), 403, "evil.test");
    refused(ask(address, "POST /api/v1/orders", &["origin: null", JSON], PAUSE), 403, "may not ask");
    // Requests that a page of another website can send without a preflight.
    refused(ask(address, "POST /api/v1/orders", &["content-type: text/plain"], PAUSE), 400, "application/json");
    refused(ask(address, "POST /api/v1/seeds", &["content-type: text/plain"], "http://a.test/"), 400, "text/uri-list");
    refused(ask(address, "POST /api/v1/orders", &[JSON], "{\"order\": \"dance\"}"), 400, "dance");
    refused(ask(address, "POST /api/v1/orders", &[JSON], "{\"order\": \"pause"), 400, "");
    refused(ask(address, "POST /api/v1/orders", &[JSON], &" ".repeat(2 << 20)), 413, "1048576 bytes at most");
    refused(ask(address, "GET /api/v1/url", &[], ""), 400, "url");
    refused(ask(address, "GET /api/v1/url?url=mailto:x", &[], ""), 400, "not an http or https URL");
    refused(ask(address, "GET /api/v1/hosts?which=odd", &[], ""), 400, "odd");
    refused(ask(address, "GET /api/v1/hosts/nobody.test", &[], ""), 404, "no link has led to");
    refused(ask(address, "GET /api/v2/status", &[], ""), 404, "/api/v1/openapi.json");
    refused(ask(address, "DELETE /api/v1/status", &[], ""), 405, "DELETE");
    let order = r#"{"order": "pause_sink", "sink": "nothing"}"#;
    refused(ask(address, "POST /api/v1/orders", &[JSON], order), 404, "has no sink nothing");
    let (status, _, body) = ask(address, "POST /api/v1/orders", &[JSON], PAUSE);
    assert_eq!(status, 200, "{body}");
    let (_, _, orders) = ask(address, "GET /api/v1/orders", &[], "");
    let orders: Value = serde_json::from_str(&orders).unwrap();
    assert_eq!(orders.as_array().unwrap().len(), 1, "what was refused is no order: {orders}");
    assert_eq!(orders[0]["by"], "operator from 127.0.0.1");
    process.signal("TERM");
    process.wait().ok();
}

#[test]
fn a_token_has_a_role_and_no_answer_has_a_secret() {
    let (site, place) = (site(), Place::with(&format!("http.api: {{read_token: {READ}, operate_token: {OPERATE}}}\n")));
    let (process, address) = start(&place, &site);
    let bearer = |token: &str| format!("authorization: Bearer {token}");
    let (read, operate) = (bearer(READ), bearer(OPERATE));
    let nobody = ask(address, "GET /api/v1/status", &[], "");
    assert!(nobody.1.contains("www-authenticate: Bearer"), "{}", nobody.1);
    refused(nobody, 401, "http.api.read_token");
    refused(ask(address, "GET /api/v1/status", &[&bearer("0123456789abcdef-other")], ""), 401, "none of this crawl's");
    refused(ask(address, "POST /api/v1/orders", &[JSON, &read], PAUSE), 403, "this token is read-only");
    for path in ["/status", "/hosts", "/orders", "/url?url=http://a.test/", "/openapi.json"] {
        for token in [&read, &operate] {
            let (status, head, body) = ask(address, &format!("GET /api/v1{path}"), &[token], "");
            assert_eq!(status, 200, "{path}: {body}");
            assert!(
                ![&head, &body].iter().any(|said| said.contains(READ) || said.contains(OPERATE)),
                "{path} tells a secret"
            );
        }
    }
    // Also under another host name: a client with a token may come through a proxy.
    let (status, ..) = ask(address, "GET /api/v1/status", &[&read, "host: crawl.example"], "");
    assert_eq!(status, 200);
    let urls: String = (0..5_000).map(|number| format!("{}/added/{number}\n", site.origin(0))).collect();
    let list = format!("# seeds\n{urls}no URL\n");
    let (status, _, body) = ask(address, "POST /api/v1/seeds", &["content-type: text/uri-list", &operate], &list);
    assert_eq!(status, 200, "{body}");
    let said: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&said["added"], &said["bad_count"]), (&5000.into(), &1.into()), "{said}");
    // Commands of the owner need no token.
    assert_eq!(place.stats()["frontier"]["hosts"], 1);
    process.signal("TERM");
    process.wait().ok();
}

#[test]
fn on_the_network_nothing_is_said_without_a_token() {
    let (site, place) = (site(), Place::new());
    let port = free_port();
    let more = ["--delay", "0", "--stay", "--listen", &format!("0.0.0.0:{port}")];
    let process = Process::start(place.crawl(&[site.origin(0) + "/"], &more));
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    eventually("it is ready", || get(address, "/readyz").is_some_and(|(status, _)| status == 200));
    refused(ask(address, "GET /api/v1/status", &[], ""), 403, "no token is configured");
    refused(ask(address, "POST /api/v1/orders", &[JSON], PAUSE), 403, "no token is configured");
    process.signal("TERM");
    process.wait().ok();
    let short = Place::with("http.api.read_token: short\n");
    Process::start(short.crawl(&[site.origin(0) + "/"], &[]))
        .wait()
        .fails_naming(&["http.api.read_token", "16 or more"]);
}

#[test]
fn those_who_follow_leave_places_for_others() {
    let (site, place) = (site(), Place::new());
    let (process, address) = start(&place, &site);
    let follows = "GET /api/v1/events HTTP/1.1\r\nhost: localhost\r\n\r\n";
    // Each is connected before the next one comes.
    let follower = || {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream.write_all(follows.as_bytes()).unwrap();
        let mut head = [0; 12];
        stream.read_exact(&mut head).unwrap();
        assert_eq!(&head, b"HTTP/1.1 200");
        stream
    };
    let followers: Vec<TcpStream> = (0..64).map(|_| follower()).collect();
    refused(ask(address, "GET /api/v1/events", &[], ""), 503, "64 clients receive the live status already");
    assert_eq!(get(address, "/healthz").map(|(status, _)| status), Some(200));
    drop(followers);
    process.signal("TERM");
    process.wait().ok();
}

#[test]
fn idle_connections_keep_nobody_out() {
    let (site, place) = (site(), Place::new());
    let (process, address) = start(&place, &site);
    let idle: Vec<TcpStream> = (0..300).map(|_| TcpStream::connect(address).unwrap()).collect();
    let began = std::time::Instant::now();
    for path in ["/healthz", "/readyz", "/api/v1/status"] {
        assert_eq!(get(address, path).map(|(status, _)| status), Some(200), "{path}");
    }
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    // A client that follows events is not idle.
    let mut follower = TcpStream::connect(address).unwrap();
    follower.write_all(b"GET /api/v1/events HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let more: Vec<TcpStream> = (0..300).map(|_| TcpStream::connect(address).unwrap()).collect();
    assert_eq!(get(address, "/healthz").map(|(status, _)| status), Some(200));
    follower.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut events = String::new();
    while events.matches("event: status").count() < 3 {
        let mut some = [0; 4096];
        let read = follower.read(&mut some).unwrap();
        assert!(read > 0, "the follower was hung up on: {events}");
        events += &String::from_utf8_lossy(&some[..read]);
    }
    drop((idle, more));
    process.signal("TERM");
    process.wait().ok();
}

#[test]
fn a_long_address_is_refused_with_the_maximum_and_no_request_at_all_by_its_status() {
    let (site, place) = (site(), Place::new());
    let (process, address) = start(&place, &site);
    let long = format!("GET /api/v1/url?url=http://a.test/{}", "a".repeat(70_000));
    assert_eq!(ask(address, &long, &[], "").0, 414);
    let long = format!("GET /api/v1/url?url=http://a.test/{}", "a".repeat(20_000));
    refused(ask(address, &long, &[], ""), 400, "20014 bytes is too long");
    assert_eq!(ask(address, "GET /api/v1/status", &["no header"], "").0, 400);
    let data = place.data();
    for length in [20_000, 70_000, 120_000] {
        let url = format!("http://a.test/{}", "a".repeat(length));
        run(&["why", "-o", data.to_str().unwrap(), &url]).fails_naming(&["the maximum is 4096"]);
    }
    process.signal("TERM");
    process.wait().ok();
}

#[test]
fn who_asks_too_often_is_told_to_wait() {
    let (site, place) = (site(), Place::with(&format!("http.api.read_token: {READ}\n")));
    let (process, address) = start(&place, &site);
    // All of them at once, answered one after the other.
    let statuses = |token: &str, times: usize| -> Vec<u16> {
        let request =
            format!("GET /api/v1/orders HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\r\n");
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut writing = stream.try_clone().unwrap();
        let last = request.replace("host: localhost", "host: localhost\r\nconnection: close");
        let all = request.repeat(times - 1) + &last;
        let writer = std::thread::spawn(move || writing.write_all(all.as_bytes()));
        let mut answers = String::new();
        stream.read_to_string(&mut answers).unwrap();
        writer.join().unwrap().unwrap();
        answers.match_indices("HTTP/1.1 ").map(|(at, _)| answers[at + 9..at + 12].parse().unwrap()).collect()
    };
    let asked = statuses(READ, 3000);
    let good = asked.iter().filter(|status| **status == 200).count();
    assert!(asked.len() == 3000 && good >= 400 && asked.contains(&429), "{good} of {}", asked.len());
    // Other clients do not suffer; a client that guesses tokens has fewer tries.
    let guessed = statuses("0123456789abcdef-guess", 300);
    let tried = guessed.iter().filter(|status| **status == 401).count();
    assert!((50..300).contains(&tried) && guessed.contains(&429), "{tried}");
    let data = place.data();
    for _ in 0..3 {
        run(&["orders", "-o", data.to_str().unwrap()]).ok();
    }
    let (status, head, _) = ask(address, "GET /api/v1/orders", &["authorization: Bearer 0123456789abcdef-guess"], "");
    assert!(status == 401 || head.to_ascii_lowercase().contains("retry-after: 1"), "{head}");
    process.signal("TERM");
    process.wait().ok();
}

#[test]
fn orders_are_taken_as_the_api_describes_them_and_not_otherwise() {
    let (site, place) = (site(), Place::new());
    let (process, address) = start(&place, &site);
    let order = |body: &str| ask(address, "POST /api/v1/orders", &[JSON], body);
    refused(order(r#"{"order": "retry", "dryrun": true}"#), 400, "dryrun");
    refused(order(r#"{"order": "resume", "sink": "files"}"#), 400, "sink");
    refused(order(r#"{"order": "forget", "url": "http://a.test/"}"#), 400, "url");
    refused(order(r#"{"order": "set_limit", "limit": "pages"}"#), 400, "most");
    refused(order(r#"{"order": "set_host_delay", "host": "a.test"}"#), 400, "delay_ms");
    refused(order(r#"{"order": "set_host_pages", "host": "a.test"}"#), 400, "pages");
    for whole in [r#"{"order": "retry", "dry_run": true}"#, r#"{"order": "set_limit", "limit": "pages", "most": null}"#]
    {
        let (status, _, body) = order(whole);
        assert_eq!(status, 200, "{whole}: {body}");
    }
    process.signal("TERM");
    process.wait().ok();
}

#[test]
fn what_came_through_a_proxy_or_under_another_name_is_not_this_machines() {
    let (site, place) = (site(), Place::new());
    let (process, address) = start(&place, &site);
    for header in ["forwarded: for=192.0.2.1", "x-forwarded-for: 192.0.2.1", "x-real-ip: 192.0.2.1"] {
        refused(ask(address, "GET /api/v1/status", &[header], ""), 403, "through a proxy");
    }
    for path in ["/metrics", "/", "/page.js"] {
        refused(ask(address, &format!("GET {path}"), &["host: rebound.test"], ""), 403, "localhost alone");
        assert_eq!(ask(address, &format!("GET {path}"), &[], "").0, 200, "{path}");
    }
    // Health checks may use any host name.
    assert_eq!(ask(address, "GET /healthz", &["host: pod.cluster"], "").0, 200);
    process.signal("TERM");
    process.wait().ok();
}

/// The name of another website that leads to this machine (DNS rebinding) gets no figures, with tokens either. A reverse
/// proxy may serve the page under its own name.
#[test]
fn metrics_under_another_name_need_a_token() {
    let (site, place) = (site(), Place::with(&format!("http.api: {{read_token: {READ}, operate_token: {OPERATE}}}\n")));
    let (process, address) = start(&place, &site);
    let metrics = |more: &[&str]| ask(address, "GET /metrics", more, "");
    assert_eq!(metrics(&[]).0, 200);
    refused(metrics(&["host: rebound.test"]), 401, "token");
    for token in [READ, OPERATE] {
        assert_eq!(metrics(&["host: rebound.test", &format!("authorization: Bearer {token}")]).0, 200);
    }
    for path in ["/", "/page.js", "/page.css"] {
        assert_eq!(ask(address, &format!("GET {path}"), &["host: crawl.example"], "").0, 200, "{path}");
    }
    // Wrong tokens are limited here as they are elsewhere.
    let guess =
        |number: usize| metrics(&["host: rebound.test", &format!("authorization: Bearer 0123456789abcdef-{number}")]);
    assert!((0..500).any(|number| guess(number).0 == 429), "nobody is refused");
    let right = format!("authorization: Bearer {READ}");
    assert_eq!(metrics(&["host: rebound.test", &right]).0, 429, "an answer would show that it is right");
    process.signal("TERM");
    process.wait().ok();
}

/// Each is started again and again, opens, passes what it skips, and fails at the first page. None of this is a sign that
/// it works.
#[test]
fn a_crawl_whose_destinations_stay_away_is_never_ready() {
    const REST: &str = "target_storage.data_format.elasticsearch.rest";
    let site = site();
    let place = Place::with(&format!(
        "{REST}: {{hosts: ['http://127.0.0.1:{}'], max_retry_timeout_millis: 50}}\n\
         target_storage.sinks: [{{name: one, destination: ELASTICSEARCH, options: {{unchanged: skip}}}}, \
         {{name: two, destination: ELASTICSEARCH}}]\n",
        free_port()
    ));
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let more = ["--delay", "0", "--stay", "--listen", &address.to_string()];
    let process = Process::start(place.crawl(&[site.origin(0) + "/"], &more));
    let restarts = || {
        let parts = get(address, "/api/v1/status").map(|(_, body)| serde_json::from_str::<Value>(&body).unwrap())?;
        let of = |name: &str| {
            parts["running"]["parts"].as_array()?.iter().find(|part| part["name"] == format!("sink {name}"))?["restarts"].as_u64()
        };
        Some(of("one")?.min(of("two")?))
    };
    eventually("both have failed", || restarts().is_some_and(|times| times > 0));
    let before = restarts().unwrap();
    eventually("both have failed five times more", || {
        for _ in 0..20 {
            let (status, why) = get(address, "/readyz").unwrap();
            assert!(status == 503 && why.contains("one: failed") && why.contains("two: failed"), "{status}: {why}");
        }
        restarts().is_some_and(|times| times >= before + 5)
    });
    process.signal("TERM");
    process.wait();
}

#[test]
fn after_wrong_tokens_a_right_one_waits_too() {
    let (site, place) = (site(), Place::with(&format!("http.api: {{read_token: {READ}, operate_token: {OPERATE}}}\n")));
    let (process, address) = start(&place, &site);
    let right = format!("authorization: Bearer {READ}");
    let (mut guesses, mut status) = (0, 200);
    while status != 429 {
        guesses += 1;
        assert!(guesses < 500, "nobody is refused");
        ask(address, "GET /api/v1/status", &[&format!("authorization: Bearer 0123456789abcdef-{guesses}")], "");
        status = ask(address, "GET /api/v1/status", &[&right], "").0;
    }
    eventually("it is let in again", || ask(address, "GET /api/v1/status", &[&right], "").0 == 200);
    process.signal("TERM");
    process.wait().ok();
}
