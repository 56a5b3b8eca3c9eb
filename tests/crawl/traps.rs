//! Traps: endless pages next to valuable pages. The endless ones get a bounded share, and the valuable ones are
//! complete.

#[path = "../support/traps.rs"]
mod site;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::support::server::{Answer, Ask};

use crate::support::program::{Place, Process, Ran, eventually};
use crate::support::{Running, links};
use site::{NAVIGATION, is_trap, text};

const PAGES: usize = 4000;

fn answer(ask: &Ask) -> Answer {
    site::site(&ask.path_and_query, PAGES).map_or_else(|| Answer::text("").status(404), Answer::html)
}

fn site() -> Running {
    Running::start(1, Arc::new(answer))
}

fn pages(site: &Running) -> BTreeSet<String> {
    (1..=PAGES).map(|number| format!("{}/page/{number}", site.origin(0))).collect()
}

/// Numbers of requests for valuable pages, and for others.
fn asked(site: &Running) -> (usize, usize) {
    let paths: Vec<String> = site.visits.all().into_iter().map(|visit| visit.path).collect();
    let traps = paths.iter().filter(|path| is_trap(path)).count();
    (paths.len() - traps, traps)
}

/// Crawls to the end. An endless trap leaves deferred URLs, so the exit status is 7.
#[track_caller]
fn crawl(place: &Place, site: &Running, more: &[&str]) -> Ran {
    let seeds = [site.origin(0) + "/"];
    let delay: &[&str] = if more.contains(&"--delay") { &[] } else { &["--delay", "0"] };
    Process::start(place.crawl(&seeds, &[delay, more].concat())).wait().exits(if has_limit(more) { 0 } else { 7 })
}

fn has_limit(arguments: &[&str]) -> bool {
    arguments.contains(&"--max-pages")
}

#[track_caller]
fn seine(place: &Place, arguments: &[&str]) -> String {
    let data = place.data();
    let arguments = [arguments, &["-o", data.to_str().unwrap()]].concat();
    crate::support::program::run(&arguments).ok().stdout
}

#[test]
fn endless_traps_have_a_bounded_share_and_what_is_worth_it_is_complete() {
    let site = site();
    let place = Place::new();
    // Slowly enough that answers are judged before more is requested.
    let ran = crawl(&place, &site, &["--delay", "2ms"]);
    assert!(ran.stderr.contains("Ended: only deferred URLs are left."), "{}", ran.stderr);
    let (worth, traps) = asked(&site);
    let kept: BTreeSet<String> = place.kept().into_keys().filter(|url| url.contains("/page/")).collect();
    assert_eq!(kept, pages(&site));
    eprintln!("{worth} requests for pages, {traps} for traps\n{}", seine(&place, &["host", &site.origin(0)]));
    // A lease may contain URLs queued before the last answers were judged; how many depends on the machine.
    assert!(traps * 100 <= (worth + traps) * 15, "{worth} requests for pages, {traps} for traps");
    assert!(ran.stderr.contains("crawl traps and mirrors"), "{}", ran.stderr);
    let host = seine(&place, &["host", &site.origin(0)]);
    for pattern in ["/calendar/#/#", "/loop", "/list?…"] {
        assert!(
            host.lines().any(|line| line.trim_start().starts_with(pattern) && line.contains("is deferred")),
            "{host}"
        );
    }
    assert!(place.stats()["frontier"]["deferred"].as_u64() > Some(0));
    seine(&place, &["audit"]);
    // The same command again requests nothing.
    let before = site.visits.all().len();
    crawl(&place, &site, &[]);
    assert!(site.visits.all().len() <= before + 3);
}

