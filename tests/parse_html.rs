//! Reading pages: content codings, charsets, links in one pass and by tree, what robots are told, hostile input.

use std::collections::HashSet;
use std::io::Write;
use std::time::{Duration, Instant};

use bytes::Bytes;
use proptest::prelude::*;
use seine::page::{Headers, HttpVersion, Kind, Outcome, PageEvent, Relevance, Response};
use seine::parse::decode::{DecodeProblem, Decoded, decode_body};
use seine::parse::html::{self, HtmlFacts, LinkSource, MAX_LINKS, parse_refresh};
use seine::parse::html_text::page_facts;
use seine::parse::html_tree::{Step, Tree};
use seine::parse::meta::{self, RobotsMeta};
use seine::parse::{DeriveOptions, Derived, charset, derive, derive_with_text, html_stream, link_header};
use sha2::{Digest, Sha256};

const AGENT: &str = "Seine";

// ---- Helpers ----

fn response(headers: &[(&str, &str)], body: impl Into<Bytes>) -> Response {
    let mut given = Headers::default();
    headers.iter().for_each(|(name, value)| given.push(*name, *value));
    Response {
        status: 200,
        reason: "OK".into(),
        version: HttpVersion::Http11,
        headers: given,
        body: body.into(),
        truncated: None,
    }
}

fn event(url: &str, response: Response) -> PageEvent {
    PageEvent {
        id: "0".repeat(32),
        url: url.into(),
        kind: Kind::Page,
        depth: 0,
        attempt: 0,
        method: "GET".into(),
        request_headers: Headers::default(),
        hops: Vec::new(),
        final_url: url.into(),
        ip: None,
        started_ms: 0,
        ended_ms: 0,
        outcome: Outcome::Response(response),
        relevance: Relevance::by_type(true),
        crawler_id: "test".into(),
    }
}

fn html_event(body: &str) -> PageEvent {
    event("https://site.example/dir/page", response(&[("content-type", "text/html; charset=utf-8")], body.to_owned()))
}

fn options() -> DeriveOptions {
    DeriveOptions { max_decoded_bytes: 1 << 20, obey_nofollow: true, agent: AGENT.into() }
}

fn urls(derived: &Derived) -> Vec<&str> {
    derived.links.iter().map(|link| link.url.as_str()).collect()
}

fn hrefs(facts: &HtmlFacts) -> Vec<&str> {
    facts.links.iter().map(|link| link.href.as_str()).collect()
}

fn read(page: &str) -> HtmlFacts {
    html::read(page, AGENT)
}

/// Each link once: the tree repeats those of elements that the standard clones.
fn once(mut facts: HtmlFacts) -> HtmlFacts {
    let mut seen = HashSet::new();
    facts.links.retain(|link| seen.insert(link.clone()));
    facts
}

fn by_stream(page: &str) -> Result<HtmlFacts, String> {
    html_stream::read(page, AGENT).map(once).map_err(|needs_tree| needs_tree.reason)
}

fn by_tree(page: &str) -> HtmlFacts {
    once(Tree::parse(page).facts(AGENT))
}

