//! The web index: rows of CSV with JSON in them.

use std::io::Read;
use std::sync::Arc;

use bytes::Bytes;
use proptest::prelude::*;
use seine_formats::csv_cells::Cells;
use seine_formats::options::WebIndexLimits;
use seine_formats::web_index::{WebIndexRecord, write_event};
use seine_parse::page::{Hop, Outcome, PageEvent};
use seine_parse::{DeriveOptions, PageText, derive};

const PAGE: &str = r#"<!doctype html><html lang="cs-CZ"><head><title>A "quoted", title</title>
<meta name="Description" content=" Číst o tom "><meta name=keywords content="a, b"><meta name=author content="Jana">
<body><h1>Big</h1><h2>One</h2><h2>Two &amp; more</h2>
<p>Žluťoučký kůň is a sentence long enough to be taken for the page's own content by anyone who counts its words, as
the extractor does; and this is the second half of it, which makes the block dense enough to be kept in the end.</p>
<img alt="a boat"><img alt=""><img alt="two
boats"><a href="/x">first link</a><a href="http://b.example/">second</a><a>no link</a></html>"#;

fn limits(each: usize) -> WebIndexLimits {
    WebIndexLimits {
        language: each,
        title: each,
        heading: each,
        headings: each,
        heading_level: 6,
        description: each,
        keywords: each,
        author: each,
        content_snippet: each,
        image_alts: each,
        link_texts: each,
    }
}

fn event(html: &str) -> PageEvent {
    let mut event = PageEvent::empty("http://a.example/old?b=1&a=2");
    event.final_url = "http://a.example/new#part".into();
    event.ended_ms = 1_795_271_940_999;
    let Outcome::Response(response) = &mut event.outcome else { unreachable!() };
    response.headers.push("content-type", "text/html; charset=utf-8");
    response.body = Bytes::copy_from_slice(html.as_bytes());
    event.hops.push(Hop {
        url: event.url.clone(),
        status: 302,
        headers: Default::default(),
        target: event.final_url.clone(),
        ip: None,
    });
    event
}

fn text(event: &PageEvent) -> PageText {
    let options = DeriveOptions {
        max_decoded_bytes: 1 << 30,
        obey_nofollow: false,
        agent: "Seine".into(),
        ..DeriveOptions::default()
    };
    Arc::new(derive(event, &options)).into()
}

fn rows(html: &str, limits: &WebIndexLimits) -> Vec<u8> {
    let event = event(html);
    let mut out = Vec::new();
    assert!(write_event(&event, &text(&event), limits, &mut out));
    out
}

fn read(bytes: &[u8]) -> Vec<WebIndexRecord> {
    Cells::new(bytes).map(|cell| serde_json::from_slice(&cell.unwrap()).unwrap()).collect()
}

#[test]
fn a_page_is_one_row_with_every_field() {
    let rows = rows(PAGE, &limits(100));
    assert!(rows.starts_with(b"\"{\"\"original_url\"\":") && rows.ends_with(b"}\"\r\n"));
    insta::assert_json_snapshot!(read(&rows));
}

#[test]
fn strings_are_cut_by_characters() {
    let rows = rows(PAGE, &limits(3));
    let record = &read(&rows)[0];
    assert_eq!((&*record.title, &*record.description, &*record.link_texts), ("A \"", "Čís", "fir"));
    assert_eq!(record.headings["h2"], ["One", "Two"]);
    assert!(read(&self::rows(PAGE, &limits(0)))[0].title.is_empty());
}

#[test]
fn headings_and_language_have_limits_as_the_rest_has() {
    let html = "<html lang=' en-US-x-something-private '><h1>a</h1><h1>b</h1><h1>c</h1><h4>d</h4><h5>e</h5>";
    let few = WebIndexLimits { language: 5, headings: 2, heading_level: 4, ..limits(100) };
    let record = &read(&rows(html, &few))[0];
    assert_eq!(record.language, "en-US");
    let headings: Vec<_> =
        record.headings.iter().map(|(level, texts)| format!("{level} {}", texts.join(" "))).collect();
    assert_eq!(headings, ["h1 a b", "h4 d"]);
    assert!(read(&rows(html, &WebIndexLimits { headings: 0, heading_level: 0, ..few }))[0].headings.is_empty());
}

#[test]
fn links_are_counted_as_link_texts_has_them() {
    let html = "<link rel=next href=/n><link rel=canonical href=/c><meta http-equiv=refresh content='5;url=/r'>\
        <iframe src=/f></iframe><map><area href=/m></map><a href=/1>one</a><a href=/1>one again</a>\
        <a href='/2'></a><a name=x>none</a><a href=''>this page</a>";
    let record = &read(&rows(html, &limits(100)))[0];
    assert_eq!((record.total_links_count, &*record.link_texts), (3, "one one again this page"));
}

/// As the index's own author loads it: Python's `csv` with its default limit, `json` of the first cell, every field by
/// name, and heading levels named `h` and a digit.
const LOADER: &str = r#"
import csv, json, re, sys
with open(sys.argv[1], encoding="utf-8") as file:
    for line in csv.reader(file):
        page = json.loads(line[0])
        for name in ["original_url", "final_url", "original_canonical_url", "final_canonical_url", "language", "title",
                     "description", "keywords", "author", "content_snippet", "image_alts", "link_texts"]:
            assert isinstance(page[name], str), name
        assert isinstance(page["crawl_timestamp"], int) and isinstance(page["total_links_count"], int)
        assert 0.0 <= page["content_snippet_quality"] <= 1.0
        for level, texts in page["headings"].items():
            assert re.match(r"^h[0-9]$", level) and all(isinstance(text, str) for text in texts)
        print(len(line[0]), page["title"])
