//! Outages of this machine: no name servers or no network. No URL or host is blamed, and the crawl continues by itself.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::namespace::{self, ip};
use crate::support::dns::{NameServer, Say};
use crate::support::program::{Place, Process, eventually, free_port, get};

const HOSTS: u8 = 8;

fn address(host: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 7, host + 1)
}

/// Listens on every host's address without answering.
fn listen(port: u16) -> Vec<TcpListener> {
    (0..HOSTS).map(|host| TcpListener::bind((address(host), port)).expect("loopback has addresses")).collect()
}

/// Answers from now on, until the test's process ends.
fn serve(listener: TcpListener, answer: fn(&str) -> String) {
    std::thread::spawn(move || listener.incoming().flatten().for_each(|stream| talk(stream, answer)));
}

fn talk(mut stream: TcpStream, answer: fn(&str) -> String) {
    let mut asked = Vec::new();
    let mut piece = [0; 1024];
    while !asked.ends_with(b"\r\n\r\n") {
        match stream.read(&mut piece) {
            Ok(length) if length > 0 => asked.extend(&piece[..length]),
            _ => return,
        }
    }
    let asked = String::from_utf8_lossy(&asked);
    let path = asked.split(' ').nth(1).unwrap_or_default();
    let _ = stream.write_all(answer(path).as_bytes());
}