/// Both ways, which have to agree; the one pass must not give up.
fn read_both(page: &str) -> HtmlFacts {
    let facts = by_stream(page).unwrap_or_else(|reason| panic!("{reason}: {page}"));
    assert_eq!(facts, by_tree(page), "{page}");
    facts
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn zlib(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn raw_deflate(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn brotli(data: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    brotli::CompressorWriter::new(&mut out, 4096, 5, 20).write_all(data).unwrap();
    out
}

fn zstd(data: &[u8]) -> Vec<u8> {
    zstd::stream::encode_all(data, 3).unwrap()
}

fn decode(coding: &str, body: Vec<u8>, limit: u64) -> Decoded {
    decode_body(&response(&[("content-encoding", coding)], body), limit)
}

/// Text that compresses, but not to nothing.
fn sample_text() -> Vec<u8> {
    (0..20_000).flat_map(|n| format!("<a href=/{}>{n}</a>\n", n * 7919 % 100_003).into_bytes()).collect()
}

// ---- Content codings ----

#[test]
fn every_coding_is_taken_off() {
    let text = sample_text();
    let coded = [
        ("gzip", gzip(&text)),
        ("X-GZip", gzip(&text)),
        ("deflate", zlib(&text)),
        ("deflate", raw_deflate(&text)),
        ("br", brotli(&text)),
        (" zstd ", zstd(&text)),
        ("identity", text.clone()),
        ("", text.clone()),
    ];
    for (coding, body) in coded {
        let decoded = decode(coding, body, 1 << 20);
        assert_eq!(decoded.problem, None, "{coding}");
        assert_eq!(decoded.body, text, "{coding}");
    }
}

#[test]
fn several_codings_are_taken_off_last_first() {
    let text = sample_text();
    let body = brotli(&zlib(&gzip(&text)));
    let one_header = decode("gzip, identity ,deflate,br", body.clone(), 1 << 20);
    assert_eq!((one_header.problem, &one_header.body[..]), (None, &text[..]));
    let headers = [("Content-Encoding", "gzip"), ("content-encoding", "deflate, br")];
    assert_eq!(decode_body(&response(&headers, body), 1 << 20).body, text);

    let many = decode("gzip,gzip,gzip,gzip,gzip", text.clone(), 1 << 20);
    assert_eq!(many.problem, Some(DecodeProblem::TooMany { count: 5 }));
    assert_eq!(many.body, text);
}

#[test]
fn a_body_without_coding_is_not_copied() {
    let response = response(&[], sample_text());
    assert_eq!(decode_body(&response, 10).body.as_ptr(), response.body.as_ptr());
}

#[test]
fn gzip_members_follow_each_other_and_padding_is_ignored() {
    let mut body = gzip(b"one ");
    body.extend(gzip(b"two"));
    body.extend([0; 64]);
    let decoded = decode("gzip", body, 1 << 20);
    assert_eq!((decoded.problem, &decoded.body[..]), (None, &b"one two"[..]));
}

#[test]
fn what_breaks_off_is_kept_as_far_as_it_goes() {
    let text = sample_text();
    for (coding, mut body) in [
        ("gzip", gzip(&text)),
        ("deflate", zlib(&text)),
        ("deflate", raw_deflate(&text)),
        ("br", brotli(&text)),
        ("zstd", zstd(&text)),
    ] {
        body.truncate(body.len() * 2 / 3);
        let decoded = decode(coding, body, 1 << 20);
        assert!(
            matches!(decoded.problem, Some(DecodeProblem::Broken { kept, .. }) if kept == decoded.body.len()),
            "{coding}: {:?}",
            decoded.problem
        );
        assert!(text.starts_with(&decoded.body), "{coding}");
        assert!(decoded.body.len() > text.len() / 3, "{coding}: {}", decoded.body.len());
    }
}

#[test]
fn a_checksum_that_is_wrong_is_named_and_the_text_kept() {
    let mut body = gzip(b"<p>still a page");
    let checksum = body.len() - 8;
    body[checksum] ^= 0xff;
    let decoded = decode("gzip", body, 1 << 20);
    assert_eq!(decoded.body, "<p>still a page");
    assert!(matches!(decoded.problem, Some(DecodeProblem::Broken { coding: "gzip", .. })));
}

#[test]
fn a_bomb_stops_at_the_limit() {
    let zeros = vec![b' '; 30 << 20];
    for (coding, body) in
        [("gzip", gzip(&zeros)), ("deflate", zlib(&zeros)), ("br", brotli(&zeros)), ("zstd", zstd(&zeros))]
    {
        assert!(body.len() < 100_000);
        let decoded = decode(coding, body, 100_000);
        assert_eq!(decoded.body.len(), 100_000, "{coding}");
        assert!(matches!(decoded.problem, Some(DecodeProblem::OverLimit { limit: 100_000, .. })), "{coding}");
    }
    // A bomb within a bomb: the inner stage has the same limit.
    let decoded = decode("gzip, gzip", gzip(&gzip(&zeros)), 100_000);
    assert_eq!(decoded.body.len(), 100_000);
    // Exactly at the limit is not over it.
    assert_eq!(decode("gzip", gzip(&zeros[..1000]), 1000).problem, None);
}

#[test]
fn what_is_not_coded_as_declared_is_kept_as_received() {
    for coding in ["gzip", "deflate", "br", "zstd"] {
        let decoded = decode(coding, b"<!doctype html><a href=/x>plain</a>".to_vec(), 1 << 20);
        assert!(matches!(decoded.problem, Some(DecodeProblem::NotCoded { .. })), "{coding}: {:?}", decoded.problem);
        assert_eq!(decoded.body, "<!doctype html><a href=/x>plain</a>");
    }
    let unknown = decode("gzip, sdch", gzip(b"x"), 1 << 20);
    assert_eq!(unknown.problem, Some(DecodeProblem::Unknown { coding: "sdch".into() }));
    assert_eq!(unknown.body, gzip(b"x"));
    assert_eq!(decode("gzip", Vec::new(), 10), Decoded::default());
}

#[test]
fn a_zstd_window_beyond_the_webs_is_refused() {
    let mut encoder = zstd::stream::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(27).unwrap();
    encoder.write_all(&sample_text()).unwrap();
    let body = encoder.finish().unwrap();
    let decoded = decode("zstd", body, 1 << 20);
    assert!(
        matches!(decoded.problem, Some(DecodeProblem::Broken { coding: "zstd", kept: 0, .. })),
        "{:?}",
        decoded.problem
    );
    assert!(decoded.body.is_empty());
}

// ---- Charsets ----

fn charset_of(body: &[u8], content_type: &str) -> &'static str {
    charset::detect(body, Some(content_type)).name()
}

#[test]
fn charset_sources_are_trusted_in_the_standards_order() {
    let meta = b"<meta charset=koi8-r>\xd0\xd2";
    assert_eq!(charset_of(b"\xef\xbb\xbf<meta charset=koi8-r>", "text/html; charset=big5"), "UTF-8");
    assert_eq!(charset_of(b"\xff\xfe<\0", "text/html"), "UTF-16LE");
    assert_eq!(charset_of(meta, "text/html; charset=big5"), "Big5");
    assert_eq!(charset_of(meta, "text/html; foo=bar; CharSet='ISO-8859-2'"), "ISO-8859-2");
    assert_eq!(charset_of(meta, "text/html; charset=nonsense"), "KOI8-R");
    assert_eq!(charset_of(b"\xc3\xa9", "text/html"), "UTF-8");
    assert_eq!(charset_of(b"plain", "text/html"), "windows-1252");
    assert_eq!(charset::detect(b"caf\xe9 au lait, d\xe9j\xe0 vu, o\xf9 \xeates-vous", None).name(), "windows-1252");
}

#[test]
fn meta_prescan_follows_the_standard() {
    for (page, expected) in [
        ("<meta http-equiv=Content-Type content='text/html; charset=Shift_JIS'>", "Shift_JIS"),
        ("<meta content='charset=Shift_JIS' http-equiv=Content-Type>", "Shift_JIS"),
        ("<meta content='text/html; charset=Shift_JIS'>", "windows-1252"),
        ("<!-- <meta charset=koi8-r> --><meta charset=gbk>", "GBK"),
        ("<!--><meta charset=gbk>", "GBK"),
        ("<a title='<meta charset=koi8-r>'><meta charset=gbk>", "GBK"),
        ("<meta charset=bogus><META/CHARSET='gbk'>", "GBK"),
        ("<meta charset=utf-16>", "UTF-8"),
        ("<meta charset=x-user-defined>", "windows-1252"),
        ("<meta charset=gbk charset=koi8-r>", "GBK"),
        ("<meta charset=gbk", "windows-1252"),
        ("<?xml version='1.0' encoding='koi8-r'?><html>", "KOI8-R"),
        ("<metadata charset=gbk>", "windows-1252"),
    ] {
        assert_eq!(charset_of(page.as_bytes(), "text/html"), expected, "{page}");
    }
    let late = format!("<!-- {} --><meta charset=gbk>", "x".repeat(5000));
    assert_eq!(charset_of(late.as_bytes(), "text/html"), "GBK");
}

#[test]
fn a_lying_charset_does_not_hide_the_page() {
    let page = "<title>T</title><a href=/x>\u{e9}</a>";
    for lie in ["utf-16", "utf-16be", "iso-2022-kr", "hz-gb-2312", "nonsense"] {
        let event =
            event("https://a.example/", response(&[("content-type", &format!("text/html; charset={lie}"))], page));
        let derived = derive(&event, &options());
        assert_eq!(urls(&derived), ["https://a.example/x"], "{lie}");
        assert_eq!(derived.charset, Some("UTF-8"), "{lie}");
    }
    // Latin-1 called UTF-8: the letters are lost, the links are not.
    let body = b"<title>caf\xe9</title><a href=/x>x</a>".to_vec();
    let derived = derive(
        &event("https://a.example/", response(&[("content-type", "text/html; charset=utf-8")], body)),
        &options(),
    );
    assert_eq!(derived.title.as_deref(), Some("caf\u{fffd}"));
    assert_eq!(urls(&derived), ["https://a.example/x"]);
}

#[test]
fn utf_16_is_read_with_and_without_byte_order_mark() {
    let page = "<title>Über 漢字 — ok</title><p>Text <a href='/ü'>link</a> and some more of it</p>";
    let little: Vec<u8> = page.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = page.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let marked: Vec<u8> = [b"\xfe\xff".to_vec(), big.clone()].concat();
    for (body, name) in [(little, "UTF-16LE"), (big, "UTF-16BE"), (marked, "UTF-16BE")] {
        let derived =
            derive(&event("https://a.example/", response(&[("content-type", "text/html")], body)), &options());
        assert_eq!(derived.charset, Some(name));
        assert_eq!(derived.title.as_deref(), Some("Über 漢字 — ok"));
        assert_eq!(urls(&derived), ["https://a.example/%C3%BC"]);
    }
}

#[test]
fn utf_8_is_not_copied() {
    let body = "<p>größe</p>".as_bytes();
    assert!(matches!(charset::decode_text(body, encoding_rs::UTF_8), std::borrow::Cow::Borrowed("<p>größe</p>")));
    assert_eq!(charset::decode_text(b"\xef\xbb\xbfx", encoding_rs::UTF_8), "x");
}

// ---- Links ----

#[test]
fn links_come_from_the_elements_that_name_pages() {
    let facts = read_both(
        "<html lang=en><head><title>A &amp; B\n  c</title><base target=_top><base href=' /base/ '><base href=/other/>
         <link rel=canonical href=/c><link rel='alternate' href=/feed><link rel=NEXT href=/n><link rel=prev href=/p>
         <link rel=stylesheet href=/s><link rel='shortcut icon' href=/i><link rel=preconnect href=/pc><link href=/none>
         <link rel=dns-prefetch href=/d><link rel=preload href=/pl><link rel='alternate stylesheet' href=/as></head>
         <a href=a>1</a><a>2</a><a href='  '>3</a><A HREF=\"b&amp;c=&copy=1&lt;\">4</A><area href=d><iframe src=e></iframe>",
    );
    assert_eq!(hrefs(&facts), ["/c", "/feed", "/n", "/p", "a", "b&c=&copy=1<", "d", "e"]);
    assert_eq!(facts.base.as_deref(), Some("/base/"));
    assert_eq!(facts.title.as_deref(), Some("A & B c"));
    assert_eq!(facts.canonical.as_deref(), Some("/c"));
    assert_eq!(facts.lang.as_deref(), Some("en"));
    let sources: Vec<LinkSource> = facts.links.iter().skip(4).map(|link| link.source).collect();
    assert_eq!(sources, [LinkSource::A, LinkSource::A, LinkSource::Area, LinkSource::Iframe]);
}

#[test]
fn what_is_not_markup_has_no_links() {
    let facts = read_both(
        "<script>'<a href=1>'</script><style><a href=2></style><textarea><a href=3></textarea><title><a href=4></title>
         <template><a href=5><title>t</title><template></template><base href=/x></template><!-- <a href=6> -->
         <iframe><a href=7></iframe><xmp><a href=8></xmp><noembed><a href=9></noembed><a href=yes></a href=no>
         <noframes><a href=10></noframes><script><!-- <script> <a href=11> </script> --></script>
         <![CDATA[<a href=12>]]><p title='<a href=13>'><a title=x href=last href=14>x<plaintext><a href=15>",
    );
    // 12: outside SVG and MathML, CDATA is a comment that ends at the first `>`, so nothing of it is left.
    assert_eq!(hrefs(&facts), ["yes", "last"]);
    assert_eq!(facts.title.as_deref(), Some("<a href=4>"));
    assert_eq!(facts.base, None);
}

#[test]
fn without_scripts_noscript_is_markup() {
    let facts = read_both(
        "<head><NoScript><meta http-equiv=refresh content='5; URL=/plain'></noscript><body>
         <noscript><a href=/x>x</a><iframe src=/y></iframe></noscript><script>'<noscript><a href=/no>'</script>",
    );
    assert_eq!(hrefs(&facts), ["/plain", "/x", "/y"]);
    assert_eq!(facts.refresh, Some((5, "/plain".into())));
    assert_eq!(
        hrefs(&read("<noscript></noscript><a href='?q=<noscript>&r=<nxscript>'>")),
        ["?q=<noscript>&r=<nxscript>"]
    );
}

#[test]
fn the_tree_decides_where_one_pass_cannot_know() {
    for (page, links) in [
        ("<frameset><frame src=a><frame src=b></frameset><a href=no>", vec!["a", "b"]),
        ("<p>text</p><frame src=no><a href=yes>", vec!["yes"]),
        ("<svg><a href=x /><a xlink:href=y /></svg><a href=z>", vec!["x", "y", "z"]),
        ("<div><svg></div><a href=x>", vec!["x"]),
        ("<div><template></div><a href=no></template><a href=yes>", vec!["yes"]),
        ("<template shadowrootmode=open><a href=shown></template>", vec!["shown"]),
        ("<math><annotation-xml encoding=text/html><a href=x></annotation-xml></math>", vec!["x"]),
    ] {
        assert_eq!(hrefs(&read(page)), links, "{page}");
        assert_eq!(hrefs(&by_tree(page)), links, "{page}");
    }
}

#[test]
fn misplaced_and_misnested_links_keep_the_order_of_the_source() {
    let facts = read_both(
        "<table><a href=1><tr><td><a href=2><div><a href=3></table><b><a href=4><i></b><p><a href=5></i></a></p>
         <select><option><a href=6></select><button><a href=7><button><a href=8>",
    );
    assert_eq!(hrefs(&facts), ["1", "2", "3", "4", "5", "6", "7", "8"]);
}

#[test]
fn entities_and_white_space_in_references_are_read_as_browsers_do() {
    for (href, expected) in [
        ("'\t /a b \r\n'", "/a b"),
        ("'/a\r\nb'", "/a\nb"),
        ("'/?a=1&amp;b=2&c=3&lt=4&lt;'", "/?a=1&b=2&c=3&lt=4<"),
        ("'/&#47;&#x2f;&#0;&#128;'", "///\u{fffd}\u{20ac}"),
        ("'/&notanentity;&notit;&NotEqualTilde;'", "/&notanentity;&notit;\u{2242}\u{338}"),
        ("/un>quoted", "/un"),
        ("/a\0b", "/a\u{fffd}b"),
        ("'/&#x110000;&#xD800;&#99999999999;'", "/\u{fffd}\u{fffd}\u{fffd}"),
    ] {
        assert_eq!(hrefs(&read_both(&format!("<a href={href}>"))), [expected], "{href}");
    }
}

#[test]
fn nofollow_hints_are_seen() {
    let facts = read_both(
        "<a rel='noopener NoFollow' href=a><a rel=ugc href=b><area rel=sponsored href=c><a rel=nofollowx href=d>",
    );
    let flags: Vec<bool> = facts.links.iter().map(|link| link.nofollow).collect();
    assert_eq!(flags, [true, true, true, false]);
}

#[test]
fn refresh_is_parsed_as_the_standard_says() {
    for (content, expected) in [
        ("0;url=/x", Some((0, "/x"))),
        (" 5 ; URL = '/x y' junk", Some((5, "/x y"))),
        ("1,/x", Some((1, "/x"))),
        ("2.9 /x", Some((2, "/x"))),
        (".5;url=/x", Some((0, "/x"))),
        ("3;url=\"/x", Some((3, "/x"))),
        ("3;urls", Some((3, "urls"))),
        ("99999999999;url=/x", Some((u32::MAX, "/x"))),
        ("5", None),
        ("5;", None),
        ("5;url=", None),
        ("url=/x", None),
        ("5x;url=/x", None),
        ("", None),
    ] {
        assert_eq!(parse_refresh(content), expected.map(|(s, url)| (s, url.to_owned())), "{content:?}");
    }
}

// ---- Both ways over whole pages ----

fn pages() -> Vec<(String, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pages");
    let mut pages: Vec<(String, String)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "html"))
        .map(|path| {
            let body = std::fs::read(&path).unwrap();
            let text = charset::decode_text(&body, charset::detect(&body, Some("text/html"))).into_owned();
            (path.file_name().unwrap().to_string_lossy().into_owned(), text)
        })
        .collect();
    pages.sort();
    pages
}

