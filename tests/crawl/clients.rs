//! Client crawlers: they lease hosts, send pages back, lie, are late, and die.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::server::{Answer, Ask};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::api::ask;
use crate::kill::check_pages;
use crate::steering::seine;
use crate::support::program::{Place, Process, command, eventually, free_port, get};
use crate::support::{Plan, Running, TestSite, links};

pub const ALICE: &str = "0123456789abcdef-alice";
pub const BOB: &str = "0123456789abcdef-bob";
/// Number of pages on the host that clients get.
const PAGES: usize = 120;

/// The first host keeps the server's only worker busy; the second one is for clients.
fn site() -> Running {
    let answer = |ask: &Ask| match (ask.path(), ask.host == "127.0.0.11") {
        ("/robots.txt", _) => Answer::text("User-agent: *\nDisallow: /private\n"),
        ("/", true) => Answer::html("late").after(Duration::from_secs(600)),
        ("/", false) => {
            let pages: Vec<String> = (0..PAGES).map(|page| format!("/{page}")).collect();
            let others = ["/private", "/moved", "/missing"].map(str::to_owned);
            Answer::html(links(&[pages, others.into()].concat().iter().map(String::as_str).collect::<Vec<_>>()))
        }
        ("/moved", _) => Answer::text("").status(301).header("location", "/0"),
        ("/missing", _) => Answer::html("<p>no</p>").status(404),
        (path, _) => Answer::html(true_page(path)),
    };
    Running::start(2, std::sync::Arc::new(answer))
}

fn true_page(path: &str) -> String {
    format!("<title>{path}</title><p>The page {path} says what it says, and {path} is all there is to it.</p>")
}

pub struct Crawl {
    pub site: Running,
    pub place: Place,
    pub address: SocketAddr,
    pub process: Process,
}

impl Crawl {
    pub fn start(settings: &str) -> Crawl {
        Crawl::of(site(), settings)
    }

    pub fn of(site: Running, settings: &str) -> Crawl {
        // The server waits for its own host as long as the test takes.
        let clients = format!(
            "work.clients: \"alice:{ALICE} bob:{BOB}\"\ncrawler_manager.downloader.header_timeout: 10m\ncrawler_manager.downloader.total_timeout: 10m\n"
        );
        let place = Place::with(&format!("{clients}{settings}"));
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let process = Crawl::process(&place, &site, address, true);
        Crawl { site, place, address, process }
    }

    pub fn process(place: &Place, site: &Running, address: SocketAddr, has_seeds: bool) -> Process {
        let seeds = if has_seeds { vec![site.origin(0) + "/", site.origin(1) + "/"] } else { Vec::new() };
        let listen = address.to_string();
        let more = ["--delay", "0", "--concurrency", "1", "--stay", "--listen", &listen];
        let process = Process::start(place.crawl(&seeds, &more));
        let is_busy = || {
            let late = |visit: &crate::support::visits::Visit| visit.path == "/" && visit.host == "127.0.0.11";
            site.visits.all().iter().any(late)
        };
        eventually("the server is busy with its own host", is_busy);
        eventually("it can be asked", || get(address, "/healthz").is_some());
        process
    }

    pub fn said(&self, token: &str, first: &str, said: &Value) -> (u16, Value) {
        let headers = [&*format!("authorization: Bearer {token}"), "content-type: application/json"];
        let (status, _, body) = ask(self.address, first, &headers, &said.to_string());
        (status, serde_json::from_str(&body).unwrap_or_else(|error| panic!("{first}: {error}: {body}")))
    }

    /// The next lease; waits until there is one.
    pub fn lease(&self, token: &str) -> Value {
        let mut lease = Value::Null;
        eventually("there is work", || {
            let (status, work) = self.said(token, "POST /api/v1/work/leases", &json!({"hosts": 1, "wait_ms": 1000}));
            lease = work["leases"][0].clone();
            status == 200 && !lease.is_null()
        });
        lease
    }

    pub fn send(&self, token: &str, page: &Value) -> Value {
        let (status, taken) = self.said(token, "POST /api/v1/work/pages", page);
        assert_eq!(status, 200, "{taken}");
        taken
    }

    /// The reason for which the server refuses a page.
    #[track_caller]
    pub fn refuses(&self, token: &str, page: &Value, words: &str) {
        let taken = self.send(token, page);
        let why = taken["refused"][0]["why"].as_str().unwrap_or_else(|| panic!("{page} was taken: {taken}"));
        assert!(why.contains(words), "{words:?} is not in {why:?}");
    }

