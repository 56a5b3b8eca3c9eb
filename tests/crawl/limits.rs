//! Limits of a crawl: pages, depth, scope, private addresses.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::server::Answer;

use crate::support::program::{Place, Process, run};
use crate::support::{Plan, Running, TestSite, link, links, origin};

#[test]
fn max_pages_is_kept_to_and_may_be_raised_later() {
    let site = TestSite::start(Plan { pages: 100, failing_every: 0, ..Plan::default() });
    let place = Place::new();
    for most in [1, 25, 60] {
        let limit = most.to_string();
        let ran = Process::start(place.crawl(&site.seeds(), &["--delay", "5", "--max-pages", &limit])).wait().ok();
        assert!(ran.stderr.contains("Done: the page limit is reached."), "{}", ran.stderr);
        assert_eq!(place.stats()["frontier"]["live"], most);
        assert_eq!(place.kept().len(), most);
    }
    let ran = Process::start(place.crawl(&site.seeds(), &["--delay", "0", "--max-pages", "100000"])).wait().ok();
    assert!(ran.stderr.contains("Done: nothing is left to fetch."), "{}", ran.stderr);
    assert_eq!(place.kept().into_keys().collect::<BTreeSet<_>>(), site.pages());
}

/// `/0` links to `/1` and so on, without end.
fn endless() -> Running {
    Running::start_with(1, |_| {
        Arc::new(|ask| match ask.path()[1..].parse::<u64>() {
            Ok(number) => Answer::html(link(&format!("/{}", number + 1))),
            Err(_) => Answer::text("").status(404),
        })
    })
}

#[test]
fn max_depth_counts_links_from_a_seed() {
    let site = endless();
    for depth in [0, 1, 4] {
        let place = Place::new();
        let limit = depth.to_string();
        let seeds = [site.origin(0) + "/0"];
        Process::start(place.crawl(&seeds, &["--delay", "0", "--max-depth", &limit])).wait().ok();
        let expected: BTreeSet<String> = (0..=depth).map(|number| format!("{}/{number}", site.origin(0))).collect();
        assert_eq!(place.kept().into_keys().collect::<BTreeSet<_>>(), expected, "depth {depth}");
    }
}

/// `/c` is found by three links first: `/0`, `/a`, `/b`. `/x` on the other host leads there by a shorter way. It
/// answers as soon as `/c` was requested.
fn a_short_and_slow_way(x: fn(&str) -> Answer) -> Running {
    let was_requested = AtomicBool::new(false);
    Running::start_with(2, move |port| {
        Arc::new(move |ask| match ask.path() {
            "/0" => Answer::html(links(&["/a", &(origin(port, 1) + "/x")])),
            "/a" => Answer::html(links(&["/b"])),
            "/b" => Answer::html(links(&["/c"])),
            "/c" => {
                was_requested.store(true, Ordering::SeqCst);
                match ask.header("if-none-match") {
                    Some(_) => Answer::new(304, "").header("etag", "\"c\""),
                    None => Answer::html(links(&["/d"])).header("etag", "\"c\""),
                }
            }
            "/d" => Answer::html(links(&["/e"])),
            "/x" if was_requested.load(Ordering::SeqCst) => x(&(origin(port, 0) + "/c")),
            "/x" => Answer::text("").status(503),
            "/e" => Answer::html("the end"),
            _ => Answer::text("").status(404),
        })
    })
}

#[test]
fn max_depth_counts_the_links_of_the_shortest_way() {
    let by_link: fn(&str) -> Answer = |to| Answer::html(links(&[to]));
    let by_redirect: fn(&str) -> Answer = |to| Answer::redirect(301, to);
    for (x, found, too_deep) in [(by_link, "/d", Some("/e")), (by_redirect, "/e", None)] {
        let site = a_short_and_slow_way(x);
        let place = Place::with("crawler_manager.downloader.redirects: first\n");
        let more = ["--delay", "0", "--max-depth", "3", "--scope", "any"];
        Process::start(place.crawl(&[site.origin(0) + "/0"], &more)).wait().ok();
        let kept = place.kept();
        let has = |path: &str| kept.keys().any(|url| url.ends_with(path));
        assert!(has("/c") && has(found), "{kept:?}");
        assert!(too_deep.is_none_or(|path| !has(path)), "{kept:?}");
    }
}