#[test]
fn both_ways_give_the_same_for_real_pages() {
    let mut by_tree_only = Vec::new();
    let pages = pages();
    for (name, text) in &pages {
        match by_stream(text) {
            Ok(facts) => assert_eq!(facts, by_tree(text), "{name}"),
            Err(_) => by_tree_only.push(name.as_str()),
        }
    }
    assert_eq!(pages.len(), 13);
    assert_eq!(by_tree_only, ["frameset-1998.html", "mdbook-svg-links.html"]);
}

#[test]
fn a_front_page_with_every_mistake() {
    let body = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pages/news-front-page.html")).unwrap();
    let event = event("https://gazette.example/start", response(&[("content-type", "text/html")], body));
    let (derived, facts) = derive_with_text(&event, &options());
    let facts = facts.unwrap();
    let found: Vec<(&str, bool)> = derived.links.iter().map(|link| (link.url.as_str(), link.nofollow)).collect();
    let expected = [
        ("https://gazette.example/", false),
        ("https://gazette.example/feed.xml?section=all&full=1", false),
        ("https://gazette.example/no-script/page-2", false),
        ("https://gazette.example/no-script", false),
        ("https://gazette.example/en/news", false),
        ("https://gazette.example/en/sport%20%22and%22%20games", false),
        ("https://gazette.example/en/weather", false),
        ("https://gazette.example/en/tides", false),
        ("https://gazette.example/en/search?q=a&b=c&copy=1&d=%C3%A9", false),
        ("https://gazette.example/en/", false),
        ("https://gazette.example/after-a-comment", false),
        ("https://gazette.example/en/2026/11/weir-opens", false),
        ("https://gazette.example/en/staff/anna", false),
        ("https://gazette.example/en/2026/11/one", false),
        ("https://gazette.example/en/2026/11/two", false),
        ("https://gazette.example/en/2026/11/three", false),
        ("https://gazette.example/en/2026/11/four", false),
        ("https://gazette.example/en/tides/caption", false),
        ("https://gazette.example/en/misplaced-in-table", false),
        ("https://gazette.example/en/tides/monday", false),
        ("https://gazette.example/en/tides/tuesday", false),
        ("https://gazette.example/en/tides/inner", false),
        ("https://gazette.example/en/in-an-option", false),
        ("https://video.example/embed/1?a=1&b=2", false),
        ("https://gazette.example/no-script/all", false),
        ("https://gazette.example/en/map/north", false),
        ("https://gazette.example/en/hidden-but-a-link", false),
        ("https://ads.example/1", true),
        ("https://user.example/", true),
        ("https://other.example/path", false),
        ("https://gazette.example/numeric/entity", false),
        ("https://gazette.example/caf%C3%A9?x=%3C1%3E", false),
        ("https://gazette.example/unquoted/slash/", false),
    ];
    assert_eq!(found, expected);
    assert_eq!(derived, derive(&event, &options()));
    assert_eq!(derived.title.as_deref(), Some("The Weir Gazette – News, Tides & Weather"));
    assert_eq!(derived.canonical.as_deref(), Some("https://gazette.example/"));
    assert_eq!(derived.lang.as_deref(), Some("en-GB"));
    assert_eq!(derived.robots, RobotsMeta { noarchive: true, ..RobotsMeta::default() });
    assert_eq!(facts.headings[0].text, "The weir opens today");
    assert_eq!(facts.image_alts, ["The weir, at dawn"]);
    assert!(facts.link_texts.contains(&"A reader's site".to_owned()));
    assert!(facts.text.contains("\nBy Anna\n"), "{}", facts.text);
    for unseen in ["no-script", "Scripts are off", "Icon", "in-a-script", "Hidden", "content:"] {
        assert!(!facts.text.contains(unseen), "{unseen}: {}", facts.text);
    }
    assert!(facts.html.meta.contains(&("description".into(), "All that the river brings, every day".into())));
}

