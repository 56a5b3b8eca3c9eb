//! Pagestore (the page “PageStore” of Bayes-Swarm's wiki): a folder a day, in it a folder a page, and `META`
//! files that say which page is which.
//!
//! `<yyyy>/<mm>/<dd>/<md5 of the URL>/contents.html` holds a page or a feed's XML; the day's `META` has a line for each,
//! `md5 url page_id kind language`, kind `url` or `rss`. A feed's new articles are in `<md5 of the feed>/<md5 of the
//! article>/contents.html`; the feed's `META` lists them as `md5 url feed_id rssitem language`: id and language are the
//! feed's. Old stores have `md5 url` alone in both.
//!
//! Months and days are written with two digits, and read with one as well, as the original program wrote them.
//!
//! A line's fields are parted by blanks and not quoted, so a URL is written with `%20` and the like for blanks, control
//! characters and line ends, and its MD5 is of what is written, in the line as in the names of folders. (Seine's first
//! stores have folders named after the URL as it was: [`MetaEntry::folders`].) Others wrote URLs as they were: when a line is read, its
//! ends are taken off and what is left is the URL, blanks and all; where that can be done in two ways, the one whose MD5
//! is right.

mod format;
mod meta_reader;

use std::fmt;

use bytes::Bytes;
use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE, HEXUPPER};
use md5::{Digest, Md5};
use time::{Date, Month, OffsetDateTime};

use crate::page::{EpochMs, Outcome, PageEvent, Relevance, Response, string_to_latin1};
use crate::parse::is_html;

pub use format::{FORMAT, meta_path};
pub use meta_reader::{MAX_LINE, MetaError, MetaReader};

/// Of a URL with more escapes in it, only two ways are tried to find its folder by what it was: none taken back, and all.
const MAX_ESCAPES: usize = 8;

pub(crate) const CONTENTS: &str = "contents.html";
pub(crate) const META: &str = "META";
/// What is written for a language nobody knows (ISO 639-2).
const UNDETERMINED: &str = "und";

/// The MD5 of a URL: 32 lower-case hex digits, the name of its folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UrlHash([u8; 16]);

/// A line of a `META` file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetaEntry {
    /// As the line has it, which is right for [`url`](Self::url) unless the line is damaged.
    pub hash: UrlHash,
    pub url: String,
    /// None in old stores.
    pub details: Option<Details>,
}

/// What an enriched line says besides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Details {
    /// Of the page or feed; of an article: its feed's.
    pub id: u64,
    pub kind: PageKind,
    /// A code such as `en`; of an article: its feed's. None when nobody knows.
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
    /// The contents of a page or a feed.
    Page { day: Date, page: UrlHash },
    /// A feed's `META`: its articles.
    FeedMeta { day: Date, feed: UrlHash },
    /// The contents of an article.
    Article { day: Date, feed: UrlHash, article: UrlHash },
}

/// A page out of a store: a line of a `META` file and the contents it speaks of.
#[derive(Debug, Clone, PartialEq)]
pub struct PagestoreRecord {
    pub day: Date,
    pub entry: MetaEntry,
    pub contents: Bytes,
}

/// The day of the store that a time belongs to, in UTC; beyond the year 9999, its last.
pub fn day_of(ms: EpochMs) -> Date {
    let seconds = i64::try_from(ms / 1000).unwrap_or(i64::MAX);
    OffsetDateTime::from_unix_timestamp(seconds).map_or(Date::MAX, OffsetDateTime::date)
}

impl UrlHash {
    /// The MD5 of these very characters.
    pub fn of(url: &str) -> UrlHash {
        UrlHash(Md5::digest(url).into())
    }

    /// The MD5 of a URL as a line has it: what names the folder of a page that is to be written.
    pub fn written(url: &str) -> UrlHash {
        UrlHash::of(&without_blanks(url))
    }

