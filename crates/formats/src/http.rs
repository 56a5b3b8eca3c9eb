//! HTTP/1 messages as bytes, as WARC and Tianwang store them: exactly as received if the bytes were kept, otherwise
//! rebuilt.

use bytes::Bytes;

use super::chunked::Dechunker;
use seine_parse::page::wire::{Framing, Wire};
use seine_parse::page::{Headers, HttpVersion, PageEvent, Response, latin1_to_string, string_to_latin1, value_bytes};

/// Whether bytes are the ones received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exactness {
    Exact,
    /// Rebuilt from the client's report: names may differ in case and order, and transfer framing is missing.
    Rebuilt,
}

/// Why bytes are not an HTTP response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    #[error("no status line: the first line is {0:?}")]
    StatusLine(String),
    #[error("it is empty")]
    Empty,
}

/// Headers that describe how the message was transferred. They would be wrong in a rebuilt head.
const OF_THE_FRAMING: [&str; 2] = ["transfer-encoding", "content-length"];

/// Appends the response: head, blank line, and the body with its content codings. A rebuilt head states the length of
/// this body.
pub fn write_response(response: &Response, out: &mut Vec<u8>) -> Exactness {
    match response.wire.as_ref().filter(|wire| !wire.head.is_empty()) {
        Some(wire) => {
            wire.write_response(&response.body, out);
            Exactness::Exact
        }
        None => {
            rebuild_head(response, out);
            out.extend_from_slice(&response.body);
            Exactness::Rebuilt
        }
    }
}

/// Appends the request for `final_url`: request line, headers, blank line. None if a rebuilt request has no host.
pub fn write_request(event: &PageEvent, out: &mut Vec<u8>) -> Option<Exactness> {
    if let Some(wire) = event.response().and_then(|it| it.wire.as_ref()).filter(|wire| !wire.request.is_empty()) {
        out.extend_from_slice(&wire.request);
        return Some(Exactness::Exact);
    }
    let url = url::Url::parse(&event.final_url).ok()?;
    let host = url.host_str()?;
    let query = url.query().map(|it| format!("?{it}")).unwrap_or_default();
    let port = url.port().map(|it| format!(":{it}")).unwrap_or_default();
    let request_line = format!("{} {}{query} HTTP/1.1\r\nHost: {host}{port}\r\n", event.method, url.path());
    out.extend_from_slice(request_line.as_bytes());
    write_headers(&event.request_headers, &["host"], out);
    out.extend_from_slice(b"\r\n");
    Some(Exactness::Rebuilt)
}

/// Reads a response: the head, and everything after it as the body, with chunks joined. Accepts lines that end in LF
/// and folded values. A head without an end has no body. The original bytes are kept in `wire`, without a request.
pub fn parse_response(bytes: &Bytes) -> Result<Response, HttpError> {
    let head_length = head_length(bytes);
    let head = bytes.slice(..head_length);
    let mut lines = unfolded(&head).into_iter();
    let first = lines.next().ok_or(HttpError::Empty)?;
    let StatusLine { version, status, reason } = status_line(&first).ok_or_else(|| {
        let shown: String = latin1_to_string(&first).chars().take(80).collect();
        HttpError::StatusLine(shown)
    })?;
    let headers = Headers(lines.filter_map(|line| header(&line)).collect());
    let (body, framing) = body_of(bytes.slice(head_length..), &headers);
    let wire = Some(Wire { request: Bytes::new(), head, framing });
    Ok(Response { status, reason, version, headers, body, truncated: None, wire })
}

/// The status in the first line of a response.
pub fn parse_status(bytes: &[u8]) -> Option<u16> {
    let line = bytes.split(|byte| *byte == b'\n').next()?;
    status_line(line.strip_suffix(b"\r").unwrap_or(line)).map(|line| line.status)
}

/// The header lines of a head without a status line, as in ACHE's WARC files.
pub(super) fn parse_headers(head: &[u8]) -> Headers {
    Headers(unfolded(head).iter().filter_map(|line| header(line)).collect())
}

/// Length up to and including the first empty line, or of everything if there is none.
pub fn head_length(bytes: &[u8]) -> usize {
    let mut line_start = 0;
    for feed in memchr::memchr_iter(b'\n', bytes) {
        if matches!(&bytes[line_start..feed], b"" | b"\r") {
            return feed + 1;
        }
        line_start = feed + 1;
    }
    bytes.len()
}