// ---- Tag soup ----

/// Pieces of pages, and pieces of nonsense. SVG and MathML come whole: see `html_stream` on what unclosed ones do.
fn soup() -> impl Strategy<Value = String> {
    let names = "a|a|b|p|div|table|tr|td|li|ul|select|option|button|form|h1|body|head|html|template|noscript|nobr|i|font\
                 |title|script|style|textarea|iframe|xmp|span|caption|col|colgroup|tbody|object|marquee|dd|dt|input|br\
                 |area|base|link|meta|img|hr|frame|frameset|plaintext|math|svg|applet|ruby|rt|center|article|details";
    let names: Vec<&'static str> = names.split('|').collect();
    let attributes = prop::sample::select(vec![
        "",
        " href=u1",
        " href='u2' rel=nofollow",
        " HREF=\"u&amp;3&copy;&copy=\"",
        " href = u4 href=u5",
        " src=u6",
        " rel=canonical href=u7",
        " rel=next href=' u8\n'",
        " name=robots content=none",
        " http-equiv=refresh content='0;url=u9'",
        " property=og:title content='a&lt;b'",
        " lang=en",
        " class=x id=\"y",
        " title='<a href=no>'",
        "/",
        " /href=u10/",
        " shadowrootmode=open",
        " =href=u11",
        " 'href=u12",
    ]);
    let start = (prop::sample::select(names.clone()), attributes).prop_map(|(name, given)| format!("<{name}{given}>"));
    let end = prop::sample::select(names).prop_map(|name| format!("</{name}>"));
    let text = prop::sample::select(vec![
        "text",
        " ",
        "\n",
        "&amp;",
        "&notin;x",
        "\0",
        "<",
        "</",
        "<!",
        "<!-->",
        "<!-- <a href=no> -->",
        "<!doctype html>",
        "<![CDATA[x]]>",
        "<?php ?>",
        "]]>",
        "-->",
        "é漢",
        "</ a>",
        "<a<b href=u13>",
        "<svg><path/><title>t</title></svg>",
        "<math><mi>x</mi></math>",
        "<svg><a href=u14></a></svg>",
        "<svg><p>out</svg>",
        "<script>'<a href=no>'</script>",
        "<title>A &amp; B</title>",
        "<a href=u15>",
        "</a>",
        "<template><a href=u16></template>",
    ])
    .prop_map(str::to_owned);
    prop::collection::vec(prop_oneof![3 => start, 2 => end, 2 => text], 0..40).prop_map(|parts| parts.concat())
}

