//! Pagestores: a page is found again whatever its URL, also in old stores and in those of other programs.

use std::path::Path;

use seine_formats::pagestore::UrlHash;

use crate::support::program::run;
use crate::{events, pages, write};

const URLS: [(&str, &str); 5] = [
    ("http://a.example/a b", "http://a.example/a%20b"),
    ("http://a.example/a b%20c d", "http://a.example/a%20b%20c%20d"),
    ("http://a.example/\u{3000}x\ty\nz", "http://a.example/%E3%80%80x%09y%0Az"),
    ("http://a.example/100%25 %zz %C3%A9", "http://a.example/100%25%20%zz%20%C3%A9"),
    (
        "http://a.example/                    ",
        "http://a.example/%20%20%20%20%20%20%20%20%20%20%20%20%20%20%20%20%20%20%20%20",
    ),
];

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn bodies(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let page = |page: crate::Page| (page.event.url.clone(), page.event.response().unwrap().body.to_vec());
    pages(folder).into_iter().map(page).collect()
}

#[test]
fn pages_with_blanks_in_their_urls_come_through() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let event = |(number, (raw, _)): (usize, &(&str, &str))| {
        let mut event = events::page(1, format!("<p>{number}</p>"));
        (event.url, event.final_url) = ((*raw).into(), (*raw).into());
        event
    };
    let events: Vec<_> = URLS.iter().enumerate().map(event).collect();
    write(crate::FILES, &events, &at("files"));
    run(&["convert", text(&at("files")), text(&at("store")), "--to", "PAGESTORE"]).ok();
    let expected: Vec<_> = URLS
        .iter()
        .enumerate()
        .map(|(number, (_, written))| ((*written).to_owned(), format!("<p>{number}</p>").into_bytes()))
        .collect();
    assert_eq!(bodies(&at("store")), expected);

    // As older versions wrote them: the folder named after the original URL.
    let day = walkdir::WalkDir::new(at("store")).into_iter().flatten().find(|it| it.file_name() == "META").unwrap();
    let day = day.path().parent().unwrap();
    for (raw, written) in URLS {
        let name = |url: &str| day.join(UrlHash::of(url).to_string());
        std::fs::rename(name(written), name(raw)).unwrap();
    }
    assert_eq!(bodies(&at("store")), expected);
    run(&["verify", text(&at("store"))]).ok();
    run(&["convert", text(&at("store")), text(&at("back")), "--to", "FILES"]).ok();
    assert_eq!(bodies(&at("back")), expected);
}
