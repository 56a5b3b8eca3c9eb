//! The whole crawl: the real binary crawls a local website of 10,000 pages (30 KB, 140 links each, 100 hosts) that runs
//! in a process of its own, once for each sink. Politeness delays are off, robots.txt is asked for, the page log and the
//! frontier are as durable as ever.
//!
//! `cargo bench --bench crawl [-- ROUNDS [FOLDER]]`: three rounds in the system's temporary folder unless told. Shown is
//! the round with the least CPU; the peak memory is the largest of all rounds.

#[path = "support/child.rs"]
mod child;
#[path = "support/cpu.rs"]
mod cpu;
#[path = "../crates/parse/tests/support/event.rs"]
mod event;
#[path = "support/site.rs"]
mod site;
#[path = "support/stages.rs"]
mod stages;

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use child::Cost;
use seine_formats::files::FilesReader;
use seine_frontier::{EmbeddedFrontier, FrontierOptions, Verdicts};
use site::SiteProcess;

const SINKS: [&str; 3] = ["stdout", "files", "void"];

fn main() {
    if site::run_if_asked() {
        return;
    }
    // Cargo adds `--bench`; without it this is `cargo test --all-targets`, which only wants to see that it runs.
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let rounds = arguments.next().map_or(if is_bench { 3 } else { 1 }, |n| n.parse().expect("a number of rounds"));
    let folder = arguments.next().map_or_else(std::env::temp_dir, Into::into);
    let pages = if is_bench { site::PAGES } else { 300 };

    let site = site::spawn_site().expect("the site starts");
    println!("{pages} pages, best of {rounds}\n");
    println!("sink      pages/s   CPU ms a page (user + system)   peak RSS MB   wall s");
    let costs = SINKS.map(|sink| {
        let all: Vec<Cost> = (0..rounds).map(|_| crawl(&site, sink, pages, &folder)).collect();
        let best = shown(all);
        println!("{}", row(sink, &best, pages));
        best
    });
    println!("\nCPU by thread, µs a page");
    for (sink, cost) in SINKS.iter().zip(&costs) {
        println!("  {sink}");
        let mut threads: Vec<_> = cost.threads.iter().collect();
        threads.sort_by_key(|(_, cpu)| std::cmp::Reverse(**cpu));
        for (name, cpu) in threads.into_iter().filter(|(_, cpu)| cpu.as_micros() as usize >= pages) {
            println!("    {name:<22} {:>7.1}", cpu.as_secs_f64() * 1e6 / pages as f64);
        }
    }
    if is_bench {
        println!("\nStages by themselves, one thread, µs a page");
        for (name, cpu) in stages::measure() {
            println!("    {name:<36} {:>7.1}", cpu.as_secs_f64() * 1e6);
        }
    }
}

/// The least CPU; the largest peak of memory.
fn shown(costs: Vec<Cost>) -> Cost {
    let peak_bytes = costs.iter().map(|cost| cost.peak_bytes).max().unwrap_or(0);
    let best = costs.into_iter().min_by_key(Cost::cpu).expect("at least one round");
    Cost { peak_bytes, ..best }
}

fn row(sink: &str, cost: &Cost, pages: usize) -> String {
    let (wall, pages) = (cost.wall.as_secs_f64(), pages as f64);
    let [cpu, user, system] = [cost.cpu(), cost.user, cost.system].map(|time| time.as_secs_f64() * 1e3 / pages);
    let (rate, peak) = (pages / wall, cost.peak_bytes as f64 / 1e6);
    format!("{sink:<8} {rate:>8.0}   {cpu:>10.3} ({user:.3} + {system:.3})     {peak:>15.0}   {wall:>6.2}")
}

/// One crawl from empty stores to its end, checked.
fn crawl(site: &SiteProcess, sink: &str, pages: usize, folder: &Path) -> Cost {
    let dir = tempfile::tempdir_in(folder).expect("a folder to write in");
    let [data, seeds, out, logs] = ["data", "seeds", "out", "logs"].map(|name| dir.path().join(name));
    std::fs::write(&seeds, site.seeds().join("\n")).expect("the disk holds");
    let mut command = Command::new(env!("CARGO_BIN_EXE_seine"));
    command.args(["crawl", "--quiet", "--delay", "0", "--allow-private", "--concurrency", "64", "--sink", sink]);
    command.arg("--seeds").arg(&seeds).arg("--output").arg(&data);
    if pages < site::PAGES {
        command.args(["--max-pages", &pages.to_string()]);
    }
    let create = |path: &Path| File::create(path).expect("the disk holds");
    command.stdin(Stdio::null()).stdout(create(&out)).stderr(create(&logs));
    let started = Instant::now();
    let child = command.spawn().expect("seine starts");
    let cost = child::watch(child, started).unwrap_or_else(|error| {
        panic!("{error}: {}", std::fs::read_to_string(&logs).unwrap_or_default());
    });

    let frontier = EmbeddedFrontier::open(&data.join("frontier"), FrontierOptions::default(), 0);
    let counts = frontier.expect("the crawl's frontier").counts();
    assert_eq!(counts.live as usize, pages, "pages in the frontier");
    let delivered = match sink {
        "files" => urls_of_files(&data.join("files")),
        "stdout" => urls_of_lines(&out),
        _ => return cost,
    };
    let distinct: HashSet<&String> = delivered.iter().collect();
    assert_eq!((delivered.len(), distinct.len()), (pages, pages), "pages delivered, each once");
    cost
}

fn urls_of_files(folder: &Path) -> Vec<String> {
    let mut urls = Vec::new();
    for file in std::fs::read_dir(folder).expect("the sink's folder") {
        let file = File::open(file.expect("listed").path()).expect("the sink's file");
        urls.extend(FilesReader::new(file).map(|record| record.expect("a record").url.into_owned()));
    }
    urls
}

fn urls_of_lines(path: &Path) -> Vec<String> {
    #[derive(serde::Deserialize)]
    struct Line {
        url: String,
    }
    let lines = BufReader::new(File::open(path).expect("standard output's file")).lines();
    lines.map(|line| serde_json::from_str::<Line>(&line.expect("a line")).expect("a JSON object").url).collect()
}
