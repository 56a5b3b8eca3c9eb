//! Recognises walls: answers that a site gives instead of a page. A challenge for browsers, a consent or log-in page, a
//! maintenance page, an error page with status 200, a parked domain.
//!
//! A wall that is taken for a page replaces a document; a page that is taken for a wall is not delivered. The second is
//! worse, because nobody sees it. So a mark in the markup counts only in a page with little text: real pages carry the
//! scripts of the same vendors.

mod addresses;
mod license;
mod marks;
mod text;
mod titles;

use std::fmt;

use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};

use crate::charset;
use crate::is_html;
use crate::page::Response;
use marks::Found;
use text::Letters;

/// A larger body is a page. The longest recorded wall has 300 KB, most have less than 30.
pub const MAX_BYTES: usize = 512 << 10;
/// Of an ordinary answer only this much is searched: each page of the crawl passes here.
const SEARCHED: usize = 24 << 10;
/// And this much of its end: style sheets and images may come before the text.
const SEARCHED_AT_END: usize = 8 << 10;
/// A page with this many links at its beginning is no wall. An error page of a site has its menu, too.
const MANY_LINKS: usize = 60;
const COUNTED: usize = 64 << 10;
/// A larger page without a title is not read for one.
const UNTITLED: usize = 16 << 10;
/// The outcome of an attempt that met a wall, in counters and lists.
pub const OUTCOME: &str = "wall";
/// Longer evidence is cut: addresses may be long.
const MAX_EVIDENCE: usize = 160;

/// An answer that is given instead of a page, and how it was recognised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Encode, Decode)]
pub struct Wall {
    #[n(0)]
    pub kind: WallKind,
    /// For people: the header, mark, title or redirect by which it was recognised.
    #[n(1)]
    pub evidence: String,
    /// The configuration delivers walls like pages.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[n(2)]
    pub is_delivered: bool,
}

/// The kinds of walls. The names are stored and are the metrics' `kind` label: add new ones, never change old ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Encode, Decode)]
#[serde(rename_all = "snake_case")]
#[cbor(index_only)]
pub enum WallKind {
    /// A challenge or block page of this vendor, as for the next ones.
    #[n(0)]
    Cloudflare,
    #[n(1)]
    AwsWaf,
    #[n(2)]
    Akamai,
    #[n(3)]
    DataDome,
    /// Formerly PerimeterX.
    #[n(4)]
    Human,
    /// With Incapsula and Distil.
    #[n(5)]
    Imperva,
    #[n(6)]
    Fastly,
    /// A challenge or block page of another or an unknown vendor.
    #[n(7)]
    Challenge,
    /// Asks for consent, and shows nothing without it.
    #[n(8)]
    Consent,
    /// Asks to log in.
    #[n(9)]
    Login,
    /// The site is being repaired, or shows an error, with a status of success.
    #[n(10)]
    Maintenance,
    /// An error page for a URL that does not exist, with a status of success.
    #[n(11)]
    NotFound,
    /// The domain has no site: it is for sale, or shows advertisements.
    #[n(12)]
    Parked,
    /// Wants a licence (RSL). The evidence is the address where it is to be had.
    #[n(13)]
    License,
}

impl WallKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [WallKind; 14] = {
        use WallKind::*;
        [
            Cloudflare,
            AwsWaf,
            Akamai,
            DataDome,
            Human,
            Imperva,
            Fastly,
            Challenge,
            Consent,
            Login,
            Maintenance,
            NotFound,
            Parked,
            License,
        ]
    };

    /// The stored name.
    pub fn name(self) -> &'static str {
        use WallKind::*;
        match self {
            Cloudflare => "cloudflare",
            AwsWaf => "aws_waf",
            Akamai => "akamai",
            DataDome => "data_dome",
            Human => "human",
            Imperva => "imperva",
            Fastly => "fastly",
            Challenge => "challenge",
            Consent => "consent",
            Login => "login",
            Maintenance => "maintenance",
            NotFound => "not_found",
            Parked => "parked",
            License => "license",
        }
    }

    /// A description for people.
    pub fn meaning(self) -> &'static str {
        use WallKind::*;
        match self {
            Cloudflare => "a challenge of Cloudflare",
            AwsWaf => "a challenge of AWS WAF",
            Akamai => "a challenge of Akamai",
            DataDome => "a challenge of DataDome",
            Human => "a challenge of HUMAN",
            Imperva => "a challenge of Imperva",
            Fastly => "a challenge of Fastly",
            Challenge => "a challenge for browsers",
            Consent => "a page that asks for consent",
            Login => "a page that asks to log in",
            Maintenance => "a maintenance or error page",
            NotFound => "an error page for a missing page",
            Parked => "a parked domain",
            License => "a licence is wanted",
        }
    }

    /// Whether it stands before the whole host, so the host is left alone for a while. The others stand before single
    /// pages.
    pub fn is_of_host(self) -> bool {
        !matches!(self, WallKind::Login | WallKind::NotFound | WallKind::License)
    }

    /// A challenge or a block, which may come with any status.
    fn is_challenge(self) -> bool {
        self <= WallKind::Challenge
    }
}

