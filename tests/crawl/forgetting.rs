//! Forgetting URLs and hosts: nothing of them is left except budgets, whenever the process is killed, and the counters
//! balance.

use std::time::Duration;

use crate::support::server::{Answer, Ask};
use serde_json::Value;

use crate::steering::seine;
use crate::support::program::{Place, Process, Ran, command, eventually, run};
use crate::support::{Running, links};

const PAGES: usize = 20;
const MANY: usize = 20_000;
const NO_SITEMAPS: &str = "link_storage.download_sitemap_xml: false\n";

/// `/` links to `/0` and so on; `/many` to many more; `/first` and `/second` redirect to `/target`; `/slow` is slow.
fn site(hosts: usize) -> Running {
    let all = |count: usize, before: &str| {
        let pages: Vec<String> = (0..count).map(|number| format!("{before}{number}")).collect();
        links(&pages.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let (few, many) = (all(PAGES, "/"), all(MANY, "/of/many/"));
    let answer = move |ask: &Ask| match ask.path() {
        "/robots.txt" | "/sitemap.xml" => Answer::text("").status(404),
        "/" => Answer::html(few.clone()),
        "/many" => Answer::html(many.clone()),
        "/redirects" => Answer::html(links(&["/first", "/second"])),
        "/first" | "/second" => Answer::redirect(302, "/target"),
        "/slow" => Answer::html("<p>late").after(Duration::from_secs(2)),
        path => Answer::html(format!("<p>{path}</p>")),
    };
    Running::start(hosts, std::sync::Arc::new(answer))
}

fn json(ran: Ran) -> Value {
    serde_json::from_str(&ran.ok().stdout).unwrap()
}

fn status(place: &Place) -> Value {
    json(seine(place, &["status", "--json"]))
}

fn count(place: &Place, what: &str) -> u64 {
    status(place)["frontier"][what].as_u64().unwrap()
}

fn state(place: &Place, url: &str) -> String {
    json(seine(place, &["why", "--json", url]))["state"].as_str().unwrap().to_owned()
}

fn asked(site: &Running, path: &str) -> usize {
    site.visits.all().iter().filter(|visit| visit.path == path).count()
}

fn start(place: &Place, seeds: &[String], more: &[&str]) -> Process {
    let process = Process::start(place.crawl(seeds, &[&["--stay"], more].concat()));
    eventually("it can be asked", || place.data().join("api.sock").exists() && !status(place)["running"].is_null());
    process
}

#[track_caller]
fn ends_balanced(place: &Place, process: Process) {
    process.signal("TERM");
    process.wait().ok();
    run(&["audit".as_ref(), place.data().as_os_str()]).ok();
}

#[test]
fn a_url_is_asked_for_again_only_when_something_leads_to_it() {
    let (site, place) = (site(1), Place::with(&format!("{NO_SITEMAPS}budget.rules: [{{of: crawl, pages: 1000}}]\n")));
    let process = start(&place, &[site.origin(0) + "/"], &["--delay", "0"]);
    let url = format!("{}/3", site.origin(0));
    eventually("all is fetched", || count(&place, "live") == PAGES as u64 + 1);
    let said = seine(&place, &["forget", &url, &format!("{}/never", site.origin(0))]).ok().stdout;
    assert!(said.contains("1 URL forgotten, 1 not known"), "{said}");
    assert_eq!((state(&place, &url).as_str(), count(&place, "live")), ("unknown", PAGES as u64));
    assert_eq!(status(&place)["budgets"][0]["spent"], PAGES + 1, "what was brought stays booked");
    for bad in ["mailto:nobody", "nonsense"] {
        seine(&place, &["forget", bad]).fails_naming(&[bad, "not an http or https URL"]);
    }
    seine(&place, &["forget"]).exits(2);
    ends_balanced(&place, process);

    // Also with the crawl stopped, and for queued as well as fetched URLs.
    let other = format!("{}/4", site.origin(0));
    seine(&place, &["seeds", "add", &format!("{}/new", site.origin(0))]).ok();
    seine(&place, &["forget", &other, &format!("{}/new", site.origin(0))]).ok();
    run(&["audit".as_ref(), place.data().as_os_str()]).ok();
    let process = start(&place, &[], &["--delay", "0"]);
    assert_eq!(json(seine(&place, &["hosts", "--json"]))["with_work"], 0);
    assert_eq!((asked(&site, "/3"), asked(&site, "/4"), asked(&site, "/new")), (1, 1, 0));
    seine(&place, &["seeds", "add", &url]).ok();
    eventually("a seed leads to it again", || state(&place, &url) == "live");
    assert_eq!(asked(&site, "/3"), 2);
    ends_balanced(&place, process);
}

#[test]
fn what_is_being_asked_for_is_forgotten_when_its_answer_is_validated() {
    let (site, place) = (site(1), Place::with(NO_SITEMAPS));
    let process = start(&place, &[site.origin(0) + "/slow"], &["--delay", "0"]);
    eventually("it is asked for", || asked(&site, "/slow") == 1);
    let said = seine(&place, &["forget", &format!("{}/slow", site.origin(0))]).ok().stdout;
    assert!(said.contains("1 URL forgotten"), "{said}");
    assert_eq!(status(&place)["log"]["accepted"], 1, "its answer was accepted before");
    assert_eq!(state(&place, &format!("{}/slow", site.origin(0))), "unknown");
    ends_balanced(&place, process);
}

#[test]
fn the_page_of_a_redirects_owner_goes_to_another() {
    let (site, place) = (site(1), Place::with("crawler_manager.downloader.redirects: first\n"));
    let process = start(&place, &[site.origin(0) + "/redirects"], &["--delay", "0"]);
    let urls = ["/first", "/second"].map(|path| site.origin(0) + path);
    eventually("one has the page, the other is its alias", || {
        let mut states = urls.each_ref().map(|url| state(&place, url));
        states.sort();
        states == ["alias", "live"]
    });
    let (owner, alias) = if state(&place, &urls[0]) == "live" { (&urls[0], &urls[1]) } else { (&urls[1], &urls[0]) };
    seine(&place, &["forget", owner]).ok();
    eventually("its alias has the page", || state(&place, alias) == "live");
    assert_eq!(state(&place, owner), "unknown");
    ends_balanced(&place, process);
}

#[test]
fn a_host_is_forgotten_whole_whenever_it_is_killed() {
    let (site, place) = (site(2), Place::with(NO_SITEMAPS));
    let seeds = [site.origin(0) + "/many", site.origin(1) + "/"];
    let queued = |place: &Place| {
        let hosts = json(seine(place, &["hosts", "--json"]));
        let host = hosts["hosts"].as_array().unwrap().iter().find(|host| host["host"] == site.origin(0)).cloned();
        host.map_or(0, |host| host["urls"].as_u64().unwrap())
    };
    Process::start(place.crawl(&seeds, &["--delay", "0", "--max-pages", "5"])).wait().ok();
    let mut all = queued(&place);
    assert!(all > MANY as u64 / 2, "{all}");
    seine(&place, &["pause"]).ok();
    for (round, millis) in [0, 10, 20, 40, 80, 160, 320, 640].into_iter().enumerate() {
        // With the crawl running and stopped; if it is stopped, the command itself is killed.
        let process = (round % 2 == 0).then(|| start(&place, &[], &["--delay", "0"]));
        let data = place.data();
        let order = Process::start(command(&["forget", "--host", &site.origin(0), "-o", data.to_str().unwrap()]));
        std::thread::sleep(Duration::from_millis(millis)); // any moment will do
        assert!(process.is_none_or(Process::kill));
        order.kill();
        let process = start(&place, &[], &["--delay", "0"]);
        eventually("it is forgotten whole, or was not ordered", || {
            let now = queued(&place);
            now == 0 || now == all
        });
        ends_balanced(&place, process);
        all = queued(&place);
        if all == 0 {
            let again = seine(&place, &["seeds", "add", &seeds[0]]).ok().stdout;
            assert!(again.contains("1 new"), "{again}");
            let limit = (50 * (round + 2)).to_string();
            seine(&place, &["resume"]).ok();
            Process::start(place.crawl(&[], &["--delay", "0", "--max-pages", &limit])).wait().ok();
            seine(&place, &["pause"]).ok();
            all = queued(&place);
            assert!(all > MANY as u64 / 2, "{all}");
        }
    }
    seine(&place, &["forget", "--host", &site.origin(0)]).ok();
    assert_eq!(queued(&place), 0);
}
