//! Pagestore: lines of `META`, paths of files, and stores of other programs.

use std::collections::BTreeMap;

use bytes::Bytes;
use proptest::prelude::*;
use seine_formats::files::stores_event;
use seine_formats::pagestore::{
    Details, MetaEntry, MetaError, MetaReader, PageKind, PagestoreRecord, StorePath, UrlHash, day, day_of, day_path,
};
use seine_parse::page::{Failure, FailureReason, Kind, Outcome, PageEvent};
use time::Date;
use time::macros::date;

const ECONOMIST: &str = "http://www.economist.com/";
const ECONOMIST_MD5: &str = "afa4d5c1593694b1af94aad132a53da7";

fn details(id: u64, kind: PageKind, language: &str) -> Option<Details> {
    Some(Details { id, kind, language: (!language.is_empty()).then(|| language.into()) })
}

fn line(entry: &MetaEntry) -> String {
    let mut out = Vec::new();
    entry.write(&mut out);
    String::from_utf8(out).unwrap()
}

fn read(file: &[u8]) -> (Vec<MetaEntry>, Vec<MetaError>, bool) {
    let mut reader = MetaReader::new(file);
    let (mut entries, mut errors) = (Vec::new(), Vec::new());
    for item in &mut reader {
        match item {
            Ok(entry) => entries.push(entry),
            Err(error) => errors.push(error),
        }
    }
    (entries, errors, reader.truncated())
}

// ---- the lines of META

/// Whether the hash is that of the URL.
fn is_consistent(entry: &MetaEntry) -> bool {
    UrlHash::of(&entry.url) == entry.hash
}

#[test]
fn the_documents_own_line_is_read_and_written() {
    let documented = format!("{ECONOMIST_MD5} {ECONOMIST} 180 url en\n");
    let entry = MetaEntry::parse(&documented).unwrap();
    assert!(is_consistent(&entry), "the document's MD5 is the URL's");
    assert_eq!(entry, MetaEntry::new(ECONOMIST, details(180, PageKind::Url, "en")));
    assert_eq!(line(&entry), documented);
    let old = MetaEntry::parse(&documented[..documented.len() - " 180 url en\n".len()]).unwrap();
    assert_eq!(old, MetaEntry::new(ECONOMIST, None));
    assert_eq!(line(&old), format!("{ECONOMIST_MD5} {ECONOMIST}\n"));
}

