//! CDXJ: an index of WARC files with one line per capture, sorted and searched by bisection (as by pywb, OpenWayback
//! and Common Crawl): `<SURT key> <yyyyMMddHHmmss> <JSON>`.

use std::io::Read;

use serde::Serialize;

use super::digest::{labelled, sha1};
use super::error::WarcError;
use super::pages::message;
use super::read::WarcReader;
use super::record::WarcRecord;
use super::surt::surt;
use crate::text::IsoTime;

/// The JSON of a line, in this order. Numbers are written as text, as all tools do. Absent fields are omitted.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct CdxCapture<'a> {
    url: &'a str,
    /// As sent by the server; `warc/revisit` for a revisit.
    mime: Option<String>,
    status: Option<String>,
    /// Labelled digest of the payload: as stated in the record, otherwise its SHA-1.
    digest: Option<String>,
    length: String,
    offset: String,
    filename: &'a str,
}

/// The line of a record, with its line feed. None if the record is not a capture (`request`, `metadata`, `warcinfo` and
/// so on) or cannot be reached by its offset.
pub fn line(record: &WarcRecord, file_name: &str) -> Option<String> {
    let url = record.target_uri().filter(|_| matches!(record.kind(), "response" | "revisit" | "resource"))?;
    let length = record.location.length.filter(|_| record.location.inner == 0)?;
    let is_revisit = record.kind() == "revisit";
    let response = record.is_http().then(|| message(&record.block).ok()).flatten();
    let mime = match (&response, is_revisit) {
        (_, true) => Some("warc/revisit".to_owned()),
        (Some(response), _) => response.content_type().map(essence),
        (None, _) => record.get("Content-Type").map(essence).filter(|_| !record.is_http()),
    };
    let digest = match (record.get("WARC-Payload-Digest"), &response) {
        (Some(stated), _) => Some(stated.to_owned()),
        // A cut body would have a different digest.
        _ if record.get("WARC-Truncated").is_some() => None,
        (None, Some(response)) if !is_revisit => Some(labelled(&sha1(&response.body))),
        (None, None) if !is_revisit && !record.is_http() => Some(labelled(&sha1(&record.block))),
        _ => None,
    };
    let capture = CdxCapture {
        url,
        mime,
        status: response.map(|it| it.status.to_string()),
        digest,
        length: length.to_string(),
        offset: record.location.offset.to_string(),
        filename: file_name,
    };
    Some(format!("{} {} {}\n", surt(url), timestamp(record), serde_json::to_string(&capture).ok()?))
}

/// The index of a whole file: its lines, sorted by bytes, and the errors found.
pub fn index<R: Read>(file: R, file_name: &str) -> (Vec<String>, Vec<WarcError>) {
    let (mut lines, mut errors) = (Vec::new(), Vec::new());
    for record in WarcReader::new(file) {
        match record {
            Ok(record) => lines.extend(line(&record, file_name)),
            Err(error) => errors.push(error),
        }
    }
    lines.sort_unstable();
    (lines, errors)
}

/// `text/html; charset=utf-8` → `text/html`
fn essence(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_owned()
}

/// `20261121143705`; zeros if the record has no date.
fn timestamp(record: &WarcRecord) -> String {
    let iso = record.date().and_then(|at| IsoTime(at).text()).unwrap_or_default();
    let digits: String = iso.chars().filter(char::is_ascii_digit).take(14).collect();
    format!("{digits:0<14}")
}
