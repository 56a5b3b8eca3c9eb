//! Failing hosts and pages: an attempt is counted for a URL only if the URL itself failed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::support::server::{Answer, Ask, Body};

use crate::support::dns::{NameServer, Say};
use crate::support::program::{Place, Process, command, eventually, free_port, run};
use crate::support::{Running, counted, links};

const PATHS: [&str; 8] = ["/1", "/2", "/3", "/4", "/5", "/6", "/7", "/8"];

/// A front page with links to eight others. `trouble`: the answer to the `n`th request for a page, if it is to fail.
fn site(trouble: impl Fn(usize, &str) -> Option<Answer> + Send + Sync + 'static) -> Running {
    let asked = AtomicUsize::new(0);
    Running::start_with(1, |_| {
        Arc::new(move |ask| match ask.path() {
            "/robots.txt" | "/sitemap.xml" => Answer::text("").status(404),
            path => trouble(asked.fetch_add(1, Ordering::SeqCst), path).unwrap_or_else(|| match path {
                "/" => Answer::html(links(&PATHS)),
                _ => Answer::html("a page"),
            }),
        })
    })
}

fn crawl(site: &Running, place: &Place) {
    crawl_with(site, place, &["--delay", "0"]);
}

fn crawl_with(site: &Running, place: &Place, args: &[&str]) {
    Process::start(place.crawl(&[site.origin(0) + "/"], args)).wait().ok();
}

/// One attempt only: a URL blamed for its host's failure is lost.
const ONE_ATTEMPT: &str = "crawler_manager.downloader.max_retry_count: 0";

#[test]
fn a_site_that_is_overloaded_for_a_while_loses_no_page() {
    for status in [503, 429] {
        let site = site(move |n, _| (n == 0 || (3..8).contains(&n)).then(|| Answer::new(status, "")));
        let place = Place::with(ONE_ATTEMPT);
        crawl(&site, &place);
        assert_eq!(place.kept().len(), 9, "{status}: {}", place.stats());
    }
}

#[test]
fn a_site_that_breaks_off_connections_for_a_while_loses_no_page() {
    let site = site(|n, _| (n == 0 || (3..8).contains(&n)).then(Answer::close));
    let place = Place::with(ONE_ATTEMPT);
    crawl(&site, &place);
    assert_eq!(place.kept().len(), 9, "{}", place.stats());
}

/// The first failure may be the URL's own, which counts one attempt. No further attempt is counted.
#[test]
fn a_whole_site_that_fails_for_a_while_costs_one_attempt() {
    for status in [500, 502, 504, 522] {
        let site = site(move |n, _| (2..7).contains(&n).then(|| Answer::new(status, "")));
        let place = Place::with("crawler_manager.downloader.max_retry_count: 1");
        crawl(&site, &place);
        assert_eq!(place.kept().len(), 9, "{status}: {}", place.stats());
    }
}

/// The failing URLs are all that is left of their host, and fail one after the other, as if the host were down. An
/// existing page shows that it is not: each URL's attempts count, and the crawl ends.
#[test]
fn pages_that_always_fail_are_not_taken_for_their_hosts_trouble() {
    for status in [500, 502] {
        let fails = |path: &str| ["/4", "/5", "/6", "/7", "/8"].contains(&path);
        let site = site(move |_, path| fails(path).then(|| Answer::new(status, "")));
        let place = Place::with(
            "crawler_manager.downloader.max_retry_count: 2
link_storage.scheduler.backoff_max: 1s",
        );
        crawl(&site, &place);
        let stats = place.stats();
        assert_eq!((&stats["frontier"]["live"], &stats["frontier"]["refused"]), (&4.into(), &5.into()), "{stats}");
        let visits = site.visits.all();
        for path in PATHS.into_iter().filter(|path| fails(path)) {
            let asked = visits.iter().filter(|visit| visit.path == path).count();
            // One attempt may have been blamed on the host before the first page was known.
            assert!((3..=4).contains(&asked), "{path} was asked for {asked} times");
        }
    }
}

const ARTICLES: usize = 20;