    pub fn client(&self, name: &str) -> Value {
        let (status, clients) = self.said("none", "GET /api/v1/clients", &Value::Null);
        assert_eq!(status, 200);
        clients.as_array().unwrap().iter().find(|client| client["name"] == name).unwrap().clone()
    }

    /// Alice sends the root, the only page so far, and is trusted (`work.prove_after: 1`). Before that, her leases have only a few URLs.
    pub fn has_alice_trusted(&self) {
        let root = self.lease(ALICE);
        self.send(ALICE, &self.page(&root, &urls(&root)[0]));
        eventually("alice is trusted", || self.client("alice")["is_proven"] == true);
    }

    /// Sends the true page of each leased URL until `is_enough`.
    fn work(&self, token: &str, is_enough: impl Fn(&Crawl) -> bool) {
        while !is_enough(self) {
            let lease = self.lease(token);
            for url in urls(&lease) {
                self.send(token, &self.page(&lease, &url));
            }
        }
    }

    pub fn page(&self, lease: &Value, url: &str) -> Value {
        let url_of = url::Url::parse(url).unwrap();
        let address = SocketAddr::from((self.site.addresses[1], self.site.port));
        let (status, head, body) = ask(address, &format!("GET {}", url_of.path()), &[], "");
        let headers: Vec<(&str, &str)> = head.lines().skip(1).filter_map(|line| line.split_once(": ")).collect();
        json!({"lease": lease["lease"], "url": url, "status": status, "headers": headers, "body": STANDARD.encode(body)})
    }

    fn latest(&self) -> BTreeMap<String, Value> {
        self.place.cat().into_iter().map(|page| (page["url"].as_str().unwrap().to_owned(), page)).collect()
    }
}

pub fn urls(lease: &Value) -> Vec<String> {
    lease["urls"].as_array().unwrap().iter().map(|url| url["url"].as_str().unwrap().to_owned()).collect()
}

fn lie(lease: &Value, url: &str) -> Value {
    let html = format!("<title>Buy</title><p>Cheap watches, pills and casinos of {url}, only today, hurry up.</p>");
    json!({"lease": lease["lease"], "url": url, "status": 200, "headers": [["content-type", "text/html"]], "body": STANDARD.encode(html)})
}

#[test]
fn what_a_client_sends_is_checked_until_it_is_proven_and_taken_then() {
    let crawl = Crawl::start("work.prove_after: 3\nwork.verify_share: 0\n");
    let lease = crawl.lease(ALICE);
    assert_eq!(lease["origin"], crawl.site.origin(1));
    let first = urls(&lease);
    assert_eq!(first, [crawl.site.origin(1) + "/"]);
    let taken = crawl.send(ALICE, &crawl.page(&lease, &first[0]));
    assert_eq!(taken, json!({"accepted": 0, "refetched": 1, "refused": []}));
    // The server checks the client itself, and takes its links.
    crawl.work(ALICE, |crawl| crawl.client("alice")["accepted"].as_u64().unwrap() > 20);
    let alice = crawl.client("alice");
    assert_eq!((&alice["is_proven"], &alice["disagreed"]), (&json!(true), &json!(0)), "{alice}");
    crawl.work(ALICE, |crawl| {
        crawl.client("alice")["accepted"].as_u64().unwrap() > 20 && {
            let asked = |page: usize| crawl.site.visits.all().iter().any(|visit| visit.path == format!("/{page}"));
            (0..PAGES).all(asked)
        }
    });
    let kept = || crawl.place.cat().len();
    eventually("all pages are delivered", || kept() >= PAGES + 2);
    let pages = crawl.latest();
    let all = (0..PAGES).map(|page| format!("/{page}")).chain(["/".to_owned(), "/moved".to_owned()]);
    let all: Vec<String> = all.map(|path| crawl.site.origin(1) + &path).collect();
    assert!(all.iter().all(|url| pages.contains_key(url)), "{:?}", pages.keys());
    assert_eq!(pages.len(), all.len());
    let said = seine(&crawl.place, &["clients"]).ok().stdout;
    assert!(said.contains("alice") && said.contains(" trusted; ") && said.contains("not trusted yet"), "{said}");
    // Nobody requests what robots.txt forbids, and the server follows redirects.
    assert!(!crawl.site.visits.all().iter().any(|visit| visit.path == "/private"));
    crawl.process.signal("TERM");
    crawl.process.wait().ok();
    let at_rest = seine(&crawl.place, &["clients", "--json"]).ok().json_lines();
    assert_eq!((&at_rest[0]["name"], &at_rest[0]["is_proven"]), (&json!("alice"), &json!(true)));
}

