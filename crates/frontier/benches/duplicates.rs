//! Finding duplicates: the time of a look-up and the disk space of a page, among many different pages. Also lists the
//! duplicates among real pages.
//!
//! ```text
//! cargo bench --bench duplicates -- [PAGES] [FOLDER]       default: 200000 pages, in the system's temporary folder
//! cargo bench --bench duplicates -- pages FOLDER           HTML files: which of them are duplicates
//! ```
//!
//! Pages are judged and validated as by a crawl, in batches of 128, once with fingerprints and once without. The difference
//! is the cost of duplicates. Then pages are looked up: half of them differ from a known page in three bits, and half differ
//! from all pages.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use bytes::Bytes;
use fastrand::Rng;
use seine_delivery::Offset;
use seine_frontier::{
    Attempt, Batch, Cause, Change, EmbeddedFrontier, Fetching, FrontierOptions, PageRecord, PageState, Verdict,
    Verdicts,
};
use seine_parse::page::{Kind, Likeness, PageEvent};
use seine_parse::simhash::{self, Simhash};
use seine_parse::{self as parse, DeriveOptions};
use seine_policies::duplicates::{Content, MAX_DISTANCE};
use walkdir::WalkDir;

const BATCH: u64 = 128;
const ASKED: usize = 20_000;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["pages", folder] => real_pages(Path::new(folder)),
        [] => measure(200_000, &std::env::temp_dir()),
        [pages] => measure(pages.parse().expect("a number of pages"), &std::env::temp_dir()),
        [pages, folder] => measure(pages.parse().expect("a number of pages"), Path::new(folder)),
        _ => eprintln!("cargo bench --bench duplicates -- [PAGES] [FOLDER] | pages FOLDER"),
    }
}

fn measure(pages: u64, folder: &Path) {
    let folder = tempfile::tempdir_in(folder).expect("a folder");
    let [without, with] = ["without", "with"].map(|name| folder.path().join(name));
    let (took_without, bytes_without) = fill(&without, pages, false);
    let (took, bytes) = fill(&with, pages, true);
    let each = |seconds: f64| seconds * 1e6 / pages as f64;
    println!("{pages} pages validated in {:.1} us each, {:.1} without fingerprints", each(took), each(took_without));
    println!("{:.1} bytes a page on disk more", (bytes as f64 - bytes_without as f64) / pages as f64);
    let frontier = open(&with);
    for round in ["first", "second"] {
        let mut rng = Rng::with_seed(ROUNDS);
        let mut times: Vec<f64> = (0..ASKED).map(|number| ask(&frontier, pages, number, &mut rng)).collect();
        times.sort_by(f64::total_cmp);
        println!(
            "{ASKED} answers, {round} time: p50 {:.0} us, p99 {:.0} us",
            times[ASKED / 2],
            times[ASKED * 99 / 100]
        );
    }
}

const ROUNDS: u64 = 11;

/// Microseconds.
fn ask(frontier: &EmbeddedFrontier, pages: u64, number: usize, rng: &mut Rng) -> f64 {
    let is_near = number.is_multiple_of(2);
    let known = fingerprint(rng.u64(..pages));
    let near = (0..3).fold(known, |near, _| near ^ 1 << rng.u32(..64));
    let asked = if is_near { near } else { rng.u64(..) };
    let content = Content { digest: rng.u64(..), simhash: Some(asked) };
    let by = format!("http://asks.example/{number}");
    let began = Instant::now();
    let reservation = frontier.reserve(&by, Kind::Page, 0).expect("the frontier answers").expect("there is no budget");
    let told = reservation.reserve_content(content, MAX_DISTANCE).expect("the frontier answers");
    let took = began.elapsed().as_secs_f64() * 1e6;
    assert_eq!(told.is_some(), is_near, "{told:?}");
    took
}

fn open(folder: &Path) -> EmbeddedFrontier {
    EmbeddedFrontier::open(folder, FrontierOptions::default(), 0).expect("a frontier")
}

