//! Destinations: standard output, none, several at once.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::server::{Answer, Ask};

use crate::support::program::{Place, Process, cat, count, eventually, free_port, get, json_lines, run};
use crate::support::{Plan, Running, TestSite};

fn small_site() -> TestSite {
    TestSite::start(Plan { pages: 40, hosts: 2, ..Plan::default() })
}

#[test]
fn standard_output_has_one_object_a_line_and_nothing_else() {
    let site = small_site();
    let place = Place::with("logging.filter: info");
    let ran = Process::start(place.crawl(&site.seeds(), &["--delay", "0", "--sink", "stdout"])).wait().ok();
    assert!(ran.stdout.ends_with('\n'));
    let pages = ran.json_lines();
    assert_eq!(count(pages.iter()).into_keys().collect::<BTreeSet<_>>(), site.pages());
    assert!(pages.iter().all(|page| page["id"].as_str().is_some_and(|id| id.len() == 32)));
    assert!(!place.data().join("files").exists(), "FILES was not asked for");
    // Pages as in FILES: no failed attempts, no error pages.
    assert!(pages.iter().all(|page| page["status"] == 200));
    assert!(pages.iter().all(|page| page["title"].as_str().is_some_and(|title| !title.is_empty())), "{}", pages[0]);
}

#[test]
fn what_is_asked_for_as_markdown_is_on_every_line() {
    let site = small_site();
    let place = Place::with("target_storage.markdown: true\ntarget_storage.data_formats: [ELASTIC, stdout]");
    let ran = Process::start(place.crawl(&site.seeds(), &["--delay", "0"])).wait().ok();
    let confidence =
        |page: &serde_json::Value, name: &str| page[name].as_f64().is_some_and(|it| (0.0..=1.0).contains(&it));
    let pages = ran.json_lines();
    assert!(!pages.is_empty());
    assert!(
        pages.iter().all(|page| page["markdown"].is_string() && confidence(page, "text_confidence")),
        "{}",
        pages[0]
    );
    let folder = place.data().join("elastic");
    let files = std::fs::read_dir(folder).unwrap().map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
    let documents: Vec<serde_json::Value> =
        files.collect::<String>().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(documents.len(), pages.len());
    assert!(
        documents.iter().all(|it| it["markdown"].is_string() && confidence(it, "textConfidence")),
        "{}",
        documents[0]
    );
}

/// One page that declares another language than that of its text.
#[test]
fn which_language_a_text_is_in_is_told_by_elastic_and_stdout_unless_it_is_not_wanted() {
    const PAGE: &str = "<html lang=en><p>Die Boote kamen am Abend mit der Flut zurück, und das meiste von dem, was sie gefangen hatten, \
        war bald verkauft.";
    let site = Running::start_with(1, |_| {
        Arc::new(
            |ask: &Ask| if ask.path() == "/" { Answer::html(PAGE.to_owned()) } else { Answer::text("").status(404) },
        )
    });
    for (setting, told) in [("", Some("de")), ("target_storage.detect_language: false\n", None)] {
        let place = Place::with(&format!(
            "{setting}target_storage.markdown: true\ntarget_storage.data_formats: [ELASTIC, stdout]"
        ));
        let ran = Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0"])).wait().ok();
        let line = &ran.json_lines()[0];
        assert_eq!(line.get("language_detected").and_then(|it| it.as_str()), told, "{line}");
        assert_eq!(line.get("language_confidence").is_some(), told.is_some(), "{line}");
        let file = std::fs::read_dir(place.data().join("elastic")).unwrap().next().unwrap().unwrap().path();
        let document: serde_json::Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        assert_eq!(document["language"], "en");
        assert_eq!(document.get("languageDetected").and_then(|it| it.as_str()), told, "{document}");
    }
}

#[test]
fn void_takes_everything_and_keeps_nothing() {
    let site = small_site();
    let place = Place::new();
    let ran = Process::start(place.crawl(&site.seeds(), &["--delay", "0", "--sink", "void"])).wait().ok();
    assert_eq!(ran.stdout, "");
    let stats = place.stats();
    assert_eq!(stats["sinks"][0]["name"], "void");
    assert_eq!(stats["sinks"][0]["pending"], 0);
    assert_eq!(stats["page"], site.oracle().len());
    assert!(!place.data().join("files").exists());
}

