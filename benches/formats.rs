//! The cost of a page in each format: written by its sink, and read back. The same run measures copying and deflating the
//! same bytes, and other libraries on the same WARC files.
//!
//! `cargo bench --bench formats [-- PAGES [FOLDER]]`: by default 2,000 pages in the system's temporary folder. All rates are
//! in MB of page bodies, so they can be compared between formats. MB/s include the time that the disk takes; CPU time is
//! that of the thread, with the kernel's. Each figure is the best of three rounds.

#[path = "support/bare.rs"]
mod bare;
#[path = "support/cpu.rs"]
mod cpu;
#[path = "../crates/parse/tests/support/event.rs"]
mod event;
#[path = "support/pages.rs"]
mod pages;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use cpu::Cost;
use seine::archive::inputs::{ArchiveInput, ArchiveInputs, FoundInput, InputOptions};
use seine::archive::read::Pages;
use seine::archive::recover::recover;
use seine::archive::verify::verify;
use seine::config;
use seine::sinks::{self, SinkContext};
use seine_delivery::{Deriver, Entry, Offset};
use seine_formats::files::write_event;
use seine_formats::tianwang;
use seine_formats::warc::{DigestVerdict, WarcReader, WarcRecord};
use seine_parse::DeriveOptions;
use seine_parse::page::PageEvent;
use seine_parse::page::wire::{Framing, Wire};
use serde_json::Value;
use tempfile::TempDir;

/// About as many pages of 30 KB as a crawl gives a sink at once.
const BATCH: usize = 256;
/// Bytes of the chunks that the pages came in.
const CHUNK: usize = 16 << 10;

/// A format as a configuration names it, and the bare work it is compared with.
struct Case {
    label: &'static str,
    sink: &'static str,
    /// A key that is not as it is without a configuration.
    setting: Option<(&'static str, &'static str)>,
    beside: fn(&Bare) -> &Both,
}

const PLAIN_WARC: (&str, &str) = ("target_storage.data_format.warc.compress", "false");
const WITH_CDXJ: (&str, &str) = ("target_storage.data_format.warc.cdxj", "true");
const PLAIN_TIANWANG: (&str, &str) = ("target_storage.data_format.tianwang.compress", "false");

const CASES: [Case; 13] = [
    Case { label: "FILES", sink: "FILES", setting: None, beside: |bare| &bare.deflate_lines },
    Case { label: "WARC gzip", sink: "WARC", setting: None, beside: |bare| &bare.deflate },
    Case { label: "WARC gzip, CDXJ", sink: "WARC", setting: Some(WITH_CDXJ), beside: |bare| &bare.deflate },
    Case { label: "WARC plain", sink: "WARC", setting: Some(PLAIN_WARC), beside: |bare| &bare.copy },
    Case { label: "TIANWANG", sink: "TIANWANG", setting: None, beside: |bare| &bare.deflate },
    Case { label: "TIANWANG plain", sink: "TIANWANG", setting: Some(PLAIN_TIANWANG), beside: |bare| &bare.copy },
    Case { label: "CDR31", sink: "CDR31", setting: None, beside: |bare| &bare.copy },
    Case { label: "ELASTIC", sink: "ELASTIC", setting: None, beside: |bare| &bare.copy },
    Case { label: "WEB_INDEX", sink: "WEB_INDEX", setting: None, beside: |bare| &bare.copy },
    Case { label: "FILESYSTEM_HTML", sink: "FILESYSTEM_HTML", setting: None, beside: |bare| &bare.copy },
    Case { label: "FILESYSTEM_JSON", sink: "FILESYSTEM_JSON", setting: None, beside: |bare| &bare.copy },
    Case { label: "FILESYSTEM_CBOR", sink: "FILESYSTEM_CBOR", setting: None, beside: |bare| &bare.copy },
    Case { label: "PAGESTORE", sink: "PAGESTORE", setting: None, beside: |bare| &bare.copy },
];

/// The time of writing and of reading the same pages, and the bytes on disk.
struct Both {
    write: Cost,
    read: Cost,
    stored: u64,
}

/// The bare work.
struct Bare {
    copy: Both,
    /// A stream a page.
    deflate: Both,
    /// FILES' lines, base64 and all, in one stream.
    deflate_lines: Both,
}

