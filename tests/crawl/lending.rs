//! Lent hosts, while the operator, other clients or the server's end interfere.

use std::io::Write;
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::api::ask;
use crate::clients::{ALICE, BOB, Crawl, urls};
use crate::support::program::run;

#[test]
fn a_host_that_is_blocked_or_forgotten_is_not_lent_any_longer() {
    let crawl = Crawl::start("work.prove_after: 1\nwork.verify_share: 0\n");
    let root = crawl.lease(ALICE);
    crawl.send(ALICE, &crawl.page(&root, &urls(&root)[0]));
    let data = crawl.place.data();
    let data = data.to_str().unwrap();
    let lease = crawl.lease(ALICE);
    let host = lease["origin"].as_str().unwrap();
    let first = crawl.page(&lease, &urls(&lease)[0]);
    assert_eq!(crawl.send(ALICE, &first)["accepted"], 1);
    // Neither waits for the end of the lease, which is a minute away.
    run(&["host", host, "block", "-o", data]).ok();
    let second = crawl.page(&lease, &urls(&lease)[1]);
    crawl.refuses(ALICE, &second, "no lease of this client");
    let said = run(&["forget", "--host", host, "-o", data]).ok().stdout;
    assert!(!said.contains("left"), "{said}");
    crawl.refuses(ALICE, &second, "no lease of this client");
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
        status == 409 && refusal.as_str().unwrap().contains("nothing back")
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
    crawl.refuses(BOB, &none, "no lease of this client");
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
        status == 409 && said["detail"].as_str().unwrap().contains("nothing back")
    });
    crawl.lease(BOB);
    crawl.process.signal("TERM");
}

#[test]
fn a_client_that_brings_a_page_now_and_then_does_not_keep_its_host() {
    let crawl = Crawl::start("work.prove_after: 1\nwork.verify_share: 0\nwork.lease: 2s\n");
    let root = crawl.lease(ALICE);
    crawl.send(ALICE, &crawl.page(&root, &urls(&root)[0]));
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

#[test]
fn a_few_bytes_that_become_a_record_of_many_are_refused_in_little_memory() {
    let crawl = Crawl::start("work.prove_after: 1\n");
    let lease = crawl.lease(ALICE);
    let bomb = bomb(&urls(&lease)[0]);
    assert!(bomb.len() < 1 << 20);
    let send = |token: &str, fence: &str| {
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
    assert!(answer.contains("409") && answer.contains("no lease of this client"), "{answer}");
    let senders: Vec<String> = std::thread::scope(|scope| {
        let senders: Vec<_> = (0..4).map(|_| scope.spawn(|| send(ALICE, fence))).collect();
        senders.into_iter().map(|sender| sender.join().unwrap()).collect()
    });
    assert!(senders.iter().all(|answer| answer.contains("longer (262144") || answer.contains(" 503 ")), "{senders:?}");
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
