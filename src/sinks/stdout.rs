//! Writes one JSON object per page and line to standard output, for pipes (`seine crawl --sink stdout | jq …`).
//!
//! Writes pages only, as for FILES. Answers with another status, sitemaps and failures are left out.

use std::io::{BufWriter, ErrorKind, Write};
use std::net::IpAddr;

use seine_delivery::Entry;
use seine_formats::base64;
use seine_formats::encoder::Encoder;
use seine_formats::files::stores_event;
use seine_formats::text::{IsoTime, text_of};
use seine_parse::clean_text::{CleanText, Extractor, TextOptions, clean_text};
use seine_parse::page::preferences::Statement;
use seine_parse::page::{DuplicateOf, Headers, HttpVersion, PageEvent, Relevance, Response, Truncated};
use seine_parse::{Derived, language};
use serde::Serialize;

use super::local::{Disposition, LocalSink, LocalStore};
use super::sink::{Sink, SinkError, empty};
use crate::config::Upkeep;

/// Bytes collected before each write.
const BUFFER: usize = 256 << 10;

/// A sink that writes lines to standard output, or to another writer. `encoder` must write one line per record. Without
/// one, Seine's own format is used, with everything that a pipe may need.
pub fn sink(out: impl Write + Send + 'static, encoder: Option<Box<dyn Encoder>>, upkeep: Upkeep) -> Box<dyn Sink> {
    let encoder = encoder.unwrap_or_else(|| Box::new(PageLines));
    let out = BufWriter::with_capacity(BUFFER, out);
    Box::new(LocalSink::new(Lines { out, encoder, line: Vec::new() }, upkeep))
}

struct Lines<W: Write> {
    out: BufWriter<W>,
    encoder: Box<dyn Encoder>,
    line: Vec<u8>,
}

struct PageLines;

impl Encoder for PageLines {
    fn encode(&mut self, entry: &Entry, out: &mut Vec<u8>) -> bool {
        let Some(response) = entry.event.response().filter(|_| stores_event(&entry.event)) else { return false };
        write_page(&entry.event, response, &entry.facts(), entry.text_options(), out);
        true
    }
}

/// The JSON object of a page.
#[serde_with::skip_serializing_none]
#[derive(Serialize)]
struct PageLine<'a> {
    id: &'a str,
    url: &'a str,
    /// The final URL, if there was a redirect.
    #[serialize_always]
    redirected_url: Option<&'a str>,
    redirects: Vec<Redirect<'a>>,
    status: u16,
    reason: &'a str,
    http_version: HttpVersion,
    #[serialize_always]
    ip: Option<IpAddr>,
    fetch_started: IsoTime,
    /// When the last byte of the body arrived.
    fetch_time: IsoTime,
    depth: u16,
    attempt: u16,
    #[serialize_always]
    content_type: Option<&'a str>,
    /// Title of an HTML page.
    #[serialize_always]
    title: Option<&'a str>,
    /// Pairs of name and value, as received.
    headers: &'a Headers,
    /// Why the body was cut.
    #[serialize_always]
    truncated: Option<Truncated>,
    relevance: Relevance,
    /// Name of the page classifier, if one was used.
    relevance_model: Option<&'a str>,
    /// What publishers say about the use of the page, if anything.
    preferences: Option<&'a [Statement]>,
    /// The first page with the same content or nearly the same text, if that is another page.
    duplicate_of: Option<&'a str>,
    /// `exact`, `near`.
    duplicate_kind: Option<&'static str>,
    /// About how many of 100 words differ.
    duplicate_distance: Option<u8>,
    crawler_id: &'a str,
    /// Number of links in the page.
    links: usize,
    /// Length of the decoded body in bytes.
    size: usize,
    /// The main text of an HTML page as Markdown, and the confidence in it (0 to 1), if configured.
    markdown: Option<&'a str>,
    text_confidence: Option<f64>,
    /// Language of that text (ISO 639-1), and the confidence in it (0.9 to 1).
    language_detected: Option<&'static str>,
    language_confidence: Option<f64>,
    /// The body if it is text, …
    content: Option<&'a str>,
    /// … and otherwise in base64.
    content_base64: Option<&'a str>,
}

#[derive(Serialize)]
struct Redirect<'a> {
    url: &'a str,
    status: u16,
}

impl<W: Write + Send> LocalStore for Lines<W> {
    fn put(&mut self, entry: &Entry) -> Result<Disposition, SinkError> {
        // Keeps nothing of the page while writing, since the reader of the pipe may be slow.
        if !self.encoder.encode(entry, &mut self.line) {
            return Ok(Disposition::Skipped);
        }
        self.line.push(b'\n');
        self.out.write_all(&self.line).map_err(write_error)?;
        empty(&mut self.line);
        Ok(Disposition::Delivered)
    }

    fn sync(&mut self) -> Result<serde_json::Value, SinkError> {
        self.out.flush().map_err(write_error)?;
        Ok(serde_json::Value::Null)
    }

    fn close(&mut self) -> Result<(), SinkError> {
        self.out.flush().map_err(write_error)
    }
}

/// Appends the page's line without the line feed.
fn write_page(event: &PageEvent, response: &Response, derived: &Derived, options: TextOptions, line: &mut Vec<u8>) {
    let clean = match options.markdown && derived.is_html {
        true => {
            let options = TextOptions { extractor: Extractor::Readable, ..options };
            clean_text(&derived.text(), Some(&event.final_url), options)
        }
        false => CleanText::default(),
    };
    let language = options.language.then(|| language::of_text(&clean.text)).flatten();
    let text = text_of(response.content_type(), &derived.body);
    let mut coded = Vec::new();
    if text.is_none() {
        base64::encode_into(&derived.body, &mut coded);
    }
    let duplicate_of = event.duplicate_of();
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
        relevance_model: event.model.as_deref(),
        preferences: event.preferences.as_deref().filter(|said| !said.is_empty()),
        duplicate_of: duplicate_of.map(|of| of.url.as_str()),
        duplicate_kind: duplicate_of.map(DuplicateOf::kind),
        duplicate_distance: duplicate_of.map(|of| of.distance),
        crawler_id: &event.crawler_id,
        links: derived.links.len(),
        size: derived.body.len(),
        markdown: clean.markdown.as_deref(),
        text_confidence: clean.confidence,
        language_detected: language.map(|it| it.tag),
        language_confidence: language.map(|it| it.confidence),
        content: text.as_deref(),
        content_base64: text.is_none().then(|| std::str::from_utf8(&coded).unwrap_or_default()),
    };
    serde_json::to_writer(&mut *line, &page).expect("strings and numbers are always JSON, and a Vec takes every byte");
}

fn write_error(error: std::io::Error) -> SinkError {
    if error.kind() == ErrorKind::BrokenPipe {
        return SinkError::ReaderGone;
    }
    let problem = format!("writing to standard output failed: {error}");
    SinkError::Other { sink: "stdout", problem, remedy: "check where standard output goes" }
}
