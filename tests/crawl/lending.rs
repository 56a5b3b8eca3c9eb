//! Hosts that are lent, while their operator, other clients and the server's end come between.

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
    // Neither waits for the lease's end, which is a minute away.
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
