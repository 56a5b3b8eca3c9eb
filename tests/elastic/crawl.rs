//! The whole program with this sink.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};

use crate::closed_port;
use crate::node::{Node, wait_until};
use crate::support::{Final, Plan, TestSite};

fn site() -> TestSite {
    TestSite::start(Plan { pages: 60, hosts: 3, failing_every: 0, ..Plan::default() })
}

fn crawl(site: &TestSite, folder: &Path, server: &str, index: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seine"));
    command.args(["crawl", "--sink", "elasticsearch", "-e", index, "--delay", "0", "--allow-private", "--quiet"]);
    command.arg("-o").arg(folder).env("SEINE__TARGET_STORAGE__DATA_FORMAT__ELASTICSEARCH__REST__HOSTS", server);
    command.env("SEINE__CRAWLER_MANAGER__DOWNLOADER__REDIRECTS", "follow"); // a page for every URL
    for seed in site.seeds() {
        command.args(["--seed", &seed]);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("seine starts")
}

fn end_well(child: Child) {
    end_with(child, &[0]);
}

fn end_with(child: Child, statuses: &[i32]) {
    let output = child.wait_with_output().unwrap();
    let status = output.status.code().unwrap();
    assert!(statuses.contains(&status), "{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
}

/// Exactly the pages with a 2xx answer are documents.
fn check(node: &Node, site: &TestSite, index: &str) {
    let expected: BTreeSet<String> = site
        .oracle()
        .into_iter()
        .filter(|(_, state)| matches!(state, Final::Fetched | Final::Redirected(_)))
        .map(|(url, _)| url)
        .collect();
    assert_eq!(node.count_all(index), expected.len() as u64);
    let hits = node.get(&format!("/{index}/_search?size=1000&_source=url"));
    let found: BTreeSet<String> =
        hits["hits"]["hits"].as_array().unwrap().iter().map(|hit| hit["_id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(found, expected);
    assert_eq!(node.count(index, json!({ "exists": { "field": "redirectedUrl" } })), 6);
}

pub fn every_page_of_a_crawl_is_a_document(node: &Node) {
    let site = site();
    let folder = tempfile::tempdir().unwrap();
    end_well(crawl(&site, folder.path(), &node.url, "crawled"));
    check(node, &site, "crawled");

    // `seine why` reports the index and version that the server has.
    let said = |seeds: &[String]| -> Vec<Value> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_seine"));
        let output = command.args(["why", "--json", "-o"]).arg(folder.path()).args(seeds).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let seeds = site.seeds();
    for (seed, said) in seeds.iter().zip(said(&seeds)) {
        let document = node.document("crawled", seed);
        let expected = json!({
            "kind": "document", "index": document["_index"], "id": document["_id"], "version": document["_version"]
        });
        assert_eq!(said["sinks"][0]["location"], expected, "{said}");
    }
    // A server that does not answer is not waited for.
    node.signal("STOP");
    let asked = Instant::now();
    let hung = said(&seeds[..1]);
    let took = asked.elapsed();
    node.signal("CONT");
    let (sink, state) = (&hung[0]["sinks"][0], &hung[0]["state"]);
    assert!(took < Duration::from_secs(10) && state == "live" && sink["state"] == "delivered", "{took:?} {hung:?}");
    assert!(sink["location"].is_null() && !sink["location_unknown"].as_str().unwrap().is_empty(), "{sink}");

    // The audit uses the configuration that the crawl was started with.
    let mut command = Command::new(env!("CARGO_BIN_EXE_seine"));
    let audited = command.args(["audit", "--destinations", "--json"]).arg(folder.path()).output().unwrap();
    let said = String::from_utf8_lossy(&audited.stdout);
    assert!(audited.status.success() && said.contains("at elasticsearch"), "{audited:?}");

    let balanced = audit(folder.path(), &node.url, "crawled");
    assert!(balanced.status.success(), "{}", String::from_utf8_lossy(&balanced.stderr));
    let id = percent_encoding::utf8_percent_encode(&site.seeds()[0], percent_encoding::NON_ALPHANUMERIC).to_string();
    assert_eq!(node.ask(Method::DELETE, &format!("/crawled/_doc/{id}"), None).0, 200);
    let missed = audit(folder.path(), &node.url, "crawled");
    let said = String::from_utf8_lossy(&missed.stderr);
    assert!(missed.status.code() == Some(1) && said.contains("at elasticsearch is off by 1 "), "{said}");
}

fn audit(folder: &Path, server: &str, index: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seine"));
    command.args(["audit", "--destinations"]).arg(folder);
    let keys = [("DATA_FORMATS", "ELASTICSEARCH"), (SERVER, server), ("DATA_FORMAT__ELASTICSEARCH__INDEX_NAME", index)];
    command.envs(keys.map(|(key, value)| (format!("SEINE__TARGET_STORAGE__{key}"), value)));
    command.output().expect("seine starts")
}

const SERVER: &str = "DATA_FORMAT__ELASTICSEARCH__REST__HOSTS";

pub fn a_crawl_ends_without_its_server_and_goes_on_with_it(node: &Node) {
    let site = site();
    let folder = tempfile::tempdir().unwrap();
    let child = crawl(&site, folder.path(), &closed_port(), "later");
    wait_until("the site is fetched", || site.visited_urls().len() >= 60);
    let told = Instant::now();
    let signalled = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(signalled.success());
    end_with(child, &[5, 6]); // not delivered, or stopped before it was known that nothing is left to fetch
    assert!(told.elapsed() < Duration::from_secs(20), "{:?}", told.elapsed());
    end_well(crawl(&site, folder.path(), &node.url, "later"));
    check(node, &site, "later");
}
