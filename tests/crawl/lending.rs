//! Lent hosts, while the operator, other clients or the server's end interfere.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::api::ask;
use crate::clients::{ALICE, BOB, Crawl, urls};
use crate::support::program::{Place, Process, eventually, free_port, get, run};
use crate::support::server::{Answer, Ask};
use crate::support::visits::Visit;
use crate::support::{Running, links};

#[test]
fn a_host_that_is_blocked_or_forgotten_is_not_lent_any_longer() {
    let crawl = Crawl::start("work.prove_after: 1\nwork.verify_share: 0\n");
    crawl.has_alice_trusted();
    let data = crawl.place.data();
    let data = data.to_str().unwrap();
    let lease = crawl.lease(ALICE);
    let host = lease["origin"].as_str().unwrap();
    let first = crawl.page(&lease, &urls(&lease)[0]);
    assert_eq!(crawl.send(ALICE, &first)["accepted"], 1);
    // Neither waits for the end of the lease, which is a minute away.
    run(&["host", host, "block", "-o", data]).ok();
    let second = crawl.page(&lease, &urls(&lease)[1]);
    crawl.refuses(ALICE, &second, "no such lease");
    let said = run(&["forget", "--host", host, "-o", data]).ok().stdout;
    assert!(!said.contains("left"), "{said}");
    crawl.refuses(ALICE, &second, "no such lease");
    assert_eq!(crawl.client("alice")["lapsed"], 0);
    crawl.process.signal("TERM");
    crawl.process.wait().ok();
    run(&["audit", data]).ok();
}

#[test]
fn what_the_server_ends_itself_costs_a_client_nothing() {
    let crawl = Crawl::start("work.lease: 2s\n");
    crawl.lease(ALICE);
    let Crawl { site, place, address, process } = crawl;
    process.signal("TERM");
    process.wait().ok();
    let crawl = Crawl { process: Crawl::process(&place, &site, address, false), site, place, address };
    let alice = crawl.client("alice");
    assert_eq!((&alice["lapsed"], &alice["max_hosts"]), (&json!(0), &json!(4)), "{alice}");
    crawl.process.signal("TERM");
}

#[test]
fn a_client_that_brings_nothing_back_has_to_wait() {
    let crawl = Crawl::start("work.lease: 1s\n");
    for _ in 0..4 {
        crawl.lease(ALICE);
    }
    let mut refusal = Value::Null;
    crate::support::program::eventually("the last of them has lapsed", || {
        let (status, said) = crawl.said(ALICE, "POST /api/v1/work/leases", &json!({"hosts": 1}));
        refusal = said["detail"].clone();
        status == 409 && refusal.as_str().unwrap().contains("sent nothing")
    });
    assert_eq!(crawl.client("alice")["max_hosts"], 1);
    crawl.lease(BOB);
    crawl.process.signal("TERM");
}