/// Seconds, and bytes on disk.
fn fill(folder: &Path, pages: u64, with_fingerprints: bool) -> (f64, u64) {
    let frontier = open(folder);
    let began = Instant::now();
    for first in (0..pages).step_by(BATCH as usize) {
        let verdicts = (first..pages.min(first + BATCH)).map(|number| verdict(number, with_fingerprints)).collect();
        let cursor = Offset { index: first + BATCH, offset: 0 };
        frontier.apply(&Batch { verdicts, cursor, ..Batch::default() }, first).expect("the frontier takes it");
    }
    frontier.flush().expect("the frontier writes");
    let took = began.elapsed().as_secs_f64();
    drop(frontier);
    (took, du(folder))
}

fn verdict(number: u64, with_fingerprint: bool) -> Verdict {
    let likeness = Likeness { simhash: Some(fingerprint(number)), of: None, within: MAX_DISTANCE };
    let url = format!("http://host{}.example/page/{number}", number / 1000);
    let mut digest = [0; 32];
    digest[..8].copy_from_slice(&Rng::with_seed(!number).u64(..).to_be_bytes());
    let record = PageRecord {
        url: url.clone(),
        kind: Kind::Page,
        event_id: format!("{:032x}", number + 1),
        state: PageState::New,
        status: 200,
        digest: Some(digest),
        etag: None,
        last_modified: None,
        fetched_ms: number,
        depth: 1,
        history: None,
        final_url: None,
        must_refetch: false,
        noindex: false,
        target: None,
        texts: Default::default(),
        canonical: None,
        passed_at: None,
        url_history: Default::default(),
        likeness: with_fingerprint.then_some(likeness),
        judged: None,
        refused_since: None,
        wall: None,
        preferences: None,
    };
    let attempt = Attempt { at: number, outcome: Cause::Status(200), counts: true, digest: None };
    let (event_id, change) = (record.event_id.clone(), Change::Page { record, due_again: None });
    Verdict { url, kind: Kind::Page, event_id, reached: None, attempt, fetched: Default::default(), change }
}

fn fingerprint(number: u64) -> u64 {
    Rng::with_seed(number).u64(..)
}

fn du(folder: &Path) -> u64 {
    let said = Command::new("du").arg("-sb").arg(folder).output().expect("du runs").stdout;
    String::from_utf8_lossy(&said).split_whitespace().next().and_then(|bytes| bytes.parse().ok()).expect("a number")
}

/// In the order of their names.
fn real_pages(folder: &Path) {
    let dir = tempfile::tempdir().expect("a folder");
    let frontier = open(dir.path());
    let (mut all, mut short, mut exact, mut near) = (0, 0, 0, [0; 4]);
    let files = WalkDir::new(folder)
        .sort_by_file_name()
        .into_iter()
        .flatten()
        .filter(|file| file.path().extension().is_some_and(|it| it == "html"));
    let mut reservations = Vec::new(); // later pages are compared with these
    for (number, file) in files.enumerate() {
        let Ok(body) = std::fs::read(file.path()) else { continue };
        let mut event = PageEvent::empty(format!("http://host.example/{number}"));
        if let seine_parse::page::Outcome::Response(response) = &mut event.outcome {
            response.headers.push("content-type", "text/html");
            response.body = Bytes::from(body);
        }
        let derived = parse::derive(&event, &DeriveOptions { max_decoded_bytes: 10 << 20, ..DeriveOptions::default() });
        let bits = simhash::of_page(&derived, Some("text/html"), true).and_then(Simhash::telling);
        (all, short) = (all + 1, short + u64::from(bits.is_none()));
        let reserved = frontier.reserve(&event.url, Kind::Page, 0).expect("the frontier answers");
        let reservation = reserved.expect("there is no budget");
        let told = reservation.reserve_content(Content::new(&derived.digest, bits), MAX_DISTANCE);
        reservations.push(reservation);
        let Some(of) = told.expect("the frontier answers") else { continue };
        match of.simhash {
            None => exact += 1,
            Some(_) => near[usize::from(of.distance)] += 1,
        }
        println!("{} {} {} {}", of.kind(), of.distance, file.path().display(), of.url);
    }
    println!("{all} pages, {short} whose text tells little; {exact} exact duplicates, near ones by distance {near:?}");
}