/// A small page for every path.
fn a_page(path: &str) -> String {
    let (status, body) = match path {
        "/robots.txt" | "/sitemap.xml" => ("404 Not Found", ""),
        _ => ("200 OK", "<p>There again"),
    };
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/html\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

/// One attempt only: a URL that is blamed is lost.
const SETTINGS: &str = "logging.filter: warn,seine=info\ncrawler_manager.downloader.max_retry_count: 0\n";

/// Crawls while `part` is down, checks that this is reported everywhere, repairs it, and checks the result.
fn goes_on_by_itself(part: &str, said: &str, settings: &str, seeds: &[String], come_back: impl FnOnce()) {
    let place = Place::with(&format!("{SETTINGS}{settings}"));
    let watched = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let mut process = Process::start(place.crawl(seeds, &["--delay", "1", "--listen", &watched.to_string()]));
    eventually("it is said that it is not ready", || {
        get(watched, "/readyz").is_some_and(|(status, why)| status == 503 && why.contains(said))
    });
    let (_, metrics) = get(watched, "/metrics").expect("metrics");
    let gauge = format!("seine_machine_away{{part=\"{part}\"}} 1");
    assert!(metrics.lines().any(|line| line == gauge), "{metrics}");
    // Nothing is given up meanwhile: a few more probes are sent, and every URL is still there.
    let waiting = format!("seine_frontier_work_proposed_urls {}", seeds.len());
    assert!(metrics.contains(&waiting), "{metrics}");
    assert!(!process.has_ended());
    come_back();
    let ran = process.wait().ok();
    assert_eq!(place.kept().len(), seeds.len(), "{}", ran.stderr);
    assert_eq!(place.stats()["frontier"]["failed"], 0, "{}", place.stats());
    for word in [format!("{said} away: fetching pauses"), format!("{said} back")] {
        assert!(ran.stderr.contains(&word), "{word:?} is not in:\n{}", ran.stderr);
    }
}

fn named(port: u16) -> Vec<String> {
    (0..HOSTS).map(|host| format!("http://h{host}.example:{port}/")).collect()
}

#[test]
fn name_servers_that_are_away_cost_neither_urls_nor_hosts() {
    let port = free_port();
    listen(port).into_iter().for_each(|listener| serve(listener, a_page));
    let is_back = Arc::new(AtomicBool::new(false));
    let seen = is_back.clone();
    let server = NameServer::start(move |name| {
        let host = name.strip_prefix('h').and_then(|rest| rest.strip_suffix(".example")?.parse().ok());
        match (seen.load(Ordering::Relaxed), host) {
            (false, _) => Say::Failure,
            (true, Some(host)) => Say::Address(address(host).into()),
            (true, None) => Say::NoSuchName,
        }
    });
    let settings = format!("crawler_manager.downloader.dns.servers: [\"{}\"]\n", server.address);
    goes_on_by_itself("resolver", "the name servers are", &settings, &named(port), || {
        is_back.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_network_in_which_nobody_answers_costs_neither_urls_nor_hosts() {
    let port = free_port();
    let silent = listen(port);
    let hosts: Vec<String> = (0..HOSTS).map(|host| format!("h{host}.example: {}", address(host))).collect();
    let settings = format!(
        "crawler_manager.downloader.static_hosts: {{{}}}\ncrawler_manager.downloader.header_timeout: 300ms\n",
        hosts.join(", ")
    );
    goes_on_by_itself("network", "the network is", &settings, &named(port), || {
        silent.into_iter().for_each(|listener| serve(listener, a_page));
    });
}

/// A crawl of one host has no others to compare with. When it falls silent, the name servers are asked.
#[test]
fn a_crawl_of_one_host_notices_that_the_network_is_away() {
    let port = free_port();
    let listener = TcpListener::bind((address(0), port)).expect("loopback has addresses");
    let [is_away, is_back] = [false, false].map(|is| Arc::new(AtomicBool::new(is)));
    let (falls_silent, answers) = (is_away.clone(), is_back.clone());
    std::thread::spawn(move || {
        let mut silent = Vec::new();
        for stream in listener.incoming().flatten() {
            if answers.load(Ordering::Relaxed) {
                talk(stream, a_page);
            } else {
                falls_silent.store(true, Ordering::Relaxed);
                silent.push(stream);
            }
        }
    });
    let seen = is_back.clone();
    let server =
        NameServer::start(move |name| match (name, is_away.load(Ordering::Relaxed) && !seen.load(Ordering::Relaxed)) {
            (_, true) => Say::Failure,
            ("h0.example", false) => Say::Address(address(0).into()),
            (_, false) => Say::NoSuchName,
        });
    let settings = format!(
        "crawler_manager.downloader.dns.servers: [\"{}\"]\ncrawler_manager.downloader.header_timeout: 300ms\n\
         link_storage.scheduler.backoff_base: 11s\n",
        server.address
    );
    goes_on_by_itself("network", "the network is", &settings, &named(port)[..1], || {
        is_back.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_network_without_a_way_out_costs_neither_urls_nor_hosts() {
    namespace::run("outage::no_way_out");
}

/// Addresses without a route (ENETUNREACH), and some that are unreachable (EHOSTUNREACH).
#[test]
#[ignore = "started by another test"]
fn no_way_out() {
    if !namespace::is_here() {
        return;
    }
    ip("route add unreachable 203.0.113.128/25");
    let addresses: Vec<Ipv4Addr> =
        (0..HOSTS).map(|host| Ipv4Addr::new(203, 0, 113, host + if host % 2 == 0 { 1 } else { 128 })).collect();
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).expect("there are ports");
    let port = listener.local_addr().expect("it is bound").port();
    serve(listener, a_page);
    let seeds: Vec<String> = addresses.iter().map(|address| format!("http://{address}:{port}/")).collect();
    goes_on_by_itself("network", "the network is", "", &seeds, || {
        addresses.iter().for_each(|address| ip(&format!("addr add {address}/32 dev lo")));
    });
    namespace::done();
}

#[test]
fn a_robots_txt_that_is_refused_for_good_is_no_trouble_of_its_host() {
    namespace::run("outage::robots_at_a_private_address");
}

/// The host's only page fails, so robots.txt is requested to see whether the host is down: it answers.
#[test]
#[ignore = "started by another test"]
fn robots_at_a_private_address() {
    if !namespace::is_here() {
        return;
    }
    ip("addr add 198.20.0.1/32 dev lo");
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).expect("there are ports");
    let port = listener.local_addr().expect("it is bound").port();
    serve(listener, |path| {
        let head = match path {
            "/robots.txt" => "302 Found\r\nlocation: http://127.0.0.1/robots.txt",
            _ => "500 Internal Server Error",
        };
        format!("HTTP/1.1 {head}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
    });
    let place = Place::with(&format!(
        "{SETTINGS}crawler_manager.downloader.allow_private_addresses: false\n\
         link_storage.disallow_sites_in_robots_file: false\n"
    ));
    let seed = format!("http://198.20.0.1:{port}/");
    let ran = Process::start(place.crawl(std::slice::from_ref(&seed), &["--delay", "0"])).wait().exits(3);
    assert!(ran.stderr.contains(&format!("the seed {seed} failed: answered with status 500")), "{}", ran.stderr);
    assert_eq!(place.stats()["remaining"], 0);
    namespace::done();
}
