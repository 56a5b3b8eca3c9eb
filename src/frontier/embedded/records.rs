//! What the store's values look like: small numbers as LEB128, then text. Each record begins with its own version byte
//! or tag, so that later versions can tell them apart.

use std::borrow::Cow;

use crate::delivery::Position;
use crate::frontier::keys::Rank;
use crate::frontier::schedule::{HostRecord, NEVER, Totals};
use crate::frontier::{Cause, PageRecord, PageState, Robots, RobotsAccess, Trouble};
use crate::page::{FailureReason, Kind};

const VERSION: u8 = 1;
/// Of host records, the newest of all: `seine --version` names it. Those of version 1 have a number of failures where these
/// have the whole trouble.
pub const HOST_VERSION: u8 = 2;
const FLAG_SITEMAP: u8 = 1;
const FLAG_REVISIT: u8 = 2;
const FLAG_PUT_OFF: u8 = 4;

/// Which queue a known URL is in, if any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UrlState {
    Ready(Rank),
    Later {
        due: u64,
        rank: Rank,
    },
    /// In `pages` only.
    Done,
}

/// A URL in a queue; its origin is the host's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedUrl {
    pub path: String,
    pub kind: Kind,
    pub depth: u16,
    pub attempt: u16,
    /// It is in `pages` too.
    pub revisit: bool,
    /// See [`crate::frontier::Work::was_put_off`].
    pub put_off: bool,
}

impl UrlState {
    pub fn encode(self) -> Vec<u8> {
        let mut out = Vec::with_capacity(12);
        match self {
            UrlState::Ready(rank) => {
                out.push(0);
                put_rank(&mut out, rank);
            }
            UrlState::Later { due, rank } => {
                out.push(1);
                put_rank(&mut out, rank);
                put(&mut out, due);
            }
            UrlState::Done => out.push(2),
        }
        out
    }

    pub fn decode(bytes: &[u8]) -> Option<UrlState> {
        let mut input = Input(bytes);
        match input.byte()? {
            0 => Some(UrlState::Ready(input.rank()?)),
            1 => {
                let rank = input.rank()?;
                Some(UrlState::Later { due: input.number()?, rank })
            }
            2 => Some(UrlState::Done),
            _ => None,
        }
    }
}

impl QueuedUrl {
    pub fn encode(&self) -> Vec<u8> {
        let flags = if self.revisit { FLAG_REVISIT } else { 0 } | if self.put_off { FLAG_PUT_OFF } else { 0 };
        encode_item(&self.path, self.kind, self.depth, self.attempt, flags)
    }

    pub fn decode(bytes: &[u8]) -> Option<QueuedUrl> {
        let mut input = Input(bytes);
        let flags = input.byte()?;
        Some(QueuedUrl {
            kind: if flags & FLAG_SITEMAP == 0 { Kind::Page } else { Kind::Sitemap },
            revisit: flags & FLAG_REVISIT != 0,
            put_off: flags & FLAG_PUT_OFF != 0,
            depth: input.small()?,
            attempt: input.small()?,
            path: input.rest()?.to_owned(),
        })
    }
}

/// What [`QueuedUrl::encode`] makes of a URL that was never fetched.
pub fn encode_new(path: &str, kind: Kind, depth: u16) -> Vec<u8> {
    encode_item(path, kind, depth, 0, 0)
}

fn encode_item(path: &str, kind: Kind, depth: u16, attempt: u16, flags: u8) -> Vec<u8> {
    let mut out = Vec::with_capacity(path.len() + 4);
    out.push(flags | if kind == Kind::Sitemap { FLAG_SITEMAP } else { 0 });
    put(&mut out, depth.into());
    put(&mut out, attempt.into());
    out.extend_from_slice(path.as_bytes());
    out
}

pub fn encode_host(host: &HostRecord) -> Vec<u8> {
    let mut out = Vec::with_capacity(host.origin.len() + 32);
    out.push(HOST_VERSION);
    out.push(u8::from(host.has_robots));
    put_rank(&mut out, host.head);
    // +1, so that NEVER becomes 0.
    put(&mut out, host.later_first.wrapping_add(1));
    let numbers = [host.number, host.not_before, host.delay_ms, host.ready, host.later, host.pages, host.parked];
    numbers.into_iter().for_each(|number| put(&mut out, number));
    put_trouble(&mut out, host.trouble.as_ref());
    out.extend_from_slice(host.origin.as_bytes());
    out
}

const TROUBLED: u8 = 1;
const SUSPECTS: u8 = 2;
const GIVEN_UP: u8 = 4;
const ASKED: u8 = 8;

fn put_trouble(out: &mut Vec<u8>, trouble: Option<&Trouble>) {
    let Some(trouble) = trouble else { return out.push(0) };
    let suspects = if trouble.suspect.is_some() { SUSPECTS } else { 0 };
    let asked = if trouble.asked_until.is_some() { ASKED } else { 0 };
    out.push(TROUBLED | suspects | asked | if trouble.given_up { GIVEN_UP } else { 0 });
    put(out, trouble.since);
    put(out, trouble.last);
    put(out, trouble.failures.into());
    // Statuses have three digits, reasons are far fewer than that.
    put(
        out,
        match trouble.cause {
            Cause::Failure(reason) => reason_code(reason).into(),
            Cause::Status(status) => 100 + u64::from(status),
        },
    );
    trouble.suspect.into_iter().for_each(|url| out.extend_from_slice(&url.to_be_bytes()));
    trouble.asked_until.into_iter().for_each(|until| put(out, until));
}

