//! What publishers say about the use of their pages, read from headers, markup, robots.txt and tdmrep.json. Its meaning
//! for a crawl is decided in [`crate::page::preferences`].
//!
//! | what | by |
//! |---|---|
//! | `Content-Usage` | draft-ietf-aipref-attach-05 (2026-08-19), its words by draft-ietf-aipref-vocab-07 (2026-08-19) and RFC 9651 |
//! | `Content-Signal` | contentsignals.org (2025-09-24), draft-romm-aipref-contentsignals-00 (2025-10-01) |
//! | `tdm-reservation`, `tdm-policy`, tdmrep.json | TDMRep, W3C Community Group Final Report of 2024-05-10 |
//! | `License`, `rel=license` with `application/rsl+xml` | RSL 1.0 (2025-12-10) |
//! | `noai`, `noimageai` | DeviantArt (2022-11-11) |
//!
//! Anything else is ignored, never an error. `Content-Usage` and `Content-Signal` in `meta` elements (by `name` or
//! `http-equiv`) are in no draft; they are read like the headers.

pub mod robots;
pub mod tdm;

use sfv::{BareItem, Dictionary, ListEntry, Parser};
use url::Url;

use super::html_facts::{HtmlFacts, is_rsl};
use super::link_header;
use super::meta::RobotsMeta;
use super::robots::MAX_LICENSES;
use crate::page::Headers;
use crate::page::preferences::{Says, Scheme, Source, Statement, Usage};
use tdm::reservation;

/// Longer URLs of terms are ignored, as for links.
const MAX_TERMS: usize = 2 << 10;

/// A `Content-Usage` dictionary (VOCAB §6). A malformed one is ignored, and so is every value but `y` and `n`.
pub fn content_usage(value: &str) -> Says {
    const LABELS: [(&str, Usage); 2] = [("train-ai", Usage::TrainAi), ("search", Usage::Search)];
    let Ok(dictionary) = Parser::new(value).parse::<Dictionary>() else { return Says::nothing() };
    let statements = LABELS.iter().filter_map(|(label, usage)| {
        let ListEntry::Item(item) = dictionary.get(*label)? else { return None };
        let BareItem::Token(token) = &item.bare_item else { return None };
        match token.as_str() {
            "y" => Some(Says::one(*usage, true)),
            "n" => Some(Says::one(*usage, false)),
            _ => None,
        }
    });
    statements.fold(Says::nothing(), Says::and)
}

/// The signals of a `Content-Signal`: `search=yes, ai-train=no`. If a signal occurs twice, the stricter one counts.
pub fn content_signal(value: &str) -> Says {
    let statements = value.split(',').filter_map(|signal| {
        let (name, answer) = signal.split_once('=')?;
        let (name, answer) = (name.trim(), answer.trim());
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        let usage = match () {
            () if is("search") => Usage::Search,
            () if is("ai-input") => Usage::AiInput,
            () if is("ai-train") => Usage::TrainAi,
            () => return None,
        };
        let is_yes = answer.eq_ignore_ascii_case("yes");
        (is_yes || answer.eq_ignore_ascii_case("no")).then(|| Says::one(usage, is_yes))
    });
    statements.fold(Says::nothing(), Says::and)
}

/// The statements in an answer's headers. `robots`: its `X-Robots-Tag` directives for us; `url`: the URL of the answer.
pub fn of_headers(headers: &Headers, robots: RobotsMeta, is_image: bool, url: &str) -> Vec<Statement> {
    let mut statements = Said::new(Source::Header, url);
    for (name, value) in &headers.0 {
        statements.take(name, value);
    }
    let links = headers.all("link").filter(|value| value.contains("rsl+xml"));
    for link in links
        .flat_map(link_header::parse)
        .filter(|link| is_rsl(&link.rel, || link.media_type.as_deref().map(Into::into)))
    {
        statements.license(&link.target, url);
    }
    statements.finish(robots, is_image)
}

