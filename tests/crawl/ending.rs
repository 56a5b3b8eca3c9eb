//! How a run ends, what it reports, and what the same command does then.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::support::server::{Answer, Ask};

use crate::support::program::{Place, Process, eventually, free_port, run};
use crate::support::{Plan, Running, TestSite, links};

/// A host whose robots.txt and pages answer with 503 until `well` is set.
fn ailing(well: &Arc<AtomicBool>) -> Running {
    let well = well.clone();
    Running::start_with(1, |_| {
        Arc::new(move |ask| match (well.load(Ordering::Relaxed), ask.path()) {
            (false, _) => Answer::text("not now").status(503),
            (true, "/") => Answer::html(links(&["/1", "/2"])),
            (true, "/robots.txt" | "/sitemap.xml") => Answer::text("").status(404),
            (true, _) => Answer::html("well again"),
        })
    })
}

/// An address where nothing listens. Servers of other tests, which may get this port meanwhile, use other addresses.
fn nobody() -> String {
    format!("127.0.0.99:{}", free_port())
}

#[test]
fn what_waits_is_waited_for_only_so_long_and_the_same_command_tries_it_at_once() {
    let well = Arc::new(AtomicBool::new(false));
    let sick = ailing(&well);
    let site = TestSite::start(Plan { pages: 10, hosts: 1, failing_every: 0, ..Plan::default() });
    let dead = format!("http://127.0.0.1:{}/", free_port());
    // After its first failure a host has a back-off of an hour, longer than any run of this test.
    let place = Place::with("link_storage.scheduler.backoff_base: 1h");
    let seeds = [site.seeds(), vec![sick.origin(0) + "/", dead.clone()]].concat();
    let crawl = || place.crawl(&seeds, &["--delay", "1ms", "--patience", "30s"]);

    let started = Instant::now();
    let ran = Process::start(crawl()).wait().exits(4);
    assert!(started.elapsed() < Duration::from_secs(25), "nothing is due for longer than it would wait");
    for word in ["all remaining URLs must wait: 2 URLs of 2 hosts", &sick.origin(0), &dead, "min", "--patience 30s"] {
        assert!(ran.stderr.contains(word), "{word:?} is not in:\n{}", ran.stderr);
    }
    assert_eq!(place.kept().into_keys().collect::<BTreeSet<_>>(), site.pages(), "what could be had is delivered");
    let stats = place.stats();
    assert_eq!((&stats["remaining"], &stats["frontier"]["failed"]), (&2.into(), &0.into()));

    // Finished work is not repeated; waiting work is tried at once, whatever the back-off.
    well.store(true, Ordering::Relaxed);
    let visits = site.visits().len();
    Process::start(crawl()).wait().exits(4);
    assert_eq!(site.visits().len(), visits);
    assert_eq!(place.kept().len(), site.pages().len() + 3);
    assert_eq!(place.stats()["remaining"], 1);
}

/// Pages due in some days are no work for this run, so only the failing host is left.
#[test]
fn what_waits_is_not_waited_for_because_known_pages_are_due_some_day() {
    let site = TestSite::start(Plan { pages: 10, hosts: 1, failing_every: 0, ..Plan::default() });
    let dead = format!("http://127.0.0.1:{}/", free_port());
    let place = Place::with("link_storage.recrawl.interval: 5d\nlink_storage.scheduler.backoff_max: 200ms\n");
    let seeds = [site.seeds(), vec![dead]].concat();
    Process::start(place.crawl(&seeds, &["--delay", "0", "--patience", "2s"])).wait().exits(4);
    assert_eq!(place.kept().into_keys().collect::<BTreeSet<_>>(), site.pages());
}