#[test]
fn several_sinks_get_the_same_pages_each_with_books_of_its_own() {
    let site = small_site();
    let place = Place::new();
    let sinks = ["--sink", "files", "--sink", "stdout", "--sink", "void", "--delay", "0"];
    let ran = Process::start(place.crawl(&site.seeds(), &sinks)).wait().ok();
    assert_eq!(place.kept().into_keys().collect::<BTreeSet<_>>(), site.pages());
    assert_eq!(count(ran.json_lines().iter()).into_keys().collect::<BTreeSet<_>>(), site.pages());
    let stats = place.stats();
    let names: Vec<_> = stats["sinks"].as_array().unwrap().iter().map(|sink| sink["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["files", "void"], "standard output has printed all, and has no place in the log");
    let accepted: BTreeSet<_> =
        stats["sinks"].as_array().unwrap().iter().map(|sink| sink["accepted"].as_u64().unwrap()).collect();
    assert_eq!(accepted.len(), 1, "{stats}");
}

/// As with `| head`.
#[test]
fn when_its_reader_goes_away_the_crawl_ends_and_can_go_on() {
    let site = small_site();
    let place = Place::new();
    let sinks = ["--sink", "files", "--sink", "stdout", "--delay", "20"];
    let (process, out) = Process::start_unread(place.crawl(&site.seeds(), &sinks));
    let mut first = String::new();
    BufReader::new(out).read_line(&mut first).unwrap();
    assert_eq!(json_lines(&first)[0]["status"], 200);
    let ran = process.wait_for(Duration::from_secs(30)).exits(6);
    assert!(ran.stderr.contains("Stopped: standard output was closed."), "{}", ran.stderr);
    assert!(place.stats()["remaining"].as_u64() > Some(0), "the crawl had come to its end already");

    // Nothing is lost: the next run delivers the rest.
    let ran = Process::start(place.crawl(&site.seeds(), &sinks)).wait().ok();
    assert!(ran.json_lines().len() < site.pages().len(), "what was taken is not delivered again");
    assert_eq!(place.stats()["sinks"].as_array().unwrap().len(), 1, "standard output leaves nothing");
    assert_eq!(place.kept().into_keys().collect::<BTreeSet<_>>(), site.pages(), "FILES has them all, once");
    assert!(place.kept().values().all(|times| *times == 1));
}

#[test]
fn quiet_is_quiet() {
    let site = small_site();
    let place = Place::new();
    let ran = Process::start(place.crawl(&site.seeds(), &["--delay", "0", "--quiet"])).wait().ok();
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""));
}

#[test]
fn every_destination_without_a_server_can_be_named_on_the_command_line() {
    let site = small_site();
    let place = Place::new();
    let names = [
        "files",
        "warc",
        "tianwang",
        "pagestore",
        "filesystem_html",
        "filesystem_json",
        "filesystem_cbor",
        "cdr31",
        "elastic",
        "web_index",
    ];
    let options = names.iter().flat_map(|name| ["--sink", name]);
    let options: Vec<&str> = ["--delay", "0"].into_iter().chain(options).collect();
    Process::start(place.crawl(&site.seeds(), &options)).wait().ok();
    let stats = place.stats();
    let known: BTreeSet<_> =
        stats["sinks"].as_array().unwrap().iter().map(|sink| sink["name"].as_str().unwrap()).collect();
    assert_eq!(known, names.into_iter().collect());
    for sink in stats["sinks"].as_array().unwrap() {
        assert!(sink["delivered"].as_u64() > Some(0) && sink["pending"] == 0, "{sink}");
    }
}

/// Answers every request with 401.
fn a_server_that_knows_nobody() -> Running {
    Running::start(1, Arc::new(|_| Answer::text("{}").status(401)))
}

