//! Where `seine why` says that pages are in files, and the programs that read those files.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;

use crate::support::server::{Answer, Ask};
use serde_json::Value;

use crate::support::program::{Place, Process, eventually, run};
use crate::support::{Running, links};

const PAGES: usize = 700;
const SINKS: [&str; 4] = ["files", "warc", "cdr31", "filesystem_html"];

fn answer(ask: &Ask) -> Answer {
    match ask.path() {
        "/robots.txt" => Answer::text("").status(404),
        "/" => {
            let all: Vec<String> = (0..PAGES).map(|n| format!("/{n}")).collect();
            Answer::html(links(&all.iter().map(String::as_str).collect::<Vec<_>>()))
        }
        path => Answer::html(format!("<p>page {path}</p>")),
    }
}

/// For each URL, by sink: its reported place.
fn places(place: &Place, urls: &[String]) -> BTreeMap<(String, String), Value> {
    let data = place.data().display().to_string();
    let said = run(&[&["why".to_owned(), "--json".to_owned(), "-o".to_owned(), data], urls].concat()).ok().json_lines();
    let of = |said: &Value| {
        let (url, sinks) = (said["url"].as_str().unwrap().to_owned(), said["sinks"].as_array().unwrap().clone());
        sinks.into_iter().map(move |sink| ((url.clone(), sink["sink"].as_str().unwrap().to_owned()), sink))
    };
    said.iter().flat_map(of).collect()
}

fn is_as_read(url: &str, file: &str, said: &Value) -> bool {
    let pages = run(&["cat", "--location", file]).stdout;
    let place = &said["location"];
    let pages = pages.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let read = pages.into_iter().find(|page| page["record"] == place["record"]);
    read.is_some_and(|page| page["url"] == url && page["offset"] == place["offset"])
}

/// Reads each place, and returns what differs from the report.
fn wrong(place: &Place, urls: &[String]) -> Vec<String> {
    let all = places(place, urls);
    let found = |url: &str, sink: &str, said: &Value| {
        let file = said["location"]["file"].as_str()?.to_owned();
        let offset = || said["location"]["offset"].as_u64();
        match sink {
            "filesystem_html" => Some(std::fs::read_to_string(file).ok()?.contains(url.rsplit('/').next()?)),
            // The reader of archives finds the same …
            _ if !is_as_read(url, &file, said) => None,
            "files" => Some(true),
            // … and if the file is not a compressed stream, its bytes show it.
            _ => {
                let mut read = BufReader::new(std::fs::File::open(file).ok()?);
                read.seek(SeekFrom::Start(offset()?)).ok()?;
                let mut text = String::new();
                let coded = read.fill_buf().ok()?.starts_with(&[0x1f, 0x8b]);
                let bytes: Box<dyn Read> =
                    if coded { Box::new(flate2::read::GzDecoder::new(read)) } else { Box::new(read) };
                let mut lines = BufReader::new(bytes);
                for _ in 0..if sink == "warc" { 8 } else { 1 } {
                    lines.read_line(&mut text).ok()?;
                }
                let is_its = |end: char| text.contains(&format!("{url}{end}"));
                Some(is_its('"') || is_its('\r') || is_its('>'))
            }
        }
    };
    let is_wrong = |((url, sink), said): &(&(String, String), &Value)| found(url, sink, said) != Some(true);
    all.iter().filter(is_wrong).map(|(_, said)| said.to_string()).collect()
}

#[test]
fn a_page_is_in_the_record_that_is_told_live_after_a_kill_and_at_rest() {
    let site = Running::start(1, Arc::new(answer));
    let place = Place::with("target_storage.data_format.warc.max_file_size: 60000\n");
    let origin = site.origin(0);
    let options = SINKS.iter().flat_map(|sink| ["--sink", sink]).chain(["--delay", "0"]).collect::<Vec<_>>();
    let process = Process::start(place.crawl(&[origin.clone() + "/"], &[&options[..], &["--stay"]].concat()));
    let urls = [0, 1, 255, 256, 257, 400, PAGES - 1].map(|n| format!("{origin}/{n}"));
    eventually("each is told, and is there", || {
        let is_there = place.data().join("api.sock").exists();
        let all = if is_there { places(&place, &urls) } else { BTreeMap::new() };
        all.len() == urls.len() * SINKS.len()
            && all.values().all(|said| said["state"] == "delivered" && !said["location"].is_null())
    });
    assert_eq!(wrong(&place, &urls), Vec::<String>::new());
    assert!(process.kill(), "it was still running");
    assert_eq!(wrong(&place, &urls), Vec::<String>::new(), "after a kill");
    // The next run finishes the files and renames them.
    Process::start(place.crawl(&[], &options)).wait().ok();
    assert_eq!(wrong(&place, &urls), Vec::<String>::new(), "at rest");
    let told = run(&["why", "-o", place.data().to_str().unwrap(), &urls[3]]).ok().stdout;
    let row = told.lines().find(|line| line.trim_start().starts_with("warc ")).unwrap();
    assert!(row.contains("delivered: ") && row.contains(".warc.gz, record ") && row.contains(", byte "), "{told}");

    // The reader of archives skips the notes.
    let read = run(&["cat", place.data().join("cdr31").to_str().unwrap()]).ok();
    assert!(!read.stderr.contains("skipped"), "{}", read.stderr);
    // A deleted file is reported.
    let place_of = |sink: &str| places(&place, &urls[..1])[&(urls[0].clone(), sink.to_owned())].clone();
    std::fs::remove_file(place_of("cdr31")["location"]["file"].as_str().unwrap()).unwrap();
    let gone = place_of("cdr31");
    assert!(
        gone["location"].is_null() && gone["location_unknown"].as_str().unwrap().contains("No such file"),
        "{gone}"
    );
}