    /// Reads 32 hex digits, in any case.
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
    /// As a line has it.
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
    /// The entry for a page that is to be written. Its `url` is what a line can hold, and its hash the hash of that.
    pub fn new(url: &str, details: Option<Details>) -> MetaEntry {
        let url = without_blanks(url);
        MetaEntry { hash: UrlHash::of(&url), url, details }
    }

    /// Names of folders that the page may be in, likeliest first: of the hash; then of the URL as it was before it was
    /// escaped, in every way that it may have been, as far as those are few.
    pub fn folders(&self) -> impl Iterator<Item = UrlHash> {
        let places = escapes(&self.url);
        // One bit an escape: whether that is taken back. All of them first.
        let ways = if places.len() <= MAX_ESCAPES { 1_u32 << places.len() } else { 2 };
        let all = if places.len() <= MAX_ESCAPES { ways - 1 } else { u32::MAX };
        let masks = (1..ways).rev().map(move |mask| if ways == 2 { all } else { mask });
        let url = self.url.clone();
        std::iter::once(self.hash).chain(masks.map(move |mask| UrlHash::of(&unescaped(&url, &places, mask))))
    }

    /// Whether the hash is the URL's: as it stands in the line, as it was before it was escaped, or in ISO 8859-1 as others wrote it.
    pub fn has_right_hash(&self) -> bool {
        let is_latin1 = self.url.chars().all(|c| u32::from(c) < 256);
        let latin1 = || UrlHash(Md5::digest(string_to_latin1(&self.url)).into());
        // The first of the folders is the hash itself.
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
        // The URL as it stands, and without blanks around it.
        let readings = readings.into_iter().flatten().filter(|(url, _)| !url.trim().is_empty());
        let mut readings = readings.flat_map(|(url, details)| [(url, details.clone()), (url.trim(), details)]);
        let is_right = |(url, _): &(&str, Option<Details>)| UrlHash::of(url) == hash;
        let (url, details) = readings.clone().find(is_right).or_else(|| readings.nth(1))?;
        Some(MetaEntry { hash, url: url.to_owned(), details })
    }

    /// Appends the line to `out`, line feed included.
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

/// `url id kind`: the original program knew no language.
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

/// The URL with `%XX` for what parts fields and lines.
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

/// Where the URL has what [`without_blanks`] writes, and the character that it may stand for.
fn escapes(url: &str) -> Vec<(std::ops::Range<usize>, char)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = url[at..].find('%').map(|found| at + found) {
        let bytes: Vec<u8> = url.as_bytes()[start..].chunks_exact(3).map_while(escaped_byte).take(4).collect();
        // As many of them as are one character.
        let c = (1..=bytes.len()).find_map(|count| std::str::from_utf8(&bytes[..count]).ok()?.chars().next());
        let end = start + c.map_or(1, |c| 3 * c.len_utf8());
        found.extend(c.filter(|c| c.is_whitespace() || c.is_control()).map(|c| (start..end, c)));
        at = end;
    }
    found
}

/// `%2A`, its digits in upper case.
fn escaped_byte(three: &[u8]) -> Option<u8> {
    let digits = three.strip_prefix(b"%")?;
    HEXUPPER.decode(digits).ok()?.first().copied()
}

/// The URL with the characters in the place of those escapes whose bit is set.
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
    /// Below the store's folder, parted by `/`.
    pub fn path(&self) -> String {
        match self {
            StorePath::DayMeta { day } => format!("{}/{META}", day_path(*day)),
            StorePath::Page { day, page } => format!("{}/{page}/{CONTENTS}", day_path(*day)),
            StorePath::FeedMeta { day, feed } => format!("{}/{feed}/{META}", day_path(*day)),
            StorePath::Article { day, feed, article } => format!("{}/{feed}/{article}/{CONTENTS}", day_path(*day)),
        }
    }

    /// What a path below the store's folder is. None for what is none of the store's.
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

/// The day that three folder names stand for; month and day may lack their leading zero.
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
    /// The page: fetched at the beginning of its day in UTC, with status 200.
    pub fn into_event(self) -> PageEvent {
        let mut event = PageEvent::read_back(self.entry.url);
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
