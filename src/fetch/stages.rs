//! Durations of the stages of a request: DNS, connecting (with TLS), waiting for the response head, reading the body.
//! Stages do not overlap.
//!
//! The client resolves names and connects internally, and only if there is no idle connection. So these stages are
//! recorded in the task of the request.

use std::cell::Cell;
use std::time::{Duration, Instant};

use prometheus::{Histogram, HistogramOpts, HistogramVec};

/// Histograms of the stages of all requests since the start, in seconds.
#[derive(Debug)]
pub struct Stages {
    /// To be registered for metrics.
    pub histograms: HistogramVec,
    dns: Histogram,
    connect: Histogram,
    first_byte: Histogram,
    body: Histogram,
}

/// The steps of a request to get a connection; none for steps it did not need.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct StageTimes {
    dns: Option<Duration>,
    /// Includes the DNS lookup.
    connect: Option<Duration>,
}

tokio::task_local! {
    static STAGE_TIMES: Cell<StageTimes>;
}

impl Default for Stages {
    fn default() -> Stages {
        let help = "Requests, robots.txt and redirects included, by stage: dns and connect (TLS included) of new connections, \
                    first_byte until the answer's head, body.";
        let buckets = vec![0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];
        let options = HistogramOpts::new("seine_fetch_stage_seconds", help).buckets(buckets);
        let histograms = HistogramVec::new(options, &["stage"]).expect("its name and label are valid");
        let stage = |name| histograms.with_label_values(&[name]);
        Stages {
            dns: stage("dns"),
            connect: stage("connect"),
            first_byte: stage("first_byte"),
            body: stage("body"),
            histograms,
        }
    }
}

impl Stages {
    /// The response head arrived `took` after the start of the request.
    pub(super) fn head(&self, times: StageTimes, took: Duration) {
        let dns = times.dns.unwrap_or_default();
        if let Some(dns) = times.dns {
            self.dns.observe(dns.as_secs_f64());
        }
        if let Some(connect) = times.connect {
            self.connect.observe(connect.saturating_sub(dns).as_secs_f64());
        }
        let before = times.connect.unwrap_or(dns);
        self.first_byte.observe(took.saturating_sub(before).as_secs_f64());
    }

    pub(super) fn body(&self, took: Duration) {
        self.body.observe(took.as_secs_f64());
    }
}

/// Runs a request and returns what it did to get a connection.
pub(super) async fn with_stage_times<T>(request: impl Future<Output = T>) -> (T, StageTimes) {
    STAGE_TIMES
        .scope(Cell::default(), async {
            let answer = request.await;
            (answer, STAGE_TIMES.with(Cell::get))
        })
        .await
}

/// A name was resolved.
pub(super) fn looked_up(took: Duration) {
    note(|times| times.dns = Some(took));
}

fn note(change: impl FnOnce(&mut StageTimes)) {
    // A connection that no request waits for any more is opened outside of such a task.
    let _ = STAGE_TIMES.try_with(|cell| {
        let mut times = cell.get();
        change(&mut times);
        cell.set(times);
    });
}

/// Measures a connection, including its DNS lookup.
pub(super) fn timed<C, E>(connecting: impl Future<Output = Result<C, E>>) -> impl Future<Output = Result<C, E>> {
    let started = Instant::now();
    async move {
        let connection = connecting.await?;
        note(|times| times.connect = Some(started.elapsed()));
        Ok(connection)
    }
}