/// Tags that open a drawing but may not close it.
fn has_open_drawing(page: &str) -> bool {
    let page = page.to_ascii_lowercase();
    ["svg", "math"]
        .iter()
        .any(|name| page.matches(&format!("<{name}")).count() != page.matches(&format!("</{name}>")).count())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn both_ways_give_the_same_for_tag_soup(page in soup()) {
        if let Ok(facts) = by_stream(&page)
            && !has_open_drawing(&page)
        {
            prop_assert_eq!(facts, by_tree(&page), "{}", page);
        }
    }

    #[test]
    fn both_ways_decode_entities_the_same(value in "(&[a-zA-Z#x0-9]{1,8};?|[ -%'-~]|\\r|\\n|\0|é){0,12}") {
        let page = format!("<title>{value}</title><a href=\"/{}\">", value.replace('"', "'"));
        let facts = by_stream(&page).unwrap();
        prop_assert_eq!(facts, by_tree(&page), "{}", page);
    }

    #[test]
    fn any_bytes_are_some_page(body in prop::collection::vec(any::<u8>(), 0..400), coding in "gzip|br|zstd|deflate|") {
        let headers = [("content-type", "text/html"), ("content-encoding", coding.as_str())];
        let event = event("https://a.example/", response(&headers, body));
        let (derived, facts) = derive_with_text(&event, &options());
        prop_assert!(facts.is_some());
        prop_assert_eq!(&derived.digest[..], &Sha256::digest(&derived.body)[..]);
    }
}

