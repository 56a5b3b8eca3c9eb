//! The memory of a crawl with very many hosts: a million hosts of two URLs each. Measured while it runs, and after it is
//! opened again when the process was killed. Uses the allocator of the binary.
//!
//! ```text
//! cargo bench --bench hosts -- [HOSTS] [FOLDER]          default: 1000000 hosts, in the system's temporary folder
//! ```
//!
//! Every tenth host is a subdomain of one domain; the others have domains of their own. The first phase proposes all hosts,
//! visits them tenth by tenth, and applies their verdicts. It ends by `abort`; the second phase opens the store again. A run with
//! 1,000 hosts measures first how much memory the process needs anyway (the store's buffers and caches).

use std::net::{IpAddr, Ipv4Addr};
use std::ops::Range;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use seine_delivery::Offset;
use seine_frontier::*;
use seine_parse::page::Kind;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const URLS_A_HOST: u64 = 2;
const HOSTS_A_BATCH: u64 = 2_500;
const AT_ONCE: usize = 256;
const STEPS: u64 = 10;
/// Time of the crawl for each event, so that each step begins long after the one before.
const PER_EVENT_MS: u64 = 300;
/// Hosts with which only what does not grow is there.
const FEW: u64 = 1_000;

fn main() -> ExitCode {
    // `cargo bench` adds `--bench`.
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse().expect("a number of hosts");
    match args[..] {
        ["run", hosts, folder] => run(number(hosts), Path::new(folder)),
        ["open", _, folder] => report("opened again", open(Path::new(folder), 1 << 40)),
        [] => parent(1_000_000, &std::env::temp_dir()),
        [hosts] => parent(number(hosts), &std::env::temp_dir()),
        [hosts, folder] => parent(number(hosts), Path::new(folder)),
        _ => {
            eprintln!("cargo bench --bench hosts -- [HOSTS] [FOLDER]");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn parent(hosts: u64, base: &Path) {
    for hosts in [FEW, hosts] {
        let folder = base.join(format!("seine-bench-{}-hosts", std::process::id()));
        println!("{hosts} hosts");
        for phase in ["run", "open"] {
            let program = std::env::current_exe().expect("this program's path");
            let status = Command::new(program).args([phase, &hosts.to_string()]).arg(&folder).status();
            assert!(status.is_ok_and(|status| status.code().is_none()), "it ends by abort");
        }
        std::fs::remove_dir_all(&folder).expect("the bench's own folder can be removed");
    }
}

fn open(folder: &Path, now: u64) -> EmbeddedFrontier {
    let options = FrontierOptions { default_delay: Duration::ZERO, ..FrontierOptions::default() };
    EmbeddedFrontier::open(folder, options, now).expect("the frontier opens")
}

fn run(hosts: u64, folder: &Path) {
    let frontier = open(folder, 0);
    for first in (0..hosts).step_by(HOSTS_A_BATCH as usize) {
        let batch = first..(first + HOSTS_A_BATCH).min(hosts);
        let work: Vec<_> = batch.flat_map(|host| (0..URLS_A_HOST).map(move |n| page(host, n))).collect();
        frontier.propose(&work, 0).expect("proposed");
    }
    report_memory("proposed", &frontier);
    for step in 0..STEPS {
        let began = Instant::now();
        visit(&frontier, step * (hosts / STEPS)..(step + 1) * (hosts / STEPS));
        let visits = began.elapsed();
        let began = Instant::now();
        frontier.next_due();
        let next = began.elapsed();
        let each = visits.as_secs_f64() * 1e6 / (hosts / STEPS) as f64;
        println!(
            "  visited {} of {STEPS}: {each:.0} us a visit, next_due in {:.1} us",
            step + 1,
            next.as_secs_f64() * 1e6
        );
        report_memory("", &frontier);
    }
    report("all visited", frontier);
}

fn page(host: u64, n: u64) -> Proposal {
    let name = match host % 10 {
        0 => format!("subdomain-{host}.wildcard.com"),
        _ => format!("www.some-site-{host}.com"),
    };
    let url = format!("https://{name}/articles/{n}.html");
    Proposal { url, kind: Kind::Page, depth: 1, priority: 1, found: None, lead: None }
}

/// Leases a host for each event, claims their addresses, gives them back with a robots.txt, and brings the verdicts on their URLs.
fn visit(frontier: &EmbeddedFrontier, events: Range<u64>) {
    // All hosts that were visited before are due again, before those that were not: a backlog.
    let (mut event, mut now) = (events.start, events.start * PER_EVENT_MS);
    while event < events.end {
        now += 10;
        let mut batch = Batch::default();
        for lease in frontier.lease(now, LeaseLimits::new(AT_ONCE, 1)).expect("leased") {
            let ip = IpAddr::V4(Ipv4Addr::from((10 << 24) + (event % 50_000) as u32));
            frontier.take_politeness_slot(&lease, ip, AddressLimit::one_with(Duration::ZERO), now);
            let fetched: Vec<String> = lease.work.iter().map(|work| work.url.clone()).collect();
            for url in &fetched {
                event += 1;
                batch.verdicts.push(failed(url.clone(), event, now));
            }
            let robots = Robots { fetched_ms: now, expires_ms: now, access: RobotsAccess::AllowAll, tdm: None };
            let release = Release { fetched, not_before: now + 1_000, robots: Some(robots), ..Release::default() };
            frontier.release(lease, release).expect("released");
        }
        batch.cursor = Offset { index: event, offset: event };
        frontier.apply(&batch, now).expect("applied");
    }
}

/// To be tried again later.
fn failed(url: String, number: u64, now: u64) -> Verdict {
    let attempt = Attempt { at: now, outcome: Cause::Status(404), counts: true, digest: None };
    let host = HostPause::default();
    let change = Change::Retry { at: now + 3_600_000, attempt: 1, put_off: false, cause: None, host };
    let event_id = format!("{number:032x}");
    Verdict { url, kind: Kind::Page, event_id, reached: None, attempt, fetched: Default::default(), change }
}

fn report(when: &str, frontier: EmbeddedFrontier) {
    report_memory(when, &frontier);
    std::process::abort();
}

fn report_memory(when: &str, frontier: &EmbeddedFrontier) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let value = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse::<f64>().ok()
    };
    let (now, most) = (value("VmRSS:").unwrap_or(0.0) * 1024.0, value("VmHWM:").unwrap_or(0.0) * 1024.0);
    let hosts = frontier.counts().hosts_with_work as f64;
    let (mb, at_most, each) = (now / 1e6, most / 1e6, now / hosts);
    println!("  {when:<18}{mb:>8.0} MB resident, {at_most:>6.0} at most, {each:>8.0} bytes for each of {hosts} hosts");
}
