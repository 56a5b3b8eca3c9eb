//! The page log under load: 64 tasks append events of 30 KB while one reader keeps up; against a bare write and
//! fdatasync of the same bytes in batches of the same size.
//!
//! `cargo bench --bench log [-- EVENTS [FOLDER]]`: 50,000 events in the system's temporary folder unless told.

#[path = "../../../benches/support/child.rs"]
mod child;
#[path = "../../parse/tests/support/event.rs"]
mod event;

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use seine_delivery::Cursor;
use seine_page_log::{LogConfig, PageLog, Reader};
use seine_parse::page::PageEvent;
use seine_parse::{DeriveOptions, Derived, Link};

const TASKS: usize = 64;
const BODY: usize = 30_000;
const LINKS: usize = 140;

fn main() {
    // Cargo adds `--bench`; without it this is `cargo test --all-targets`, which only wants to see that it runs.
    let usual = if std::env::args().any(|argument| argument == "--bench") { 50_000 } else { 500 };
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let events = arguments.next().map_or(usual, |n| n.parse().expect("a number of events"));
    let folder = arguments.next().map_or_else(std::env::temp_dir, Into::into);
    let dir = tempfile::tempdir_in(folder).expect("a folder to write in");

    let log = run_log(dir.path(), events);
    println!("page log          {log}");
    println!("                  commit p50 {:.2?}, p99 {:.2?}, max {:.2?}", log.p50, log.p99, log.max);
    println!("                  {} events a commit", events / log.commits.max(1));
    let batch = log.bytes / log.commits.max(1) as u64;
    let bare = run_bare(&dir.path().join("bare"), log.bytes, batch as usize);
    println!("bare write+sync   {bare}");
    let cost = (log.cpu.as_secs_f64() - bare.cpu.as_secs_f64()) * 1e6 / events as f64;
    println!(
        "the log over bare {cost:.1} µs CPU an event, {:.2} × the time",
        log.wall.as_secs_f64() / bare.wall.as_secs_f64()
    );
}

struct Figures {
    events: usize,
    bytes: u64,
    wall: Duration,
    cpu: Duration,
    commits: usize,
    p50: Duration,
    p99: Duration,
    max: Duration,
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let seconds = self.wall.as_secs_f64();
        let rate = self.events as f64 / seconds;
        let megabytes = self.bytes as f64 / 1e6 / seconds;
        let cpu = self.cpu.as_secs_f64() * 1e6 / self.events as f64;
        write!(f, "{rate:.0} events/s, {megabytes:.0} MB/s, {cpu:.1} µs CPU an event ({} events)", self.events)
    }
}

fn run_log(dir: &Path, events: usize) -> Figures {
    // The defaults of a crawl.
    let config = LogConfig {
        segment_bytes: 64 << 20,
        max_bytes: 8 << 30,
        commit_interval: Duration::from_millis(5),
        reserve_bytes: 256 << 20,
    };
    let (log, _) = PageLog::open(&dir.join("log"), &config, DeriveOptions::default()).expect("the log opens");
    let reader = log.reader("bench").expect("a reader");
    let writer = {
        let log = log.clone();
        std::thread::spawn(move || {
            let (mut commits, mut end) = (0, 0);
            let counting = log.clone();
            let mut beat = || {
                let now = counting.status().end.index;
                commits += usize::from(now != end);
                end = now;
            };
            log.run_writer(&mut beat).expect("the disk holds");
            commits
        })
    };
    let reading = std::thread::spawn(move || read_along(reader));

    let (event, derived) = (sample(), Arc::new(sample_derived()));
    let (start, cpu) = (Instant::now(), cpu_time());
    let mut waits = append_all(&log, events, &event, &derived);
    let (wall, cpu) = (start.elapsed(), cpu_time() - cpu);
    log.close();
    let commits = writer.join().expect("the writer ends");
    assert_eq!(reading.join().expect("the reader ends"), events);

    waits.sort();
    let at = |share: f64| waits[((waits.len() - 1) as f64 * share) as usize];
    let bytes = log.status().end.offset;
    Figures { events, bytes, wall, cpu, commits, p50: at(0.5), p99: at(0.99), max: at(1.0) }
}

/// Returns how long each event waited to be accepted.
fn append_all(log: &PageLog, events: usize, event: &PageEvent, derived: &Arc<Derived>) -> Vec<Duration> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().expect("a runtime");
    runtime.block_on(async {
        let mut tasks = tokio::task::JoinSet::new();
        for task in 0..TASKS {
            let (log, event, derived) = (log.clone(), event.clone(), derived.clone());
            tasks.spawn(async move {
                let mut waits = Vec::new();
                for _ in 0..events / TASKS + usize::from(task < events % TASKS) {
                    let start = Instant::now();
                    let ticket = log.append(event.clone(), Some(derived.clone())).await.expect("taken");
                    ticket.accepted().await.expect("accepted");
                    waits.push(start.elapsed());
                }
                waits
            });
        }
        tasks.join_all().await.into_iter().flatten().collect()
    })
}

/// A sink that does nothing but commit; returns how many events it got.
fn read_along(mut reader: Reader) -> usize {
    let mut seen = 0;
    while !reader.is_closed_and_drained() {
        let entries = reader.next(1000, 8 << 20, Duration::from_secs(1)).expect("it reads");
        let Some(last) = entries.last() else { continue };
        seen += entries.len();
        let cursor = Cursor { position: last.end, delivered: seen as u64, ..reader.cursor().clone() };
        reader.commit(cursor).expect("it commits");
    }
    seen
}

fn run_bare(path: &Path, bytes: u64, batch: usize) -> Figures {
    let chunk = vec![b'x'; batch.max(1)];
    let mut file = File::create(path).expect("a file");
    let (start, cpu) = (Instant::now(), cpu_time());
    let (mut written, mut commits) = (0, 0);
    while written < bytes {
        file.write_all(&chunk).expect("the disk holds");
        file.sync_data().expect("the disk holds");
        written += chunk.len() as u64;
        commits += 1;
    }
    let (wall, cpu, none) = (start.elapsed(), cpu_time() - cpu, Duration::ZERO);
    let events = written as usize / BODY;
    Figures { events, bytes: written, wall, cpu, commits, p50: none, p99: none, max: none }
}

fn cpu_time() -> Duration {
    child::Times::read(Path::new("/proc/self")).expect("Linux").cpu()
}

fn sample() -> PageEvent {
    let names: Vec<String> = (0..12).map(|n| format!("x-header-{n}")).collect();
    let headers: Vec<_> =
        names.iter().map(|name| (name.as_str(), "a value of ordinary length, with a comma; and more")).collect();
    let url = "https://www.example.com/some/folder/page-of-ordinary-length.html";
    let page = event::page(url, &headers, vec![b'x'; BODY]);
    let request_headers = event::answer(&headers, "").headers;
    PageEvent { depth: 3, request_headers, ip: Some([192, 0, 2, 1].into()), crawler_id: "bench".into(), ..page }
}

fn sample_derived() -> Derived {
    let link = |n| Link { url: format!("https://www.example.com/some/folder/link-{n}.html"), nofollow: false };
    Derived {
        body: Bytes::from(vec![b'x'; BODY]),
        digest: [1; 32],
        links: (0..LINKS).map(link).collect(),
        ..Derived::default()
    }
}
