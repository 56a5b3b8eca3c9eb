//! Writes records.

use std::io::Write;
use std::time::{Duration, UNIX_EPOCH};

use super::{MAX_HEAD, TRUNCATED, VERSION};
use crate::compressed_streams::CompressedStreams;
use crate::http;
use seine_parse::page::{EpochMs, PageEvent, Response};

/// The last second that an RFC 822 date with a four-digit year can have.
const LAST_SECOND: u64 = 253_402_300_799;
/// Most bytes of a head besides its URLs.
const BESIDES_URLS: usize = 512;

/// Writes records, reusing the compressor's memory.
pub struct TianwangWriter {
    /// None: DATA is not compressed.
    streams: Option<CompressedStreams>,
    data: Vec<u8>,
    stored: Vec<u8>,
}

/// Whether the format stores the event: a page with an answer of any status. Events whose URLs do not fit in a head are
/// not stored.
pub fn stores_event(event: &PageEvent) -> bool {
    response_of(event).is_some()
}

impl TianwangWriter {
    pub fn new(compress: bool) -> TianwangWriter {
        TianwangWriter { streams: compress.then(CompressedStreams::zlib), data: Vec::new(), stored: Vec::new() }
    }

    /// Appends the record of a page to `out`. Returns false and appends nothing if the event is not [stored](is_held).
    pub fn write_event(&mut self, event: &PageEvent, out: &mut Vec<u8>) -> bool {
        let Some(response) = response_of(event) else { return false };
        self.data.clear();
        http::write_response(response, &mut self.data);
        push(out, "version", VERSION);
        push(out, "url", &event.final_url);
        if event.final_url != event.url {
            push(out, "origin", &event.url);
        }
        push(out, "date", &rfc822(event.ended_ms));
        match event.ip {
            Some(ip) => push(out, "ip", &ip.to_string()),
            None => push(out, "ip", "unknown"),
        }
        if let Some(reason) = response.truncated {
            push(out, TRUNCATED, reason.name());
        }
        match &mut self.streams {
            Some(streams) => {
                self.stored.clear();
                streams.write(&[&self.data], &mut self.stored);
                push_data(out, Some(self.data.len()), &self.stored);
            }
            None => push_data(out, None, &self.data),
        }
        true
    }
}

fn response_of(event: &PageEvent) -> Option<&Response> {
    // Each line break in a URL takes three bytes at worst.
    let urls = (event.url.len() + event.final_url.len()) * 3;
    event.response().filter(|_| event.kind.is_delivered() && urls + BESIDES_URLS <= MAX_HEAD)
}

fn push(out: &mut Vec<u8>, name: &str, value: &str) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    let mut rest = value.as_bytes();
    while let Some(at) = memchr::memchr2(b'\r', b'\n', rest) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(if rest[at] == b'\n' { b"%0A" } else { b"%0D" });
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'\n');
}

/// Writes the lengths, DATA and the blank lines around it.
fn push_data(out: &mut Vec<u8>, unzip_length: Option<usize>, stored: &[u8]) {
    out.reserve(stored.len() + 80);
    if let Some(length) = unzip_length {
        writeln!(out, "unzip-length: {length}").expect("a Vec takes every byte");
    }
    write!(out, "length: {}\n\n", stored.len()).expect("a Vec takes every byte");
    out.extend_from_slice(stored);
    out.push(b'\n');
}

/// `Tue, 15 Apr 2003 08:13:06 GMT`
fn rfc822(ms: EpochMs) -> String {
    httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs((ms / 1000).min(LAST_SECOND)))
}