#[test]
fn no_client_takes_the_places_of_others_or_all_of_the_memory() {
    let crawl = Crawl::start("");
    let hog = || {
        let mut stream = TcpStream::connect(crawl.address).unwrap();
        let head = format!(
            "POST /api/v1/work/pages HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {ALICE}\r\ncontent-type: application/json\r\n\
             content-length: 1000\r\n\r\n{{"
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream
    };
    let mut hogging: Vec<TcpStream> = (0..16).map(|_| hog()).collect();
    let none = json!({"lease": "0-0", "url": "http://nowhere.test/", "status": 200});
    crate::support::program::eventually("alice has no place left", || {
        hogging.push(hog());
        crawl.said(ALICE, "POST /api/v1/work/pages", &none).0 == 503
    });
    crawl.refuses(BOB, &none, "no such lease");
    drop(hogging);
    let headers = [&*format!("authorization: Bearer {BOB}"), "content-type: application/x-ndjson"];
    let (status, _, why) = ask(crawl.address, "POST /api/v1/work/pages", &headers, &"x\n".repeat(5000));
    assert_eq!(status, 413, "{why}");
    assert!(why.contains("1000 pages of these were refused"), "{why}");
    crawl.process.signal("TERM");
}

#[test]
fn a_client_that_leases_and_gives_back_in_a_loop_has_to_wait() {
    let crawl = Crawl::start("work.lease: 10s\n");
    for _ in 0..4 {
        let lease = crawl.lease(ALICE);
        let path = format!("DELETE /api/v1/work/leases/{}", lease["lease"].as_str().unwrap());
        assert_eq!(crawl.said(ALICE, &path, &Value::Null).0, 200);
    }
    crate::support::program::eventually("it is told to wait", || {
        let (status, said) = crawl.said(ALICE, "POST /api/v1/work/leases", &json!({"hosts": 1}));
        status == 409 && said["detail"].as_str().unwrap().contains("sent nothing")
    });
    crawl.lease(BOB);
    crawl.process.signal("TERM");
}

/// A lease reserves the address for all of its URLs. What a client gives back at once is free after one delay.
#[test]
fn a_host_that_is_given_back_at_once_does_not_rest_for_the_whole_lease() {
    let crawl = Crawl::start("work.prove_after: 1\nwork.verify_share: 0\n");
    crawl.has_alice_trusted();
    let data = crawl.place.data();
    let host = crawl.site.origin(1);
    run(&["host", &host, "delay", "4s", "-o", data.to_str().unwrap()]).ok();
    let lease = crawl.lease(ALICE);
    let given = urls(&lease).len();
    assert!(given > 5, "{lease}");
    let released = Instant::now();
    let path = format!("DELETE /api/v1/work/leases/{}", lease["lease"].as_str().unwrap());
    assert_eq!(crawl.said(ALICE, &path, &Value::Null).0, 200);
    assert_eq!(crawl.lease(BOB)["origin"], host);
    let rested = released.elapsed();
    assert!(rested < Duration::from_secs(4 * given as u64 / 2), "{given} URLs, {rested:?}");
    crawl.process.signal("TERM");
}

#[test]
fn a_client_that_brings_a_page_now_and_then_does_not_keep_its_host() {
    let crawl = Crawl::start("work.prove_after: 1\nwork.verify_share: 0\nwork.lease: 2s\n");
    crawl.has_alice_trusted();
    let lease = crawl.lease(ALICE);
    let given = urls(&lease);
    assert!(given.len() > 4, "{lease}");
    crawl.send(ALICE, &crawl.page(&lease, &given[0]));
    let renew = format!("POST /api/v1/work/leases/{}/renew", lease["lease"].as_str().unwrap());
    let (status, why) = crawl.said(ALICE, &renew, &json!({}));
    assert_eq!((status, why["detail"].as_str().unwrap().contains("a quarter")), (409, true), "{why}");
    for url in &given[1..given.len().div_ceil(4)] {
        crawl.send(ALICE, &crawl.page(&lease, url));
    }
    assert_eq!(crawl.said(ALICE, &renew, &json!({})).0, 200, "a quarter came back");
    assert_eq!(crawl.said(ALICE, &renew, &json!({})).0, 409, "nothing came back since");
    // The lease expires, and the client gets fewer hosts with fewer URLs each.
    let others = crawl.lease(BOB);
    assert_eq!(others["origin"], lease["origin"]);
    crate::support::program::eventually("it is counted", || crawl.client("alice")["lapsed"] == 1);
    for url in urls(&others) {
        crawl.send(BOB, &crawl.page(&others, &url));
    }
    let next = urls(&crawl.lease(ALICE)).len();
    assert!(next <= given.len() / 2, "{next} of {}", given.len());
    crawl.process.signal("TERM");
}

/// Requests whose bodies never arrive, and requests that wait for work.
#[test]
fn clients_that_wait_do_not_keep_health_checks_out() {
    let crawl = Crawl::start("");
    // Alice has all hosts.
    let _all = crawl.lease(ALICE);
    for body in ["", "{\"hosts\": 1, \"wait_ms\": 30000}"] {
        let length = body.len().max(10);
        let ask = || {
            let mut stream = TcpStream::connect(crawl.address).unwrap();
            let head = format!(
                "POST /api/v1/work/leases HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {BOB}\r\ncontent-type: application/json\r\n\
                 content-length: {length}\r\n\r\n{body}"
            );
            stream.write_all(head.as_bytes()).unwrap();
            stream
        };
        let waiting: Vec<TcpStream> = (0..300).map(|_| ask()).collect();
        let began = std::time::Instant::now();
        crate::support::program::eventually("its health is told", || {
            crate::support::program::get(crawl.address, "/healthz").is_some_and(|(status, _)| status == 200)
        });
        assert!(began.elapsed() < std::time::Duration::from_secs(15), "after {:?}", began.elapsed());
        drop(waiting);
    }
    crawl.process.signal("TERM");
}

/// Each request announces ten bytes and sends one.
#[test]
fn a_body_that_does_not_come_ends_its_request() {
    let crawl = Crawl::start("");
    let (alice, address) = (format!("authorization: Bearer {ALICE}\r\n"), crawl.address);
    let lease = crawl.lease(ALICE);
    let pages = format!("/api/v1/work/pages?lease={}", lease["lease"].as_str().unwrap());
    let begun: Vec<(&str, TcpStream)> = [
        ("/api/v1/orders", "application/json", ""),
        ("/api/v1/seeds", "text/uri-list", ""),
        ("/api/v1/work/leases", "application/json", &alice),
        (&pages, "application/warc", &alice),
    ]
    .into_iter()
    .map(|(path, content_type, token)| {
        let mut stream = TcpStream::connect(address).unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {address}\r\n{token}connection: close\r\ncontent-type: {content_type}\r\n\
             content-length: 10\r\n\r\n{{"
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        (path, stream)
    })
    .collect();
    for (path, mut stream) in begun {
        let mut answer = String::new();
        std::io::Read::read_to_string(&mut stream, &mut answer).expect(path);
        assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("did not come in time"), "{path}: {answer}");
    }
    crawl.process.signal("TERM");
}

#[test]
fn a_few_bytes_that_become_a_record_of_many_are_refused_in_little_memory() {
    // The eight uploads take longer than a lease does, in a debug build.
    let crawl = Crawl::start("work: {prove_after: 1, lease: 10m}\n");
    let lease = crawl.lease(ALICE);
    let bomb = bomb(&urls(&lease)[0]);
    assert!(bomb.len() < 1 << 20);
    let send = &|token: &str, fence: &str| {
        let mut stream = TcpStream::connect(crawl.address).unwrap();
        let head = format!(
            "POST /api/v1/work/pages?lease={fence} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\
             content-type: application/warc\r\ncontent-length: {}\r\n\r\n",
            bomb.len()
        );
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&bomb));
        let mut answer = String::new();
        let _ = std::io::Read::read_to_string(&mut stream, &mut answer);
        answer
    };
    let fence = lease["lease"].as_str().unwrap();
    let answer = send(BOB, fence);
    assert!(answer.contains("409") && answer.contains("no such lease"), "{answer}");
    // Two clients send four each at once, one of them without a lease.
    let uploads: Vec<(&str, String)> = std::thread::scope(|scope| {
        let senders = [ALICE, BOB].repeat(4).into_iter();
        let senders: Vec<_> = senders.map(|token| scope.spawn(move || (token, send(token, fence)))).collect();
        senders.into_iter().map(|sender| sender.join().unwrap()).collect()
    });
    for (token, answer) in &uploads {
        let is_refused = match *token {
            ALICE => answer.contains("longer (262144"),
            _ => answer.contains("no such lease"),
        };
        assert!(is_refused || answer.contains(" 503 "), "{uploads:?}");
    }
    let peak = crate::memory::peak_mib(&crawl.process).unwrap();
    assert!(peak < 256, "{peak} MiB");
    crawl.process.signal("TERM");
}

