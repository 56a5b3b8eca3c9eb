//! Statements of publishers: recorded for every page, and obeyed for the crawl's purpose, wherever they are made.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use crate::support::server::{Answer, Ask};
use serde_json::Value;

use crate::support::program::{Place, Process, run};
use crate::support::{Running, counted, links};

const ONCE: &str = "link_storage.download_sitemap_xml: false\nlogging.filter: info\n";
const PURPOSE: &str = "purpose";
const ROBOTS: &str = "User-agent: *\nContent-Usage: /by-robots train-ai=n\nContent-Signal: /by-signal ai-train=no\n";
const TDM_FILE: &str = r#"[{"location":"/other","tdm-reservation":0},{"location":"/by-file","tdm-reservation":1}]"#;

/// Ways to make a statement, and the description of its place.
const WAYS: [(&str, &str); 5] = [
    ("/by-robots", "content-usage: train-ai=n (robots.txt, line 2)"),
    ("/by-signal", "content-signal: train-ai=n (robots.txt, line 3)"),
    ("/by-header", "content-usage: train-ai=n (header)"),
    ("/by-markup", "robots: train-ai=n (markup)"),
    ("/by-file", "tdmrep: tdm=n (tdmrep.json, rule 2)"),
];

/// Path and condition of every request.
type Asked = Arc<Mutex<Vec<(String, Option<String>)>>>;

fn tagged(ask: &Ask, body: String) -> Answer {
    let tag = format!("\"{}\"", ask.path());
    let answer = match ask.header("if-none-match") == Some(&tag) {
        true => Answer::new(304, ""),
        false => Answer::html(body),
    };
    answer.header("etag", &*tag)
}

fn answer(ask: &Ask) -> Answer {
    let path = ask.path();
    match path {
        "/robots.txt" => Answer::text(ROBOTS),
        "/.well-known/tdmrep.json" => Answer::text(TDM_FILE),
        "/" => tagged(ask, links(&["/by-robots", "/by-signal", "/by-header", "/by-markup", "/by-file", "/free"])),
        "/by-header" => tagged(ask, links(&["/behind"])).header("content-usage", "train-ai=n, search=y"),
        "/by-markup" => tagged(ask, "<meta name=robots content=noai>markup".into()),
        "/by-robots" | "/by-signal" | "/by-file" | "/free" | "/behind" => tagged(ask, path.to_owned()),
        _ => Answer::text("").status(404),
    }
}

fn site(answer: fn(&Ask) -> Answer) -> (Running, Asked) {
    let asked = Asked::default();
    let noted = asked.clone();
    let handler = counted(move |ask, _| {
        noted.lock().unwrap().push((ask.path().to_owned(), ask.header("if-none-match").map(str::to_owned)));
        answer(ask)
    });
    (Running::start(2, handler), asked)
}

fn crawl(place: &Place, seeds: &[String]) -> String {
    Process::start(place.crawl(seeds, &["--delay", "0"])).wait().ok().stderr
}

fn why(place: &Place, url: &str) -> Value {
    run(&["why", "--json", "-o", place.data().to_str().unwrap(), url]).ok().json_lines().remove(0)
}

fn counts(place: &Place) -> (Value, Value) {
    let frontier = &place.stats()["frontier"];
    (frontier["live"].clone(), frontier["withheld"].clone())
}

fn times(asked: &Asked, path: &str) -> usize {
    asked.lock().unwrap().iter().filter(|(it, _)| it == path).count()
}

/// Paths of the pages in the archive.
fn archived(place: &Place, origin: &str) -> BTreeSet<String> {
    let pages = place.cat();
    pages.iter().filter_map(|page| Some(page["url"].as_str()?.strip_prefix(origin)?.to_owned())).collect()
}

#[test]
fn what_a_crawl_is_for_decides_what_is_delivered_and_another_purpose_is_for_what_is_known() {
    let (site, asked) = site(answer);
    let origin = site.origin(0);
    let place = Place::with(ONCE);
    crawl(&place, &[origin.clone() + "/"]);
    assert_eq!(counts(&place), (8.into(), 0.into()));
    assert_eq!(times(&asked, "/.well-known/tdmrep.json"), 0, "nobody mines");
    let said = why(&place, &(origin.clone() + "/by-header"));
    assert_eq!((&said["state"], &said["preferences"][0]["forbids"]), (&"live".into(), &Value::Null));
    assert_eq!(said["preferences"][0]["says"], serde_json::json!(["search=y", "train-ai=n"]));

    // Other purposes for known pages: a 304 does not repeat statements, but they were recorded.
    place.set(PURPOSE, "[train-ai, search]");
    let log = crawl(&place, &[]);
    assert!(log.contains("purpose or page classifier has changed"), "{log}");
    assert_eq!(counts(&place), (3.into(), 5.into()));
    assert_eq!(times(&asked, "/.well-known/tdmrep.json"), 1);
    for (path, by) in WAYS {
        let said = why(&place, &format!("{origin}{path}"));
        let by = if path == "/by-header" { "content-usage: search=y, train-ai=n (header)" } else { by };
        let expected = format!("its publisher objects to its use for train-ai: {by}");
        assert_eq!((&said["state"], &said["reason"]), (&"withheld".into(), &expected.into()));
        let last = asked.lock().unwrap().iter().rfind(|(it, _)| it == path).unwrap().1.clone();
        assert_eq!(last, Some(format!("\"{path}\"")), "{path} was asked for as what is known");
    }
    let said = why(&place, &(origin.clone() + "/by-robots"));
    assert_eq!(said["preferences"][0]["text"], "Content-Usage: /by-robots train-ai=n");
    let told = run(&["why", "-o", place.data().to_str().unwrap(), &(origin.clone() + "/by-robots")]).ok().stdout;
    assert!(
        told.contains("publisher   content-usage: train-ai=n (robots.txt, line 2), \"Content-Usage: /by-robots"),
        "{told}"
    );

    // Back to the first purpose: all pages are fetched in full, since withheld pages are new.
    place.set(PURPOSE, "search");
    crawl(&place, &[]);
    assert_eq!(counts(&place), (8.into(), 0.into()));
    for (path, _) in WAYS {
        let last = asked.lock().unwrap().iter().rfind(|(it, _)| it == path).unwrap().1.clone();
        assert_eq!(last, None, "{path} must come");
    }
    assert_eq!(times(&asked, "/.well-known/tdmrep.json"), 1);
    run(&["audit".as_ref(), place.data().as_os_str()]).ok();
}

