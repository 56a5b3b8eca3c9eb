//! SIGTERM and Ctrl-C: the first ends cleanly, the second at once, and the same command continues.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::support::server::Answer;

use crate::support::dns::{NameServer, Say};
use crate::support::program::{DEADLINE, Place, Process, eventually, run};
use crate::support::{Final, Plan, Running, TestSite, link};

#[test]
fn after_a_signal_it_ends_cleanly_and_goes_on_where_it_stopped() {
    let site = TestSite::start(Plan { pages: 120, failing_every: 0, ..Plan::default() });
    let place = Place::new();
    let start = || Process::start(place.crawl(&site.seeds(), &["--delay", "20"]));
    for (signal, visits) in [("TERM", 40), ("INT", 90)] {
        let process = start();
        eventually("the crawl is under way", || site.running.visits.len() >= visits);
        process.signal(signal);
        let signalled = Instant::now();
        let ran = process.wait_for(Duration::from_secs(20)).exits(6);
        println!("SIG{signal}: ended after {:?}", signalled.elapsed());
        assert!(ran.stderr.contains("Stopped. The same command continues from here."), "{}", ran.stderr);
        let stats = place.stats();
        assert_eq!(stats["page_proposed"], 0, "what was accepted is validated");
        assert!(stats["remaining"].as_u64() > Some(0));
    }
    start().wait().ok();
    assert_eq!(place.kept().keys().cloned().collect::<BTreeSet<_>>(), site.pages());
    // Requests in flight were finished: nothing is requested twice except targets of redirects.
    for (url, state) in site.oracle() {
        let redirects = site.count(|other| *other == Final::Redirected(url.clone())) as usize;
        let own = usize::from(state != Final::Forbidden);
        match state {
            // It may have been interrupted halfway.
            Final::Redirected(_) => assert!(site.asks(&url) >= 1, "{url}"),
            _ => assert_eq!(site.asks(&url), own + redirects, "{url}"),
        }
    }
    assert!(site.shortest_gap() >= Duration::from_millis(20), "{:?}", site.shortest_gap());
}

/// A front page, and a page that does not answer for a minute at its first request.
fn sleepy_site() -> Running {
    Running::start_with(1, |_| {
        let asked = AtomicBool::new(false);
        Arc::new(move |ask| match ask.path() {
            "/" => Answer::html(link("/slow")),
            "/slow" if !asked.swap(true, Ordering::Relaxed) => Answer::html("late").after(Duration::from_secs(60)),
            "/slow" => Answer::html("here it is"),
            _ => Answer::text("").status(404),
        })
    })
}

fn is_asked(site: &Running, path: &str) -> bool {
    site.visits.all().iter().any(|visit| visit.path == path)
}

#[test]
fn a_page_that_does_not_come_does_not_hold_up_the_end() {
    let site = sleepy_site();
    let place = Place::new();
    let seeds = [site.origin(0) + "/"];
    let process = Process::start(place.crawl(&seeds, &["--delay", "5"]));
    eventually("the slow page is asked for", || is_asked(&site, "/slow"));
    process.signal("TERM");
    let ran = process.wait_for(Duration::from_secs(10)).exits(6);
    assert!(ran.stderr.contains("Stopped."), "{}", ran.stderr);
    assert_eq!(place.stats()["remaining"], 1);

    Process::start(place.crawl(&seeds, &["--delay", "5"])).wait().ok();
    assert_eq!(place.kept().len(), 2);
}

#[test]
fn a_second_signal_ends_it_at_once_and_nothing_is_lost() {
    for signal in ["TERM", "INT"] {
        let site = sleepy_site();
        let place = Place::new();
        let seeds = [site.origin(0) + "/"];
        let mut process = Process::start(place.crawl(&seeds, &["--delay", "5"]));
        eventually("the slow page is asked for", || is_asked(&site, "/slow"));
        // Two signals at the same time count as one, so this sends them until the process has ended.
        let first = Instant::now();
        while !process.has_ended() {
            assert!(first.elapsed() < Duration::from_secs(3), "not ended at once");
            process.signal(signal);
            std::thread::sleep(Duration::from_millis(20));
        }
        let ran = process.wait();
        assert_eq!(ran.status.code(), Some(130), "{}", ran.stderr);
        Process::start(place.crawl(&seeds, &["--delay", "5"])).wait().ok();
        assert_eq!(place.kept().len(), 2);
    }
}

/// The terminal is closed, the connection to it breaks, or somebody wants the configuration reloaded.
#[test]
fn a_hang_up_does_not_end_it_and_has_it_read_its_configuration() {
    let site = TestSite::start(Plan { pages: 60, failing_every: 0, ..Plan::default() });
    let place = Place::new();
    let process = Process::start(place.crawl(&site.seeds(), &["--delay", "20ms"]));
    eventually("the crawl is under way", || site.running.visits.len() >= 5);
    process.signal("HUP");
    let ran = process.wait().ok();
    assert!(ran.stderr.contains("Done: nothing is left to fetch."), "{}", ran.stderr);
    let orders = run(&["orders".as_ref(), place.data().as_os_str(), "--json".as_ref()]).ok().json_lines();
    assert_eq!((&orders[0]["by"], orders.len()), (&"SIGHUP".into(), 1));
    assert_eq!(place.kept().into_keys().collect::<BTreeSet<_>>(), site.pages());
}

/// Name servers that do not answer delay a name look-up, but not the end of the crawl.
#[test]
fn name_servers_that_keep_silent_do_not_hold_up_the_end() {
    let (asked, is_asked) = std::sync::mpsc::channel();
    let server = NameServer::start(move |_| {
        let _ = asked.send(());
        Say::Silence
    });
    let place = Place::with(&format!("crawler_manager.downloader.dns.servers: [\"{}\"]", server.address));
    let seeds: Vec<String> = (0..20).map(|n| format!("http://h{n}.example/")).collect();
    let process = Process::start(place.crawl(&seeds, &["--delay", "5"]));
    is_asked.recv_timeout(DEADLINE).expect("a name is looked up");
    process.signal("TERM");
    process.wait_for(Duration::from_secs(8)).exits(6);
    assert_eq!(place.stats()["remaining"], 20);
}