/// A WARC file with one record, 256 MB of blanks, in one gzip member.
fn bomb(url: &str) -> Vec<u8> {
    const BODY: usize = 250 << 20;
    let http = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n";
    let head = format!(
        "WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:0190c0de-0000-7000-8000-000000000000>\r\n\
         WARC-Date: 2026-01-01T00:00:00Z\r\nWARC-Target-URI: {url}\r\nContent-Type: application/http;msgtype=response\r\n\
         Content-Length: {}\r\n\r\n{http}",
        http.len() + BODY
    );
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    gzip.write_all(head.as_bytes()).unwrap();
    let blanks = vec![b' '; 1 << 20];
    (0..BODY >> 20).for_each(|_| gzip.write_all(&blanks).unwrap());
    gzip.write_all(b"\r\n\r\n").unwrap();
    gzip.finish().unwrap()
}

/// Until when the client of a lease may ask its host.
fn end_of(said: &Value) -> Instant {
    Instant::now() + Duration::from_millis(said["lasts_ms"].as_u64().unwrap())
}

/// Bob gets the host again, and not before `end`. Nor does the server ask it from `since` on.
#[track_caller]
fn is_left_alone(crawl: &Crawl, origin: &Value, since: Instant, end: Instant) {
    let again = crawl.lease(BOB);
    assert_eq!(again["origin"], *origin);
    assert!(end.saturating_duration_since(Instant::now()) < Duration::from_millis(100), "lent again too early");
    // Requests of this test itself have no user agent.
    let by_server = |visit: &Visit| visit.host == "127.0.0.12" && !visit.user_agent.is_empty();
    let too_soon = crawl.site.visits.all().into_iter().filter(by_server).filter(|it| it.at > since && it.at < end);
    assert_eq!(too_soon.count(), 0);
}

