//! The links of a page: what its markup and its headers refer to, resolved and normalised, each once.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;

use ::url::Url as BaseUrl;
use encoding_rs::Encoding;

use super::html_facts::{self, HtmlFacts, LinkSource};
use super::link_header;
use super::query;
use super::requisites::Named;
use super::url::{self, MAX_LINK_BYTES};
use super::{DeriveOptions, Derived, Link};
use crate::page::{PageEvent, Response};

/// A target in a header, as written.
pub(super) struct HeaderTarget {
    target: String,
    rel: String,
    source: LinkSource,
}

/// The `Link` headers that name pages or feeds, and the `Refresh` header's URL.
pub(super) fn of_headers(response: &Response) -> Vec<HeaderTarget> {
    let links = response.headers.all("link").flat_map(link_header::parse).filter_map(|link| {
        let source = html_facts::relation(&link.rel, || link.media_type.map(Cow::from))?;
        Some(HeaderTarget { target: link.target, rel: link.rel, source })
    });
    let refresh = response.headers.get("refresh").and_then(html_facts::parse_refresh);
    let refresh = refresh.map(|(_, target)| HeaderTarget { target, rel: String::new(), source: LinkSource::Refresh });
    links.chain(refresh).collect()
}

/// What a header names as canonical.
pub(super) fn canonical(headers: &[HeaderTarget], page: &BaseUrl, dropped: &[String]) -> Option<String> {
    let named = headers.iter().find(|header| html_facts::has_token(&header.rel, "canonical"))?;
    Some(query::without(url::resolve(page, &named.target)?, dropped))
}

/// What a reference on a page is known by, as [`Document::links`] has it.
pub(crate) struct Resolver<'a> {
    page: BaseUrl,
    encoding: &'static Encoding,
    dropped: &'a [String],
    /// The last base that was asked with, and what it came to.
    base: RefCell<Option<(String, BaseUrl)>>,
}

impl<'a> Resolver<'a> {
    pub fn new(page: BaseUrl, derived: &Derived, dropped: &'a [String]) -> Resolver<'a> {
        Resolver { page, encoding: derived.encoding(), dropped, base: RefCell::default() }
    }

    /// `base`: what the page names as its base, as written.
    pub fn resolve(&self, base: Option<&str>, href: &str) -> Option<String> {
        let href = href.trim_matches(html_facts::is_html_space);
        let resolved = match base {
            None => url::resolve_in(&self.page, href, self.encoding),
            Some(named) => {
                let mut known = self.base.borrow_mut();
                if known.as_ref().is_none_or(|(known, _)| known != named) {
                    *known = Some((named.to_owned(), base_of(&self.page, Some(named))));
                }
                url::resolve_in(&known.as_ref()?.1, href, self.encoding)
            }
        };
        Some(query::without(resolved?, self.dropped))
    }
}

fn base_of(page: &BaseUrl, named: Option<&str>) -> BaseUrl {
    let is_web = |url: &BaseUrl| matches!(url.scheme(), "http" | "https");
    named
        .and_then(|href| page.join(href.trim_matches(html_facts::is_html_space)).ok())
        .filter(is_web)
        .unwrap_or_else(|| page.clone())
}

/// A page whose links are resolved.
pub(super) struct Document<'a> {
    page: &'a BaseUrl,
    base: BaseUrl,
    facts: &'a HtmlFacts,
    encoding: &'static Encoding,
    dropped: &'a [String],
}

impl<'a> Document<'a> {
    /// `encoding`: the page's own, which the queries of its links are in. `dropped`: parameters that are taken out of them.
    pub fn new(
        page: &'a BaseUrl,
        facts: &'a HtmlFacts,
        encoding: &'static Encoding,
        dropped: &'a [String],
    ) -> Document<'a> {
        let base = base_of(page, facts.base.as_deref());
        Document { page, base, facts, encoding, dropped }
    }

    /// What the markup names as canonical.
    pub fn canonical(&self) -> Option<String> {
        self.resolve(self.facts.canonical.as_deref()?)
    }

    /// Those of the headers, then those of the markup. They are flagged by their own `rel` alone.
    /// `forms`: where forms lead, as written.
    pub fn links(&self, headers: &[HeaderTarget], forms: &[String]) -> Vec<Link> {
        let feeds = Feeds::of(self.page, self.facts);
        let of_headers = headers.iter().filter_map(|header| {
            let url = query::without(url::resolve(self.page, &header.target)?, self.dropped);
            Some((Link { url, nofollow: html_facts::is_nofollow(&header.rel) }, header.source))
        });
        let of_markup =
            self.facts.links.iter().filter_map(|link| {
                Some((Link { url: self.resolve(&link.href)?, nofollow: link.nofollow }, link.source))
            });
        let of_forms = forms
            .iter()
            .filter_map(|action| Some((Link { url: self.resolve(action)?, nofollow: false }, LinkSource::A)));
        let wanted = of_headers.chain(of_markup).chain(of_forms).filter(|(link, source)| {
            // Only what a page offers as a feed is judged: who links to one has a reason.
            *source != LinkSource::Feed || !feeds.is_of_comments(&link.url)
        });
        unique(within_bytes(wanted.map(|(link, _)| link), MAX_LINK_BYTES))
    }

    /// `references`: what the page needs to be shown, as written.
    pub fn requisites(&self, references: &[String]) -> Vec<String> {
        each_once(references.iter().filter_map(|reference| self.resolve(reference)))
    }

    fn resolve(&self, href: &str) -> Option<String> {
        Some(query::without(url::resolve_in(&self.base, href, self.encoding)?, self.dropped))
    }
}

/// What a style sheet names.
pub(super) fn of_style_sheet(css: &str, event: &PageEvent, options: &DeriveOptions) -> Vec<String> {
    let Ok(sheet) = BaseUrl::parse(&event.final_url) else { return Vec::new() };
    let named = Named::of_style_sheet(css, options).references;
    each_once(named.iter().filter_map(|reference| url::resolve(&sheet, reference)))
}

fn each_once(urls: impl Iterator<Item = String>) -> Vec<String> {
    let links = urls.map(|url| Link { url, nofollow: false });
    unique(within_bytes(links, MAX_LINK_BYTES)).into_iter().map(|link| link.url).collect()
}

/// The feeds that a page offers. Those of comments name no pages but those whose comments they are: nothing is learned from
/// them, and every post has its own.
struct Feeds {
    /// The page itself, without a slash at its end, when it is a single post.
    post: Option<String>,
}

impl Feeds {
    fn of(page: &BaseUrl, facts: &HtmlFacts) -> Feeds {
        let page = facts.has_shortlink.then(|| url::normalize(page)).flatten();
        let post = page.map(|page| page.split('?').next().unwrap_or_default().trim_end_matches('/').to_owned());
        // The front page, which may be a single one, has the feed of the site.
        Feeds { post: post.filter(|post| url::origin(post) != Some(post)) }
    }

    /// `feed`: normalised. WordPress: `/comments/feed/`, `/post/feed/` (`/category/news/feed/` is of posts), `?feed=comments-rss2`,
    /// `?feed=rss2&p=5`. Blogger: `/feeds/8839/comments/default`.
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

/// A long base makes a long URL of every short reference; the links beyond so many bytes are left out.
fn within_bytes(links: impl Iterator<Item = Link>, max: usize) -> Vec<Link> {
    let mut total = 0;
    let fits = |link: &Link| {
        total += link.url.len();
        total <= max
    };
    links.take_while(fits).collect()
}

/// Each URL once, where it first appears; it may be followed if any of its links may.
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
