//! Selects some pages of an archive.

use regex::Regex;
use seine_formats::stored_fields::Field;
use seine_formats::text::parse_iso;
use seine_parse::page::EpochMs;
use seine_parse::url::host;
use time::OffsetDateTime;
use time::macros::{format_description, time};

use super::read::Page;

/// Conditions for a page; the default selects all pages.
#[derive(Debug, Clone, Default)]
pub(crate) struct PageFilter {
    /// Must match somewhere in the URL requested or the final URL.
    pub url: Option<Regex>,
    /// One of these must be the host of the URL. If it begins with a dot, the host must end with it.
    pub hosts: Vec<String>,
    /// Fetched at this time or later. Excludes pages with an unknown time.
    pub from: Option<EpochMs>,
    /// Fetched before this time.
    pub until: Option<EpochMs>,
    /// The status must be in one of these ranges.
    pub statuses: Vec<(u16, u16)>,
    /// The media type must be one of these: `text/html`, `image/*`.
    pub types: Vec<String>,
}

impl PageFilter {
    pub(crate) fn takes(&self, page: &Page) -> bool {
        let event = &page.event;
        let urls = [&event.url, &event.final_url];
        self.url.as_ref().is_none_or(|pattern| urls.iter().any(|url| pattern.is_match(url)))
            && (self.hosts.is_empty() || urls.iter().any(|url| self.has_host(url)))
            && (self.from.is_none() && self.until.is_none() || !page.lacks.has(Field::Fetched))
            && self.from.is_none_or(|from| event.ended_ms >= from)
            && self.until.is_none_or(|until| event.ended_ms < until)
            && (self.statuses.is_empty() || event.response().is_some_and(|it| self.has_status(page, it.status)))
            && (self.types.is_empty() || event.response().is_some_and(|it| self.has_type(it.content_type())))
    }

    fn has_host(&self, url: &str) -> bool {
        let Some(host) = host(url) else { return false };
        self.hosts.iter().any(|wanted| match wanted.strip_prefix('.') {
            Some(domain) => host == domain || host.ends_with(wanted.as_str()),
            None => host == wanted,
        })
    }

    /// Formats without a status contain only 2xx pages. Such a page may have any 2xx status.
    fn has_status(&self, page: &Page, status: u16) -> bool {
        let (low, high) = if page.lacks.has(Field::Status) { (200, 299) } else { (status, status) };
        self.statuses.iter().any(|(first, last)| *first <= high && low <= *last)
    }

    fn has_type(&self, content_type: Option<&str>) -> bool {
        let essence = content_type.unwrap_or_default().split(';').next().unwrap_or_default().trim();
        self.types.iter().any(|wanted| match wanted.strip_suffix('*') {
            Some(start) => essence.get(..start.len()).is_some_and(|it| it.eq_ignore_ascii_case(start)),
            None => essence.eq_ignore_ascii_case(wanted),
        })
    }
}

/// `200`, `200-299`, `4xx`.
pub(crate) fn parse_status(text: &str) -> Result<(u16, u16), String> {
    let number = |text: &str| text.parse::<u16>().ok().filter(|status| (100..=999).contains(status));
    let range = match (text.strip_suffix("xx"), text.split_once('-')) {
        (Some(class), _) => {
            class.parse().ok().filter(|class| (1..=9).contains(class)).map(|it: u16| (it * 100, it * 100 + 99))
        }
        (None, Some((first, last))) => number(first).zip(number(last)),
        (None, None) => number(text).map(|status| (status, status)),
    };
    range.ok_or_else(|| "a status (200), a class (4xx) or a range (200-299)".into())
}

/// The beginning of a day (`2026-11-21`, in UTC), or a time (`2026-11-21T14:30:00Z`).
pub(crate) fn parse_from(text: &str) -> Result<EpochMs, String> {
    parse_time(text, 0)
}

/// The end of a day, or a time.
pub(crate) fn parse_until(text: &str) -> Result<EpochMs, String> {
    parse_time(text, 86_400_000)
}

fn parse_time(text: &str, behind_day: EpochMs) -> Result<EpochMs, String> {
    let day = time::Date::parse(text, format_description!("[year]-[month]-[day]")).ok();
    let day = day.map(|day| OffsetDateTime::new_utc(day, time!(0:00)).unix_timestamp());
    match day {
        Some(seconds) => EpochMs::try_from(seconds).ok().map(|seconds| seconds * 1000 + behind_day),
        None => parse_iso(text),
    }
    .ok_or_else(|| "a day such as 2026-11-21, or a time such as 2026-11-21T14:30:00Z".into())
}
