//! Few open files: connections get fewer, not the store and the sinks.

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use seine_system::descriptors::Shares;

use crate::support::server::Answer;

use crate::support::Running;
use crate::support::program::{Place, Process};

/// Every host has one page, and keeps connections open.
fn hosts(count: usize) -> Running {
    Running::start(
        count,
        Arc::new(|ask| match ask.path() {
            "/" => Answer::html("<title>A host</title>"),
            _ => Answer::text("").status(404),
        }),
    )
}

/// The program with a limit of open files.
fn limited(crawl: &Command, limit: usize) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("ulimit -n {limit} && exec \"$0\" \"$@\""));
    command.arg(crawl.get_program()).args(crawl.get_args()).stdin(std::process::Stdio::null());
    command
}

/// A page of each host is stored, whatever the limit.
fn all_are_crawled(count: usize, limit: usize) {
    let site = hosts(count);
    let place = Place::with("crawler_manager.downloader.max_retry_count: 0\n");
    let seeds: Vec<String> = (0..count).map(|host| site.origin(host) + "/").collect();
    let crawl = place.crawl(&seeds, &["--delay", "0"]);
    let ran = Process::start(limited(&crawl, limit)).wait_for(Duration::from_secs(900)).ok();
    assert!(!ran.stderr.contains("os error 24"), "{}", ran.stderr);
    assert!(ran.stderr.contains("raise its hard limit"), "{}", ran.stderr);
    assert_eq!(place.kept().into_keys().collect::<BTreeSet<_>>(), seeds.into_iter().collect());
    let stats = place.stats();
    assert_eq!((&stats["frontier"]["live"], &stats["frontier"]["failed"]), (&count.into(), &0.into()));
}

#[test]
fn more_hosts_than_files_may_be_open_are_crawled_and_nobody_pays() {
    // One connection each: more than may stay open under the limit.
    all_are_crawled(300, 160);
}

#[test]
#[ignore = "a minute: three thousand hosts, under the limit that most systems have"]
fn three_thousand_hosts_under_the_usual_limit() {
    // The website listens on as many addresses.
    seine_system::descriptors::raise();
    all_are_crawled(3_000, 1_024);
}

#[test]
fn no_share_of_a_limit_is_more_than_there_is() {
    for limit in [1, 64, 160, 256, 1024, 4096, 1 << 20, u64::MAX] {
        let Shares { tables, workers, idle, .. } = Shares::of(limit);
        assert!(tables as u64 <= limit.div_ceil(4) && workers >= 1 && idle >= 1);
        if limit >= 64 {
            assert!(
                (tables + 3 * workers + 2 * idle) as u64 + 200.min(limit / 4) <= limit,
                "{limit}: {:?}",
                Shares::of(limit)
            );
        }
    }
    assert!(Shares::of(1024).workers >= 90, "{:?}", Shares::of(1024));
}
