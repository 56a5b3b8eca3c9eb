//! This machine's own trouble: name servers or the network away. Nobody pays for it, and it goes on by itself.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::dns::{NameServer, Say};
use crate::support::program::{Place, Process, eventually, free_port, get};

const HOSTS: u8 = 8;

fn address(host: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 7, host + 1)
}

/// Answers everything with a small page, on every host's address; ends with the test's process.
fn serve(port: u16) {
    for host in 0..HOSTS {
        let listener = TcpListener::bind((address(host), port)).expect("loopback has addresses");
        std::thread::spawn(move || listener.incoming().flatten().for_each(answer));
    }
}

fn answer(mut stream: TcpStream) {
    let mut asked = Vec::new();
    let mut piece = [0; 1024];
    while !asked.ends_with(b"\r\n\r\n") {
        match stream.read(&mut piece) {
            Ok(length) if length > 0 => asked.extend(&piece[..length]),
            _ => return,
        }
    }
    let (status, body) = match asked.starts_with(b"GET /robots.txt") || asked.starts_with(b"GET /sitemap.xml") {
        true => ("404 Not Found", ""),
        false => ("200 OK", "<p>There again"),
    };
    let length = body.len();
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\ncontent-type: text/html\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    );
}

/// Crawls while `part` is away, sees that it is said everywhere, brings it back, and looks at what came of it.
fn goes_on_by_itself(part: &str, said: &str, settings: &str, port: u16, come_back: impl FnOnce()) {
    let place = Place::with(&format!("logging.filter: warn,seine=info\n{settings}"));
    let seeds: Vec<String> = (0..HOSTS).map(|host| format!("http://h{host}.example:{port}/")).collect();
    let watched = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let mut process = Process::start(place.crawl(&seeds, &["--delay", "1", "--listen", &watched.to_string()]));
    eventually("it is said that it is not ready", || {
        get(watched, "/readyz").is_some_and(|(status, why)| status == 503 && why.contains(said))
    });
    let (_, metrics) = get(watched, "/metrics").expect("metrics");
    let gauge = format!("seine_machine_away{{part=\"{part}\"}} 1");
    assert!(metrics.lines().any(|line| line == gauge), "{metrics}");
    // Nobody is given up meanwhile: a few more probes go out, and everything is still there.
    assert!(metrics.contains(&format!("seine_frontier_urls{{state=\"work_proposed\"}} {HOSTS}")), "{metrics}");
    assert!(!process.has_ended());
    come_back();
    let ran = process.wait().ok();
    assert_eq!(place.kept().len(), usize::from(HOSTS), "{}", ran.stderr);
    assert_eq!(place.stats()["frontier"]["failed"], 0, "{}", place.stats());
    for word in [format!("{said} away: fetching pauses"), format!("{said} back")] {
        assert!(ran.stderr.contains(&word), "{word:?} is not in:\n{}", ran.stderr);
    }
}

#[test]
fn name_servers_that_are_away_cost_neither_urls_nor_hosts() {
    let port = free_port();
    serve(port);
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
    goes_on_by_itself("resolver", "the name servers are", &settings, port, || {
        is_back.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_network_that_is_away_costs_neither_urls_nor_hosts() {
    let port = free_port();
    let hosts: Vec<String> = (0..HOSTS).map(|host| format!("h{host}.example: {}", address(host))).collect();
    let settings = format!("crawler_manager.downloader.static_hosts: {{{}}}\n", hosts.join(", "));
    goes_on_by_itself("network", "the network is", &settings, port, || serve(port));
}