/// A front page with twenty articles among twenty other pages. `error`: the answer to the `n`th request for an article,
/// when articles were requested `all` times before.
fn newspaper(error: impl Fn(u32, usize) -> Option<Answer> + Send + Sync + 'static) -> Running {
    let paths: Vec<String> = (0..ARTICLES).flat_map(|n| [format!("/article{n}"), format!("/page{n}")]).collect();
    let all = AtomicUsize::new(0);
    Running::start(
        1,
        counted(move |ask, n| match ask.path() {
            "/robots.txt" | "/sitemap.xml" => Answer::text("").status(404),
            "/" => Answer::html(links(&paths.iter().map(String::as_str).collect::<Vec<_>>())),
            path if path.starts_with("/article") => {
                let answer = error(n, all.fetch_add(1, Ordering::SeqCst));
                answer.unwrap_or_else(|| Answer::html(format!("the article {path}")))
            }
            path => Answer::html(format!("the page {path}")),
        }),
    )
}

/// As when an overloaded database affects a part of a site: its home page and other pages always work.
#[test]
fn many_pages_that_fail_together_are_their_hosts_trouble_though_it_answers_others() {
    for status in [500, 502] {
        // Longer than all attempts of each.
        let site = newspaper(move |_, all| (all < 4 * ARTICLES).then(|| Answer::new(status, "")));
        let place = Place::with("crawler_manager.downloader.max_retry_count: 2");
        crawl(&site, &place);
        assert_eq!(place.kept().len(), 1 + 2 * ARTICLES, "{status}: {}", place.stats());
    }
}

/// They wait, the run ends, and names them. The other pages were fetched.
#[test]
fn many_pages_that_fail_for_long_are_named_at_the_end() {
    let site = newspaper(|_, _| Some(Answer::new(500, "")));
    let place = Place::with("crawler_manager.downloader.max_retry_count: 1");
    let args = ["--delay", "0", "--patience", "2s"];
    let ran = Process::start(place.crawl(&[site.origin(0) + "/"], &args)).wait().exits(4);
    let origin = site.origin(0);
    for words in ["20 URLs: answers with status 500", &origin, "many URLs together"] {
        assert!(ran.stderr.contains(words), "{words:?} is not in:\n{}", ran.stderr);
    }
    let frontier = &place.stats()["frontier"];
    assert_eq!((&frontier["live"], &frontier["refused"]), (&21.into(), &0.into()), "{frontier}");
}

/// Good pages mixed with bad ones. The home page links to them in order.
fn mixed(count: usize, is_bad: fn(usize) -> bool, bad: Answer) -> Running {
    let paths: Vec<String> = (0..count).map(|n| format!("/{n}")).collect();
    Running::start(
        1,
        Arc::new(move |ask: &Ask| match ask.path() {
            "/" => Answer::html(links(&paths.iter().map(String::as_str).collect::<Vec<_>>())),
            path => match path[1..].parse() {
                Ok(n) if is_bad(n) => bad.clone(),
                Ok(_) => Answer::html(format!("page {path}")),
                Err(_) => Answer::text("").status(404),
            },
        }),
    )
}

/// A host that answers other URLs is healthy, however many of its URLs fail in between. A single back-off would outlast
/// the crawl.
#[test]
fn bad_urls_among_good_ones_do_not_make_their_host_rest() {
    for bad in [Answer::new(503, ""), Answer::new(500, ""), Answer::close()] {
        // Sometimes three in a row.
        let site = mixed(60, |n| n % 3 == 0 || n % 10 < 2, bad);
        let place = Place::with("link_storage.scheduler.backoff_base: 10m");
        let args = ["--delay", "1ms", "--patience", "1s"];
        Process::start(place.crawl(&[site.origin(0) + "/"], &args)).wait().exits(4);
        let good = (0..60).filter(|n| !(n % 3 == 0 || n % 10 < 2)).count();
        assert_eq!(place.stats()["frontier"]["live"], 1 + good, "{}", place.stats());
        let home = site.visits.all().iter().filter(|visit| visit.path == "/").count();
        assert!(home <= 4, "the host was asked for its home page {home} times, once more in each visit at most");
    }
}

/// Two of five fail with 503: the host is well, and no good page is left when the patience is over.
#[test]
fn a_host_with_84_bad_urls_among_208_gives_all_the_others() {
    let site = mixed(208, |n| n % 5 < 2, Answer::new(503, ""));
    let place = Place::with("crawler_manager.downloader.max_retry_count: 3");
    let args = ["--delay", "1ms", "--patience", "2s"];
    Process::start(place.crawl(&[site.origin(0) + "/"], &args)).wait();
    assert_eq!(place.stats()["frontier"]["live"], 1 + 208 - 84, "{}", place.stats());
    let of_good = |path: &str| path[1..].parse::<usize>().is_ok_and(|n| n % 5 >= 2);
    let good = site.visits.all().iter().filter(|visit| of_good(&visit.path)).count();
    assert!(good <= 124 + 4, "good pages were asked for {good} times, as witnesses for the others");
}