// ---- The tree ----

#[test]
fn a_walk_opens_and_closes_everything_once() {
    for (name, text) in pages() {
        let mut open = Vec::new();
        for step in Tree::parse(&text).walk() {
            match step {
                Step::Open(id, _) => open.push(id),
                Step::Close(id, _) => assert_eq!(open.pop(), Some(id), "{name}"),
                Step::Text(text) => assert!(!text.is_empty()),
            }
        }
        assert!(open.is_empty(), "{name}");
    }
}

#[test]
fn text_is_what_a_reader_sees() {
    let facts = page_facts(
        &Tree::parse(
            "<title>no</title><h1>One <small>1</small></h1>a<b>b</b> c<br>d<p>e\n f<p hidden>no<h2>T<a href=x>wo</a></h2>
             <ul><li>g<li>h</ul><table><tr><td>i<td>j</table><img alt=' k  l '><img alt=''><script>no</script>
             <svg><title>no</title><text>m</text></svg><template>no</template><a href=y> <b>link</b>\ntext </a>",
        ),
        AGENT,
    );
    assert_eq!(facts.text, "One 1\nab c\nd\ne f\nTwo\ng\nh\ni j\nm link text");
    let headings: Vec<(u8, &str)> =
        facts.headings.iter().map(|heading| (heading.level, heading.text.as_str())).collect();
    assert_eq!(headings, [(1, "One 1"), (2, "Two")]);
    assert_eq!(facts.link_texts, ["wo", "link text"]);
    assert_eq!(facts.image_alts, ["k l"]);
}

