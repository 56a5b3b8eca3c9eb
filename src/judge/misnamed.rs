//! A page that a site names as a sitemap. Publishers do this by mistake (`Sitemap: https://example.com/sitemap.html`).

use seine_parse::page::{Kind, PageEvent};
use seine_parse::{decode, is_html, sitemap};
use url::Url;

/// Such names promise a sitemap, so a page there is a wrong answer. Sites without a sitemap often answer with their home page.
const NAMES: [&str; 3] = [".xml", ".gz", ".txt"];

/// Whether the answer for a URL that was named as a sitemap is an HTML page which lists no URLs as a sitemap does.
pub fn is_misnamed_page(event: &PageEvent, max_bytes: u64) -> bool {
    let Some(response) = event.response().filter(|response| response.is_success() && !response.is_cut()) else {
        return false;
    };
    let path = Url::parse(&event.url).map(|url| url.path().to_ascii_lowercase()).unwrap_or_default();
    if event.kind != Kind::Sitemap || !event.hops.is_empty() || NAMES.iter().any(|end| path.ends_with(end)) {
        return false;
    }
    // A real sitemap may be large, so its type decides before its body is decoded.
    if response.content_type().is_some_and(|sent| !is_html(Some(sent), &[])) {
        return false;
    }
    let body = decode(event, max_bytes).body;
    if !is_html(response.content_type(), &body) {
        return false;
    }
    let found = sitemap::read(&body, response.content_type());
    found.urls.is_empty() && found.sitemaps.is_empty()
}
