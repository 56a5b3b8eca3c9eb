//! One file per page: always complete, with the newest fetch of its URL.

use std::io::Read;
use std::path::{Path, PathBuf};

use seine::sinks::{Sink, dead_letters};
use seine_formats::{cbor, files as files_format};
use serde_json::Value;

use crate::files::{entry_of, event};
use crate::sink;

fn open(folder: &Path, name: &str) -> Box<dyn Sink> {
    sink::open(&sink::config(name, &[]), folder, &Value::Null)
}

fn path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("a.example/http%3A%2F%2Fa.example%2F{number}"))
}

#[test]
fn html_is_the_body_and_the_newest_stays() {
    let folder = tempfile::tempdir().unwrap();
    let mut sink = open(folder.path(), "FILESYSTEM_HTML");
    let pages = [entry_of(0, event(7, b"old \xff\0")), entry_of(1, event(8, b"")), entry_of(2, event(7, b"new"))];
    let delivered = sink.deliver(&pages).unwrap();
    assert_eq!((delivered.delivered, delivered.up_to), (3, pages[2].end));
    assert_eq!(std::fs::read(path(folder.path(), 7)).unwrap(), b"new");
    assert_eq!(std::fs::read(path(folder.path(), 8)).unwrap(), b"");
    sink.close().unwrap();
}

#[test]
fn json_is_the_files_object_and_cbor_its_map() {
    let folder = tempfile::tempdir().unwrap();
    let page = entry_of(0, event(1, b"<p>text"));
    open(folder.path(), "FILESYSTEM_JSON").deliver(std::slice::from_ref(&page)).unwrap();
    let json = std::fs::read(path(folder.path(), 1)).unwrap();
    assert!(json.ends_with(b"}"));
    assert_eq!(&files_format::parse_line(&json).unwrap().content[..], b"<p>text");

    open(folder.path(), "FILESYSTEM_CBOR").deliver(&[page]).unwrap();
    let record = cbor::parse(&std::fs::read(path(folder.path(), 1)).unwrap()).unwrap();
    assert_eq!(record.body, cbor::Body::Text("<p>text".into()));
}

#[test]
fn names_can_be_hashed_and_files_compressed() {
    let folder = tempfile::tempdir().unwrap();
    let keys = [("filesystem.hash_file_name", "true"), ("filesystem.compress_data", "true")];
    let config = sink::config("FILESYSTEM_HTML", &keys);
    let mut page = event(1, b"<p>text");
    page.url = format!("http://a.example/{}", "long/".repeat(100));
    sink::open(&config, folder.path(), &Value::Null).deliver(&[entry_of(0, page)]).unwrap();
    let host = folder.path().join("a.example");
    let path = std::fs::read_dir(host).unwrap().next().unwrap().unwrap().path();
    assert_eq!(path.file_name().unwrap().len(), 64);
    let mut body = Vec::new();
    flate2::read::ZlibDecoder::new(&std::fs::read(path).unwrap()[..]).read_to_end(&mut body).unwrap();
    assert_eq!(body, b"<p>text");
}

#[test]
fn a_page_whose_name_is_too_long_is_a_dead_letter_and_the_rest_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let mut long = event(1, b"x");
    long.url = format!("http://a.example/{}", "x".repeat(300));
    let delivered =
        open(folder.path(), "FILESYSTEM_HTML").deliver(&[entry_of(0, long), entry_of(1, event(2, b"y"))]).unwrap();
    assert_eq!((delivered.delivered, delivered.dead), (1, 1));
    let letters = dead_letters::files(folder.path()).unwrap();
    let mut reasons = Vec::new();
    dead_letters::for_each(&letters[0], &mut |note, _| {
        reasons.push(note.reason.clone());
        Ok(())
    })
    .unwrap();
    assert!(reasons[0].contains("hash_file_name: true"), "{reasons:?}");
}

#[test]
fn what_a_killed_writer_left_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("~writing")).unwrap();
    std::fs::write(folder.path().join("~writing/0"), "half").unwrap();
    drop(open(folder.path(), "FILESYSTEM_HTML"));
    assert_eq!(std::fs::read_dir(folder.path().join("~writing")).unwrap().count(), 0);
}
