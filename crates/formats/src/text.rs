//! Helpers for JSON output: a body as text, a time as ISO 8601.

use std::borrow::Cow;
use std::fmt;

use encoding_rs::Encoding;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use time::OffsetDateTime;
use time::macros::format_description;

use seine_parse::page::EpochMs;

/// The body as text: in the charset of `content_type`, otherwise as UTF-8. None if neither can decode every byte.
pub fn text_of<'a>(content_type: Option<&str>, body: &'a [u8]) -> Option<Cow<'a, str>> {
    let declared = content_type.and_then(charset).and_then(|label| Encoding::for_label(label.as_bytes()));
    declared
        .and_then(|encoding| encoding.decode_without_bom_handling_and_without_replacement(body))
        .or_else(|| std::str::from_utf8(body).ok().map(Cow::Borrowed))
}

/// Cuts a text to `limit` characters.
pub(super) fn cut(text: &str, limit: usize) -> &str {
    text.char_indices().nth(limit).map_or(text, |(end, _)| &text[..end])
}

/// The `charset` parameter of a media type (RFC 9110 §8.3.2), without quotes.
fn charset(content_type: &str) -> Option<&str> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"'))
    })
}

/// A time written as ISO 8601 in UTC with milliseconds (`2026-11-21T14:32:32.123Z`). After the year 9999, where ISO
/// 8601 ends, it is written as a number.
#[derive(Debug, Clone, Copy, Default)]
pub struct IsoTime(pub EpochMs);

impl IsoTime {
    /// The time as text; none after the year 9999.
    pub fn text(self) -> Option<String> {
        let format = format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");
        OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0) * 1_000_000).ok()?.format(format).ok()
    }
}

/// As in ELASTICSEARCH documents: `2015-04-16T07:03:50.257+0000`. After the year 9999 a number, which the mapping
/// accepts, too.
pub(super) fn write_with_offset<S: Serializer>(time: &EpochMs, serializer: S) -> Result<S::Ok, S::Error> {
    match IsoTime(*time).text() {
        Some(text) => serializer.serialize_str(&text.replace('Z', "+0000")),
        None => serializer.serialize_u64(*time),
    }
}

/// ISO 8601 with or without milliseconds and with the offset `Z`, `+0000` or `+00:00`; or epoch milliseconds.
pub(super) fn read_time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<EpochMs, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Time {
        Number(EpochMs),
        Text(String),
    }
    match Time::deserialize(deserializer)? {
        Time::Number(time) => Ok(time),
        Time::Text(text) => parse_time(&text).ok_or_else(|| {
            serde::de::Error::custom(format!("retrieved: {text:?} is not a time like 2015-04-16T07:03:50.257+0000"))
        }),
    }
}

fn parse_time(text: &str) -> Option<EpochMs> {
    let format = format_description!(
        version = 2,
        "[year]-[month]-[day]T[hour]:[minute]:[second][optional [.[subsecond]]][first [Z] [[offset_hour sign:mandatory]:[offset_minute]] [[offset_hour sign:mandatory][offset_minute]]]"
    );
    let time = time::PrimitiveDateTime::parse(text, format).map(|time| time.assume_utc());
    let time = OffsetDateTime::parse(text, format).or(time).ok()?;
    u64::try_from(time.unix_timestamp_nanos() / 1_000_000).ok()
}

impl Serialize for IsoTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.text() {
            Some(text) => serializer.serialize_str(&text),
            None => serializer.serialize_u64(self.0),
        }
    }
}

/// A time written as ISO 8601 in UTC without fractions (`2026-11-21T14:32:32Z`). After the year 9999, where ISO 8601
/// ends, as its last second. Read with [`parse_iso`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IsoSeconds(pub EpochMs);

impl fmt::Display for IsoSeconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LAST: u64 = 253_402_300_799;
        let format = format_description!("[year]-[month]-[day]T[hour]:[minute]:[second]Z");
        let time = OffsetDateTime::from_unix_timestamp((self.0 / 1000).min(LAST) as i64).map_err(|_| fmt::Error)?;
        f.write_str(&time.format(format).map_err(|_| fmt::Error)?)
    }
}

impl Serialize for IsoSeconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for IsoSeconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<IsoSeconds, D::Error> {
        let time = parse_iso(&Cow::<str>::deserialize(deserializer)?).map(IsoSeconds);
        time.ok_or_else(|| serde::de::Error::custom("a time is not of the form 2026-11-21T14:32:32Z"))
    }
}

/// Reads ISO 8601 with any offset and fraction (RFC 3339). None for anything else, and for times before 1970.
pub fn parse_iso(text: &str) -> Option<EpochMs> {
    let time = OffsetDateTime::parse(text, &time::format_description::well_known::Rfc3339).ok()?;
    EpochMs::try_from(time.unix_timestamp_nanos() / 1_000_000).ok()
}