/// Nothing tells a long gallery without texts from an endless one, so the run says that it left something.
#[test]
fn a_run_that_leaves_deferred_urls_has_a_status_of_its_own_and_names_the_command_that_continues() {
    const PHOTOS: usize = 1500;
    let answer = |ask: &Ask| match ask.path().trim_start_matches("/photo/").parse::<usize>() {
        Ok(photo) if photo < PHOTOS => {
            let next = format!("/photo/{}", (photo + 1).min(PHOTOS - 1));
            Answer::html(format!("{NAVIGATION}<p>Photo {photo}</p>{}", links(&[&next])))
        }
        _ => Answer::text("").status(404),
    };
    let site = Running::start(1, Arc::new(answer));
    let place = Place::new();
    let seeds = [site.origin(0) + "/photo/0"];
    let photos = || place.kept().into_keys().filter(|url| url.contains("/photo/")).count();
    let ran = Process::start(place.crawl(&seeds, &["--delay", "0"])).wait().exits(7);
    assert!(ran.stderr.contains("Ended: only deferred URLs are left."), "{}", ran.stderr);
    assert!(photos() < 1000, "{} photos", photos());
    let command = ran.stderr.lines().find(|line| line.ends_with("--deferred 4096"));
    let command: Vec<&str> = command.expect("the command that continues").split_whitespace().skip(1).collect();
    let ran = crate::support::program::run(&command).ok();
    assert!(ran.stderr.contains("Done: nothing is left to fetch."), "{}", ran.stderr);
    assert_eq!(photos(), PHOTOS);
    seine(&place, &["audit"]);
}

/// Killed again and again, it has the same result. Deferred URLs are fetched when trap detection is turned off.
#[test]
fn a_crawl_with_traps_may_be_killed_and_the_watch_switched_off() {
    let site = site();
    let place = Place::new();
    let seeds = [site.origin(0) + "/"];
    for pages in [300, 700, 1100] {
        let process = Process::start(place.crawl(&seeds, &["--delay", "0"]));
        let before = site.visits.len();
        eventually("some pages are asked for", || site.visits.len() >= before + pages / 3);
        assert!(process.kill());
    }
    crawl(&place, &site, &[]);
    let kept: BTreeSet<String> = place.kept().into_keys().filter(|url| url.contains("/page/")).collect();
    assert_eq!(kept, pages(&site));
    let (worth, traps) = asked(&site);
    eprintln!("killed: {worth} requests for pages, {traps} for traps");
    assert!(traps * 100 <= (worth + traps) * 25, "{worth} requests for pages, {traps} for traps");
    let held = place.stats()["frontier"]["deferred"].as_u64().unwrap();
    assert!(held > 100);
    seine(&place, &["audit"]);
    place.set("link_storage.link_strategy.traps", "false");
    let most = (place.stats()["frontier"]["live"].as_u64().unwrap() + 300).to_string();
    let ran = crawl(&place, &site, &["--max-pages", &most]);
    assert!(ran.stderr.contains("Done: the page limit is reached."), "{}", ran.stderr);
    assert_eq!(place.stats()["frontier"]["deferred"], 0);
    seine(&place, &["audit"]);
}

/// A session that is in every link of a page and differs from page to page.
#[test]
fn a_session_is_known_by_its_effect_and_links_lose_it() {
    let answer = |ask: &Ask| {
        let (path, query) = ask.path_and_query.split_once('?').unwrap_or((&ask.path_and_query, ""));
        let Ok(number) = path.trim_start_matches("/shop/").parse::<usize>() else {
            return Answer::text("").status(404);
        };
        let page = query.split('&').find_map(|it| it.strip_prefix("part=")).unwrap_or("1");
        let visitor = fastrand::u64(..);
        let to: Vec<String> = [0, number / 2, number * 2 + 1, number * 2 + 2, (number * 7 + 3) % 200]
            .into_iter()
            .filter(|to| *to < 200)
            .flat_map(|to| [format!("/shop/{to}?visitor={visitor}"), format!("/shop/{to}?part=2&visitor={visitor}")])
            .collect();
        let links: String = to.iter().map(|url| format!("<a href=\"{url}\">more</a> ")).collect();
        Answer::html(format!("{NAVIGATION}<p>{}</p>{links}", text(number * 10 + page.parse::<usize>().unwrap())))
    };
    let site = Running::start(1, Arc::new(answer));
    let place = Place::new();
    let seeds = [site.origin(0) + "/shop/0"];
    let ran = Process::start(place.crawl(&seeds, &["--delay", "0"])).wait_for(Duration::from_secs(110)).ok();
    assert!(ran.stderr.contains("Done: nothing is left to fetch."), "{}", ran.stderr);
    let host = seine(&place, &["host", &site.origin(0)]);
    assert!(host.contains("parameter visitor is removed from links, since it carries a session"), "{host}");
    assert!(!host.contains("lose part"), "{host}");
    let kept: BTreeSet<(String, bool)> = place
        .kept()
        .into_keys()
        .map(|url| (url.split('?').next().unwrap().to_owned(), url.contains("part=2")))
        .collect();
    assert_eq!(kept.len(), 400, "every page is there, with and without its second part");
    eprintln!("{} requests for 400 pages", site.visits.len());
    assert!(site.visits.len() < 1200, "{} requests", site.visits.len());
}

