//! The embedded frontier under the load of a crawl, against the design's goals.
//!
//! ```text
//! cargo bench --bench frontier -- [URLS] [FOLDER]        default: 1000000 URLs, in the system's temporary folder
//! ```
//!
//! Crawl: one thread leases hosts, and reports every URL as fetched. The validator's thread applies a verdict and 140 links
//! for each page, in batches of 32 pages. Of the links of a page 14 (10 %) are new, 90 are navigation, 26 lead to known
//! pages of the site, and 10 lead to front pages of other sites. Insert: batches of 5,000 URLs, all of them new. Each runs
//! in a process of its own, which ends by `abort`, so the store is opened as after a `kill -9`.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use seine_delivery::Offset;
use seine_frontier::*;
use seine_parse::page::Kind;
use seine_policies::revisit::History;

const LINKS: u64 = 140;
const NEW: u64 = 14;
const NAVIGATION: u64 = 90;
const ELSEWHERE: u64 = 10;
const PAGES_A_BATCH: usize = 32;
const URLS_A_HOST: u64 = 5000;
const HOSTS_A_LEASE: usize = 4;
const URLS_A_LEASE: usize = 8;

fn main() -> ExitCode {
    // `cargo bench` adds `--bench`.
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["crawl", urls, folder] => child(crawl, urls, folder),
        ["insert", urls, folder] => child(insert, urls, folder),
        [] => parent(1_000_000, &std::env::temp_dir()),
        [urls] => parent(number(urls), &std::env::temp_dir()),
        [urls, folder] => parent(number(urls), Path::new(folder)),
        _ => {
            eprintln!("cargo bench --bench frontier -- [URLS] [FOLDER]");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn number(text: &str) -> u64 {
    text.parse().expect("a number of URLs")
}

fn child(phase: fn(&EmbeddedFrontier, u64), urls: &str, folder: &str) {
    let frontier = open(Path::new(folder), 0);
    phase(&frontier, number(urls));
    std::process::abort();
}

fn open(folder: &Path, now: u64) -> EmbeddedFrontier {
    let options = FrontierOptions { default_delay: Duration::ZERO, ..FrontierOptions::default() };
    EmbeddedFrontier::open(folder, options, now).expect("the frontier opens")
}

fn parent(urls: u64, base: &Path) {
    for phase in ["crawl", "insert"] {
        let folder = base.join(format!("seine-bench-{}-{phase}", std::process::id()));
        println!("{phase}, {urls} URLs");
        let program = std::env::current_exe().expect("this program's path");
        let status = Command::new(program).args([phase, &urls.to_string()]).arg(&folder).status();
        assert!(status.is_ok_and(|status| status.code().is_none()), "it ends by abort");
        reopen(&folder, urls);
        std::fs::remove_dir_all(&folder).expect("the bench's own folder can be removed");
    }
}

fn reopen(folder: &Path, urls: u64) {
    let before = Instant::now();
    let frontier = open(folder, u64::MAX / 2);
    row("open after the abort", ms(before.elapsed()), "ms (≤ 5000 at 100M)");
    let leases = frontier.lease(u64::MAX / 2, LeaseLimits::new(100, 10)).expect("leases").len();
    row("serving: open and 100 leases", ms(before.elapsed()), &format!("ms ({leases} leased)"));
    let known = frontier.counts().work_proposed + frontier.counts().page;
    assert!(known >= urls, "{known} URLs are there of {urls}");
    looks(&frontier, urls);
    drop(frontier);
    let (tables, journals) = disk(folder);
    row("tables", tables as f64 / known as f64, "bytes/URL on disk (≤ 64)");
    row("journals", journals as f64 / 1e6, "MB on disk, whatever the number of URLs");
}

/// The reads of `seine why`: random URLs of the store, after a start with an empty cache.
fn looks(frontier: &EmbeddedFrontier, urls: u64) {
    const ASKED: u64 = 10_000;
    let mut rng = fastrand::Rng::with_seed(7);
    let mut took: Vec<Duration> = (0..ASKED)
        .map(|_| {
            let (host, n) = (rng.u64(..hosts(urls)), rng.u64(..URLS_A_HOST));
            let url = url(host, n);
            let origin = url.split_inclusive('/').take(3).collect::<String>();
            let before = Instant::now();
            frontier.url_snapshot(&url).expect("the store is read");
            frontier.host_snapshot(origin.trim_end_matches('/')).expect("the store is read");
            before.elapsed()
        })
        .collect();
    took.sort_unstable();
    row("a URL and its host asked for: p50", ms(took[took.len() / 2]), "ms");
    row("a URL and its host asked for: p99", ms(took[took.len() * 99 / 100]), "ms (why: ≤ 50 at 10M)");
}

// ------------------------------------------------------------------------------------------------------------ the crawl

/// URL number `n` of a host: a section and a title of four words.
fn url(host: u64, n: u64) -> String {
    const WORDS: [&str; 32] = [
        "water", "history", "garden", "market", "river", "music", "people", "winter", "travel", "energy", "school",
        "health", "report", "summer", "policy", "design", "animal", "bridge", "camera", "doctor", "engine", "forest",
        "global", "island", "letter", "mother", "number", "office", "planet", "record", "season", "theory",
    ];
    let mix = (n ^ host << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let word = |at: u64| WORDS[(mix >> (10 + 9 * at) & 31) as usize];
    let [a, b, c, d] = [0, 1, 2, 3].map(word);
    format!("https://www.site-{host}.example/{}/{n}/{a}-{b}-{c}-{d}.html", WORDS[(n % 20) as usize])
}

fn page(url: String) -> Proposal {
    Proposal { url, kind: Kind::Page, depth: 1, priority: 1, found: None, lead: None }
}

fn hosts(urls: u64) -> u64 {
    (urls / URLS_A_HOST).max(10)
}

fn crawl(frontier: &EmbeddedFrontier, urls: u64) {
    let before = memory();
    let fronts: Vec<_> = (0..hosts(urls)).map(|host| page(url(host, 0))).collect();
    frontier.propose(&fronts, 0).expect("proposed");
    let (sender, receiver) = sync_channel(256);
    let leases = std::thread::scope(|scope| {
        let leasing = scope.spawn(|| lease(frontier, sender));
        validate(frontier, urls, receiver);
        leasing.join().expect("the leasing thread ends")
    });
    let mut leases = leases;
    leases.sort_unstable();
    let at = |share: f64| ms(leases[((leases.len() - 1) as f64 * share) as usize]);
    row("lease p50", at(0.5), &format!("ms, {} leases of {HOSTS_A_LEASE} hosts", leases.len()));
    row("lease p99", at(0.99), "ms (≤ 5)");
    row("lease p99.9", at(0.999), "ms");
    row("lease max", at(1.0), "ms");
    report_memory(before, urls);
}

/// Leases and gives every URL out, until nobody takes them any more. Returns how long each lease took.
fn lease(frontier: &EmbeddedFrontier, fetched: SyncSender<String>) -> Vec<Duration> {
    let mut took = Vec::new();
    for now in 1.. {
        let before = Instant::now();
        let leases = frontier.lease(now, LeaseLimits::new(HOSTS_A_LEASE, URLS_A_LEASE)).expect("leased");
        if leases.is_empty() {
            // The validator has not applied the first pages yet.
            std::thread::yield_now();
            continue;
        }
        took.push(before.elapsed());
        for lease in leases {
            let urls: Vec<String> = lease.work.iter().map(|work| work.url.clone()).collect();
            let release = Release { fetched: urls.clone(), not_before: now + 1, ..Release::default() };
            frontier.release(lease, release).expect("released");
            if urls.into_iter().any(|url| fetched.send(url).is_err()) {
                return took;
            }
        }
    }
    took
}

fn validate(frontier: &EmbeddedFrontier, urls: u64, fetched: Receiver<String>) {
    let mut discovered = vec![1; hosts(urls) as usize];
    let (mut pages, mut batches, mut checks, mut added) = (0, 0, 0, hosts(urls));
    let (mut applying, mut slowest) = (Duration::ZERO, Duration::ZERO);
    let (mut mark, mut steps) = ((Duration::ZERO, 0), Vec::new());
    let whole = Instant::now();
    while added < urls {
        let mut batch = Batch::default();
        let first = fetched.recv().expect("work is left");
        for url in std::iter::once(first).chain(fetched.try_iter().take(PAGES_A_BATCH - 1)) {
            pages += 1;
            add_links(&url, pages, &mut discovered, &mut batch.proposals);
            batch.verdicts.push(verdict(url, pages));
        }
        batch.cursor = Offset { index: pages, offset: pages };
        let before = Instant::now();
        let applied = frontier.apply(&batch, 0).expect("applied");
        let took = before.elapsed();
        (applying, slowest) = (applying + took, slowest.max(took));
        batches += 1;
        checks += batch.proposals.len() as u64;
        added += applied.proposed.added;
        if added >= urls * (steps.len() as u64 + 1) / 5 {
            steps.push((checks - mark.1) as f64 / (applying - mark.0).as_secs_f64() / 1000.0);
            mark = (applying, checks);
        }
    }
    row("URL checks in apply", checks as f64 / applying.as_secs_f64(), "/s (≥ 111000)");
    println!(
        "  {:<32}{}",
        "… by fifths of the crawl",
        steps.iter().map(|step| format!("{step:.0}k ")).collect::<String>()
    );
    row(
        "apply mean",
        ms(applying) / f64::from(batches),
        &format!("ms a batch of {:.1} pages", pages as f64 / f64::from(batches)),
    );
    row("apply max", ms(slowest), "ms");
    row("frontier's time a page", ms(applying) / pages as f64, "ms of the validator's thread");
    row("whole bench", pages as f64 / whole.elapsed().as_secs_f64(), "pages/s, making of links included");
}

fn add_links(url: &str, number: u64, discovered: &mut [u64], links: &mut Vec<Proposal>) {
    let found = Some(Arc::new(Found { way: FoundBy::Link, on: Some(url.into()), at: time(number) }));
    let host: u64 =
        url.trim_start_matches("https://www.site-").split('.').next().and_then(|n| n.parse().ok()).unwrap_or(0);
    let known = discovered[host as usize];
    let random = |below: u64| fastrand::u64(0..below.max(1));
    for link in 0..LINKS {
        let url = match link {
            0..NEW => self::url(host, known + link),
            NEW.. if link < NEW + NAVIGATION => self::url(host, (link - NEW).min(known - 1)),
            _ if link < NEW + NAVIGATION + ELSEWHERE => self::url(random(discovered.len() as u64), 0),
            _ => self::url(host, random(known)),
        };
        links.push(Proposal { found: found.clone(), ..page(url) });
    }
    discovered[host as usize] += NEW;
}

/// Of the how manieth page.
fn time(number: u64) -> u64 {
    1_790_000_000_000 + number
}

fn verdict(url: String, number: u64) -> Verdict {
    let event_id = format!("{number:032x}");
    let digest = std::array::from_fn(|_| fastrand::u8(..));
    let record = PageRecord {
        url: url.clone(),
        kind: Kind::Page,
        event_id: event_id.clone(),
        state: PageState::New,
        status: 200,
        digest: Some(digest),
        etag: Some(format!("\"{:x}\"", fastrand::u64(..))),
        last_modified: None,
        fetched_ms: time(number),
        depth: 1,
        history: Some(History::new(time(number))),
        final_url: None,
        noindex: false,
        preferences: Some(Vec::new()),
        must_refetch: false,
        target: None,
        texts: Default::default(),
        canonical: None,
        passed_at: Some(number),
        url_history: Default::default(),
        judged: None,
        refused_since: None,
        wall: None,
        likeness: None,
    };
    let attempt = Attempt { at: time(number), outcome: Cause::Status(200), counts: true, digest: None };
    let change = Change::Page { record, due_again: None };
    Verdict { url, kind: Kind::Page, event_id, reached: None, attempt, fetched: Default::default(), change }
}

// ----------------------------------------------------------------------------------------------------------- the inserts

fn insert(frontier: &EmbeddedFrontier, urls: u64) {
    let before = memory();
    let hosts = hosts(urls);
    let mut inserting = Duration::ZERO;
    for first in (0..urls).step_by(5000) {
        let work: Vec<_> = (first..(first + 5000).min(urls)).map(|n| page(url(n % hosts, n / hosts))).collect();
        let before = Instant::now();
        frontier.propose(&work, 0).expect("proposed");
        inserting += before.elapsed();
    }
    row("new URLs", urls as f64 / inserting.as_secs_f64(), "/s");
    report_memory(before, urls);
}

// ------------------------------------------------------------------------------------------------------------- reporting

fn row(what: &str, value: f64, unit: &str) {
    let digits = if value < 10.0 { 3 } else { 0 };
    println!("  {what:<32}{value:>12.digits$} {unit}");
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// Resident memory, now and at most, in bytes.
fn memory() -> (u64, u64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let value = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok()
    };
    (value("VmRSS:").unwrap_or(0) * 1024, value("VmHWM:").unwrap_or(0) * 1024)
}

fn report_memory(before: (u64, u64), urls: u64) {
    let (now, most) = memory();
    row(
        "memory",
        now as f64 / 1e6,
        &format!("MB resident, {:.0} at most, {:.0} before", most as f64 / 1e6, before.0 as f64 / 1e6),
    );
    row("memory", now.saturating_sub(before.0) as f64 / urls as f64, "bytes/URL, fixed buffers and caches included");
}

/// Bytes on disk: in tables, in journals.
fn disk(folder: &Path) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    let (mut tables, mut journals) = (0, 0);
    let mut folders: Vec<PathBuf> = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            let is_journal = entry.path().extension().is_some_and(|extension| extension == "jnl");
            match metadata.is_dir() {
                true => folders.push(entry.path()),
                false if is_journal => journals += metadata.blocks() * 512,
                false => tables += metadata.blocks() * 512,
            }
        }
    }
    (tables, journals)
}
