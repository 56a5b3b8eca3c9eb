//! The generated websites that other tests and the benches crawl.

use std::collections::{BTreeMap, BTreeSet};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Final, Plan, TestSite};
use crate::{bench_site, plain_client};

/// Follows the links of the test site without Seine, and compares the result with the site's oracle.
#[tokio::test]
async fn the_test_site_is_what_its_oracle_says() {
    let site = TestSite::start(Plan { pages: 120, ..Plan::default() });
    let client = plain_client();
    let links = regex::Regex::new("href=\"([^\"]+)\"").unwrap();
    let mut found: BTreeMap<String, Final> = BTreeMap::new();
    let mut retried = 0;
    let mut waiting = site.seeds();
    while let Some(url) = waiting.pop() {
        if found.contains_key(&url) {
            continue;
        }
        if url.contains("/private/") {
            found.insert(url, Final::Forbidden);
            continue;
        }
        let response = client.get(&url).send().await.unwrap();
        let location = response.headers().get("location").map(|to| to.to_str().unwrap().to_owned());
        let state = match (response.status().as_u16(), location) {
            (503, _) => {
                retried += 1;
                waiting.push(url);
                continue;
            }
            (301, Some(to)) => Final::Redirected(to),
            (404, _) => Final::Missing,
            (200, _) => Final::Fetched,
            other => panic!("{url} answered {other:?}"),
        };
        let text = response.text().await.unwrap();
        waiting.extend(links.captures_iter(&text).map(|link| link[1].to_owned()));
        found.insert(url, state);
    }
    assert_eq!(found, site.oracle());
    assert_eq!(retried, 120 / 25);
    assert_eq!(site.asks(&format!("{}/p/24", site.running.origin(0))), 2);
    let private = |url: &String| site.oracle()[url] == Final::Forbidden;
    let expected: BTreeSet<String> = site.oracle().into_keys().filter(|url| !private(url)).collect();
    assert_eq!(site.visited_urls(), expected);
    assert!(site.min_gap("127.0.0.11").is_some() && site.min_gap("127.0.0.99").is_none());
    let robots = client.get(format!("{}/robots.txt", site.running.origin(0))).send().await.unwrap();
    assert!(robots.text().await.unwrap().contains("Disallow: /private/"));
}

/// Ten thousand pages, all reachable from one. Each has 140 links and about 30 KB, and compresses like text.
#[test]
fn the_bench_site_has_the_shape_the_benches_count_on() {
    let mut reached = vec![false; bench_site::PAGES];
    let mut waiting = vec![0];
    while let Some(page) = waiting.pop() {
        if std::mem::replace(&mut reached[page], true) {
            continue;
        }
        waiting.extend(bench_site::links_inside(page));
        waiting.extend(bench_site::links_across(page));
    }
    assert!(reached.iter().all(|reached| *reached));

    let site = bench_site::Site::new(8080);
    let (mut bytes, mut packed) = (0, 0);
    for page in (0..bench_site::PAGES).step_by(997) {
        let mut html = Vec::new();
        site.render(page, &mut html);
        let text = std::str::from_utf8(&html).unwrap();
        assert_eq!(text.matches("<a class=\"card__link\" href=").count(), 140);
        assert_eq!(text.matches("href=\"http://127.0.1.").count(), bench_site::LINKS_ACROSS);
        bytes += html.len();
        packed += zstd::bulk::compress(&html, 3).unwrap().len();
    }
    let (mean, ratio) = (bytes / 11, bytes as f64 / packed as f64);
    assert!((26_000..34_000).contains(&mean), "{mean} bytes a page");
    assert!((3.0..4.5).contains(&ratio), "compresses {ratio} to 1");
}

#[tokio::test]
async fn the_bench_site_serves_its_pages_and_nothing_else() {
    let port = bench_site::start(0).await.unwrap();
    let client = plain_client();
    let status = async |url: String| client.get(url).send().await.unwrap().status().as_u16();
    let site = bench_site::Site::new(port);
    for page in [0, 1, 99, 100, 5050, 9999] {
        let mut html = Vec::new();
        site.render(page, &mut html);
        let response = client.get(bench_site::url(port, page)).send().await.unwrap();
        assert_eq!(response.bytes().await.unwrap(), html, "page {page}");
    }
    assert_eq!(status(format!("http://127.0.1.1:{port}/robots.txt")).await, 404);
    let elsewhere = bench_site::url(port, 142).replace("127.0.1.2:", "127.0.1.3:");
    assert_eq!(status(elsewhere).await, 404, "a page of another host");

    // Two requests at once on one connection.
    let mut stream = TcpStream::connect(("127.0.1.1", port)).await.unwrap();
    stream.write_all(b"GET /no HTTP/1.1\r\n\r\nGET /nor HTTP/1.1\r\n\r\n").await.unwrap();
    let mut received = Vec::new();
    while memchr::memmem::find_iter(&received, "not here\r\n").count() < 2 {
        assert_ne!(stream.read_buf(&mut received).await.unwrap(), 0);
    }
}
