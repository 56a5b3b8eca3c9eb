//! A clock that is set back: nothing waits for the old time to return, and newer things stay newer.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use seine_frontier::{EmbeddedFrontier, FrontierOptions, Notes};
use seine_system::clock::{self, Clock};
use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::support::program::{Place, Process, run};
use crate::support::{Plan, TestSite};

#[test]
fn the_crawls_clock_never_runs_backwards() {
    let (mut clock, start) = (Clock::default(), Instant::now());
    let mut tell = |wall, ms| clock.tell(wall, start + Duration::from_millis(ms), || Duration::ZERO);
    assert_eq!(tell(50_000, 0), 50_000);
    assert_eq!(tell(50_010, 10), 50_010);
    // Set back by hours or only a little: the clock continues at its pace, however often it is read.
    assert_eq!(tell(20, 20), 50_020);
    (0..1000).for_each(|_| assert!(tell(20, 20) == 50_020));
    assert_eq!(tell(50_024, 25), 50_025);
    assert_eq!(tell(1025, 1025), 51_025);
    // Caught up, and set forward a little: the same as the machine's clock.
    assert_eq!(tell(60_000, 1030), 60_000);
    assert_eq!(tell(60_001, 1031), 60_001);
}

/// During a run the clock is set a year ahead, and then corrected.
#[test]
fn a_clock_that_jumps_ahead_dates_no_page() {
    let (mut clock, start) = (Clock::default(), Instant::now());
    let mut tell = |wall, ms| clock.tell(wall, start + Duration::from_millis(ms), || Duration::ZERO);
    assert_eq!(tell(50_000, 0), 50_000);
    assert_eq!(tell(50_000 + 365 * DAY, 10), 50_010);
    assert_eq!(tell(51_000 + 365 * DAY, 1010), 51_010, "a second a second");
    assert_eq!(tell(50_500 + 700 * DAY, 1510), 51_510, "further ahead");
    assert_eq!(tell(52_000, 2000), 52_000, "put right");
    assert_eq!(tell(52_000 + 365 * DAY, 2001), 52_001, "and once more");
}

#[test]
fn a_machine_that_slept_finds_its_clock_ahead_and_goes_by_it() {
    let (mut clock, start) = (Clock::default(), Instant::now());
    let mut tell =
        |wall, ms, slept| clock.tell(wall, start + Duration::from_millis(ms), || Duration::from_millis(slept));
    assert_eq!(tell(50_000, 0, 0), 50_000);
    assert_eq!(tell(50_010 + DAY, 10, DAY), 50_010 + DAY, "it slept for a day");
    assert_eq!(tell(50_020 + 9 * DAY, 20, 2 * DAY), 50_020 + 2 * DAY, "for one more, and it jumped by seven");
    assert_eq!(tell(50_030 + 9 * DAY, 30, 2 * DAY), 50_030 + 2 * DAY);
    clock.at_least(90 * DAY, start);
    assert_eq!(clock.tell(50_040, start + Duration::from_millis(40), || Duration::ZERO), 90 * DAY + 40);
}

#[test]
fn ids_are_in_the_order_they_are_made() {
    let ids: Vec<String> = (0..5000).map(|_| clock::event_id()).collect();
    assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
    assert!(ids.iter().all(|id| id.len() == 32 && id.as_bytes()[12] == b'7'));
}

fn wall_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64
}

fn fetched_ms(page: &Value) -> u64 {
    let time = OffsetDateTime::parse(page["fetch_time"].as_str().unwrap(), &Rfc3339).unwrap();
    (time.unix_timestamp_nanos() / 1_000_000) as u64
}

const DAY: u64 = 24 * 60 * 60 * 1000;

/// The clock was ten days ahead when the first run ended; then it was corrected.
#[test]
fn after_a_restart_with_the_clock_set_back_pages_are_newer_all_the_same() {
    let site = TestSite::start(Plan { pages: 30, hosts: 2, failing_every: 0, redirect_every: 0, ..Plan::default() });
    let place = Place::with("link_storage.recrawl.interval: 5d");
    let crawl = |seeds: &[String]| Process::start(place.crawl(seeds, &["--delay", "0"])).wait().ok();
    crawl(&site.seeds());
    assert_eq!(place.kept().len(), site.pages().len());
    let last = wall_ms() + 10 * DAY;
    let frontier = EmbeddedFrontier::open(&place.data().join("frontier"), FrontierOptions::default(), 0).unwrap();
    frontier.set_note("clock", &last.to_string()).unwrap();
    drop(frontier);

    // By the crawl's clock, every page is due again, and none is fetched too late or dated too early.
    let ran = crawl(&[]);
    assert!(ran.stderr.contains("clock"), "{}", ran.stderr);
    let pages = place.cat();
    let newer: Vec<_> = pages.iter().filter(|page| fetched_ms(page) >= last).collect();
    assert_eq!(newer.len(), site.pages().len(), "every page again, and newer");
    let visits = site.visits().len();
    // And once more: the clock is still behind, and nothing is due.
    let ran = crawl(&[]);
    assert_eq!(site.visits().len(), visits);
    let line = "\n  the times in this data folder are 9 days ahead of this machine's clock";
    assert!(ran.stderr.contains(line), "{}", ran.stderr);
    let status = run(&["status", "-o", place.data().to_str().unwrap()]).ok();
    assert!(status.stdout.contains("9 days ahead of this machine's clock"), "{}", status.stdout);

    // Forty days later everything is due again. The
    // machine's clock cannot be moved here, so the saved lead is.
    let frontier = EmbeddedFrontier::open(&place.data().join("frontier"), FrontierOptions::default(), 0).unwrap();
    let lead: u64 = frontier.note("clock lead").unwrap().expect("saved at the start").parse().unwrap();
    assert!(lead > 9 * DAY, "{lead}");
    frontier.set_note("clock lead", &(lead + 40 * DAY).to_string()).unwrap();
    drop(frontier);
    crawl(&[]);
    assert!(site.visits().len() >= visits + site.pages().len(), "daily runs go on");
}

/// A clock that was sixty days ahead for one run freezes no crawl that starts every day.
#[test]
fn the_time_between_two_runs_counts_after_a_run_with_a_wrong_clock() {
    let (now, wrong) = (100 * DAY, 160 * DAY);
    let (first, lead) = clock::continued(now, wrong, 0);
    assert_eq!((first, lead), (wrong, 60 * DAY), "nothing goes back");
    let (second, lead) = clock::continued(now + DAY, wrong + 5, lead);
    assert_eq!((second, lead), (wrong + DAY, 60 * DAY), "a day later");
    // Back still further, and ahead of everything.
    assert_eq!(clock::continued(now - DAY, wrong + DAY, lead), (wrong + DAY, 62 * DAY));
    assert_eq!(clock::continued(now + 70 * DAY, wrong + DAY, lead), (now + 70 * DAY, 0), "caught up");
    // A few hours heal by waiting.
    assert_eq!(clock::continued(now, now + DAY / 2, 0), (now + DAY / 2, 0));
}