#[test]
fn what_is_not_the_clients_to_say_is_refused() {
    let crawl = Crawl::start("work.prove_after: 1\nwork.verify_share: 0\nwork.lease: 2s\n");
    let root = crawl.lease(ALICE);
    let page = crawl.page(&root, &urls(&root)[0]);
    let with = |key: &str, value: Value| {
        let mut page = page.clone();
        page[key] = value;
        page
    };
    crawl.refuses(BOB, &page, "no such lease");
    crawl.refuses(ALICE, &with("lease", json!("0-1")), "no such lease");
    crawl.refuses(ALICE, &with("url", json!(crawl.site.origin(1) + "/never")), "does not belong to this lease");
    crawl.refuses(ALICE, &with("url", json!("http://elsewhere.test/")), "does not belong to this lease");
    crawl.refuses(ALICE, &with("status", json!(99)), "not a status");
    crawl.refuses(ALICE, &with("body", json!("%%%")), "not base64");
    crawl.refuses(ALICE, &with("digest", json!(format!("sha256:{}", "0".repeat(64)))), "digest of the body differs");
    crawl.refuses(ALICE, &with("headers", json!([["content-type", "text/html\r\nx: y"]])), "not allowed in a header");
    crawl.refuses(ALICE, &with("failure", json!({"reason": "timeout"})), "either a status or a failure");
    let not_modified = json!({"lease": root["lease"], "url": urls(&root)[0], "status": 304});
    crawl.refuses(ALICE, &not_modified, "without conditions");
    assert_eq!(crawl.send(ALICE, &page)["refetched"], 1);
    crawl.refuses(ALICE, &page, "lease");
    // After release or expiry, another client gets the host.
    let lease = crawl.lease(ALICE);
    let url = urls(&lease)[0].clone();
    let (status, released) =
        crawl.said(ALICE, &format!("DELETE /api/v1/work/leases/{}", lease["lease"].as_str().unwrap()), &Value::Null);
    assert_eq!((status, released["urls"].as_u64()), (200, Some(urls(&lease).len() as u64)));
    crawl.refuses(ALICE, &crawl.page(&lease, &url), "no such lease");
    let lapsing = crawl.lease(ALICE);
    let began = Instant::now();
    let others = crawl.lease(BOB);
    assert!(began.elapsed() > Duration::from_millis(1500), "it had not lapsed");
    assert_eq!(others["origin"], lapsing["origin"]);
    crawl.refuses(ALICE, &crawl.page(&lapsing, &urls(&lapsing)[0]), "no such lease");
    crawl.refuses(ALICE, &crawl.page(&others, &urls(&others)[0]), "no such lease");
    // It is counted after the host was returned, which is what BOB waited for.
    eventually("it is counted as lapsed", || crawl.client("alice")["lapsed"] == 1);
    // Without a token there is no access, and a client token allows nothing else.
    let wanted = json!({"hosts": 1});
    assert_eq!(crawl.said("0123456789abcdef-eve", "POST /api/v1/work/leases", &wanted).0, 401);
    assert_eq!(crawl.said(BOB, "POST /api/v1/work/leases", &json!({"hosts": 1, "urls": 3})).0, 400);
    crawl.process.signal("TERM");
}

