//! The sink: every delivered page is there, once, whatever happened in between.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use seine_delivery::{Deriver, Entry, Offset};
use seine_parse::page::{Failure, FailureReason};
use seine_parse::{DeriveOptions, Derived};

use crate::warc_pages::*;
use seine::config::Config;
use seine::sinks::Sink;
use serde_json::Value;

use crate::sink as sinks;

pub const NO_LIMIT: u64 = 1 << 40;

/// The settings that the tests change; the rest is the default.
#[derive(Clone, Copy)]
pub struct WarcConfig {
    pub max_file_size: u64,
    pub compress: bool,
    pub cdxj: bool,
    pub metadata: bool,
    pub revisits: usize,
}

pub fn config() -> WarcConfig {
    WarcConfig { max_file_size: NO_LIMIT, compress: true, cdxj: false, metadata: false, revisits: 0 }
}

pub fn open(config: &WarcConfig, folder: &Path, state: &Value) -> Box<dyn Sink> {
    let keys = [
        ("warc.max_file_size", config.max_file_size.to_string()),
        ("warc.compress", config.compress.to_string()),
        ("warc.cdxj", config.cdxj.to_string()),
        ("warc.metadata", config.metadata.to_string()),
        ("warc.revisits", config.revisits.to_string()),
        ("warc.operator", "Jo".to_owned()),
    ];
    let keys: Vec<(&str, &str)> = keys.iter().map(|(key, value)| (*key, value.as_str())).collect();
    sinks::open(&sinks::config("WARC", &keys), folder, state)
}

pub fn entry(number: u64, event: PageEvent) -> Arc<Entry> {
    let deriver = Deriver::keeping(1 << 20, DeriveOptions::default());
    let kept = deriver.keep(&event, Arc::new(Derived { links: links(), ..Derived::default() }));
    let end = Offset { index: number + 1, offset: (number + 1) * 100 };
    Arc::new(Entry::shared(end, Arc::new(event), kept, &deriver))
}

/// Noise that does not compress, the same for a number every time.
fn page(number: u64) -> Arc<Entry> {
    let mut random = fastrand::Rng::with_seed(number);
    let body: Vec<u8> = (0..300).map(|_| random.u8(..)).collect();
    entry(number, exact(number, &body))
}

fn pages_of(numbers: std::ops::Range<u64>) -> Vec<Arc<Entry>> {
    numbers.map(page).collect()
}

/// The folder's files with this suffix, oldest first.
pub fn files(folder: &Path, suffix: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries.filter(|path| path.to_str().unwrap().ends_with(suffix)).collect();
    files.sort();
    files
}

fn names(folder: &Path) -> Vec<String> {
    files(folder, "").iter().map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect()
}

/// The numbers of the pages in the folder's files, including open ones. Fails on anything unreadable.
fn numbers(folder: &Path) -> Vec<u64> {
    let archives = files(folder, "").into_iter().filter(|path| !path.to_str().unwrap().contains(".cdxj"));
    archives
        .flat_map(|path| {
            let file = std::fs::read(path).unwrap();
            assert_eq!(records(&file)[0].kind(), "warcinfo");
            pages(&file)
        })
        .map(|event| event.url.rsplit('/').next().unwrap().parse().unwrap())
        .collect()
}

#[test]
fn what_is_delivered_can_be_read_at_once_and_what_is_not_held_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let mut sink = open(&config(), folder.path(), &Value::Null);
    assert!(names(folder.path()).is_empty(), "no file without a page");
    let mut failed = event(2, b"");
    failed.outcome = Outcome::Failure(Failure { reason: FailureReason::Dns, message: "no such name".into() });
    let mut sitemap = event(3, b"<urlset/>");
    sitemap.kind = Kind::Sitemap;
    let entries = [page(0), entry(1, missing(1)), entry(2, failed), entry(3, sitemap), page(4)];
    let delivered = sink.deliver(&entries).unwrap();
    assert_eq!((delivered.delivered, delivered.skipped, delivered.dead), (3, 2, 0));
    assert_eq!(delivered.up_to, Offset { index: 5, offset: 500 });
    assert_eq!(numbers(folder.path()), [0, 1, 4]);

    let [open_name] = <[_; 1]>::try_from(names(folder.path())).unwrap();
    let pattern = regex::Regex::new(r"^crawl_data-20\d{15}-00000\.warc\.gz\.open$").unwrap();
    assert!(pattern.is_match(&open_name), "{open_name}");
    sink.close().unwrap();
    let [name] = <[_; 1]>::try_from(names(folder.path())).unwrap();
    assert_eq!(format!("{name}.open"), open_name);

    let all = records(&std::fs::read(folder.path().join(&name)).unwrap());
    assert_eq!(all[0].get("WARC-Filename"), Some(name.as_str()));
    let text = String::from_utf8(all[0].block.to_vec()).unwrap();
    let says = |line: &str| assert!(text.contains(&format!("{line}\r\n")), "{line} is not in {text}");
    says(concat!("software: Seine/", env!("CARGO_PKG_VERSION")));
    says("format: WARC File Format 1.1");
    says("robots: classic");
    says("operator: Jo");
    says(&format!("http-header-user-agent: {}", Config::default().fetch.user_agent.header()));
    says("isPartOf: test");
    assert!(text.contains("hostname: "));
}