#[test]
fn a_known_page_that_is_given_as_a_seed_has_depth_0() {
    let (site, place) = (endless(), Place::new());
    for (seed, last) in [("/0", 3), ("/3", 6), ("/2", 6)] {
        let seeds = [site.origin(0) + seed];
        Process::start(place.crawl(&seeds, &["--delay", "0", "--max-depth", "3"])).wait().ok();
        let expected: BTreeSet<String> = (0..=last).map(|number| format!("{}/{number}", site.origin(0))).collect();
        assert_eq!(place.kept().into_keys().collect::<BTreeSet<_>>(), expected, "{seed}");
    }
}

/// Three hosts that link to each other; two belong to one domain.
fn three_hosts() -> (Running, Vec<String>, Vec<String>) {
    let names = ["www.saltmere-shop.co.uk", "blog.saltmere-shop.co.uk", "saltmere-news.co.uk"];
    let site = Running::start_with(3, |port| {
        Arc::new(move |ask| match ask.path() {
            "/" => Answer::html(links(
                &names.map(|name| format!("http://{name}:{port}/{}", &ask.host)).each_ref().map(String::as_str),
            )),
            "/robots.txt" | "/sitemap.xml" => Answer::text("").status(404),
            _ => Answer::html(links(&["/"])),
        })
    });
    let urls = names.map(|name| format!("http://{name}:{}/", site.port)).to_vec();
    let resolve = names.iter().zip(&site.addresses).flat_map(|(name, ip)| ["--resolve".into(), format!("{name}={ip}")]);
    let resolve = resolve.collect();
    (site, urls, resolve)
}

#[test]
fn scope_is_the_host_the_domain_or_anything() {
    let (site, urls, resolve) = three_hosts();
    let hosts_visited = |more: &[&str]| {
        let place = Place::new();
        let before = site.visits.len();
        let mut arguments: Vec<&str> = resolve.iter().map(String::as_str).collect();
        arguments.extend(["--delay", "0"].iter().chain(more));
        let ran = Process::start(place.crawl(&urls[..1], &arguments)).wait().ok();
        let visited: BTreeSet<String> = site.visits.all().split_off(before).into_iter().map(|v| v.host).collect();
        (visited.into_iter().collect::<Vec<_>>(), ran.stderr)
    };
    assert_eq!(hosts_visited(&[]).0, ["www.saltmere-shop.co.uk"], "the seeds' hosts are the default");
    assert_eq!(hosts_visited(&["--scope", "host"]).0, ["www.saltmere-shop.co.uk"]);
    assert_eq!(hosts_visited(&["--scope", "domain"]).0, ["blog.saltmere-shop.co.uk", "www.saltmere-shop.co.uk"]);
    let (visited, told) = hosts_visited(&["--scope", "any"]);
    assert_eq!(visited, ["blog.saltmere-shop.co.uk", "saltmere-news.co.uk", "www.saltmere-shop.co.uk"]);
    assert!(told.contains("follows links to every host"), "{told}");
}

