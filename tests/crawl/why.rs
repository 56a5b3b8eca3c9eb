//! `seine why`: the right reason for every way that a URL can end; while the crawl runs, after a kill, and when it is
//! stopped.

use std::collections::BTreeMap;

use crate::support::server::{Answer, Ask};
use serde_json::Value;

use crate::support::program::{Place, Process, eventually, run};
use crate::support::{Running, links};

/// Number of URLs for each way to end.
const EACH: usize = 40;

/// How URLs end, and the expected report: state, words of the reason, and the state at a sink that keeps everything.
const ENDS: [(&str, &str, &str, &str); 8] = [
    ("page", "live", "found a page", "delivered"),
    ("missing", "refused", "status 404", "passed"),
    ("forbidden", "refused", "status 403", "passed"),
    ("private", "failed", "robots_denied", "passed"),
    ("hidden", "withheld", "noindex", "passed"),
    ("moved", "alias", "/page/", "passed"),
    ("astray", "failed", "bad_redirect", "passed"),
    ("denied", "out_of_scope", "denied", "not_yet"),
];

const ROBOTS: &str = "User-agent: *\nCrawl-delay: 0\n# nobody's business\nDisallow: /private\n";

#[test]
fn a_host_that_is_too_slow_for_its_rechecks_is_told() {
    let site = Running::start(1, std::sync::Arc::new(answer));
    let page = site.origin(0) + "/page/1";
    let recrawl =
        |time: &str| format!("link_storage.recrawl: {{interval: {time}, min_interval: 1s, max_interval: {time}}}\n");
    for (interval, is_slow) in [("1h", false), ("20s", true)] {
        let place = Place::with(&recrawl(interval));
        let seeds = [page.clone(), site.origin(0) + "/page/2"];
        Process::start(place.crawl(&seeds, &["--delay", "0"])).wait().ok();
        // By order the host waits for 15 s after each request: two pages take 30 s, and more with the sitemap.
        run(&["host", &site.origin(0), "delay", "15s", "-o", place.data().to_str().unwrap()]).ok();
        let told = run(&["host", &site.origin(0), "-o", place.data().to_str().unwrap()]).ok().stdout;
        assert_eq!(told.contains("rechecks come later"), is_slow, "{told}");
    }
}

fn answer(ask: &Ask) -> Answer {
    let path = ask.path();
    let number = path.rsplit('/').next().unwrap_or_default();
    let end = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    match end {
        "robots.txt" => Answer::text(ROBOTS),
        "" => {
            let all = ENDS.iter().flat_map(|(end, ..)| (0..EACH).map(move |n| format!("/{end}/{n}")));
            let all: Vec<String> = all.chain((0..EACH).map(|n| format!("http://other.test/{n}"))).collect();
            Answer::html(links(&all.iter().map(String::as_str).collect::<Vec<_>>()))
        }
        "page" => Answer::html(format!("<title>{number}</title><p>page {number}</p>")),
        "forbidden" => Answer::text("").status(403),
        "hidden" => Answer::html(format!("<meta name=robots content=noindex><p>hidden {number}")),
        "moved" => Answer::new(301, "").header("location", format!("/page/{number}")),
        "astray" => Answer::new(302, "").header("location", "http://other.test/"),
        _ => Answer::text("").status(404),
    }
}

/// The report by URL.
fn why(place: &Place, urls: &[String]) -> BTreeMap<String, Value> {
    let mut arguments =
        vec!["why".to_owned(), "--json".to_owned(), "-o".to_owned(), place.data().display().to_string()];
    arguments.extend_from_slice(urls);
    let said = run(&arguments).ok().json_lines();
    said.into_iter().map(|said| (said["url"].as_str().unwrap().to_owned(), said)).collect()
}

/// Every URL of the site whose report is wrong, and how.
fn wrong(said: &BTreeMap<String, Value>, origin: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for (end, state, words, sink) in ENDS {
        for number in 0..EACH {
            let said = &said[&format!("{origin}/{end}/{number}")];
            let reason = said["reason"].as_str().unwrap();
            let place = &said["sinks"][0]["state"];
            if said["state"] != state || !reason.contains(words) || place != sink {
                wrong.push(said.to_string());
            }
        }
    }
    wrong
}

fn all_urls(origin: &str) -> Vec<String> {
    ENDS.iter().flat_map(|(end, ..)| (0..EACH).map(move |number| format!("{origin}/{end}/{number}"))).collect()
}

