//! Saltmere: every URL is as the catalogue says, and the special ones are special in the intended way.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use reqwest::Client;
use seine::demo::{DemoSite, MAX_DEPTH};

use crate::catalogue::{Expected, catalogue};
use crate::walk::{self, Seen};

async fn town() -> (DemoSite, Client) {
    let site = seine::demo::start().await.unwrap();
    let client = crate::client(&site.hosts);
    (site, client)
}

/// An independent crawl of the site finds exactly what the catalogue says, URL by URL.
#[tokio::test]
async fn the_catalogue_says_what_a_crawl_finds() {
    let (site, client) = town().await;
    let seen = walk::walk(&site, &client).await;
    let mut known: BTreeSet<String> = BTreeSet::new();
    for page in catalogue() {
        let url = page.url(site.port);
        let found = seen.get(&url);
        let fits = match (&page.expected, found) {
            (Expected::Fetched, Some(Seen::Answered { status: 200, at })) => *at == url,
            (Expected::Redirect { to }, Some(Seen::Answered { status: 200, at })) => *at == with_port(to, site.port),
            (Expected::Failed, Some(Seen::Answered { status, .. })) => *status == page.status && *status >= 400,
            (Expected::Failed, Some(Seen::Lost)) => (300..400).contains(&page.status),
            (Expected::Refused, Some(Seen::Refused)) => true,
            (Expected::Limit, Some(Seen::TooDeep)) => true,
            (Expected::NotFollowed, None) => true,
            _ => false,
        };
        assert!(fits, "{page:?} was {found:?}");
        assert!(known.insert(url), "twice in the catalogue: {page:?}");
    }
    let unknown: Vec<_> = seen.keys().filter(|url| !known.contains(*url)).collect();
    assert!(unknown.is_empty(), "not in the catalogue: {unknown:?}");
}

fn with_port(url: &str, port: u16) -> String {
    url.replacen(".localhost/", &format!(".localhost:{port}/"), 1)
}

#[tokio::test]
async fn every_url_answers_with_the_status_and_type_it_is_known_for() {
    let (site, client) = town().await;
    for page in catalogue() {
        let url = page.url(site.port);
        let mut response = client.get(&url).send().await.unwrap();
        if response.headers().contains_key("retry-after") {
            assert_eq!(response.status(), 503);
            response = client.get(&url).send().await.unwrap();
        }
        assert_eq!(response.status(), page.status, "{url}");
        let content_type = response.headers().get("content-type").map_or("", |value| value.to_str().unwrap());
        assert_eq!(content_type, page.content_type, "{url}");
        assert_eq!(response.headers().contains_key("location"), (300..400).contains(&page.status), "{url}");
    }
}

/// The demo's crawl should take ten to twenty seconds: enough pages, and not too many on any host.
#[test]
fn the_town_is_a_few_hundred_pages() {
    let mut by_host: BTreeMap<String, u64> = BTreeMap::new();
    let all = catalogue();
    for page in all.iter().filter(|page| page.expected != Expected::Limit) {
        *by_host.entry(page.host.clone()).or_default() += 1;
    }
    assert_eq!(by_host.len(), 8);
    assert!((300..700).contains(&by_host.values().sum::<u64>()), "{by_host:?}");
    assert!(by_host.values().all(|pages| *pages < seine::demo::MAX_PAGES_PER_HOST), "{by_host:?}");
    assert!(by_host["weather.localhost"] <= 10, "a second a page");
    let months = all.iter().filter(|page| page.path.starts_with("/calendar/")).count();
    assert_eq!(months, usize::from(MAX_DEPTH) + 1);
}

#[tokio::test]
async fn content_codings_follow_accept_encoding_and_decode_to_the_plain_body() {
    let (site, client) = town().await;
    let mut used = BTreeSet::new();
    for page in catalogue().iter().filter(|page| page.host.starts_with("harbour") && page.path.starts_with("/ships/")) {
        let url = page.url(site.port);
        let plain = client.get(&url).send().await.unwrap();
        assert!(!plain.headers().contains_key("content-encoding"), "{url}");
        let plain = plain.bytes().await.unwrap();
        let coded = client.get(&url).header("accept-encoding", "gzip, br;q=0.8, zstd").send().await.unwrap();
        let coding = coded.headers().get("content-encoding").map(|value| value.to_str().unwrap().to_owned());
        let body = coded.bytes().await.unwrap();
        let decoded = match coding.as_deref() {
            Some("gzip") => walk::gunzip(&body).into_bytes(),
            Some("br") => unbrotli(&body),
            Some("zstd") => zstd::stream::decode_all(body.as_ref()).unwrap(),
            other => {
                assert_eq!(other, None);
                body.to_vec()
            }
        };
        assert_eq!(decoded, plain, "{url} in {coding:?}");
        let refused = client.get(&url).header("accept-encoding", "gzip;q=0, br;q=0, zstd;q=0").send().await.unwrap();
        assert!(!refused.headers().contains_key("content-encoding"), "{url}");
        used.extend(coding);
    }
    assert_eq!(used.into_iter().collect::<Vec<_>>(), ["br", "gzip", "zstd"]);
}

