//! Finding duplicates: the time of a look-up and the disk space of a page, among many different pages; which edited
//! copies are found, and which different pages are taken for copies; the duplicates among real pages.
//!
//! ```text
//! cargo bench --bench duplicates -- [PAGES] [FOLDER]       default: 200000 pages, in the system's temporary folder
//! cargo bench --bench duplicates -- quality [FOLDER]       precision and recall, also for copies of these HTML files
//! cargo bench --bench duplicates -- pages FOLDER           HTML files: which of them are duplicates
//! ```
//!
//! Pages are judged and validated as by a crawl, in batches of 128, once with sketches and once without. The difference
//! is the cost of duplicates. Then pages are looked up: half of them have one band in common with a known page and nearly
//! the same text, and half differ from all pages.

mod edit;
mod made;
mod quality;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use bytes::Bytes;
use fastrand::Rng;
use seine_delivery::Offset;
use seine_frontier::{
    Attempt, Batch, Cause, Change, EmbeddedFrontier, Fetching, FrontierOptions, PageRecord, PageState, Reservation,
    Verdict, Verdicts,
};
use seine_parse::page::{DuplicateOf, Kind, Likeness, PageEvent};
use seine_parse::set_sketch::SetSketch;
use seine_parse::text_sketch::{self, BodySketch, TextSketch};
use seine_parse::{DeriveOptions, derive};
use seine_policies::duplicates::{Content, MAX_DISTANCE};
use tempfile::TempDir;
use walkdir::WalkDir;

const BATCH: u64 = 128;
const ASKED: usize = 20_000;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["pages", folder] => real_pages(Path::new(folder)),
        ["quality"] => quality::measure(None),
        ["quality", folder] => quality::measure(Some(Path::new(folder))),
        [] => measure(200_000, &std::env::temp_dir()),
        [pages] => measure(pages.parse().expect("a number of pages"), &std::env::temp_dir()),
        [pages, folder] => measure(pages.parse().expect("a number of pages"), Path::new(folder)),
        _ => eprintln!("cargo bench --bench duplicates -- [PAGES] [FOLDER] | quality [FOLDER] | pages FOLDER"),
    }
}

fn measure(pages: u64, folder: &Path) {
    let folder = tempfile::tempdir_in(folder).expect("a folder");
    let [without, with] = ["without", "with"].map(|name| folder.path().join(name));
    let (took_without, bytes_without) = fill(&without, pages, false);
    let (took, bytes) = fill(&with, pages, true);
    let each = |seconds: f64| seconds * 1e6 / pages as f64;
    println!("{pages} pages validated in {:.1} us each, {:.1} without sketches", each(took), each(took_without));
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
    let known = sketch(rng.u64(..pages));
    let body = BodySketch { minima: known.body.minima ^ 0b111, ..known.body };
    let near = TextSketch { bands: [known.bands[0], 1], body };
    let asked = if is_near { near } else { sketch(rng.u64(pages..)) };
    let content = Content { digest: rng.u64(..), sketch: Some(asked) };
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
fn fill(folder: &Path, pages: u64, with_sketches: bool) -> (f64, u64) {
    let frontier = open(folder);
    let began = Instant::now();
    for first in (0..pages).step_by(BATCH as usize) {
        let verdicts = (first..pages.min(first + BATCH)).map(|number| verdict(number, with_sketches)).collect();
        let cursor = Offset { index: first + BATCH, offset: 0 };
        frontier.apply(&Batch { verdicts, cursor, ..Batch::default() }, first).expect("the frontier takes it");
    }
    frontier.flush().expect("the frontier writes");
    let took = began.elapsed().as_secs_f64();
    drop(frontier);
    into_tables(folder);
    (took, du(&folder.join("store/keyspaces")))
}

/// Moves everything from the journal into tables.
fn into_tables(folder: &Path) {
    let db = fjall::Database::builder(folder.join("store")).open().expect("a store");
    for name in db.list_keyspace_names() {
        let keyspace = db.keyspace(&name, fjall::KeyspaceCreateOptions::default).expect("a keyspace");
        keyspace.rotate_memtable_and_wait().expect("the store writes");
        keyspace.major_compact().expect("the store writes");
    }
}

fn verdict(number: u64, with_sketch: bool) -> Verdict {
    let likeness = Likeness::new(Some(sketch(number)), None, MAX_DISTANCE);
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
        likeness: with_sketch.then_some(likeness),
        judged: None,
        refused_since: None,
        wall: None,
        preferences: None,
    };
    let attempt = Attempt { at: number, outcome: Cause::Status(200), counts: true, digest: None };
    let (event_id, change) = (record.event_id.clone(), Change::Page { record, due_again: None });
    Verdict { url, kind: Kind::Page, event_id, reached: None, attempt, fetched: Default::default(), change }
}

