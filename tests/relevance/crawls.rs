//! Crawls with a page classifier, and what its verdicts change for readers.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use crate::support::server::{Answer, Ask};
use serde_json::Value;

use crate::languages::{LANGUAGES, write_examples};
use crate::models::build;
use crate::support::program::{Place, Process, cat, eventually, free_port, get, run};
use crate::support::{Running, links};

const KEY: &str = "target_storage.model";
const STORES: &str = "target_storage.store_negative_pages";
const SETTINGS: &str = "link_storage.scheduler.host_min_access_interval: 0\n";

fn site() -> Running {
    let answer = |ask: &Ask| match ask.path() {
        "/robots.txt" => Answer::text("").status(404),
        "/" => Answer::html(links(&["/thread/1", "/thread/2", "/about", "/data.csv", "/gone"])),
        "/thread/1" => Answer::html("<title>Ebola in\nthe news</title><p>FOO\nand bar</p>"),
        "/thread/2" => Answer::html("<title>Football</title><p>foo</p>"),
        "/about" => Answer::html("<title>About us, and ebola</title><p>nothing</p>"),
        "/data.csv" => Answer::new(200, "a,foo\n1,2\n").header("content-type", "text/csv"),
        _ => Answer::text("").status(404),
    };
    Running::start(1, Arc::new(answer))
}

/// A model's folder next to the data folder.
fn model(place: &Place, name: &str, yml: &str) -> PathBuf {
    let folder = place.config().with_file_name(name);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("pageclassifier.yml"), yml).unwrap();
    folder
}

/// Path → its line of `seine cat`.
fn by_path(lines: Vec<Value>) -> BTreeMap<String, Value> {
    let path = |line: &Value| url::Url::parse(line["url"].as_str().unwrap()).unwrap().path().to_owned();
    lines.into_iter().map(|line| (path(&line), line)).collect()
}

#[test]
fn each_of_aches_classifiers_says_what_it_says_in_ache() {
    let site = site();
    let cases: [(&str, &[&str]); 13] = [
        ("type: url_regex\nparameters:\n  regular_expressions: [\".*/THREAD/.*\", \"x\"]", &["/thread/1", "/thread/2"]),
        ("type: url_regex\nparameters:\n  regular_expressions: [\"thread\"]", &[]),
        ("type: url_regex\nparameters: {blacklist_file: list.txt}", &["/", "/thread/2"]),
        (
            "type: url_regex\nparameters: {whitelist_file: list.txt, regular_expressions: [\".*\"]}",
            &["/thread/1", "/about"],
        ),
        ("type: title_regex\nparameters:\n  regular_expression: ebola", &["/thread/1", "/about"]),
        ("type: title_regex\nparameters:\n  regular_expression: ^about.*ebola$", &["/about"]),
        ("type: body_regex\nparameters:\n  regular_expressions:\n  - nowhere\n  - .*foo.*bar.*", &["/thread/1"]),
        ("type: body_regex\nparameters:\n  regular_expressions: [foo]", &[]),
        (
            "type: regex\nparameters:\n  boolean_operator: AND\n  url:\n    boolean_operator: OR\n    regexes: [.*thread.*, .*post.*]\n  \
             content:\n    boolean_operator: OR\n    regexes: [.*bar.*, .*baz.*]",
            &["/thread/1"],
        ),
        ("type: regex\nparameters: {url: {regexes: [.*thread.*, .*2]}, title: {regexes: [.*ball]}}", &["/thread/2"]),
        (
            "type: regex\nparameters: {boolean_operator: OR, title: {regexes: [foot.*]}, content: {regexes: [.*nothing.*]}}",
            &["/thread/2", "/about"],
        ),
        ("type: regex\nparameters: {content_type: {boolean_operator: OR, regexes: [.*text/csv.*]}}", &["/data.csv"]),
        ("type: keep_link_relevance", &["/", "/thread/1", "/thread/2", "/about"]),
    ];
    for (yml, relevant) in cases {
        let place = Place::with(SETTINGS);
        let folder = model(&place, "rules", yml);
        fs::write(folder.join("list.txt"), ".*/thread/1\n\n.*about\n").unwrap();
        let crawl = place.crawl(&[site.origin(0) + "/"], &["-m", folder.to_str().unwrap()]);
        Process::start(crawl).wait().ok();
        let pages = by_path(place.cat());
        assert_eq!(pages.len(), 5, "{pages:?}");
        for (path, page) in pages {
            let is_relevant = relevant.contains(&path.as_str());
            assert_eq!(page["relevance"]["isRelevant"], is_relevant, "{path} by {yml}");
            assert_eq!(page["relevance"]["relevance"], f64::from(u8::from(is_relevant)), "{path} by {yml}");
        }
    }
}