/// A run does not end with pages that were never requested, although redirects to a host that is down keep failing. The
/// end names that host.
#[test]
fn redirects_to_a_host_that_is_down_cost_no_page_of_their_own_host() {
    let dead = format!("http://127.0.0.1:{}", free_port());
    let to = dead.clone();
    let site = Running::start_with(1, move |_| {
        Arc::new(move |ask: &Ask| match ask.path() {
            "/" => {
                let paths = (0..6).map(|n| format!("/r{n}")).chain((0..100).map(|n| format!("/p{n}")));
                Answer::html(links(&paths.collect::<Vec<_>>().iter().map(String::as_str).collect::<Vec<_>>()))
            }
            path if path.starts_with("/r") && path != "/robots.txt" => Answer::redirect(302, &format!("{to}{path}")),
            path if path.starts_with("/p") => Answer::html(format!("page {path}")),
            _ => Answer::text("").status(404),
        })
    });
    let place = Place::with("link_storage.link_strategy.scope_hosts: [\"127.0.0.1\"]");
    let began = Instant::now();
    let ran =
        Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0", "--patience", "2s"])).wait().exits(4);
    assert_eq!(place.kept().len(), 101, "{}", ran.stderr);
    assert!(ran.stderr.contains(&format!("{dead}  could not be visited")), "{}", ran.stderr);
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
}

/// A healthy host whose crawl delay is longer than the patience is waited for, one redirect after the other.
#[test]
fn redirects_wait_for_the_delay_of_a_healthy_host() {
    let slow = Running::start_with(1, |_| {
        Arc::new(|ask: &Ask| match ask.path() {
            "/robots.txt" => Answer::text("User-agent: *\nCrawl-delay: 6\n"),
            path => Answer::html(format!("slow {path}")),
        })
    });
    let to = slow.origin(0);
    let site = Running::start_with(1, move |_| {
        Arc::new(move |ask: &Ask| match ask.path() {
            "/" => Answer::html(links(&["/r0", "/r1", "/r2", "/p0", "/p1"])),
            path if path.starts_with("/r") && path != "/robots.txt" => Answer::redirect(302, &format!("{to}{path}")),
            path if path.starts_with("/p") => Answer::html(format!("page {path}")),
            _ => Answer::text("").status(404),
        })
    });
    let place = Place::with("link_storage.link_strategy.scope_hosts: [\"127.0.0.1\"]");
    let options = ["--delay", "0", "--patience", "5s"];
    Process::start(place.crawl(&[site.origin(0) + "/"], &options)).wait().ok();
    assert_eq!(place.kept().len(), 6);
}

/// Failed URLs are not retried for longer than the patience, even if their host is well and a request is in progress.
#[test]
fn urls_that_hang_do_not_keep_a_run_beyond_its_patience() {
    let site = Running::start_with(1, |_| {
        Arc::new(|ask| match ask.path() {
            "/" => Answer::html(links(&["/p0", "/h0", "/h1", "/h2", "/p1"])),
            path if path.starts_with("/h") => Answer::html("late").after(Duration::from_secs(60)),
            path if path.starts_with("/p") => Answer::html(format!("page {path}")),
            _ => Answer::text("").status(404),
        })
    });
    let place =
        Place::with("crawler_manager.downloader.header_timeout: 1s\nlink_storage.scheduler.backoff_base: 100ms");
    let began = Instant::now();
    let config = ["--delay", "0", "--patience", "2s"];
    let ran = Process::start(place.crawl(&[site.origin(0) + "/"], &config)).wait().exits(4);
    assert_eq!(place.kept().len(), 3, "{}", ran.stderr);
    assert!(!ran.stderr.contains("next attempt now"), "{}", ran.stderr);
    let tries = site.visits.all().iter().filter(|visit| visit.path.starts_with("/h")).count();
    assert!((3..9).contains(&tries), "{tries} requests in {:?}", began.elapsed());
}

