//! Memex CDR 3.1 (the schema of DARPA's Memex programme; `CDR31` of ACHE's KAFKA format): one HTML page as one JSON
//! object.
//!
//! Keys in this order: `_id` (upper-case hex SHA-256 of `<url>-<timestamp_crawl>`) · `content_type` · `crawler` ·
//! `objects` (media objects; Seine writes none) · `raw_content` (the page as text) · `response_headers` (name → values
//! joined with `,`) · `team` (omitted if not set) · `timestamp_crawl` and `timestamp_index` (`yyyy-MM-ddTHH:mm:ssZ`,
//! UTC) · `url` (final) · `version` (the number 3.1). Seine adds `truncated` with the reason if the body was cut.
//!
//! ACHE hashes the time as printed by Java's `Date` in the machine's time zone, so its `_id` of the same page differs.

use std::borrow::Cow;
use std::io::Read;
use std::sync::Arc;

use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::as_event::{answer, body_of_text, each_header, mark_truncated};
use super::files::{HeaderMap, headers_of, page_of};
use super::format::{Files, Format, FormatSpec};
use super::lines::{JsonLines, MAX_LINE};
use super::records::of_lines;
use super::recovery::{RecordSplit, RecoveryMethod};
use super::sniff::Confidence;
use super::stored_fields::{Field, MissingFields, Reduction, Stored};
use super::text::IsoSeconds;
use super::{json, layout};
use seine_delivery::Entry;
use seine_parse::page::{EpochMs, PageEvent, Relevance, Truncated};
use seine_parse::{Derived, is_html};
use seine_system::clock::now_ms;

pub const FORMAT: Format = Format(&FormatSpec {
    name: "CDR31",
    about: "Memex CDR 3.1, as JSON lines",
    schema: "cdr-3.1",
    holds: &[
        (Field::FinalUrl, Stored::Complete),
        (Field::Headers, Stored::Partly(Reduction::Joined)),
        (Field::Body, Stored::Partly(Reduction::Text)),
        (Field::Fetched, Stored::Partly(Reduction::Seconds)),
        (Field::CrawlerId, Stored::Complete),
        (Field::Truncated, Stored::Complete),
    ],
    demands: &[Field::FinalUrl, Field::Fetched, Field::Body],
    begins: |it| Confidence::sure_if(it.has_key(&["raw_content", "timestamp_crawl", "timestamp_index", "objects"])),
    reader: |input| Ok(of_lines(CdrReader::new(input.bytes), CdrRecord::into_event, |_, _| MissingFields::default())),
    encoder: |options| {
        let team = options.team.clone();
        Box::new(move |entry: &Entry, out: &mut Vec<u8>| {
            let is_page = page_of(&entry.event).is_some();
            is_page && write_event(&entry.event, &entry.content(), team.as_deref(), now_ms(), out)
        })
    },
    stores_event: None,
    files: Files::Rolling(layout::of_lines(&[".jsonl"], |_| ".jsonl")),
    recovery: RecoveryMethod::Lines(RecordSplit { is_record: |line| parse_document(line).is_ok(), is_row: false }),
});

/// The value of `version`.
pub const VERSION: f64 = 3.1;

/// Header names, each with its values joined into one.
type JoinedHeaders<'a> = Vec<(Cow<'a, str>, Cow<'a, str>)>;

/// A CDR 3.1 record.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CdrRecord<'a> {
    #[serde(rename = "_id")]
    pub id: Cow<'a, str>,
    /// The `Content-Type` header as sent.
    pub content_type: Option<Cow<'a, str>>,
    pub crawler: Cow<'a, str>,
    /// Media objects written by other programs.
    #[serde(default, deserialize_with = "json::or_default")]
    pub objects: Vec<serde_json::Value>,
    pub raw_content: Cow<'a, str>,
    /// In order; the values of one name are joined with `,`.
    #[serde(default, serialize_with = "json::write_pairs", deserialize_with = "read_headers")]
    pub response_headers: JoinedHeaders<'a>,
    pub team: Option<Cow<'a, str>>,
    /// When the page was fetched.
    pub timestamp_crawl: IsoSeconds,
    /// When the document was written.
    pub timestamp_index: Option<IsoSeconds>,
    /// The final URL.
    pub url: Cow<'a, str>,
    /// [`VERSION`]; 3.0 in older documents.
    #[serde(deserialize_with = "read_version")]
    pub version: f64,
    /// Why the body was cut.
    pub truncated: Option<Truncated>,
}

