//! Reads dates as sitemaps and feeds write them.

use time::format_description::well_known::Rfc2822;
use time::{Date, Month, OffsetDateTime, Time, UtcOffset};

use crate::page::EpochMs;

/// Reads W3C's form of ISO 8601 (`2026`, `2026-11`, `2026-11-22`, `2026-11-22T17:39+01:00`, with seconds and any
/// fraction), or the form of mail (RFC 2822), as in RSS. Missing parts mean the earliest time: a day is its first
/// moment. A time without an offset is in UTC. None for anything else, and for times before 1970.
pub fn parse(text: &str) -> Option<EpochMs> {
    let text = text.trim();
    let time = w3c(text).or_else(|| OffsetDateTime::parse(text, &Rfc2822).ok())?;
    EpochMs::try_from(time.unix_timestamp_nanos() / 1_000_000).ok()
}

fn w3c(text: &str) -> Option<OffsetDateTime> {
    let (date, time) = text.split_once(['T', 't', ' ']).unwrap_or((text, ""));
    let mut parts = date.split('-');
    let year = digits(parts.next()?, 4)?;
    let month = parts.next().map_or(Some(1), |part| digits(part, 2))?;
    let day = parts.next().map_or(Some(1), |part| digits(part, 2))?;
    if parts.next().is_some() {
        return None;
    }
    let date = Date::from_calendar_date(year as i32, Month::try_from(month as u8).ok()?, day as u8).ok()?;
    let (time, offset) = if time.is_empty() { (Time::MIDNIGHT, UtcOffset::UTC) } else { clock(time)? };
    // Four-digit years and offsets of at most a day cannot overflow, except at the very end of the range.
    date.with_time(time).assume_utc().checked_sub(time::Duration::seconds(offset.whole_seconds().into()))
}

/// `17:39`, `17:39:19.5`, and an offset: `Z`, `+01:00`, `+0100`, `+01`.
fn clock(text: &str) -> Option<(Time, UtcOffset)> {
    let at = text.find(['Z', 'z', '+', '-', ' ']).unwrap_or(text.len());
    let (time, offset) = (&text[..at], text[at..].trim_start());
    let mut parts = time.splitn(3, ':');
    let [hour, minute] = [digits(parts.next()?, 2)?, digits(parts.next()?, 2)?];
    let (second, fraction) = parts.next().map_or(("00", ""), |part| part.split_once(['.', ',']).unwrap_or((part, "")));
    let second = digits(second, 2)?.min(59); // a leap second
    let milli = format!("{fraction:0<3}").get(..3).and_then(|milli| digits(milli, 3))?;
    let time = Time::from_hms_milli(hour as u8, minute as u8, second as u8, milli as u16).ok()?;
    let offset = match offset.split_at_checked(1).unwrap_or_default() {
        ("" | "Z" | "z", "") => UtcOffset::UTC,
        (sign @ ("+" | "-"), rest) => {
            let hours = digits(rest.get(..2)?, 2)? as i8;
            let minutes = rest[2..].strip_prefix(':').unwrap_or(&rest[2..]);
            let minutes = if minutes.is_empty() { 0 } else { digits(minutes, 2)? as i8 };
            let sign = if sign == "-" { -1 } else { 1 };
            UtcOffset::from_hms(sign * hours, sign * minutes, 0).ok()?
        }
        _ => return None,
    };
    Some((time, offset))
}

/// The number in a text of exactly `length` digits.
fn digits(text: &str, length: usize) -> Option<u32> {
    let is_number = text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok())?
}
