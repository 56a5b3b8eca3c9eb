//! Pages with the same content or nearly the same text, in whole crawls: reported, skipped, and delivered again when
//! the page that they duplicate is gone.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::support::server::{Answer, Ask};
use serde_json::Value;

use crate::support::program::{Place, Process, eventually, free_port, get, json_lines, run};
use crate::support::{Running, links};

const PATHS: [&str; 6] = ["/first", "/copy", "/near", "/other", "/short", "/shorter"];

/// An article of 300 words, the same in any page frame.
fn article(word: &str, footer: &str) -> Answer {
    let words: Vec<String> = (0..300).map(|n| format!("{word}{n}")).collect();
    let paragraphs: String = words.chunks(50).map(|words| format!("<p>{}</p>", words.join(" "))).collect();
    Answer::html(format!("<title>Article</title><body>{paragraphs}<ul><li><a href=/>Home</a></ul><div>{footer}</div>"))
}

/// Two hundred names that occur in no other list, above the same notice in sentences.
fn list(of: &str) -> Answer {
    let names: String = (0..200).map(|n| format!("<li><a href='/#{n}'>{of}{n}</a>")).collect();
    let notice: Vec<String> = (0..60).map(|n| format!("notice{n}")).collect();
    Answer::html(format!("<title>{of}</title><ul>{names}</ul><p>{}.</p>", notice.join(" ")))
}

/// `/first`, its copies, and other pages, in the state `phase`. Conditional requests get no copy.
fn answer(ask: &Ask, phase: u32) -> Answer {
    match (ask.path(), phase) {
        ("/", _) => Answer::html(links(&PATHS)),
        ("/first", 1..) => Answer::text("").status(410),
        ("/copy", 2..) => article("changed", "today"),
        ("/copy", _) if ask.header("if-none-match").is_some() => Answer::new(304, "").header("etag", "\"same\""),
        ("/first" | "/copy", _) => article("word", "today").header("etag", "\"same\""),
        ("/near", _) => article("word", "tomorrow"),
        ("/other", _) => article("another", "today"),
        ("/short", _) => Answer::html("not here"),
        ("/shorter", _) => Answer::html("<p>not here"),
        _ => Answer::text("").status(404),
    }
}

pub fn site() -> (Running, Arc<AtomicU32>) {
    let phase = Arc::new(AtomicU32::new(0));
    let now = phase.clone();
    let site = Running::start(1, Arc::new(move |ask: &Ask| answer(ask, now.load(Ordering::SeqCst))));
    (site, phase)
}

const SETTINGS: &str = "link_storage.recrawl: {interval: 500ms, min_interval: 200ms, confirm_gone: 0}\n\
                        duplicates.enabled: true\n";

/// The last document of each path in the ELASTIC files of a sink.
fn documents(place: &Place, sink: &str) -> BTreeMap<String, Value> {
    let mut files: Vec<_> = std::fs::read_dir(place.data().join(sink)).unwrap().map(|it| it.unwrap().path()).collect();
    // A file that is being written has another suffix.
    files.retain(|file| file.to_string_lossy().contains(".jsonl"));
    files.sort();
    // The last line may be incomplete.
    let whole = |text: String| text.rfind('\n').map_or(String::new(), |end| text[..end].to_owned());
    let all = files.iter().flat_map(|file| json_lines(&whole(std::fs::read_to_string(file).unwrap())));
    all.map(|document| (path_of(document["url"].as_str().unwrap()), document)).collect()
}

fn path_of(url: &str) -> String {
    format!("/{}", url.rsplit_once('/').unwrap().1)
}