#[test]
fn files_are_rolled_and_each_has_its_index() {
    for compress in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let config = WarcConfig { max_file_size: 9_000, cdxj: true, compress, ..config() };
        let mut sink = open(&config, folder.path(), &Value::Null);
        for batch in pages_of(0..40).chunks(7) {
            sink.deliver(batch).unwrap();
        }
        let suffix = if compress { ".warc.gz" } else { ".warc" };
        assert_eq!(files(folder.path(), ".cdxj").len(), files(folder.path(), suffix).len(), "of closed files alone");
        sink.close().unwrap();
        assert_eq!(numbers(folder.path()), (0..40).collect::<Vec<_>>());
        let archives = files(folder.path(), suffix);
        assert!(archives.len() > 3);
        let mut lines = 0;
        for archive in &archives {
            assert!(archive.metadata().unwrap().len() <= 9_000);
            let name = archive.file_name().unwrap().to_str().unwrap();
            let index = std::fs::read_to_string(archive.with_file_name(format!("{name}.cdxj"))).unwrap();
            let (expected, _) = seine_formats::warc::cdxj::index(std::fs::File::open(archive).unwrap(), name);
            assert_eq!(index, expected.concat());
            lines += index.lines().count();
        }
        assert_eq!((lines, names(folder.path()).len()), (40, 2 * archives.len()));
    }
}

#[test]
fn metadata_records_hold_the_links() {
    let folder = tempfile::tempdir().unwrap();
    let mut sink = open(&WarcConfig { metadata: true, ..config() }, folder.path(), &Value::Null);
    sink.deliver(&[page(1)]).unwrap();
    let all = records(&std::fs::read(&files(folder.path(), "")[0]).unwrap());
    let metadata = all.iter().find(|it| it.kind() == "metadata").unwrap();
    let text = std::str::from_utf8(&metadata.block).unwrap();
    assert!(text.contains("outlink: http://a.example/x L\r\n"), "{text}");
}

/// A sink's folder after a crash: pages committed with the returned state, then more delivered that were not.
fn crashed(config: &WarcConfig, folder: &Path, acknowledged: u64, more: u64) -> Value {
    let mut sink = open(config, folder, &Value::Null);
    let mut state = sink.flush().unwrap().state;
    for number in 0..acknowledged {
        state = sink.deliver(&pages_of(number..number + 1)).unwrap().state;
    }
    sink.deliver(&pages_of(acknowledged..acknowledged + more)).unwrap();
    state
}

#[test]
fn what_was_not_acknowledged_is_taken_back_and_comes_once() {
    // One file; several files; nothing acknowledged; nothing unacknowledged.
    for (limit, acknowledged, more) in
        [(NO_LIMIT, 5, 4), (9_000, 5, 20), (9_000, 0, 20), (NO_LIMIT, 0, 3), (NO_LIMIT, 3, 0), (9_000, 9, 0)]
    {
        let folder = tempfile::tempdir().unwrap();
        let config = WarcConfig { max_file_size: limit, cdxj: true, ..config() };
        let state = crashed(&config, folder.path(), acknowledged, more);
        assert_eq!(numbers(folder.path()).len() as u64, acknowledged + more);

        let mut sink = open(&config, folder.path(), &state);
        assert_eq!(numbers(folder.path()), (0..acknowledged).collect::<Vec<_>>());
        sink.deliver(&pages_of(acknowledged..acknowledged + more)).unwrap();
        sink.close().unwrap();
        assert_eq!(numbers(folder.path()), (0..acknowledged + more).collect::<Vec<_>>());
        // The indexes match the files, even those that were cut back.
        let captures: usize =
            files(folder.path(), ".cdxj").iter().map(|it| std::fs::read_to_string(it).unwrap().lines().count()).sum();
        assert_eq!(captures as u64, acknowledged + more, "limit {limit}, {acknowledged} and {more}");
    }
}

