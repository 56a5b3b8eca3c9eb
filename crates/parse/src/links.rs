//! The links of a page, from its markup and its headers: resolved, normalised, without repeats.

use std::borrow::Cow;
use std::collections::HashMap;

use ::url::Url as BaseUrl;
use encoding_rs::{Encoding, UTF_8};

use super::html_facts::{self, HtmlFacts, LinkSource};
use super::link_header::{self, HeaderLink};
use super::query;
use super::url::{self, MAX_LINK_BYTES};
use super::{Derived, Link};
use crate::page::Response;

/// The `Link` headers that refer to pages or feeds, and the URL of the `Refresh` header.
pub(super) fn of_headers(response: &Response) -> Vec<(HeaderLink, LinkSource)> {
    let links = response.headers.all("link").flat_map(link_header::parse).filter_map(|link| {
        let source = html_facts::relation(&link.rel, || link.media_type.as_deref().map(Cow::from))?;
        Some((link, source))
    });
    let refresh = response
        .headers
        .get("refresh")
        .and_then(html_facts::parse_refresh)
        .map(|(_, target)| (HeaderLink { target, rel: String::new(), media_type: None }, LinkSource::Refresh));
    links.chain(refresh).collect()
}

/// Turns references into URLs: resolved against a base, normalised, and without unwanted parameters.
#[derive(Debug)]
pub struct Resolver<'a> {
    base: BaseUrl,
    encoding: &'static Encoding,
    dropped: &'a [String],
}

impl<'a> Resolver<'a> {
    /// For references in a page. `base`: the page's `<base>`, as written. Queries use the page's encoding.
    pub fn new(page: &BaseUrl, base: Option<&str>, derived: &Derived, dropped: &'a [String]) -> Resolver<'a> {
        let is_web = |url: &BaseUrl| matches!(url.scheme(), "http" | "https");
        let named = base.and_then(|href| page.join(href.trim_ascii()).ok()).filter(is_web);
        Resolver { base: named.unwrap_or_else(|| page.clone()), encoding: derived.encoding(), dropped }
    }

    /// For references in its headers.
    pub fn of_headers(page: &BaseUrl, dropped: &'a [String]) -> Resolver<'a> {
        Resolver { base: page.clone(), encoding: UTF_8, dropped }
    }

    pub fn resolve(&self, href: &str) -> Option<String> {
        Some(query::without(url::resolve_in(&self.base, href, self.encoding)?, self.dropped))
    }

    pub(crate) fn resolve_each<'r>(&self, references: impl IntoIterator<Item = &'r String>) -> Vec<String> {
        let urls = references.into_iter().filter_map(|reference| self.resolve(reference));
        let links = urls.map(|url| Link { url, nofollow: false });
        unique(within_bytes(links, MAX_LINK_BYTES)).into_iter().map(|link| link.url).collect()
    }

    /// The canonical URL named by headers.
    pub fn canonical(&self, headers: &[(HeaderLink, LinkSource)]) -> Option<String> {
        let (named, _) = headers.iter().find(|(link, _)| html_facts::has_token(&link.rel, "canonical"))?;
        self.resolve(&named.target)
    }
}

/// The links of a page: from headers, then from markup, then the targets of forms. Each is marked nofollow only by its
/// own `rel`. `forms`: their targets as written.
pub(super) fn of_page(
    page: &BaseUrl,
    headers: &[(HeaderLink, LinkSource)],
    facts: &HtmlFacts,
    of_markup: &Resolver,
    forms: &[String],
) -> Vec<Link> {
    let (feeds, of_headers) = (Feeds::of(page, facts), Resolver::of_headers(page, of_markup.dropped));
    let in_headers = headers.iter().map(|(link, source)| {
        let nofollow = html_facts::is_nofollow(&link.rel);
        (of_headers.resolve(&link.target), nofollow, *source)
    });
    let in_markup = facts.links.iter().map(|it| (of_markup.resolve(&it.href), it.nofollow, it.source));
    let in_forms = forms.iter().map(|action| (of_markup.resolve(action), false, LinkSource::A));
    let links = in_headers.chain(in_markup).chain(in_forms).filter_map(|(url, nofollow, source)| {
        // Only links in a page's list of feeds are filtered. An ordinary link to a feed is kept.
        let url = url.filter(|url| source != LinkSource::Feed || !feeds.is_of_comments(url))?;
        Some(Link { url, nofollow })
    });
    unique(within_bytes(links, MAX_LINK_BYTES))
}

/// Filters the feeds that a page offers. Feeds of comments are dropped: they bring no new pages, and every post has
/// one.
struct Feeds {
    /// The URL of the page without a final slash, if it is a single post.
    post: Option<String>,
}

impl Feeds {
    fn of(page: &BaseUrl, facts: &HtmlFacts) -> Feeds {
        let page = facts.has_shortlink.then(|| url::normalize(page)).flatten();
        let post = page.map(|page| page.split('?').next().unwrap_or_default().trim_end_matches('/').to_owned());
        // The front page may be a single post, but its feed is that of the site.
        Feeds { post: post.filter(|post| url::origin(post) != Some(post)) }
    }

    /// `feed`: a normalised URL. WordPress: `/comments/feed/`, `/post/feed/` (but `/category/news/feed/` has posts),
    /// `?feed=comments-rss2`, `?feed=rss2&p=5`. Blogger: `/feeds/8839/comments/default`.
    fn is_of_comments(&self, feed: &str) -> bool {
        let (path, query) = feed.split_once('?').unwrap_or((feed, ""));
        let path_of = |url| url::path_and_query(url).trim_matches('/');
        let names_comments = |segment: &str| segment.split('.').next() == Some("comments");
        let parameters = || query.split('&').map(|parameter| parameter.split_once('=').unwrap_or((parameter, "")));
        let is_feed = parameters().any(|(name, _)| name == "feed");
        let below_post = self.post.as_deref().and_then(|post| path.strip_prefix(post)?.strip_prefix('/'));
        let is_of_post = below_post.is_some_and(|rest| rest.split('/').next() == Some("feed"));
        is_of_post
            || path_of(path).split('/').any(names_comments)
            || is_feed
                && parameters().any(|(name, value)| match name {
                    "feed" => value.starts_with("comments"),
                    "p" | "page_id" | "attachment_id" => true,
                    _ => false,
                })
    }
}

/// A long base makes every short reference a long URL, so links beyond `max` bytes in total are dropped.
fn within_bytes(links: impl Iterator<Item = Link>, max: usize) -> Vec<Link> {
    let mut total = 0;
    let fits = |link: &Link| {
        total += link.url.len();
        total <= max
    };
    links.take_while(fits).collect()
}

/// Each URL once, at its first appearance. It may be followed if any of its links may.
fn unique(links: Vec<Link>) -> Vec<Link> {
    let mut first: HashMap<&str, usize> = HashMap::with_capacity(links.len());
    let mut kept: Vec<Option<bool>> = Vec::with_capacity(links.len());
    for (at, link) in links.iter().enumerate() {
        let earlier = *first.entry(&link.url).or_insert(at);
        if earlier == at {
            kept.push(Some(link.nofollow));
        } else {
            kept.push(None);
            kept[earlier] = kept[earlier].map(|nofollow| nofollow && link.nofollow);
        }
    }
    links.into_iter().zip(kept).filter_map(|(link, kept)| Some(Link { nofollow: kept?, url: link.url })).collect()
}
