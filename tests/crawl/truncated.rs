//! Cut pages: a cut body is never final for a URL, and never replaces a complete page.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::program::{Place, Process, cat, eventually, run};
use crate::support::server::{Answer, Ask, Body};
use crate::support::{Running, counted, links};

fn whole(path: &str) -> String {
    format!("<title>{path}</title><p>The whole page {path}</p>{}", " ".repeat(500))
}

/// The beginning of a page, and its validators.
fn half(page: &str) -> Answer {
    let (bytes, announced) = (page[..page.len() / 2].to_owned().into(), page.len() as u64);
    Answer::html("").header("etag", "\"half\"").body(Body::Cut { bytes, announced })
}

/// A front page with links to other pages, whose bodies are cut for a time after the first request.
fn breaking(others: usize, time: Duration) -> Running {
    let began = OnceLock::new();
    let paths: Vec<String> = (1..=others).map(|number| format!("/{number}")).collect();
    let start = links(&paths.iter().map(String::as_str).collect::<Vec<_>>());
    Running::start_with(1, |_| {
        Arc::new(move |ask: &Ask| match ask.path() {
            "/robots.txt" | "/sitemap.xml" => Answer::text("").status(404),
            path => {
                if path == "/" {
                    return Answer::html(start.clone());
                }
                let is_over = began.get_or_init(Instant::now).elapsed() > time;
                if is_over { Answer::html(whole(path)) } else { half(&whole(path)) }
            }
        })
    })
}

/// Several cut bodies in a row count as the host's failure: its URLs wait and no attempt is counted.
#[test]
fn a_host_whose_bodies_break_off_for_a_while_has_all_its_pages_whole() {
    let site = breaking(12, Duration::from_secs(1));
    let place =
        Place::with("crawler_manager.downloader.max_retry_count: 1\nlink_storage.scheduler.backoff_base: 200ms\n");
    Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0"])).wait().ok();
    let stats = place.stats();
    assert_eq!((&stats["frontier"]["live"], &stats["frontier"]["truncated"]), (&13.into(), &0.into()), "{stats}");
    let pages = place.cat();
    assert_eq!(pages.len(), 13);
    assert!(pages.iter().all(|page| page["truncated"].is_null()), "{pages:?}");
}

/// If a host always cuts bodies (with a wrong length, for example), the crawl does not wait for ever.
#[test]
fn a_host_whose_bodies_always_break_off_is_delivered_as_half_pages() {
    let site = breaking(12, Duration::MAX);
    let place =
        Place::with("crawler_manager.downloader.max_retry_count: 1\nlink_storage.scheduler.backoff_base: 50ms\n");
    let ran = Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0"])).wait().ok();
    let stats = place.stats();
    assert_eq!((&stats["frontier"]["live"], &stats["frontier"]["truncated"]), (&13.into(), &12.into()), "{stats}");
    let line = ran.stderr.lines().find(|line| line.trim_start().starts_with("truncated")).unwrap_or_default();
    assert!(line.contains("12") && line.contains("--reason cut"), "{}", ran.stderr);
    assert!(ran.stderr.lines().any(|line| line.trim_start().starts_with("cut ")), "{}", ran.stderr);
    run(&["audit".as_ref(), place.data().as_os_str()]).ok();
}

fn why(place: &Place, url: &str) -> Value {
    run(&["why", "--json", "-o", place.data().to_str().unwrap(), url]).ok().json_lines().remove(0)
}

