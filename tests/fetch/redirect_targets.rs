//! Where redirects may lead: targets follow the same rules as links in any spelling, and credentials are never sent
//! along.

use std::sync::Arc;
use std::time::Duration;

use seine_parse::page::{FailureReason, Kind};

use crate::sites::server::{Answer, Ask};
use parking_lot::Mutex;
use seine::config::Redirects;

use crate::sites::Running;
use crate::support::{MiniCrawl, config_for, event_of, failure_of, status_of};

const LIMIT: Duration = Duration::from_secs(10);

/// The Location header for a port; the host that it names, and the requested path.
type Form = (fn(u16) -> String, &'static str, &'static str);

type Asks = Arc<Mutex<Vec<Ask>>>;

/// A site that remembers requests.
fn site(hosts: usize, answer: impl Fn(&Ask, u16) -> Answer + Send + Sync + 'static) -> (Running, Asks) {
    let asks: Asks = Arc::default();
    let heard = asks.clone();
    let site = Running::start_with(hosts, |port| {
        Arc::new(move |ask| {
            heard.lock().push(ask.clone());
            answer(ask, port)
        })
    });
    (site, asks)
}

fn assert_no_credentials(asks: &Asks) {
    for ask in asks.lock().iter() {
        assert_eq!(ask.header("authorization"), None, "{} {}", ask.host, ask.path_and_query);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_before_the_host_fools_nobody() {
    let forms: [Form; 7] = [
        (|port| format!("http://a.test:x@b.test:{port}/there"), "b.test", "/there"),
        (|port| format!("http://a.test@b.test:{port}/there"), "b.test", "/there"),
        (|port| format!("//a.test:{port}@b.test:{port}/there"), "b.test", "/there"),
        (|port| format!("http://a.test%2F:{port}@b.test:{port}/there"), "b.test", "/there"),
        (|port| format!("http://user:secret@a.test:{port}/there"), "a.test", "/there"),
        (|port| format!("http://:secret@a.test:{port}/there"), "a.test", "/there"),
        (|port| format!("http://a.test:{port}\\@b.test/there"), "a.test", "/@b.test/there"),
    ];
    let (site, asks) =
        site(2, move |ask, port| match ask.path().strip_prefix("/to/").and_then(|n| n.parse::<usize>().ok()) {
            Some(number) => forms.get(number).map_or(Answer::new(404, ""), |form| Answer::redirect(302, &form.0(port))),
            None if ask.path() == "/robots.txt" => Answer::new(404, ""),
            None => Answer::html("there"),
        });
    let seeds: Vec<String> = (0..forms.len()).map(|n| format!("http://a.test:{}/to/{n}", site.port)).collect();
    let mut config = config_for(&site);
    config.scope.hosts = vec!["a.test".into()];
    config.frontier.redirects = Redirects::Follow; // two lead to the same page
    let events = MiniCrawl::new(config, &seeds.iter().map(String::as_str).collect::<Vec<_>>()).run(LIMIT).await;
    for (seed, (form, host, path)) in seeds.iter().zip(forms) {
        let (event, form) = (event_of(&events, seed), form(site.port));
        assert_eq!(event.final_url, format!("http://{host}:{}{path}", site.port), "{form}");
        match host {
            "a.test" => assert_eq!(status_of(event), 200, "{form}: {:?}", event.outcome),
            _ => assert_eq!(failure_of(event).reason, FailureReason::BadRedirect, "{form}"),
        }
    }
    assert!(asks.lock().iter().all(|ask| ask.host.starts_with("a.test")), "nobody out of scope was asked");
    assert_no_credentials(&asks);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_spelling_is_the_same_page_to_robots_txt_and_to_the_scope() {
    let (site, asks) = site(1, |ask, _| match ask.path_and_query.as_str() {
        "/robots.txt" => Answer::text("User-agent: *\nDisallow: /private\n"),
        "/1" => Answer::redirect(302, "/%70rivate/x"),
        "/2" => Answer::redirect(302, "/.//private"),
        "/3" => Answer::redirect(302, "/%73ecret"),
        "/4" => Answer::redirect(302, "/a//../secret?b=1"),
        "/5" => Answer::redirect(302, "/%7euser?z=1&a=2"),
        _ => Answer::html("page"),
    });
    let url = |path: &str| format!("http://a.test:{}{path}", site.port);
    let seeds = ["/1", "/2", "/3", "/4", "/5"].map(url);
    let mut config = config_for(&site);
    config.scope.deny = vec![".*test:[0-9]+/(a/)?secret.*".into()];
    let events = MiniCrawl::new(config, &seeds.each_ref().map(String::as_str)).run(LIMIT).await;
    let reasons = seeds[..4].iter().map(|seed| failure_of(event_of(&events, seed)).reason);
    let [denied, refused] = [FailureReason::RobotsDenied, FailureReason::BadRedirect];
    assert_eq!(reasons.collect::<Vec<_>>(), [denied, denied, refused, refused]);
    // An allowed target is requested as the server wrote it.
    assert_eq!(event_of(&events, &seeds[4]).final_url, url("/%7euser?z=1&a=2"));
    let asked: Vec<String> = asks.lock().iter().map(|ask| ask.path_and_query.clone()).collect();
    assert!(asked.contains(&"/%7euser?z=1&a=2".to_owned()), "{asked:?}");
    assert!(!asked.iter().any(|path| path.contains("rivate") || path.contains("ecret")), "{asked:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_with_a_final_dot_is_the_host() {
    let (site, asks) = site(1, |ask, port| match ask.path() {
        "/robots.txt" => Answer::new(404, ""),
        "/to" => Answer::redirect(302, &format!("http://A.test.:{port}/there")),
        _ => Answer::html("page"),
    });
    let seed = format!("http://a.test:{}/to", site.port);
    let events = MiniCrawl::new(config_for(&site), &[&seed]).run(LIMIT).await;
    assert_eq!(status_of(event_of(&events, &seed)), 200);
    assert_eq!(event_of(&events, &seed).final_url, format!("http://a.test:{}/there", site.port));
    let robots = asks.lock().iter().filter(|ask| ask.path() == "/robots.txt").count();
    assert_eq!(robots, 1, "it is one host, with one robots.txt");
}

#[tokio::test(flavor = "multi_thread")]
async fn robots_txt_and_sitemaps_are_asked_for_without_credentials() {
    let (site, asks) = site(2, |ask, port| match (ask.host.split(':').next().unwrap(), ask.path()) {
        ("a.test", "/robots.txt") => Answer::redirect(301, &format!("http://user:secret@b.test:{port}/robots.txt")),
        (_, "/robots.txt") => Answer::text(format!("Sitemap: http://user:secret@a.test:{port}/map.xml\n")),
        (_, "/map.xml") => Answer::redirect(302, &format!("http://user:secret@a.test:{port}/real.xml")),
        _ => Answer::html("page"),
    });
    let seed = format!("http://user:secret@a.test:{}/", site.port);
    let mut config = config_for(&site);
    config.frontier.sitemaps = true;
    let is_read = |events: &[Arc<seine_parse::page::PageEvent>]| events.iter().any(|event| event.kind == Kind::Sitemap);
    let events = MiniCrawl::new(config, &[&seed]).run_until(LIMIT, is_read).await;
    assert!(is_read(&events));
    let paths: Vec<String> = asks.lock().iter().map(|ask| format!("{} {}", ask.host, ask.path())).collect();
    for asked in ["a.test /robots.txt", "b.test /robots.txt", "a.test /map.xml", "a.test /real.xml"] {
        let (host, path) = asked.split_once(' ').unwrap();
        assert!(paths.iter().any(|it| it.starts_with(host) && it.ends_with(path)), "{asked} in {paths:?}");
    }
    assert_no_credentials(&asks);
}