/// The first of them hangs in every attempt, for longer than the patience.
#[test]
fn a_thousand_fresh_urls_do_not_wait_for_one_that_hangs() {
    let site = mixed(1001, |n| n == 0, Answer::html("late").after(Duration::from_secs(60)));
    let place =
        Place::with("crawler_manager.downloader.header_timeout: 1s\nlink_storage.scheduler.backoff_base: 100ms");
    let args = ["--delay", "0", "--patience", "2s"];
    Process::start(place.crawl(&[site.origin(0) + "/"], &args)).wait();
    assert_eq!(place.stats()["frontier"]["live"], 1001, "{}", place.stats());
    let visits = site.visits.all();
    let (again, last) =
        (visits.iter().filter(|visit| visit.path == "/0").nth(1), visits.iter().find(|it| it.path == "/1000"));
    assert!(again.is_none_or(|again| again.at > last.unwrap().at), "it was tried again before the last of the others");
}

/// URLs never requested come first: a slow URL that fails does not delay the others twice.
#[test]
fn a_url_that_failed_is_tried_again_behind_those_that_were_never_asked_for() {
    let site = mixed(100, |n| n == 0, Answer::new(500, ""));
    let place = Place::with("crawler_manager.downloader.max_retry_count: 1");
    crawl_with(&site, &place, &["--delay", "20ms"]);
    let visits = site.visits.all();
    let places: Vec<usize> = (0..visits.len()).filter(|at| visits[*at].path == "/0").collect();
    let last_new = visits.iter().position(|visit| visit.path == "/99");
    assert!(places.len() == 2 && Some(places[1]) > last_new, "{places:?}, {last_new:?}");
}

/// `seine retry` accepts the name used in the summary.
#[test]
fn pages_that_failed_with_5xx_are_retried_by_the_name_of_the_summary() {
    let site = site(|_, path| match path {
        "/2" => Some(Answer::new(404, "")),
        "/3" | "/4" => Some(Answer::new(500, "")),
        _ => None,
    });
    let place = Place::with("crawler_manager.downloader.max_retry_count: 0");
    let ran = Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0"])).wait().ok();
    let data = place.data();
    let retried = |reasons: &[&str]| {
        let named = reasons.iter().flat_map(|reason| ["--reason", *reason]);
        let args: Vec<&str> = ["retry", "-o", data.to_str().unwrap(), "--dry-run"].into_iter().chain(named).collect();
        let told = run(&args).ok().stdout;
        told.lines().last().and_then(|line| line.split(' ').next()).and_then(|n| n.parse().ok()).unwrap_or(0)
    };
    let counted_by = ["5xx", "4xx", "refused"];
    for name in counted_by {
        assert!(ran.stderr.contains(&format!("  {name} ")), "{name} is not in:\n{}", ran.stderr);
    }
    assert_eq!(counted_by.map(|name| retried(&[name])), [2, 2, 4], "sitemap.xml is not there, either");
    assert_eq!((retried(&[]), retried(&["5xx", "4xx"]), retried(&["failed"]), retried(&["2xx"])), (2, 4, 0, 0));
}

/// A page of each table: fetched in part, withheld, an alias, and those that were refused or have gone.
#[test]
fn every_table_of_the_summary_can_be_retried_or_says_why_not() {
    let site = site(|_, path| {
        Some(match path {
            "/2" => Answer::html("half").body(Body::Cut { bytes: "<p>half".into(), announced: 500 }),
            "/3" => Answer::html("<meta name=robots content=noindex>"),
            "/4" => Answer::redirect(301, "/5"),
            "/6" => Answer::new(404, ""),
            _ => return None,
        })
    });
    let place = Place::with(
        "crawler_manager.downloader.max_retry_count: 0\ncrawler_manager.downloader.redirects: first\n\
         duplicates.enabled: true\n",
    );
    let ran = Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0"])).wait().ok();
    let tables = ran.stderr.split("\n\n").find(|part| part.trim_start().starts_with("pages ")).unwrap();
    let data = place.data();
    let retry = |name: &str| run(&["retry", "-o", data.to_str().unwrap(), "--dry-run", "--reason", name]);
    let mut named = Vec::new();
    for line in tables.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   ")) {
        let (name, count) = line.trim().split_once("  ").unwrap();
        let count: u64 = count.split_whitespace().next().unwrap().parse().unwrap();
        let told = retry(name);
        named.push(name);
        match name {
            "truncated" | "refused" | "withheld" | "aliases" => {
                let told = told.ok().stdout;
                let retried: u64 = told.lines().last().unwrap().split(' ').next().unwrap().parse().unwrap_or(0);
                // sitemap.xml, which is no page, was refused as well.
                assert!((count..=count + u64::from(name == "refused")).contains(&retried), "{name}: {told}");
            }
            // Their URLs have their page.
            _ => drop(told.fails_naming(&[name, "one of", "withheld"])),
        }
    }
    for name in ["duplicates", "truncated", "refused", "withheld", "aliases"] {
        assert!(named.contains(&name), "{name} is not in:\n{tables}");
    }
}