// ---- Robots ----

#[test]
fn robots_headers_are_for_everyone_or_for_an_agent() {
    for (values, expected) in [
        (&["noindex, NoFollow"][..], (true, true, false)),
        (&["none"], (true, true, false)),
        (&["googlebot: noindex", "seine: nofollow"], (false, true, false)),
        (&["googlebot: noindex, nofollow"], (false, false, false)),
        (&["googlebot: noindex, SEINE: noarchive, nofollow"], (false, true, true)),
        (&["unavailable_after: 25 Jun 2010 15:00:00 PST, noindex"], (true, false, false)),
        (&["max-snippet:20, noarchive"], (false, false, true)),
        (&["", "all", ":", ",,:,"], (false, false, false)),
    ] {
        let mut headers = Headers::default();
        values.iter().for_each(|value| headers.push("X-Robots-Tag", *value));
        let robots = meta::from_headers(&headers, AGENT);
        assert_eq!((robots.noindex, robots.nofollow, robots.noarchive), expected, "{values:?}");
    }
}

#[test]
fn robots_meta_and_headers_add_up() {
    let page =
        "<meta name=ROBOTS content=' noindex '><meta name=seine content=noarchive><meta name=otherbot content=nofollow>
                <a href=/x>";
    let mut event = html_event(page);
    if let Outcome::Response(response) = &mut event.outcome {
        response.headers.push("x-robots-tag", "seine: nofollow, nosnippet");
    }
    let derived = derive(&event, &options());
    assert_eq!(derived.robots, RobotsMeta { noindex: true, nofollow: true, noarchive: true, nosnippet: true });
    assert!(derived.links[0].nofollow);
    let lax = derive(&event, &DeriveOptions { obey_nofollow: false, ..options() });
    assert!(!lax.links[0].nofollow);
    assert!(lax.robots.nofollow);
}

// ---- derive ----

#[test]
fn each_link_once_and_followed_if_any_of_them_may() {
    let derived = derive(
        &html_event(
            "<a rel=nofollow href=/a><a href='../a#x'><a rel=nofollow href=b><a rel=nofollow href=./b?><a href=b>",
        ),
        &options(),
    );
    let found: Vec<(&str, bool)> = derived.links.iter().map(|link| (link.url.as_str(), link.nofollow)).collect();
    assert_eq!(found[0], ("https://site.example/a", false));
    assert_eq!(found[1], ("https://site.example/dir/b", false));
}

#[test]
fn headers_give_links_too() {
    let headers = [
        ("content-type", "text/html"),
        ("Link", "</c>; rel=canonical, <next page>; title=\"a, <b>; rel=x\"; rel=\"next nofollow\""),
        ("link", "</style.css>; rel=preload; as=style, </other>; rel=next; anchor=\"/elsewhere\", <broken"),
        ("Refresh", "0; url=/refreshed"),
    ];
    let derived =
        derive(&event("https://a.example/x/y", response(&headers, "<base href=/base/><a href=z>")), &options());
    assert_eq!(
        urls(&derived),
        [
            "https://a.example/c",
            "https://a.example/x/next%20page",
            "https://a.example/refreshed",
            "https://a.example/base/z"
        ]
    );
    assert!(derived.links[1].nofollow);
    assert_eq!(derived.canonical.as_deref(), Some("https://a.example/c"));
    assert_eq!(
        link_header::parse("<x").len() + link_header::parse("").len() + link_header::parse("<a>;rel=\"").len(),
        1
    );
}

#[test]
fn links_are_resolved_against_the_final_url() {
    let mut event = html_event("<a href=x>");
    event.final_url = "https://moved.example/new/place".into();
    assert_eq!(urls(&derive(&event, &options())), ["https://moved.example/new/x"]);
    let mut event = html_event("<base href='javascript:1'><a href=x>");
    event.final_url = "https://moved.example/new/place".into();
    assert_eq!(urls(&derive(&event, &options())), ["https://moved.example/new/x"]);
}

#[test]
fn only_successful_html_has_links() {
    let page = "<title>T</title><a href=/x>";
    let links = |headers: &[(&str, &str)], status: u16, body: &str| {
        let mut response = response(headers, body.to_owned());
        response.status = status;
        derive(&event("https://a.example/", response), &options()).links.len()
    };
    assert_eq!(links(&[("content-type", "TEXT/HTML;charset=utf-8")], 200, page), 1);
    assert_eq!(links(&[("content-type", "application/xhtml+xml")], 203, page), 1);
    assert_eq!(links(&[], 200, &format!("\n <!DOCTYPE html>{page}")), 1);
    assert_eq!(links(&[], 200, page), 1);
    assert_eq!(links(&[], 200, "plain text <a href=/x>"), 0);
    assert_eq!(links(&[("content-type", "text/plain")], 200, page), 0);
    assert_eq!(links(&[("content-type", "text/html")], 404, page), 0);

    let mut sitemap = html_event(page);
    sitemap.kind = Kind::Sitemap;
    let derived = derive(&sitemap, &options());
    assert_eq!((derived.title, derived.body), (None, Bytes::from(page)));
}