#[test]
fn a_sink_that_takes_and_delivers_nothing_is_tried_less_and_less_often_and_told_of_once() {
    let (site, nobody) = (small_site(), a_server_that_knows_nobody());
    let settings = format!(
        "http.enabled: true\ntarget_storage.data_format.elasticsearch.rest.hosts: [\"{}\"]\n\
         target_storage.data_format.elasticsearch.flush_interval: 1ms\n",
        nobody.origin(0)
    );
    let place = Place::with(&settings);
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    // The end of a run ends a back-off.
    let more = ["--delay", "0", "--stay", "--sink", "elasticsearch", "--listen", &address.to_string()];
    let started = Instant::now();
    let process = Process::start(place.crawl(&site.seeds(), &more));
    let restarts = || {
        let metrics = get(address, "/metrics").map(|(_, text)| text).unwrap_or_default();
        let mut lines = metrics.lines();
        let value = lines.find_map(|line| line.strip_prefix("seine_part_restarts_total{part=\"sink elasticsearch\"} "));
        value.and_then(|value| value.parse::<u64>().ok()).unwrap_or_default()
    };
    eventually("it was started again five times", || restarts() >= 5);
    let waited = Duration::from_millis(100 + 200 + 400 + 800 + 1600);
    assert!(started.elapsed() >= waited, "the fifth time after {:?}", started.elapsed());
    process.signal("TERM");
    let ran = process.wait();
    let told: Vec<_> = ran.stderr.lines().filter(|line| line.contains("it will be restarted")).collect();
    assert_eq!(told.len(), 2, "it, and how often it was said again: {}", ran.stderr);
    assert!(told[0].contains("401"), "{}", told[0]);
    assert_eq!(place.stats()["sinks"][0]["delivered"], 0);
}

#[test]
fn sinks_of_a_kind_stand_side_by_side_in_any_format_that_suits() {
    let site = small_site();
    let place = Place::with(
        "target_storage.sinks: [{name: plain, format: WARC, options: {compress: false}}, {name: packed, format: WARC}, \
         {format: ELASTIC}, {destination: stdout, format: FILES}]\n",
    );
    let ran = Process::start(place.crawl(&site.seeds(), &["--delay", "0"])).wait().ok();
    for name in ["plain", "packed", "elastic"] {
        let kept = count(cat(&place.data().join(name)).iter()).into_keys().collect::<BTreeSet<_>>();
        assert!(kept.is_superset(&site.pages()), "{name}: {kept:?}");
    }
    let names =
        |folder: &str| std::fs::read_dir(place.data().join(folder)).unwrap().next().unwrap().unwrap().file_name();
    assert!(names("plain").to_string_lossy().ends_with(".warc"), "{:?}", names("plain"));
    assert!(names("packed").to_string_lossy().ends_with(".warc.gz"), "{:?}", names("packed"));
    let printed = ran.json_lines();
    assert_eq!(count(printed.iter()).into_keys().collect::<BTreeSet<_>>(), site.pages());
    assert!(printed.iter().all(|page| page["fetch_time"].is_u64() && page["content"].is_string()), "{}", printed[0]);
    assert!(!place.data().join("files").exists(), "the longer form stands alone");
}

/// How somebody spoils what is being written.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Spoilt {
    DeletedFile,
    DeletedFolder,
    Emptied,
    Shortened,
    /// With as many bytes.
    Overwritten,
}

impl Spoilt {
    fn spoil(self, folder: &Path, open: &Path) {
        let bytes = std::fs::read(open).unwrap();
        let rewrite = |content: &[u8]| {
            use std::io::Write;
            let mut file = std::fs::OpenOptions::new().write(true).truncate(true).open(open).unwrap();
            file.write_all(content).unwrap();
        };
        match self {
            Spoilt::DeletedFile => std::fs::remove_file(open).unwrap(),
            Spoilt::DeletedFolder => std::fs::remove_dir_all(folder).unwrap(),
            Spoilt::Emptied => rewrite(&[]),
            Spoilt::Shortened => rewrite(&bytes[..bytes.len() / 2]),
            Spoilt::Overwritten => rewrite(&vec![b'x'; bytes.len()]),
        }
    }

    fn told(self) -> &'static str {
        match self {
            Spoilt::DeletedFile => "was deleted or moved while it was written",
            Spoilt::DeletedFolder => "deleted or moved",
            Spoilt::Emptied => "holds 0 bytes, and",
            Spoilt::Shortened => "were written to it",
            Spoilt::Overwritten => "holds other bytes than were written to it",
        }
    }
}

