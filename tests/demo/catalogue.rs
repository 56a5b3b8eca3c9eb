//! The expected result for each URL of the demo site, in a crawl from all seeds within `seine::demo::MAX_DEPTH`,
//! obeying robots.txt and nofollow.

// Each test binary uses its own part of this.
#![allow(dead_code)]

/// One URL of the demo site, and its expected result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// `library.localhost`
    pub host: String,
    /// Path and query.
    pub path: String,
    /// The final status; pages that are busy at first count as 200.
    pub status: u16,
    /// The `Content-Type` header; empty if there is none.
    pub content_type: String,
    pub expected: Expected,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expected {
    /// A page, answered with 200 (perhaps after a 503).
    Fetched,
    /// A redirect that ends at a page: `http://market.localhost/path`, without the port.
    Redirect { to: String },
    /// robots.txt forbids it. The server would answer.
    Refused,
    /// A 404, 410 or 500, a redirect loop, or a redirect out of the site: no page, however often it is requested.
    Failed,
    /// Linked, but beyond `MAX_DEPTH`.
    Limit,
    /// All links to it are nofollow.
    NotFollowed,
}

impl Known {
    /// The whole URL, with the site's port.
    pub fn url(&self, port: u16) -> String {
        format!("http://{}:{port}{}", self.host, self.path)
    }
}

/// Every URL that the site's pages and sitemaps name on its own hosts, by host and path. Without robots.txt, sitemaps,
/// and the calendar after the first month beyond the limit. One line per URL: URL, status, Content-Type, expected
/// result.
pub fn catalogue() -> Vec<Known> {
    include_str!("catalogue.tsv").lines().map(known).collect()
}

fn known(line: &str) -> Known {
    let [url, status, content_type, what] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let expected = match what {
        "fetched" => Expected::Fetched,
        "refused" => Expected::Refused,
        "failed" => Expected::Failed,
        "too deep" => Expected::Limit,
        "not followed" => Expected::NotFollowed,
        _ => Expected::Redirect { to: what.strip_prefix("redirect ").unwrap().to_owned() },
    };
    let (host, path, content_type) = (host.to_owned(), format!("/{path}"), content_type.to_owned());
    Known { host, path, status: status.parse().unwrap(), content_type, expected }
}