#[test]
fn a_write_torn_anywhere_is_cut_back_to_the_acknowledged_length() {
    let folder = tempfile::tempdir().unwrap();
    let state = crashed(&config(), folder.path(), 2, 1);
    let path = files(folder.path(), "")[0].clone();
    let torn = std::fs::read(&path).unwrap();
    let acknowledged = state["open"]["length"].as_u64().unwrap() as usize;
    for length in (acknowledged..torn.len()).step_by(13) {
        std::fs::remove_dir_all(folder.path()).unwrap();
        std::fs::create_dir(folder.path()).unwrap();
        std::fs::write(&path, &torn[..length]).unwrap();
        drop(open(&config(), folder.path(), &state));
        assert_eq!(numbers(folder.path()), [0, 1]);
        // Without the state, up to the last complete record: a page may be there without its request.
        std::fs::remove_dir_all(folder.path()).unwrap();
        std::fs::create_dir(folder.path()).unwrap();
        std::fs::write(&path, &torn[..length]).unwrap();
        drop(open(&config(), folder.path(), &Value::Null));
        assert!(matches!(numbers(folder.path())[..], [0, 1] | [0, 1, 2]), "{length}");
    }
}

#[test]
fn a_redelivery_has_the_same_ids() {
    let folder = tempfile::tempdir().unwrap();
    let state = crashed(&config(), folder.path(), 0, 3);
    let ids = |folder: &Path| -> Vec<String> {
        let all = records(&std::fs::read(&files(folder, "")[0]).unwrap());
        all[1..].iter().map(|record| record.id().unwrap().to_owned()).collect()
    };
    let before = ids(folder.path());
    let mut sink = open(&config(), folder.path(), &state);
    sink.deliver(&pages_of(0..3)).unwrap();
    assert_eq!(ids(folder.path()), before);
}

#[test]
fn compression_may_be_switched_between_runs() {
    let folder = tempfile::tempdir().unwrap();
    let state = crashed(&config(), folder.path(), 2, 3);
    let plain = WarcConfig { compress: false, cdxj: true, ..config() };
    let mut sink = open(&plain, folder.path(), &state);
    sink.deliver(&pages_of(2..5)).unwrap();
    sink.close().unwrap();
    let mut found = numbers(folder.path());
    found.sort();
    assert_eq!(found, [0, 1, 2, 3, 4]);
    assert_eq!((files(folder.path(), ".warc.gz").len(), files(folder.path(), ".warc").len()), (1, 1));
    assert_eq!((files(folder.path(), ".cdxj").len(), files(folder.path(), ".open").len()), (2, 0));
}

#[test]
fn an_index_that_is_missing_is_made_and_one_without_its_file_goes() {
    let folder = tempfile::tempdir().unwrap();
    let mut sink = open(&config(), folder.path(), &Value::Null);
    let state = sink.deliver(&pages_of(0..3)).unwrap().state;
    sink.close().unwrap();
    for stale in ["crawl_data-1-00000.warc.gz.cdxj", "crawl_data-2-00000.warc.gz.cdxj.tmp", "mine.cdxj"] {
        std::fs::write(folder.path().join(stale), "x").unwrap();
    }
    drop(open(&WarcConfig { cdxj: true, ..config() }, folder.path(), &state));
    let left: Vec<_> = files(folder.path(), ".cdxj");
    assert_eq!(left.len(), 2, "{left:?}");
    assert_eq!(std::fs::read_to_string(&left[0]).unwrap().lines().count(), 3);
    assert_eq!(names(folder.path()).len(), 3);
}

#[test]
fn an_error_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let gone = folder.path().join("gone");
    let mut sink = open(&WarcConfig { max_file_size: 2_000, ..config() }, &gone, &Value::Null);
    sink.deliver(&pages_of(0..1)).unwrap();
    std::fs::remove_dir_all(&gone).unwrap();
    let error = sink.deliver(&pages_of(1..20)).unwrap_err();
    assert!(error.to_string().contains("gone"), "{error}");
}