"#;

#[test]
fn no_standard_reader_refuses_a_cell() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.csv");
    let reference: String = (0..3000)
        .map(|n| format!("<h2 id=f{n}>Function \"f{n}\" of the module with a long name, in all of its forms</h2><a href=#{n}>f{n}</a>"))
        .collect();
    let nasty = "\u{1}\"\\\u{1f600}".repeat(100_000);
    let pages = [
        format!("<title>reference</title>{reference}"),
        format!(
            "<title>nasty {nasty}</title><meta name=description content='{nasty}'><h1>{nasty}</h1><a href=/>{nasty}</a>"
        ),
        "<title>plain</title>".to_owned(),
    ];
    let wide = WebIndexLimits { heading_level: 6, ..limits(1_000_000) };
    for (index, limits) in [wide, WebIndexLimits { image_alts: 0, link_texts: 0, ..wide }].into_iter().enumerate() {
        let file: Vec<u8> = pages.iter().flat_map(|html| rows(html, &limits)).collect();
        std::fs::write(&path, &file).unwrap();
        let ran = std::process::Command::new("python3").args(["-c", LOADER, path.to_str().unwrap()]).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let said = String::from_utf8(ran.stdout).unwrap();
        let lengths: Vec<usize> = said.lines().map(|line| line.split(' ').next().unwrap().parse().unwrap()).collect();
        assert_eq!(lengths.len(), 3, "{index}");
        assert!(lengths.iter().all(|length| *length <= 131_072), "{lengths:?}");
        // Not cut more than necessary.
        assert!(lengths.iter().take(2).all(|length| *length > 129_000), "{lengths:?}");
        let records = read(&file);
        assert_eq!(records[0].title, "reference");
        assert!(records[1].title.starts_with("nasty "), "the title is cut last");
        assert!(records[0].headings["h2"].len() > 1000);
    }
}

#[test]
fn a_page_whose_urls_are_too_long_for_a_cell_is_left_out() {
    let mut event = event("<title>x</title>");
    event.url = format!("http://a.example/{}", "x".repeat(131_072));
    let mut out = Vec::new();
    assert!(!write_event(&event, &text(&event), &limits(100), &mut out) && out.is_empty());
    event.url.truncate(100_000);
    assert!(write_event(&event, &text(&event), &limits(100), &mut out));
    assert_eq!(read(&out)[0].original_canonical_url, "", "it can be had from the URL");
}

#[test]
fn the_less_a_snippet_says_of_the_page_the_lower_its_quality() {
    let quality = |html: &str| {
        let record = read(&rows(html, &limits(100))).remove(0);
        (record.content_snippet, record.content_snippet_quality)
    };
    let (text, main) = quality(PAGE);
    assert!(text.contains("Žluťoučký kůň is") && main > 0.5, "{text} {main}");
    let words = "word ".repeat(30);
    let labels =
        format!("<p>Menu of {words}<p>We use cookies, {words}.<p>It began. {words}.<p>Then it went on {words}");
    let (text, prose) = quality(&labels);
    assert!(text.starts_with("It began.") && prose > 0.9, "{text} {prose}");
    let (text, list) = quality(&format!("<p>Menu of {words}<p>end"));
    assert!(text.starts_with("Menu of word") && list <= 0.4, "{text} {list}");
    let (text, described) = quality("<meta name=description content='What it is'><p>Hi");
    assert_eq!((&*text, described), ("What it is", 0.4));
    let (text, visible) = quality("<p>Hi");
    assert!(text == "Hi" && visible > 0.0 && visible < described, "{text} {visible}");
    assert_eq!(quality("<p>"), (String::new(), 0.0));
}

#[test]
fn cells_of_others_may_hold_line_ends_and_break_off() {
    let file = b"\"{\"\"original_url\"\":\r\n \"\"http://a.example/\"\"}\"\n{},second column\r\n\n\"{\"\"orig";
    let mut cells = Cells::new(&file[..]);
    let all: Vec<_> = (&mut cells).map(|cell| String::from_utf8(cell.unwrap()).unwrap()).collect();
    assert_eq!(all, ["{\"original_url\":\r\n \"http://a.example/\"}", "{}", "{\"orig"]);
    assert!(cells.truncated());
    assert!(!{
        let mut whole = Cells::new(&file[..60]);
        whole.by_ref().for_each(drop);
        whole.row() == 0
    });
}

#[test]
fn a_quote_that_is_never_closed_takes_no_memory() {
    let endless = std::io::repeat(b'x').take(64 << 20);
    let mut cells = Cells::new(b"\"".chain(endless));
    assert!(cells.next().unwrap().unwrap_err().to_string().contains("row 1 is longer than"));
    assert!(cells.next().is_none());
}

proptest! {
    #[test]
    fn every_record_is_read_back(title in any::<String>(), url in any::<String>(), alts in "[\"\r\n,\u{e4}a-z]{0,40}", quality in 0.0..1.0_f64) {
        let record = WebIndexRecord { original_url: url, title, image_alts: alts, content_snippet_quality: quality, ..WebIndexRecord::default() };
        let mut out = Vec::new();
        record.write_row(&mut out);
        record.write_row(&mut out);
        prop_assert_eq!(read(&out), [record.clone(), record]);
    }

    #[test]
    fn any_bytes_are_read_to_their_end(bytes in prop::collection::vec(prop_oneof![Just(b'"'), Just(b','), Just(b'\n'), any::<u8>()], 0..300)) {
        prop_assert!(Cells::new(&bytes[..]).count() <= bytes.len() + 1);
    }
}
