//! Turns records into page events. All known writers put the records of one capture next to each other, in any order.
//! They are joined by `WARC-Concurrent-To` (in either direction), by `Seine-Redirects-To`, or by the same target. A
//! related record in another file or far away is not joined, and is not a page of its own.

use std::io::Read;
use std::sync::Arc;

use bytes::Bytes;
use uuid::Uuid;

use super::digest::DigestVerdict;
use super::error::WarcError;
use super::read::WarcReader;
use super::record::{WarcRecord, without_brackets};
use crate::http::{self, HttpError};
use seine_parse::page::{
    Headers, Hop, HttpVersion, Outcome, PageEvent, Relevance, Response, Truncated, latin1_to_string,
};

/// Most requests, metadata and redirects that are joined to a response …
const MAX_BESIDE: usize = 64;
/// … and most bytes of each.
const MAX_BESIDE_BYTES: usize = 4 << 20;

/// The pages of a file: `response`, `revisit` and `resource` records of http and https URLs, with their related
/// records.
///
/// A record whose block does not match its digest is damaged and gives no page.
///
/// A revisit gives a 304. If the server answered 304, that is exact. If the writer found the same payload again, the
/// page also becomes a 304 with the headers of the answer, since its body is in another record.
pub struct WarcPages<R> {
    reader: WarcReader<R>,
    capture: CaptureRecords,
    /// `isPartOf` of the last `warcinfo`: the crawler's id, in Seine's files.
    crawler_id: Arc<str>,
    /// Whether the last page's record had a status.
    has_status: bool,
    /// Start of the last page's record.
    offset: Option<u64>,
    ended: bool,
}

impl<R: Read> WarcPages<R> {
    pub fn new(reader: WarcReader<R>) -> WarcPages<R> {
        WarcPages {
            reader,
            capture: CaptureRecords::default(),
            crawler_id: Arc::from(""),
            has_status: true,
            offset: None,
            ended: false,
        }
    }

    /// Whether the file ends inside a record. Known after the iterator has ended.
    pub fn truncated(&self) -> bool {
        self.reader.truncated()
    }

    /// Whether the last page's record had a status. Those of ACHE and `resource` records do not.
    pub fn has_status(&self) -> bool {
        self.has_status
    }

    /// Start of the record with the last page's answer, in bytes of the file.
    pub fn offset(&self) -> Option<u64> {
        self.offset
    }

    fn finish(&mut self) -> Option<Result<PageEvent, WarcError>> {
        let capture = std::mem::take(&mut self.capture);
        self.has_status = capture.main.as_ref().is_some_and(has_status);
        self.offset = capture.main.as_ref().map(|record| record.location.offset);
        capture.into_event(&self.crawler_id)
    }
}

impl<R: Read> Iterator for WarcPages<R> {
    type Item = Result<PageEvent, WarcError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.ended {
            let record = match self.reader.next() {
                Some(Ok(record)) => match record.check_block() {
                    DigestVerdict::Wrong { stated, found } => {
                        let offset = record.location.offset;
                        return Some(Err(WarcError::Digest { what: "block", offset, stated, found }));
                    }
                    _ => record,
                },
                Some(Err(error)) => return Some(Err(error)),
                None => {
                    self.ended = true;
                    return self.finish();
                }
            };
            let is_info = record.kind() == "warcinfo";
            let goes_on = !is_info && self.capture.takes(&record);
            let done = if goes_on { None } else { self.finish() };
            if is_info {
                self.crawler_id = field_of(&record.block, "isPartOf").unwrap_or_default().into();
            } else {
                self.capture.add(record);
            }
            if done.is_some() {
                return done;
            }
        }
        None
    }
}

/// The records of one capture so far.
#[derive(Default)]
struct CaptureRecords {
    main: Option<WarcRecord>,
    request: Option<WarcRecord>,
    hops: Vec<WarcRecord>,
    metadata: Vec<WarcRecord>,
}

/// The role of a record in a capture.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RecordRole {
    Main,
    Request,
    Hop,
    Metadata,
    /// `conversion`, `continuation` and others.
    Other,
}

fn role(record: &WarcRecord) -> RecordRole {
    match record.kind() {
        "response" if record.get("Seine-Redirects-To").is_some() => RecordRole::Hop,
        "response" | "revisit" | "resource" => RecordRole::Main,
        "request" => RecordRole::Request,
        "metadata" => RecordRole::Metadata,
        _ => RecordRole::Other,
    }
}

impl CaptureRecords {
    fn records(&self) -> impl Iterator<Item = &WarcRecord> {
        self.main.iter().chain(&self.request).chain(&self.hops).chain(&self.metadata)
    }