fn rebuild_head(response: &Response, out: &mut Vec<u8>) {
    let version = if response.version == HttpVersion::Http10 { "HTTP/1.0" } else { "HTTP/1.1" };
    out.extend_from_slice(format!("{version} {} ", response.status).as_bytes());
    push_value(&response.reason, out);
    out.extend_from_slice(b"\r\n");
    write_headers(&response.headers, &OF_THE_FRAMING, out);
    // 204 and 304 have no body (RFC 9110 §6.4.1), and a length would describe another response.
    if !matches!(response.status, 204 | 304) || !response.body.is_empty() {
        out.extend_from_slice(format!("Content-Length: {}\r\n", response.body.len()).as_bytes());
    }
    out.extend_from_slice(b"\r\n");
}

fn write_headers(headers: &Headers, without: &[&str], out: &mut Vec<u8>) {
    for (name, value) in &headers.0 {
        if !without.iter().any(|it| name.eq_ignore_ascii_case(it)) {
            push_value(name, out);
            out.extend_from_slice(b": ");
            push_value(value, out);
            out.extend_from_slice(b"\r\n");
        }
    }
}

/// Replaces line ends in the value, which would start another header.
fn push_value(text: &str, out: &mut Vec<u8>) {
    let bytes = value_bytes(text);
    out.extend(bytes.into_iter().map(|byte| if matches!(byte, b'\r' | b'\n') { b' ' } else { byte }));
}

/// A header's value for people. Values are Latin-1; bytes that are valid UTF-8 are shown as UTF-8.
pub fn shown_value(value: &str) -> std::borrow::Cow<'_, str> {
    if value.is_ascii() || value.chars().any(|c| c > '\u{ff}') {
        return value.into();
    }
    String::from_utf8(string_to_latin1(value)).map_or(value.into(), Into::into)
}

/// The lines before the first empty one, without line ends. A line that begins with a blank continues the previous
/// line.
fn unfolded(head: &[u8]) -> Vec<Vec<u8>> {
    let mut lines: Vec<Vec<u8>> = Vec::new();
    for line in head.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match (line.first(), lines.last_mut()) {
            (None, _) => break,
            (Some(b' ' | b'\t'), Some(before)) => {
                before.push(b' ');
                before.extend_from_slice(line.trim_ascii());
            }
            _ => lines.push(line.to_vec()),
        }
    }
    lines
}

/// `HTTP/1.1 200 OK`.
struct StatusLine {
    /// Without a minor number it is HTTP/2.
    version: HttpVersion,
    status: u16,
    /// May be empty.
    reason: String,
}

fn status_line(line: &[u8]) -> Option<StatusLine> {
    let text = latin1_to_string(line);
    let (version, rest) = text.strip_prefix("HTTP/")?.split_once(' ')?;
    let version = match version {
        "0.9" | "1.0" => HttpVersion::Http10,
        _ if version.starts_with('2') || version.starts_with('3') => HttpVersion::Http2,
        _ => HttpVersion::Http11,
    };
    let rest = rest.trim_start();
    let (status, reason) = rest.split_once(' ').unwrap_or((rest, ""));
    let is_status = status.len() == 3 && status.bytes().all(|it| it.is_ascii_digit());
    let status = status.parse().ok().filter(|_| is_status)?;
    Some(StatusLine { version, status, reason: reason.to_owned() })
}

fn header(line: &[u8]) -> Option<(String, String)> {
    let colon = memchr::memchr(b':', line)?;
    let name = line[..colon].trim_ascii();
    (!name.is_empty()).then(|| (latin1_to_string(name), latin1_to_string(line[colon + 1..].trim_ascii())))
}

/// The body without chunks. Many archives keep the header although the chunks were already joined; such a body is taken
/// unchanged.
fn body_of(received: Bytes, headers: &Headers) -> (Bytes, Vec<Framing>) {
    let codings = headers.all("transfer-encoding").last().unwrap_or_default();
    let last_coding = codings.rsplit(',').next().unwrap_or_default().trim();
    if !last_coding.eq_ignore_ascii_case("chunked") {
        return (received, Vec::new());
    }
    let mut body = Vec::with_capacity(received.len());
    let mut chunks = Dechunker::default();
    match chunks.feed(&received, &mut body) {
        Ok(taken) if chunks.is_begun() => {
            let mut framing = chunks.into_framing();
            if taken < received.len() {
                framing.push(Framing { at: body.len() as u64, bytes: received.slice(taken..) });
            }
            (body.into(), framing)
        }
        _ => (received, Vec::new()),
    }
}
