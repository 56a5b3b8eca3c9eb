//! Pagestore (the page “PageStore” of Bayes-Swarm's wiki): a folder per day, in it a folder per page, and `META` files
//! that list the pages.
//!
//! `<yyyy>/<mm>/<dd>/<md5 of the URL>/contents.html` holds a page or a feed's XML. The day's `META` has a line for
//! each: `md5 url page_id kind language`, with kind `url` or `rss`. A feed's new articles are in `<md5 of the
//! feed>/<md5 of the article>/contents.html`. The feed's `META` lists them as `md5 url feed_id rssitem language`, with
//! id and language of the feed. Old stores have only `md5 url` in both.
//!
//! Months and days are written with two digits. They are also read with one digit, as the original program wrote them.
//!
//! The fields of a line are separated by blanks, without quotes. So blanks, control characters and line ends of a URL
//! are percent-encoded, and its MD5 is that of the encoded URL, in the line and in folder names. (Seine's first stores
//! have folders named after the original URL: [`MetaEntry::folders`].) Other programs wrote URLs unencoded. When a line
//! is read, the fields at both ends are removed and the rest is the URL, including blanks. If there are two ways to do
//! this, the one with the right MD5 counts.

mod format;
mod meta_reader;

use std::fmt;

use bytes::Bytes;
use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE, HEXUPPER};
use md5::{Digest, Md5};
use time::{Date, Month, OffsetDateTime};

use seine_parse::is_html;
use seine_parse::page::{EpochMs, Outcome, PageEvent, Relevance, Response, string_to_latin1};

pub use format::{FORMAT, meta_path};
pub use meta_reader::{MAX_LINE, MetaError, MetaReader};

/// If a URL has more escapes than this, only two variants are tried to find its folder: with none decoded, and with
/// all.
const MAX_ESCAPES: usize = 8;

pub const CONTENTS: &str = "contents.html";
pub const META: &str = "META";
/// Written if the language is unknown (ISO 639-2).
const UNDETERMINED: &str = "und";

/// The MD5 of a URL: 32 lower-case hex digits, the name of its folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UrlHash([u8; 16]);

/// A line of a `META` file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetaEntry {
    /// The hash in the line. It matches [`url`](Self::url) unless the line is damaged.
    pub hash: UrlHash,
    pub url: String,
    /// None in old stores.
    pub details: Option<Details>,
}

/// The additional fields of newer lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Details {
    /// Id of the page or feed; for an article that of its feed.
    pub id: u64,
    pub kind: PageKind,
    /// A code such as `en`; for an article that of its feed. None if unknown.
    pub language: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PageKind {
    /// A web page.
    Url,
    /// A feed.
    Rss,
    /// An article of a feed.
    RssItem,
}

/// A file of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StorePath {
    /// A day's `META`: its pages and feeds.
    DayMeta { day: Date },
    /// The content of a page or a feed.
    Page { day: Date, page: UrlHash },
    /// A feed's `META`: its articles.
    FeedMeta { day: Date, feed: UrlHash },
    /// The content of an article.
    Article { day: Date, feed: UrlHash, article: UrlHash },
}

/// A page from a store: a line of a `META` file and the content it refers to.
#[derive(Debug, Clone, PartialEq)]
pub struct PagestoreRecord {
    pub day: Date,
    pub entry: MetaEntry,
    pub contents: Bytes,
}

/// The day in UTC that a time belongs to. Times after the year 9999 belong to its last day.
pub fn day_of(ms: EpochMs) -> Date {
    let seconds = i64::try_from(ms / 1000).unwrap_or(i64::MAX);
    OffsetDateTime::from_unix_timestamp(seconds).map_or(Date::MAX, OffsetDateTime::date)
}

impl UrlHash {
    /// The MD5 of exactly this text.
    pub fn of(url: &str) -> UrlHash {
        UrlHash(Md5::digest(url).into())
    }

    /// The MD5 of a URL as encoded in a line. It names the folder of a page to be written.
    pub fn written(url: &str) -> UrlHash {
        UrlHash::of(&without_blanks(url))
    }

    /// Reads 32 hex digits in any case.
    pub fn parse(text: &str) -> Option<UrlHash> {
        HEXLOWER_PERMISSIVE.decode(text.as_bytes()).ok()?.try_into().ok().map(UrlHash)
    }
}

impl fmt::Display for UrlHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&HEXLOWER.encode(&self.0))
    }
}