/// The statements in a page's markup. `url`: the URL of the page.
pub fn of_markup(facts: &HtmlFacts, url: &str) -> Vec<Statement> {
    let mut statements = Said::new(Source::Markup, url);
    for (name, content) in &facts.meta {
        statements.take(name, content);
    }
    if !facts.rsl.is_empty() {
        let base = facts.base.as_deref().and_then(|base| resolve(base, url)).unwrap_or_else(|| url.to_owned());
        facts.rsl.iter().for_each(|target| statements.license(target, &base));
    }
    statements.finish(facts.robots, false)
}

/// Collects the statements of one source.
struct Said<'a> {
    source: Source,
    url: &'a str,
    /// The lines of a header form one dictionary (RFC 9651 §4.2).
    usage: String,
    signals: Says,
    reservation: Option<bool>,
    policy: Option<&'a str>,
    licenses: Vec<String>,
}

impl<'a> Said<'a> {
    fn new(source: Source, url: &'a str) -> Said<'a> {
        Said {
            source,
            url,
            usage: String::new(),
            signals: Says::nothing(),
            reservation: None,
            policy: None,
            licenses: Vec::new(),
        }
    }

    fn take(&mut self, name: &str, value: &'a str) {
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        match name.len() {
            13 if is("content-usage") => {
                self.usage += if self.usage.is_empty() { "" } else { ", " };
                self.usage += value;
            }
            14 if is("content-signal") => self.signals = self.signals.and(content_signal(value)),
            // If a reservation is both made and denied, it counts as made.
            15 if is("tdm-reservation") => match value.trim() {
                "1" => self.reservation = Some(true),
                "0" => self.reservation = self.reservation.or(Some(false)),
                _ => {}
            },
            10 if is("tdm-policy") => self.policy = self.policy.or(Some(value)),
            _ => {}
        }
    }

    fn license(&mut self, target: &str, base: &str) {
        if self.licenses.len() < MAX_LICENSES {
            self.licenses.extend(resolve(target, base));
        }
    }

    fn finish(self, robots: RobotsMeta, is_image: bool) -> Vec<Statement> {
        let usage = if self.usage.is_empty() { Says::nothing() } else { content_usage(&self.usage) };
        let policy = self.policy.and_then(|policy| resolve(policy, self.url));
        let directives = [
            (robots.noai || (robots.noimageai && is_image), Usage::TrainAi),
            (robots.noimageai, Usage::TrainAiImages),
            (robots.noarchive, Usage::Archive),
        ];
        let directives = directives.into_iter().filter(|(is_said, _)| *is_said);
        let robots = directives.fold(Says::nothing(), |all, (_, usage)| all.and(Says::one(usage, false)));
        let source = self.source;
        let statement = |scheme, says, terms| Statement { scheme, source, line: 0, says, terms };
        let statements =
            [(Scheme::ContentUsage, usage), (Scheme::ContentSignal, self.signals), (Scheme::Robots, robots)];
        let statements = statements.into_iter().filter(|(_, says)| !says.is_nothing());
        let statements = statements.map(|(scheme, says)| statement(scheme, says, None));
        // A policy alone belongs to the reservation that another source makes.
        let reservation = match (self.reservation, policy) {
            (Some(is_reserved), policy) => Some(reservation(is_reserved, policy, source, 0)),
            (None, policy) => policy.map(|policy| statement(Scheme::Tdmrep, Says::nothing(), Some(policy))),
        };
        let licenses = self.licenses.into_iter().map(|url| statement(Scheme::Rsl, Says::nothing(), Some(url)));
        statements.chain(reservation).chain(licenses).collect()
    }
}

/// The absolute URL of terms, in the form used to compare it with accepted terms.
pub fn terms(url: &str) -> Option<String> {
    resolved(Url::parse(url.trim()).ok()?)
}

fn resolve(target: &str, base: &str) -> Option<String> {
    terms(target).or_else(|| resolved(Url::parse(base).ok()?.join(target.trim()).ok()?))
}

fn resolved(url: Url) -> Option<String> {
    let is_web = matches!(url.scheme(), "http" | "https") && url.as_str().len() <= MAX_TERMS;
    is_web.then(|| url.into())
}