/// Each of five retries answers within the patience, and all together take twice as long. A page restarts the clock.
#[test]
fn the_patience_counts_from_the_last_page() {
    let asked = Arc::new(Mutex::new(BTreeSet::new()));
    let site = Running::start_with(1, |_| {
        let asked = asked.clone();
        Arc::new(move |ask: &Ask| match ask.path() {
            "/" => Answer::html(links(&["/r0", "/r1", "/r2", "/r3", "/r4"])),
            path if path.starts_with("/ro") => Answer::text("").status(404),
            path if asked.lock().unwrap().insert(path.to_owned()) => Answer::text("").status(500),
            path => Answer::html(format!("page {path}")).after(Duration::from_millis(900)),
        })
    });
    let place = Place::with("link_storage.scheduler.backoff_base: 100ms");
    let seeds = [site.origin(0) + "/", format!("http://{}/", nobody())];
    let ran = Process::start(place.crawl(&seeds, &["--delay", "0", "--patience", "2s"])).wait().exits(4);
    assert_eq!(place.kept().len(), 6, "{}", ran.stderr);
}

/// Many hang together, but the host answers all others. They fail when their attempts are used up, and the run ends.
#[test]
fn urls_that_hang_use_up_their_attempts_when_their_host_answers_all_others() {
    let site = Running::start_with(1, |_| {
        Arc::new(|ask| match ask.path() {
            "/" => {
                let paths: Vec<String> =
                    (0..8).map(|n| format!("/h{n}")).chain((0..40).map(|n| format!("/p{n}"))).collect();
                Answer::html(links(&paths.iter().map(String::as_str).collect::<Vec<_>>()))
            }
            path if path.starts_with("/h") => Answer::html("late").after(Duration::from_secs(60)),
            path if path.starts_with("/p") => Answer::html(format!("page {path}")),
            _ => Answer::text("").status(404),
        })
    });
    let place = Place::with(
        "crawler_manager.downloader.header_timeout: 500ms\ncrawler_manager.downloader.max_retry_count: 1\n\
         link_storage.scheduler.backoff_base: 100ms",
    );
    Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0", "--patience", "40s"])).wait().ok();
    let frontier = &place.stats()["frontier"];
    assert_eq!((&frontier["live"], &frontier["failed"]), (&41.into(), &8.into()), "{frontier}");
}

#[test]
fn a_server_that_asked_to_be_left_alone_is_left_alone_by_the_next_run_too() {
    let site = Running::start_with(1, |_| {
        Arc::new(|ask| match ask.path() {
            "/robots.txt" => Answer::text("busy").status(503).header("retry-after", "3000"),
            _ => Answer::html("a page"),
        })
    });
    let place = Place::new();
    for _ in 0..2 {
        let ran = Process::start(place.crawl(&[site.origin(0) + "/"], &["--patience", "2s"])).wait().exits(4);
        assert!(ran.stderr.contains("robots.txt cannot be fetched"), "{}", ran.stderr);
    }
    assert_eq!(site.visits.len(), 1);
}

#[test]
fn when_no_seed_brings_a_page_that_is_no_success() {
    let site = Running::start_with(1, |_| {
        Arc::new(|ask| match ask.path() {
            "/there" => Answer::html("a page"),
            _ => Answer::text("").status(404),
        })
    });
    let (missing, there) = (site.origin(0) + "/missing", site.origin(0) + "/there");
    let ran = Process::start(Place::new().crawl(std::slice::from_ref(&missing), &["--delay", "0"])).wait().exits(3);
    assert!(ran.stderr.contains(&format!("the seed {missing} failed: answered with status 404")), "{}", ran.stderr);
    assert!(ran.stderr.contains("Ended: no seed could be fetched."), "{}", ran.stderr);
    assert!(!ran.stderr.contains("Done"), "{}", ran.stderr);
    let ran = Process::start(Place::new().crawl(&[missing.clone(), there], &["--delay", "0"])).wait().ok();
    assert!(ran.stderr.contains(&missing), "{}", ran.stderr);
}

#[test]
fn pages_that_are_not_delivered_are_no_success() {
    let site = TestSite::start(Plan { pages: 10, hosts: 1, failing_every: 0, ..Plan::default() });
    let place = Place::new();
    let nobody = nobody();
    let kafka = ["--delay", "0", "--sink", "kafka", "--kafka-topic", "pages", "--kafka-servers", &nobody];
    let process = Process::start(place.crawl(&site.seeds(), &kafka));
    eventually("everything is fetched", || site.visited_urls().is_superset(&site.pages()));
    // It waits for the sink now, or soon. If the signal comes too early, it reports that it was stopped.
    process.signal("TERM");
    let ran = process.wait();
    assert!(matches!(ran.status.code(), Some(5 | 6)), "{:?}: {}", ran.status, ran.stderr);
    assert!(ran.stderr.contains("pending"), "{}", ran.stderr);
}