    /// Whether the record belongs to this capture.
    fn takes(&self, record: &WarcRecord) -> bool {
        let role = role(record);
        let has_room = match role {
            RecordRole::Main => self.main.is_none(),
            RecordRole::Request => self.request.is_none(),
            RecordRole::Hop | RecordRole::Metadata => self.hops.len() + self.metadata.len() < MAX_BESIDE,
            RecordRole::Other => true,
        };
        let is_first = self.records().next().is_none();
        has_room
            && (role == RecordRole::Other || is_first || self.records().any(|other| belong_together(record, other)))
    }

    fn add(&mut self, record: WarcRecord) {
        let role = role(&record);
        if role != RecordRole::Main && record.block.len() > MAX_BESIDE_BYTES {
            return;
        }
        match role {
            RecordRole::Main => self.main = Some(record),
            RecordRole::Request => self.request = Some(record),
            RecordRole::Hop => self.hops.push(record),
            RecordRole::Metadata => self.metadata.push(record),
            RecordRole::Other => {}
        }
    }

    /// None if there is no page.
    fn into_event(self, crawler_id: &Arc<str>) -> Option<Result<PageEvent, WarcError>> {
        let main = self.main.as_ref()?;
        let target = main.target_uri()?;
        let scheme = target.split_once("://")?.0;
        if !["http", "https"].iter().any(|web| scheme.eq_ignore_ascii_case(web)) {
            return None;
        }
        let response = match response_of(main)? {
            Ok(response) => response,
            Err(source) => return Some(Err(WarcError::Http { offset: main.location.offset, source })),
        };
        let mut event = PageEvent::empty(target);
        event.crawler_id = crawler_id.clone();
        event.started_ms = main.date().unwrap_or_default();
        let took = main.get("Seine-Fetch-Ms").and_then(|it| it.parse().ok()).unwrap_or(0);
        event.ended_ms = event.started_ms.saturating_add(took);
        event.ip = main.get("WARC-IP-Address").and_then(|it| it.trim().parse().ok());
        event.relevance = relevance(main);
        event.model = main.get("Seine-Relevance-Model").map(|it| it.trim().into());
        event.preferences = main.get("Seine-Preferences").and_then(|said| serde_json::from_str(said).ok());
        event.depth = self.depth();
        event.outcome = Outcome::Response(response);
        self.add_hops(main, &mut event);
        if let Some(request) = &self.request {
            add_request(request, &mut event);
        }
        match main.id().and_then(|id| Uuid::parse_str(id).ok()) {
            Some(id) => event.id = id.simple().to_string(),
            None => event.give_id(),
        }
        Some(Ok(event))
    }

    /// Number of links from the seed, if a metadata record counts them.
    fn depth(&self) -> u16 {
        let hops = self.metadata.iter().find_map(|it| field_of(&it.block, "hopsFromSeed")).unwrap_or_default();
        hops.bytes().filter(|hop| *hop == b'L').count().try_into().unwrap_or(u16::MAX)
    }

    /// Adds the redirects from the requested URL to the target. ACHE's files have only the target.
    fn add_hops(&self, main: &WarcRecord, event: &mut PageEvent) {
        event.url = main.get("ACHE-Requested-URL").unwrap_or(&event.final_url).to_owned();
        for (at, hop) in self.hops.iter().enumerate() {
            let next = self.hops.get(at + 1).and_then(|it| it.target_uri());
            let response = http::parse_response(&hop.block).ok();
            event.hops.push(Hop {
                url: hop.target_uri().unwrap_or_default().to_owned(),
                status: response.as_ref().map_or(0, |it| it.status),
                headers: response.map(|it| without_length(it.headers)).unwrap_or_default(),
                target: next.unwrap_or(&event.final_url).to_owned(),
                ip: hop.get("WARC-IP-Address").and_then(|it| it.trim().parse().ok()),
            });
        }
    }
}

/// Whether one record refers to the other, or neither refers to any record and both have the same target.
fn belong_together(a: &WarcRecord, b: &WarcRecord) -> bool {
    let names = |from: &WarcRecord, to: &WarcRecord| {
        let Some(id) = to.id() else { return false };
        let is_it = |name: &str| from.fields.all(name).any(|it| without_brackets(it) == id);
        is_it("WARC-Concurrent-To")
            || is_it("Seine-Redirects-To")
            || from.kind() == "metadata" && is_it("WARC-Refers-To")
    };
    let same = |name: &str| a.get(name).is_some() && a.get(name) == b.get(name);
    let is_named = |it: &WarcRecord| it.get("WARC-Concurrent-To").or(it.get("Seine-Redirects-To")).is_some();
    let alone = !is_named(a) && !is_named(b) && a.target_uri().is_some() && a.target_uri() == b.target_uri();
    names(a, b) || names(b, a) || same("Seine-Redirects-To") || same("WARC-Concurrent-To") || alone
}

