//! Dead letters of a local destination: replayed to where the crawl writes.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::support::server::Answer;

use crate::support::program::{Place, Process, Ran, eventually, run};
use crate::support::{Running, links};

/// Its file name would be longer than Linux allows.
fn long_path() -> String {
    format!("/{}", "long".repeat(80))
}

fn site() -> Running {
    Running::start_with(1, |_| {
        Arc::new(move |ask| match ask.path() {
            "/" => Answer::html(links(&[&long_path(), "/short"])),
            path => Answer::html(format!("the page {path}")),
        })
    })
}

fn letters(data: &Path, arguments: &[&str]) -> Ran {
    let mut all = vec!["dead-letters".as_ref()];
    all.extend(arguments.iter().map(AsRef::<std::ffi::OsStr>::as_ref));
    all.extend(["--sink".as_ref(), "filesystem_html".as_ref(), "-o".as_ref(), data.as_os_str()]);
    run(&all)
}

fn files_with(folder: &Path, content: &str) -> usize {
    let files = walkdir::WalkDir::new(folder).into_iter().flatten().filter(|it| it.file_type().is_file());
    let reads = |path: &Path| std::fs::read(path).is_ok_and(|bytes| bytes == content.as_bytes());
    files.filter(|it| reads(it.path())).count()
}

#[test]
fn a_replayed_letter_is_a_file_where_the_crawl_writes_them() {
    let site = site();
    let place = Place::new();
    let crawl = ["--delay", "0", "--sink", "filesystem_html"];
    let crawl = || Process::start(place.crawl(&[site.origin(0) + "/"], &crawl)).wait();
    let ran = crawl().exits(5);
    let data = place.data();
    for words in
        ["1 dead letters", &format!("seine dead-letters replay --all --sink filesystem_html -o {}", data.display())]
    {
        assert!(ran.stderr.contains(words), "{words:?} is not in:\n{}", ran.stderr);
    }
    let pages = data.join("filesystem_html");
    let listed = || letters(&data, &["list", "--json"]).ok().json_lines();
    assert_eq!(listed().len(), 1);
    assert!(listed()[0]["reason"].as_str().unwrap().contains("hash_file_name: true"), "{:?}", listed());

    // Nothing has changed, so it is rejected again and stays.
    let again = letters(&data, &["replay", "--all"]).exits(5);
    assert!(again.stdout.contains("0 delivered, 1 refused again"), "{}", again.stdout);
    assert_eq!(listed()[0]["attempts"], 2);

    // They are none of the folder's archives.
    let verified = run(&["verify".as_ref(), pages.as_os_str()]).ok();
    assert!(!verified.stderr.contains("skipped"), "{}", verified.stderr);
    // A letter of an earlier run counts as long as it is there.
    crawl().exits(5);

    // The crawl's own configuration and options apply, and the destination is the crawl's own.
    let mut settings = std::fs::read_to_string(place.config()).unwrap();
    settings += "target_storage.data_format.filesystem.hash_file_name: true\n";
    std::fs::write(place.config(), settings).unwrap();
    let done = letters(&data, &["replay", "--all"]).ok();
    assert!(done.stdout.contains("1 delivered, 0 refused again"), "{}", done.stdout);
    assert!(done.stderr.contains(pages.to_str().unwrap()), "{}", done.stderr);
    assert_eq!(files_with(&pages, &format!("the page {}", long_path())), 1);
    assert_eq!(files_with(&pages, "the page /short"), 1);
    assert!(listed().is_empty());
    let ran = crawl().ok();
    assert!(!ran.stderr.contains("seine dead-letters"), "{}", ran.stderr);
    assert!(!pages.join("dead_letters/replay").exists());
    run(&["audit".as_ref(), data.as_os_str()]).ok();
}

/// Its page was fetched again meanwhile, under a name that fits.
#[test]
fn a_letter_does_not_take_the_place_of_a_newer_page() {
    let version = Arc::new(AtomicU32::new(1));
    let now = version.clone();
    let site = Running::start_with(1, move |_| {
        let now = now.clone();
        Arc::new(move |ask| match ask.path() {
            "/robots.txt" => Answer::text("").status(404),
            path => Answer::html(format!("{path} {}", now.load(Ordering::Relaxed))),
        })
    });
    let pages = ["/a", "/b"].map(|path| path.to_owned() + &long_path());
    let seeds = pages.clone().map(|path| site.origin(0) + &path);
    let place = Place::new();
    let crawl = |seeds: &[String]| {
        Process::start(place.crawl(seeds, &["--delay", "0", "--sink", "filesystem_html"])).wait().exits(5)
    };
    crawl(&seeds);
    version.store(2, Ordering::Relaxed);
    let mut settings = std::fs::read_to_string(place.config()).unwrap();
    settings += "target_storage.data_format.filesystem.hash_file_name: true\n";
    std::fs::write(place.config(), settings).unwrap();
    crawl(&seeds[..1]);
    let data = place.data();
    let held = |path: &str, version: u32| files_with(&data.join("filesystem_html"), &format!("{path} {version}"));
    assert_eq!((held(&pages[0], 2), held(&pages[1], 1)), (1, 0));
    let done = letters(&data, &["replay", "--all"]).ok();
    assert!(done.stdout.contains("2 delivered, 0 refused again"), "{}", done.stdout);
    assert!(done.stderr.contains("the file has a newer fetch of this page"), "{}", done.stderr);
    assert_eq!((held(&pages[0], 2), held(&pages[0], 1), held(&pages[1], 1)), (1, 0, 1));
}

#[test]
fn files_are_replayed_into_when_the_crawl_stands_still() {
    let site = site();
    let place = Place::new();
    let crawl = ["--delay", "0", "--sink", "filesystem_html", "--stay"];
    let process = Process::start(place.crawl(&[site.origin(0) + "/"], &crawl));
    let data = place.data();
    eventually("there is a dead letter", || data.join("filesystem_html/dead_letters").is_dir());
    letters(&data, &["replay", "--all"]).fails_naming(&["is running", "stop it first"]);
    process.signal("TERM");
    process.wait().ok();
    assert_eq!(letters(&data, &["list", "--json"]).ok().json_lines().len(), 1);
}

#[test]
fn what_a_crawl_was_started_with_is_kept_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let site = site();
    let place = Place::new();
    let crawl = ["--delay", "0", "--sink", "files"];
    let mut command = place.crawl(&[site.origin(0) + "/"], &crawl);
    command.env("SEINE__TARGET_STORAGE__DATA_FORMAT__ELASTICSEARCH__REST__PASSWORD", "open sesame");
    command.env("SEINE__TARGET_STORAGE__DATA_FORMAT__ELASTICSEARCH__REST__USERNAME", "aladdin");
    Process::start(command).wait().ok();
    let kept = place.data().join("started-with.json");
    assert_eq!(std::fs::metadata(&kept).unwrap().permissions().mode() & 0o777, 0o600);
    let text = std::fs::read_to_string(&kept).unwrap();
    let kept: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(kept["config"], place.config().to_str().unwrap());
    assert_eq!(kept["options"]["target_storage.data_formats"], "FILES");
}