#[test]
fn every_end_has_its_reason_live_after_a_kill_and_at_rest() {
    let site = Running::start(1, std::sync::Arc::new(answer));
    let origin = site.origin(0);
    let place = Place::with(
        "link_storage.link_strategy.blacklist: ['.*/denied/.*']\ncrawler_manager.downloader.redirects: first\n",
    );
    let seeds = [origin.clone() + "/"];
    let urls = all_urls(&origin);
    let process = Process::start(place.crawl(&seeds, &["--delay", "0", "--stay"]));
    eventually("the crawl answers, and right for every URL", || {
        place.data().join("api.sock").exists() && wrong(&why(&place, &urls), &origin).is_empty()
    });
    // The deciding line, the refusing rule, and a URL without a source.
    let private = &why(&place, &urls)[&format!("{origin}/private/3")];
    assert_eq!(private["robots"]["line"], "Disallow: /private");
    assert_eq!(private["robots"]["line_number"], 4);
    assert_eq!(private["robots"]["verdict"], "denied");
    let denied = &why(&place, &urls)[&format!("{origin}/denied/3")];
    let rule = denied["scope"]["rule"].as_str().unwrap();
    assert!(rule.contains(".*/denied/.*") && rule.contains("blacklist"), "{rule}");
    let moved = &why(&place, &urls)[&format!("{origin}/moved/3")];
    assert_eq!(moved["page"]["final_url"], format!("{origin}/page/3"));
    let page = &why(&place, &urls)[&format!("{origin}/page/3")];
    assert_eq!(page["page"]["status"], 200);
    // Its source: the page with the links, which is a seed.
    let found = &page["found"];
    assert_eq!((&found["first"]["way"], &found["first"]["on"]), (&"link".into(), &seeds[0].as_str().into()), "{page}");
    assert_eq!(found["first"], found["last"], "{page}");
    assert_eq!(page["attempts"]["in_all"], 1, "{page}");
    let digest = page["page"]["digest"].as_str().unwrap();
    let [attempt] = &page["attempts"]["last"].as_array().unwrap()[..] else { panic!("{page}") };
    assert_eq!((&attempt["outcome"], &attempt["digest"]), (&"status 200".into(), &digest[..8].into()), "{page}");
    assert_eq!(why(&place, &seeds)[&seeds[0]]["found"]["first"]["way"], "seed");
    let added = format!("{origin}/never/linked/to");
    run(&["seeds", "add", "-o", place.data().to_str().unwrap(), &added]).ok();
    let added = why(&place, std::slice::from_ref(&added)).remove(&added).unwrap();
    assert_eq!((&added["found"]["first"]["way"], added["found"]["first"]["on"].is_null()), (&"added".into(), true));
    assert!(!added["found"]["first"]["by"].as_str().unwrap().is_empty(), "{added}");
    let others = ["http://other.test/7".to_owned(), format!("{origin}/never/heard/of")];
    let others: Vec<Value> = why(&place, &others).into_values().collect();
    assert_eq!(others[0]["state"], "unknown", "{}", others[0]);
    assert_eq!(others[1]["state"], "out_of_scope", "{}", others[1]);

    assert!(process.kill(), "it was still running");
    let after = why(&place, &urls);
    assert_eq!(wrong(&after, &origin), Vec::<String>::new());
    let page = &after[&format!("{origin}/page/3")]["found"];
    assert_eq!((&page["first"]["on"], page["last"].is_null()), (&seeds[0].as_str().into(), true), "{page}");

    Process::start(place.crawl(&[], &["--delay", "0"])).wait().ok();
    assert_eq!(wrong(&why(&place, &urls), &origin), Vec::<String>::new());
    let told = run(&["why", "-o", place.data().to_str().unwrap(), &format!("{origin}/private/3")]).ok().stdout;
    assert!(told.contains(&format!("by a link on {}, ", seeds[0])), "{told}");
    assert!(told.contains("attempts") && told.contains(": robots_denied"), "{told}");
    assert!(told.contains("denied by line 4, \"Disallow: /private\""), "{told}");
}

#[test]
fn links_that_the_scope_refused_are_counted_and_one_is_remembered() {
    let site = Running::start(1, std::sync::Arc::new(answer));
    let place = Place::new();
    let seeds = [site.origin(0) + "/"];
    Process::start(place.crawl(&seeds, &["--delay", "0", "--max-pages", "3"])).wait().ok();
    let url = "http://other.test/anything".to_owned();
    let said = why(&place, std::slice::from_ref(&url)).remove(&url).unwrap();
    let refused = &said["scope"]["refused"];
    assert_eq!((&refused["links"], &refused["url"]), (&EACH.into(), &"http://other.test/0".into()), "{said}");
    assert_eq!(refused["found_on"], seeds[0]);
    let told = run(&["why", "-o", place.data().to_str().unwrap(), &url]).ok().stdout;
    assert!(told.contains(&format!("{EACH} links to its host")), "{told}");
}