fn main() {
    // Cargo adds `--bench`; without it this is `cargo test --all-targets`, which only wants to see that it runs.
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let (usual, rounds) = if is_bench { (2_000, 3) } else { (30, 1) };
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let pages = arguments.next().map_or(usual, |n| n.parse().expect("a number of pages"));
    let folder = arguments.next().map_or_else(std::env::temp_dir, Into::into);

    let entries = entries(pages);
    let bodies: Vec<&[u8]> = entries.iter().map(|entry| &body(&entry.event)[..]).collect();
    let run = Run { rounds, pages, bytes: bodies.iter().map(|it| it.len()).sum(), folder };
    println!("{pages} pages of {} bytes on average, best of {rounds}; load {}", run.bytes / pages, load());
    println!("{:<30} {:^28} {:^28}", "", "written", "read");
    let each = format!("{:>8} {:>10} {:>8}", "MB/s", "CPU ms", "x bare");
    println!("{:<30} {each} {each} {:>10}", "", "bytes/page");
    let bare = run.bare(&bodies, &lines(&entries));
    let folders: Vec<TempDir> = CASES.iter().map(|case| run.case(case, &entries, &bare)).collect();

    let file = |label: &str| {
        let at = CASES.iter().position(|case| case.label == label).expect("one of the cases");
        files(folders[at].path()).remove(0)
    };
    println!();
    for label in ["FILES", "TIANWANG", "TIANWANG plain"] {
        run.verified(label, &file(label));
    }
    for label in ["WARC gzip", "WARC plain"] {
        run.digests_checked(label, &file(label));
    }
    for label in ["TIANWANG", "TIANWANG plain"] {
        run.recovered(label, &file(label));
    }
    println!();
    if is_bench {
        run.peers(&[file("WARC gzip"), file("WARC plain")]);
    }
    println!("load at the end {}", load());
}

struct Run {
    rounds: u32,
    pages: usize,
    /// Of all bodies together.
    bytes: usize,
    folder: PathBuf,
}

impl Run {
    fn bare(&self, bodies: &[&[u8]], lines: &[Vec<u8>]) -> Bare {
        let lines: Vec<&[u8]> = lines.iter().map(Vec::as_slice).collect();
        let bare = Bare {
            copy: self.both_bare(bodies, bare::copy, bare::read),
            deflate: self.both_bare(bodies, bare::deflate_each, bare::inflate_each),
            deflate_lines: self.both_bare(&lines, bare::deflate_all, bare::inflate_all),
        };
        self.row("bare copy", &bare.copy, None);
        self.row("bare DEFLATE, a stream a page", &bare.deflate, None);
        self.row("bare DEFLATE of FILES' lines", &bare.deflate_lines, None);
        bare
    }

    fn both_bare(&self, pieces: &[&[u8]], write: fn(&[&[u8]], &Path), read: fn(&Path) -> usize) -> Both {
        let path = self.temporary().path().with_extension("bare");
        let write = self.best(|| {
            let _ = std::fs::remove_file(&path);
            cpu::once(|| write(pieces, &path)).0
        });
        let total: usize = pieces.iter().map(|it| it.len()).sum();
        let read = self.best(|| {
            let (cost, length) = cpu::round(|| read(&path));
            assert!(length == total || length as u64 == size(&path), "{length} bytes were read");
            cost
        });
        let stored = size(&path);
        std::fs::remove_file(&path).expect("just written");
        Both { write, read, stored }
    }

    /// Returns the folder with the files of the last round.
    fn case(&self, case: &Case, entries: &[Arc<Entry>], bare: &Bare) -> TempDir {
        let mut folder = self.temporary();
        let write = self.best(|| {
            folder = self.temporary();
            cpu::once(|| write(case, entries, folder.path())).0
        });
        let read = self.best(|| {
            let (cost, (pages, bytes)) = cpu::round(|| read(folder.path()));
            let expected = if case.sink == "WEB_INDEX" { 0 } else { self.bytes };
            assert_eq!((pages, bytes), (self.pages, expected), "{}: pages and bytes of bodies read back", case.label);
            cost
        });
        let stored = files(folder.path()).iter().map(|path| size(path)).sum();
        self.row(case.label, &Both { write, read, stored }, Some((case.beside)(bare)));
        folder
    }

    fn verified(&self, label: &str, path: &Path) {
        let part = part(path);
        let cost = self.best(|| {
            let (cost, report) = cpu::round(|| verify(&part, &Arc::default(), &mut |_| {}).expect("just written"));
            assert!(report.verdict.is_fine() && report.pages == self.pages as u64, "{report:?}");
            cost
        });
        self.line(&format!("verify {label}"), cost, "");
    }

