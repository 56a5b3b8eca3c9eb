//! URLs and what decides about them: normalisation, robots.txt, sitemaps, the scope of a crawl.

use std::io::Write;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use seine::config::{ScopeConfig, ScopeRule};
use seine::frontier::scope::{Scope, ScopeError, Verdict};
use seine::parse::robots::RobotsTxt;
use seine::parse::sitemap::{self, Incomplete, MAX_URLS};
use seine::parse::url;
use url_crate::Url;

extern crate url as url_crate;

/// Hostile input must not cost more than reading it; generous, for a debug build on a busy machine.
const NO_TIME: Duration = Duration::from_secs(30);

// ---- URLs ----

fn assert_normal(input: &str, expected: &str) {
    assert_eq!(url::parse(input).as_deref(), Some(expected), "{input:?}");
}

/// As a seed, as an absolute link, and as an absolute path.
fn assert_normal_everywhere(input: &str, expected: &str) {
    assert_normal(input, expected);
    let base = Url::parse("http://a.org/base").unwrap();
    assert_eq!(url::resolve(&base, input).as_deref(), Some(expected), "{input:?}");
    if let Some(path) = input.strip_prefix("http://a.org") {
        assert_eq!(url::resolve(&base, path).as_deref(), Some(expected), "{path:?}");
    }
}