#[test]
fn of_two_hosts_that_say_the_same_one_cools_down() {
    let answer = |ask: &Ask| match ask.path().trim_start_matches('/').parse::<usize>() {
        Ok(number) => {
            let to: Vec<String> =
                (number * 3 + 1..number * 3 + 4).filter(|to| *to < 900).map(|to| format!("/{to}")).collect();
            let links = links(&to.iter().map(String::as_str).collect::<Vec<_>>());
            Answer::html(format!("<p>{}</p>{links}", text(number)))
        }
        Err(_) => Answer::text("").status(404),
    };
    let site = Running::start(2, Arc::new(answer));
    let place = Place::new();
    let seeds = [site.origin(0) + "/0", site.origin(1) + "/0"];
    let ran = Process::start(place.crawl(&seeds, &["--delay", "0"])).wait().ok();
    assert!(ran.stderr.contains("Done: nothing is left to fetch."), "{}", ran.stderr);
    let at = |host: usize| site.visits.all().iter().filter(|visit| site.origin(host).contains(&visit.host)).count();
    eprintln!("{} and {} requests", at(0), at(1));
    assert!(at(0) >= 900 && at(1) < 450, "{} and {} requests", at(0), at(1));
    let host = seine(&place, &["host", &site.origin(1)]);
    assert!(host.contains(&format!("a mirror of {}", site.origin(0))), "{host}");
    let held = format!("{}/899", site.origin(1));
    let why = seine(&place, &["why", &held]);
    assert!(why.contains("its host is a mirror of") || why.contains("no seed, page or sitemap"), "{why}");
}

/// Paginated lists, thin pages, pages that differ by a number: all finite, and completely fetched.
#[test]
fn a_large_site_that_ends_is_complete() {
    const ITEMS: usize = 1200;
    let answer = |ask: &Ask| {
        let (path, query) = ask.path_and_query.split_once('?').unwrap_or((&ask.path_and_query, ""));
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        match parts[..] {
            ["list"] => {
                let page: usize = query.trim_start_matches("page=").parse().unwrap_or(0);
                let items: Vec<String> =
                    (page * 20..(page * 20 + 20).min(ITEMS)).map(|item| format!("/item/{item}")).collect();
                let on = [format!("/list?page={}", (page + 1).min(ITEMS / 20 - 1))];
                let to: Vec<&str> = items.iter().chain(&on).map(String::as_str).collect();
                let names: String = items.iter().map(|item| text(item.len() + page)[..40].to_owned()).collect();
                Answer::html(format!("{NAVIGATION}{names}{}", links(&to)))
            }
            ["item", number] => Answer::html(format!(
                "{NAVIGATION}<h1>Item {number}</h1>In stock.<a href=/item/{number}/photo>Photo</a>"
            )),
            ["item", number, "photo"] => Answer::html(format!("{NAVIGATION}Photo of item {number}")),
            _ => Answer::text("").status(404),
        }
    };
    let site = Running::start(1, Arc::new(answer));
    let place = Place::new();
    let seeds = [site.origin(0) + "/list?page=0"];
    let ran = Process::start(place.crawl(&seeds, &["--delay", "0"])).wait().ok();
    let items = place.kept().into_keys().filter(|url| url.contains("/item/") && !url.ends_with("/photo")).count();
    assert_eq!(items, ITEMS, "{}\n{}", ran.stderr, seine(&place, &["host", &site.origin(0)]));
}