pub fn decode_host(bytes: &[u8]) -> Option<HostRecord> {
    let mut input = Input(bytes);
    let version = input.byte().filter(|version| [VERSION, HOST_VERSION].contains(version))?;
    let has_robots = input.byte()? != 0;
    let head = input.rank()?;
    let later_first = input.number()?.wrapping_sub(1);
    let (number, not_before) = (input.number()?, input.number()?);
    let old_failures = if version == VERSION { input.number()? } else { 0 };
    let [delay_ms, ready, later, pages] = input.numbers()?;
    let (parked, trouble) = match version {
        // It was not kept why, nor since when: its time begins at its next visit.
        VERSION => (0, old_trouble(u32::try_from(old_failures).ok()?, not_before)),
        _ => (input.number()?, input.trouble()?),
    };
    let origin = input.rest()?.into();
    if (later == 0) != (later_first == NEVER) {
        return None;
    }
    Some(HostRecord {
        number,
        origin,
        not_before,
        trouble,
        delay_ms,
        ready,
        later,
        pages,
        head,
        later_first,
        parked,
        has_robots,
    })
}

fn old_trouble(failures: u32, not_before: u64) -> Option<Trouble> {
    let cause = Cause::Failure(FailureReason::Connect);
    let trouble = Trouble {
        since: not_before,
        last: not_before,
        failures,
        cause,
        suspect: None,
        asked_until: None,
        given_up: false,
    };
    (failures > 0).then_some(trouble)
}

pub fn encode_totals(totals: &Totals) -> Vec<u8> {
    let mut out = vec![VERSION];
    let Totals { cursor, next_sequence, next_host, work, first_time, live, gone, refused, failed, links_seen } =
        *totals;
    let numbers = [
        cursor.index,
        cursor.offset,
        next_sequence,
        next_host,
        work,
        first_time,
        live,
        gone,
        refused,
        failed,
        links_seen,
    ];
    numbers.into_iter().for_each(|number| put(&mut out, number));
    out
}

pub fn decode_totals(bytes: &[u8]) -> Option<Totals> {
    let mut input = Input(bytes);
    input.version()?;
    let [index, offset, next_sequence, next_host, work, first_time, live, gone, refused, failed, links_seen] =
        input.numbers()?;
    let cursor = Position { index, offset };
    Some(Totals { cursor, next_sequence, next_host, work, first_time, live, gone, refused, failed, links_seen })
}

pub fn encode_robots(robots: &Robots) -> Vec<u8> {
    let (tag, text) = match &robots.access {
        RobotsAccess::Rules(text) => (0, Cow::from(text)),
        RobotsAccess::AllowAll => (1, Cow::from("")),
        RobotsAccess::Unreachable(failure) => (2, Cow::from(serde_json::to_string(failure).unwrap_or_default())),
    };
    let mut out = vec![VERSION, tag];
    put(&mut out, robots.fetched_ms);
    put(&mut out, robots.expires_ms);
    out.extend_from_slice(text.as_bytes());
    out
}

pub fn decode_robots(bytes: &[u8]) -> Option<Robots> {
    let mut input = Input(bytes);
    input.version()?;
    let tag = input.byte()?;
    let (fetched_ms, expires_ms) = (input.number()?, input.number()?);
    let access = match tag {
        0 => RobotsAccess::Rules(input.rest()?.to_owned()),
        1 => RobotsAccess::AllowAll,
        2 => RobotsAccess::Unreachable(serde_json::from_str(input.rest()?).ok()?),
        _ => return None,
    };
    Some(Robots { fetched_ms, expires_ms, access })
}

pub fn encode_page(page: &PageRecord, origin: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(page.url.len() + 96);
    let is_sitemap = page.kind == Kind::Sitemap;
    let optional = [page.digest.is_some(), page.etag.is_some(), page.last_modified.is_some(), is_sitemap];
    let flags = optional.iter().enumerate().fold(0, |flags, (bit, set)| flags | u8::from(*set) << bit);
    out.extend_from_slice(&[VERSION, state_code(page.state), flags]);
    put(&mut out, page.status.into());
    put(&mut out, page.fetched_ms);
    put(&mut out, page.depth.into());
    out.extend_from_slice(page.digest.as_ref().map_or(&[], |digest| &digest[..]));
    put_id(&mut out, &page.event_id);
    [&page.etag, &page.last_modified].into_iter().flatten().for_each(|text| put_text(&mut out, text.as_bytes()));
    out.extend_from_slice(page.url.strip_prefix(origin).unwrap_or(&page.url).as_bytes());
    out
}