impl PageKind {
    /// The name in a line.
    pub fn name(self) -> &'static str {
        match self {
            PageKind::Url => "url",
            PageKind::Rss => "rss",
            PageKind::RssItem => "rssitem",
        }
    }

    pub fn parse(name: &str) -> Option<PageKind> {
        [PageKind::Url, PageKind::Rss, PageKind::RssItem].into_iter().find(|kind| kind.name() == name)
    }
}

impl MetaEntry {
    /// The entry for a page to be written. The URL is encoded for a line, and hashed as such.
    pub fn new(url: &str, details: Option<Details>) -> MetaEntry {
        let url = without_blanks(url);
        MetaEntry { hash: UrlHash::of(&url), url, details }
    }

    /// Folder names that the page may have, most likely first: the hash itself, then hashes of the URL with some of its
    /// escapes decoded.
    pub fn folders(&self) -> impl Iterator<Item = UrlHash> {
        let places = escapes(&self.url);
        // One bit per escape that is decoded. All of them first.
        let ways = if places.len() <= MAX_ESCAPES { 1_u32 << places.len() } else { 2 };
        let all = if places.len() <= MAX_ESCAPES { ways - 1 } else { u32::MAX };
        let masks = (1..ways).rev().map(move |mask| if ways == 2 { all } else { mask });
        let url = self.url.clone();
        std::iter::once(self.hash).chain(masks.map(move |mask| UrlHash::of(&unescaped(&url, &places, mask))))
    }

    /// Whether the hash belongs to the URL: as written in the line, with escapes decoded, or in ISO 8859-1 as by other
    /// programs.
    pub(crate) fn has_right_hash(&self) -> bool {
        let is_latin1 = self.url.chars().all(|c| u32::from(c) < 256);
        let latin1 = || UrlHash(Md5::digest(string_to_latin1(&self.url)).into());
        // The first folder is the hash itself.
        UrlHash::written(&self.url) == self.hash
            || UrlHash::of(&self.url) == self.hash
            || self.folders().skip(1).any(|hash| hash == self.hash)
            || (is_latin1 && latin1() == self.hash)
    }

    /// Reads a line, with or without its line end.
    pub fn parse(line: &str) -> Option<MetaEntry> {
        let line = line.trim_end_matches(['\r', '\n']);
        let (hash, rest) = line.split_at_checked(32)?;
        let hash = UrlHash::parse(hash)?;
        let rest = rest.strip_prefix([' ', '\t'])?;
        let readings = [with_language(rest), without_language(rest), Some((rest, None))];
        // The URL unchanged, and without surrounding blanks.
        let readings = readings.into_iter().flatten().filter(|(url, _)| !url.trim().is_empty());
        let mut readings = readings.flat_map(|(url, details)| [(url, details.clone()), (url.trim(), details)]);
        let is_right = |(url, _): &(&str, Option<Details>)| UrlHash::of(url) == hash;
        let (url, details) = readings.clone().find(is_right).or_else(|| readings.nth(1))?;
        Some(MetaEntry { hash, url: url.to_owned(), details })
    }

    /// Appends the line to `out`, with its line feed.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(format!("{} {}", self.hash, without_blanks(&self.url)).as_bytes());
        if let Some(Details { id, kind, language }) = &self.details {
            let language: String = language.iter().flat_map(|it| it.split_whitespace()).collect();
            let language = if language.is_empty() { UNDETERMINED } else { &language };
            out.extend_from_slice(format!(" {id} {} {language}", kind.name()).as_bytes());
        }
        out.push(b'\n');
    }
}

/// `url id kind language`
fn with_language(rest: &str) -> Option<(&str, Option<Details>)> {
    let (rest, language) = rest.trim_end().rsplit_once(is_blank)?;
    let (rest, kind) = rest.trim_end().rsplit_once(is_blank)?;
    details(rest, kind, Some(language).filter(|it| *it != UNDETERMINED && *it != "-"))
}

/// `url id kind`: the original program did not store a language.
fn without_language(rest: &str) -> Option<(&str, Option<Details>)> {
    let (rest, kind) = rest.trim_end().rsplit_once(is_blank)?;
    details(rest, kind, None)
}

fn details<'a>(rest: &'a str, kind: &str, language: Option<&str>) -> Option<(&'a str, Option<Details>)> {
    let kind = PageKind::parse(kind)?;
    let (url, id) = rest.trim_end().rsplit_once(is_blank)?;
    let is_number = id.bytes().all(|byte| byte.is_ascii_digit());
    let id = id.parse().ok().filter(|_| is_number && !url.trim().is_empty())?;
    Some((url, Some(Details { id, kind, language: language.map(str::to_owned) })))
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t')
}

