//! Files written by other programs.

use std::path::Path;

use crate::{pages, read, support::program};

fn golden(folder: &str, name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join("tests/golden").join(name)
}

#[test]
fn ache_files_are_read_also_those_of_a_killed_writer() {
    let (found, problems) = read(&golden("crates/formats", "files-killed-writer.deflate"));
    assert_eq!((found.len(), problems.len()), (3, 0));
    assert!(found.iter().all(|page| page.format == crate::FILES));
    assert_eq!(found[0].event.response().unwrap().body, "<p>ünïcode 日本語</p>".as_bytes());
    assert_eq!(found[1].event.redirected_url(), Some("http://other.example/final"));
    assert_eq!(found[2].location.number, 3);

    let lines = pages(&golden("", "files.jsonl"));
    assert_eq!(lines.len(), 32);
    let urls = |pages: &[seine::archive::read::Page]| pages.iter().map(|it| it.event.url.clone()).collect::<Vec<_>>();
    let cat = program::run(&["cat".as_ref(), golden("", "files.jsonl").as_os_str()]).ok().json_lines();
    let printed: Vec<_> = cat.iter().map(|line| line["url"].as_str().unwrap().to_owned()).collect();
    assert_eq!(printed, urls(&lines));
}