/// The response in a record; none if it is not an HTTP response.
fn response_of(record: &WarcRecord) -> Option<Result<Response, HttpError>> {
    let mut response = match record.kind() {
        "resource" => resource(record),
        "revisit" => revisit(record)?,
        _ if !record.is_http() => return None,
        _ => match message(&record.block) {
            Ok(response) => response,
            Err(error) => return Some(Err(error)),
        },
    };
    let rebuilt = record.get("Seine-Message").is_some_and(|it| it.eq_ignore_ascii_case("rebuilt"));
    if rebuilt && record.kind() != "resource" {
        response.wire = None;
    }
    if record.fields.all("WARC-Protocol").any(|it| it.eq_ignore_ascii_case("h2")) {
        response.version = HttpVersion::Http2;
    }
    if record.kind() != "revisit" {
        response.truncated = truncated(record);
    }
    Some(Ok(response))
}

/// Whether a record states the status of its answer, directly or through its profile.
fn has_status(record: &WarcRecord) -> bool {
    record.kind() == "revisit" || record.is_http() && http::parse_status(&record.block).is_some()
}

/// The response in a block, with or without a status line.
pub(super) fn message(block: &Bytes) -> Result<Response, HttpError> {
    http::parse_response(block).or_else(|error| without_status_line(block, error))
}

/// ACHE's blocks begin with the headers. ACHE stores only 2xx answers.
fn without_status_line(block: &Bytes, error: HttpError) -> Result<Response, HttpError> {
    let HttpError::StatusLine(first) = &error else { return Err(error) };
    let is_header = first.split_once(':').is_some_and(|(name, _)| !name.is_empty() && !name.contains(' '));
    if !is_header {
        return Err(error);
    }
    let head = http::head_length(block);
    Ok(Response { headers: http::parse_headers(&block[..head]), body: block.slice(head..), ..Response::empty() })
}

fn resource(record: &WarcRecord) -> Response {
    let mut headers = Headers::default();
    if let Some(content_type) = record.get("Content-Type") {
        headers.push("Content-Type", content_type);
    }
    Response { headers, body: record.block.clone(), ..Response::empty() }
}

/// None for unknown profiles, whose meaning is unknown.
fn revisit(record: &WarcRecord) -> Option<Response> {
    let profile = record.get("WARC-Profile").unwrap_or_default();
    let not_modified = || Response { status: 304, reason: "Not Modified".into(), ..Response::empty() };
    let sent = http::parse_response(&record.block).ok();
    if profile.ends_with("/server-not-modified") {
        return Some(sent.unwrap_or_else(not_modified));
    }
    let headers = || sent.map(|it| it.headers).unwrap_or_default();
    profile.ends_with("/identical-payload-digest").then(|| Response { headers: headers(), ..not_modified() })
}

/// A segmented record contains only its first segment, so it counts as cut. Reasons without an equivalent count as
/// size.
fn truncated(record: &WarcRecord) -> Option<Truncated> {
    let in_segments = record.get("WARC-Segment-Number").map(|_| "length");
    let reason = record.get("WARC-Truncated").or(in_segments)?;
    Some(Truncated::by_name(reason).unwrap_or(Truncated::Length))
}

/// The relevance from ACHE's fields, if both are present.
fn relevance(record: &WarcRecord) -> Relevance {
    let relevance = record.get("ACHE-Relevance").and_then(|it| it.trim().parse().ok());
    let said = relevance.zip(record.get("ACHE-IsRelevant"));
    said.map_or(Relevance::UNKNOWN, |(relevance, is_relevant)| Relevance {
        relevance,
        is_relevant: is_relevant.trim() == "true",
    })
}

fn add_request(record: &WarcRecord, event: &mut PageEvent) {
    let head = http::head_length(&record.block);
    let head = &record.block[..head];
    let line_end = memchr::memchr(b'\n', head).map_or(head.len(), |at| at + 1);
    let (first, rest) = head.split_at(line_end);
    let method = first.split(|byte| *byte == b' ').next().unwrap_or_default();
    if !method.is_empty() && method.iter().all(u8::is_ascii_uppercase) {
        event.method = latin1_to_string(method);
    }
    event.request_headers = http::parse_headers(rest);
    let is_rebuilt = record.get("Seine-Message").is_some();
    if let Outcome::Response(Response { wire: Some(wire), .. }) = &mut event.outcome
        && !is_rebuilt
    {
        wire.request = record.block.clone();
    }
}

/// The record of a redirect has no body, so its length is removed.
fn without_length(mut headers: Headers) -> Headers {
    headers.0.retain(|(name, _)| !name.eq_ignore_ascii_case("content-length"));
    headers
}

/// A field of an `application/warc-fields` block.
fn field_of(block: &[u8], name: &str) -> Option<String> {
    block.split(|byte| *byte == b'\n').find_map(|line| {
        let (found, value) = line.split_at(memchr::memchr(b':', line)?);
        let value = || String::from_utf8_lossy(value.get(1..).unwrap_or_default().trim_ascii()).into_owned();
        found.eq_ignore_ascii_case(name.as_bytes()).then(value)
    })
}