/// The URL with field separators and line ends percent-encoded.
fn without_blanks(url: &str) -> String {
    let mut out = String::with_capacity(url.len());
    let mut bytes = [0; 4];
    for c in url.chars() {
        if c.is_whitespace() || c.is_control() {
            out.extend(c.encode_utf8(&mut bytes).bytes().map(|byte| format!("%{byte:02X}")));
        } else {
            out.push(c);
        }
    }
    out
}

/// Positions of escapes written by [`without_blanks`], with the character of each.
fn escapes(url: &str) -> Vec<(std::ops::Range<usize>, char)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = url[at..].find('%').map(|found| at + found) {
        let bytes: Vec<u8> = url.as_bytes()[start..].chunks_exact(3).map_while(escaped_byte).take(4).collect();
        // As many escapes as one character takes.
        let c = (1..=bytes.len()).find_map(|count| std::str::from_utf8(&bytes[..count]).ok()?.chars().next());
        let end = start + c.map_or(1, |c| 3 * c.len_utf8());
        found.extend(c.filter(|c| c.is_whitespace() || c.is_control()).map(|c| (start..end, c)));
        at = end;
    }
    found
}

/// `%2A`, with upper-case digits.
fn escaped_byte(three: &[u8]) -> Option<u8> {
    let digits = three.strip_prefix(b"%")?;
    HEXUPPER.decode(digits).ok()?.first().copied()
}

/// The URL with those escapes decoded whose bit is set.
fn unescaped(url: &str, places: &[(std::ops::Range<usize>, char)], mask: u32) -> String {
    let mut out = String::with_capacity(url.len());
    let mut at = 0;
    for (number, (range, c)) in places.iter().enumerate() {
        if mask == u32::MAX || mask & (1 << number) != 0 {
            out.push_str(&url[at..range.start]);
            out.push(*c);
            at = range.end;
        }
    }
    out + &url[at..]
}

impl StorePath {
    /// Path in the store's folder, separated by `/`.
    pub fn path(&self) -> String {
        match self {
            StorePath::DayMeta { day } => format!("{}/{META}", day_path(*day)),
            StorePath::Page { day, page } => format!("{}/{page}/{CONTENTS}", day_path(*day)),
            StorePath::FeedMeta { day, feed } => format!("{}/{feed}/{META}", day_path(*day)),
            StorePath::Article { day, feed, article } => format!("{}/{feed}/{article}/{CONTENTS}", day_path(*day)),
        }
    }

    /// The kind of a path in the store's folder. None if it does not belong to a store.
    pub fn parse(path: &str) -> Option<StorePath> {
        let mut parts = path.split('/');
        let day = day(parts.next()?, parts.next()?, parts.next()?)?;
        let rest: Vec<&str> = parts.take(4).collect();
        Some(match rest[..] {
            [META] => StorePath::DayMeta { day },
            [page, CONTENTS] => StorePath::Page { day, page: UrlHash::parse(page)? },
            [feed, META] => StorePath::FeedMeta { day, feed: UrlHash::parse(feed)? },
            [feed, article, CONTENTS] => {
                StorePath::Article { day, feed: UrlHash::parse(feed)?, article: UrlHash::parse(article)? }
            }
            _ => return None,
        })
    }
}

/// `<yyyy>/<mm>/<dd>`, the folder of a day.
pub fn day_path(day: Date) -> String {
    format!("{:04}/{:02}/{:02}", day.year(), u8::from(day.month()), day.day())
}

/// The day that three folder names stand for; month and day may lack a leading zero.
pub fn day(year: &str, month: &str, day: &str) -> Option<Date> {
    let is_number = |text: &str, digits: std::ops::RangeInclusive<usize>| {
        digits.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    if !is_number(year, 4..=4) || !is_number(month, 1..=2) || !is_number(day, 1..=2) {
        return None;
    }
    let month = Month::try_from(month.parse::<u8>().ok()?).ok()?;
    Date::from_calendar_date(year.parse().ok()?, month, day.parse().ok()?).ok()
}

impl PagestoreRecord {
    /// Turns the record into an event: fetched at the start of its day in UTC, with status 200.
    pub fn into_event(self) -> PageEvent {
        let mut event = PageEvent::empty(self.entry.url);
        let seconds = self.day.midnight().assume_utc().unix_timestamp();
        event.started_ms = EpochMs::try_from(seconds).unwrap_or_default() * 1000;
        event.ended_ms = event.started_ms;
        event.relevance = Relevance::by_type(is_html(None, &self.contents));
        if let Outcome::Response(Response { body, .. }) = &mut event.outcome {
            *body = self.contents;
        }
        event.give_id();
        event
    }
}