/// Two servers are down; the files are complete.
#[test]
fn a_sink_that_does_not_move_is_waited_for_only_so_long() {
    let site = TestSite::start(Plan { pages: 10, hosts: 1, failing_every: 0, ..Plan::default() });
    let nobody = nobody();
    let place = Place::with(&format!("target_storage.data_format.elasticsearch.rest.hosts: ['http://{nobody}']\n"));
    let sinks = ["--sink", "files", "--sink", "kafka", "--kafka-topic", "pages", "--kafka-servers", &nobody];
    let more = [&["--delay", "0", "--patience", "1s", "--sink", "elasticsearch", "-e", "pages"], &sinks[..]].concat();
    let mut visits = 0;
    for _ in 0..2 {
        let ran = Process::start(place.crawl(&site.seeds(), &more)).wait().exits(5);
        for words in
            ["sink=\"kafka\"", "no broker answers", "sink=\"elasticsearch\"", "refused", "pending", "--patience 1s"]
        {
            assert!(ran.stderr.contains(words), "{words:?} is not in:\n{}", ran.stderr);
        }
        assert_eq!(place.kept().into_keys().collect::<BTreeSet<_>>(), site.pages());
        // The same command delivers the rest, and fetches nothing again.
        assert!(visits == 0 || site.visits().len() == visits, "{visits}");
        visits = site.visits().len();
    }
    // Without these two sinks everything is delivered, whatever the log keeps for them.
    Process::start(place.crawl(&site.seeds(), &["--delay", "0", "--sink", "files"])).wait().ok();
}

/// The page log is full of pages that the sink has not taken: nothing can be fetched, and there is nothing else to wait
/// for.
#[test]
fn a_full_log_and_a_sink_that_does_not_move_end_the_run_too() {
    let site = TestSite::start(Plan { pages: 300, text: 8000, failing_every: 0, ..Plan::default() });
    let nobody = nobody();
    let place = Place::with("page_log.segment_size: 64KiB\npage_log.max_size: 256KiB\n");
    let kafka = ["--sink", "kafka", "--kafka-topic", "pages", "--kafka-servers", &nobody];
    let more = [&["--delay", "0", "--patience", "1s"], &kafka[..]].concat();
    let ran = Process::start(place.crawl(&site.seeds(), &more)).wait().exits(5);
    assert!(ran.stderr.contains("page_log.max_size") && ran.stderr.contains("no broker answers"), "{}", ran.stderr);
    assert!(site.visited_urls().len() < site.pages().len());
}

#[test]
fn stopped_before_it_was_done_is_told_apart_from_told_to_end() {
    let site = TestSite::start(Plan { pages: 100, hosts: 1, failing_every: 0, ..Plan::default() });
    for (more, code) in [(&[][..], 6), (&["--stay"][..], 0)] {
        let place = Place::new();
        let before = site.visits().len();
        let process = Process::start(place.crawl(&site.seeds(), &[&["--delay", "50ms"], more].concat()));
        eventually("it is under way", || site.visits().len() > before + 3);
        process.signal("TERM");
        process.wait().exits(code);
    }
}

#[test]
fn the_exit_statuses_are_listed() {
    for command in ["crawl", "startCrawl"] {
        let help = run(&[command, "--help"]).ok().stdout;
        for line in
            ["  0    done", "  3    no seed", "  4    all remaining URLs must wait", "  5    ", "  6    ", "  130  "]
        {
            assert!(help.contains(line), "{command}: {line:?} is not in\n{help}");
        }
    }
}