/// It can be searched for, is marked where it is delivered, and is fetched again until it is complete.
#[test]
fn a_half_page_is_marked_and_fetched_again() {
    let is_mended = Arc::new(AtomicBool::new(false));
    let mended = is_mended.clone();
    let site = Running::start(
        1,
        Arc::new(move |ask: &Ask| match ask.path() {
            "/" => Answer::html(links(&["/page"])),
            "/page" if mended.load(Ordering::SeqCst) => Answer::html(whole("/page")),
            "/page" => half(&whole("/page")),
            _ => Answer::text("").status(404),
        }),
    );
    let place = Place::with(
        "crawler_manager.downloader.max_retry_count: 0\n\
         target_storage.sinks: [{name: files, format: FILES}, {name: elastic, format: ELASTIC}, {name: cdr, format: CDR31}, \
         {name: warc, format: WARC}]\n",
    );
    let crawl = || Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0"])).wait().ok();
    crawl();
    let page = site.origin(0) + "/page";
    let said = why(&place, &page);
    assert!(said["reason"].as_str().unwrap().contains("truncated"), "{said}");
    let (due, fetched) = (said["queue"]["due_ms"].as_u64().unwrap(), said["page"]["fetched_ms"].as_u64().unwrap());
    assert_eq!(due - fetched, 3_600_000, "it is fetched again in an hour though pages are not rechecked");
    let marks = |sink: &str| {
        let pages = cat(&place.data().join(sink)).into_iter().filter(|it| it["url"] == page.as_str());
        pages.map(|page| page["truncated"].clone()).collect::<Vec<_>>()
    };
    for sink in ["files", "elastic", "cdr", "warc"] {
        assert_eq!(marks(sink), [Value::from("disconnect")], "{sink}");
    }

    let data = place.data().display().to_string();
    let retry = |more: &[&str]| run(&[&["retry", "-o", &data, "--reason", "cut"], more].concat()).ok().stdout;
    assert!(retry(&["--dry-run"]).contains("1 would be retried"));
    is_mended.store(true, Ordering::SeqCst);
    retry(&[]);
    crawl();
    let said = why(&place, &page);
    assert!(!said["reason"].as_str().unwrap().contains("half"), "{said}");
    assert!(retry(&["--dry-run"]).contains("Nothing"));
    for sink in ["files", "elastic", "cdr", "warc"] {
        assert_eq!(marks(sink), [Value::from("disconnect"), Value::Null], "{sink}");
    }
}

/// The files of a folder by name, with their content.
fn files_below(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => files.extend(files_below(&path)),
            path => files.push((path.display().to_string(), std::fs::read(&path).unwrap())),
        }
    }
    files.sort();
    files
}

/// The old page stays at every destination, whatever these do with pages that are gone. The cut page's ETag is never
/// sent.
#[test]
fn a_half_never_takes_the_place_of_a_whole_page() {
    let answers = Arc::new(std::sync::Mutex::new(Vec::new()));
    let noted = answers.clone();
    let site = Running::start(
        1,
        counted(move |ask, times| match (ask.path(), times) {
            ("/page", times) => {
                noted.lock().unwrap().push(ask.header("if-none-match").map(str::to_owned));
                match times {
                    1 => Answer::html(whole("/page")).header("etag", "\"whole\""),
                    2..=5 => half(&whole("/another version")),
                    _ => Answer::new(304, "").header("etag", "\"whole\""),
                }
            }
            ("/", _) => Answer::html(links(&["/page"])),
            _ => Answer::text("").status(404),
        }),
    );
    let place = Place::with(
        "crawler_manager.downloader.max_retry_count: 1\nlink_storage.scheduler.backoff_base: 20ms\n\
         link_storage.recrawl: {interval: 100ms, min_interval: 50ms, max_interval: 200ms}\n\
         target_storage.data_formats: [FILES, FILESYSTEM_JSON, PAGESTORE, CDR31, ELASTIC]\n",
    );
    let process = Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0", "--stay"]));
    eventually("the page has broken off and is whole again", || answers.lock().unwrap().len() > 7);
    process.signal("TERM");
    process.wait().ok();
    let asked = answers.lock().unwrap();
    assert_eq!(
        (&asked[0], asked[1..].iter().all(|tag| tag.as_deref() == Some("\"whole\""))),
        (&None, true),
        "{asked:?}"
    );
    for sink in ["files", "cdr31", "elastic"] {
        let pages =
            cat(&place.data().join(sink)).into_iter().filter(|it| it["url"].as_str().unwrap().ends_with("/page"));
        let contents: Vec<Value> = pages.map(|page| page["truncated"].clone()).collect();
        assert_eq!(contents, [Value::Null], "{sink}");
    }
    for sink in ["filesystem_json", "pagestore"] {
        let files = files_below(&place.data().join(sink));
        let another = |bytes: &[u8]| bytes.windows(15).any(|it| it == b"another version");
        let found: Vec<&String> = files.iter().filter(|(_, bytes)| another(bytes)).map(|(name, _)| name).collect();
        assert!(!files.is_empty() && found.is_empty(), "{sink}: {found:?}");
    }
}