#[test]
fn a_link_is_as_relevant_as_its_rank_says() {
    let site = site();
    let place = Place::with(&format!("{SETTINGS}link_storage.link_classifier.type: LinkClassifierBaseline\n"));
    let folder = model(&place, "kept", "type: keep_link_relevance");
    Process::start(place.crawl(&[site.origin(0) + "/"], &["-m", folder.to_str().unwrap()])).wait().ok();
    let pages = by_path(place.cat());
    let relevance = |path: &str| pages[path]["relevance"]["relevance"].as_f64().unwrap();
    assert_eq!(relevance("/"), 1.0, "a seed");
    for path in ["/thread/1", "/thread/2", "/about"] {
        assert!(relevance(path) > 0.0 && relevance(path) < 1.0, "{path}: {}", relevance(path));
        assert_eq!(pages[path]["relevance"]["isRelevant"], true);
    }
}

/// Path → the condition of its last request.
type Asked = Arc<Mutex<BTreeMap<String, Option<String>>>>;

/// Pages as in [`site`], each with an ETag.
fn tagged_site() -> (Running, Asked) {
    let asked = Asked::default();
    let noted = asked.clone();
    let answer = move |ask: &Ask| {
        let condition = ask.header("if-none-match").map(str::to_owned);
        noted.lock().unwrap().insert(ask.path().to_owned(), condition.clone());
        let tag = format!("\"{}\"", ask.path());
        let answer = match ask.path() {
            _ if condition.as_ref() == Some(&tag) => Answer::new(304, ""),
            "/" => Answer::html(format!("<title>all</title>{}", links(&["/ebola", "/football", "/data.csv"]))),
            "/ebola" => Answer::html("<title>Ebola</title>"),
            "/football" => Answer::html(format!("<title>Football</title>{}", links(&["/behind"]))),
            "/behind" => Answer::html("<title>Ebola, behind football</title>"),
            "/data.csv" => Answer::new(200, "a,foo\n1,2\n").header("content-type", "text/csv"),
            _ => return Answer::text("").status(404),
        };
        answer.header("etag", &*tag)
    };
    (Running::start(1, Arc::new(answer)), asked)
}