/// `/` answers with the given status; the other pages exist.
fn moody(status: &Arc<AtomicU16>) -> Running {
    let status = status.clone();
    Running::start_with(1, |_| {
        Arc::new(move |ask| match ask.path() {
            "/robots.txt" | "/sitemap.xml" => Answer::text("").status(404),
            "/" => Answer::html(links(&["/next"])).status(status.load(Ordering::Relaxed)),
            _ => Answer::html("a page"),
        })
    })
}

#[test]
fn a_seed_given_again_is_tried_again_whatever_became_of_it() {
    let status = Arc::new(AtomicU16::new(404));
    let site = moody(&status);
    let place = Place::with("crawler_manager.downloader.max_retry_count: 1");
    let seeds = [site.origin(0) + "/"];
    let asked = || site.visits.all().iter().filter(|visit| visit.path == "/").count();
    let crawl = |code: i32| Process::start(place.crawl(&seeds, &["--delay", "1ms"])).wait().exits(code);
    crawl(3); // refused
    assert_eq!(asked(), 1);
    status.store(500, Ordering::Relaxed);
    crawl(3); // failed, with all of its attempts
    assert_eq!(asked(), 3);
    status.store(200, Ordering::Relaxed);
    crawl(0);
    assert_eq!(asked(), 4);
    assert_eq!(place.kept().len(), 2);
    crawl(0); // done: looked at anew
    assert_eq!(asked(), 5);
    assert_eq!(site.visits.all().iter().filter(|visit| visit.path == "/next").count(), 1, "and nothing else is");
    run(&["audit", place.data().to_str().unwrap()]).ok();
}

#[test]
fn retry_puts_back_what_failed_by_reason_and_by_host() {
    let status = Arc::new(AtomicU16::new(200));
    let site = moody(&status);
    let port = site.port;
    let names = ["one.test", "two.test"];
    let resolve: Vec<String> =
        names.iter().flat_map(|name| ["--resolve".to_owned(), format!("{name}={}", site.addresses[0])]).collect();
    let place = Place::with("crawler_manager.downloader.allow_private_addresses: false");
    let seeds: Vec<String> = names.iter().map(|name| format!("http://{name}:{port}/")).collect();
    let more: Vec<&str> = ["--delay", "1ms"].into_iter().chain(resolve.iter().map(String::as_str)).collect();
    Process::start(place.crawl(&seeds, &more)).wait().exits(3);
    assert_eq!(place.stats()["frontier"]["failed"], 2);

    let data = place.data();
    let retry = |more: &[&str]| run(&[&["retry", "-o", data.to_str().unwrap()], more].concat());
    retry(&["--reason", "weather"]).fails_naming(&["--reason", "timeout", "refused"]);
    run(&["retry", "-o", "/nowhere/at/all"]).fails_naming(&["/nowhere/at/all", "-o"]);
    assert!(retry(&["--reason", "timeout"]).ok().stdout.contains("Nothing to retry."));
    assert!(retry(&["--host", "three.test"]).ok().stdout.contains("Nothing to retry."));
    let told = retry(&["--dry-run"]).ok().stdout;
    assert!(told.contains("private_address") && told.contains("2 would be retried"), "{told}");
    assert_eq!(place.stats()["remaining"], 0);
    let told = retry(&["--reason", "private_address", "--host", "two.test"]).ok().stdout;
    assert!(told.contains("1 queued; fetch them with: seine crawl -o"), "{told}");
    run(&["audit", data.to_str().unwrap()]).ok();
    let stats = place.stats();
    assert_eq!((&stats["remaining"], &stats["frontier"]["failed"]), (&1.into(), &1.into()));

    // Without seeds: fetches only the URLs that were put back, and their links.
    Process::start(place.crawl(&[], &[&more[..], &["--allow-private"]].concat())).wait().ok();
    let two = format!("http://two.test:{port}");
    assert_eq!(place.kept().into_keys().collect::<Vec<_>>(), [format!("{two}/"), format!("{two}/next")]);
    assert_eq!(place.stats()["frontier"]["failed"], 1);
}
