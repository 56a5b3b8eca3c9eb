//! robots.txt (RFC 9309): parsed once for one user agent, then asked for every URL.
//!
//! We wrote our own parser because the crates `texting_robots` 0.2.2 and `robotstxt` 0.3.0 fail 13 and 34 of the 360
//! undisputed cases of the public test suites (percent-encoding, `$`, groups that share rules).
//!
//! Beyond the RFC, like large search engines, it supports `Crawl-delay`, known misspellings, a missing colon, and
//! `Allow: /dir/index.html` as permission for `/dir/`.
//!
//! A normalised URL has its parameters in another order than the links of its site. So it is checked in any order
//! ([`RobotsTxt::decision_in_any_order`]).

use std::borrow::Cow;
use std::time::Duration;

use super::path_pattern::{Pattern, canonical};
use super::preferences::robots::{UsageLine, UsageRules, license};
use crate::page::preferences::{Scheme, Statement};

/// Bytes of a file that are read; the rest is ignored (RFC 9309 §2.5 requires at least 500 KiB).
pub const MAX_BYTES: usize = 500 * 1024;

/// Queries with more parameters are checked as they are.
const MAX_PARAMETERS: usize = 100;

/// Orders of a query that are checked, after those that do not fit their own rule.
const MAX_ORDERS: usize = 16;

/// Licences that are read from one source.
pub(super) const MAX_LICENSES: usize = 8;

/// The rules of a robots.txt for one user agent. Memory is at most a small multiple of the file's size.
#[derive(Debug, Clone, Default)]
pub struct RobotsTxt {
    /// The first match decides: longest first, and `allow` first among equally long ones (§2.2.2).
    rules: Vec<Rule>,
    /// A `disallow` says at which position a parameter must be.
    orders_parameters: bool,
    crawl_delay: Option<Duration>,
    sitemaps: Vec<String>,
    usage: UsageRules,
    licenses: Vec<Statement>,
}

/// A rule for some paths.
#[derive(Debug, Clone)]
pub struct Rule {
    pattern: Pattern,
    pub allow: bool,
    /// Its line number, from 1.
    pub line: u32,
}

/// The text of a line, numbered from 1 as by [`RobotsTxt::parse`].
pub fn line_of(bytes: &[u8], line: u32) -> Option<String> {
    let text = text_of(bytes);
    text.split(['\n', '\r']).nth(line.checked_sub(1)? as usize).map(|line| line.trim().to_owned())
}

impl RobotsTxt {
    /// Parses a file. `agent` is the crawler's product token (anything after a `/` or a space is dropped). All groups
    /// for this agent apply, otherwise those for `*`. Unreadable parts are skipped, whatever the bytes.
    pub fn parse(bytes: &[u8], agent: &str) -> RobotsTxt {
        let text = text_of(bytes);
        let agent = product_token(agent);
        let (mut own, mut common) = (Group::default(), Group::default());
        let (mut sitemaps, mut licenses) = (Vec::new(), Vec::new());
        let mut among_agents = false;
        for (number, line) in (1..).zip(text.split(['\n', '\r'])) {
            let Some(line) = Line::read(line) else { continue };
            if let Line::UserAgent(name) = line {
                if !among_agents {
                    (own.open, common.open) = (false, false);
                }
                own.open_if(product_token(name) == agent);
                common.open_if(product_token(name) == "*");
            }
            match line {
                Line::Sitemap(url) => sitemaps.push(url.to_owned()),
                Line::License(url) => licenses.extend(license(url, number)),
                Line::Foreign => {}
                _ => among_agents = matches!(line, Line::UserAgent(_)),
            }
            own.take(&line, number);
            common.take(&line, number);
        }
        let Group { mut rules, crawl_delay, usage, .. } = if own.named { own } else { common };
        rules.sort_by_key(|rule| (std::cmp::Reverse(rule.pattern.length()), !rule.allow));
        let orders_parameters = rules.iter().any(|rule| !rule.allow && rule.pattern.orders_parameters());
        let usage = UsageRules::new(&usage);
        RobotsTxt { rules, orders_parameters, crawl_delay, sitemaps, usage, licenses }
    }

    /// Whether the URL with this path and query (`/a?b=c`) may be fetched. robots.txt itself always may (§2.2.2).
    pub fn allows(&self, path_and_query: &str) -> bool {
        self.decision(path_and_query).is_none_or(|decision| decision.allow)
    }

    /// The rule that decides; none if no rule applies, so that the URL is allowed.
    pub fn decision(&self, path_and_query: &str) -> Option<&Rule> {
        if path_and_query == "/robots.txt" || self.rules.is_empty() {
            return None;
        }
        self.first_match(&canonical(path_and_query, false))
    }