#[test]
fn each_page_says_whose_duplicate_it_is() {
    let (site, _) = site();
    let place = Place::with(
        "duplicates.enabled: true\n\
         target_storage.sinks: [{name: all, format: ELASTIC}, {name: archive, format: WARC}, \
         {name: spare, format: ELASTIC, options: {skip_duplicates: true}}]\n",
    );
    let seeds = [site.origin(0) + "/"];
    Process::start(place.crawl(&seeds, &["--delay", "0"])).wait().ok();
    let all = documents(&place, "all");
    assert_eq!(all.len(), 7, "{:?}", all.keys());
    let told = |path: &str| {
        let field = |name: &str| all[path].get(name).cloned().unwrap_or_default();
        (field("duplicateOf"), field("duplicateKind"), field("duplicateDistance"))
    };
    let first = Value::from(site.origin(0) + "/first");
    assert_eq!(told("/copy"), (first.clone(), "exact".into(), 0.into()));
    let (of, kind, distance) = told("/near");
    assert_eq!((of, kind, distance.as_u64().unwrap() <= 3), (first, "near".into(), true));
    let originals = ["/", "/first", "/other", "/short", "/shorter"];
    for path in originals {
        assert_eq!(told(path), Default::default(), "{path}");
    }
    let spare: BTreeSet<String> = documents(&place, "spare").into_keys().collect();
    assert_eq!(spare, originals.map(str::to_owned).into());

    let stats = place.stats();
    assert_eq!((&stats["frontier"]["live"], &stats["frontier"]["duplicates"]), (&7.into(), &2.into()));
    let data = place.data();
    let data = data.to_str().unwrap();
    let why = |path: &str| run(&["why", "-o", data, &format!("{}{path}", site.origin(0))]).ok().stdout;
    assert!(why("/near").contains("nearly the same as"), "{}", why("/near"));
    assert!(why("/copy").contains("identical to") && why("/copy").contains("this sink skips duplicates"));
    assert!(
        why("/first").lines().any(|line| line.contains("duplicates") && line.contains("/copy")),
        "{}",
        why("/first")
    );
    run(&["audit", data, "--destinations"]).ok();
    let archived = std::fs::read_dir(place.data().join("archive")).unwrap().flatten();
    let archived = archived.filter(|file| file.file_name().to_string_lossy().ends_with(".warc.gz"));
    let read = |file: std::fs::DirEntry| {
        let mut records = Vec::new();
        flate2::read::MultiGzDecoder::new(std::fs::File::open(file.path()).unwrap()).read_to_end(&mut records).unwrap();
        String::from_utf8_lossy(&records).into_owned()
    };
    let records: String = archived.map(read).collect();
    let said = format!("Seine-Duplicate-Of: {}/first\r\nSeine-Duplicate-Kind: ", site.origin(0));
    assert_eq!(records.matches(&said).count(), 2);
}

#[test]
fn lists_with_the_same_notice_are_no_copies() {
    let site = Running::start(
        1,
        Arc::new(|ask: &Ask| match ask.path() {
            "/" => Answer::html(links(&["/apple", "/pear"])),
            "/apple" | "/pear" => list(ask.path()),
            _ => Answer::text("").status(404),
        }),
    );
    let place = Place::with("duplicates.enabled: true\n");
    Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0"])).wait().ok();
    let stats = place.stats();
    assert_eq!((&stats["frontier"]["live"], &stats["frontier"]["duplicates"]), (&3.into(), &0.into()));
}

/// A text of 1,000 words. `edits`: so many words are others, at places that differ from text to text.
fn text(number: usize, edits: usize) -> Answer {
    let mut words: Vec<String> = (0..1000).map(|n| format!("w{}", (n * 7919 + number * 104_729) % 4001)).collect();
    (0..edits).for_each(|edit| words[(number * 31 + edit * 97) % 1000] = format!("edited{number}x{edit}"));
    let paragraphs: String = words.chunks(50).map(|words| format!("<p>{}.</p>", words.join(" "))).collect();
    Answer::html(format!("<title>Text {number} - Site</title><body><h1>Text {number}</h1>{paragraphs}"))
}

#[test]
fn copies_with_one_other_word_in_a_hundred_are_found() {
    let paths: Vec<String> = (0..24).flat_map(|n| [format!("/text-{n}"), format!("/edited-{n}")]).collect();
    let root = links(&paths.iter().map(String::as_str).collect::<Vec<_>>());
    let site = Running::start(
        1,
        Arc::new(move |ask: &Ask| match ask.path().rsplit_once('-').map(|(kind, n)| (kind, n.parse())) {
            Some(("/text", Ok(number))) => text(number, 0),
            Some(("/edited", Ok(number))) => text(number, 10),
            _ if ask.path() == "/" => Answer::html(root.clone()),
            _ => Answer::text("").status(404),
        }),
    );
    let place = Place::with("duplicates.enabled: true\ntarget_storage.sinks: [{name: all, format: ELASTIC}]\n");
    Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0"])).wait().ok();
    let mut found = 0;
    for (path, document) in documents(&place, "all") {
        let Some(of) = document.get("duplicateOf").and_then(Value::as_str) else { continue };
        assert_eq!(path.rsplit_once('-').unwrap().1, of.rsplit_once('-').unwrap().1, "{path} is no copy of {of}");
        found += 1;
    }
    assert!(found >= 22, "{found} of 24");
}

/// A product of a shop: nearly all of its text is on every page. `differs` says what is its own.
fn product(differs: &str, number: usize) -> Answer {
    let own = |what: &str| if what == differs { number } else { 0 };
    let (name, size, price) = (own("title"), own("list"), own("number"));
    let common: String =
        (0..8).map(|p| (0..60).map(|n| format!("common{p}x{n} ")).collect::<String>() + "</p><p>").collect();
    Answer::html(format!(
        "<title>Chair model {name} | Shop</title><body><h1>Chair model {name}</h1>\
         <ul><li>material: oak</li><li>colour: c{size}</li><li>cover: k{size}</li></ul>\
         <p>It costs {} euros and weighs {} grams with everything that anybody may need to build it. {common}</p>",
        1000 + price,
        7000 + 3 * price
    ))
}

