//! A delay that becomes shorter applies at once: a host that rests by the longer one does not sit it out.

use std::time::Duration;

use crate::steering::{PAGES, seine, site, status};
use crate::support::program::{Place, Process, eventually};
use crate::support::server::{Answer, Ask};
use crate::support::{Running, links};

const DELAY: &str = "link_storage.scheduler.host_min_access_interval";
/// Longer than any test may wait.
const LONG: &str = "30m";

/// A crawl whose only host has answered once, and rests.
fn resting(site: &Running, place: &Place) -> Process {
    let process = Process::start(place.crawl(&[site.origin(0) + "/"], &["--stay"]));
    eventually("the host rests after its first request", || {
        !site.visits.all().is_empty() && place.data().join("api.sock").exists() && {
            let status = status(place);
            status["running"]["phase"] == "running" && status["frontier"]["hosts_leased"] == 0
        }
    });
    assert!(site.visits.all().len() < PAGES, "the delay does not hold");
    process
}

fn all_are_fetched(place: &Place) {
    eventually("all pages are fetched", || status(place)["frontier"]["live"] == PAGES as u64 + 1);
}

fn end(process: Process) {
    process.signal("TERM");
    process.wait().ok();
}

#[test]
fn by_order() {
    let (site, place) = (site(1), Place::with(&format!("{DELAY}: {LONG}\n")));
    let process = resting(&site, &place);
    seine(&place, &["host", &site.origin(0), "delay", "5ms"]).ok();
    all_are_fetched(&place);
    end(process);
}

#[test]
fn by_reload() {
    let (site, place) = (site(1), Place::with(&format!("{DELAY}: {LONG}\n")));
    let process = resting(&site, &place);
    place.set(DELAY, "5ms");
    seine(&place, &["reload"]).ok();
    all_are_fetched(&place);
    end(process);
}

/// The start after a kill knows that the host rests, and must not make it rest by the delay of the last run.
#[test]
fn by_a_start_after_a_kill() {
    let (site, place) = (site(1), Place::with(&format!("{DELAY}: {LONG}\n")));
    assert!(resting(&site, &place).kill());
    place.set(DELAY, "5ms");
    let process = Process::start(place.crawl(&[], &["--stay"]));
    eventually("it answers", || place.data().join("api.sock").exists() && !status(&place)["running"].is_null());
    all_are_fetched(&place);
    end(process);
}

/// A site that asks for a longer delay itself gets it, whatever the operator orders.
#[test]
fn the_crawl_delay_of_robots_txt_still_holds() {
    let answer = |ask: &Ask| match ask.path() {
        "/robots.txt" => Answer::text("User-agent: *\nCrawl-delay: 1\n"),
        _ => Answer::html(links(&["/1", "/2"])),
    };
    let site = Running::start(1, std::sync::Arc::new(answer));
    let place = Place::with(&format!("{DELAY}: {LONG}\n"));
    let process = resting(&site, &place);
    seine(&place, &["host", &site.origin(0), "delay", "5ms"]).ok();
    eventually("all pages are fetched", || status(&place)["frontier"]["live"] == 3);
    let gaps: Vec<_> = site.visits.all().windows(2).map(|two| two[1].at.duration_since(two[0].at)).collect();
    assert!(gaps.iter().all(|gap| *gap >= Duration::from_secs(1)), "{gaps:?}");
    end(process);
}
