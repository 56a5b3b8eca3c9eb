//! A record: its head, its DATA, and the page they describe.

use std::cmp::Ordering;
use std::io::{self, Read};
use std::net::IpAddr;
use std::time::UNIX_EPOCH;

use bytes::Bytes;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;

use super::{MAX_DATA, TRUNCATED};
use crate::as_event::mark_truncated;
use crate::http;
use crate::inflate::Inflating;
use seine_parse::is_html;
use seine_parse::page::{EpochMs, Outcome, PageEvent, Relevance, Truncated, latin1_to_string};

/// A Tianwang record. Values are UTF-8, or Latin-1 if they are not valid UTF-8, without surrounding blanks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TianwangRecord {
    /// `1.0`.
    pub version: String,
    /// The final URL.
    pub url: String,
    /// The URL requested, if there was a redirect.
    pub origin: Option<String>,
    /// The time of the fetch as written; see [`fetched_ms`](Self::fetched_ms).
    pub date: Option<String>,
    /// The server's address, or `unknown`.
    pub ip: Option<String>,
    /// Properties unknown to the format, in order; names in lower case.
    pub others: Vec<(String, String)>,
    /// The uncompressed length of DATA, if it is stored compressed.
    pub unzip_length: Option<u64>,
    /// The stored length of DATA in bytes.
    pub length: u64,
    /// DATA uncompressed: a complete HTTP response.
    pub data: Bytes,
}

/// Why lines are not a head.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeadError {
    #[error("it does not begin with the property version")]
    NoVersion,
    #[error("it has no property {0}")]
    Missing(&'static str),
    #[error("{name} is {value:?}, which is not a number of bytes")]
    Number { name: &'static str, value: String },
    #[error("the line {0:?} is not a property (name: value)")]
    Line(String),
    #[error("it is longer than {} bytes", super::MAX_HEAD)]
    TooLong,
}

/// Why DATA does not match the head.
#[derive(Debug, thiserror::Error)]
pub enum ContentError {
    #[error("DATA cannot be inflated: {0}")]
    Inflate(#[from] io::Error),
    #[error("DATA inflates to {found} bytes{}, and unzip-length says {stated}", if *.more { " and more" } else { "" })]
    Length { stated: u64, found: u64, more: bool },
    #[error("the compressed DATA ends after {found} of {stated} bytes")]
    BrokenOff { stated: u64, found: u64 },
    #[error("unzip-length is {stated} bytes, and at most {} are inflated", MAX_DATA)]
    TooLong { stated: u64 },
}

impl TianwangRecord {
    /// Reads the lines of a head, without the blank line; DATA is still missing. Accepts names in any case, any blanks
    /// around values, LF or CR LF, and properties in any order after `version`. If a property occurs twice, the first
    /// counts.
    pub(super) fn from_head(head: &[u8]) -> Result<TianwangRecord, HeadError> {
        let mut record = TianwangRecord::default();
        let (mut url, mut length) = (None, None);
        for (index, line) in head.strip_suffix(b"\n").unwrap_or(head).split(|byte| *byte == b'\n').enumerate() {
            let (name, value) = property(line).ok_or_else(|| not_a_property(line))?;
            match name.as_str() {
                "version" if index == 0 => record.version = value,
                _ if index == 0 => return Err(HeadError::NoVersion),
                "version" => {}
                "url" => drop(url.get_or_insert(value)),
                "origin" => drop(record.origin.get_or_insert(value)),
                "date" => drop(record.date.get_or_insert(value)),
                "ip" => drop(record.ip.get_or_insert(value)),
                "unzip-length" => drop(record.unzip_length.get_or_insert(number("unzip-length", value)?)),
                "length" => drop(length.get_or_insert(number("length", value)?)),
                _ => record.others.push((name, value)),
            }
        }
        record.url = url.filter(|it| !it.is_empty()).ok_or(HeadError::Missing("url"))?;
        record.length = length.ok_or(HeadError::Missing("length"))?;
        Ok(record)
    }

    /// Sets the record's DATA from its stored bytes; inflates them if the head says so.
    pub(super) fn fill(&mut self, stored: Bytes) -> Result<(), ContentError> {
        self.data = match self.unzip_length {
            None => stored,
            Some(stated) => inflate(&stored, stated)?,
        };
        Ok(())
    }

    /// The time of the fetch; none if `date` is missing or invalid. Accepts RFC 822 with any zone, and older forms of
    /// HTTP dates.
    pub fn fetched_ms(&self) -> Option<EpochMs> {
        let date = self.date.as_deref()?;
        if let Ok(time) = httpdate::parse_http_date(date) {
            return EpochMs::try_from(time.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok();
        }
        let time = OffsetDateTime::parse(date, &Rfc2822).ok()?;
        EpochMs::try_from(time.unix_timestamp_nanos() / 1_000_000).ok()
    }

    /// Whether DATA contains the status of the answer.
    pub fn has_status(&self) -> bool {
        http::parse_status(&self.data).is_some()
    }

    /// Turns the record into an event. DATA without a status line is taken as the body of a 200 answer.
    pub fn into_event(self) -> PageEvent {
        let fetched_ms = self.fetched_ms().unwrap_or_default();
        let truncated = self.others.iter().find(|(name, _)| name == TRUNCATED);
        let truncated = truncated.and_then(|(_, reason)| Truncated::by_name(reason));
        let mut event = PageEvent::empty(self.origin.unwrap_or_else(|| self.url.clone()));
        event.final_url = self.url;
        event.ip = self.ip.and_then(|it| it.parse::<IpAddr>().ok());
        (event.started_ms, event.ended_ms) = (fetched_ms, fetched_ms);
        if let Outcome::Response(response) = &mut event.outcome {
            match http::parse_response(&self.data) {
                Ok(parsed) => *response = parsed,
                Err(_) => response.body = self.data,
            }
            event.relevance = Relevance::by_type(is_html(response.content_type(), &response.body));
        }
        mark_truncated(&mut event, truncated);
        event.give_id();
        event
    }
}

/// The lower-case name and the value of a line, with or without the CR of its end.
fn property(line: &[u8]) -> Option<(String, String)> {
    let colon = memchr::memchr(b':', line)?;
    let name = line[..colon].trim_ascii();
    let value = line[colon + 1..].trim_ascii();
    (!name.is_empty()).then(|| (text(name).to_ascii_lowercase(), text(value)))
}

fn text(bytes: &[u8]) -> String {
    std::str::from_utf8(bytes).map_or_else(|_| latin1_to_string(bytes), str::to_owned)
}

fn not_a_property(line: &[u8]) -> HeadError {
    HeadError::Line(latin1_to_string(&line[..line.len().min(80)]))
}

fn number(name: &'static str, value: String) -> Result<u64, HeadError> {
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
    value.parse().ok().filter(|_| is_number).ok_or(HeadError::Number { name, value })
}

/// Inflates exactly `stated` bytes from one or several streams, and checks checksums.
fn inflate(stored: &[u8], stated: u64) -> Result<Bytes, ContentError> {
    if stated > MAX_DATA {
        return Err(ContentError::TooLong { stated });
    }
    let (mut stream, mut data) = (Inflating::new(stored), Vec::new());
    (&mut stream).take(stated + 1).read_to_end(&mut data)?;
    let found = data.len() as u64;
    match found.cmp(&stated) {
        Ordering::Greater => Err(ContentError::Length { stated, found, more: true }),
        _ if stream.truncated() => Err(ContentError::BrokenOff { stated, found }),
        Ordering::Less => Err(ContentError::Length { stated, found, more: false }),
        Ordering::Equal => Ok(data.into()),
    }
}