#[test]
fn each_rule_of_the_profile() {
    let cases = [
        ("HTTP://EXAMPLE.com", "http://example.com/"),
        ("http://user:pass@example.com/", "http://example.com/"),
        ("http://EXÄMPLE.org./", "http://xn--exmple-cua.org/"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://[2001:DB8:0::1]:8080/", "http://[2001:db8::1]:8080/"),
        ("https://example.com:443/", "https://example.com/"),
        ("https://example.com:80/", "https://example.com:80/"),
        ("http://a.org//b/./c/%2e%2e/d", "http://a.org/b/d"),
        ("http://a.org/../..", "http://a.org/"),
        ("http://a.org/b/../c", "http://a.org/c"),
        ("http://a.org/./b.c/.d", "http://a.org/b.c/.d"),
        ("http://a.org/b'?c='", "http://a.org/b'?c=%27"),
        ("http://a..b/", "http://a..b/"),
        ("http://a.org/b//", "http://a.org/b/"),
        ("http://a.org/b;jsessionid=1A?c", "http://a.org/b?c"),
        ("http://a.org/b;v=1;JSESSIONID=1;w", "http://a.org/b;v=1;w"),
        ("http://a.org/b/;jsession%69d=1/c", "http://a.org/b/c"),
        ("http://a.org/?b=2&a=1&&=x&b=1&", "http://a.org/?a=1&b=2&b=1"),
        ("http://a.org/?b=", "http://a.org/?b"),
        ("http://a.org/?", "http://a.org/"),
        ("http://a.org/?PHPSESSID=1&sid=2&a", "http://a.org/?a"),
        ("http://a.org/?sid=2", "http://a.org/"),
        ("http://a.org/?q=a+b%20c", "http://a.org/?q=a+b%20c"),
        ("http://a.org/%7eb/[c]|", "http://a.org/~b/%5Bc%5D%7C"),
        ("http://a.org/%2f%zz%", "http://a.org/%2F%25zz%25"),
        ("http://a.org/%2%35", "http://a.org/%2525"),
        ("http://a.org/ä?ö={1}", "http://a.org/%C3%A4?%C3%B6=%7B1%7D"),
        ("http://a.org/b#c", "http://a.org/b"),
    ];
    for (input, expected) in cases {
        assert_normal_everywhere(input, expected);
    }
}

#[test]
fn a_session_id_taken_out_never_makes_a_dot_segment() {
    assert_normal("http://a.org/b/..;jsessionid=1/c", "http://a.org/b/..;jsessionid=1/c");
}

#[test]
fn seeds_may_lack_a_scheme() {
    assert_normal(" example.com ", "http://example.com/");
    assert_normal("example.com:8080/a", "http://example.com:8080/a");
    assert_normal("localhost:8080", "http://localhost:8080/");
    assert_normal("//example.com/a?b:c", "http://example.com/a?b:c");
    assert_normal("bücher.example", "http://xn--bcher-kva.example/");
}

#[test]
fn what_cannot_be_fetched_is_none() {
    let cases = [
        "",
        "/path",
        "?q",
        "#f",
        "mailto:a@example.com",
        "javascript:void(0)",
        "ftp://example.com/",
        "file:///etc/passwd",
        "data:text/html,x",
        "http://",
        "http:////",
        "http://a b/",
        "http://example%2Xcom/",
        "http://1.2.3.256/",
        "http://example.com:65536/",
        "http://example.com../",
        "http://./",
    ];
    for input in cases {
        assert_eq!(url::parse(input), None, "{input:?}");
    }
}

#[test]
fn a_url_is_refused_for_its_normalised_length() {
    let path = "a".repeat(url::MAX_URL_BYTES - "http://a.org/".len());
    assert!(url::parse(&format!("http://a.org/{path}#fragment")).is_some());
    assert_eq!(url::parse(&format!("http://a.org/{path}a")), None);
    assert_eq!(url::parse(&format!("http://a.org/{}", "ä".repeat(1000))), None);
    let base = Url::parse("http://a.org/").unwrap();
    assert!(url::resolve(&base, &format!("/{path}")).is_some());
    assert_eq!(url::resolve(&base, &format!("/{path}a")), None);
    assert_eq!(url::resolve(&base, &format!("/b/{}..", "../".repeat(100_000))), None);
}

#[test]
fn links_are_resolved_as_browsers_do() {
    let base = Url::parse("https://user@Example.org:8443/a/b?c#d").unwrap();
    let cases = [
        ("e", "https://example.org:8443/a/e"),
        (" \n../e ", "https://example.org:8443/e"),
        ("/e", "https://example.org:8443/e"),
        ("//e", "https://e/"),
        ("///e.org/f", "https://e.org/f"),
        ("\\\\e.org\\f", "https://e.org/f"),
        ("?q", "https://example.org:8443/a/b?q"),
        ("", "https://example.org:8443/a/b?c"),
        ("#f", "https://example.org:8443/a/b?c"),
        ("http://e.org", "http://e.org/"),
        ("/e\n/f", "https://example.org:8443/e/f"),
        ("https:e", "https://example.org:8443/a/e"),
    ];
    for (href, expected) in cases {
        assert_eq!(url::resolve(&base, href).as_deref(), Some(expected), "{href:?}");
    }
    assert_eq!(url::resolve(&base, "mailto:a@b"), None);
    let opaque = Url::parse("data:text/html,x").unwrap();
    assert_eq!(url::resolve(&opaque, "/a"), None);
}

#[test]
fn parts_of_a_normalised_url() {
    assert_eq!(url::origin("https://a.org:8/b?c"), Some("https://a.org:8"));
    assert_eq!(url::origin("ftp://a.org/"), None);
    assert_eq!(url::host("https://a.org:8/b"), Some("a.org"));
    assert_eq!(url::host("http://[::1]:8/"), Some("[::1]"));
    assert_eq!(url::path_and_query("https://a.org/b?c"), "/b?c");
    for (host, domain) in [
        ("www.news.example.co.uk", "example.co.uk"),
        ("a.someone.github.io", "someone.github.io"),
        ("com", "com"),
        ("co.uk", "co.uk"),
        ("127.0.0.1", "127.0.0.1"),
        ("[::1]", "[::1]"),
        ("a.intranet", "a.intranet"),
        ("localhost", "localhost"),
        ("www.xn--bcher-kva.de", "xn--bcher-kva.de"),
    ] {
        assert_eq!(url::registrable_domain(host), domain, "{host}");
    }
}

const ORIGINS: &[&str] = &[
    "",
    "",
    "http://a.org",
    "https://a.org:443",
    "http://u:p@b.org:8",
    "//c.org",
    "HTTP://A.org",
    "http://a.org.",
    "http://a..b",
    "http://127.1",
    "http://a.1",
    "http://0x7f.0xg",
    "http://[::1]:80",
    "https://xn--bcher-kva.de",
    "http://xn--a",
    "http://ü.de",
    "http://a_b.c",
    "http://-a.b",
    "http:",
    "https:d",
    "http:///e.org",
    "mailto:f",
    "http://%61.org",
    "http://a.org\t",
];

const TAILS: &[&str] = &[
    "/",
    "/",
    "/",
    "?",
    "&",
    "=",
    "a",
    "B",
    "1",
    "é",
    ".",
    "..",
    "%2e",
    "%2E.",
    "\\",
    "%7E",
    "%2f",
    "%C3",
    "%",
    "%4",
    "b=1",
    "a=",
    "sid=1",
    "SID",
    ";",
    ";jsessionid=1",
    "jsession%69d=2",
    "#",
    "[",
    "]",
    "|",
    "^",
    "`",
    "{",
    "'",
    "\"",
    "<",
    "~",
    "!",
    "$",
    "*",
    ":",
    "@",
    "+",
    ",",
    " ",
    "\n",
    "\u{7f}",
    "-",
    "_",
];

/// References made of an origin and of the pieces that matter behind it, in any order; and arbitrary text.
fn reference() -> impl Strategy<Value = String> {
    let tail = prop::collection::vec(prop::sample::select(TAILS), 0..10).prop_map(|pieces| pieces.concat());
    let built = (prop::sample::select(ORIGINS), prop::sample::select(&["", "/", "/x", "?"][..]), tail);
    prop_oneof![
        9 => built.prop_map(|(origin, start, tail)| [origin, start, &tail].concat()),
        1 => any::<String>(),
    ]
}

/// The same cases every time.
fn cases(number: u32) -> ProptestConfig {
    let (rng_seed, failure_persistence) = (RngSeed::Fixed(1), None);
    ProptestConfig { rng_seed, failure_persistence, ..ProptestConfig::with_cases(number) }
}

fn assert_is_normal(url: &str) {
    assert!(url.is_ascii() && url.len() <= url::MAX_URL_BYTES, "{url}");
    assert_eq!(url::parse(url).as_deref(), Some(url));
    let parsed = Url::parse(url).unwrap();
    assert_eq!(url::normalize(&parsed).as_deref(), Some(url));
    assert_eq!(parsed.host_str(), url::host(url));
    assert_eq!(parsed.origin().ascii_serialization(), url::origin(url).unwrap());
    assert_eq!(url::resolve(&parsed, url).as_deref(), Some(url));
    assert_eq!(url::resolve(&parsed, url::path_and_query(url)).as_deref(), Some(url));
    assert!(url::host(url).unwrap().ends_with(url::registrable_domain(url::host(url).unwrap())));
}

proptest! {
    #![proptest_config(cases(10_000))]

    #[test]
    fn a_normalised_url_is_a_fixed_point(text in reference()) {
        if let Some(url) = url::parse(&text) {
            assert_is_normal(&url);
        }
    }

    /// The short way for links in normal form gives what the long way gives.
    #[test]
    fn resolving_is_joining_and_normalising(base in reference(), href in reference()) {
        let Some(base) = url::parse(&base).and_then(|base| Url::parse(&base).ok()) else { return Ok(()) };
        let long_way = url::join(&base, &href).and_then(|url| url::normalize(&url));
        prop_assert_eq!(url::resolve(&base, &href), long_way.clone());
        if let Some(url) = long_way {
            assert_is_normal(&url);
        }
    }
}

// ---- robots.txt ----

fn allows(robots: &str, path: &str) -> bool {
    RobotsTxt::parse(robots.as_bytes(), "Seine").allows(path)
}

#[test]
fn the_longest_rule_wins_and_allow_wins_ties() {
    let robots = "User-agent: *\nDisallow: /a\nAllow: /a/b\nDisallow: /a/b/c\nDisallow: /x\nAllow: /x\n";
    for (path, allowed) in [("/", true), ("/a", false), ("/ab", false), ("/a/b", true), ("/a/b/c", false), ("/x", true)]
    {
        assert_eq!(allows(robots, path), allowed, "{path}");
    }
}

#[test]
fn wildcards_and_the_end() {
    let robots = "User-agent: *\nDisallow: /*.php$\nDisallow: /a*b*c\nDisallow: /$\nDisallow: /end*$\n";
    for (path, allowed) in [
        ("/x.php", false),
        ("/x.php?q", true),
        ("/x.php/y.php", false),
        ("/abc", false),
        ("/a-b-cd", false),
        ("/acb", true),
        ("/", false),
        ("/b", true),
        ("/ending", false),
    ] {
        assert_eq!(allows(robots, path), allowed, "{path}");
    }
}

#[test]
fn own_groups_are_merged_and_replace_the_common_ones() {
    let robots = "User-agent: seine\nDisallow: /a\n\nUser-agent: *\nDisallow: /\n\nUser-Agent: other\nuser-agent: SEINE/2.0\nDisallow: /b\n";
    for (path, allowed) in [("/a", false), ("/b", false), ("/c", true)] {
        assert_eq!(allows(robots, path), allowed, "{path}");
    }
    assert!(allows("User-agent: Seiner\nDisallow: /\n", "/"));
    assert!(!RobotsTxt::parse(b"User-agent: Seine\nDisallow: /", "Seine/1.0 (+https://a.org)").allows("/"));
    assert!(allows("User-agent: *\nDisallow: /\nUser-agent: seine\nDisallow:\n", "/"), "an empty group of one's own");
}

#[test]
fn other_records_do_not_part_user_agents() {
    assert!(!allows("User-agent: seine\nSitemap: http://a.org/s\nHost: a.org\nUser-agent: other\nDisallow: /\n", "/"));
    assert!(allows("User-agent: seine\nCrawl-delay: 1\nUser-agent: other\nDisallow: /\n", "/"));
}

#[test]
fn every_end_of_line_mark_and_misspelling() {
    for robots in [
        "\u{feff}User-agent: *\r\nDisallow: /a\r\n",
        "User-agent: *\rDisallow: /a",
        "  user-agent :*# all\n\tDISALLOW :/a # secret",
        "useragent: *\ndisalow: /a",
        "user-agent *\ndisallow /a",
    ] {
        assert!(!allows(robots, "/a"), "{robots:?}");
        assert!(allows(robots, "/b"), "{robots:?}");
    }
    assert!(allows("Disallow: /a\nUser-agent: *\n", "/a"), "rules before any group");
    assert!(allows("<html><body>Not found: /a</body></html>", "/a"));
}

#[test]
fn percent_encoding_is_one_spelling_on_both_sides() {
    let robots = "User-agent: *\nDisallow: /ä\nDisallow: /%7eb\nDisallow: /c%2fd\nDisallow: /%2a\nDisallow: /e%24\nDisallow: /q'\n";
    for (path, allowed) in [
        ("/%C3%A4", false),
        ("/%c3%a4x", false),
        ("/~b", false),
        ("/c%2Fd", false),
        ("/c/d", true),
        ("/*", false),
        ("/x", true),
        ("/e$f", false),
        ("/q%27", false),
    ] {
        assert_eq!(allows(robots, path), allowed, "{path}");
    }
}

#[test]
fn robots_txt_itself_is_always_allowed() {
    assert!(allows("User-agent: *\nDisallow: /\n", "/robots.txt"));
    assert!(!allows("User-agent: *\nDisallow: /\n", "/robots.txt2"));
}

#[test]
fn delays_and_sitemaps() {
    let robots = b"Sitemap: https://a.org/1.xml\nUser-agent: seine\nCrawl-delay: 0.5\nCrawl-delay: 1.25\nsite-map: /2.xml\nUser-agent: *\nCrawl-delay: 9\n";
    let robots = RobotsTxt::parse(robots, "seine");
    assert_eq!(robots.crawl_delay(), Some(Duration::from_millis(1250)));
    assert_eq!(robots.sitemaps(), ["https://a.org/1.xml", "/2.xml"]);
    for nonsense in ["-1", "NaN", "inf", "1e300", "ten", "", "1 s"] {
        let robots = RobotsTxt::parse(format!("User-agent: *\nCrawl-delay: {nonsense}\n").as_bytes(), "seine");
        assert_eq!(robots.crawl_delay(), None, "{nonsense:?}");
    }
}

#[test]
fn only_whole_lines_of_the_first_500_kib_count() {
    let head = "User-agent: *\nDisallow: /early\n";
    let filler = "#".repeat(500 * 1024 - head.len() - "\nDisallow: /".len());
    let robots = format!("{head}{filler}\nDisallow: /secret\nDisallow: /late\n");
    assert!(!allows(&robots, "/early"));
    assert!(allows(&robots, "/other"), "the cut line must not become `Disallow: /`");
    assert!(allows(&robots, "/late"));
}

#[test]
fn hostile_wildcards_take_linear_time() {
    let stars = format!("User-agent: *\nDisallow: /{}b$\n", "*a".repeat(200_000));
    let many = format!("User-agent: *\n{}", "Disallow: /*a*a*a*a*b\n".repeat(20_000));
    let path = format!("/{}", "a".repeat(4000));
    let start = Instant::now();
    assert!(allows(&stars, &path));
    assert!(allows(&many, &path));
    assert!(start.elapsed() < NO_TIME, "{:?}", start.elapsed());
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn any_bytes_are_a_robots_txt(bytes in prop::collection::vec(any::<u8>(), 0..300), path in any::<String>()) {
        RobotsTxt::parse(&bytes, "seine").allows(&path);
    }

    /// A rule without wildcards is a prefix, however either side is encoded.
    #[test]
    fn a_plain_rule_is_a_prefix(rule in "/[a-c/]{0,4}", path in "/[a-c/]{0,8}") {
        let robots = format!("User-agent: *\nDisallow: {rule}\n");
        let encoded: String = path.bytes().map(|b| if b == b'/' { "/".into() } else { format!("%{b:02x}") }).collect();
        prop_assert_eq!(allows(&robots, &path), !path.starts_with(&rule));
        prop_assert_eq!(allows(&robots, &encoded), !path.starts_with(&rule));
    }
}

// ---- Sitemaps ----

const AT: &str = "https://a.org/maps/sitemap.xml";

fn pages(body: impl AsRef<[u8]>) -> Vec<String> {
    sitemap::parse(body.as_ref(), None, AT).urls
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
    assert_eq!(sitemap::parse(body.as_bytes(), None, AT).incomplete, None);
}

#[test]
fn an_index_names_sitemaps_and_no_pages() {
    let body = "<sitemapindex><sitemap><loc>https://a.org/s1.xml.gz</loc></sitemap><sitemap><loc>https://a.org/s2.xml</loc></sitemap></sitemapindex>";
    let found = sitemap::parse(body.as_bytes(), Some("text/xml"), AT);
    assert_eq!(found.sitemaps, ["https://a.org/s1.xml.gz", "https://a.org/s2.xml"]);
    assert_eq!(found.urls, Vec::<String>::new());
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
}

#[test]
fn plain_text_one_url_a_line() {
    let body = "\u{feff}https://a.org/1\r\n  HTTPS://a.org/2  \n\n# no\nnot a url\nhttps://a.org/1\n";
    assert_eq!(pages(body), ["https://a.org/1", "https://a.org/2"]);
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
    let by_header = sitemap::parse(body.as_bytes(), Some("text/xml; charset=\"utf-8\""), AT);
    assert_eq!(by_header.urls, ["https://a.org/%C3%A4"]);
}

#[test]
fn what_was_found_before_the_break_is_kept() {
    for (tail, why) in [
        ("<url><loc>https://a.org/2</lo", Incomplete::Malformed),
        ("</urlset></x></y>", Incomplete::Malformed),
        ("<![CDATA[ never closed", Incomplete::Malformed),
    ] {
        let found = sitemap::parse(format!("<urlset><url><loc>https://a.org/1</loc></url>{tail}").as_bytes(), None, AT);
        assert_eq!((found.urls, found.incomplete), (vec!["https://a.org/1".to_owned()], Some(why)), "{tail}");
    }
    let whole = gzip("https://a.org/1\nhttps://a.org/2\n".repeat(1000).as_bytes());
    let cut = sitemap::parse(&whole[..whole.len() - 12], None, AT);
    assert_eq!(cut.urls[0], "https://a.org/1");
    assert_eq!(cut.incomplete, Some(Incomplete::Malformed));
    assert_eq!(pages(b"<html><head><link href='/a'></head><body>Not found</body></html>"), Vec::<String>::new());
}

#[test]
fn hostile_sitemaps_are_bounded() {
    let start = Instant::now();
    let laughs = r#"<!DOCTYPE urlset [<!ENTITY a "https://a.org/"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;">]>
        <urlset><url><loc>&c;</loc></url><url><loc>https://a.org/1</loc></url></urlset>"#;
    assert_eq!(pages(laughs), ["https://a.org/1"]);

    let bomb = sitemap::parse(&gzip(&vec![b' '; sitemap::MAX_BYTES + (1 << 20)]), None, AT);
    assert_eq!(bomb.incomplete, Some(Incomplete::TooLarge));

    let deep = sitemap::parse("<urlset><url>".repeat(100_000).as_bytes(), None, AT);
    assert_eq!(deep.incomplete, Some(Incomplete::TooLarge));

    let attributes: String = (0..200_000).map(|i| format!(" a{i}='1'")).collect();
    assert_eq!(pages(format!("<feed><entry><link{attributes} href='/1'/></entry></feed>")), ["https://a.org/1"]);

    let long = format!("<urlset><url><loc>https://a.org/{}</loc></url></urlset>", "a&amp;".repeat(100_000));
    assert_eq!(pages(long), Vec::<String>::new());

    let many: String = (0..=MAX_URLS).map(|i| format!("https://a.org/{i}\n")).collect();
    let many = sitemap::parse(many.as_bytes(), None, AT);
    assert_eq!((many.urls.len(), many.incomplete), (MAX_URLS, Some(Incomplete::TooManyUrls)));
    assert!(start.elapsed() < NO_TIME, "{:?}", start.elapsed());
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn any_bytes_are_a_sitemap(bytes in prop::collection::vec(any::<u8>(), 0..200), text in "(<[/!?]?(url|loc|item|link|x)( href='a')?/?>|&amp;|&#x;|&|http://a|]]>){0,20}") {
        sitemap::parse(&bytes, None, AT);
        sitemap::parse(text.as_bytes(), Some("text/xml; charset=x"), AT);
    }

    #[test]
    fn what_is_written_is_read(names in prop::collection::btree_set("[a-z&<é ]{1,8}", 0..8)) {
        let urls: Vec<String> = names.iter().filter_map(|name| url::parse(&format!("https://a.org/x{name}x"))).collect();
        let entries: String = urls.iter().map(|url| format!("<url><loc>{}</loc></url>", url.replace('&', "&amp;"))).collect();
        prop_assert_eq!(pages(format!("<urlset>{entries}</urlset>")), urls);
    }
}

// ---- Scope ----

fn config(rule: ScopeRule) -> ScopeConfig {
    ScopeConfig { rule, ..ScopeConfig::default() }
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| text.to_string()).collect()
}

