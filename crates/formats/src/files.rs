//! ACHE's FILES record (its documentation, “Data Formats”): one page as one line of JSON, in rolling files of one zlib
//! stream each.
//!
//! Keys in this order: `url` · `redirected_url` (null unless redirected) · `content` (base64 of the decoded body) ·
//! `content_type` (null if absent) · `response_headers` (name → values, in order of arrival) · `fetch_time` (epoch
//! milliseconds) · `relevance` {`relevance`, `isRelevant`} · `crawler_id`. Seine adds `truncated` with the reason if
//! the body was cut.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::io::Read;
use std::sync::Arc;

use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use super::as_event::{Header, answer, each_header, mark_truncated};
use super::base64;
use super::format::{Files, Format, FormatSpec};
use super::layout::{self, FileContent, RollingLayout};
use super::lines::{JsonLines, MAX_LINE};
use super::records::of_lines;
use super::recovery::{RecordSplit, RecoveryMethod};
use super::sniff::{Confidence, Prefix};
use super::stored_fields::{Field, MissingFields, Reduction, Stored};
use seine_delivery::Entry;
use seine_parse::page::{EpochMs, PageEvent, Relevance, Response, Truncated};

pub const FORMAT: Format = Format(&FormatSpec {
    name: "FILES",
    about: "rolling compressed JSON lines, as ACHE writes them",
    schema: "files",
    holds: HOLDS,
    demands: DEMANDS,
    begins,
    reader: |input| Ok(of_lines(FilesReader::new(input.bytes), FilesRecord::into_event, |_, record| record.lacks())),
    encoder: |_| Box::new(encode),
    stores_event: Some(stores_event),
    files: Files::Rolling(RollingLayout {
        content: FileContent::Stream,
        ..layout::of_lines(&[".deflate"], |_| ".deflate")
    }),
    recovery: RecoveryMethod::Lines(RecordSplit { is_record: |line| parse_line(line).is_ok(), is_row: false }),
});

pub(super) const HOLDS: &[(Field, Stored)] = &[
    (Field::Url, Stored::Complete),
    (Field::FinalUrl, Stored::Complete),
    (Field::Headers, Stored::Partly(Reduction::Gathered)),
    (Field::Body, Stored::Complete),
    (Field::Fetched, Stored::Complete),
    (Field::Relevance, Stored::Complete),
    (Field::CrawlerId, Stored::Complete),
    (Field::Truncated, Stored::Complete),
    (Field::OtherTypes, Stored::Complete),
];

pub(super) const DEMANDS: &[Field] = &[Field::Url, Field::Fetched, Field::Relevance, Field::Body];

/// The JSON object without a line feed. Needs only the body, so the page is not parsed.
pub(super) fn encode(entry: &Entry, out: &mut Vec<u8>) -> bool {
    let is_held = stores_event(&entry.event) && write_event(&entry.event, &entry.body(), out);
    if is_held {
        out.pop_if(|byte| *byte == b'\n');
    }
    is_held
}

/// Only the body, for every page that FILES stores.
pub(super) fn body_alone(entry: &Entry, out: &mut Vec<u8>) -> bool {
    let is_held = stores_event(&entry.event);
    if is_held {
        out.extend_from_slice(&entry.body());
    }
    is_held
}

/// Accepts keys of ACHE's oldest versions. Other formats may share some of these keys.
pub(super) fn begins(beginning: &Prefix) -> Confidence {
    let is_page = beginning.has_key(&["url"])
        && beginning.has_key(&["content", "response_body", "redirected_url", "fetch_time", "response_headers"]);
    if is_page || beginning.keys() == ["url"] { Confidence::Perhaps } else { Confidence::No }
}

/// Headers that describe the encoded body. They are removed with the content coding, as in ACHE.
const OF_THE_CODED_BODY: [&str; 3] = ["content-encoding", "content-length", "content-md5"];

/// A FILES record.
#[derive(Debug, Clone, PartialEq)]
pub struct FilesRecord<'a> {
    /// The URL requested.
    pub url: Cow<'a, str>,
    /// The final URL, if there was a redirect.
    pub redirected_url: Option<Cow<'a, str>>,
    /// The decoded body.
    pub content: Cow<'a, [u8]>,
    /// The first `Content-Type` header, parameters included.
    pub content_type: Option<Cow<'a, str>>,
    /// Name → values, ordered by first appearance. Names are case-sensitive.
    pub response_headers: Vec<Header<'a>>,
    /// When the last byte of the body arrived; 0 if unknown.
    pub fetch_time: EpochMs,
    /// [`Relevance::UNKNOWN`] if unknown.
    pub relevance: Relevance,
    pub crawler_id: Cow<'a, str>,
    /// Why the body was cut.
    pub truncated: Option<Truncated>,
}