/// No other URL could show whether the host is down, so its robots.txt is requested.
#[test]
fn the_only_page_of_a_site_that_fails_for_a_while_is_not_given_up() {
    let pages = AtomicUsize::new(0);
    let site = Running::start_with(1, |_| {
        let pages = pages;
        Arc::new(move |ask| match ask.path() {
            "/" if pages.fetch_add(1, Ordering::SeqCst) < 3 => Answer::new(500, ""),
            "/" => Answer::html("a page"),
            "/robots.txt" if (1..3).contains(&pages.load(Ordering::SeqCst)) => Answer::new(500, ""),
            _ => Answer::text("").status(404),
        })
    });
    let place = Place::with("crawler_manager.downloader.max_retry_count: 1");
    crawl(&site, &place);
    assert_eq!(place.kept().len(), 1, "{}", place.stats());
}

#[test]
fn a_page_that_alone_fails_is_given_up_while_its_neighbours_go_on() {
    let site = site(|_, path| (path == "/3").then(|| Answer::new(500, "")));
    let place = Place::with("crawler_manager.downloader.max_retry_count: 2");
    crawl(&site, &place);
    assert_eq!(place.kept().len(), 8);
    let tries = site.visits.all().iter().filter(|visit| visit.path == "/3").count();
    assert_eq!((tries, &place.stats()["frontier"]["refused"]), (3, &1.into()));
}

/// A page that always answers 503, on a healthy host: even this is not waited for without end.
#[test]
fn a_page_that_alone_is_turned_away_is_given_up_too() {
    let site = site(|_, path| (path == "/3").then(|| Answer::new(503, "")));
    let place = Place::with("crawler_manager.downloader.max_retry_count: 1\nlink_storage.scheduler.give_up_after: 3s");
    crawl(&site, &place);
    assert_eq!(place.kept().len(), 8);
    // Given up by itself, or with its host if it is the last URL there; then it waits until the host is met again.
    let frontier = &place.stats()["frontier"];
    assert_eq!((&frontier["first_time"], &frontier["live"]), (&0.into(), &8.into()), "{frontier}");
}

/// A page fails, so Seine requests a control page. It obeys the Retry-After of the control page.
#[test]
fn a_pause_that_a_control_page_asks_for_is_kept() {
    let since = Arc::new(AtomicUsize::new(usize::MAX));
    let fails = since.clone();
    let site = site(move |n, _| match n.checked_sub(fails.load(Ordering::SeqCst))? {
        0 => Some(Answer::new(500, "")),
        _ => Some(Answer::new(503, "").header("retry-after", "3600")),
    });
    let place = Place::with(&format!("{ONE_ATTEMPT}\nlink_storage.recrawl: {{interval: 1s, min_interval: 1s}}\n"));
    Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0", "--max-pages", "9"])).wait();
    let pages =
        || site.visits.all().iter().filter(|visit| visit.path != "/robots.txt" && visit.path != "/sitemap.xml").count();
    let before = pages();
    since.store(before, Ordering::SeqCst);
    let again = || Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0", "--patience", "5s"])).wait();
    eventually("a recheck is due, and the host rests", || again().status.code() == Some(4));
    assert_eq!(pages() - before, 2, "the page that fails, and one to compare");
}