#[test]
fn a_liar_is_shut_out_and_what_was_taken_of_it_is_fetched_again() {
    // A host leased by an excluded client is paused until its lease would have ended.
    let crawl = Crawl::start("work.prove_after: 3\nwork.verify_share: 40\nwork.lease: 2s\n");
    crawl.work(ALICE, |crawl| crawl.client("alice")["is_proven"] == true);
    let mut lies = 0;
    let deadline = Instant::now() + Duration::from_secs(60);
    while crawl.client("alice")["shut_out"].is_null() {
        assert!(Instant::now() < deadline, "{}", crawl.client("alice"));
        let (status, work) = crawl.said(ALICE, "POST /api/v1/work/leases", &json!({"hosts": 1, "wait_ms": 1000}));
        if status == 403 {
            break;
        }
        let Some(lease) = work["leases"].get(0) else { continue };
        for url in urls(lease) {
            lies += crawl.send(ALICE, &lie(lease, &url))["accepted"].as_u64().unwrap();
        }
    }
    let (status, why) = crawl.said(ALICE, "POST /api/v1/work/leases", &json!({"hosts": 1}));
    assert_eq!(status, 403, "{why}");
    assert!(why["detail"].as_str().unwrap().contains("differ from our own fetches"), "{why}");
    println!("{lies} lies taken before it was shut out");
    // Now the server's turn, until nothing is left; in the end only true pages are there.
    let process = crawl.process;
    process.signal("TERM");
    process.wait().ok();
    let crawl = Crawl { process: Crawl::process(&crawl.place, &crawl.site, crawl.address, false), ..crawl };
    assert_eq!(crawl.said(ALICE, "POST /api/v1/work/leases", &json!({"hosts": 1})).0, 403, "over a restart too");
    let is_true = |page: &Value| page["content"].as_str().is_none_or(|content| !content.contains("Cheap watches"));
    let deadline = Instant::now() + Duration::from_secs(60);
    while crawl.latest().len() < PAGES + 2 || !crawl.latest().values().all(is_true) {
        assert!(Instant::now() < deadline, "{:?}", crawl.latest().values().filter(|page| !is_true(page)).count());
        let (_, work) = crawl.said(BOB, "POST /api/v1/work/leases", &json!({"hosts": 1, "wait_ms": 500}));
        let Some(lease) = work["leases"].get(0) else { continue };
        for url in urls(lease) {
            crawl.send(BOB, &crawl.page(lease, &url));
        }
    }
    // All of the client's pages, even the true ones.
    let alice = crawl.client("alice");
    assert!(alice["accepted"].as_u64().unwrap() >= lies && alice["in_question"] == alice["accepted"], "{alice}");
    crawl.process.signal("TERM");
}

#[test]
fn a_host_that_is_lent_is_left_alone_by_a_server_that_was_killed() {
    let crawl = Crawl::start("work.lease: 5s\n");
    let lease = crawl.lease(ALICE);
    let until = Instant::now() + Duration::from_millis(lease["lasts_ms"].as_u64().unwrap());
    let Crawl { site, place, address, process } = crawl;
    assert!(process.kill());
    let killed = Instant::now();
    let crawl = Crawl { process: Crawl::process(&place, &site, address, false), site, place, address };
    crawl.refuses(ALICE, &crawl.page(&lease, &urls(&lease)[0]), "no such lease");
    // The server may lend its other host first.
    let again = std::iter::repeat_with(|| crawl.lease(BOB)).find(|again| again["origin"] == lease["origin"]).unwrap();
    assert!(until.saturating_duration_since(Instant::now()) < Duration::from_millis(100), "lent again too early");
    assert_ne!(again["lease"], lease["lease"]);
    // Requests of this test itself have no user agent.
    let by_server =
        crawl.site.visits.all().into_iter().filter(|visit| visit.host == "127.0.0.12" && !visit.user_agent.is_empty());
    let too_soon = by_server.filter(|visit| visit.at > killed && visit.at < until).count();
    assert_eq!(too_soon, 0);
    crawl.process.signal("TERM");
}