    /// As far as `verify` would go for WARC: every record, and the digests that it states.
    fn digests_checked(&self, label: &str, path: &Path) {
        let cost = self.best(|| {
            let reader = || WarcReader::new(File::open(path).expect("just written"));
            let is_wrong = |verdict| matches!(verdict, DigestVerdict::Wrong { .. });
            let is_right = |it: WarcRecord| !is_wrong(it.check_block()) && !is_wrong(it.check_payload());
            let check = || reader().all(|it| is_right(it.expect("just written")));
            let (cost, is_right) = cpu::round(check);
            assert!(is_right);
            cost
        });
        self.line(&format!("digests of {label} checked"), cost, "");
    }

    /// Of a file with damage in about every hundredth page.
    fn recovered(&self, label: &str, path: &Path) {
        let folder = self.temporary();
        let (damaged, out) = (folder.path().join("damaged"), folder.path().join("recovered"));
        std::fs::write(&damaged, with_damage(std::fs::read(path).expect("just written"), self.pages)).expect("room");
        let mut records = 0;
        let cost = self.best(|| {
            let _ = std::fs::remove_file(&out);
            let (cost, recovery) = cpu::once(|| recover(&damaged, &out, Some(tianwang::FORMAT), &mut |_, _| {}));
            records = recovery.expect("a folder of the bench's own").records;
            cost
        });
        self.line(&format!("recover {label}"), cost, &format!("{records} of {} records", self.pages));
    }

    /// Libraries of others on the very files that the sink wrote.
    fn peers(&self, paths: &[PathBuf]) {
        let program = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/support/warc_peers.py");
        let mut command = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/services/warc-readers"));
        let output = command.arg("python").arg(program).arg(self.rounds.to_string()).args(paths).output();
        let output = match output {
            Ok(output) if output.status.success() => output.stdout,
            Ok(output) => {
                return println!("warcio and FastWARC are left out: {}", String::from_utf8_lossy(&output.stderr));
            }
            Err(error) => return println!("warcio and FastWARC are left out: {error}"),
        };
        for line in output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let measured: Value = serde_json::from_slice(line).expect("the program prints JSON");
            let seconds = |name: &str| Duration::from_secs_f64(measured[name].as_f64().expect("a number"));
            let (name, out) = (measured["name"].as_str().expect("a name"), &measured["out"]);
            assert!(name.contains("writes") || *out == self.bytes, "{name}: {out} bytes of bodies");
            self.line(name, Cost { cpu: seconds("cpu"), wall: seconds("wall") }, "");
        }
    }

    fn best(&self, mut round: impl FnMut() -> Cost) -> Cost {
        let first = round();
        (1..self.rounds).fold(first, |best, _| best.best(round()))
    }

    fn temporary(&self) -> TempDir {
        tempfile::tempdir_in(&self.folder).expect("a folder to write in")
    }

    fn row(&self, name: &str, both: &Both, beside: Option<&Both>) {
        let figures = |cost: Cost, beside: Option<Cost>| {
            let times = beside.map(|it| format!("{:.2}", cost.cpu.as_secs_f64() / it.cpu.as_secs_f64()));
            format!("{} {:>8}", self.figures(cost), times.unwrap_or_default())
        };
        let (write, read) =
            (figures(both.write, beside.map(|it| it.write)), figures(both.read, beside.map(|it| it.read)));
        println!("{name:<30} {write} {read} {:>10}", both.stored / self.pages as u64);
    }

    fn line(&self, name: &str, cost: Cost, what: &str) {
        println!("{name:<45} {}   {what}", self.figures(cost));
    }

    fn figures(&self, cost: Cost) -> String {
        let rate = self.bytes as f64 / 1e6 / cost.wall.as_secs_f64();
        format!("{rate:>8.1} {:>10.4}", cost.cpu.as_secs_f64() * 1e3 / self.pages as f64)
    }
}

fn write(case: &Case, entries: &[Arc<Entry>], folder: &Path) {
    let mut settings = vec![("target_storage.data_formats", case.sink.to_owned())];
    settings.extend(case.setting.map(|(key, value)| (key, value.to_owned())));
    let config = config::load_with(None, &[], &settings).expect("valid settings").config.sinks.remove(0);
    let mut sink = sinks::open(&config, &SinkContext::new(folder), &Value::Null).expect("an empty folder");
    for batch in entries.chunks(BATCH) {
        sink.deliver(batch).expect("a disk with room");
    }
    let delivered = sink.flush().expect("a disk with room");
    assert_eq!(delivered.delivered, entries.len() as u64, "{}", case.label);
    sink.close().expect("a disk with room");
}