/// The last URL redirects to a host that is down. It waits longer and longer, and its attempts do not count.
#[test]
fn the_last_url_is_not_waited_for_longer_than_the_patience() {
    // Nobody listens at port 9 of the same host.
    let down = |ask: &Ask| format!("http://{}:9/", ask.header("host").unwrap_or_default().split(':').next().unwrap());
    let site = Running::start_with(1, |_| {
        Arc::new(move |ask| match ask.path() {
            "/robots.txt" | "/sitemap.xml" => Answer::text("").status(404),
            "/" => Answer::html(links(&PATHS)),
            "/3" => Answer::new(302, "").header("location", down(ask)),
            _ => Answer::html("a page"),
        })
    });
    let place = Place::with("link_storage.scheduler.backoff_base: 5s\n");
    let began = Instant::now();
    let ran =
        Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0", "--patience", "3s"])).wait().exits(4);
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert_eq!(place.kept().len(), 8, "{}", ran.stderr);
}

#[test]
fn a_name_that_does_not_resolve_for_a_while_costs_nothing() {
    let site = site(|_, _| None);
    let (asked, address) = (AtomicUsize::new(0), site.addresses[0]);
    let server = NameServer::start(move |_| match asked.fetch_add(1, Ordering::SeqCst) {
        0..6 => Say::Failure,
        _ => Say::Address(address),
    });
    let place = Place::with(&format!(
        "{ONE_ATTEMPT}\ncrawler_manager.downloader.dns.servers: [\"{}\"]\n\
         crawler_manager.downloader.dns.negative_ttl: 10ms",
        server.address
    ));
    let seed = format!("http://site.example:{}/", site.port);
    Process::start(place.crawl(&[seed], &["--delay", "0"])).wait().ok();
    assert_eq!(place.kept().len(), 9, "{}", place.stats());
}

/// `good.example` and its subdomains are at `address`; no other name exists.
fn names_below_good(address: std::net::IpAddr) -> NameServer {
    NameServer::start(move |name| match name.ends_with("good.example") {
        true => Say::Address(address),
        false => Say::NoSuchName,
    })
}

fn asking(server: &NameServer) -> Place {
    Place::with(&format!(
        "link_storage.link_strategy.use_scope: false\nlink_storage.scheduler.backoff_base: 5s\n\
         crawler_manager.downloader.dns.servers: [\"{}\"]",
        server.address
    ))
}

/// Dead links are common: they fail, whether reached by a link or a redirect, and nothing waits for them.
#[test]
fn names_that_do_not_exist_fail_and_the_crawl_ends() {
    let site = Running::start_with(1, |_| {
        Arc::new(|ask| match ask.path() {
            "/" => {
                let dead: Vec<String> = (0..5).map(|n| format!("http://dead{n}.example/page")).collect();
                let all: Vec<&str> = dead.iter().map(String::as_str).chain(["/live", "/moved"]).collect();
                Answer::html(links(&all))
            }
            "/live" => Answer::html("a page"),
            "/moved" => Answer::redirect(302, "http://gone.example/"),
            _ => Answer::text("").status(404),
        })
    });
    let place = ends_before_its_patience(&site, (2, 6));
    let told = run(&["retry", "-o", place.data().to_str().unwrap(), "--dry-run"]).ok().stdout;
    assert!(told.contains("unknown_host") && told.contains("6 would be retried"), "{told}");
}

/// They do not wait for each other's back-off.
#[test]
fn many_redirects_to_a_name_that_does_not_exist_fail_as_soon_as_one() {
    let site = Running::start_with(1, |_| {
        Arc::new(|ask| match ask.path() {
            "/" => {
                let moved: Vec<String> = (0..10).map(|n| format!("/moved{n}")).collect();
                Answer::html(links(&moved.iter().map(String::as_str).collect::<Vec<_>>()))
            }
            path if path.starts_with("/moved") => Answer::redirect(302, &format!("http://gone.example{path}")),
            _ => Answer::text("").status(404),
        })
    });
    ends_before_its_patience(&site, (1, 10));
}

/// Crawls the site as `good.example`, beside which no name exists. Nothing waits, and so many URLs are live and failed.
fn ends_before_its_patience(site: &Running, (live, failed): (u64, u64)) -> Place {
    let server = names_below_good(site.addresses[0]);
    let place = asking(&server);
    let seed = format!("http://good.example:{}/", site.port);
    let began = Instant::now();
    Process::start(place.crawl(&[seed], &["--delay", "0", "--patience", "60s"])).wait().ok();
    let frontier = &place.stats()["frontier"];
    assert_eq!((&frontier["live"], &frontier["failed"]), (&live.into(), &failed.into()), "{frontier}");
    assert!(began.elapsed() < Duration::from_secs(45), "it waited: {:?}", began.elapsed());
    place
}