/// Appends the page's document to `out`, without a line feed. Returns false and appends nothing for events that CDR
/// does not store: sitemaps, failures, answers other than 2xx, and pages that are not HTML. `index_ms`: the present
/// time.
pub fn write_event(
    event: &PageEvent,
    derived: &Derived,
    team: Option<&str>,
    index_ms: EpochMs,
    out: &mut Vec<u8>,
) -> bool {
    let Some(response) = page_of(event).filter(|_| derived.is_html) else { return false };
    let headers = headers_of(response, &derived.body).into_iter();
    CdrRecord {
        id: id_of(&event.final_url, event.ended_ms).into(),
        // A page without this header is here only because it looks like HTML.
        content_type: Some(response.content_type().unwrap_or("text/html").into()),
        crawler: Cow::from(&*event.crawler_id),
        objects: Vec::new(),
        raw_content: derived.text(),
        response_headers: headers.map(|(name, values)| (name, joined(values))).collect(),
        team: team.map(Cow::from),
        timestamp_crawl: IsoSeconds(event.ended_ms),
        timestamp_index: Some(IsoSeconds(index_ms)),
        url: Cow::from(&event.final_url),
        version: VERSION,
        truncated: response.truncated,
    }
    .write(out);
    true
}

/// Reads one document, CDR 3.1 or 3.0 (without response headers). Keys in any order; unknown keys are skipped.
pub fn parse_document(json: &[u8]) -> Result<CdrRecord<'static>, serde_json::Error> {
    serde_json::from_slice(json)
}

/// The `_id` of a page, from its final URL and the time of the fetch.
pub fn id_of(url: &str, crawled_ms: EpochMs) -> String {
    format!("{:X}", Sha256::digest(format!("{url}-{}", IsoSeconds(crawled_ms))))
}

/// Reads a file with one document per line, see [`JsonLines`].
pub(crate) type CdrReader<R> = JsonLines<R, CdrRecord<'static>>;

impl<R: Read> JsonLines<R, CdrRecord<'static>> {
    pub fn new(input: R) -> CdrReader<R> {
        JsonLines::of(input, MAX_LINE, "CDR 3.1 document", parse_document)
    }
}

impl CdrRecord<'_> {
    /// Turns the document into an event. Its URL is the final URL. The body is encoded so that it reads as
    /// `raw_content`.
    pub fn into_event(self) -> PageEvent {
        let mut event = PageEvent::empty(&*self.url);
        event.ended_ms = self.timestamp_crawl.0;
        event.relevance = Relevance::by_type(true);
        event.crawler_id = Arc::from(&*self.crawler);
        // The writer sets this content type itself if there was no header, so it is ignored here.
        let is_made_up = |given: &str| given == "text/html" && is_html(None, self.raw_content.as_bytes());
        let content_type = self.content_type.filter(|given| !is_made_up(given));
        let headers = self.response_headers.into_iter().map(|(name, value)| (name, vec![value]));
        let headers = each_header(headers, content_type);
        let body = body_of_text(self.raw_content.into_owned(), headers.get("content-type"));
        answer(&mut event, headers, body);
        mark_truncated(&mut event, self.truncated);
        event
    }

    /// Appends the document to `out`, without a line feed.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.reserve(self.raw_content.len() + 2048);
        serde_json::to_writer(out, self).expect("strings and numbers are always JSON, and a Vec takes every byte");
    }
}

fn joined<'a>(mut values: Vec<Cow<'a, str>>) -> Cow<'a, str> {
    match values.len() {
        1 => values.swap_remove(0),
        _ => Cow::Owned(values.join(",")),
    }
}

fn read_headers<'de, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<JoinedHeaders<'a>, D::Error> {
    let headers: HeaderMap = json::or_default(deserializer)?;
    Ok(headers.owned().into_iter().map(|(name, values)| (name, joined(values))).collect())
}

fn read_version<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let version = f64::deserialize(deserializer)?;
    if version == VERSION || version == 3.0 {
        return Ok(version);
    }
    Err(D::Error::custom(format!("this is CDR {version}; 3.0 and 3.1 can be read")))
}
