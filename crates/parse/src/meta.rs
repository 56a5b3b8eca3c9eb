//! Robots directives of a page: `X-Robots-Tag` headers and `<meta name="robots">`.
//!
//! There is no standard. This follows the documentation of large search engines: directives in any case, `agent:`
//! before those of a header, and the strictest of all directives for us counts.

use crate::page::Headers;

/// What a page forbids. By default everything is allowed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RobotsMeta {
    /// Do not show the page in results. It is still delivered, with this flag.
    pub noindex: bool,
    /// Do not follow the page's links.
    pub nofollow: bool,
    /// Do not show a copy of the page.
    pub noarchive: bool,
    /// Do not show any of the page's text.
    pub nosnippet: bool,
    /// Do not train models with the page, or with its images (DeviantArt's directives of 2022-11-11).
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

/// From the `meta` elements named `robots` or like our product token, as (name, content).
pub(super) fn from_meta(meta: &[(String, String)], agent: &str) -> RobotsMeta {
    let mut robots = RobotsMeta::default();
    for (name, content) in meta {
        if is_our_name(name.trim(), agent) {
            content.split([',', ';', ' ', '\t', '\n']).for_each(|directive| robots.add(directive.trim()));
        }
    }
    robots
}

/// From the `X-Robots-Tag` headers: `noindex, nofollow`, `seine: nofollow`, or several agents in one value.
pub fn from_headers(headers: &Headers, agent: &str) -> RobotsMeta {
    let mut robots = RobotsMeta::default();
    for value in headers.all("x-robots-tag") {
        // The name of an agent applies to the directives after it, up to the next name or the end of the header.
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

/// Directives with a colon, which is not that of an agent's name. None of them matters to a crawler without a search
/// page.
fn takes_value(name: &str) -> bool {
    ["unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"]
        .iter()
        .any(|directive| name.eq_ignore_ascii_case(directive))
}