/// Reads a FILES file record by record, see [`JsonLines`].
pub type FilesReader<R> = JsonLines<R, FilesRecord<'static>>;

/// Appends the line of a page to `out`, with its line feed. Returns false and appends nothing for events that FILES
/// does not store: sitemaps, failures, answers other than 2xx. `body`: the decoded body of the event.
pub fn write_event(event: &PageEvent, body: &[u8], out: &mut Vec<u8>) -> bool {
    FilesRecord::from_event(event, body).inspect(|record| record.write_line(out)).is_some()
}

/// Whether FILES stores the event: a page with a 2xx answer.
pub fn stores_event(event: &PageEvent) -> bool {
    page_of(event).is_some()
}

/// Reads one line, with or without its line feed. Accepts lines of ACHE and older writers: keys in any order, unknown
/// keys, `response_body` (text) for `content`, `crawlerId`, a single string as header value. Any key but `url` may be
/// missing.
pub fn parse_line(line: &[u8]) -> Result<FilesRecord<'static>, serde_json::Error> {
    let raw: RawRecord = serde_json::from_slice(line)?;
    Ok(FilesRecord {
        url: raw.url.into(),
        redirected_url: raw.redirected_url.map(Cow::from),
        content: raw.content.map(|it| it.0).or(raw.response_body.map(String::into_bytes)).unwrap_or_default().into(),
        content_type: raw.content_type.map(Cow::from),
        response_headers: raw.response_headers.unwrap_or_default().owned(),
        fetch_time: raw.fetch_time.unwrap_or_default(),
        relevance: raw.relevance.unwrap_or(Relevance::UNKNOWN),
        crawler_id: raw.crawler_id.or(raw.crawler_id_camel).unwrap_or_default().into(),
        truncated: raw.truncated,
    })
}

impl<R: Read> JsonLines<R, FilesRecord<'static>> {
    pub fn new(input: R) -> FilesReader<R> {
        FilesReader::with_max_line(input, MAX_LINE)
    }

    /// With another limit than [`MAX_LINE`], in bytes.
    pub fn with_max_line(input: R, max_line: usize) -> FilesReader<R> {
        JsonLines::of(input, max_line, "FILES record", parse_line)
    }
}

impl<'a> FilesRecord<'a> {
    /// The fields that this record lacks, in addition to those that FILES never stores.
    pub(super) fn lacks(&self) -> MissingFields {
        MissingFields::default().and(Field::Relevance, !self.relevance.is_known())
    }

    /// Turns the record into an event. Of redirects only the final URL is known.
    pub fn into_event(self) -> PageEvent {
        let mut event = PageEvent::empty(&*self.url);
        event.final_url = self.redirected_url.unwrap_or(self.url).into_owned();
        event.ended_ms = self.fetch_time;
        event.relevance = self.relevance;
        event.crawler_id = Arc::from(self.crawler_id);
        let headers = each_header(self.response_headers, self.content_type);
        answer(&mut event, headers, self.content.into_owned().into());
        mark_truncated(&mut event, self.truncated);
        event
    }

    /// The record of a page; none for events that FILES does not store. `body` as for [`write_event`].
    pub fn from_event(event: &'a PageEvent, body: &'a [u8]) -> Option<FilesRecord<'a>> {
        let response = page_of(event)?;
        Some(FilesRecord {
            url: Cow::from(&event.url),
            redirected_url: event.redirected_url().map(Cow::from),
            content: Cow::from(body),
            content_type: response.content_type().map(Cow::from),
            response_headers: headers_of(response, body),
            fetch_time: event.ended_ms,
            relevance: event.relevance,
            crawler_id: Cow::from(&*event.crawler_id),
            truncated: response.truncated,
        })
    }

    /// Appends the record's line to `out`, with its line feed. Written without serde, which would need a `String` of
    /// the content and a map type for the headers.
    pub fn write_line(&self, out: &mut Vec<u8>) {
        out.reserve(self.content.len().div_ceil(3) * 4 + 1024);
        json(out, b"{\"url\":", &self.url);
        json(out, b",\"redirected_url\":", &self.redirected_url);
        out.extend_from_slice(b",\"content\":\"");
        base64::encode_into(&self.content, out);
        json(out, b"\",\"content_type\":", &self.content_type);
        out.extend_from_slice(b",\"response_headers\":{");
        for (index, (name, values)) in self.response_headers.iter().enumerate() {
            json(out, if index == 0 { b"" } else { b"," }, name);
            json(out, b":", values);
        }
        json(out, b"},\"fetch_time\":", &self.fetch_time);
        json(out, b",\"relevance\":", &self.relevance);
        json(out, b",\"crawler_id\":", &self.crawler_id);
        if let Some(truncated) = &self.truncated {
            json(out, b",\"truncated\":", truncated);
        }
        out.extend_from_slice(b"}\n");
    }
}

