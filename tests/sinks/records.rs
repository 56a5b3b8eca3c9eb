//! CDR31, ELASTIC and WEB_INDEX as files.

use std::path::Path;

use seine::config::SinkConfig;
use seine_formats::web_index::WebIndexRecord;
use seine_formats::{cdr31, csv_cells, elastic};
use serde_json::Value;

use crate::files::{entry_of, event};
use crate::sink;

fn web_index() -> SinkConfig {
    sink::config("WEB_INDEX", &[("web_index.max_title", "50")])
}

/// The name of the first file, and the bytes of all in order.
fn files(folder: &Path) -> (String, Vec<u8>) {
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let bytes = paths.iter().flat_map(|path| std::fs::read(path).unwrap()).collect();
    (paths[0].file_name().unwrap().to_string_lossy().into_owned(), bytes)
}

/// Two pages delivered. One delivery is killed before the commit and repeated.
fn written(config: &SinkConfig) -> (String, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let pages: Vec<_> = (0..2).map(|n| entry_of(n, event(n, format!("<title>Page {n}</title>").as_bytes()))).collect();
    let mut sink = sink::open(config, folder.path(), &Value::Null);
    let first = sink.deliver(&pages[..1]).unwrap();
    assert_eq!((first.delivered, first.up_to), (1, pages[0].end));
    sink.deliver(&pages[1..]).unwrap();
    drop(sink);
    let mut sink = sink::open(config, folder.path(), &first.state);
    sink.deliver(&pages[1..]).unwrap();
    sink.close().unwrap();
    files(folder.path())
}

#[test]
fn cdr_documents_are_lines() {
    let (name, bytes) = written(&sink::config("CDR31", &[("kafka.team", "us")]));
    assert!(name.starts_with("crawl_data-") && name.ends_with("-0.jsonl"), "{name}");
    let documents: Vec<_> = bytes
        .split(|it| *it == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| cdr31::parse_document(line).unwrap())
        .collect();
    let urls: Vec<_> = documents.iter().map(|it| &*it.url).collect();
    assert_eq!(urls, ["http://a.example/0", "http://a.example/1"]);
    assert_eq!(documents[1].raw_content, "<title>Page 1</title>");
    assert_eq!(documents[1].team.as_deref(), Some("us"));
}

#[test]
fn index_documents_are_lines() {
    let (_, bytes) = written(&sink::config("ELASTIC", &[]));
    let documents: Vec<_> = bytes
        .split(|it| *it == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| elastic::parse_document(line).unwrap())
        .collect();
    let titles: Vec<_> = documents.iter().map(|it| it.title.as_deref().unwrap()).collect();
    assert_eq!(titles, ["Page 0", "Page 1"]);
}

#[test]
fn the_web_index_is_rows() {
    let (name, bytes) = written(&web_index());
    assert!(name.ends_with("-0.csv"), "{name}");
    let records: Vec<WebIndexRecord> =
        csv_cells::Cells::new(&bytes[..]).map(|cell| serde_json::from_slice(&cell.unwrap()).unwrap()).collect();
    let titles: Vec<_> = records.iter().map(|it| &*it.title).collect();
    assert_eq!(titles, ["Page 0", "Page 1"]);
}

#[test]
fn what_a_format_does_not_hold_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let mut picture = event(0, b"\x89PNG");
    let seine_parse::page::Outcome::Response(response) = &mut picture.outcome else { unreachable!() };
    response.headers.0[0].1 = "image/png".into();
    let mut missing = event(1, b"<p>");
    let seine_parse::page::Outcome::Response(response) = &mut missing.outcome else { unreachable!() };
    response.status = 404;
    let mut sink = sink::open(&web_index(), folder.path(), &Value::Null);
    let delivered = sink.deliver(&[entry_of(0, picture), entry_of(1, missing)]).unwrap();
    assert_eq!((delivered.delivered, delivered.skipped), (0, 2));
}