#[test]
fn the_host_rule_compares_names() {
    let seeds = texts(&["https://www.example.co.uk:8443/start", "127.0.0.1:8080"]);
    let with_host = ScopeConfig { hosts: texts(&["Bücher.example"]), ..config(ScopeRule::Host) };
    let host = Scope::new(&with_host, &seeds).unwrap();
    let domain = Scope::new(&config(ScopeRule::Domain), &seeds).unwrap();
    let any = Scope::new(&config(ScopeRule::Any), &seeds).unwrap();
    for (url, by_host, by_domain) in [
        ("http://www.example.co.uk/", true, true),
        ("http://example.co.uk/a", false, true),
        ("http://a.b.example.co.uk/a", false, true),
        ("http://other.co.uk/", false, false),
        ("http://127.0.0.1/", true, true),
        ("http://xn--bcher-kva.example/", true, false),
    ] {
        assert_eq!(host.admits(url), by_host, "{url}");
        assert_eq!(domain.admits(url), by_domain, "{url}");
        assert!(any.admits(url), "{url}");
    }
    assert_eq!(host.why("http://other.co.uk/"), Verdict::OtherHost);
    assert_eq!(any.why("ftp://a.org/"), Verdict::NotAUrl);
}

#[test]
fn patterns_match_the_whole_url_without_case() {
    let config = ScopeConfig {
        allow: texts(&[r"https?://a\.org/.*", "", r"http:\/\/b\.org\/[a-z]+"]),
        deny: texts(&[r".*\.pdf", r"https?://a\.org/private/.*"]),
        ..config(ScopeRule::Any)
    };
    let scope = Scope::new(&config, &[]).unwrap();
    for (url, verdict) in [
        ("http://a.org/X", Verdict::Admitted),
        ("http://b.org/ABC", Verdict::Admitted),
        ("http://b.org/abc1", Verdict::NotAllowed { list: "scope.allow" }),
        ("http://a.org/x.PDF", Verdict::Denied { list: "scope.deny", pattern: r".*\.pdf" }),
        ("http://a.org/x.pdf?1", Verdict::Admitted),
        ("http://a.org/private/x", Verdict::Denied { list: "scope.deny", pattern: r"https?://a\.org/private/.*" }),
    ] {
        assert_eq!(scope.why(url), verdict, "{url}");
        assert_eq!(scope.admits(url), verdict == Verdict::Admitted, "{url}");
    }
}

