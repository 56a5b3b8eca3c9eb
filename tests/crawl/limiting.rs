//! Limits raised and lowered while a crawl runs and while it is stopped: they survive a kill, whatever is configured.

use crate::steering::{PAGES, seine, site, status};
use crate::support::program::{Place, Process, eventually};

fn live(place: &Place) -> u64 {
    status(place)["frontier"]["live"].as_u64().unwrap()
}

fn start(place: &Place, seeds: &[String], more: &[&str]) -> Process {
    let process = Process::start(place.crawl(seeds, more));
    eventually("it can be asked", || place.data().join("api.sock").exists() && !status(place)["running"].is_null());
    process
}

#[test]
fn limits_are_lowered_and_raised_while_it_runs_and_hold_over_a_kill() {
    let (site, place) = (site(1), Place::with("budget.rules: [{of: crawl, pages: 1000}]\n"));
    let process = start(&place, &[site.origin(0) + "/"], &["--delay", "20ms", "--stay"]);
    let said = seine(&place, &["limit", "crawl/pages", "5"]).ok().stdout;
    assert!(said.contains("crawl/life/pages: at most 5"), "{said}");
    eventually("it brings no more", || live(&place) >= 5 && status(&place)["frontier"]["in_flight"] == 0);
    let brought = live(&place);
    assert!(brought < PAGES as u64, "there is nothing left to limit");
    assert!(process.kill());

    let process = start(&place, &[], &["--delay", "0", "--stay"]);
    let said = status(&place);
    assert_eq!((&said["budgets"][0]["limit"], &said["ordered_limits"]["crawl/life/pages"]), (&5.into(), &5.into()));
    let shown = seine(&place, &["limit"]).ok().stdout;
    assert!(shown.contains("of 5") && shown.contains("by order"), "{shown}");
    seine(&place, &["limit", "crawl/pages", "40"]).ok();
    eventually("it goes on, and no further than it may", || live(&place) == 40);
    seine(&place, &["limit", "pages", "50"]).ok();
    seine(&place, &["limit", "crawl/pages", "none"]).ok();
    let said = process.wait().ok().stderr;
    assert!(said.contains("page limit") && said.contains("by the operator's order"), "{said}");
    assert_eq!(live(&place), 50);

    // With the crawl stopped, too; and back to the configured value.
    seine(&place, &["limit", "pages", "default"]).ok();
    for (limit, most, words) in [
        ("page", "5", "is not a limit"),
        ("host/week/pages", "5", "is not a limit"),
        ("pages", "0", "least"),
        ("pages", "x", "expected a number of pages"),
        ("crawl/day/bytes_received", "x", "a number of bytes"),
    ] {
        seine(&place, &["limit", limit, most]).fails_naming(&[words]);
    }
    Process::start(place.crawl(&[], &["--delay", "0"])).wait().ok();
    assert_eq!(live(&place), PAGES as u64 + 1);
}

#[test]
fn one_host_has_a_limit_of_its_own() {
    let (site, place) = (site(1), Place::with("link_storage.max_pages_per_domain: 3\n"));
    Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0", "--max-depth", "0"])).wait().ok();
    seine(&place, &["host", &site.origin(0), "pages", "10"]).ok();
    seine(&place, &["host", &site.origin(0), "pages", "ten"]).fails_naming(&["neither a number of pages"]);
    assert!(seine(&place, &["host", &site.origin(0)]).ok().stdout.contains("at most 10 pages by order"));
    // Links are followed now, and the front page is read again for them.
    Process::start(place.crawl(&[], &["--delay", "0"])).wait().ok();
    assert_eq!(live(&place), 10);
    let why = seine(&place, &["why", &format!("{}/59", site.origin(0))]).ok().stdout;
    assert!(why.contains("10 pages of its operator's order"), "{why}");
}
