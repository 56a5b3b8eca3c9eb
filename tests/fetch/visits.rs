//! A worker's visit as a whole: pauses between requests, failures in a row, the end of a crawl.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use seine_frontier::{LeaseLimits, PageState, Scheduler, Verdicts};
use seine_parse::page::{FailureReason, PageChange, Truncated, Withheld};
use seine_system::clock::now_ms;

use crate::sites::server::{Answer, Ask, Body};
use seine::config::FetchConfig;

use crate::redirects::site;
use crate::sites::Running;
use crate::support::{MiniCrawl, config_for, event_of, failure_of, status_of};

const LIMIT: Duration = Duration::from_secs(15);

#[tokio::test(flavor = "multi_thread")]
async fn names_without_address_are_waited_for_without_holding_anybody_up() {
    let site = site(1, |_, _| Answer::html("page"));
    let lost: Vec<String> = (0..20).map(|n| format!("http://nowhere.invalid/{n}")).collect();
    let here = format!("http://a.test:{}/", site.port);
    let seeds: Vec<&str> = lost.iter().chain([&here]).map(String::as_str).collect();
    for obey_robots in [true, false] {
        let mut config = config_for(&site);
        config.fetch.obey_robots = obey_robots;
        config.frontier.backoff_base = Duration::from_millis(100);
        config.frontier.backoff_max = Duration::from_secs(3600);
        config.frontier.give_up_after = Duration::from_millis(500);
        config.frontier.max_retries = 0;
        let events = MiniCrawl::new(config, &seeds).run(LIMIT).await;
        assert_eq!(status_of(event_of(&events, &here)), 200);
        for url in &lost {
            let failure = failure_of(event_of(&events, url));
            assert_eq!(failure.reason, FailureReason::UnknownHost, "{url}");
            assert!(failure.message.contains("nowhere.invalid"), "{}", failure.message);
        }
        assert!(events.iter().all(|event| event.attempt == 0), "nobody pays for a name");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn private_addresses_end_as_events_without_a_visit() {
    let site = site(1, |_, _| Answer::html("inside"));
    let mut config = config_for(&site);
    config.fetch = FetchConfig { allow_private: false, ..config.fetch };
    let urls = [format!("http://a.test:{}/", site.port), format!("http://127.0.0.11:{}/x", site.port)];
    let events = MiniCrawl::new(config, &urls.each_ref().map(String::as_str)).run(LIMIT).await;
    assert_eq!(events.len(), 2, "nothing is tried again");
    for url in &urls {
        assert_eq!(failure_of(event_of(&events, url)).reason, FailureReason::PrivateAddress, "{url}");
    }
    assert!(site.visits.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_goes_on_failing_is_left_alone_longer_and_longer() {
    let site = site(1, |_, _| Answer::new(503, ""));
    // Each of them is at its first attempt: the host fails again and again.
    let urls: Vec<String> = (0..5).map(|n| format!("http://a.test:{}/{n}", site.port)).collect();
    let mut config = config_for(&site);
    config.frontier.max_retries = 0;
    config.frontier.backoff_base = Duration::from_millis(100);
    config.frontier.backoff_max = Duration::from_secs(60);
    config.fetch.obey_robots = false;
    let seeds: Vec<&str> = urls.iter().map(String::as_str).collect();
    let visits = site.visits.clone();
    let events = MiniCrawl::new(config.clone(), &seeds).run_until(LIMIT, |_| visits.len() >= 5).await;
    assert!(events.iter().all(|event| event.again.is_some_and(|again| !again.counts)), "{events:?}");
    let gaps = |site: &Running| -> Vec<u128> {
        let at: Vec<Instant> = site.visits.all().iter().map(|visit| visit.at).collect();
        at.windows(2).map(|pair| (pair[1] - pair[0]).as_millis()).collect()
    };
    for (gap, least) in gaps(&site).into_iter().zip([100, 200, 400, 800]) {
        assert!(gap + 2 >= least, "{:?}", gaps(&site));
    }
    // With retries, the validation of a URL's first attempt must not reduce the host's failures.
    let again = self::site(1, |_, _| Answer::new(503, ""));
    let urls: Vec<String> = (0..5).map(|n| format!("http://a.test:{}/{n}", again.port)).collect();
    config.frontier.max_retries = 1;
    config.fetch.static_hosts = crate::support::names(&again);
    let seeds: Vec<&str> = urls.iter().map(String::as_str).collect();
    let visits = again.visits.clone();
    MiniCrawl::new(config, &seeds).run_until(LIMIT, |_| visits.len() >= 5).await;
    for (gap, least) in gaps(&again).into_iter().zip([100, 200, 400, 800]) {
        assert!(gap + 2 >= least, "{:?}", gaps(&again));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_ends_a_row_of_failures() {
    let asked = AtomicU32::new(0);
    let site = site(1, move |_, _| match asked.fetch_add(1, Ordering::SeqCst) % 2 {
        0 => Answer::new(503, ""),
        _ => Answer::html("page"),
    });
    let urls: Vec<String> = (0..6).map(|n| format!("http://a.test:{}/{n}", site.port)).collect();
    let mut config = config_for(&site);
    config.frontier.backoff_base = Duration::from_millis(50);
    config.frontier.backoff_max = Duration::from_secs(60);
    config.frontier.max_retries = 5;
    let seeds: Vec<&str> = urls.iter().map(String::as_str).collect();
    let events = MiniCrawl::new(config, &seeds).run(LIMIT).await;
    for url in &urls {
        assert_eq!(status_of(event_of(&events, url)), 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn retry_after_holds_for_the_whole_host() {
    let asked = AtomicU32::new(0);
    let site = site(1, move |_, _| match asked.fetch_add(1, Ordering::SeqCst) {
        1 => Answer::new(429, "").header("retry-after", "1"),
        _ => Answer::html("page"),
    });
    let urls: Vec<String> = (0..4).map(|n| format!("http://a.test:{}/{n}", site.port)).collect();
    let seeds: Vec<&str> = urls.iter().map(String::as_str).collect();
    let events = MiniCrawl::new(config_for(&site), &seeds).run(LIMIT).await;
    for url in &urls {
        assert_eq!(status_of(event_of(&events, url)), 200);
    }
    let visits: Vec<_> = site.visits.all().into_iter().filter(|visit| visit.path != "/robots.txt").collect();
    assert!(visits[2].at - visits[1].at >= Duration::from_millis(995), "{:?}", visits[2].at - visits[1].at);
}

#[tokio::test(flavor = "multi_thread")]
async fn crawl_delay_is_kept_up_to_its_limit() {
    for (asked, limit, expected) in [("0.3", 60_000, 300), ("3600", 250, 250)] {
        let site = Running::start(
            1,
            Arc::new(move |ask: &Ask| match ask.path() {
                "/robots.txt" => Answer::text(format!("User-agent: *\nCrawl-delay: {asked}\n")),
                _ => Answer::html("page"),
            }),
        );
        let urls: Vec<String> = (0..3).map(|n| format!("http://a.test:{}/{n}", site.port)).collect();
        let seeds: Vec<&str> = urls.iter().map(String::as_str).collect();
        let mut config = config_for(&site);
        config.frontier.max_crawl_delay = Duration::from_millis(limit);
        MiniCrawl::new(config, &seeds).run(LIMIT).await;
        let gap = site.visits.min_gap(|_| true).unwrap();
        assert!(gap + Duration::from_millis(1) >= Duration::from_millis(expected), "Crawl-delay {asked}: {gap:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_of_one_address_take_turns() {
    let site = site(1, |_, _| Answer::html("page"));
    let names: Vec<String> = (0..3).map(|n| format!("host{n}.test")).collect();
    let urls: Vec<String> = names.iter().map(|name| format!("http://{name}:{}/", site.port)).collect();
    let seeds: Vec<&str> = urls.iter().map(String::as_str).collect();
    let mut config = config_for(&site);
    config.fetch.static_hosts = names.iter().map(|name| (name.clone(), site.addresses.clone())).collect();
    config.frontier.ip_delay = Some(Duration::from_millis(300));
    let events = MiniCrawl::new(config, &seeds).run(LIMIT).await;
    assert!(urls.iter().all(|url| status_of(event_of(&events, url)) == 200));
    let gap = site.visits.min_gap(|_| true).unwrap();
    assert!(gap >= Duration::from_millis(299), "{gap:?}");
}

/// Every answer takes longer than the delay: robots.txt, pages, and a redirect from a host to its neighbour.
#[tokio::test(flavor = "multi_thread")]
async fn slow_hosts_of_one_address_are_asked_one_after_the_other() {
    let site = Running::start_with(1, |port| {
        Arc::new(move |ask: &Ask| {
            let answer = match (ask.host.as_str(), ask.path()) {
                (_, "/robots.txt") => Answer::new(404, ""),
                ("host0.test", "/") => Answer::redirect(302, &format!("http://host1.test:{port}/other")),
                _ => Answer::html("page"),
            };
            answer.after(Duration::from_millis(200))
        })
    });
    let names: Vec<String> = (0..4).map(|n| format!("host{n}.test")).collect();
    let urls: Vec<String> = names.iter().map(|name| format!("http://{name}:{}/", site.port)).collect();
    let seeds: Vec<&str> = urls.iter().map(String::as_str).collect();
    let mut config = config_for(&site);
    config.fetch.static_hosts = names.iter().map(|name| (name.clone(), site.addresses.clone())).collect();
    config.frontier.ip_delay = Some(Duration::from_millis(50));
    let events = MiniCrawl::new(config, &seeds).run(LIMIT).await;
    assert!(urls.iter().all(|url| status_of(event_of(&events, url)) == 200));
    assert_eq!(site.visits.len(), 9, "four robots.txt, four pages, one redirect");
    let gap = site.visits.min_gap(|_| true).unwrap();
    assert!(gap >= Duration::from_millis(249), "the delay counts from the end: {gap:?}");
}

/// Its host is returned until its slot, and the worker is free meanwhile: many hosts on one address do not occupy
/// workers.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_stands_in_line_before_an_address() {
    let site = site(1, |_, _| Answer::html("page"));
    let names = ["host0.test", "host1.test"];
    let urls = names.map(|name| format!("http://{name}:{}/", site.port));
    let mut config = config_for(&site);
    config.fetch.obey_robots = false;
    config.fetch.static_hosts = names.map(|name| (name.to_owned(), site.addresses.clone())).into();
    config.frontier.ip_delay = Some(Duration::from_millis(1900));
    let crawl = MiniCrawl::new(config, &urls.each_ref().map(String::as_str));
    for lease in crawl.frontier.lease(now_ms(), LeaseLimits::new(2, 1)).unwrap() {
        crawl.visitor.visit(lease).await.unwrap();
    }
    assert_eq!(site.visits.len(), 1, "the second was given back");
    crawl.run(LIMIT).await;
    assert_eq!(site.visits.len(), 2, "and came at its turn");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_does_not_wait_for_a_server_that_does_not_answer() {
    let site = site(1, |_, _| Answer::html("late").after(Duration::from_secs(100)));
    let url = format!("http://a.test:{}/", site.port);
    let mut config = config_for(&site);
    config.fetch.total_timeout = Duration::from_secs(100);
    config.fetch.header_timeout = Duration::from_secs(100);
    let crawl = MiniCrawl::new(config, &[&url]);
    let lease = crawl.frontier.lease(now_ms(), LeaseLimits::new(1, 1)).unwrap().remove(0);
    let visitor = crawl.visitor.clone();
    let visit = tokio::spawn(async move { visitor.visit(lease).await });
    let visits = site.visits.clone();
    while visits.len() < 2 {
        tokio::task::yield_now().await;
    }
    crawl.visitor.services.shutdown.finish();
    tokio::time::timeout(Duration::from_secs(8), visit).await.expect("ended in time").unwrap().unwrap();
    let counts = crawl.frontier.counts();
    assert_eq!((counts.work_proposed, counts.in_flight, counts.hosts_leased), (1, 0, 0), "the URL went back");
    assert!(crawl.events().is_empty());
}

/// Two hosts on one address, one of which asks for a long delay between its pages.
#[tokio::test(flavor = "multi_thread")]
async fn a_crawl_delay_is_its_hosts_and_not_its_neighbours() {
    let site = Running::start(
        1,
        Arc::new(|ask: &Ask| match (ask.host.as_str(), ask.path()) {
            ("slow.test", "/robots.txt") => Answer::text("User-agent: *\nCrawl-delay: 3\n"),
            (_, "/robots.txt") => Answer::new(404, ""),
            _ => Answer::html("page"),
        }),
    );
    let mut config = config_for(&site);
    for name in ["slow.test", "quick.test"] {
        config.fetch.static_hosts.insert(name.into(), site.addresses.clone());
        config.scope.hosts.push(name.into());
    }
    config.frontier.host_delay = Duration::from_millis(20);
    let slow = (0..2).map(|n| format!("http://slow.test:{}/{n}", site.port));
    let quick = (0..8).map(|n| format!("http://quick.test:{}/{n}", site.port));
    let urls: Vec<String> = slow.chain(quick).collect();
    let seeds: Vec<&str> = urls.iter().map(String::as_str).collect();
    MiniCrawl::new(config, &seeds).run(LIMIT).await;
    let visits = site.visits.all();
    let last_slow = visits.iter().rposition(|visit| visit.host == "slow.test").unwrap();
    let before = visits[..last_slow].iter().filter(|visit| visit.host == "quick.test").count();
    assert_eq!(before, 9, "all of the quick host came before the slow one's last: {visits:?}");
    let gap = site.visits.min_gap(|visit| visit.host == "slow.test").unwrap();
    assert!(gap >= Duration::from_millis(2999), "{gap:?}");
}

/// One page is good, and the last URLs of the host fail: the good page shows that the host is well, but is not fetched
/// for each failure.
#[tokio::test(flavor = "multi_thread")]
async fn a_known_page_is_seldom_asked_for_on_behalf_of_failing_urls() {
    const FAILING: usize = 4;
    let site = site(1, |ask, _| match ask.path() {
        "/" => Answer::html((0..FAILING).map(|n| format!("<a href=/{n}>.</a>")).collect::<String>()),
        _ => Answer::new(500, ""),
    });
    let home = format!("http://a.test:{}/", site.port);
    let mut config = config_for(&site);
    config.frontier.max_retries = 4;
    config.frontier.backoff_base = Duration::from_millis(50);
    config.frontier.backoff_max = Duration::from_millis(100);
    let events = MiniCrawl::new(config, &[&home]).run(LIMIT).await;
    let urls: Vec<String> = (0..FAILING).map(|n| format!("{home}{n}")).collect();
    assert!(urls.iter().all(|url| status_of(event_of(&events, url)) == 500));
    let visits = site.visits.all();
    let of_home = visits.iter().filter(|visit| visit.path == "/").count();
    let failures = visits.len() - of_home;
    // The crawl itself, and one for eight failures.
    assert!(of_home <= 1 + failures.div_ceil(8), "{of_home} beside {failures} failures");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_body_is_asked_for_again_and_kept_as_cut_at_last() {
    let asked = AtomicU32::new(0);
    let cut = || {
        let half = Body::Cut { bytes: "half a pa".into(), announced: 5000 };
        Answer::html("").header("etag", "\"1\"").body(half)
    };
    let site = site(2, move |ask, _| match ask.path() {
        "/mended" if asked.fetch_add(1, Ordering::SeqCst) > 0 => Answer::html("a whole page"),
        _ => cut(),
    });
    // Two failures in a row on one host would be blamed on the host.
    let urls =
        [("a", "/mended"), ("b", "/never")].map(|(host, path)| format!("http://{host}.test:{}{path}", site.port));
    let crawl = MiniCrawl::new(config_for(&site), &urls.each_ref().map(String::as_str));
    let events = crawl.run(LIMIT).await;
    let of = |url: &String| events.iter().filter(|event| event.url == *url).collect::<Vec<_>>();
    for url in &urls {
        let tries = of(url);
        assert_eq!(tries.len(), 2, "max_retries is 1");
        assert!(tries[0].again.is_some_and(|again| again.counts) && tries[0].change.is_none(), "{:?}", tries[0]);
        assert_eq!((&tries[0].withheld, &tries[1].withheld), (&Some(Withheld::Cut), &None), "half a page is none yet");
        assert_eq!((tries[1].again, tries[1].change), (None, Some(PageChange::New)));
    }
    let kept = of(&urls[1])[1].response().unwrap();
    assert_eq!((&kept.body[..], kept.truncated), (&b"half a pa"[..], Some(Truncated::Disconnect)));
    let record = crawl.frontier.page(&urls[1]).unwrap().unwrap();
    assert_eq!((record.state, record.etag, record.digest), (PageState::New, None, None));
    assert!(crawl.frontier.page(&urls[0]).unwrap().unwrap().digest.is_some());
}