#[test]
fn a_seed_with_a_typo_in_its_host_ends_the_crawl_soon_and_is_named() {
    let server = names_below_good(std::net::Ipv4Addr::LOCALHOST.into());
    let place = asking(&server);
    let seed = "http://godo.example/".to_owned();
    let began = Instant::now();
    let ran = Process::start(place.crawl(&[seed], &["--patience", "60s"])).wait().exits(3);
    let told = "the seed http://godo.example/ failed: the host name does not exist, or has no address";
    assert!(ran.stderr.contains(told), "{}", ran.stderr);
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
}

/// If name servers deny every name, they or this machine have a problem.
#[test]
fn name_servers_that_deny_every_name_are_not_believed() {
    let server = NameServer::start(|_| Say::NoSuchName);
    let place = asking(&server);
    let seeds: Vec<String> = (0..6).map(|n| format!("http://h{n}.example/")).collect();
    Process::start(place.crawl(&seeds, &["--patience", "6s"])).wait().exits(4);
    let frontier = &place.stats()["frontier"];
    assert!(frontier["first_time"].as_u64() >= Some(4), "{frontier}");
}

/// One worker gets hosts with one page each: it reads the next host's robots.txt while the first waits for its delay.
#[test]
fn a_worker_visits_others_while_a_host_rests_after_its_robots_txt() {
    const HOSTS: usize = 5;
    let site = Running::start(
        HOSTS,
        Arc::new(|ask: &Ask| match ask.path() {
            "/" => Answer::html("a page"),
            _ => Answer::text("").status(404),
        }),
    );
    let place = Place::with(
        "crawler_manager.downloader.download_thread_pool_size: 1\nlink_storage.download_sitemap_xml: false",
    );
    let seeds: Vec<String> = (0..HOSTS).map(|at| site.origin(at) + "/").collect();
    Process::start(place.crawl(&seeds, &["--delay", "1500ms"])).wait().ok();
    assert_eq!(place.kept().len(), HOSTS);
    let visits = site.visits.all();
    let paths: Vec<&str> = visits.iter().map(|visit| visit.path.as_str()).collect();
    assert_eq!(paths, [["/robots.txt"; HOSTS], ["/"; HOSTS]].concat());
}

#[test]
fn proxies_in_the_environment_are_not_used_and_that_is_said() {
    let proxy = std::net::TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = format!("http://{}", proxy.local_addr().unwrap());
    let site = site(|_, _| None);
    let place = Place::new();
    let mut crawl = place.crawl(&[site.origin(0) + "/"], &["--delay", "0"]);
    crawl.env("HTTP_PROXY", &address).env("all_proxy", &address);
    let ran = Process::start(crawl).wait().ok();
    assert!(ran.stderr.contains("HTTP_PROXY, all_proxy are set, but Seine uses no proxy"), "{}", ran.stderr);
    assert_eq!(place.kept().len(), 9);

    // The token must not be sent through a proxy, where it could be read.
    let token = place.write("token", "secret-secret-secret");
    let nobody = format!("http://127.0.0.1:{}/", free_port());
    let mut work = command(&["work", "--server", &nobody, "--patience", "1s", "--token-file"]);
    work.arg(token).env("http_proxy", &address);
    let ran = Process::start(work).wait();
    assert!(ran.stderr.contains("http_proxy is set"), "{}", ran.stderr);
    proxy.set_nonblocking(true).unwrap();
    assert!(proxy.accept().is_err(), "somebody has asked the proxy");
}

/// A terminal stops reading standard error after Ctrl-S. Then the pipe is soon full.
#[test]
fn a_crawl_goes_on_if_nobody_reads_what_it_logs() {
    let site = site(|_, _| None);
    let place = Place::with("logging.filter: trace\n");
    let mut command = place.crawl(&[site.origin(0) + "/"], &["--delay", "0"]);
    let (unread, pipe) = std::io::pipe().unwrap();
    let mut process = command.stderr(pipe).spawn().unwrap();
    drop(command); // it has the pipe, too
    eventually("the crawl has ended", || process.try_wait().unwrap().is_some());
    assert!(process.wait().unwrap().success());
    assert_eq!(place.kept().len(), 9);
    drop(unread);
}