    fn first_match(&self, path: &[u8]) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.pattern.matches(path))
    }

    /// As [`RobotsTxt::allows`], for a normalised URL.
    pub fn allows_in_any_order(&self, path_and_query: &str) -> bool {
        self.decision_in_any_order(path_and_query).is_none_or(|decision| decision.allow)
    }

    /// The rule that decides about a normalised URL. Normalisation sorts parameters, so it is unknown in which order the
    /// site links the URL. A rule that forbids it in any order forbids it; `Disallow: /a?session=` also forbids
    /// `/a?b=1&session=2`. Removed parameters do not count, because Seine requests the URL without them.
    pub fn decision_in_any_order(&self, path_and_query: &str) -> Option<&Rule> {
        let decision = self.decision(path_and_query);
        if !self.orders_parameters || decision.is_some_and(|decision| !decision.allow) {
            return decision;
        }
        let path = canonical(path_and_query, false);
        let Some(at) = memchr::memchr(b'?', &path) else { return decision };
        let parameters: Vec<&[u8]> = path[at + 1..].split(|&byte| byte == b'&').collect();
        if parameters.len() > MAX_PARAMETERS {
            return decision;
        }
        let forbidding = self.rules.iter().filter(|rule| !rule.allow);
        let orders = forbidding.filter_map(|rule| {
            let ordered = rule.pattern.in_its_order(&path[..at], &parameters)?;
            rule.pattern.matches(&ordered).then_some(ordered)
        });
        let mut decisions = orders.take(MAX_ORDERS).filter_map(|ordered| self.first_match(&ordered));
        decisions.find(|decision| !decision.allow).or(decision)
    }

    /// The statements about the use of a path that may be fetched, and its terms.
    pub fn preferences(&self, path_and_query: &str) -> Vec<Statement> {
        let mut said = Vec::new();
        self.usage.say(path_and_query, &mut said);
        said.extend(self.licenses.iter().take(MAX_LICENSES).cloned());
        said
    }

    /// The requested delay between two fetches; the longest if there are several.
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.crawl_delay
    }

    /// The values of `Sitemap` lines as written, from all groups.
    pub fn sitemaps(&self) -> &[String] {
        &self.sitemaps
    }
}

/// The lines of all groups for one agent, merged (§2.2.1).
#[derive(Default)]
struct Group {
    /// A user-agent line named the agent.
    named: bool,
    /// The current lines apply to the agent.
    open: bool,
    rules: Vec<Rule>,
    crawl_delay: Option<Duration>,
    usage: Vec<UsageLine>,
}

impl Group {
    fn open_if(&mut self, named: bool) {
        self.open |= named;
        self.named |= named;
    }

    fn take(&mut self, line: &Line, number: u32) {
        match *line {
            Line::Rule { allow, path } if self.open => self.rules.extend(rules(allow, path, number)),
            Line::Usage(scheme, value) if self.open => {
                self.usage.push(UsageLine { scheme, value: value.to_owned(), number })
            }
            Line::CrawlDelay(delay) if self.open => self.crawl_delay = self.crawl_delay.max(seconds(delay)),
            _ => {}
        }
    }
}

#[derive(Clone, Copy)]
enum Line<'a> {
    UserAgent(&'a str),
    Rule {
        allow: bool,
        path: &'a str,
    },
    CrawlDelay(&'a str),
    /// A rule of its group, like rules for paths (draft-ietf-aipref-attach §3).
    Usage(Scheme, &'a str),
    Sitemap(&'a str),
    /// RSL: applies to every agent, like [`Line::Sitemap`].
    License(&'a str),
    /// Another record: it neither belongs to a group nor ends a run of user-agent lines (§2.2.4).
    Foreign,
}

impl Line<'_> {
    /// None if the line is not a record: comments, empty lines, prose.
    fn read(line: &str) -> Option<Line<'_>> {
        let line = line.split('#').next().unwrap_or_default().trim();
        let (key, value) = line.split_once(':').or_else(|| without_colon(line))?;
        let value = value.trim();
        Some(match key.trim().to_ascii_lowercase().as_str() {
            "user-agent" | "useragent" | "user agent" => Line::UserAgent(value),
            "allow" => Line::Rule { allow: true, path: value },
            "disallow" | "dissallow" | "dissalow" | "disalow" | "diasllow" | "disallaw" => {
                Line::Rule { allow: false, path: value }
            }
            "crawl-delay" | "crawldelay" | "crawl delay" => Line::CrawlDelay(value),
            "content-usage" => Line::Usage(Scheme::ContentUsage, value),
            "content-signal" => Line::Usage(Scheme::ContentSignal, value),
            "license" => Line::License(value),
            "sitemap" | "site-map" if !value.is_empty() => Line::Sitemap(value),
            // An unknown key with a path is treated as a rule without effect, so that it ends a run of user-agent
            // lines.
            _ if value.starts_with('/') => Line::Rule { allow: true, path: "" },
            _ => Line::Foreign,
        })
    }
}

/// `disallow /path`: exactly two words.
fn without_colon(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(char::is_whitespace)?;
    let value = value.trim();
    (!value.contains(char::is_whitespace)).then_some((key, value))
}

fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    let bytes = match bytes.get(..MAX_BYTES) {
        // Drops the line that was cut: half a path would forbid more than the whole one.
        Some(head) if bytes.len() > MAX_BYTES => {
            let end = memchr::memrchr2(b'\n', b'\r', head).unwrap_or(0);
            &head[..end]
        }
        _ => bytes,
    };
    String::from_utf8_lossy(bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes))
}

fn product_token(name: &str) -> String {
    name.trim().split(|c: char| c == '/' || c.is_whitespace()).next().unwrap_or_default().to_lowercase()
}

fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.parse().ok()?).ok()
}

/// The rule of one line; none if its path is empty (it then has no effect), two for an index page.
fn rules(allow: bool, path: &str, line: u32) -> impl Iterator<Item = Rule> {
    let rule = move |path: &str| Rule { pattern: Pattern::new(path), allow, line };
    let written = (!path.is_empty()).then(|| rule(path));
    let folder = path.rfind("/index.htm").filter(|&at| allow && !path[at + 1..].contains('/'));
    written.into_iter().chain(folder.map(move |at| rule(&format!("{}$", &path[..=at]))))
}