#[test]
fn link_filters_of_ache() {
    let filters = r#"
global:
  blacklist: ["*bad*", "*(1)*"]
www.Example1.com:
  type: wildcard
  whitelist:
    - http://www.example1.com/*allowed*
  blacklist:
    - http://www.example1.com/*disallowed*.html
shop.example1.com:
  whitelist: ["http://shop.example1.com/*"]
example2.com:
  type: regex
  whitelist:
    - http:\/\/www\.example2\.com\/allowed[0-9]+\.html
  blacklist:
"#;
    let config = ScopeConfig { link_filters: Some(filters.into()), ..config(ScopeRule::Any) };
    let scope = Scope::new(&config, &[]).unwrap();
    for (url, admitted) in [
        ("http://www.example1.com/allowed1", true),
        ("http://www.example1.com/ALLOWED1", false),
        ("http://www.example1.com/disallowed.html", false),
        ("http://www.example1.com/other", false),
        ("http://shop.example1.com/other", true),
        ("http://www.example2.com/Allowed1.HTML", true),
        ("http://www.example2.com/allowed1.html?q", false),
        ("http://elsewhere.org/", true),
        ("http://elsewhere.org/bad", false),
        ("http://elsewhere.org/(1)", false),
        ("http://www.example1.com/allowed-bad", false),
    ] {
        assert_eq!(scope.admits(url), admitted, "{url}");
    }
    let denied = Verdict::Denied { list: "link filters, global, blacklist", pattern: "*bad*" };
    assert_eq!(scope.why("http://elsewhere.org/bad"), denied);
    assert_eq!(
        scope.why("http://www.example1.com/other"),
        Verdict::NotAllowed { list: "link filters, example1.com, whitelist" }
    );
}

