//! robots.txt: what each answer means, and what a host that has none to give costs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use seine::demo::server::{Answer, Ask, Body};
use seine::fetch::client::now_ms;
use seine::frontier::{Release, Robots, RobotsAccess};
use seine::page::{FailureReason, Kind};

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
        Answer::text("").body(Body::Cut { bytes: Bytes::from_static(rules.as_bytes()), announced: 5000 }),
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
        let events = MiniCrawl::new(config_for(&site), &urls.each_ref().map(String::as_str)).run(LIMIT).await;
        for url in &urls {
            let failure = failure_of(event_of(&events, url));
            assert_eq!(failure.reason, FailureReason::RobotsUnreachable, "{status}: {}", failure.message);
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
    let seeds: Vec<&str> = urls.iter().map(String::as_str).collect();
    let events = MiniCrawl::new(config, &seeds).run(Duration::from_secs(15)).await;
    for url in &urls {
        assert_eq!(failure_of(event_of(&events, url)).reason, FailureReason::Connect, "{url}");
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
    let enough = |events: &[Arc<seine::page::PageEvent>]| events.iter().any(|event| status_of(event) == 200);
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

/// A day later, with the server out of order: the old rules hold on.
#[tokio::test(flavor = "multi_thread")]
async fn known_rules_outlive_an_outage() {
    let site = site(|_| Answer::new(500, ""));
    let urls = ["/private", "/public"].map(|path| format!("http://a.test:{}{path}", site.port));
    let crawl = MiniCrawl::new(config_for(&site), &urls.each_ref().map(String::as_str));
    let lease = crawl.frontier.lease(now_ms(), 1, 10).unwrap().remove(0);
    let rules = RobotsAccess::Rules("User-agent: *\nDisallow: /private\n".into());
    let expired = Robots { fetched_ms: 1, expires_ms: 2, access: rules };
    crawl.frontier.release(lease, Release { robots: Some(expired), ..Release::default() }).unwrap();

    let events = crawl.run(LIMIT).await;
    assert_eq!(failure_of(event_of(&events, &urls[0])).reason, FailureReason::RobotsDenied);
    assert_eq!(status_of(event_of(&events, &urls[1])), 200);
}