#[test]
fn body_digest_and_text_are_of_the_decoded_body() {
    let page = "<title>größe</title>";
    let headers = [("content-type", "text/html"), ("content-encoding", "gzip")];
    let derived = derive(&event("https://a.example/", response(&headers, gzip(page.as_bytes()))), &options());
    assert_eq!(derived.body, page);
    assert_eq!(derived.text(), page);
    assert_eq!(&derived.digest[..], &Sha256::digest(page)[..]);
    assert_eq!((derived.is_html, derived.charset, derived.decode_problem), (true, Some("UTF-8"), None));
}

#[test]
fn both_ways_derive_the_same() {
    for (name, text) in pages() {
        let event = html_event(&text);
        let (derived, facts) = derive_with_text(&event, &options());
        assert_eq!(derived, derive(&event, &options()), "{name}");
        assert!(!derived.links.is_empty() && facts.is_some(), "{name}");
    }
}

// ---- Hostile input ----

/// Generous: without limits each of these takes many minutes, or for ever.
fn soon(what: &str, work: impl FnOnce()) {
    let started = Instant::now();
    work();
    assert!(started.elapsed() < Duration::from_secs(60), "{what}: {:?}", started.elapsed());
}

#[test]
fn deep_nesting_neither_overflows_nor_takes_for_ever() {
    for (name, depth, open, close) in [
        ("div", 100_000, "<div>", "</div>"),
        ("b", 100_000, "<b>", "</b>"),
        ("blocks in formatting", 20_000, "<b><p>", ""),
        ("links", 20_000, "<a href=/n>", ""),
        ("different formatting", 20_000, "<font color=x><p>x", "</font>"),
        ("table", 20_000, "<table><tr><td>", ""),
        ("list", 20_000, "<ul><li>", ""),
        ("stray", 20_000, "</p></b></x>", ""),
    ] {
        soon(name, || {
            let page = format!("{}<a href=/deep>x</a>{}<a href=/after>y</a>", open.repeat(depth), close.repeat(depth));
            let (derived, facts) = derive_with_text(&html_event(&page), &options());
            assert!(urls(&derived).contains(&"https://site.example/deep"), "{name}");
            assert!(urls(&derived).contains(&"https://site.example/after"), "{name}");
            assert_eq!(derived.links, derive(&html_event(&page), &options()).links, "{name}");
            assert!(facts.is_some());
        });
    }
    // Beyond what one pass keeps open, the flattened tree decides.
    let page = format!("{}<svg><a href=/deep>x</a></svg>", "<span>".repeat(20_000));
    assert_eq!(by_stream(&page).unwrap_err(), "<a> within SVG or MathML");
    assert_eq!(hrefs(&read(&page)), ["/deep"]);
    // Drawings and templates without end.
    for open in ["<svg>", "<math>", "<template>"] {
        soon(open, || assert!(Tree::parse(&open.repeat(50_000)).walk().count() > 0));
    }
}

#[test]
fn formatting_that_multiplies_is_bounded() {
    soon("formatting", || {
        let formats: String = (0..2_000).map(|n| format!("<b id={n}>")).collect();
        let page = format!("<p>{formats}{}", "<p>x".repeat(20_000));
        let tree = Tree::parse(&page);
        assert!(tree.is_cut);
        assert!(tree.walk().count() < 2_000_000);
    });
}

#[test]
fn long_values_and_many_links_are_bounded() {
    soon("attribute", || {
        let long = "x".repeat(5 << 20);
        let page = format!(
            "<base href='/{long}'><a href='/{long}' title='{long}'>1</a><title>{long}</title><a href=/ok>2</a>"
        );
        let (derived, _) = derive_with_text(&html_event(&page), &options());
        assert_eq!(urls(&derived), ["https://site.example/ok"]);
        assert!(derived.title.unwrap().len() <= html::MAX_TITLE_BYTES);
        assert_eq!(derived.links, derive(&html_event(&page), &options()).links);
    });
    soon("links", || {
        let page: String = (0..60_000).map(|n| format!("<a href={n}>")).collect();
        let facts = read(&page);
        assert_eq!((facts.links.len(), facts.is_cut), (MAX_LINKS, true));
    });
}

#[test]
fn zero_characters_and_broken_ends_are_survived() {
    let facts = read_both("\0<ti\0tle>no</title>\0<a\0 href=no><a href=/\0x>\0</a>\u{feff}<a href=/y>");
    assert_eq!(hrefs(&facts), ["/\u{fffd}x", "/y"]);
    for broken in [
        "<",
        "<a",
        "<a href",
        "<a href=",
        "<a href='x",
        "<a href=x",
        "<!--",
        "<!",
        "</",
        "<title>x",
        "<script>",
        "<svg><",
    ] {
        let facts = read_both(broken);
        assert!(facts.links.is_empty(), "{broken}");
    }
}