/// An answer that may be a wall.
#[derive(Debug, Clone, Copy)]
pub struct Answer<'a> {
    pub response: &'a Response,
    /// The URL that answered.
    pub url: &'a str,
    /// The URL that was asked for; another one after redirects.
    pub asked: &'a str,
}

impl Answer<'_> {
    /// Whether only the body can tell. False for what is no wall in any case: redirects, missing pages, other media than
    /// HTML, and long bodies.
    pub fn needs_body(&self) -> bool {
        let Response { status, body, .. } = self.response;
        let is_page = !matches!(status, 100..200 | 300..400 | 404 | 410);
        is_page && !body.is_empty() && body.len() <= MAX_BYTES && is_html_or_unknown(self.response)
    }

    /// The wall, if headers or addresses alone tell it.
    pub fn told_by_head(&self) -> Option<Wall> {
        license::wanted(self).or_else(|| marks::of_headers(self.response)).or_else(|| {
            let is_redirected = self.response.is_success() && self.url != self.asked;
            is_redirected.then(|| addresses::of_redirect(self.asked, self.url)).flatten()
        })
    }

    /// The wall, if its body tells it. `body`: without content codings.
    pub fn told_by_body(&self, body: &[u8]) -> Option<Wall> {
        if body.len() > MAX_BYTES || !is_html(self.response.content_type(), body) {
            return None;
        }
        let is_success = self.response.is_success();
        let is_usual = is_success && self.url == self.asked;
        if is_usual && has_many_links(body) {
            return None;
        }
        let head = body.len().min(if is_usual { SEARCHED } else { MAX_BYTES });
        let tail = body.len().saturating_sub(SEARCHED_AT_END).max(head);
        let found = Found::search([&body[..head], &body[tail..]]);
        let letters = Letters::of(body, || charset::detect(body, self.response.content_type()));
        let wall = marks::of_markup(&found, self.response.status, &letters);
        let is_asked_for = |wall: &Wall| wall.kind == WallKind::Login && addresses::is_log_in_at(self.asked);
        let wall = wall.filter(|wall| !is_asked_for(wall));
        if !is_success {
            return wall.filter(|wall| wall.kind.is_challenge());
        }
        let title = || match found.title(body) {
            Some(title) => charset::decode_text(title, charset::detect(body, self.response.content_type())),
            // Its first line is its heading.
            None if body.len() <= UNTITLED => letters.text().lines().next().unwrap_or_default().into(),
            None => "".into(),
        };
        wall.or_else(|| titles::of_title(&title(), &letters))
            .or_else(|| addresses::log_in(&found, self, &letters, &title()))
    }
}

/// The wall to which a request for `asked` is redirected, if the address `target` tells it.
pub fn of_redirect(asked: &str, target: &str) -> Option<Wall> {
    addresses::of_redirect(asked, target)
}

/// The wall that an answer is, if any. `body`: its body without content codings.
pub fn of(answer: &Answer, body: &[u8]) -> Option<Wall> {
    answer.told_by_head().or_else(|| answer.needs_body().then(|| answer.told_by_body(body)).flatten())
}

impl fmt::Display for Wall {
    /// `a challenge of Cloudflare (the header cf-mitigated: challenge)`, `a licence is wanted: https://…`.
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self.kind {
            WallKind::License => write!(out, "{}: {}", self.kind.meaning(), self.evidence),
            kind => write!(out, "{} ({})", kind.meaning(), self.evidence),
        }
    }
}

impl Wall {
    fn new(kind: WallKind, evidence: impl Into<String>) -> Wall {
        let mut evidence = evidence.into();
        evidence.truncate(evidence.floor_char_boundary(MAX_EVIDENCE));
        Wall { kind, evidence, is_delivered: false }
    }
}

/// Whether an ordinary answer has so many links that it is a page. This is cheaper than the search for marks.
fn has_many_links(body: &[u8]) -> bool {
    text::has_links(&body[..body.len().min(COUNTED)], MANY_LINKS)
}

/// Walls are HTML. An answer without a media type is judged by its beginning.
fn is_html_or_unknown(response: &Response) -> bool {
    response.content_type().is_none_or(|given| is_html(Some(given), &[]) || given.is_empty())
}