#[test]
fn a_renewal_holds_over_a_kill_right_behind_its_answer() {
    let crawl = Crawl::start("work.prove_after: 1\nwork.verify_share: 0\nwork.lease: 6s\n");
    crawl.has_alice_trusted();
    let lease = crawl.lease(ALICE);
    let first_end = end_of(&lease);
    let given = urls(&lease);
    for url in &given[..given.len().div_ceil(4)] {
        crawl.send(ALICE, &crawl.page(&lease, url));
    }
    // Late enough that the renewal is worth some seconds.
    eventually("half of its time is over", || first_end - Duration::from_secs(3) < Instant::now());
    let (status, renewed) =
        crawl.said(ALICE, &format!("POST /api/v1/work/leases/{}/renew", lease["lease"].as_str().unwrap()), &json!({}));
    assert_eq!(status, 200, "{renewed}");
    let end = end_of(&renewed);
    assert!(end > first_end + Duration::from_secs(2), "{renewed}");
    let Crawl { site, place, address, process } = crawl;
    assert!(process.kill());
    let killed = Instant::now();
    let crawl = Crawl { process: Crawl::process(&place, &site, address, false), site, place, address };
    crawl.refuses(ALICE, &crawl.page(&lease, &given[given.len() - 1]), "no such lease");
    is_left_alone(&crawl, &lease["origin"], killed, end);
    crawl.process.signal("TERM");
}

/// Pages of the second host fill the log, as nobody reads the crawl's output.
fn large_pages() -> Running {
    let answer = |ask: &Ask| match (ask.path(), ask.host == "127.0.0.11") {
        ("/robots.txt", _) => Answer::text("").status(404),
        ("/", true) => Answer::html("late").after(Duration::from_secs(600)),
        ("/", false) => {
            let pages: Vec<String> = (0..100).map(|page| format!("/{page}")).collect();
            Answer::html(links(&pages.iter().map(String::as_str).collect::<Vec<_>>()))
        }
        (path, _) => Answer::html(format!("<title>{path}</title>{}", path.repeat(8000))),
    };
    Running::start(2, std::sync::Arc::new(answer))
}

#[test]
fn a_host_whose_lease_a_full_log_ends_is_left_alone_until_the_clients_time_is_over() {
    let (site, address) = (large_pages(), SocketAddr::from(([127, 0, 0, 1], free_port())));
    let place = Place::with(&format!(
        "work.clients: \"alice:{ALICE} bob:{BOB}\"\nwork.prove_after: 1\nwork.verify_share: 0\nwork.lease: 15s\n\
         crawler_manager.downloader.header_timeout: 10m\ncrawler_manager.downloader.total_timeout: 10m\n\
         page_log.segment_size: 64KiB\npage_log.max_size: 128KiB\n"
    ));
    let seeds = [site.origin(0) + "/", site.origin(1) + "/"];
    let listen = address.to_string();
    let more = ["--delay", "0", "--concurrency", "1", "--stay", "--sink", "stdout", "--listen", &listen];
    let (process, mut out) = Process::start_unread(place.crawl(&seeds, &more));
    eventually("it can be asked", || get(address, "/healthz").is_some());
    let is_busy = |visit: &Visit| visit.path == "/" && visit.host == "127.0.0.11";
    eventually("the server is busy with its own host", || site.visits.all().iter().any(is_busy));
    let crawl = Crawl { site, place, address, process };
    crawl.has_alice_trusted();
    let lease = crawl.lease(ALICE);
    let end = end_of(&lease);
    let refused = urls(&lease).iter().find_map(|url| {
        let taken = crawl.send(ALICE, &crawl.page(&lease, url));
        taken["refused"][0]["why"].as_str().map(str::to_owned)
    });
    let refused = refused.expect("the log takes all of the lease");
    assert!(refused.contains("the page log accepts nothing now") || refused.contains("no such lease"), "{refused}");
    let ended = Instant::now();
    // Now somebody reads, and hosts are leased again.
    let reading = std::thread::spawn(move || std::io::copy(&mut out, &mut std::io::sink()).unwrap());
    let has_room = |metrics: &str| metrics.lines().any(|line| line == "seine_log_full 0");
    eventually("there is room", || get(address, "/metrics").is_some_and(|(_, metrics)| has_room(&metrics)));
    assert!(Instant::now() < end, "this machine is too slow for the test to tell anything");
    is_left_alone(&crawl, &lease["origin"], ended, end);
    crawl.process.signal("TERM");
    crawl.process.wait().ok();
    reading.join().unwrap();
}
