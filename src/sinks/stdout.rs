//! One JSON object a page, one a line, to standard output: for pipes (`seine crawl --sink stdout | jq …`).
//!
//! Pages are written, as into FILES: answers of other statuses, sitemaps and failures are not.

use std::io::{BufWriter, ErrorKind, Write};
use std::net::IpAddr;
use std::sync::Arc;

use serde::Serialize;

use super::{Delivered, Sink, SinkError, empty};
use crate::delivery::Entry;
use crate::formats::base64;
use crate::formats::files::is_held;
use crate::formats::text::{IsoTime, text_of};
use crate::page::{Headers, HttpVersion, PageEvent, Relevance, Response, Truncated};
use crate::parse::Derived;

/// Pages are gathered up to this many bytes before they are written.
const BUFFER: usize = 256 << 10;

/// Writes to standard output, or whatever else takes lines.
pub struct StdoutSink<W: Write + Send> {
    out: BufWriter<W>,
    line: Vec<u8>,
    so_far: Delivered,
}

/// What is written of a page.
#[derive(Serialize)]
struct PageLine<'a> {
    id: &'a str,
    url: &'a str,
    /// The final URL, when a redirect was followed.
    redirected_url: Option<&'a str>,
    redirects: Vec<Redirect<'a>>,
    status: u16,
    reason: &'a str,
    http_version: HttpVersion,
    ip: Option<IpAddr>,
    fetch_started: IsoTime,
    /// After the body's last byte.
    fetch_time: IsoTime,
    depth: u16,
    attempt: u16,
    content_type: Option<&'a str>,
    /// Of an HTML page.
    title: Option<&'a str>,
    /// Pairs of name and value, as received.
    headers: &'a Headers,
    /// Why the body is shorter than what the server had.
    truncated: Option<Truncated>,
    relevance: Relevance,
    crawler_id: &'a str,
    /// How many links the page has.
    links: usize,
    /// Bytes of the body, content codings removed.
    size: usize,
    /// The body when it is text, …
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
    /// … and when it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    content_base64: Option<&'a str>,
}

#[derive(Serialize)]
struct Redirect<'a> {
    url: &'a str,
    status: u16,
}

impl<W: Write + Send> StdoutSink<W> {
    pub fn new(out: W) -> StdoutSink<W> {
        let out = BufWriter::with_capacity(BUFFER, out);
        StdoutSink { out, line: Vec::new(), so_far: Delivered::default() }
    }

    fn write(&mut self, entry: &Entry, response: &Response) -> Result<(), SinkError> {
        let derived = entry.facts();
        write_page(&entry.event, response, &derived, &mut self.line);
        drop(derived); // whoever reads the pipe may take his time
        self.out.write_all(&self.line).map_err(write_error)?;
        empty(&mut self.line);
        Ok(())
    }
}

impl<W: Write + Send> Sink for StdoutSink<W> {
    fn deliver(&mut self, entries: &[Arc<Entry>]) -> Result<Delivered, SinkError> {
        for entry in entries {
            let event = &*entry.event;
            match event.response().filter(|_| is_held(event)) {
                Some(response) => {
                    self.write(entry, response)?;
                    self.so_far.delivered += 1;
                }
                None => self.so_far.skipped += 1,
            }
            self.so_far.up_to = entry.end;
        }
        self.flush()
    }

    fn flush(&mut self) -> Result<Delivered, SinkError> {
        self.out.flush().map_err(write_error)?;
        Ok(self.so_far.clone())
    }

    fn close(&mut self) -> Result<(), SinkError> {
        self.out.flush().map_err(write_error)
    }
}

/// Appends the page's line.
fn write_page(event: &PageEvent, response: &Response, derived: &Derived, line: &mut Vec<u8>) {
    let text = text_of(response.content_type(), &derived.body);
    let mut coded = Vec::new();
    if text.is_none() {
        base64::encode_into(&derived.body, &mut coded);
    }
    let page = PageLine {
        id: &event.id,
        url: &event.url,
        redirected_url: event.redirected_url(),
        redirects: event.hops.iter().map(|hop| Redirect { url: &hop.url, status: hop.status }).collect(),
        status: response.status,
        reason: &response.reason,
        http_version: response.version,
        ip: event.ip,
        fetch_started: IsoTime(event.started_ms),
        fetch_time: IsoTime(event.ended_ms),
        depth: event.depth,
        attempt: event.attempt,
        content_type: response.content_type(),
        title: derived.title.as_deref(),
        headers: &response.headers,
        truncated: response.truncated,
        relevance: event.relevance,
        crawler_id: &event.crawler_id,
        links: derived.links.len(),
        size: derived.body.len(),
        content: text.as_deref(),
        content_base64: text.is_none().then(|| std::str::from_utf8(&coded).unwrap_or_default()),
    };
    serde_json::to_writer(&mut *line, &page).expect("strings and numbers are always JSON, and a Vec takes every byte");
    line.push(b'\n');
}

fn write_error(error: std::io::Error) -> SinkError {
    if error.kind() == ErrorKind::BrokenPipe {
        return SinkError::ReaderGone;
    }
    let problem = format!("writing to standard output failed: {error}");
    SinkError::Other { sink: "stdout", problem, remedy: "look where standard output leads" }
}