#[test]
fn errors_name_the_place() {
    let fails = |config: ScopeConfig, seeds: &[&str]| Scope::new(&config, &texts(seeds)).unwrap_err().to_string();
    let any = || config(ScopeRule::Any);
    let deny = |pattern: &str| fails(ScopeConfig { deny: texts(&[".*", "", pattern]), ..any() }, &[]);
    let filters = |yaml: &str| fails(ScopeConfig { link_filters: Some(yaml.into()), ..any() }, &[]);
    for (message, parts) in [
        (deny("a("), vec!["scope.deny, pattern 3 \"a(\"", "unclosed group"]),
        (deny(")("), vec!["pattern 3 \")(\""]),
        (deny("(?=a)"), vec!["pattern 3", "look-around"]),
        (deny("((a{1000}){1000}){1000}"), vec!["pattern 3", "size"]),
        (filters("example.com:\n  whitelist: ['*']\n  type: glob\n"), vec!["example.com", "glob"]),
        (filters("example.com:\n  whitlist: ['*']\n"), vec!["example.com", "whitlist"]),
        (filters("a.org:\n  type: regex\n  blacklist: ['.*', '[']\n"), vec!["a.org, blacklist, pattern 2 \"[\""]),
        (filters("'':\n  type: regex\n"), vec!["neither global nor a host"]),
        (filters("a: [\n"), vec!["as YAML"]),
        (fails(any(), &["https://a.org", "mailto:a@b"]), vec!["mailto:a@b"]),
        (fails(ScopeConfig { hosts: texts(&["/a"]), ..any() }, &[]), vec!["scope.hosts", "/a"]),
    ] {
        for part in parts {
            assert!(message.contains(part), "{part} not in: {message}");
        }
    }
}

#[test]
fn a_later_run_without_seeds_keeps_the_scope() {
    let config = config(ScopeRule::Host);
    let first = Scope::new(&config, &texts(&["https://b.org/", "http://a.org:8080/x", "a.org"])).unwrap();
    assert_eq!(first.seed_hosts().collect::<Vec<_>>(), ["a.org", "b.org"]);
    let later = Scope::from_note(&config, &first.to_note(), &texts(&["c.org"])).unwrap();
    assert_eq!(later.seed_hosts().collect::<Vec<_>>(), ["a.org", "b.org", "c.org"]);
    assert!(later.admits("http://b.org/"));
    assert!(!first.admits("http://c.org/"));
    assert!(matches!(Scope::from_note(&config, "no", &[]), Err(ScopeError::Note(_))));
}
