//! What a page asks of robots: `X-Robots-Tag` headers and `<meta name="robots">`.
//!
//! No standard exists; this follows what the large search engines document: directives without case, `agent:` in front
//! of the header's, the strictest of everything that is meant for us.

use crate::page::Headers;

/// What a page forbids. Everything is allowed by default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RobotsMeta {
    /// The page is not to be shown in results. It is still delivered, with the flag.
    pub noindex: bool,
    /// The page's links are not to be followed.
    pub nofollow: bool,
    /// No copy of the page is to be shown.
    pub noarchive: bool,
    /// No part of the page's text is to be shown.
    pub nosnippet: bool,
    /// The page, or its images alone, are not to train models (DeviantArt's directives of 2022-11-11).
    pub noai: bool,
    pub noimageai: bool,
}

impl RobotsMeta {
    /// Forbids what either forbids.
    pub(super) fn merge(self, other: RobotsMeta) -> RobotsMeta {
        RobotsMeta {
            noindex: self.noindex || other.noindex,
            nofollow: self.nofollow || other.nofollow,
            noarchive: self.noarchive || other.noarchive,
            nosnippet: self.nosnippet || other.nosnippet,
            noai: self.noai || other.noai,
            noimageai: self.noimageai || other.noimageai,
        }
    }

    fn add(&mut self, directive: &str) {
        let is = |name: &str| directive.eq_ignore_ascii_case(name);
        self.noindex |= is("noindex") || is("none");
        self.nofollow |= is("nofollow") || is("none");
        self.noarchive |= is("noarchive") || is("nocache");
        self.nosnippet |= is("nosnippet");
        self.noai |= is("noai");
        self.noimageai |= is("noimageai");
    }
}

/// The `meta` elements called `robots` or like our own product token, as (name, content).
pub(super) fn from_meta(meta: &[(String, String)], agent: &str) -> RobotsMeta {
    let mut robots = RobotsMeta::default();
    for (name, content) in meta {
        if is_our_name(name.trim(), agent) {
            content.split([',', ';', ' ', '\t', '\n']).for_each(|directive| robots.add(directive.trim()));
        }
    }
    robots
}

/// The `X-Robots-Tag` headers: `noindex, nofollow`, `seine: nofollow`, or several agents' in one value.
pub fn from_headers(headers: &Headers, agent: &str) -> RobotsMeta {
    let mut robots = RobotsMeta::default();
    for value in headers.all("x-robots-tag") {
        // An agent's name holds for the directives behind it, until the next name or the header's end.
        let mut is_for_us = true;
        for part in value.split(',') {
            let directive = match part.split_once(':') {
                Some((name, _)) if takes_value(name.trim()) => continue,
                Some((name, directive)) => {
                    is_for_us = name.trim() == "*" || is_our_name(name.trim(), agent);
                    directive
                }
                None => part,
            };
            if is_for_us {
                robots.add(directive.trim());
            }
        }
    }
    robots
}

fn is_our_name(name: &str, agent: &str) -> bool {
    name.eq_ignore_ascii_case("robots") || (!agent.is_empty() && name.eq_ignore_ascii_case(agent))
}

/// Directives written with a colon, which are not an agent's name. None of them concerns a crawler without a search page.
fn takes_value(name: &str) -> bool {
    ["unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"]
        .iter()
        .any(|directive| name.eq_ignore_ascii_case(directive))
}