#[test]
fn negative_pages_are_not_stored_where_nobody_wants_them() {
    let (site, asked) = tagged_site();
    let place = Place::with(&format!("{SETTINGS}link_storage.download_sitemap_xml: false\n"));
    let folder = model(&place, "rules", "type: title_regex\nparameters: {regular_expression: ebola}");
    place.set(KEY, folder.to_str().unwrap());
    let sinks = ["--sink", "files", "--sink", "warc", "--sink", "stdout"];
    let printed = || {
        let ran = Process::start(place.crawl(&[site.origin(0) + "/"], &[&["-q"], &sinks[..]].concat())).wait().ok();
        by_path(ran.json_lines())
    };
    let in_warc = || by_path(cat(&place.data().join("warc"))).into_keys().collect::<Vec<_>>();
    let frontier = || {
        let frontier = &place.stats()["frontier"];
        (frontier["live"].as_u64().unwrap(), frontier["withheld"].as_u64().unwrap())
    };
    let last = |path: &str| asked.lock().unwrap()[path].clone();
    place.set(STORES, "false");
    let pages = printed();
    assert_eq!(pages.keys().collect::<Vec<_>>(), ["/behind", "/data.csv", "/ebola"], "its links are followed");
    assert_eq!(in_warc(), ["/behind", "/data.csv", "/ebola"], "archives have no place for them, either");
    assert_eq!(frontier(), (3, 2));
    let data = place.data().to_str().unwrap().to_owned();
    let why = |path: &str| run(&["why", "-o", &data, &(site.origin(0) + path)]).ok().stdout;
    assert!(why("/football").contains("rates it as not relevant (store_negative_pages)"), "{}", why("/football"));

    // Irrelevant pages are now wanted: they are fetched without conditions, and delivered as new.
    place.set(STORES, "true");
    let pages = printed();
    assert_eq!(pages.keys().collect::<Vec<_>>(), ["/", "/football"]);
    assert_eq!((last("/football"), frontier()), (None, (5, 0)));

    // And no longer: they leave, without being fetched in full.
    place.set(STORES, "false");
    assert!(printed().is_empty());
    assert_eq!((last("/football"), frontier()), (Some("\"/football\"".to_owned()), (3, 2)));

    // With another model, pages judged by the old one are fetched without conditions and judged again.
    model(&place, "rules", "type: title_regex\nparameters: {regular_expression: .*football.*}");
    assert_eq!(printed().into_keys().collect::<Vec<_>>(), ["/behind", "/football"]);
    assert_eq!([last("/football"), last("/ebola")], [None, None]);
    assert_eq!(frontier(), (3, 2));

    // Without a model, no page is irrelevant.
    place.set(KEY, "null");
    assert_eq!(printed().into_keys().collect::<Vec<_>>(), ["/", "/ebola"]);
    run(&["audit".as_ref(), place.data().as_os_str()]).ok();
}

#[test]
fn every_sink_says_what_the_model_said_and_a_replay_says_the_same() {
    let place = Place::with(SETTINGS);
    let folder = place.config().with_file_name("disease");
    let examples = place.config().with_file_name("examples");
    write_examples(&examples, &[&LANGUAGES[0]], 30, true, 1);
    build(&examples, &folder).ok();
    let mut rng = fastrand::Rng::with_seed(7);
    let pages: Vec<String> = (0..6).map(|number| LANGUAGES[0].page(number % 2 == 0, 12, &mut rng)).collect();
    let answer = move |ask: &Ask| match ask.path().trim_start_matches('/') {
        "robots.txt" => Answer::text("").status(404),
        "" => Answer::html(links(&["/0", "/1", "/2", "/3", "/4", "/5"])),
        path => match path.parse::<usize>() {
            Ok(number) => Answer::html(pages[number].clone()),
            Err(_) => Answer::text("").status(404),
        },
    };
    let site = Running::start(1, Arc::new(answer));
    let sinks = ["files", "warc", "elastic", "stdout"].map(|name| ["--sink", name]).concat();
    let crawl = place.crawl(&[site.origin(0) + "/"], &[&["-m", folder.to_str().unwrap(), "-q"], &sinks[..]].concat());
    let ran = Process::start(crawl).wait().ok();
    let printed = by_path(ran.json_lines());
    let name = printed["/0"]["relevance_model"].as_str().unwrap().to_owned();
    let is_digest = |digest: &str| digest.len() == 8 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    assert!(name.strip_prefix("disease@").is_some_and(is_digest), "{name}");
    for number in 0..6 {
        let relevance = &printed[&format!("/{number}")]["relevance"];
        let (is_relevant, value) = (relevance["isRelevant"] == true, relevance["relevance"].as_f64().unwrap());
        assert_eq!((is_relevant, value > 0.5), (number % 2 == 0, number % 2 == 0), "{relevance}");
        assert!(value > 0.0 && value < 1.0, "{relevance}");
    }
    // The same verdicts, read later and from other files.
    let copied = place.config().with_file_name("copied");
    let warc = place.data().join("warc");
    run(&["convert".as_ref(), "--to".as_ref(), "warc".as_ref(), warc.as_os_str(), copied.as_os_str()]).ok();
    for (folder, has_name) in
        [(place.data().join("files"), false), (warc, true), (place.data().join("elastic"), true), (copied, true)]
    {
        let mut held = by_path(cat(&folder));
        // WARC contains other answers, too.
        held.retain(|path, _| printed.contains_key(path));
        assert_eq!(held.len(), 7, "{folder:?}");
        for (path, page) in held {
            assert_eq!(page["relevance"], printed[&path]["relevance"], "{path} in {folder:?}");
            let named = page["relevance_model"].as_str();
            assert_eq!(named, has_name.then_some(name.as_str()), "{path} in {folder:?}");
        }
    }
    let why = run(&["why", "-o", place.data().to_str().unwrap(), &(site.origin(0) + "/1")]).ok().stdout;
    assert!(why.contains(&format!("irrelevant, by {name}")), "{why}");
}

