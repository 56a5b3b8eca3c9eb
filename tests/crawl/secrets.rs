//! A crawl's files contain no credentials, and only the owner may read them.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::support::server::{Answer, Ask};

use crate::support::Running;
use crate::support::program::{Place, Process};

const COOKIE: &str = "topsecret";

/// The page says whether the cookie arrived, but not its value.
fn site() -> Running {
    Running::start(
        1,
        Arc::new(|ask: &Ask| match ask.path() {
            "/robots.txt" | "/sitemap.xml" => Answer::text("").status(404),
            _ => {
                let came = ask.header("cookie") == Some("session=topsecret; more=1");
                Answer::html(format!("<title>cookie came: {came}</title>"))
            }
        }),
    )
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = walkdir::WalkDir::new(folder).into_iter().map(|entry| entry.unwrap());
    entries.filter(|entry| entry.file_type().is_file()).map(|entry| entry.into_path()).collect()
}

fn holds(file: &Path, text: &str) -> bool {
    memchr::memmem::find(&std::fs::read(file).unwrap(), text.as_bytes()).is_some()
}

fn crawl(more: &str) -> Place {
    let site = site();
    let cookies = "crawler_manager.downloader.cookies: \
                   [{domain: 127.0.0.11, path: /, cookie: \"session=topsecret; more=1\"}]\n";
    let warc = "target_storage.data_format.warc.compress: false\n";
    let place = Place::with(&format!("{cookies}{warc}{more}"));
    let sinks = ["--delay", "0", "--sink", "warc", "--sink", "filesystem_cbor", "--sink", "files"];
    Process::start(place.crawl(&[site.origin(0) + "/"], &sinks)).wait().ok();
    assert!(files_below(&place.data()).iter().any(|file| holds(file, "cookie came: true")), "the cookie was sent");
    place
}

fn is_warc(file: &Path) -> bool {
    file.to_string_lossy().ends_with(".warc")
}

#[test]
fn no_cookie_is_kept_anywhere() {
    let place = crawl("");
    for file in files_below(&place.data()) {
        assert!(!holds(&file, COOKIE), "{}", file.display());
    }
    let warc = files_below(&place.data()).into_iter().find(|file| is_warc(file)).unwrap();
    assert!(holds(&warc, "cookie: ***\r\n") && holds(&warc, "Seine-Message: rebuilt\r\n"));
}

#[test]
fn who_wants_it_has_the_cookie_in_warc() {
    let place = crawl("target_storage.data_format.warc.archive_credentials: true\n");
    let warc = files_below(&place.data()).into_iter().find(|file| is_warc(file)).unwrap();
    assert!(holds(&warc, "cookie: session=topsecret; more=1\r\n") && !holds(&warc, "Seine-Message: rebuilt\r\n"));
    let others =
        files_below(&place.data()).into_iter().filter(|file| file.starts_with(place.data().join("filesystem_cbor")));
    for file in others {
        assert!(!holds(&file, COOKIE), "{}", file.display());
    }
}

#[test]
fn a_data_folder_is_for_its_owner_alone() {
    let place = crawl("");
    for folder in ["", "log", "log/cursors", "frontier", "warc", "files"] {
        let folder = place.data().join(folder);
        let mode = std::fs::metadata(&folder).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o700, "{}: {mode:o}", folder.display());
    }
}
