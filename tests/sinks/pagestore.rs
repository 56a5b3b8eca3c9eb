//! The pagestore: pages by day, feeds with their new articles.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use seine::archive::migrate::{DetailsTable, migrate};
use seine::sinks::pagestore::INDEX_FOLDER;
use seine::sinks::{Delivered, Sink};
use seine_delivery::Entry;
use seine_formats::pagestore::UrlHash;
use seine_parse::page::Outcome;

use crate::files::{entry_of, event};

const DAY: u64 = 24 * 3600 * 1000;

fn open(folder: &Path) -> Box<dyn Sink> {
    crate::sink::open(&crate::sink::config("PAGESTORE", &[]), folder, &serde_json::Value::Null)
}

fn deliver(folder: &Path, pages: &[Arc<Entry>]) -> Delivered {
    open(folder).deliver(pages).unwrap()
}

/// A page fetched on a day, counted from 2026-11-21.
fn page(day: u64, path: &str, body: &str) -> Arc<Entry> {
    let mut page = event(day, body.as_bytes());
    page.url = format!("http://a.example/{path}");
    page.final_url = page.url.clone();
    page.ended_ms += day * DAY;
    entry_of(day, page)
}

fn feed(day: u64, articles: &[&str]) -> Arc<Entry> {
    let items: String = articles.iter().map(|it| format!("<item><link>http://a.example/{it}</link></item>")).collect();
    page(day, "feed", &format!("<rss><channel><language>en-GB</language>{items}</channel></rss>"))
}

/// Every file of the store except its index: path → contents.
fn store(folder: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(at) = folders.pop() {
        for entry in std::fs::read_dir(at).unwrap().map(Result::unwrap) {
            let path = entry.path();
            let name = path.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
            if path.is_dir() && name != INDEX_FOLDER {
                folders.push(path);
            } else if path.is_file() {
                files.insert(name, String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned());
            }
        }
    }
    files
}

/// The files, with hashes in names replaced by what they stand for.
fn shown(folder: &Path, paths: &[&str]) -> String {
    let mut text = String::new();
    for (path, contents) in store(folder) {
        text.push_str(&format!("{path}: {}\n", contents.trim_end().replace('\n', " | ")));
    }
    for path in paths {
        text = text.replace(&UrlHash::of(&format!("http://a.example/{path}")).to_string(), &format!("[{path}]"));
    }
    text
}

#[test]
fn feeds_hold_their_new_articles_and_the_rest_lies_by_day() {
    let folder = tempfile::tempdir().unwrap();
    deliver(
        folder.path(),
        &[page(0, "", "<html lang=cs-CZ>Front"), page(0, "old", "<p>Old"), feed(0, &["old", "one", "two"])],
    );
    let delivered =
        deliver(folder.path(), &[page(0, "one", "<p>One"), page(1, "two", "<p>Two"), page(1, "", "<p>Again")]);
    assert_eq!(delivered.delivered, 3);
    // The feed is read again: "three" is new; "two" was only fetched again.
    let delivered =
        deliver(folder.path(), &[feed(2, &["two", "three"]), page(2, "two", "<p>Two!"), page(2, "three", "<p>Three")]);
    assert_eq!((delivered.delivered, delivered.skipped), (2, 1));
    insta::assert_snapshot!(shown(folder.path(), &["feed", "old", "one", "two", "three", ""]));
}

#[test]
fn what_is_delivered_again_is_listed_once() {
    let folder = tempfile::tempdir().unwrap();
    let pages = [feed(0, &["one"]), page(0, "one", "<p>One"), page(0, "", "<p>Front")];
    deliver(folder.path(), &pages);
    let before = store(folder.path());
    deliver(folder.path(), &pages);
    assert_eq!(store(folder.path()), before);
}

#[test]
fn what_a_killed_writer_added_to_a_list_is_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    deliver(folder.path(), &[page(0, "", "<p>Front")]);
    let meta = folder.path().join("2026/11/21/META");
    OpenOptions::new().append(true).open(&meta).unwrap().write_all(b"never acknowled").unwrap();
    deliver(folder.path(), &[page(0, "new", "<p>New")]);
    let lines = std::fs::read_to_string(&meta).unwrap();
    let urls: Vec<_> = lines.lines().map(|line| line.split(' ').nth(1).unwrap()).collect();
    assert_eq!(urls, ["http://a.example/", "http://a.example/new"]);
}

#[test]
fn a_list_that_somebody_removed_or_cut_has_no_hole() {
    let folder = tempfile::tempdir().unwrap();
    deliver(folder.path(), &[page(0, "one", "1"), page(0, "two", "2")]);
    let meta = folder.path().join("2026/11/21/META");
    let before = std::fs::read_to_string(&meta).unwrap();
    let first = before.split_inclusive('\n').next().unwrap();
    std::fs::write(&meta, first).unwrap();
    deliver(folder.path(), &[page(0, "three", "3")]);
    let cut = std::fs::read_to_string(&meta).unwrap();
    assert!(cut.starts_with(first) && cut[first.len()..].contains("/three"), "{cut:?}");
    assert_eq!(cut.lines().count(), 2);
    std::fs::remove_file(&meta).unwrap();
    deliver(folder.path(), &[page(0, "four", "4")]);
    let anew = std::fs::read_to_string(&meta).unwrap();
    assert!(anew.lines().count() == 1 && !anew.contains('\0') && anew.contains("/four"), "{anew:?}");
}

