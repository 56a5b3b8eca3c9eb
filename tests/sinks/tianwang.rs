//! The TIANWANG sink: every delivered page is there, once, whatever happened in between.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use seine::sinks::{Sink, SinkError};
use seine_delivery::{Deriver, Entry, Offset};
use seine_formats::tianwang::TianwangReader;
use seine_parse::DeriveOptions;
use seine_parse::page::{Failure, FailureReason, Kind, Outcome, PageEvent};
use serde_json::Value;

use crate::sink as sinks;
use crate::tianwang_pages::event;

const NO_LIMIT: u64 = 1 << 40;

fn entry(number: u64, event: PageEvent) -> Arc<Entry> {
    derived_by(&Deriver::new(DeriveOptions::default()), number, event)
}

fn derived_by(deriver: &Arc<Deriver>, number: u64, event: PageEvent) -> Arc<Entry> {
    let end = Offset { index: number + 1, offset: (number + 1) * 100 };
    Arc::new(Entry::new(end, Arc::new(event), deriver))
}

fn pages(numbers: std::ops::Range<u64>) -> Vec<Arc<Entry>> {
    numbers.map(|number| entry(number, event(&format!("http://a.example/{number}"), 200, &[], &[b'x'; 300]))).collect()
}

fn open(folder: &Path, limit: u64, state: &Value) -> Box<dyn Sink> {
    let keys = [("tianwang.compress", "false"), ("tianwang.max_file_size", &limit.to_string())];
    sinks::open(&sinks::config("TIANWANG", &keys), folder, state)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// The numbers of the pages in a file, which must be intact.
fn numbers_in(path: &Path) -> Vec<u64> {
    let mut reader = TianwangReader::new(File::open(path).unwrap());
    let number = |url: &str| url.rsplit('/').next().unwrap().parse().unwrap();
    let numbers = (&mut reader).map(|record| number(&record.unwrap().url)).collect();
    assert!(!reader.truncated(), "{}", path.display());
    numbers
}

fn numbers(folder: &Path) -> Vec<u64> {
    files(folder).iter().flat_map(|path| numbers_in(path)).collect()
}

#[test]
fn pages_of_any_status_are_delivered_and_the_rest_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let config = sinks::config("TIANWANG", &[]);
    assert_eq!(config.name(), "tianwang");
    let mut sink = sinks::open(&config, folder.path(), &Value::Null);
    let page = |number| event(&format!("http://a.example/{number}"), 200, &[], b"<p>page</p>");
    let missing = event("http://a.example/1", 404, &[], b"not here");
    let mut sitemap = page(2);
    sitemap.kind = Kind::Sitemap;
    let mut failed = page(3);
    failed.outcome = Outcome::Failure(Failure { reason: FailureReason::Dns, message: "no such name".into() });
    // Each decoding counts, since the body is over the limit.
    let deriver = Deriver::new(DeriveOptions { max_decoded_bytes: 1, ..DeriveOptions::default() });
    let coded = event(
        "http://a.example/4",
        200,
        &[("content-encoding", "zstd")],
        &zstd::stream::encode_all(&b"<p>"[..], 1).unwrap(),
    );
    let last = derived_by(&deriver, 4, coded);
    let entries = [entry(0, page(0)), entry(1, missing), entry(2, sitemap), entry(3, failed), last.clone()];
    let delivered = sink.deliver(&entries).unwrap();
    assert_eq!((delivered.delivered, delivered.skipped, delivered.dead), (3, 2, 0));
    assert_eq!(delivered.up_to, Offset { index: 5, offset: 500 });
    assert_eq!(numbers(folder.path()), [0, 1, 4]);
    assert_eq!(deriver.cut(), 0, "nothing is derived for this sink");
    assert_eq!((&last.body()[..], deriver.cut()), (&b"<"[..], 1));
    sink.flush().unwrap();
    sink.close().unwrap();

    let [file] = files(folder.path()).try_into().unwrap();
    let name = file.file_name().unwrap().to_str().unwrap();
    let opened = name.strip_prefix("crawl_data-").and_then(|it| it.strip_suffix("-0.tianwang")).unwrap();
    assert!(opened.parse::<u64>().unwrap() > 1_577_836_800_000, "{name}");
    let statuses: Vec<_> = TianwangReader::new(File::open(&file).unwrap())
        .map(|record| record.unwrap())
        .inspect(|record| assert!(record.unzip_length.is_some()))
        .map(|record| record.into_event().response().unwrap().status)
        .collect();
    assert_eq!(statuses, [200, 404, 200]);
}

