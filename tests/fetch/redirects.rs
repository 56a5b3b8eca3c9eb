//! Redirects followed in a visit, on one host and to others.

use std::sync::Arc;
use std::time::Duration;

use seine_parse::page::FailureReason;

use crate::sites::server::{Answer, Ask};

use crate::sites::Running;
use crate::support::{MiniCrawl, config_for, event_of, failure_of, status_of};

const LIMIT: Duration = Duration::from_secs(10);

/// `hosts` hosts that allow everything and answer by host name and path.
pub fn site(hosts: usize, answer: impl Fn(&Ask, u16) -> Answer + Send + Sync + 'static) -> Running {
    Running::start_with(hosts, |port| {
        Arc::new(move |ask| match ask.path() {
            "/robots.txt" => Answer::new(404, ""),
            _ => answer(ask, port),
        })
    })
}

fn hop(status: u16, to: &str) -> Answer {
    Answer::redirect(status, to)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_hop_is_kept() {
    let site = site(1, |ask, _| match ask.path() {
        "/1" => hop(301, "/2").header("x-hop", "one"),
        "/2" => hop(302, "3?q=1").header("set-cookie", "a=1").header("set-cookie", "b=2"),
        "/3" => hop(303, "/4"),
        "/4" => hop(307, "/5"),
        "/5" => hop(308, "/end"),
        _ => Answer::html("the end"),
    });
    let (port, origin) = (site.port, format!("http://a.test:{}", site.port));
    let start = format!("{origin}/1");
    let crawl = MiniCrawl::new(config_for(&site), &[&start]);
    let events = crawl.run(LIMIT).await;
    assert_eq!(events.len(), 1, "one event for the whole chain");
    let event = &events[0];
    let seen: Vec<(u16, String, String)> =
        event.hops.iter().map(|hop| (hop.status, hop.url.clone(), hop.target.clone())).collect();
    let expected: Vec<(u16, String, String)> =
        [(301, "/1", "/2"), (302, "/2", "/3?q=1"), (303, "/3?q=1", "/4"), (307, "/4", "/5"), (308, "/5", "/end")]
            .map(|(status, from, to)| (status, format!("{origin}{from}"), format!("{origin}{to}")))
            .into();
    assert_eq!(seen, expected);
    assert_eq!(event.hops[0].headers.get("x-hop"), Some("one"));
    assert_eq!(event.hops[1].headers.all("set-cookie").collect::<Vec<_>>(), ["a=1", "b=2"]);
    assert!(event.hops.iter().all(|hop| hop.ip == Some(site.addresses[0])));
    assert_eq!(event.url, start);
    assert_eq!(event.redirected_url(), Some(format!("http://a.test:{port}/end").as_str()));
    assert_eq!(&event.response().unwrap().body[..], b"the end");
}

#[tokio::test(flavor = "multi_thread")]
async fn locations_are_read_as_servers_write_them() {
    let site = site(1, |ask, port| {
        let location: &[u8] = match ask.path_and_query.as_str() {
            "/relative/x" => b"../there",
            "/relative/query" => b"?page=2",
            "/scheme" => return hop(302, &format!("//a.test:{port}/there")),
            "/utf8" => "/caf\u{e9}/\u{65e5}?q=\u{e9}".as_bytes(),
            "/latin1" => b"/caf\xe9",
            "/space" => b" /a b ",
            "/order" => b"/there?z=1&a=2&jsessionid=3",
            "/fragment" => b"/there#part",
            _ => return Answer::html("there"),
        };
        Answer::new(302, "").header("location", location)
    });
    let origin = format!("http://a.test:{}", site.port);
    for (from, to) in [
        ("/relative/x", "/there"),
        ("/relative/query", "/relative/query?page=2"),
        ("/scheme", "/there"),
        ("/utf8", "/caf%C3%A9/%E6%97%A5?q=%C3%A9"),
        ("/latin1", "/caf%E9"),
        ("/space", "/a%20b"),
        ("/order", "/there?z=1&a=2&jsessionid=3"),
        ("/fragment", "/there"),
    ] {
        let start = format!("{origin}{from}");
        let events = MiniCrawl::new(config_for(&site), &[&start]).run(LIMIT).await;
        let event = event_of(&events, &start);
        assert_eq!(event.final_url, format!("{origin}{to}"), "{from}: {:?}", event.outcome);
        assert_eq!(status_of(event), 200, "{from}");
        assert_eq!(site.visits.all().last().unwrap().path, to, "{from}");
    }
}

/// RFC 9110 §10.2.3: the least time before the redirected request. A short one is waited for at once. For a long one the
/// URL waits, and the second answer does not make it wait again.
#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_is_not_followed_before_its_retry_after() {
    let site = site(2, |ask, port| match ask.path() {
        "/soon" => hop(302, "/soon/end").header("retry-after", "1"),
        "/later" => hop(303, &format!("http://b.test:{port}/later/end")).header("retry-after", "3"),
        "/bounded" => hop(302, "/bounded/end").header("retry-after", "86400"),
        _ => Answer::html("page"),
    });
    let url = |path: &str| format!("http://a.test:{}{path}", site.port);
    for (path, longest, least, attempts) in
        [("/soon", 3600.0, 1.0, 1), ("/later", 3600.0, 3.0, 2), ("/bounded", 0.5, 0.5, 1)]
    {
        let mut config = config_for(&site);
        config.frontier.retry_after_max = Duration::from_secs_f64(longest);
        let events = MiniCrawl::new(config, &[&url(path)]).run(LIMIT).await;
        assert_eq!(status_of(event_of(&events, &url(path))), 200, "{path}");
        assert!(events.iter().all(|event| event.attempt == 0), "{path}: no attempt counts");
        let visits = site.visits.all();
        let asked: Vec<_> = visits.iter().filter(|visit| visit.path == path).collect();
        let end = visits.iter().find(|visit| visit.path == format!("{path}/end")).unwrap();
        assert_eq!(asked.len(), attempts, "{path}");
        let waited = end.at - asked[0].at;
        assert!(waited >= Duration::from_secs_f64(least - 0.005), "{path} was followed after {waited:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn circles_and_endless_chains_end() {
    let site = site(1, |ask, _| match ask.path() {
        "/self" => hop(302, "/self"),
        "/a" => hop(302, "/b"),
        "/b" => hop(302, "/a"),
        // Each chain has its own URLs. If one led through the other's first URL, it would be an alias of that page as soon as
        // the page is known.
        path => match path.strip_prefix("/chain/").and_then(|rest| rest.split_once('/')) {
            Some((_, "0")) => Answer::html("end"),
            Some((chain, n)) => hop(301, &format!("/chain/{chain}/{}", n.parse::<u32>().unwrap() - 1)),
            None => hop(301, &format!("{path}x")),
        },
    });
    let origin = format!("http://a.test:{}", site.port);
    let urls = ["/self", "/a", "/chain/short/3", "/chain/long/4", "/endless"].map(|path| format!("{origin}{path}"));
    let mut config = config_for(&site);
    config.fetch.max_redirects = 3;
    let events = MiniCrawl::new(config, &urls.each_ref().map(String::as_str)).run(LIMIT).await;
    for (url, hops) in urls.iter().zip([1, 2, 3, 4, 4]) {
        let event = event_of(&events, url);
        assert_eq!(event.hops.len(), hops, "{url}: {:?}", event.outcome);
        if url.ends_with("/short/3") {
            assert_eq!(status_of(event), 200);
        } else {
            assert_eq!(failure_of(event).reason, FailureReason::TooManyRedirects, "{url}");
        }
    }
    assert_eq!(events.len(), urls.len(), "none of it is tried again");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_followed_is_a_bad_redirect() {
    let site = site(1, |ask, _| match ask.path() {
        "/ftp" => hop(302, "ftp://a.test/file"),
        "/mail" => hop(302, "mailto:me@a.test"),
        "/script" => hop(302, "javascript:alert(1)"),
        "/broken" => hop(302, "http://[broken/"),
        "/outside" => hop(302, "http://outside.test/"),
        "/port" => hop(302, "http://a.test:99999/"),
        _ => Answer::html("page"),
    });
    let origin = format!("http://a.test:{}", site.port);
    let urls = ["/ftp", "/mail", "/script", "/broken", "/outside", "/port"].map(|path| format!("{origin}{path}"));
    let mut config = config_for(&site);
    config.fetch.static_hosts.insert("outside.test".into(), site.addresses.clone());
    let events = MiniCrawl::new(config, &urls.each_ref().map(String::as_str)).run(LIMIT).await;
    assert_eq!(events.len(), urls.len());
    for url in &urls {
        let failure = failure_of(event_of(&events, url));
        assert_eq!(failure.reason, FailureReason::BadRedirect, "{url}: {}", failure.message);
    }
    assert!(site.visits.all().iter().all(|visit| visit.host == "a.test"), "nobody out of scope was asked");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_3xx_that_leads_nowhere_is_an_answer() {
    let site = site(1, |ask, _| match ask.path() {
        "/300" => Answer::html("choose").status(300).header("location", "/elsewhere"),
        "/302" => Answer::html("moved, but where to?").status(302),
        "/304" => Answer::new(304, ""),
        _ => Answer::html("page"),
    });
    let urls = ["/300", "/302", "/304"].map(|path| format!("http://a.test:{}{path}", site.port));
    let events = MiniCrawl::new(config_for(&site), &urls.each_ref().map(String::as_str)).run(LIMIT).await;
    for (url, status) in urls.iter().zip([300, 302, 304]) {
        let event = event_of(&events, url);
        assert_eq!((status_of(event), event.hops.len()), (status, 0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_to_another_host_keeps_its_rules_and_its_delay() {
    let site = Running::start_with(2, |port| {
        Arc::new(move |ask: &Ask| match (ask.host.as_str(), ask.path()) {
            ("b.test", "/robots.txt") => Answer::text("User-agent: *\nDisallow: /no\n"),
            (_, "/robots.txt") => Answer::new(404, ""),
            ("a.test", "/to-b") => hop(302, &format!("http://b.test:{port}/yes")),
            ("a.test", "/to-forbidden") => hop(302, &format!("http://b.test:{port}/no")),
            ("b.test", "/back") => hop(302, &format!("http://a.test:{port}/home")),
            _ => Answer::html("page"),
        })
    });
    let a = |path: &str| format!("http://a.test:{}{path}", site.port);
    let b = |path: &str| format!("http://b.test:{}{path}", site.port);
    let seeds = [a("/to-b"), a("/to-forbidden"), b("/1"), b("/2"), b("/back")];
    let mut config = config_for(&site);
    config.frontier.host_delay = Duration::from_millis(120);
    let events = MiniCrawl::new(config, &seeds.each_ref().map(String::as_str)).run(LIMIT).await;
    let event = event_of(&events, &seeds[0]);
    assert_eq!((status_of(event), event.final_url.as_str()), (200, b("/yes").as_str()));
    assert_eq!((event.hops[0].ip, event.ip), (Some(site.addresses[0]), Some(site.addresses[1])));
    let forbidden = event_of(&events, &seeds[1]);
    assert_eq!(failure_of(forbidden).reason, FailureReason::RobotsDenied);
    assert_eq!((forbidden.hops.len(), forbidden.final_url.as_str()), (1, b("/no").as_str()));
    assert_eq!(status_of(event_of(&events, &seeds[4])), 200);
    for host in ["a.test", "b.test"] {
        let gap = site.visits.min_gap(|visit| visit.host == host).unwrap();
        assert!(gap >= Duration::from_millis(119), "{host} was visited again after {gap:?}");
        let robots = site.visits.all().into_iter().filter(|visit| visit.host == host && visit.path == "/robots.txt");
        assert_eq!(robots.count(), 1, "robots.txt of {host} is asked for once");
    }
    assert!(!site.visits.all().iter().any(|visit| visit.path == "/no"));
}
