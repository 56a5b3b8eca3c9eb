//! Feeds: read again and again; each article is fetched and stored once, below its feed.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

use seine_formats::pagestore::{MetaReader, PageKind};

use crate::support::server::Answer;

use crate::support::program::{Place, Process, eventually};
use crate::support::{Running, links};

/// Each time the feed has one more article, and lists the previous one again.
fn site() -> Running {
    let scans = Mutex::new(0);
    Running::start_with(1, |_| {
        std::sync::Arc::new(move |ask| match ask.path() {
            "/" => Answer::html(links(&["/feed", "/page"])),
            "/feed" => {
                let mut scans = scans.lock().unwrap();
                *scans += 1;
                let item = |number: u32| format!("<item><link>/article/{number}</link></item>");
                let feed = format!(
                    "<rss><channel><language>cs</language>{}{}</channel></rss>",
                    item(*scans),
                    item(*scans + 1)
                );
                Answer::new(200, feed).header("content-type", "application/rss+xml")
            }
            path => Answer::html(format!("<html lang=en>{path}")),
        })
    })
}

/// Paths of the URLs listed in any `META`, by kind, and how often.
fn listed(store: &Path) -> BTreeMap<(&'static str, String), usize> {
    let mut found = BTreeMap::new();
    for file in walkdir::WalkDir::new(store).into_iter().flatten().filter(|it| it.file_name() == "META") {
        for entry in MetaReader::new(std::fs::File::open(file.path()).unwrap()).flatten() {
            let path = entry.url.splitn(4, '/').nth(3).unwrap().to_owned();
            *found.entry((entry.details.unwrap().kind.name(), path)).or_default() += 1;
        }
    }
    found
}

#[test]
fn every_scan_of_a_feed_stores_the_articles_that_are_new() {
    let site = site();
    let place = Place::with("target_storage.data_formats: [PAGESTORE]\nlink_storage.recrawl.interval: 1s");
    let process = Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0", "--stay"]));
    let store = place.data().join("pagestore");
    let article = |number: u32| (PageKind::RssItem.name(), format!("article/{number}"));
    eventually("the articles of three scans", || store.exists() && listed(&store).contains_key(&article(4)));
    process.signal("TERM");
    process.wait().ok();
    let listed = listed(&store);
    for number in 1..=4 {
        assert_eq!(listed.get(&article(number)), Some(&1), "{listed:?}");
    }
    let kinds: Vec<_> =
        listed.keys().map(|(kind, path)| (*kind, path.as_str())).filter(|(kind, _)| *kind != "rssitem").collect();
    assert_eq!(kinds, [("rss", "feed"), ("url", ""), ("url", "page")]);
}