/// The events that the page log still has are written again, and the counters restart.
#[test]
fn a_file_that_is_deleted_or_changed_is_noticed_and_written_again() {
    for spoilt in [Spoilt::DeletedFile, Spoilt::DeletedFolder, Spoilt::Emptied, Spoilt::Shortened, Spoilt::Overwritten]
    {
        let site = small_site();
        let place = Place::with("logging.filter: info");
        let said = place.data().with_file_name("said");
        let command = place.crawl(&site.seeds(), &["--delay", "0", "--stay", "--sink", "FILES"]);
        let process = Process::start_saying(command, &said);
        let files = place.data().join("files");
        let paths =
            || std::fs::read_dir(&files).unwrap().map(|file| file.unwrap().path()).filter(|path| path.is_file());
        let has_all = || {
            let sink = &place.stats()["sinks"][0];
            sink["pending"] == 0 && sink["delivered"].as_u64() == Some(site.pages().len() as u64)
        };
        eventually("every page is there", || files.is_dir() && paths().next().is_some() && has_all());
        let open = paths().next().unwrap();
        spoilt.spoil(&files, &open);
        let begun_anew = || std::fs::read_to_string(&said).unwrap().contains("with empty counters");
        eventually("it is noticed", begun_anew);
        eventually("every page is there again", || files.is_dir() && paths().next().is_some() && has_all());
        process.signal("TERM");
        process.wait().ok();
        let said = std::fs::read_to_string(&said).unwrap();
        assert!(said.contains(spoilt.told()), "{spoilt:?}: {said}");
        assert_eq!(said.matches("with empty counters").count(), 1, "{said}");
        if spoilt == Spoilt::Overwritten {
            std::fs::remove_file(&open).unwrap(); // it holds nothing that could be read
        }
        assert_eq!(place.kept().into_keys().collect::<BTreeSet<_>>(), site.pages(), "{spoilt:?}");
        let stats = place.stats();
        assert_eq!(stats["sinks"][0]["delivered"].as_u64(), Some(site.pages().len() as u64), "{stats}");
    }
}

/// A file that was cut between two runs is written again. One that is missing may have been moved away on purpose, so it is
/// only reported.
#[test]
fn an_output_that_is_cut_between_two_runs_is_written_again_and_one_that_was_moved_is_not() {
    for (sink, is_moved) in [("FILES", true), ("FILES", false), ("WARC", true), ("WARC", false)] {
        let (site, place) = (small_site(), Place::with("logging.filter: info"));
        let crawl =
            |seeds: &[String]| Process::start(place.crawl(seeds, &["--delay", "0", "--sink", sink])).wait().ok();
        crawl(&site.seeds());
        let delivered = || place.stats()["sinks"][0]["delivered"].as_u64();
        let before = delivered();
        let folder = place.data().join(sink.to_ascii_lowercase());
        let paths = std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()).filter(|path| path.is_file());
        let last = paths.max().unwrap();
        if is_moved {
            std::fs::rename(&last, place.data().join("moved")).unwrap();
            let ran = crawl(&[]);
            assert!(
                ran.stderr.contains("was moved or deleted") && ran.stderr.contains("seine sinks refill"),
                "{}",
                ran.stderr
            );
            assert!(!ran.stderr.contains("with empty counters"), "{}", ran.stderr);
            assert_eq!(delivered(), before);
            continue;
        }
        let file = std::fs::File::options().write(true).open(&last).unwrap();
        file.set_len(file.metadata().unwrap().len() / 2).unwrap();
        let ran = crawl(&[]);
        assert_eq!(ran.stderr.matches("with empty counters").count(), 1, "{}", ran.stderr);
        assert_eq!(delivered(), before, "{sink}: the log had everything");
        run(&["verify".as_ref(), folder.as_os_str()]).ok();
        let urls: BTreeSet<String> = cat(&folder).iter().map(|page| page["url"].as_str().unwrap().to_owned()).collect();
        assert!(urls.is_superset(&site.pages()), "{sink}");
        assert!(!crawl(&[]).stderr.contains("with empty counters"), "once");
    }
}