#[test]
fn what_is_opted_out_is_delivered_nowhere_but_its_links_are_followed() {
    let (site, asked) = site(answer);
    let origin = site.origin(0);
    let free: BTreeSet<String> = ["/", "/free", "/behind"].map(str::to_owned).into();
    let all: BTreeSet<String> = WAYS.iter().map(|(path, _)| (*path).to_owned()).chain(free.clone()).collect();
    for (purpose, expected) in [("train-ai", &free), ("[archive, train-ai]", &all), ("[archive]", &all)] {
        let place = Place::with(ONCE);
        place.set(PURPOSE, purpose);
        crawl(&place, &[origin.clone() + "/"]);
        assert_eq!(archived(&place, &origin), *expected, "{purpose}");
    }
    assert_eq!(times(&asked, "/.well-known/tdmrep.json"), 2, "once a crawl that mines");
}

/// Host 1 forbids the target of a redirect on host 0. Host 0 names a licence, and robots.txt forbids its TDM file.
fn two_hosts(ask: &Ask) -> Answer {
    let is_second = ask.header("host").unwrap_or_default().starts_with("127.0.0.12");
    match (ask.path(), is_second) {
        ("/robots.txt", true) => Answer::text("User-agent: *\nContent-Usage: /target train-ai=n\n"),
        ("/robots.txt", false) => {
            Answer::text("License: https://terms.example/rsl\nUser-agent: *\nDisallow: /.well-known/\n")
        }
        ("/.well-known/tdmrep.json", _) => Answer::text("").status(404),
        ("/", false) => Answer::html(links(&["/away"])),
        ("/away", false) => {
            let port = ask.header("host").unwrap().rsplit(':').next().unwrap();
            Answer::new(302, "").header("location", format!("http://127.0.0.12:{port}/target"))
        }
        ("/target", true) | ("/", true) => Answer::html("there"),
        _ => Answer::text("").status(404),
    }
}

#[test]
fn who_gives_the_page_says_what_is_asked_and_a_licence_is_to_be_agreed_to() {
    let (site, asked) = site(two_hosts);
    let place = Place::with(ONCE);
    place.set(PURPOSE, "train-ai");
    let seeds = [site.origin(0) + "/", site.origin(1) + "/"];
    crawl(&place, &seeds);
    let said = why(&place, &(site.origin(0) + "/away"));
    assert_eq!(said["state"], "withheld", "{said}");
    assert!(said["reason"].as_str().unwrap().ends_with("content-usage: train-ai=n (robots.txt, line 2)"), "{said}");
    let said = why(&place, &seeds[0]);
    let expected = "its publisher objects to its use for train-ai: rsl: https://terms.example/rsl (robots.txt, line 1)";
    assert_eq!(said["reason"], expected);
    assert_eq!(why(&place, &seeds[1])["state"], "live");
    assert_eq!(times(&asked, "/.well-known/tdmrep.json"), 1, "robots.txt of the other forbids it");

    place.set("accept_licenses", "['https://terms.example/rsl']");
    crawl(&place, &[]);
    assert_eq!(why(&place, &seeds[0])["state"], "live");
    assert_eq!(why(&place, &(site.origin(0) + "/away"))["state"], "withheld");
}

#[test]
fn a_purpose_that_is_none_is_refused_with_those_there_are() {
    let place = Place::with("purpose: [search, fly]\n");
    run(&["check-config", "-c", place.config().to_str().unwrap()]).fails_naming(&["purpose", "fly", "train-ai, tdm"]);
    let place = Place::with("accept_licenses: [license.xml]\n");
    run(&["check-config", "-c", place.config().to_str().unwrap()]).fails_naming(&[
        "accept_licenses",
        "license.xml",
        "absolute",
    ]);
}