#[test]
fn what_waits_says_for_what() {
    let site = Running::start(
        2,
        std::sync::Arc::new(|ask: &Ask| match ask.path() {
            "/robots.txt" => Answer::text("").status(404),
            "/" => Answer::html(links(&["/1", "/2", "/3", "/broken"])),
            "/broken" => Answer::text("").status(500),
            path => Answer::html(format!("<p>{path}</p>")),
        }),
    );
    let place = Place::with("link_storage.scheduler.backoff_base: 600s\n");
    let seeds = [site.origin(0) + "/", site.origin(1) + "/"];
    let process = Process::start(place.crawl(&seeds, &["--delay", "0", "--stay"]));
    let broken = site.origin(0) + "/broken";
    let said = |url: &str| why(&place, &[url.to_owned()]).remove(url).unwrap();
    eventually("a URL waits with its host", || {
        let sock = place.data().join("api.sock").exists();
        sock && said(&broken)["state"] == "waiting"
            && said(&broken)["host"]["trouble"]["cause"] == "status 500"
            && said(&broken)["reason"].as_str().unwrap().contains("waits for")
            && said(&broken)["queue"]["last_failure"] == "status 500"
            && said(&broken)["attempts"]["last"][0]["outcome"] == "status 500"
    });
    let waiting = said(&broken);
    assert!(waiting["queue"]["due_ms"].as_u64() > waiting["page"]["fetched_ms"].as_u64(), "{waiting}");
    run(&["pause", "-o", place.data().to_str().unwrap()]).ok();
    assert!(said(&broken)["reason"].as_str().unwrap().contains("the crawl is paused"));
    let guess = format!("{}/sitemap.xml", site.origin(0));
    assert_eq!(said(&guess)["found"]["first"]["way"], "guess");
    let text = |url: &str| run(&["why", "-o", place.data().to_str().unwrap(), url]).ok().stdout;
    assert!(text(&guess).contains("the usual location of a sitemap, tried because robots.txt names none"));
    // One URL failed while its host answers others.
    let of_host = text(&broken);
    assert!(of_host.contains("some of its URLs failed, first ") && !of_host.contains("in a row"), "{of_host}");
    process.signal("TERM");
    process.wait().ok();
    assert_eq!(said(&broken)["state"], "waiting");
    run(&["why", "-o", place.data().to_str().unwrap(), "mailto:nobody@example.com"])
        .fails_naming(&["not an http or https URL"]);
}

/// A sink that was added after the first events got no page whose last answer was 304.
#[test]
fn of_a_page_that_has_not_changed_since_a_sink_was_added_nobody_says_that_the_sink_has_it() {
    let site = Running::start(
        1,
        std::sync::Arc::new(|ask: &Ask| match (ask.path(), ask.header("if-none-match")) {
            ("/robots.txt", _) => Answer::text("").status(404),
            ("/", Some(_)) => Answer::new(304, ""),
            ("/", None) => Answer::html(links(&["/1", "/2", "/3"])).header("etag", "\"1\""),
            (path, _) => {
                let words = (1..9_000u64).map(|n| format!("{:x} ", n.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
                Answer::html(format!("<p>{path}</p>{}", words.collect::<String>()))
            }
        }),
    );
    let place = Place::with("page_log.segment_size: 64KiB\n");
    let seeds = [site.origin(0) + "/"];
    let crawl = |more: &[&str]| Process::start(place.crawl(&seeds, &[&["--delay", "0"], more].concat())).wait().ok();
    let states = || {
        let said = why(&place, &seeds).remove(&seeds[0]).unwrap();
        let sinks = said["sinks"].as_array().unwrap().clone();
        sinks.iter().map(|sink| (sink["sink"].to_string(), sink["state"].to_string())).collect::<BTreeMap<_, _>>()
    };
    crawl(&["--sink", "files"]);
    assert_eq!(states()["\"files\""], "\"delivered\"");
    crawl(&["--sink", "files", "--sink", "void"]);
    let states = states();
    assert_eq!((&states["\"files\""][..], &states["\"void\""][..]), ("\"delivered\"", "\"unknown\""), "{states:?}");
}