/// The same of sinks with a file for each page, and of a folder in them.
#[test]
fn a_deleted_folder_of_pages_is_noticed_and_written_again() {
    for (sink, deleted) in [("FILESYSTEM_HTML", ""), ("FILESYSTEM_JSON", "a host"), ("PAGESTORE", "")] {
        let (site, place) = (small_site(), Place::with("logging.filter: info"));
        place.set("target_storage.data_format.filesystem.unchanged", "send");
        let said = place.data().with_file_name("said");
        let command = place.crawl(&site.seeds(), &["--delay", "0", "--stay", "--sink", sink]);
        let process = Process::start_saying(command, &said);
        let folder = place.data().join(sink.to_ascii_lowercase());
        let has_all = || {
            let sink = &place.stats()["sinks"][0];
            sink["pending"] == 0 && sink["delivered"].as_u64() >= Some(site.pages().len() as u64)
        };
        eventually("every page is there", || place.data().join("api.sock").exists() && has_all());
        match deleted {
            "" => std::fs::remove_dir_all(&folder).unwrap(),
            _ => {
                for entry in std::fs::read_dir(&folder).unwrap().map(Result::unwrap) {
                    if !entry.file_name().as_encoded_bytes().starts_with(b"~") && entry.path().is_dir() {
                        std::fs::remove_dir_all(entry.path()).unwrap();
                    }
                }
                // It is noticed with the host's next page.
                run(&["seeds", "add", &site.seeds()[0], "-o", place.data().to_str().unwrap()]).ok();
            }
        }
        let begun_anew = || std::fs::read_to_string(&said).unwrap().contains("with empty counters");
        eventually("it is noticed", begun_anew);
        eventually("every page is there again", has_all);
        process.signal("TERM");
        process.wait().ok();
        let said = std::fs::read_to_string(&said).unwrap();
        assert!(said.contains("was deleted or moved, or what was in it"), "{said}");
        let audit = || run(&["audit".as_ref(), place.data().as_os_str(), "--destinations".as_ref()]);
        assert!(audit().ok().stdout.contains(&format!("✓ at {} by page", sink.to_ascii_lowercase())));
        // At rest nobody notices but the audit, and the next start.
        std::fs::remove_dir_all(&folder).unwrap();
        let told = audit().fails_naming(&["by page is off by"]);
        assert!(told.stdout.contains("live pages without a file, such as http"), "{}", told.stdout);
        let crawl = || Process::start(place.crawl(&[], &["--delay", "0", "--sink", sink])).wait().ok().stderr;
        let again = crawl();
        assert!(again.contains("with empty counters") && again.contains("is gone"), "{again}");
        audit().ok();
        for entry in std::fs::read_dir(&folder).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_dir()) {
            std::fs::remove_dir_all(entry.path()).unwrap();
        }
        let again = crawl();
        assert!(again.contains("the files in the folder are gone") && !again.contains("empty counters"), "{again}");
    }
}
/// The name stays, and the destination behind it is another one: it gets everything that the log still has.
#[test]
fn a_name_that_is_given_to_another_destination_starts_again() {
    let (site, place) = (small_site(), Place::with("logging.filter: info"));
    let crawl = |sink: &str| {
        place.set("target_storage.sinks", &format!("[{sink}]"));
        Process::start(place.crawl(&site.seeds(), &["--delay", "0"])).wait().ok().stderr
    };
    let delivered = || place.stats()["sinks"][0]["delivered"].as_u64().unwrap();
    let begun_anew = |said: &str, before: &str, now: &str| {
        said.contains("with empty counters") && said.contains(&format!("was {before} before, and is {now} now"))
    };
    assert!(!crawl("{name: x, destination: void}").contains("with empty counters"));
    let said = crawl("{name: x, destination: files, format: FILES}");
    assert!(begun_anew(&said, "void", "files (FILES)"), "{said}");
    let urls = |folder: &Path| -> BTreeSet<String> {
        cat(folder).iter().map(|page| page["url"].as_str().unwrap().to_owned()).collect()
    };
    assert!(urls(&place.data().join("x")).is_superset(&site.pages()));
    assert!(!crawl("{name: x, destination: files, format: FILES}").contains("with empty counters"), "once");
    let said = crawl("{name: x, destination: files, format: CDR31}");
    assert!(begun_anew(&said, "files (FILES)", "files (CDR31)"), "{said}");
    assert!(delivered() >= site.pages().len() as u64);
}