/// How many pages, and the bytes of their bodies.
fn read(folder: &Path) -> (usize, usize) {
    let add = |(pages, bytes): (usize, usize), event: &PageEvent| (pages + 1, bytes + body(event).len());
    let pages = parts(folder).flat_map(|part| Pages::open(&part, 0, &Arc::default()).expect("just written"));
    pages.fold((0, 0), |sum, page| add(sum, &page.expect("just written").event))
}

/// The inputs of a folder; all of them must be readable.
fn parts(path: &Path) -> impl Iterator<Item = ArchiveInput> {
    let names = [path.display().to_string()];
    let source = ArchiveInputs::open(&names, InputOptions::default()).expect("just written");
    source.map(|found| match found.expect("just written") {
        FoundInput::Input(input) => input,
        FoundInput::PassedOver { name, why } => panic!("{name} was passed over: {why}"),
    })
}

fn part(path: &Path) -> ArchiveInput {
    parts(path).next().expect("a file is a part")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = walkdir::WalkDir::new(folder).sort_by_file_name().into_iter().map(|it| it.expect("just written"));
    entries.filter(|it| it.file_type().is_file()).map(|it| it.into_path()).collect()
}

fn size(path: &Path) -> u64 {
    std::fs::metadata(path).expect("just written").len()
}

/// Half a kilobyte overwritten in a hundredth of as many places as there are pages; the same places in every run.
fn with_damage(mut bytes: Vec<u8>, pages: usize) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(1);
    for _ in 0..pages.div_ceil(100) {
        let at = random.usize(..bytes.len() - 512);
        random.fill(&mut bytes[at..at + 512]);
    }
    bytes
}

fn lines(entries: &[Arc<Entry>]) -> Vec<Vec<u8>> {
    let line = |entry: &Arc<Entry>| {
        let mut line = Vec::new();
        assert!(write_event(&entry.event, body(&entry.event), &mut line));
        line
    };
    entries.iter().map(line).collect()
}

fn body(event: &PageEvent) -> &Bytes {
    &event.response().expect("made with one").body
}

/// As the log gives them to a sink that keeps up: derived already.
fn entries(pages: usize) -> Vec<Arc<Entry>> {
    let options = DeriveOptions::default();
    let deriver = Deriver::keeping(usize::MAX, options.clone());
    let entry = |number: usize| {
        let event = with_wire(pages::page(number), number);
        let (kept, at) = (deriver.keep(&event, seine_parse::derive(&event, &options).into()), number as u64 + 1);
        Arc::new(Entry::shared(Offset { index: at, offset: at }, Arc::new(event), kept, &deriver))
    };
    (0..pages).map(entry).collect()
}

/// With its exchange as it went over an HTTP/1.1 connection, in chunks.
fn with_wire(mut event: PageEvent, number: usize) -> PageEvent {
    let request = [("Host", "host.example"), ("User-Agent", "Seine/0.1"), ("Accept", "text/html,*/*;q=0.5")];
    event.request_headers = event::answer(&request, "").headers;
    let lines = |headers: &seine_parse::page::Headers| -> String {
        headers.0.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect()
    };
    let request = format!("GET /page/{number}.html HTTP/1.1\r\n{}\r\n", lines(&event.request_headers));
    let response = event::response(&mut event);
    let head = format!("HTTP/1.1 200 OK\r\n{}\r\n", lines(&response.headers));
    response.wire = Some(Wire { request: request.into(), head: head.into(), framing: chunked(response.body.len()) });
    event
}

fn chunked(length: usize) -> Vec<Framing> {
    let size_line = |at: usize| {
        let behind_last = if at == 0 { "" } else { "\r\n" };
        let bytes = format!("{behind_last}{:x}\r\n", CHUNK.min(length - at));
        Framing { at: at as u64, bytes: bytes.into() }
    };
    let mut framing: Vec<Framing> = (0..length).step_by(CHUNK).map(size_line).collect();
    framing.push(Framing { at: length as u64, bytes: "\r\n0\r\n\r\n".into() });
    framing
}

/// Of the machine, as the system tells (Linux).
fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or_default().to_owned()
}