#[test]
fn files_are_filled_and_rolled() {
    let folder = tempfile::tempdir().unwrap();
    let mut sink = open(folder.path(), 5_000, &Value::Null);
    for number in 0..50 {
        sink.deliver(&pages(number..number + 1)).unwrap();
    }
    let large = event("http://a.example/50", 200, &[], &[b'x'; 20_000]);
    sink.deliver(&[entry(50, large)]).unwrap();
    sink.close().unwrap();
    let mut found: Vec<_> = numbers(folder.path());
    found.sort();
    assert_eq!(found, (0..=50).collect::<Vec<_>>());
    let short = |path: &&PathBuf| {
        let size = path.metadata().unwrap().len();
        assert!(size <= 5_000 || numbers_in(path) == [50], "{size} bytes");
        size < 4_000
    };
    // Except the file before the large page.
    assert!(files(folder.path()).len() > 4 && files(folder.path()).iter().filter(short).count() <= 1);
}

/// A folder after a crash: `acknowledged` pages committed with the returned state, then more delivered.
fn crashed(folder: &Path, limit: u64, acknowledged: u64, more: u64) -> Value {
    let mut sink = open(folder, limit, &Value::Null);
    let mut state = sink.flush().unwrap().state;
    for number in 0..acknowledged {
        state = sink.deliver(&pages(number..number + 1)).unwrap().state;
    }
    sink.deliver(&pages(acknowledged..acknowledged + more)).unwrap();
    state
}

#[test]
fn what_was_not_acknowledged_is_taken_back_and_comes_once() {
    for (limit, acknowledged, more) in
        [(NO_LIMIT, 5, 4), (2_000, 5, 20), (2_000, 0, 20), (NO_LIMIT, 0, 3), (NO_LIMIT, 3, 0), (2_000, 9, 0)]
    {
        let folder = tempfile::tempdir().unwrap();
        let state = crashed(folder.path(), limit, acknowledged, more);
        assert_eq!(numbers(folder.path()).len() as u64, acknowledged + more);
        let mut sink = open(folder.path(), limit, &state);
        assert_eq!(numbers(folder.path()), (0..acknowledged).collect::<Vec<_>>());
        let old: BTreeMap<_, _> =
            files(folder.path()).into_iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect();

        sink.deliver(&pages(acknowledged..acknowledged + more)).unwrap();
        sink.close().unwrap();
        let mut after = numbers(folder.path());
        after.sort();
        assert_eq!(after, (0..acknowledged + more).collect::<Vec<_>>());
        // Old files are never appended to.
        for (path, bytes) in old {
            assert_eq!(std::fs::read(&path).unwrap(), bytes);
        }
    }
}

#[test]
fn a_write_torn_anywhere_is_cut_back() {
    let folder = tempfile::tempdir().unwrap();
    let state = crashed(folder.path(), NO_LIMIT, 2, 1);
    let open_file = files(folder.path()).remove(0);
    let torn = std::fs::read(&open_file).unwrap();
    let acknowledged = state["open"]["length"].as_u64().unwrap() as usize;
    for length in (acknowledged..=torn.len()).step_by(37) {
        let again = tempfile::tempdir().unwrap();
        std::fs::write(again.path().join(open_file.file_name().unwrap()), &torn[..length]).unwrap();
        drop(open(again.path(), NO_LIMIT, &state));
        assert_eq!(numbers(again.path()), [0, 1]);
        assert_eq!(std::fs::read(files(again.path()).remove(0)).unwrap(), torn[..acknowledged]);
    }
}

#[test]
fn without_its_state_every_whole_record_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    crashed(folder.path(), NO_LIMIT, 3, 2);
    let open_file = files(folder.path()).remove(0);
    let unfinished = std::fs::read(&open_file).unwrap();
    let each = unfinished.len() / 5;
    for length in (0..=unfinished.len()).step_by(61).chain([unfinished.len() - 1, unfinished.len()]) {
        let again = tempfile::tempdir().unwrap();
        std::fs::write(again.path().join(open_file.file_name().unwrap()), &unfinished[..length]).unwrap();
        drop(open(again.path(), NO_LIMIT, &Value::Null));
        assert_eq!(numbers(again.path()), (0..(length / each) as u64).collect::<Vec<_>>(), "{length}");
        assert!(files(again.path()).iter().all(|path| path.extension().unwrap() == "tianwang"));
    }
}

#[test]
fn an_error_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let gone = folder.path().join("gone");
    let mut sink = open(&gone, 500, &Value::Null);
    sink.deliver(&pages(0..1)).unwrap();
    std::fs::remove_dir_all(&gone).unwrap();
    let error = sink.deliver(&pages(1..3)).unwrap_err();
    assert!(matches!(error, SinkError::Replaced { .. }), "{error}");
    assert!(error.to_string().contains("gone"), "{error}");
}
