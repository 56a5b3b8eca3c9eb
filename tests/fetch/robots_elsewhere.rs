//! A robots.txt that redirects to another host: the request there obeys that host's delay and pauses.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use seine_frontier::{HostLeases, Proposal};
use seine_parse::page::{FailureReason, PageEvent};
use seine_system::clock::now_ms;

use crate::sites::Running;
use crate::sites::server::{Answer, Ask};
use crate::support::{MiniCrawl, config_for, event_of, failure_of, status_of};

const LIMIT: Duration = Duration::from_secs(30);

/// The robots.txt of a.test and b.test is at c.test.
fn site(c: impl Fn(&Ask) -> Answer + Send + Sync + 'static) -> Running {
    Running::start_with(3, |port| {
        Arc::new(move |ask| match (ask.host.as_str(), ask.path()) {
            ("c.test", _) => c(ask),
            (host, "/robots.txt") => Answer::redirect(301, &format!("http://c.test:{port}/rules-of-{host}")),
            _ => Answer::html("page"),
        })
    })
}

fn rules() -> Answer {
    Answer::text("User-agent: *\nDisallow: /private\n")
}

fn assert_rules_are_obeyed(events: &[Arc<PageEvent>], site: &Running) {
    for host in ["a", "b"] {
        let url = |path: &str| format!("http://{host}.test:{}{path}", site.port);
        assert_eq!(status_of(event_of(events, &url("/"))), 200, "{host}");
        assert_eq!(failure_of(event_of(events, &url("/private"))).reason, FailureReason::RobotsDenied, "{host}");
    }
}

fn urls(site: &Running) -> Vec<String> {
    let of = |host| ["/", "/private"].map(|path| format!("http://{host}.test:{}{path}", site.port));
    ["a", "b"].into_iter().flat_map(of).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_crawl_delay_of_the_other_host_is_obeyed() {
    let site = site(|ask| match ask.path() {
        "/robots.txt" => Answer::text("User-agent: *\nCrawl-delay: 1\n"),
        path if path.starts_with("/rules") => rules(),
        _ => Answer::html("page"),
    });
    let own = format!("http://c.test:{}/", site.port);
    let crawl = MiniCrawl::new(config_for(&site), &[&own]);
    crawl.run(LIMIT).await; // now the delay of c.test is known
    let urls = urls(&site);
    let proposals: Vec<_> = urls.iter().map(|url| Proposal::seed(url)).collect();
    crawl.frontier.propose(&proposals, now_ms()).unwrap();
    let events = crawl.run(LIMIT).await;
    assert_rules_are_obeyed(&events, &site);
    let gap = site.visits.min_gap(|visit| visit.host == "c.test").unwrap();
    assert!(gap >= Duration::from_millis(999), "c.test was visited again after {gap:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_that_the_other_host_asks_for_is_obeyed() {
    let was_asked = AtomicBool::new(false);
    let site = site(move |_| match was_asked.swap(true, Ordering::SeqCst) {
        false => Answer::new(503, "").header("retry-after", "2"),
        true => rules(),
    });
    let urls = urls(&site);
    let crawl = MiniCrawl::new(config_for(&site), &urls.iter().map(String::as_str).collect::<Vec<_>>());
    let events = crawl.run(LIMIT).await;
    assert_rules_are_obeyed(&events, &site);
    let asked: Vec<_> = site.visits.all().into_iter().filter(|visit| visit.host == "c.test").collect();
    let pause = asked[1].at - asked[0].at;
    assert!(pause >= Duration::from_millis(1_999), "c.test was visited again after {pause:?}");
}

/// As many sites do by mistake: each of two hosts says that its robots.txt is at the other. Too many redirects mean that
/// there is none (RFC 9309 §2.3.1.2), for both.
#[tokio::test(flavor = "multi_thread")]
async fn two_files_that_redirect_to_each_other_are_decided() {
    let site = Running::start_with(2, |port| {
        Arc::new(move |ask: &Ask| match (ask.host.as_str(), ask.path()) {
            // Slow enough that both hosts are leased before either redirect is followed.
            ("a.test", "/robots.txt") => {
                Answer::redirect(301, &format!("http://b.test:{port}/robots.txt")).after(Duration::from_millis(100))
            }
            ("b.test", "/robots.txt") => {
                Answer::redirect(301, &format!("http://a.test:{port}/robots.txt")).after(Duration::from_millis(100))
            }
            _ => Answer::html("page"),
        })
    });
    let urls = ["a", "b"].map(|host| format!("http://{host}.test:{}/", site.port));
    let events = MiniCrawl::new(config_for(&site), &urls.each_ref().map(String::as_str)).run(LIMIT).await;
    for url in &urls {
        assert_eq!(status_of(event_of(&events, url)), 200, "{url}");
    }
}