#[test]
fn every_kind_of_line_is_written() {
    let lines: String = [
        MetaEntry::new("http://a.example/", details(0, PageKind::Url, "en")),
        MetaEntry::new("http://a.example/feed", details(u64::MAX, PageKind::Rss, "")),
        MetaEntry::new("http://a.example/1", details(158, PageKind::RssItem, "pt-BR")),
        MetaEntry::new("http://a.example/old", None),
        MetaEntry::new("http://a.example/a b\tc\nd\u{a0}é%20", details(1, PageKind::Url, "e\n n")),
    ]
    .iter()
    .map(line)
    .collect();
    insta::assert_snapshot!(lines, @r"
    b30d4f59eb97517b29db7bf4c7be397d http://a.example/ 0 url en
    4c7982345289de0f09865f1841990f4d http://a.example/feed 18446744073709551615 rss und
    65701cd5a37e6a35e716f0642bbdb797 http://a.example/1 158 rssitem pt-BR
    93f0541f270066bc8148a5d90c647c5c http://a.example/old
    63f51c7587c727c0cd8c1782b8255ba8 http://a.example/a%20b%09c%0Ad%C2%A0é%20 1 url en
    ");
}

#[test]
fn lines_are_read_as_others_write_them() {
    let parse = |rest: &str| MetaEntry::parse(&format!("{} {rest}", "0".repeat(32))).map(|it| (it.url, it.details));
    let found = |url: &str, details| Some((url.to_owned(), details));
    for (rest, expected) in [
        ("http://a.example/", found("http://a.example/", None)),
        ("http://a.example/\r\n", found("http://a.example/", None)),
        ("http://a.example/ 7 rss it", found("http://a.example/", details(7, PageKind::Rss, "it"))),
        // No language: the original program did not write one.
        ("http://a.example/ 7 url \n", found("http://a.example/", details(7, PageKind::Url, ""))),
        ("http://a.example/ 7 url", found("http://a.example/", details(7, PageKind::Url, ""))),
        ("http://a.example/ 7 url und", found("http://a.example/", details(7, PageKind::Url, ""))),
        ("\thttp://a.example/\t7  rssitem\ten ", found("http://a.example/", details(7, PageKind::RssItem, "en"))),
        // Blanks in URLs.
        ("http://a.example/a b 7 url en", found("http://a.example/a b", details(7, PageKind::Url, "en"))),
        ("http://a.example/a b", found("http://a.example/a b", None)),
        // Not a number, and not a kind, although they look similar.
        ("http://a.example/ -7 url en", found("http://a.example/ -7 url en", None)),
        ("http://a.example/ 7 page en", found("http://a.example/ 7 page en", None)),
        ("http://a.example/ 99999999999999999999 url en", found("http://a.example/ 99999999999999999999 url en", None)),
        ("", None),
        ("  ", None),
    ] {
        assert_eq!(parse(rest), expected, "{rest:?}");
    }
    for line in [
        "",
        "x",
        ECONOMIST,
        ECONOMIST_MD5,
        &format!("{ECONOMIST_MD5}{ECONOMIST}"),
        &format!("{}g {ECONOMIST}", &ECONOMIST_MD5[1..]),
    ] {
        assert_eq!(MetaEntry::parse(line), None, "{line:?}");
    }
    assert!(is_consistent(&MetaEntry::parse(&format!("{} {ECONOMIST}", ECONOMIST_MD5.to_uppercase())).unwrap()));
}

#[test]
fn where_a_line_can_be_read_in_two_ways_the_hash_decides() {
    for url in
        ["http://a.example/a 7 url en", "http://a.example/ 7 url", " http://a.example/ ", "http://a.example/a  b"]
    {
        let old = MetaEntry::parse(&format!("{} {url}\n", UrlHash::of(url))).unwrap();
        assert_eq!((&old.url[..], &old.details), (url, &None));
        let enriched = MetaEntry::parse(&format!("{} {url} 180 url en\n", UrlHash::of(url))).unwrap();
        assert_eq!((&enriched.url[..], enriched.details), (url, details(180, PageKind::Url, "en")));
    }
}

#[test]
fn a_bad_line_does_not_end_the_file() {
    let long = format!("{ECONOMIST_MD5} http://a.example/{}\n", "x".repeat(70_000));
    let file = format!("{ECONOMIST_MD5} {ECONOMIST} 1 url en\n\nno line\n{long}{ECONOMIST_MD5} {ECONOMIST} 2 rss en");
    let file = [file.as_bytes(), b"\n", ECONOMIST_MD5.as_bytes(), b" http://a.example/\xe4"].concat();
    let (entries, errors, truncated) = read(&file);
    let ids: Vec<_> = entries.iter().map(|entry| entry.details.as_ref().map(|it| it.id)).collect();
    assert_eq!(ids, [Some(1), Some(2), None]);
    assert_eq!(entries[2].url, "http://a.example/ä");
    assert!(truncated);
    let [MetaError::Line { line: 3, text }, MetaError::TooLong { line: 4, .. }] = &errors[..] else {
        panic!("{errors:?}")
    };
    assert_eq!(text, "no line");
    assert!(!read(b"").2 && !read(format!("{ECONOMIST_MD5} {ECONOMIST}\n").as_bytes()).2);
}

// ---- where files are

#[test]
fn places_are_the_documented_ones() {
    let (day, page, other) = (date!(2008 - 11 - 05), UrlHash::parse(ECONOMIST_MD5).unwrap(), UrlHash::of("x"));
    let places = [
        (StorePath::DayMeta { day }, "2008/11/05/META".to_owned()),
        (StorePath::Page { day, page }, format!("2008/11/05/{ECONOMIST_MD5}/contents.html")),
        (StorePath::FeedMeta { day, feed: page }, format!("2008/11/05/{ECONOMIST_MD5}/META")),
        (
            StorePath::Article { day, feed: page, article: other },
            format!("2008/11/05/{ECONOMIST_MD5}/9dd4e461268c8034f5c8564e155c67a6/contents.html"),
        ),
    ];
    for (place, path) in places {
        assert_eq!(place.path(), path);
        assert_eq!(StorePath::parse(&path), Some(place));
        // As the original program wrote it.
        assert_eq!(StorePath::parse(&path.replace("/05/", "/5/")), Some(place));
        assert_eq!(StorePath::parse(&format!("{path}/x")), None);
        assert_eq!(StorePath::parse(&format!("/{path}")), None);
    }
    for path in
        ["", "META", "2008/11/META", "2008/11/05", "2008/11/05/", "2008/11/05/META.tmp", "2008/11/05/x/contents.html"]
    {
        assert_eq!(StorePath::parse(path), None, "{path}");
    }
}

#[test]
fn days_have_one_digit_or_two() {
    for (year, month, number) in [("2008", "1", "2"), ("2008", "01", "02"), ("2008", "01", "2")] {
        assert_eq!(day(year, month, number), Some(date!(2008 - 01 - 02)));
    }
    assert_eq!(day("2008", "2", "29"), Some(date!(2008 - 02 - 29)));
    for (year, month, number) in [
        ("2009", "2", "29"),
        ("2008", "13", "1"),
        ("2008", "0", "1"),
        ("2008", "1", "32"),
        ("2008", "1", "0"),
        ("2008", "001", "1"),
        ("2008", "+1", "1"),
        ("08", "1", "1"),
        ("20080", "1", "1"),
        ("", "", ""),
    ] {
        assert_eq!(day(year, month, number), None, "{year}/{month}/{number}");
    }
    assert_eq!(day_of(0), date!(1970 - 01 - 01));
    assert_eq!(day_of(1_226_707_199_999), date!(2008 - 11 - 14));
    assert_eq!(day_of(1_226_707_200_000), date!(2008 - 11 - 15));
    assert_eq!(day_path(day_of(u64::MAX)), "9999/12/31");
}

// ---- pages

#[test]
fn a_record_is_a_page_of_its_day() {
    let entry = MetaEntry::new(ECONOMIST, details(180, PageKind::Url, "en"));
    let contents = Bytes::from_static(b"<!DOCTYPE html><title>x</title>\xff");
    let record = PagestoreRecord { day: date!(2008 - 11 - 15), entry, contents: contents.clone() };
    let page = record.clone().into_event();
    assert_eq!((&page.url[..], &page.final_url[..], page.ended_ms), (ECONOMIST, ECONOMIST, 1_226_707_200_000));
    assert_eq!(page.response().unwrap().body, contents);
    assert!(page.relevance.is_relevant && stores_event(&page));
    assert_eq!(page.id, record.into_event().id);
}

#[test]
fn only_pages_with_a_2xx_answer_are_held() {
    let with = |status: u16| {
        let mut page = PageEvent::empty("http://a.example/");
        let Outcome::Response(response) = &mut page.outcome else { unreachable!() };
        response.status = status;
        page
    };
    let held: Vec<_> = (100..600).filter(|status| stores_event(&with(*status))).collect();
    assert_eq!(held, (200..300).collect::<Vec<_>>());
    let mut sitemap = with(200);
    sitemap.kind = Kind::Sitemap;
    let mut failed = with(200);
    failed.outcome = Outcome::Failure(Failure { reason: FailureReason::Dns, message: "no such name".into() });
    assert!(!stores_event(&sitemap) && !stores_event(&failed));
}

// ---- anything

fn any_details() -> impl Strategy<Value = Option<Details>> {
    let kind = prop_oneof![Just(PageKind::Url), Just(PageKind::Rss), Just(PageKind::RssItem)];
    let language = prop::option::of("[a-zA-Z]{2,3}(-[A-Z]{2})?".prop_filter("stands for none", |it| it != "und"));
    prop::option::of((any::<u64>(), kind, language).prop_map(|(id, kind, language)| Details { id, kind, language }))
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(lines in prop::collection::vec(("\\PC{0,30}|.{0,30}|[ a-z0-9]{0,20}", any_details()), 0..20)) {
        let entries: Vec<_> =
            lines.into_iter().map(|(url, details)| MetaEntry::new(&format!("http:{url}"), details)).collect();
        let file: String = entries.iter().map(line).collect();
        let (back, errors, truncated) = read(file.as_bytes());
        prop_assert!(errors.is_empty() && !truncated, "{:?}", errors);
        prop_assert_eq!(back, entries);
    }

    #[test]
    fn urls_that_others_wrote_with_blanks_are_read_by_their_hash(url in "[ a-z0-9:/]{1,40}", details in any_details()) {
        prop_assume!(!url.trim().is_empty());
        let tail = details.as_ref().map(|it| format!(" {} {} {}", it.id, it.kind.name(), it.language.as_deref().unwrap_or("und")));
        let entry = MetaEntry::parse(&format!("{} {url}{}\n", UrlHash::of(&url), tail.unwrap_or_default())).unwrap();
        prop_assert_eq!((entry.url, entry.details), (url, details));
    }

    #[test]
    fn any_bytes_are_taken(file in prop::collection::vec(any::<u8>(), 0..2000), path in ".{0,60}") {
        let (entries, errors, _) = read(&file);
        prop_assert!(entries.len() + errors.len() <= file.len());
        StorePath::parse(&path);
    }

    #[test]
    fn every_day_has_its_path(days in 0..3_652_000_i32) {
        let when = Date::from_ordinal_date(0, 1).unwrap() + time::Duration::days(days.into());
        let path = day_path(when);
        let parts: Vec<&str> = path.split('/').collect();
        prop_assert_eq!(day(parts[0], parts[1], parts[2]), Some(when));
    }
}

#[test]
fn hashes_are_names_of_folders() {
    let hashes: BTreeMap<_, _> = ["", "x", ECONOMIST].map(|url| (UrlHash::of(url).to_string(), url)).into();
    for (name, url) in &hashes {
        assert_eq!(UrlHash::parse(name), Some(UrlHash::of(url)));
        assert_eq!(UrlHash::parse(&name.to_uppercase()), Some(UrlHash::of(url)));
    }
    for name in ["", &"g".repeat(32), &"0".repeat(31), &"0".repeat(33), &"é".repeat(16)] {
        assert_eq!(UrlHash::parse(name), None, "{name}");
    }
}
