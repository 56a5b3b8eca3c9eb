//! The client in docs/clients, as others would write it, works for a crawl.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::server::{Answer, Ask};

use crate::support::program::{Place, Process, eventually, free_port, get};
use crate::support::{Running, links};
use crate::{installed, project_file};

const TOKEN: &str = "0123456789abcdef-python";

#[test]
fn the_python_client_fetches_for_a_crawl() {
    let paths: Vec<String> = (0..12).map(|page| format!("/{page}")).chain(["/a?b=c&d=%20".to_owned()]).collect();
    let linked = paths.clone();
    // The first host keeps the crawl's only worker busy, so that the client gets the second host.
    let answer = move |ask: &Ask| match (ask.path(), ask.host == "127.0.0.11") {
        ("/robots.txt", _) => Answer::text("").status(404),
        ("/", true) => Answer::html("late").after(Duration::from_secs(600)),
        ("/", false) => Answer::html(links(&linked.iter().map(String::as_str).collect::<Vec<_>>())),
        (path, _) => Answer::html(format!("<title>{path}</title><p>A page of its own: {path}</p>")),
    };
    let site = Running::start(2, std::sync::Arc::new(answer));
    let place = Place::with(&format!(
        "work.clients: python:{TOKEN}\nwork.prove_after: 1\nwork.verify_share: 0\ncrawler_manager.downloader.header_timeout: 10m\n\
         crawler_manager.downloader.total_timeout: 10m\n"
    ));
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let more = ["--delay", "0", "--concurrency", "1", "--stay", "--listen", &address.to_string()];
    let process = Process::start(place.crawl(&[site.origin(0) + "/", site.origin(1) + "/"], &more));
    eventually("the crawl is busy with its own host", || {
        site.visits.all().iter().any(|visit| visit.path == "/" && visit.address == site.addresses[0])
    });
    eventually("it can be asked", || get(address, "/healthz").is_some());
    let mut python = Command::new(installed("scripts/services/python", "install"));
    python.arg(project_file("docs/clients/client.py")).arg(format!("http://{address}"));
    let mut client = python.env("SEINE_WORK_TOKEN", TOKEN).stdout(Stdio::null()).spawn().unwrap();
    let wanted: BTreeSet<String> =
        paths.iter().map(|path| site.origin(1) + path).chain([site.origin(1) + "/"]).collect();
    let of_client = |what: &str| -> u64 {
        let (_, clients) = get(address, "/api/v1/clients").unwrap();
        let clients: serde_json::Value = serde_json::from_str(&clients).unwrap();
        clients[0][what].as_u64().unwrap()
    };
    eventually("all of the site has come", || of_client("accepted") + of_client("refetched") >= wanted.len() as u64);
    eventually("all of it is delivered", || place.kept().into_keys().collect::<BTreeSet<_>>() == wanted);
    assert!(of_client("accepted") >= 8, "{}", of_client("accepted"));
    client.kill().unwrap();
    client.wait().unwrap();
    process.signal("TERM");
}
