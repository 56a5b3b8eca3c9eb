//! Several requests to one host at the same time, and hanging URLs next to others.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use seine_parse::page::{FailureReason, Truncated};

use crate::sites::server::{Answer, Body};
use bytes::Bytes;
use parking_lot::Mutex;
use seine::config::Config;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Barrier;

use crate::raw_server::request_of;
use crate::redirects::site;
use crate::support::{MiniCrawl, config, config_for, event_of, failure_of, status_of};

const LIMIT: Duration = Duration::from_secs(30);

/// Answers only when a number of requests has arrived; remembers when they came.
struct Meeting {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Instant>>>,
}

impl Meeting {
    async fn start(of: usize) -> Meeting {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let meeting = Meeting { address: listener.local_addr().unwrap(), asked: Arc::default() };
        let (asked, barrier) = (meeting.asked.clone(), Arc::new(Barrier::new(of)));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(attend(stream, asked.clone(), barrier.clone()));
            }
        });
        meeting
    }

    fn config(&self) -> Config {
        let mut config = config();
        config.fetch.obey_robots = false;
        config.fetch.static_hosts = [("a.test".to_owned(), vec![self.address.ip()])].into();
        config.frontier.max_retries = 0;
        config
    }

    fn urls(&self, count: usize) -> Vec<String> {
        (0..count).map(|number| format!("http://a.test:{}/{number}", self.address.port())).collect()
    }
}

async fn attend(mut stream: TcpStream, asked: Arc<Mutex<Vec<Instant>>>, barrier: Arc<Barrier>) {
    while request_of(&mut stream).await.is_some() {
        asked.lock().push(Instant::now());
        barrier.wait().await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_is_asked_for_several_urls_at_once_where_that_is_wanted() {
    let meeting = Meeting::start(4).await;
    let urls = meeting.urls(8);
    let mut config = meeting.config();
    config.fetch.connections_per_host = 4;
    config.frontier.host_delay = Duration::from_millis(200);
    let events = MiniCrawl::new(config, &urls.iter().map(String::as_str).collect::<Vec<_>>()).run(LIMIT).await;
    for url in &urls {
        assert_eq!(status_of(event_of(&events, url)), 200, "{url}: {:?}", event_of(&events, url).outcome);
    }
    assert_eq!(events.len(), urls.len());
    // A request takes time to arrive, more so on a busy machine.
    let asked = meeting.asked.lock();
    for pair in asked.windows(2) {
        assert!(pair[1] - pair[0] >= Duration::from_millis(100), "{:?}", pair[1] - pair[0]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_is_asked_for_one_url_at_a_time_otherwise() {
    let meeting = Meeting::start(2).await;
    let urls = meeting.urls(4);
    let mut config = meeting.config();
    config.fetch.header_timeout = Duration::from_millis(300);
    let events = MiniCrawl::new(config, &urls.iter().map(String::as_str).collect::<Vec<_>>())
        .run_until(LIMIT, |events| !events.is_empty())
        .await;
    assert_eq!(failure_of(&events[0]).reason, FailureReason::Timeout, "nobody else came");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_url_that_hangs_comes_after_its_neighbours() {
    let site = site(1, |ask, _| match ask.path() {
        "/hangs" => Answer::html("late").after(Duration::from_secs(3600)),
        "/drips" => {
            let bytes = Bytes::from_static(&[b's'; 1000]);
            Answer::html("").body(Body::Trickle { bytes, piece: 1, every: Duration::from_millis(100) })
        }
        _ => Answer::html("page"),
    });
    let url = |path: &str| format!("http://a.test:{}{path}", site.port);
    let slow = ["/hangs", "/drips"].map(url);
    let quick = ["/1", "/2", "/3"].map(url);
    let mut config = config_for(&site);
    config.fetch.header_timeout = Duration::from_secs(2);
    config.fetch.min_rate = 1000;
    config.fetch.min_rate_span = Duration::from_secs(1);
    // Waiting for the host to recover would take long.
    config.frontier.backoff_base = Duration::from_secs(3600);
    config.frontier.backoff_max = Duration::from_secs(3600);
    let seeds: Vec<&str> = slow.iter().chain(&quick).map(String::as_str).collect();
    let events = MiniCrawl::new(config, &seeds).run_until(LIMIT, |events| events.len() >= 5).await;
    for url in &quick {
        assert_eq!(status_of(event_of(&events, url)), 200, "{url}");
    }
    let (hung, dripped) = (event_of(&events, &slow[0]), event_of(&events, &slow[1]));
    assert_eq!(failure_of(hung).reason, FailureReason::Timeout);
    assert_eq!(dripped.response().unwrap().truncated, Some(Truncated::Time));
    for event in [hung, dripped] {
        assert!(event.again.as_ref().is_some_and(|again| again.counts), "{} is tried again", event.url);
    }
}