/// Three `seine work` processes, each killed again and again.
#[test]
fn three_workers_killed_at_random_end_with_exactly_the_sites_pages() {
    const DELAY: Duration = Duration::from_millis(20);
    let seed = fastrand::u64(..);
    println!("kill moments from seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    let site = TestSite::start(Plan { pages: 300, hosts: 6, seed: rng.u64(..), ..Plan::default() });
    let tokens = ["a", "b", "c"].map(|name| (name, format!("0123456789abcdef-{name}")));
    let clients: Vec<String> = tokens.iter().map(|(name, token)| format!("{name}:{token}")).collect();
    let settings = format!(
        "work.clients: \"{}\"\nwork.lease: 1s\nwork.prove_after: 3\nwork.verify_share: 10\n",
        clients.join(" ")
    );
    let place = Place::with(&settings);
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let more = ["--delay", "20ms", "--concurrency", "1", "--listen", &address.to_string()];
    let mut server = Process::start(place.crawl(&site.seeds(), &more));
    let start = |token: &str| {
        let server = format!("http://{address}");
        let mut work: Command =
            command(&["work", "--server", &server, "--concurrency", "2", "--allow-private", "--quiet"]);
        work.env("SEINE_WORK_TOKEN", token);
        Process::start(work)
    };
    let mut workers: Vec<Process> = tokens.iter().map(|(_, token)| start(token)).collect();
    let (mut kills, mut accepted) = (0, 0);
    while !server.has_ended() {
        let visits = site.running.visits.len() + rng.usize(1..25);
        eventually("the crawl goes on", || site.running.visits.len() >= visits || server.has_ended());
        if let Some((200, body)) = get(address, "/api/v1/clients") {
            let clients: Vec<Value> = serde_json::from_str(&body).unwrap();
            accepted = clients.iter().map(|client| client["accepted"].as_u64().unwrap()).sum::<u64>().max(accepted);
            assert!(clients.iter().all(|client| client["disagreed"] == 0), "{body}");
        }
        let which = rng.usize(0..3);
        kills += usize::from(workers.remove(which).kill());
        workers.insert(which, start(&tokens[which].1));
    }
    server.wait().ok();
    let gap = site.shortest_gap();
    println!(
        "{kills} kills, {accepted} pages taken of workers, shortest gap {gap:?}, {} requests",
        site.visits().len()
    );
    assert!(accepted > 0 && kills > 3, "{accepted} pages taken, {kills} kills");
    assert!(gap >= DELAY, "a host was visited again after {gap:?} (seed {seed})");
    check_pages(&place, &site);
}

/// As a stream of lines, and as WARC records.
#[test]
fn pages_come_as_a_stream_too() {
    let crawl = Crawl::start("work.prove_after: 1\nwork.verify_share: 0\n");
    crawl.work(ALICE, |crawl| crawl.client("alice")["is_proven"] == true);
    let authorization = format!("authorization: Bearer {ALICE}");
    let taken = |answer: (u16, String, String)| -> Value {
        assert_eq!(answer.0, 200, "{}", answer.2);
        serde_json::from_str(&answer.2).unwrap()
    };
    let lease = crawl.lease(ALICE);
    let pages = urls(&lease).iter().map(|url| format!("{}\n", crawl.page(&lease, url))).collect::<String>();
    let headers = [&*authorization, "content-type: application/x-ndjson"];
    let lines = format!("{pages}\nno page\n{{\"lease\": 5}}\n");
    let said = taken(ask(crawl.address, "POST /api/v1/work/pages", &headers, &lines));
    let (accepted, held) = (said["accepted"].as_u64().unwrap(), said["refetched"].as_u64().unwrap());
    assert_eq!(accepted + held, urls(&lease).len() as u64, "{said}");
    assert_eq!(said["refused"].as_array().unwrap().len(), 2);

    let lease = crawl.lease(ALICE);
    let record = |url: &String| {
        let html = true_page(url::Url::parse(url).unwrap().path());
        let message =
            format!("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {}\r\n\r\n{html}", html.len());
        format!(
            "WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-000000000000>\r\n\
             WARC-Date: 2026-11-23T00:00:00Z\r\nWARC-Target-URI: {url}\r\nContent-Type: application/http; msgtype=response\r\n\
             Content-Length: {}\r\n\r\n{message}\r\n\r\n",
            message.len()
        )
    };
    let sent: Vec<String> =
        urls(&lease).into_iter().filter(|url| !url.ends_with("/moved") && !url.ends_with("/missing")).collect();
    let warc = sent.iter().map(record).collect::<String>();
    let headers = [&*authorization, "content-type: application/warc"];
    let to = format!("POST /api/v1/work/pages?lease={}", lease["lease"].as_str().unwrap());
    let said = taken(ask(crawl.address, &to, &headers, &warc));
    assert_eq!(said, json!({"accepted": sent.len(), "refetched": 0, "refused": []}));
    eventually("they are delivered", || sent.iter().all(|url| crawl.latest().contains_key(url)));
    let (status, _, why) = ask(crawl.address, &to, &headers, "no WARC");
    // The whole lease was returned, or the data sent is not WARC.
    assert!(matches!(status, 400 | 409), "{status} {why}");
    crawl.process.signal("TERM");
}

/// A server whose first host keeps the crawl busy, and whose second host's pages have other words for every request.
fn random_site() -> Running {
    let answer = |ask: &Ask| match (ask.path(), ask.host == "127.0.0.11") {
        ("/robots.txt", _) => Answer::text("User-agent: *\nAllow: /\n"),
        ("/", true) => Answer::html("late").after(Duration::from_secs(600)),
        ("/", false) => {
            let pages: Vec<String> = (0..PAGES).map(|page| format!("/{page}")).collect();
            Answer::html(links(&pages.iter().map(String::as_str).collect::<Vec<_>>()))
        }
        (_, _) => Answer::html(random_page()),
    };
    Running::start(2, std::sync::Arc::new(answer))
}

fn random_page() -> String {
    let words: Vec<String> = (0..200).map(|_| (0..8).map(|_| fastrand::lowercase()).collect()).collect();
    format!("<title>{}</title><p>{}", words[0], words.join(" "))
}

#[test]
fn an_honest_client_is_not_shut_out_for_pages_that_differ_with_every_request() {
    let crawl = Crawl::of(random_site(), "work.prove_after: 1\nwork.verify_share: 100\n");
    let fetched = || crawl.site.visits.all().iter().filter(|visit| visit.path.len() > 1).count();
    while fetched() < 60 {
        let lease = crawl.lease(ALICE);
        for url in urls(&lease) {
            let mut page = crawl.page(&lease, &url);
            if !url.ends_with('/') {
                page["body"] = json!(STANDARD.encode(random_page()));
            }
            crawl.send(ALICE, &page);
        }
    }
    let alice = crawl.client("alice");
    assert_eq!((&alice["shut_out"], &alice["disagreed"]), (&Value::Null, &json!(0)), "{alice}");
    crawl.process.signal("TERM");
}

#[test]
fn one_lie_costs_the_trust_and_an_order_ends_a_verdict_that_a_reload_keeps() {
    let crawl = Crawl::start("work.prove_after: 3\nwork.verify_share: 100\n");
    crawl.work(ALICE, |crawl| crawl.client("alice")["is_proven"] == true);
    let mut was_doubted = false;
    eventually("it is shut out", || {
        let said = crawl.said(ALICE, "POST /api/v1/work/leases", &json!({"hosts": 1, "wait_ms": 500}));
        if let Some(lease) = said.1["leases"].get(0) {
            let all = urls(lease);
            // One lie first, the last page of its lease; then only lies.
            for (n, url) in all.iter().enumerate() {
                let is_lie = was_doubted || n + 1 == all.len();
                crawl.send(ALICE, &if is_lie { lie(lease, url) } else { crawl.page(lease, url) });
            }
        }
        let alice = crawl.client("alice");
        was_doubted |= alice["disagreed"] == 1 && alice["is_proven"] == false;
        !alice["shut_out"].is_null()
    });
    assert!(was_doubted, "the first lie cost nothing");
    let process = &crawl.process;
    // Removed from the configuration and added with another token, it is still excluded.
    let file = crawl.place.config();
    let with_both = std::fs::read_to_string(&file).unwrap();
    let without = with_both.replace(&format!("alice:{ALICE} "), "");
    std::fs::write(&file, &without).unwrap();
    let said = seine(&crawl.place, &["reload"]).ok().stdout;
    assert!(said.contains("work.clients"), "{said}");
    assert_eq!(crawl.said(ALICE, "POST /api/v1/work/leases", &json!({"hosts": 1})).0, 401);
    let other = format!("{ALICE}-rotated");
    std::fs::write(&file, with_both.replace(ALICE, &other)).unwrap();
    seine(&crawl.place, &["reload"]).ok();
    assert_eq!(crawl.said(ALICE, "POST /api/v1/work/leases", &json!({"hosts": 1})).0, 401, "the token is another");
    let (status, why) = crawl.said(&other, "POST /api/v1/work/leases", &json!({"hosts": 1}));
    assert_eq!((status, why["detail"].as_str().unwrap().contains("shut out")), (403, true), "{why}");
    seine(&crawl.place, &["clients", "readmit", "eve"]).fails_naming(&["eve", "alice, bob"]);
    let said = seine(&crawl.place, &["clients", "readmit", "alice"]).ok().stdout;
    assert!(said.contains("is admitted again"), "{said}");
    assert_eq!(crawl.said(&other, "POST /api/v1/work/leases", &json!({"hosts": 1})).0, 200);
    assert_eq!(crawl.client("alice")["is_proven"], false);
    process.signal("TERM");
}