/// The response of an event that FILES stores.
pub(super) fn page_of(event: &PageEvent) -> Option<&Response> {
    let is_last_word = event.again.is_none(); // a cut body is asked for again
    event.response().filter(|response| event.kind.is_delivered() && response.is_success() && is_last_word)
}

/// The headers to store, with repeats grouped under the first of the same name.
pub(super) fn headers_of<'a>(response: &'a Response, body: &[u8]) -> Vec<Header<'a>> {
    let decoded = response.headers.get("content-encoding").is_some() && response.body != body;
    let goes = |name: &str| decoded && OF_THE_CODED_BODY.iter().any(|it| name.eq_ignore_ascii_case(it));
    let kept = response.headers.0.iter().filter(|(name, _)| !goes(name));
    let kept = gathered(kept.map(|(name, value)| (&**name, Cow::from(value))));
    kept.into_iter().map(|(name, values)| (name.into(), values)).collect()
}

/// Groups values by name, in order of first appearance. Names are case-sensitive.
pub fn gathered<'a, V>(pairs: impl IntoIterator<Item = (&'a str, V)>) -> Vec<(&'a str, Vec<V>)> {
    let mut gathered: Vec<(&str, Vec<V>)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (name, value) in pairs {
        let place = *places.entry(name).or_insert(gathered.len());
        match gathered.get_mut(place) {
            Some((_, values)) => values.push(value),
            None => gathered.push((name, vec![value])),
        }
    }
    gathered
}

fn json(out: &mut Vec<u8>, before: &[u8], value: &impl Serialize) {
    out.extend_from_slice(before);
    serde_json::to_writer(out, value).expect("strings and numbers are always JSON, and a Vec takes every byte");
}

/// The keys of a line.
#[derive(Deserialize)]
struct RawRecord {
    url: String,
    redirected_url: Option<String>,
    content: Option<Content>,
    response_body: Option<String>,
    content_type: Option<String>,
    response_headers: Option<HeaderMap>,
    fetch_time: Option<EpochMs>,
    relevance: Option<Relevance>,
    crawler_id: Option<String>,
    #[serde(rename = "crawlerId")]
    crawler_id_camel: Option<String>,
    truncated: Option<Truncated>,
}

/// Base64, decoded while reading.
struct Content(Vec<u8>);

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Base64Visitor;
        impl Visitor<'_> for Base64Visitor {
            type Value = Content;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("base64")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Content, E> {
                base64::decode(text).map(Content).map_err(|e| E::custom(format!("content: {e}")))
            }
        }
        deserializer.deserialize_str(Base64Visitor)
    }
}

/// An object of names → value or values, in its own order.
#[derive(Default)]
pub(super) struct HeaderMap(pub(super) Vec<(String, Vec<String>)>);

impl HeaderMap {
    pub(super) fn owned(self) -> Vec<Header<'static>> {
        let values = |values: Vec<String>| values.into_iter().map(Cow::from).collect();
        self.0.into_iter().map(|(name, given)| (name.into(), values(given))).collect()
    }
}

impl<'de> Deserialize<'de> for HeaderMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MapVisitor;
        impl<'de> Visitor<'de> for MapVisitor {
            type Value = HeaderMap;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object of header names and values")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<HeaderMap, A::Error> {
                let mut headers = Vec::new();
                while let Some((name, HeaderValues(values))) = map.next_entry()? {
                    headers.push((name, values));
                }
                Ok(HeaderMap(headers))
            }
        }
        deserializer.deserialize_map(MapVisitor)
    }
}

/// A string, an array of strings, or null.
struct HeaderValues(Vec<String>);

impl<'de> Deserialize<'de> for HeaderValues {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ValuesVisitor;
        impl<'de> Visitor<'de> for ValuesVisitor {
            type Value = HeaderValues;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a header's value or array of values")
            }
            fn visit_str<E>(self, value: &str) -> Result<HeaderValues, E> {
                Ok(HeaderValues(vec![value.to_owned()]))
            }
            fn visit_unit<E>(self) -> Result<HeaderValues, E> {
                Ok(HeaderValues(Vec::new()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<HeaderValues, A::Error> {
                let mut values = Vec::new();
                while let Some(value) = sequence.next_element::<Option<String>>()? {
                    values.extend(value);
                }
                Ok(HeaderValues(values))
            }
        }
        deserializer.deserialize_any(ValuesVisitor)
    }
}