#[test]
fn products_of_one_shop_are_no_copies() {
    for differs in ["title", "list", "number"] {
        let paths: Vec<String> = (1..=40).map(|n| format!("/chair-{n}")).collect();
        let root = links(&paths.iter().map(String::as_str).collect::<Vec<_>>());
        let site = Running::start(
            1,
            Arc::new(move |ask: &Ask| match ask.path().strip_prefix("/chair-").map(str::parse) {
                Some(Ok(number)) => product(differs, number),
                _ if ask.path() == "/" => Answer::html(root.clone()),
                _ => Answer::text("").status(404),
            }),
        );
        let place = Place::with("duplicates.enabled: true\n");
        Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0"])).wait().ok();
        let stats = place.stats();
        let counts = (&stats["frontier"]["live"], &stats["frontier"]["duplicates"]);
        assert_eq!(counts, (&41.into(), &0.into()), "another {differs}");
    }
}

#[test]
fn what_is_left_out_comes_when_the_first_one_leaves_whatever_is_killed_meanwhile() {
    let (site, phase) = site();
    let place = Place::with(&format!(
        "{SETTINGS}target_storage.sinks: [{{name: spare, format: ELASTIC, options: {{skip_duplicates: true, unchanged: skip}}}}]\n"
    ));
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let start = || {
        let more = ["--delay", "0", "--stay", "--listen", &address.to_string()];
        Process::start(place.crawl(&[site.origin(0) + "/"], &more))
    };
    let metric = |name: &str| {
        let metrics = get(address, "/metrics").map(|(_, text)| text).unwrap_or_default();
        metrics.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    let counts =
        || ["live", "duplicate", "gone"].map(|state| metric(&format!("seine_frontier_urls{{state=\"{state}\"}}")));
    let process = start();
    eventually("all is there", || counts() == [7, 2, 0]);
    assert_eq!(metric("seine_duplicates_total{kind=\"exact\"}"), 1);
    assert_eq!(metric("seine_duplicates_total{kind=\"near\"}"), 1);
    process.kill();
    let skipped = |place: &Place| {
        documents(place, "spare").into_keys().filter(|path| matches!(&**path, "/copy" | "/near")).count()
    };
    assert_eq!(skipped(&place), 0);

    phase.store(1, Ordering::SeqCst);
    let process = start();
    eventually("the first has gone", || counts()[2] == 1);
    process.kill();
    let process = start();
    eventually("one of the others is first", || counts() == [6, 1, 1]);
    eventually("and is delivered", || skipped(&place) == 1);

    phase.store(2, Ordering::SeqCst);
    eventually("each has a text of its own", || counts() == [6, 0, 1]);
    eventually("and both are delivered", || skipped(&place) == 2);
    process.signal("TERM");
    process.wait().ok();
    let data = place.data();
    run(&["audit", data.to_str().unwrap()]).ok();
}

#[test]
fn what_is_switched_on_later_is_found_at_the_next_look() {
    let (site, _) = site();
    let place = Place::with(
        "link_storage.recrawl: {interval: 500ms, min_interval: 200ms}\n\
         target_storage.sinks: [{name: all, format: ELASTIC, options: {unchanged: skip}}]\n",
    );
    let crawl = || Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0"])).wait().ok();
    let duplicates = || place.stats()["frontier"]["duplicates"].as_u64().unwrap();
    crawl();
    assert_eq!((documents(&place, "all").len(), duplicates()), (7, 0));
    place.set("duplicates.enabled", "true");
    eventually("all was looked at again", || {
        crawl();
        duplicates() == 2
    });
    place.set("duplicates.distance", "0");
    eventually("near ones are none any more", || {
        crawl();
        duplicates() == 1
    });
    place.set("duplicates.enabled", "false");
    eventually("nothing is known any more", || {
        crawl();
        duplicates() == 0
    });
    run(&["audit", place.data().to_str().unwrap()]).ok();
}

#[test]
fn skipping_without_looking_is_refused() {
    let place = Place::with("target_storage.sinks: [{name: all, format: ELASTIC, options: {skip_duplicates: true}}]\n");
    Process::start(place.crawl(&["http://127.0.0.11:1/".to_owned()], &[]))
        .wait()
        .fails_naming(&["skip_duplicates", "duplicates.enabled: true"]);
    let place = Place::with("duplicates: {enabled: true, distance: 4}\n");
    Process::start(place.crawl(&["http://127.0.0.11:1/".to_owned()], &[]))
        .wait()
        .fails_naming(&["duplicates.distance", "0 to 3"]);
}