#[test]
fn a_list_that_was_migrated_is_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let meta = folder.path().join("2026/11/21/META");
    let url = "http://a.example/old";
    std::fs::create_dir_all(meta.parent().unwrap()).unwrap();
    std::fs::write(&meta, format!("{} {url}\n", UrlHash::of(url))).unwrap();
    deliver(folder.path(), &[page(0, "one", "1")]);
    migrate(folder.path(), &DetailsTable::new(), |_| ()).unwrap();
    let migrated = std::fs::read_to_string(&meta).unwrap();
    assert!(migrated.starts_with(&format!("{} {url} ", UrlHash::of(url))), "{migrated}");
    deliver(folder.path(), &[page(0, "one", "1"), page(0, "two", "2")]);
    let after = std::fs::read_to_string(&meta).unwrap();
    assert!(after.starts_with(&migrated) && after.lines().count() == 3, "{after}");

    let _open = open(folder.path());
    assert!(migrate(folder.path(), &DetailsTable::new(), |_| ()).is_err(), "a sink is writing");
}

#[test]
fn a_store_of_another_program_is_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let day = folder.path().join("2026/11/21");
    std::fs::create_dir_all(&day).unwrap();
    let listed = format!("{} http://a.example/ 180 url en\n", UrlHash::of("http://a.example/"));
    std::fs::write(day.join("META"), format!("{listed}half a li")).unwrap();
    deliver(folder.path(), &[page(0, "", "<p>Front"), page(0, "new", "<p>New")]);
    let meta = std::fs::read_to_string(day.join("META")).unwrap();
    assert_eq!(meta.lines().count(), 2);
    assert!(meta.starts_with(&listed) && meta.contains("http://a.example/new 2 url und\n"), "{meta}");
}

#[test]
fn what_is_no_success_is_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let mut missing = event(0, b"<p>");
    let Outcome::Response(response) = &mut missing.outcome else { unreachable!() };
    response.status = 404;
    let delivered = deliver(folder.path(), &[entry_of(0, missing)]);
    assert_eq!((delivered.delivered, delivered.skipped), (0, 1));
}

#[test]
fn a_folder_is_named_after_the_url_as_the_list_has_it() {
    let folder = tempfile::tempdir().unwrap();
    deliver(folder.path(), &[page(0, "a b", "blank"), page(0, "c\u{a0}d", "no-break"), page(0, "plain", "plain")]);
    let files = store(folder.path());
    let list = &files["2026/11/21/META"];
    assert_eq!(list.lines().count(), 3);
    for line in list.lines() {
        let (hash, url) = (&line[..32], line.split(' ').nth(1).unwrap());
        assert_eq!(hash, UrlHash::of(url).to_string(), "{line}");
        assert!(files.contains_key(&format!("2026/11/21/{hash}/contents.html")), "{line}");
    }
}

#[test]
fn a_page_keeps_its_id_and_its_line_in_a_store_of_before() {
    let folder = tempfile::tempdir().unwrap();
    let url = "http://a.example/a b";
    deliver(folder.path(), &[page(0, "other", "one"), page(0, "a b", "two")]);
    let list = store(folder.path())["2026/11/21/META"].clone();
    // As older versions wrote it: with the hash of the original URL.
    let (new, old) = (UrlHash::written(url).to_string(), UrlHash::of(url).to_string());
    {
        let database = fjall::Database::builder(folder.path().join(INDEX_FOLDER)).open().unwrap();
        let table = database.keyspace("pages", fjall::KeyspaceCreateOptions::default).unwrap();
        let entries: Vec<_> = table.iter().map(|it| it.into_inner().unwrap()).collect();
        for (key, value) in entries {
            let text = String::from_utf8(key.to_vec()).unwrap();
            if text.contains(&new) {
                table.insert(text.replace(&new, &old), value).unwrap();
                table.remove(key).unwrap();
            }
        }
    }
    let day = folder.path().join("2026/11/21");
    std::fs::rename(day.join(&new), day.join(&old)).unwrap();
    deliver(folder.path(), &[page(0, "a b", "two again"), page(1, "a b", "three")]);
    let files = store(folder.path());
    assert_eq!(files["2026/11/21/META"], list);
    assert_eq!(files[&format!("2026/11/21/{new}/contents.html")], "two again");
    assert_eq!(files["2026/11/22/META"], format!("{new} http://a.example/a%20b 2 url und\n"));
}

#[test]
fn an_index_whose_making_was_interrupted_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let draft = folder.path().join(format!("{INDEX_FOLDER}.new"));
    std::fs::create_dir_all(draft.join("keyspaces")).unwrap();
    std::fs::write(draft.join("0.jnl"), b"half").unwrap();
    let delivered = deliver(folder.path(), &[page(0, "one", "<p>One")]);
    assert_eq!(delivered.delivered, 1);
    assert!(!draft.exists(), "what is left of it is removed");
    // The index was moved into place when it was complete, and can be opened again.
    assert_eq!(deliver(folder.path(), &[page(0, "two", "<p>Two")]).delivered, 1);
}
