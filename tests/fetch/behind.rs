//! Visits that wait because much of the page log is not yet validated: they continue, whatever ends their wait.

use std::future::poll_fn;
use std::path::Path;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use seine::config::Config;
use seine::supervisor::Supervisor;
use seine_delivery::Offset;
use seine_frontier::{Batch, HostLeases, Lease, LeaseLimits, Proposal, Scheduler, Verdicts};
use seine_page_log::{PageLog, VALIDATOR};
use seine_parse::DeriveOptions;
use seine_system::clock::now_ms;
use tempfile::TempDir;

use crate::event;
use crate::support::{MiniCrawl, config};

const LIMIT: Duration = Duration::from_secs(15);
/// Out of scope: its visit waits for the log first, and makes no request.
const URL: &str = "http://elsewhere.test/";

/// A page log after a kill: 12 MB come after the validator's stored position, which it writes once per segment. Returns
/// the end of the log.
async fn unreleased(folder: &Path, config: &Config) -> Offset {
    let (log, _) = PageLog::open(&folder.join("log"), &config.log, DeriveOptions::from(config)).unwrap();
    drop(log.follower(VALIDATOR, Offset::default()).unwrap());
    let to_write = log.clone();
    let writer = std::thread::spawn(move || to_write.run_writer(&mut || ()).unwrap());
    for n in 0..3 {
        let page = event::page(format!("http://a.test/{n}"), &[("content-type", "text/html")], vec![b'x'; 4 << 20]);
        log.append(page, None).await.unwrap().accepted().await.unwrap();
    }
    log.close();
    writer.join().unwrap();
    log.status().end
}

/// A crawl that has validated the whole log, without running parts, and a lease.
async fn killed() -> (MiniCrawl, seine::validate::Validator, Lease) {
    let folder = TempDir::new().unwrap();
    let end = unreleased(folder.path(), &config()).await;
    let (crawl, validator) = MiniCrawl::stopped(folder, config(), &["http://a.test/"]);
    let now = now_ms();
    crawl.frontier.apply(&Batch { cursor: end, ..Batch::default() }, now).unwrap();
    crawl.frontier.propose(&[Proposal { depth: 1, ..Proposal::seed(URL) }], now).unwrap();
    let mut leases = crawl.frontier.lease(now_ms(), LeaseLimits::new(8, 4)).unwrap();
    leases.retain(|lease| URL.starts_with(&lease.host.origin));
    let lease = leases.pop().expect("the host is due");
    (crawl, validator, lease)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_visit_that_began_before_the_validator_opened_goes_on() {
    let (crawl, validator, lease) = killed().await;
    let mut visit = pin!(crawl.visitor.visit(lease));
    let first = poll_fn(|context| Poll::Ready(visit.as_mut().poll(context))).await;
    assert!(first.is_pending(), "12 MB are to be read: the visit waits");

    let (log, frontier, changed) = (crawl.log.clone(), crawl.frontier.clone(), crawl.visitor.services.changed.clone());
    let writer = log.clone();
    std::thread::spawn(move || writer.run_writer(&mut || ()).unwrap());
    // As in a crawl: the validator finds that it has validated everything.
    Supervisor::default().start("validator", LIMIT, move |beat| {
        let mut reader = log.follower(VALIDATOR, frontier.cursor()?)?;
        Ok(validator.run(&mut reader, beat, &|| false, &|| changed.send_replace(()))?)
    });
    let ended = tokio::time::timeout(LIMIT, visit).await;
    ended.expect("nobody told the visit that the validator has nothing left to read").unwrap();
    assert_eq!(crawl.frontier.counts().hosts_leased, 1, "the seed's host, which this test leaves alone");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_visit_goes_on_when_the_reader_it_waits_for_is_given_up() {
    let (crawl, _, lease) = killed().await;
    let mut visit = pin!(crawl.visitor.visit(lease));
    let first = poll_fn(|context| Poll::Ready(visit.as_mut().poll(context))).await;
    assert!(first.is_pending());
    let writer = crawl.log.clone();
    std::thread::spawn(move || writer.run_writer(&mut || ()).unwrap());
    assert!(crawl.log.forget(VALIDATOR).unwrap());
    tokio::time::timeout(LIMIT, visit).await.expect("nobody told the visit").unwrap();
}