fn sketch(number: u64) -> TextSketch {
    let mut rng = Rng::with_seed(number);
    let mut details = SetSketch::default();
    (0..20).for_each(|_| details.toggle(rng.u64(..)));
    let body = BodySketch { minima: rng.u64(..), details, detail_count: 20 };
    TextSketch { bands: [rng.u32(..), rng.u32(..)], body }
}

fn du(folder: &Path) -> u64 {
    let said = Command::new("du").arg("-sb").arg(folder).output().expect("du runs").stdout;
    String::from_utf8_lossy(&said).split_whitespace().next().and_then(|bytes| bytes.parse().ok()).expect("a number")
}

/// Pages that are compared with all that were kept before, as by a crawl.
struct Asking {
    frontier: EmbeddedFrontier,
    _folder: TempDir,
    kept: Vec<Reservation>,
    number: usize,
}

impl Asking {
    fn new() -> Asking {
        let folder = tempfile::tempdir().expect("a folder");
        Asking { frontier: open(folder.path()), _folder: folder, kept: Vec::new(), number: 0 }
    }

    /// The URL of the page asked for last.
    fn url(&self) -> String {
        format!("http://host.example/{}", self.number)
    }

    /// Returns the page that it duplicates. `keeps`: later pages are compared with it.
    fn ask(&mut self, body: &[u8], keeps: bool) -> Option<DuplicateOf> {
        self.number += 1;
        let reserved = self.frontier.reserve(&self.url(), Kind::Page, 0).expect("the frontier answers");
        let reservation = reserved.expect("there is no budget");
        let told = reservation.reserve_content(content(body), MAX_DISTANCE).expect("the frontier answers");
        if keeps {
            self.kept.push(reservation);
        }
        told
    }
}

fn content(body: &[u8]) -> Content {
    let mut event = PageEvent::empty("http://host.example/".to_owned());
    if let seine_parse::page::Outcome::Response(response) = &mut event.outcome {
        response.headers.push("content-type", "text/html");
        response.body = Bytes::copy_from_slice(body);
    }
    let derived = derive(&event, &DeriveOptions { max_decoded_bytes: 10 << 20, ..DeriveOptions::default() });
    let sketch = text_sketch::of_page(&derived, Some("text/html"));
    Content::new(&derived.digest, sketch)
}

/// Whether the page has enough text for near duplicates.
fn has_text(body: &[u8]) -> bool {
    content(body).sketch.is_some()
}

/// HTML files with their content, in the order of their names.
fn pages_in(folder: &Path) -> impl Iterator<Item = (PathBuf, Vec<u8>)> {
    let files = WalkDir::new(folder).sort_by_file_name().into_iter().flatten().map(|file| file.into_path());
    let html = files.filter(|path| path.extension().is_some_and(|it| it == "html"));
    html.filter_map(|path| std::fs::read(&path).ok().map(|body| (path, body)))
}

fn real_pages(folder: &Path) {
    let mut asking = Asking::new();
    let (mut all, mut short, mut exact, mut near) = (0, 0, 0, [0; 4]);
    for (path, body) in pages_in(folder) {
        (all, short) = (all + 1, short + u64::from(!has_text(&body)));
        let Some(of) = asking.ask(&body, true) else { continue };
        match of.is_near() {
            true => near[usize::from(of.distance)] += 1,
            false => exact += 1,
        }
        println!("{} {} {} {}", of.kind(), of.distance, path.display(), of.url);
    }
    println!("{all} pages, {short} whose text tells little; {exact} exact duplicates, near ones by distance {near:?}");
}