fn unbrotli(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    brotli::Decompressor::new(bytes, 4096).read_to_end(&mut plain).unwrap();
    plain
}

#[tokio::test]
async fn letters_come_in_six_charsets_declared_in_five_ways() {
    let (site, client) = town().await;
    // Path, encoding, charset in the header, whether the page's first bytes declare it, and words of the letter.
    let letters = [
        ("bordeaux", "windows-1252", Some("iso-8859-1"), false, "la rivière est haute et l'été"),
        ("arkhangelsk", "windows-1251", Some("windows-1251"), false, "Река встала раньше обычного"),
        ("yokohama", "shift_jis", None, true, "船の汽笛だけが聞こえます"),
        ("canton", "gbk", None, true, "码头又热闹起来"),
        ("busan", "euc-kr", None, false, "오늘은 바람이 잔잔하여"),
        ("reykjavik", "utf-8", None, false, "saltfiski og einn mjög undrandi"),
    ];
    for (port, charset, in_header, in_page, words) in letters {
        let url = format!("http://museum.localhost:{}/letters/{port}", site.port);
        let response = client.get(&url).send().await.unwrap();
        let content_type = response.headers()["content-type"].to_str().unwrap().to_owned();
        let expected = in_header.map_or("text/html".to_owned(), |name| format!("text/html; charset={name}"));
        assert_eq!(content_type, expected, "{port}");
        let body = response.bytes().await.unwrap();
        let encoding = encoding_rs::Encoding::for_label(charset.as_bytes()).unwrap();
        let (text, _, errors) = encoding.decode(&body);
        assert!(!errors && text.contains(words), "{port}: {text}");
        assert_eq!(text.contains("charset="), in_page, "{port}");
        assert_eq!(body.starts_with(b"\xef\xbb\xbf"), port == "reykjavik", "{port}");
    }
}

#[tokio::test]
async fn the_letter_without_a_charset_can_be_told_by_its_bytes() {
    let (site, client) = town().await;
    let url = format!("http://museum.localhost:{}/letters/busan", site.port);
    let body = client.get(&url).send().await.unwrap().bytes().await.unwrap();
    let mut detector = chardetng::EncodingDetector::new(chardetng::Iso2022JpDetection::Deny);
    detector.feed(&body, true);
    assert_eq!(detector.guess(None, chardetng::Utf8Detection::Allow), encoding_rs::EUC_KR);
}

#[tokio::test]
async fn files_are_what_their_types_say() {
    let (site, client) = town().await;
    let get = async |host: &str, path: &str| {
        let url = format!("http://{host}.localhost:{}{path}", site.port);
        client.get(url).send().await.unwrap().bytes().await.unwrap()
    };
    let png = get("museum", "/evening.png").await;
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n") && png.ends_with(b"IEND\xae\x42\x60\x82"));
    let pdf = get("museum", "/guide.pdf").await;
    assert!(pdf.starts_with(b"%PDF-1.4") && pdf.ends_with(b"%%EOF\n"));
    let schedule: serde_json::Value = serde_json::from_slice(&get("radio", "/schedule.json").await).unwrap();
    assert_eq!(schedule["slots"].as_array().unwrap().len(), 8);
    assert!(get("radio", "/feed.xml").await.starts_with(b"<?xml"));
    assert!(get("library", "/catalogue").await.len() > 1 << 20);
}

#[tokio::test]
async fn an_unchanged_page_is_not_sent_twice() {
    let (site, client) = town().await;
    let url = format!("http://harbour.localhost:{}/", site.port);
    let etag = client.get(&url).send().await.unwrap().headers()["etag"].clone();
    let again = client.get(&url).header("if-none-match", etag).send().await.unwrap();
    assert_eq!(again.status(), 304);
    assert_eq!(again.bytes().await.unwrap(), "");
}

#[tokio::test]
async fn the_calendar_never_ends() {
    let (site, client) = town().await;
    let origin = format!("http://tides.localhost:{}", site.port);
    let page = client.get(format!("{origin}/calendar/9876/12")).send().await.unwrap().text().await.unwrap();
    assert!(page.contains("href=\"/calendar/9877/01\""), "{page}");
    for wrong in ["/calendar/2026/13", "/calendar/2026/1", "/calendar/2026/00", "/calendar/99999/01", "/calendar/x/01"]
    {
        assert_eq!(client.get(format!("{origin}{wrong}")).send().await.unwrap().status(), 404, "{wrong}");
    }
}