/// A domain with endless subdomains gets a limited number; the rest is counted, reported and explained.
#[test]
fn a_domain_has_so_many_hosts_at_most() {
    let names: Vec<String> = (0..6).map(|n| format!("s{n}.many.test")).collect();
    let (linked, resolved) = (names.clone(), names.iter());
    let site = Running::start_with(1, |port| {
        let urls: Vec<String> = linked.iter().map(|name| format!("http://{name}:{port}/")).collect();
        Arc::new(move |ask| match ask.path() {
            "/" => Answer::html(links(&urls.iter().map(String::as_str).collect::<Vec<_>>())),
            _ => Answer::text("").status(404),
        })
    });
    let resolve: Vec<String> =
        resolved.flat_map(|name| ["--resolve".into(), format!("{name}={}", site.addresses[0])]).collect();
    let place = Place::with("link_storage.max_hosts_per_domain: 4\n");
    let mut arguments: Vec<&str> = resolve.iter().map(String::as_str).collect();
    arguments.extend(["--delay", "0", "--scope", "domain"]);
    let url = |n: usize| format!("http://{}:{}/", names[n], site.port);
    let ran = Process::start(place.crawl(&[url(0)], &arguments)).wait().ok();
    assert_eq!(place.kept().into_keys().collect::<Vec<_>>(), [url(0), url(1), url(2), url(3)]);
    let line =
        ran.stderr.lines().find(|line| line.contains("over hosts")).expect("the summary counts what is left out");
    assert!(line.contains("  8  ") && line.contains("link_storage.max_hosts_per_domain"), "{line}");
    let why = run(&["why", "-o", place.data().to_str().unwrap(), &url(5)]).stdout;
    assert!(why.contains("its domain has 4 hosts") && why.contains("link_storage.max_hosts_per_domain"), "{why}");
}

#[test]
fn a_redirect_out_of_scope_is_not_followed() {
    let (site, urls, resolve) = three_hosts();
    let elsewhere = urls[2].clone();
    let leaving = Running::start_with(1, |_| {
        Arc::new(move |ask| match ask.path() {
            "/" => Answer::redirect(302, &elsewhere),
            _ => Answer::text("").status(404),
        })
    });
    let place = Place::new();
    let mut arguments: Vec<&str> = resolve.iter().map(String::as_str).collect();
    arguments.extend(["--delay", "0"]);
    let ran = Process::start(place.crawl(&[leaving.origin(0) + "/"], &arguments)).wait().exits(3);
    assert!(ran.stderr.contains("bad_redirect"), "{}", ran.stderr);
    assert!(site.visits.is_empty());
    assert_eq!(place.stats()["frontier"]["failed"], 1);
}

#[test]
fn private_addresses_are_refused_unless_allowed() {
    let site = endless();
    let place = Place::with("crawler_manager.downloader.allow_private_addresses: false");
    let seeds = [site.origin(0) + "/0", format!("http://intern.test:{}/0", site.port)];
    let more = ["--delay", "0", "--max-depth", "1", "--resolve", "intern.test=127.0.0.11"];
    let ran = Process::start(place.crawl(&seeds, &more)).wait().exits(3);
    assert!(site.visits.is_empty(), "{:?}", site.visits.all());
    let line = ran.stderr.lines().find(|line| line.contains("private_address")).expect("the summary names the reason");
    assert!(line.contains("  2  ") && line.contains("--allow-private"), "{line}");
    assert_eq!(place.stats()["frontier"]["failed"], 2);

    let allowed = Place::with("crawler_manager.downloader.allow_private_addresses: false");
    Process::start(allowed.crawl(&seeds, &[&more[..], &["--allow-private"]].concat())).wait().ok();
    assert_eq!(allowed.kept().len(), 4);
}

/// Links, and redirects, can point inside a private network on purpose.
#[test]
fn a_public_looking_name_or_a_redirect_to_a_private_address_is_refused() {
    let site = endless();
    let place = Place::with("crawler_manager.downloader.allow_private_addresses: false");
    let seeds: Vec<String> = ["[::1]", "localhost", "2130706433", "0x7f.1", "127.1"]
        .iter()
        .map(|host| format!("http://{host}:{}/0", site.port))
        .collect();
    Process::start(place.crawl(&seeds, &["--delay", "0"])).wait().exits(3);
    assert!(site.visits.is_empty());
    let stats = place.stats();
    assert_eq!(stats["frontier"]["failed"], stats["page"]);
    assert_eq!(stats["page"], 3, "three of the five are one address");
}
