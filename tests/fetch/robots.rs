//! robots.txt: the meaning of each answer, and the requests spent on a host without one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::sites::server::{Answer, Ask, Body};
use bytes::Bytes;
use parking_lot::Mutex;
use seine::judge::robots::MAX_ROBOTS_BYTES;
use seine_frontier::{
    HostLeases, LeaseAnswer, LeaseLimits, Proposal, Release, Robots, RobotsAccess, Scheduler, Verdicts,
};
use seine_parse::page::{Doubt, FailureReason, Kind, PageEvent};
use seine_system::clock::now_ms;

use crate::sites::Running;
use crate::support::{MiniCrawl, config_for, event_of, failure_of, status_of};

const LIMIT: Duration = Duration::from_secs(10);

fn site(robots: impl Fn(&Ask) -> Answer + Send + Sync + 'static) -> Running {
    Running::start(
        1,
        Arc::new(move |ask| match ask.path() {
            "/robots.txt" => robots(ask),
            "/rules.txt" => Answer::text("User-agent: *\nDisallow: /private\n"),
            _ => Answer::html("page"),
        }),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_are_read_whatever_way_they_come() {
    let rules = "User-agent: *\nDisallow: /private\n";
    let gzipped = {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut encoder, rules.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let answers = [
        Answer::text(rules),
        Answer::html(rules),
        Answer::text(gzipped).header("content-encoding", "gzip"),
        Answer::text(format!("{rules}{}", "# padding\n".repeat(200_000))),
        Answer::redirect(301, "/rules.txt"),
    ];
    for answer in answers {
        let shown = format!("{:.60?}", answer.headers);
        let site = site(move |_| answer.clone());
        let urls = ["/private", "/public"].map(|path| format!("http://a.test:{}{path}", site.port));
        let events = MiniCrawl::new(config_for(&site), &urls.each_ref().map(String::as_str)).run(LIMIT).await;
        assert_eq!(failure_of(event_of(&events, &urls[0])).reason, FailureReason::RobotsDenied, "{shown}");
        assert_eq!(status_of(event_of(&events, &urls[1])), 200, "{shown}");
        assert!(!site.visits.all().iter().any(|visit| visit.path == "/private"), "{shown}");
    }
}

/// Seine sorts the parameters of the link before it requests the URL.
#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_robots_txt_forbids_as_its_site_links_it_is_not_requested() {
    let site = Running::start(
        1,
        Arc::new(|ask: &Ask| match ask.path_and_query.as_str() {
            "/robots.txt" => Answer::text("User-agent: *\nDisallow: /a?session=\n"),
            "/" => Answer::html("<a href='/a?session=1&b=2'>no</a> <a href='/a?b=2'>yes</a>"),
            _ => Answer::html("page"),
        }),
    );
    let url = |path: &str| format!("http://a.test:{}{path}", site.port);
    let events = MiniCrawl::new(config_for(&site), &[&url("/")]).run(LIMIT).await;
    assert_eq!(failure_of(event_of(&events, &url("/a?b=2&session=1"))).reason, FailureReason::RobotsDenied);
    assert_eq!(status_of(event_of(&events, &url("/a?b=2"))), 200);
    assert!(!site.visits.all().iter().any(|visit| visit.path.contains("session")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_robots_txt_that_comes_short_is_none() {
    let rules = format!("User-agent: *\nDisallow: /private\n{}", "# why not\n".repeat(500));
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut encoder, rules.as_bytes()).unwrap();
    let gzipped = encoder.finish().unwrap();
    let half = Bytes::copy_from_slice(&gzipped[..gzipped.len() / 2]);
    let answers = [
        Answer::text("").body(Body::Cut { bytes: Bytes::copy_from_slice(rules.as_bytes()), announced: 50_000 }),
        Answer::text("").header("content-encoding", "gzip").body(Body::Cut { bytes: half.clone(), announced: 5000 }),
        Answer::text(half).header("content-encoding", "gzip"),
        Answer::raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nUser-\r\n"),
    ];
    for answer in answers {
        // Complete at the second attempt: then its rules apply, and no attempt was counted for the URLs.
        let asked = AtomicU32::new(0);
        let (cut, whole) = (answer, Answer::text(rules.clone()));
        let site = site(move |_| if asked.fetch_add(1, Ordering::SeqCst) == 0 { cut.clone() } else { whole.clone() });
        let urls = ["/private", "/public"].map(|path| format!("http://a.test:{}{path}", site.port));
        let events = MiniCrawl::new(config_for(&site), &urls.each_ref().map(String::as_str)).run(LIMIT).await;
        assert_eq!(failure_of(event_of(&events, &urls[0])).reason, FailureReason::RobotsDenied);
        assert_eq!(status_of(event_of(&events, &urls[1])), 200);
        assert_eq!(events.len(), 2, "no URL spent an attempt on it");
        assert_eq!(site.visits.all().iter().filter(|visit| visit.path == "/robots.txt").count(), 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_cut_at_the_limit_is_no_rule() {
    // The limit falls after `/p`, which would forbid `/public` too.
    let last = "Disallow: /private-things\n";
    let head = "User-agent: *\nDisallow: /private\n";
    let padding = MAX_ROBOTS_BYTES as usize - head.len() - "Disallow: /p".len();
    let filler = format!("{}\n", "#".repeat(padding - 1));
    let rules = format!("{head}{filler}{last}{}", "Disallow: /more\n".repeat(1000));
    assert!(rules[..MAX_ROBOTS_BYTES as usize].ends_with("\nDisallow: /p"));
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut encoder, rules.as_bytes()).unwrap();
    let gzipped = encoder.finish().unwrap();
    for answer in [Answer::text(rules), Answer::text(gzipped).header("content-encoding", "gzip")] {
        let site = site(move |_| answer.clone());
        let urls = ["/private", "/public"].map(|path| format!("http://a.test:{}{path}", site.port));
        let events = MiniCrawl::new(config_for(&site), &urls.each_ref().map(String::as_str)).run(LIMIT).await;
        assert_eq!(failure_of(event_of(&events, &urls[0])).reason, FailureReason::RobotsDenied);
        assert_eq!(status_of(event_of(&events, &urls[1])), 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn wanted_types_are_those_of_pages() {
    let site = Running::start_with(1, |port| {
        Arc::new(move |ask: &Ask| match ask.path() {
            "/robots.txt" => {
                Answer::new(200, format!("User-agent: *\nDisallow: /private\nSitemap: http://a.test:{port}/map.xml\n"))
                    .header("content-type", "application/octet-stream")
            }
            "/map.xml" => {
                Answer::new(200, format!("<urlset><url><loc>http://a.test:{port}/mapped</loc></url></urlset>"))
                    .header("content-type", "application/xml")
            }
            "/image" => Answer::new(200, "png").header("content-type", "image/png"),
            _ => Answer::html("page"),
        })
    });
    let urls = ["/private", "/image", "/mapped"].map(|path| format!("http://a.test:{}{path}", site.port));
    let mut config = config_for(&site);
    config.fetch.mime_types = vec!["text/html".into()];
    config.frontier.sitemaps = true;
    let seeds = [urls[0].as_str(), urls[1].as_str()];
    let mapped = urls[2].clone();
    let is_mapped =
        move |events: &[Arc<PageEvent>]| events.iter().any(|event| event.url == mapped) && events.len() >= 4;
    let events = MiniCrawl::new(config, &seeds).run_until(LIMIT, is_mapped).await;
    assert_eq!(failure_of(event_of(&events, &urls[0])).reason, FailureReason::RobotsDenied);
    assert_eq!(failure_of(event_of(&events, &urls[1])).reason, FailureReason::UnwantedType);
    assert_eq!(status_of(event_of(&events, &urls[2])), 200, "the sitemap was read");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_robots_txt_allows_everything() {
    let circle = Answer::redirect(302, "/robots.txt");
    for answer in [Answer::new(404, ""), Answer::new(403, ""), Answer::new(410, ""), circle] {
        let site = site(move |_| answer.clone());
        let url = format!("http://a.test:{}/private", site.port);
        let events = MiniCrawl::new(config_for(&site), &[&url]).run(LIMIT).await;
        assert_eq!(status_of(event_of(&events, &url)), 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_robots_txt_that_cannot_be_had_forbids_everything() {
    for status in [500, 503, 429] {
        let site = site(move |_| Answer::new(status, ""));
        let urls = ["/1", "/2"].map(|path| format!("http://a.test:{}{path}", site.port));
        let mut config = config_for(&site);
        config.frontier.give_up_after = Duration::from_millis(300);
        let events = MiniCrawl::new(config, &urls.each_ref().map(String::as_str)).run(LIMIT).await;
        assert_eq!(events.len(), 2, "no URL spent an attempt on it");
        for url in &urls {
            let failure = failure_of(event_of(&events, url));
            assert_eq!(failure.reason, FailureReason::HostUnreachable, "{status}: {}", failure.message);
            assert!(failure.message.contains("robots_unreachable"), "{status}: {}", failure.message);
        }
        assert!(site.visits.all().iter().all(|visit| visit.path == "/robots.txt"), "{status}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_robots_txt_that_fails_for_a_moment_is_waited_for() {
    for status in [500, 503] {
        let asked = AtomicU32::new(0);
        let site = site(move |_| match asked.fetch_add(1, Ordering::SeqCst) {
            0 => Answer::new(status, ""),
            _ => Answer::text("User-agent: *\nDisallow: /private\n"),
        });
        let urls = ["/private", "/public"].map(|path| format!("http://a.test:{}{path}", site.port));
        let events = MiniCrawl::new(config_for(&site), &urls.each_ref().map(String::as_str)).run(LIMIT).await;
        assert_eq!(status_of(event_of(&events, &urls[1])), 200, "{status}");
        assert_eq!(failure_of(event_of(&events, &urls[0])).reason, FailureReason::RobotsDenied, "{status}");
        assert_eq!(events.len(), 2, "no URL spent an attempt on it");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_host_with_many_urls_is_given_up_in_time() {
    let site = Running::start(1, Arc::new(|_: &Ask| Answer::close()));
    let urls: Vec<String> = (0..60).map(|n| format!("http://a.test:{}/{n}", site.port)).collect();
    let mut config = config_for(&site);
    config.frontier.max_retries = 2;
    config.frontier.backoff_base = Duration::from_millis(100);
    config.frontier.backoff_max = Duration::from_secs(3600);
    config.frontier.give_up_after = Duration::from_millis(600);
    let seeds: Vec<&str> = urls.iter().map(String::as_str).collect();
    let events = MiniCrawl::new(config, &seeds).run(Duration::from_secs(15)).await;
    assert_eq!(events.len(), urls.len());
    for url in &urls {
        assert_eq!(failure_of(event_of(&events, url)).reason, FailureReason::HostUnreachable, "{url}");
    }
    let visits = site.visits.len();
    assert!((3..=6).contains(&visits), "{visits} visits of a host that does not answer");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_obeying_robots_txt_nothing_waits_for_it() {
    let site = site(|_| Answer::new(500, ""));
    let url = format!("http://a.test:{}/1", site.port);
    let mut config = config_for(&site);
    config.fetch.obey_robots = false;
    config.frontier.sitemaps = true;
    config.frontier.backoff_base = Duration::from_secs(3600);
    config.frontier.backoff_max = Duration::from_secs(3600);
    let enough = |events: &[Arc<seine_parse::page::PageEvent>]| events.iter().any(|event| status_of(event) == 200);
    MiniCrawl::new(config, &[&url]).run_until(LIMIT, enough).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sitemaps_are_named_or_guessed_but_not_against_the_rules() {
    for (rules, expected) in [
        ("User-agent: *\nDisallow: /private\n", Some("/sitemap.xml")),
        ("Sitemap: http://a.test:PORT/named.xml\nUser-agent: *\nDisallow: /\n", Some("/named.xml")),
        ("User-agent: *\nDisallow: /\n", None),
        ("Sitemap: http://outside.test/sitemap.xml\nUser-agent: *\nDisallow:\n", None),
    ] {
        let site = Running::start_with(1, |port| {
            Arc::new(move |ask: &Ask| match ask.path() {
                "/robots.txt" => Answer::text(rules.replace("PORT", &port.to_string())),
                path if path.ends_with(".xml") => Answer::new(404, ""),
                _ => Answer::html("page"),
            })
        });
        let url = format!("http://a.test:{}/", site.port);
        let mut config = config_for(&site);
        config.frontier.sitemaps = true;
        let events = MiniCrawl::new(config, &[&url]).run(LIMIT).await;
        let sitemaps: Vec<&str> =
            events.iter().filter(|event| event.kind == Kind::Sitemap).map(|event| event.url.as_str()).collect();
        let expected: Vec<String> = expected.iter().map(|path| format!("http://a.test:{}{path}", site.port)).collect();
        assert_eq!(sitemaps, expected, "{rules}");
    }
}

/// A day later, while the server fails: the old rules stay valid.
#[tokio::test(flavor = "multi_thread")]
async fn known_rules_outlive_an_outage() {
    let site = site(|_| Answer::new(500, ""));
    let urls = ["/private", "/public"].map(|path| format!("http://a.test:{}{path}", site.port));
    let crawl = MiniCrawl::new(config_for(&site), &urls.each_ref().map(String::as_str));
    let lease = crawl.frontier.lease(now_ms(), LeaseLimits::new(1, 10)).unwrap().remove(0);
    let rules = RobotsAccess::Rules("User-agent: *\nDisallow: /private\n".into());
    let expired = Robots { fetched_ms: 1, expires_ms: 2, access: rules, tdm: None };
    crawl.frontier.release(lease, Release { robots: Some(expired), ..Release::default() }).unwrap();

    let events = crawl.run(LIMIT).await;
    assert_eq!(failure_of(event_of(&events, &urls[0])).reason, FailureReason::RobotsDenied);
    assert_eq!(status_of(event_of(&events, &urls[1])), 200);
}

/// Pages of a host whose robots.txt is in the cell.
fn changing() -> (Running, Arc<Mutex<&'static str>>) {
    let rules = Arc::new(Mutex::new("User-agent: *\nAllow: /\n"));
    let now = rules.clone();
    (site(move |_| Answer::text(*now.lock())), rules)
}

/// A day later: the known robots.txt must be requested again, and `urls` are due.
fn a_day_later(crawl: &MiniCrawl, site: &Running, urls: &[String]) {
    let LeaseAnswer::Leased(lease) =
        crawl.frontier.lease_host(&format!("http://a.test:{}", site.port), now_ms()).unwrap()
    else {
        panic!("nobody visits it")
    };
    let robots = lease.host.robots.clone().map(|known| Robots { expires_ms: 1, ..known });
    crawl.frontier.release(*lease, Release { robots, ..Release::default() }).unwrap();
    assert_eq!(crawl.frontier.try_again(urls, now_ms()).unwrap(), urls.len() as u64);
}

/// It is obeyed at once. Pages that it forbids leave the destinations only when a later fetch confirms it. When it
/// allows them again, all waiting URLs are fetched at once, before other due URLs.
#[tokio::test(flavor = "multi_thread")]
async fn a_robots_txt_that_forbids_all_for_a_while_removes_nothing() {
    let (site, rules) = changing();
    let urls = ["/1", "/2", "/3"].map(|path| format!("http://a.test:{}{path}", site.port));
    let crawl = MiniCrawl::new(config_for(&site), &urls.each_ref().map(String::as_str));
    crawl.run(LIMIT).await;
    let asked = || site.visits.all().iter().filter(|visit| visit.path != "/robots.txt").count();
    assert_eq!((crawl.frontier.counts().live, asked()), (3, 3));

    *rules.lock() = "User-agent: *\nDisallow: /\n";
    let new = format!("http://a.test:{}/new", site.port);
    crawl.frontier.propose(&[Proposal::seed(&new)], now_ms()).unwrap();
    a_day_later(&crawl, &site, &urls);
    let events = crawl.run(LIMIT).await;
    for event in events.iter().rev().take(4) {
        assert_eq!((failure_of(event).reason, event.change), (FailureReason::RobotsDenied, None), "{event:?}");
    }
    let counts = crawl.frontier.counts();
    assert_eq!((counts.live, counts.gone, counts.failed, asked()), (3, 0, 1, 3));
    for url in &urls {
        let record = crawl.frontier.page(url).unwrap().unwrap();
        assert_eq!(record.doubt().map(|(doubt, _)| doubt), Some(Doubt::Forbidden), "{record:?}");
    }
    let LeaseAnswer::Leased(lease) =
        crawl.frontier.lease_host(&format!("http://a.test:{}", site.port), now_ms()).unwrap()
    else {
        panic!("nobody visits it")
    };
    let robots = lease.host.robots.clone().unwrap();
    crawl.frontier.release(*lease, Release::default()).unwrap();
    assert_eq!(robots.expires_ms - robots.fetched_ms, 3_600_000, "it is asked for again in an hour");

    *rules.lock() = "User-agent: *\nAllow: /\n";
    a_day_later(&crawl, &site, &urls[..1]);
    crawl.run(LIMIT).await;
    let counts = crawl.frontier.counts();
    assert_eq!((counts.live, counts.gone, counts.failed, asked()), (4, 0, 0, 7), "all four were asked for");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_two_robots_txt_forbid_is_gone_until_it_is_allowed() {
    let (site, rules) = changing();
    let urls = ["/1", "/2"].map(|path| format!("http://a.test:{}{path}", site.port));
    let mut config = config_for(&site);
    config.frontier.revisit.confirm_gone = Duration::from_millis(1);
    let crawl = MiniCrawl::new(config, &urls.each_ref().map(String::as_str));
    crawl.run(LIMIT).await;
    *rules.lock() = "User-agent: *\nDisallow: /\n";
    for (live, gone) in [(2, 0), (0, 2)] {
        a_day_later(&crawl, &site, &urls);
        crawl.run(LIMIT).await;
        let counts = crawl.frontier.counts();
        assert_eq!((counts.live, counts.gone), (live, gone));
    }
    *rules.lock() = "";
    let another = format!("http://a.test:{}/another", site.port);
    crawl.frontier.propose(&[Proposal::seed(&another)], now_ms()).unwrap();
    a_day_later(&crawl, &site, &[]);
    crawl.run(LIMIT).await;
    assert_eq!((crawl.frontier.counts().live, crawl.frontier.counts().gone), (3, 0));
}

/// The server fails, and the old rules hold on. They are as old as they were: what they forbid is not confirmed by that.
#[tokio::test(flavor = "multi_thread")]
async fn a_robots_txt_that_cannot_be_had_confirms_nothing() {
    let answer = Arc::new(Mutex::new(Answer::text("User-agent: *\nAllow: /\n")));
    let now = answer.clone();
    let site = site(move |_| now.lock().clone());
    let urls = ["/1", "/2"].map(|path| format!("http://a.test:{}{path}", site.port));
    let mut config = config_for(&site);
    config.frontier.revisit.confirm_gone = Duration::from_millis(1);
    let crawl = MiniCrawl::new(config, &urls.each_ref().map(String::as_str));
    crawl.run(LIMIT).await;
    *answer.lock() = Answer::text("User-agent: *\nDisallow: /\n");
    a_day_later(&crawl, &site, &urls);
    crawl.run(LIMIT).await;
    let known = || {
        let origin = format!("http://a.test:{}", site.port);
        let LeaseAnswer::Leased(lease) = crawl.frontier.lease_host(&origin, now_ms()).unwrap() else {
            panic!("nobody visits it")
        };
        let robots = lease.host.robots.clone().unwrap();
        crawl.frontier.release(*lease, Release::default()).unwrap();
        robots
    };
    let disallowed = known();

    *answer.lock() = Answer::new(503, "");
    a_day_later(&crawl, &site, &urls);
    crawl.run(LIMIT).await;
    let counts = crawl.frontier.counts();
    assert_eq!((counts.live, counts.gone), (2, 0));
    let stale = known();
    assert_eq!((stale.fetched_ms, &stale.access), (disallowed.fetched_ms, &disallowed.access));
    assert!(stale.expires_ms <= now_ms() + 5 * 60_000, "it is asked for again soon: {stale:?}");
}