pub fn decode_page(bytes: &[u8], origin: &str) -> Option<PageRecord> {
    let mut input = Input(bytes);
    input.version()?;
    let state = state_of(input.byte()?)?;
    let flags = input.byte()?;
    let status = input.small()?;
    let fetched_ms = input.number()?;
    let depth = input.small()?;
    let digest = if flags & 1 == 0 { None } else { Some(input.take(32)?.try_into().ok()?) };
    let event_id = input.id()?;
    let etag = if flags & 2 == 0 { None } else { Some(input.text()?.to_owned()) };
    let last_modified = if flags & 4 == 0 { None } else { Some(input.text()?.to_owned()) };
    // Older records do not say it.
    let kind = if flags & 8 == 0 { Kind::Page } else { Kind::Sitemap };
    let url = format!("{origin}{}", input.rest()?);
    Some(PageRecord { url, kind, event_id, state, status, digest, etag, last_modified, fetched_ms, depth })
}

fn state_code(state: PageState) -> u8 {
    match state {
        PageState::New => 0,
        PageState::Unchanged => 1,
        PageState::Changed => 2,
        PageState::Gone => 3,
        PageState::Refused => 4,
        PageState::Failed(reason) => 16 + reason_code(reason),
    }
}

fn state_of(code: u8) -> Option<PageState> {
    match code {
        0 => Some(PageState::New),
        1 => Some(PageState::Unchanged),
        2 => Some(PageState::Changed),
        3 => Some(PageState::Gone),
        4 => Some(PageState::Refused),
        _ => FailureReason::ALL.get(usize::from(code.checked_sub(16)?)).map(|reason| PageState::Failed(*reason)),
    }
}

/// A match, so that a new reason does not compile before it has a code.
fn reason_code(reason: FailureReason) -> u8 {
    use FailureReason::*;
    match reason {
        Dns => 0,
        PrivateAddress => 1,
        Connect => 2,
        Tls => 3,
        Timeout => 4,
        Protocol => 5,
        RobotsDenied => 6,
        RobotsUnreachable => 7,
        TooManyRedirects => 8,
        BadRedirect => 9,
        UnwantedType => 10,
        BadUrl => 11,
        HostBusy => 12,
        Resolver => 13,
        NoRoute => 14,
        OpenFiles => 15,
        HostUnreachable => 16,
        ConnectionRefused => 17,
        ConnectionBroken => 18,
    }
}

fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn put_rank(out: &mut Vec<u8>, rank: Rank) {
    out.push((rank.0 >> 56) as u8);
    put(out, rank.0 & ((1 << 56) - 1));
}

fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    put(out, text.len() as u64);
    out.extend_from_slice(text);
}

/// 32 lower-case hex digits, as event ids are, take 16 bytes; anything else is kept as text.
fn put_id(out: &mut Vec<u8>, id: &str) {
    match u128::from_str_radix(id, 16) {
        Ok(number) if format!("{number:032x}") == id => {
            out.push(1);
            out.extend_from_slice(&number.to_be_bytes());
        }
        _ => {
            out.push(0);
            put_text(out, id.as_bytes());
        }
    }
}

/// What is left to read.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn version(&mut self) -> Option<()> {
        (self.byte()? == VERSION).then_some(())
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn numbers<const N: usize>(&mut self) -> Option<[u64; N]> {
        let mut numbers = [0; N];
        for number in &mut numbers {
            *number = self.number()?;
        }
        Some(numbers)
    }

    fn small(&mut self) -> Option<u16> {
        u16::try_from(self.number()?).ok()
    }

    fn rank(&mut self) -> Option<Rank> {
        let priority = self.byte()?;
        Some(Rank::new(priority, self.number()?))
    }

    fn trouble(&mut self) -> Option<Option<Trouble>> {
        let flags = self.byte()?;
        if flags & TROUBLED == 0 {
            return Some(None);
        }
        let (since, last) = (self.number()?, self.number()?);
        let failures = u32::try_from(self.number()?).ok()?;
        let cause = match self.number()? {
            reason @ 0..100 => Cause::Failure(*FailureReason::ALL.get(reason as usize)?),
            status => Cause::Status(u16::try_from(status - 100).ok()?),
        };
        let suspect = match flags & SUSPECTS {
            0 => None,
            _ => Some(u64::from_be_bytes(self.take(8)?.try_into().ok()?)),
        };
        let asked_until = if flags & ASKED == 0 { None } else { Some(self.number()?) };
        let given_up = flags & GIVEN_UP != 0;
        Some(Some(Trouble { since, last, failures, cause, suspect, asked_until, given_up }))
    }

    fn text(&mut self) -> Option<&'a str> {
        let length = usize::try_from(self.number()?).ok()?;
        std::str::from_utf8(self.take(length)?).ok()
    }

    fn id(&mut self) -> Option<String> {
        match self.byte()? {
            1 => Some(format!("{:032x}", u128::from_be_bytes(self.take(16)?.try_into().ok()?))),
            0 => self.text().map(str::to_owned),
            _ => None,
        }
    }

    fn rest(&mut self) -> Option<&'a str> {
        std::str::from_utf8(std::mem::take(&mut self.0)).ok()
    }
}
