//! An index that was recreated is filled from an archive while the crawl continues.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::support::server::{Answer, Ask};
use serde_json::Value;

use crate::node::{Node, wait_until};
use crate::support::program::{Place, Process, command};
use crate::support::{Running, links};

const PAGES: u64 = 60;

/// Odd pages change with `version`; even ones never do, and answer conditional requests with 304.
fn site(version: &Arc<AtomicU64>) -> Running {
    let version = version.clone();
    Running::start(
        1,
        Arc::new(move |ask: &Ask| {
            let paths: Vec<String> = (0..PAGES).map(|page| format!("/{page}")).collect();
            let all = || links(&paths.iter().map(String::as_str).collect::<Vec<_>>());
            match ask.path()[1..].parse::<u64>() {
                Ok(page) if page % 2 == 1 => {
                    Answer::html(format!("<title>{page} at {}</title>", version.load(Ordering::SeqCst)))
                }
                Ok(_) if ask.header("if-none-match").is_some() => Answer::new(304, ""),
                Ok(page) => Answer::html(format!("<title>{page} as ever</title>")).header("etag", "\"1\""),
                Err(_) if ask.path() == "/" => Answer::html(all()),
                Err(_) => Answer::text("").status(404),
            }
        }),
    )
}

/// Title and event of every numbered page in the index.
fn held(node: &Node, index: &str) -> BTreeMap<u64, (String, String)> {
    node.ask(reqwest::Method::POST, &format!("/{index}/_refresh"), None);
    let (_, found) =
        node.ask(reqwest::Method::GET, &format!("/{index}/_search?size=1000&_source=url,title,eventId"), None);
    let hits = found["hits"]["hits"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let page = |hit: &Value| {
        let document = &hit["_source"];
        let number = text(&document["url"]).rsplit('/').next()?.parse().ok()?;
        Some((number, (text(&document["title"]), text(&document["eventId"]))))
    };
    hits.iter().filter_map(page).collect()
}

pub fn an_index_is_filled_from_an_archive_beside_the_crawl(node: &Node) {
    let version = Arc::new(AtomicU64::new(1));
    let site = site(&version);
    let elastic = "target_storage.data_format.elasticsearch";
    let settings = |index: &str| {
        format!(
            "target_storage.data_formats: [WARC, ELASTICSEARCH]\n{elastic}.rest.hosts: ['{}']\n\
             {elastic}.index_name: {index}\n{elastic}.flush_interval: 200ms\n",
            node.url
        )
    };
    let place = Place::with(&settings("before"));
    let seeds = [site.origin(0) + "/"];
    Process::start(place.crawl(&seeds, &["--delay", "0"])).wait().ok();
    let before = held(node, "before");
    assert_eq!(before.len() as u64, PAGES);

    // The crawl continues into a new index, and finds changed pages; the archive provides the rest.
    version.store(2, Ordering::SeqCst);
    let base = std::fs::read_to_string(place.config()).unwrap().replace("index_name: before", "index_name: after");
    std::fs::write(place.config(), base + "link_storage.recrawl: {interval: 1s, min_interval: 1s}\n").unwrap();
    let crawl = Process::start(place.crawl(&seeds, &["--delay", "0", "--stay"]));
    wait_until("a page that has changed is in the new index", || !held(node, "after").is_empty());
    let config = settings("after") + "crawler_manager.downloader.user_agent.name: Replay\n";
    let config = place.write("replay.yml", config);
    let mut replay = command(&["replay", "--to", "elasticsearch", "--rate", "300", "-c"]);
    replay.arg(config).arg("-o").arg(place.data().with_file_name("replay")).arg(place.data().join("warc"));
    let replay = Process::start(replay);
    version.store(3, Ordering::SeqCst);
    replay.wait().ok();
    let asked = site.visits.len();
    wait_until("the crawl goes on", || site.visits.len() > asked + PAGES as usize);
    let newest = |page: u64| if page % 2 == 1 { format!("{page} at 3") } else { format!("{page} as ever") };
    wait_until("every page is there as it is", || {
        let after = held(node, "after");
        after.len() as u64 == PAGES && after.iter().all(|(page, (title, _))| *title == newest(*page))
    });
    crawl.signal("TERM");
    crawl.wait().ok();
    let after = held(node, "after");
    assert_eq!(after.len() as u64, PAGES);
    for (page, (title, event)) in &after {
        assert_eq!(*title, newest(*page));
        // A page from the archive keeps its original event.
        assert!(page % 2 == 1 || *event == before[page].1, "page {page} has another event");
    }
    assert!(site.visits.all().iter().all(|visit| !visit.user_agent.contains("Replay")), "a replay asks for nothing");
}
