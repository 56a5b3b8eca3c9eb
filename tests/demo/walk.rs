//! A crawl of the demo site without Seine: level by level, one request at a time, with its own parser. Its result must
//! equal the site's catalogue.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use regex::Regex;
use reqwest::Client;
use seine::demo::{DemoSite, MAX_DEPTH};
use url::Url;

/// The result for one URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// The final status, and the final URL.
    Answered { status: u16, at: String },
    /// A redirect loop, or a redirect out of the site.
    Lost,
    /// robots.txt forbids it.
    Refused,
    /// Too deep.
    TooDeep,
}

/// Every URL found through followed links and sitemaps, without the calendar beyond the limit.
pub async fn walk(site: &DemoSite, client: &Client) -> BTreeMap<String, Seen> {
    let mut seen = BTreeMap::new();
    let mut rules = BTreeMap::new();
    let mut level: BTreeSet<String> = site.seeds.iter().cloned().collect();
    for seed in &site.seeds {
        let robots = Robots::fetch(seed, client).await;
        level.extend(robots.sitemap_urls(client).await);
        rules.insert(host_of(seed), robots);
    }
    for depth in 0..=MAX_DEPTH + 1 {
        let mut next = BTreeSet::new();
        for url in level {
            if seen.contains_key(&url) {
                continue;
            }
            let Some(robots) = rules.get(&host_of(&url)) else { continue };
            let result = if depth > MAX_DEPTH {
                Seen::TooDeep
            } else if !robots.allows(&url) {
                Seen::Refused
            } else {
                visit(&url, client, &mut next).await
            };
            seen.insert(url, result);
        }
        level = next;
    }
    seen
}

/// Fetches a URL, follows redirects, and collects links of HTML pages.
async fn visit(url: &str, client: &Client, links: &mut BTreeSet<String>) -> Seen {
    let mut at = Url::parse(url).unwrap();
    for _ in 0..10 {
        let Some(response) = patient_get(client, &at).await else { return Seen::Lost };
        let status = response.status().as_u16();
        if let Some(location) = response.headers().get("location").filter(|_| response.status().is_redirection()) {
            at = at.join(location.to_str().unwrap()).unwrap();
            continue;
        }
        let html = response.headers().get("content-type").is_some_and(|v| v.to_str().unwrap().starts_with("text/html"));
        let body = response.bytes().await.unwrap();
        if html && status == 200 {
            links.extend(links_of(&at, &String::from_utf8_lossy(&body)));
        }
        return Seen::Answered { status, at: at.into() };
    }
    Seen::Lost
}

/// Retries when the server asks for it; none if the URL is outside the site.
async fn patient_get(client: &Client, url: &Url) -> Option<reqwest::Response> {
    if !url.host_str()?.ends_with(".localhost") {
        return None;
    }
    let response = client.get(url.clone()).send().await.unwrap();
    // The busy page is busy only at the first request, however soon the second comes.
    if response.headers().contains_key("retry-after") {
        return Some(client.get(url.clone()).send().await.unwrap());
    }
    Some(response)
}

fn links_of(page: &Url, html: &str) -> Vec<String> {
    if html.contains("<meta name=\"robots\" content=\"nofollow\">") {
        return Vec::new();
    }
    let base = Regex::new("<base href=\"([^\"]+)\"").unwrap();
    let base = base.captures(html).map_or(page.clone(), |found| page.join(&found[1]).unwrap());
    let anchors = Regex::new("<a ([^>]*)href=\"([^\"]+)\"").unwrap();
    let followed = anchors.captures_iter(html).filter(|found| !found[1].contains("nofollow"));
    followed.map(|found| base.join(&found[2]).unwrap().to_string()).collect()
}

pub fn host_of(url: &str) -> String {
    Url::parse(url).unwrap().host_str().unwrap().to_owned()
}

/// The part of robots.txt that this site uses: the group of `*`; the longest rule wins; `*` and `$` only in `/*.log$`.
struct Robots {
    rules: Vec<(bool, String)>,
    sitemaps: Vec<String>,
}

impl Robots {
    async fn fetch(seed: &str, client: &Client) -> Robots {
        let url = Url::parse(seed).unwrap().join("/robots.txt").unwrap();
        let response = client.get(url).send().await.unwrap();
        let text = if response.status() == 200 { response.text().await.unwrap() } else { String::new() };
        let mut robots = Robots { rules: Vec::new(), sitemaps: Vec::new() };
        let mut ours = false;
        for line in text.lines() {
            match line.split_once(": ").unwrap_or((line, "")) {
                ("User-agent", agent) => ours = agent == "*",
                ("Disallow", path) if ours && !path.is_empty() => robots.rules.push((false, path.to_owned())),
                ("Allow", path) if ours => robots.rules.push((true, path.to_owned())),
                ("Sitemap", url) => robots.sitemaps.push(url.to_owned()),
                _ => {}
            }
        }
        robots
    }

    fn allows(&self, url: &str) -> bool {
        let path = Url::parse(url).unwrap().path().to_owned();
        let matches = |rule: &str| match rule.strip_prefix("/*").and_then(|rule| rule.strip_suffix('$')) {
            Some(suffix) => path.ends_with(suffix),
            None => path.starts_with(rule),
        };
        let longest = self.rules.iter().filter(|(_, rule)| matches(rule)).max_by_key(|(_, rule)| rule.len());
        longest.is_none_or(|(allow, _)| *allow)
    }

    /// The pages of all sitemaps, through indexes, gzip and plain text.
    async fn sitemap_urls(&self, client: &Client) -> Vec<String> {
        let loc = Regex::new("<loc>([^<]+)</loc>").unwrap();
        let (mut maps, mut pages) = (self.sitemaps.clone(), Vec::new());
        while let Some(map) = maps.pop() {
            let bytes = client.get(&map).send().await.unwrap().bytes().await.unwrap();
            let text = if map.ends_with(".gz") { gunzip(&bytes) } else { String::from_utf8(bytes.to_vec()).unwrap() };
            let urls = loc.captures_iter(&text).map(|found| found[1].to_owned());
            match map {
                map if map.ends_with(".txt") => pages.extend(text.lines().map(str::to_owned)),
                _ if text.contains("<sitemapindex") => maps.extend(urls),
                _ => pages.extend(urls),
            }
        }
        pages
    }
}

pub fn gunzip(bytes: &[u8]) -> String {
    let mut text = String::new();
    flate2::read::GzDecoder::new(bytes).read_to_string(&mut text).unwrap();
    text
}
