use std::io::Write;
use std::time::Instant;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use seine_parse::page::EpochMs;
use seine_parse::sitemap::{self, Incomplete, MAX_URLS};
use seine_parse::{date, url};

use crate::{NO_TIME, cases};

const AT: &str = "https://a.org/maps/sitemap.xml";

type Named = [(String, Option<EpochMs>)];

fn urls(named: &Named) -> Vec<String> {
    named.iter().map(|(url, _)| url.clone()).collect()
}

fn times(named: &Named) -> Vec<Option<EpochMs>> {
    named.iter().map(|(_, changed)| *changed).collect()
}

fn pages(body: impl AsRef<[u8]>) -> Vec<String> {
    urls(&sitemap::parse(body.as_ref(), None, AT, &[]).urls)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_urlset_in_all_its_shapes() {
    let body = r#"<?xml version="1.0" encoding="UTF-8"?>
        <!-- <url><loc>https://a.org/comment</loc></url> -->
        <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
          <url><loc>
             https://A.org/1?b=2&amp;a=1
          </loc><lastmod>2026-01-01</lastmod></url>
          <url><loc><![CDATA[https://a.org/2?x=1&y=2]]></loc>
             <image:image><image:loc>https://a.org/image.png</image:loc></image:image>
             <video:video><video:player_loc>https://a.org/player</video:player_loc></video:video>
             <xhtml:link rel="alternate" hreflang="de" href="https://a.org/de"/></url>
          <url><loc>https://a.org/1?a=1&#38;b=2</loc></url>
          <url><loc>relative</loc></url><url><loc>ftp://a.org/</loc></url><url><loc/></url><url/>
          <x:url xmlns:x="urn:wrong"><x:loc>https://a.org/3?a&b</x:loc></x:url>
          <loc>https://a.org/astray</loc>
        </urlset>"#;
    assert_eq!(pages(body), ["https://a.org/1?a=1&b=2", "https://a.org/2?x=1&y=2", "https://a.org/3?a&b"]);
    assert_eq!(sitemap::parse(body.as_bytes(), None, AT, &[]).incomplete, None);
}

#[test]
fn an_index_names_sitemaps_and_no_pages() {
    let body = "<sitemapindex><sitemap><loc>https://a.org/s1.xml.gz</loc></sitemap><sitemap><loc>https://a.org/s2.xml</loc></sitemap></sitemapindex>";
    let found = sitemap::parse(body.as_bytes(), Some("text/xml"), AT, &[]);
    assert_eq!(urls(&found.sitemaps), ["https://a.org/s1.xml.gz", "https://a.org/s2.xml"]);
    assert_eq!(found.urls, []);
}

#[test]
fn feeds_are_sitemaps() {
    let rss = "<rss><channel><link>https://a.org/</link>
        <item><guid>https://a.org/guid</guid><link>https://a.org/1?a=1&amp;b</link></item>
        <item><guid isPermaLink='false'>urn:1</guid><enclosure url='https://a.org/x.mp3'/></item>
        <item><guid isPermaLink='true'>https://a.org/2</guid></item></channel></rss>";
    assert_eq!(pages(rss), ["https://a.org/1?a=1&b", "https://a.org/2"]);
    let atom = "<feed><link href='https://a.org/'/>
        <entry><link rel='edit' href='/edit'/><link href='/plain'/><link rel='alternate' href='../3?a&amp;b'/></entry>
        <entry><link href='/4'/><source><link href='/source'/></source></entry></feed>";
    assert_eq!(pages(atom), ["https://a.org/3?a&b", "https://a.org/4"]);
    let based = "<feed xml:base='https://b.org/base/'><entry><link href='1'/></entry>
        <entry xml:base='https://c.org/'><link href='2'/></entry><entry><link href='/3'/></entry></feed>";
    assert_eq!(pages(based), ["https://b.org/base/1", "https://c.org/2", "https://b.org/3"]);
}

#[test]
fn plain_text_one_url_a_line() {
    let body = "\u{feff}https://a.org/1\r\n  HTTPS://a.org/2  \n\n# no\nnot a url\nhttps://a.org/1\n";
    assert_eq!(pages(body), ["https://a.org/1", "https://a.org/2"]);
    assert_eq!(pages("https://a.org/1\rhttps://a.org/2\r"), ["https://a.org/1", "https://a.org/2"]);
    assert_eq!(pages(b"\x00\x01\xff\xfe binary"), Vec::<String>::new());
}

#[test]
fn gzip_and_other_encodings() {
    let body = "<?xml version='1.0' encoding='ISO-8859-1'?><urlset><url><loc>https://a.org/\u{e4}</loc></url></urlset>";
    let latin1: Vec<u8> = body.chars().map(|c| c as u8).collect();
    let utf16: Vec<u8> = [0xfe, 0xff].into_iter().chain(body.encode_utf16().flat_map(u16::to_be_bytes)).collect();
    for bytes in [&latin1, &utf16, &utf16[2..].to_vec(), &gzip(&latin1)] {
        assert_eq!(pages(bytes), ["https://a.org/%C3%A4"]);
    }
    let by_header = sitemap::parse(body.as_bytes(), Some("text/xml; charset=\"utf-8\""), AT, &[]);
    assert_eq!(urls(&by_header.urls), ["https://a.org/%C3%A4"]);
}

#[test]
fn what_was_found_before_the_break_is_kept() {
    for (tail, why) in [
        ("<url><loc>https://a.org/2</lo", Incomplete::Malformed),
        ("</urlset></x></y>", Incomplete::Malformed),
        ("<![CDATA[ never closed", Incomplete::Malformed),
    ] {
        let found =
            sitemap::parse(format!("<urlset><url><loc>https://a.org/1</loc></url>{tail}").as_bytes(), None, AT, &[]);
        assert_eq!((urls(&found.urls), found.incomplete), (vec!["https://a.org/1".to_owned()], Some(why)), "{tail}");
    }
    let whole = gzip("https://a.org/1\nhttps://a.org/2\n".repeat(1000).as_bytes());
    let cut = sitemap::parse(&whole[..whole.len() - 12], None, AT, &[]);
    assert_eq!(cut.urls[0].0, "https://a.org/1");
    assert_eq!(cut.incomplete, Some(Incomplete::Malformed));
    assert_eq!(pages(b"<html><head><link href='/a'></head><body>Not found</body></html>"), Vec::<String>::new());
}

#[test]
fn hostile_sitemaps_are_bounded() {
    let start = Instant::now();
    let laughs = r#"<!DOCTYPE urlset [<!ENTITY a "https://a.org/"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;">]>
        <urlset><url><loc>&c;</loc></url><url><loc>https://a.org/1</loc></url></urlset>"#;
    assert_eq!(pages(laughs), ["https://a.org/1"]);

    let bomb = sitemap::parse(&gzip(&vec![b' '; sitemap::MAX_BYTES + (1 << 20)]), None, AT, &[]);
    assert_eq!(bomb.incomplete, Some(Incomplete::TooLarge));

    let deep = sitemap::parse("<urlset><url>".repeat(100_000).as_bytes(), None, AT, &[]);
    assert_eq!(deep.incomplete, Some(Incomplete::TooLarge));

    let attributes: String = (0..200_000).map(|i| format!(" a{i}='1'")).collect();
    assert_eq!(pages(format!("<feed><entry><link{attributes} href='/1'/></entry></feed>")), ["https://a.org/1"]);

    let long = format!("<urlset><url><loc>https://a.org/{}</loc></url></urlset>", "a&amp;".repeat(100_000));
    assert_eq!(pages(long), Vec::<String>::new());

    let many: String = (0..=MAX_URLS).map(|i| format!("https://a.org/{i}\n")).collect();
    let many = sitemap::parse(many.as_bytes(), None, AT, &[]);
    assert_eq!((many.urls.len(), many.incomplete), (MAX_URLS, Some(Incomplete::TooManyUrls)));
    assert!(start.elapsed() < NO_TIME, "{:?}", start.elapsed());
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn any_bytes_are_a_sitemap(bytes in prop::collection::vec(any::<u8>(), 0..200), text in "(<[/!?]?(url|loc|item|link|x)( href='a')?/?>|&amp;|&#x;|&|http://a|]]>){0,20}") {
        sitemap::parse(&bytes, None, AT, &[]);
        sitemap::parse(text.as_bytes(), Some("text/xml; charset=x"), AT, &[]);
    }

    #[test]
    fn what_is_written_is_read(names in prop::collection::btree_set("[a-z&<é ]{1,8}", 0..8)) {
        let urls: Vec<String> = names.iter().filter_map(|name| url::parse(&format!("https://a.org/x{name}x"))).collect();
        let entries: String = urls.iter().map(|url| format!("<url><loc>{}</loc></url>", url.replace('&', "&amp;"))).collect();
        prop_assert_eq!(pages(format!("<urlset>{entries}</urlset>")), urls);
    }
}

#[test]
fn a_sitemap_says_when_what_it_names_changed() {
    let day = 1_767_225_600_000; // 2026-01-01
    let body = "<urlset><url><loc>https://a.org/1</loc><lastmod>2026-01-01</lastmod></url>
        <url><lastmod> 2026-01-01T12:00:30.5+01:30 </lastmod><loc>https://a.org/2</loc></url>
        <url><loc>https://a.org/3</loc></url>
        <url><loc>https://a.org/1</loc><lastmod>2026-01-02</lastmod></url>
        <url><loc>relative</loc><lastmod>2026-01-03</lastmod></url>
        <url><loc>https://a.org/4</loc><lastmod>soon</lastmod><news:date>2026-01-01T01:00Z</news:date></url>
        <lastmod>2026-01-04</lastmod></urlset>";
    let found = sitemap::parse(body.as_bytes(), None, AT, &[]);
    assert_eq!(urls(&found.urls), ["https://a.org/1", "https://a.org/2", "https://a.org/3", "https://a.org/4"]);
    let noon = day + (10 * 60 + 30) * 60_000 + 30_500;
    assert_eq!(times(&found.urls), [Some(day), Some(noon), None, Some(day + 3_600_000)]);
    let index =
        "<sitemapindex><sitemap><loc>https://a.org/s1</loc><lastmod>2026-01-01</lastmod></sitemap></sitemapindex>";
    assert_eq!(times(&sitemap::parse(index.as_bytes(), None, AT, &[]).sitemaps), [Some(day)]);
    let atom = "<feed><updated>2026-02-01T00:00:00Z</updated><entry><updated>2026-01-01T00:00:00Z</updated>
        <published>2025-01-01T00:00:00Z</published><link href='https://a.org/5'/></entry></feed>";
    let rss = "<rss><item><link>https://a.org/6</link><pubDate>Thu, 01 Jan 2026 01:00:00 +0100</pubDate></item>
        <item><link>https://a.org/7</link></item>
        <item><pubDate>Thu, 01 Jan 2026 01:00:00 GMT</pubDate><link>https://a.org/8</link></item></rss>";
    assert_eq!(times(&sitemap::parse(atom.as_bytes(), None, AT, &[]).urls), [Some(day)]);
    assert_eq!(times(&sitemap::parse(rss.as_bytes(), None, AT, &[]).urls), [Some(day), None, Some(day + 3_600_000)]);
    assert_eq!(times(&sitemap::parse(b"https://a.org/8\nhttps://a.org/9", None, AT, &[]).urls), [None, None]);
}

#[test]
fn dates_are_read_in_every_form_that_is_one_and_in_no_other() {
    let at = |seconds: u64| Some(seconds * 1000);
    for (text, time) in [
        ("2026", at(1_767_225_600)),
        ("2026-11", at(1_793_491_200)),
        ("2026-11-22T17:39", at(1_795_369_140)),
        ("2026-11-22 17:39:19", at(1_795_369_159)),
        ("2026-11-22T17:39:19-0500", at(1_795_369_159 + 5 * 3600)),
        ("2026-11-22T17:39:60Z", at(1_795_369_199)),
        ("Sun, 22 Nov 2026 17:39:19 GMT", at(1_795_369_159)),
        ("Sun, 22 Nov 2026 17:39:19 EST", at(1_795_369_159 + 5 * 3600)),
        ("2026-11-22T17:39:19.25Z", Some(1_795_369_159_250)),
        ("2026-11-22T17:39:19.1234567Z", Some(1_795_369_159_123)),
        ("2026-11-22T17:39:19.xZ", None),
        ("1969-12-31", None),
        ("2026-02-30", None),
        ("2026-11-22T25:00Z", None),
        ("2026-11-22T17:39+99:00", None),
        ("2026-11-22T17:39Zulu", None),
        ("2026-11-22-01", None),
        ("22.11.2026", None),
        ("", None),
    ] {
        assert_eq!(date::parse(text), time, "{text}");
    }
}

proptest! {
    #![proptest_config(cases(2000))]

    /// For hostile text, too: never a panic, never an impossible time.
    #[test]
    fn any_text_is_a_date_or_none(text in "([0-9]{1,4}[-T: +.Z]{0,2}){0,8}|\\PC{0,40}|[-0-9A-Za-z:, +]{0,40}") {
        if let Some(time) = date::parse(&text) {
            prop_assert!(time < 253_402_300_800_000 + 2 * 86_400_000, "{} {}", text, time);
        }
    }

    #[test]
    fn what_is_written_is_what_is_read(seconds in 0..253_402_300_000_u64, hours in -14..=14_i8) {
        let offset = time::UtcOffset::from_hms(hours, 0, 0).unwrap();
        let time = time::OffsetDateTime::from_unix_timestamp(seconds as i64).unwrap();
        prop_assume!(time.checked_to_offset(offset).is_some_and(|time| (0..=9999).contains(&time.year())));
        let written = time.to_offset(offset).format(&time::format_description::well_known::Rfc3339).unwrap();
        prop_assert_eq!(date::parse(&written), Some(seconds * 1000), "{}", written);
    }
}