#[test]
fn another_model_holds_after_a_reload_and_a_wrong_one_changes_nothing() {
    let (site, listen) = (site(), SocketAddr::from(([127, 0, 0, 1], free_port())));
    let place = Place::with(SETTINGS);
    let folder = model(&place, "rules", "type: title_regex\nparameters: {regular_expression: ebola}");
    place.set(KEY, folder.to_str().unwrap());
    let start = |more: &[&str]| {
        let listen = listen.to_string();
        let more = [&["--stay", "--listen", &listen], more].concat();
        Process::start(place.crawl(&[site.origin(0) + "/"], &more))
    };
    let process = start(&[]);
    let judged = |verdict: &str| {
        let line = format!("seine_relevance_total{{relevance=\"{verdict}\"}} ");
        let metrics = get(listen, "/metrics")?.1;
        metrics.lines().find_map(|it| it.strip_prefix(&line)?.parse::<u64>().ok())
    };
    eventually("all pages are judged", || (judged("relevant"), judged("irrelevant")) == (Some(2), Some(3)));
    let data = place.data().to_str().unwrap().to_owned();
    let reload = || run(&["reload", "-o", &data]);
    model(&place, "rules", "type: title_regex\nparameters: {regular_expression: '('}");
    reload().fails_naming(&[KEY, "a regular expression", "the configuration is unchanged"]);
    model(&place, "rules", "type: title_regex\nparameters: {regular_expression: foot}");
    let said = reload().ok().stdout;
    assert!(said.contains(&format!("{KEY}: rules@")) && said.matches("rules@").count() == 2, "{said}");
    assert!(reload().ok().stdout.contains("has not changed"));
    run(&["seeds", "add", "-o", &data, &(site.origin(0) + "/thread/2?again")]).ok();
    eventually("the new page is judged", || judged("irrelevant") == Some(3) && judged("relevant") == Some(3));
    let why = |path: &str| run(&["why", "--json", "-o", &data, &(site.origin(0) + path)]).ok().json_lines().remove(0);
    eventually("its verdict is validated", || why("/thread/2?again")["page"]["relevance"] == 1.0);
    assert_eq!(why("/about")["page"]["is_relevant"], true, "by the first model");
    for (stores, state) in [("false", "withheld"), ("true", "live")] {
        place.set(STORES, stores);
        reload().ok();
        eventually("what is known is looked at again", || why("/about")["state"] == state);
        assert_eq!(why("/thread/2")["state"], "live");
    }
    assert!(process.kill());

    // A start without a model continues and judges by type; earlier verdicts stay.
    place.set(KEY, "null");
    let process = start(&[]);
    eventually("it runs", || judged("relevant") == Some(0));
    assert_eq!(why("/about")["page"]["is_relevant"], false);
    assert_eq!(why("/thread/2?again")["page"]["relevance"], 1.0);
    process.signal("TERM");
    process.wait().ok();
}
