//! A fault in one URL or one event costs only that one: a panic of a worker or of the validator, damage in the page
//! log.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::time::{Duration, Instant};

use seine::supervisor::Supervisor;
use seine::validate::Validator;
use seine_frontier::{EmbeddedFrontier, HostLeases, LeaseLimits, PageState, Proposal, Release, Scheduler, Verdicts};
use seine_page_log::VALIDATOR;
use seine_parse::page::FailureReason;
use seine_system::clock::now_ms;
use tempfile::TempDir;

use crate::borrowing::Brittle;
use crate::event;
use crate::redirects::site;
use crate::sites::server::Answer;
use crate::support::{MiniCrawl, config, config_for, event_of, failure_of, status_of};

const LIMIT: Duration = Duration::from_secs(30);

fn brittle(inner: Arc<EmbeddedFrontier>, panics: u32) -> Arc<Brittle> {
    Arc::new(Brittle { inner, broke: Arc::new(AtomicBool::new(true)), panics: AtomicU32::new(panics) })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_panics_over_a_url_fails_that_url_and_no_other() {
    let site = site(1, |_, _| Answer::html("page"));
    let urls = ["1", "panics-worker", "2"].map(|path| format!("http://a.test:{}/{path}", site.port));
    let mut config = config_for(&site);
    config.frontier.max_retries = 1;
    let crawl = MiniCrawl::with_frontier(config, &urls.each_ref().map(String::as_str), |inner| brittle(inner, 0));
    let events = crawl.run(LIMIT).await;
    assert_eq!((status_of(event_of(&events, &urls[0])), status_of(event_of(&events, &urls[2]))), (200, 200));
    let failures: Vec<_> = events.iter().filter(|event| event.url == urls[1]).collect();
    assert_eq!(failures.iter().map(|event| event.attempt).collect::<Vec<_>>(), [0, 1], "it is retried as any other");
    assert!(failures.iter().all(|event| failure_of(event).reason == FailureReason::Fault), "{failures:?}");
    let record = crawl.frontier.page(&urls[1]).unwrap().unwrap();
    assert_eq!(record.state, PageState::Failed(FailureReason::Fault));
}

/// A crawl validated as in production, with the events in its log.
struct Validated {
    crawl: MiniCrawl,
    log_folder: PathBuf,
    validator: Option<Validator>,
    urls: Vec<String>,
}

impl Validated {
    /// The log has an event for each URL, whose leases are over; nothing is validated yet.
    async fn new(paths: &[&str], body: usize, panics: u32) -> Validated {
        let folder = TempDir::new().unwrap();
        let log_folder = folder.path().join("log");
        let urls: Vec<String> = paths.iter().map(|path| format!("http://a.test/{path}")).collect();
        let seeds: Vec<&str> = urls.iter().map(String::as_str).collect();
        let (crawl, validator) = MiniCrawl::stopped_with(folder, config(), &seeds, |inner| brittle(inner, panics));
        crawl.frontier.propose(&urls.iter().map(|url| Proposal::seed(url)).collect::<Vec<_>>(), now_ms()).unwrap();
        let lease = crawl.frontier.lease(now_ms(), LeaseLimits::new(1, 10)).unwrap().remove(0);
        assert_eq!(lease.work.len(), urls.len());
        let writer = crawl.log.clone();
        std::thread::spawn(move || writer.run_writer(&mut || ()).unwrap());
        for url in &urls {
            let page = event::page(url.clone(), &[("content-type", "text/html")], vec![b'x'; body]);
            crawl.log.append(page, None).await.unwrap().accepted().await.unwrap();
        }
        crawl.frontier.release(lease, Release { fetched: urls.clone(), ..Release::default() }).unwrap();
        assert_eq!(crawl.frontier.counts().in_flight, urls.len() as u64);
        Validated { crawl, log_folder, validator: Some(validator), urls }
    }

    fn start(&mut self) -> Supervisor {
        let supervisor = Supervisor::default();
        let (log, frontier) = (self.crawl.log.clone(), self.crawl.frontier.clone());
        let validator = self.validator.take().unwrap();
        supervisor.start("validator", LIMIT, move |beat| {
            let mut reader = log.follower(VALIDATOR, frontier.cursor()?)?;
            Ok(validator.run(&mut reader, beat, &|| false, &|| ())?)
        });
        supervisor
    }

    fn state(&self, at: usize) -> Option<PageState> {
        self.crawl.frontier.page(&self.urls[at]).unwrap().map(|page| page.state)
    }

    async fn until(&self, what: &str, is_so: impl Fn() -> bool) {
        let begin = Instant::now();
        while !is_so() {
            assert!(begin.elapsed() < LIMIT, "not within {LIMIT:?}: {what}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_validator_that_panics_over_an_event_fails_its_url_and_no_other() {
    // In the batch and alone; and also for the event that replaces it.
    for panics in [2, 3] {
        let mut all = Validated::new(&["1", "panics-validator", "2"], 10, panics).await;
        let supervisor = all.start();
        all.until("all is validated", || all.crawl.frontier.cursor().unwrap() >= all.crawl.log.status().end).await;
        assert_eq!((all.state(0), all.state(2)), (Some(PageState::New), Some(PageState::New)));
        assert_eq!(supervisor.status()[0].restarts, 0, "nothing else fails");
        // Retried like any other failure, or fetched again at once.
        all.until("it is not in flight any more", || all.crawl.frontier.counts().in_flight == 0).await;
        assert_eq!(all.state(1), None);
        assert_eq!(all.crawl.frontier.counts().first_time, 1);
        all.until("its host is due", || {
            !all.crawl.frontier.lease(now_ms(), LeaseLimits::new(1, 1)).unwrap().is_empty()
        })
        .await;
    }
}

fn largest_file(folder: &Path) -> PathBuf {
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap());
    files.max_by_key(|file| file.metadata().unwrap().len()).unwrap().path()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_url_whose_event_the_log_has_lost_is_fetched_again_without_a_restart() {
    // More than the log keeps in memory: the first events are read from disk.
    let mut all = Validated::new(&["1", "2", "3", "4"], 9 << 20, 0).await;
    let file = largest_file(&all.log_folder);
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[1 << 20] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let _supervisor = all.start();
    all.until("all is validated", || all.crawl.frontier.cursor().unwrap() >= all.crawl.log.status().end).await;
    all.until("it can be leased", || all.crawl.frontier.counts().in_flight == 0).await;
    let lease = all.crawl.frontier.lease(now_ms(), LeaseLimits::new(1, 10)).unwrap().remove(0);
    assert_eq!(lease.work.iter().map(|work| &work.url).collect::<Vec<_>>(), [&all.urls[0]]);
}
