//! ACHE's FILESYSTEM_CBOR (its documentation, “Data Formats”): one page as one CBOR map (RFC 8949), after the Common
//! Crawl Architecture's schema.
//!
//! Keys in this order: `url` · `imported` (null) · `key` (`<reversed host with _>_<sha1 of url>_<timestamp>`) ·
//! `timestamp` (when the page was fetched, epoch seconds) · `request` {`headers`, `method`, `client` {`hostname`,
//! `address`, `software`, `contact` {`name`, `email`}, `robots`}, `body`} · `response` {`body`}. A text body is a text
//! string, decoded from its charset; any other body is a byte string. (ACHE makes every body a text string, which
//! damages binary ones.) Seine adds `truncated` with the reason to `response` if the body was cut. ACHE's reader takes
//! any key there.

use std::borrow::Cow;

use bytes::Bytes;
use data_encoding::HEXLOWER;
use minicbor::data::Type;
use minicbor::{Decoder, Encoder, decode};
use sha1::{Digest, Sha1};

use super::as_event::{body_of_text, mark_truncated};
use super::files::page_of;
use super::text::text_of;
use seine_parse::page::{Headers, Outcome, PageEvent, Truncated};
use seine_parse::url::host;
use seine_parse::{Derived, is_html};

/// A FILESYSTEM_CBOR record.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CborRecord<'a> {
    /// The URL requested.
    pub url: Cow<'a, str>,
    /// When the page was fetched, epoch seconds.
    pub timestamp: u64,
    pub request_headers: Headers,
    pub method: Cow<'a, str>,
    pub body: Body<'a>,
    /// Why the body was cut, if it was.
    pub truncated: Option<Truncated>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Body<'a> {
    Text(Cow<'a, str>),
    Bytes(Cow<'a, [u8]>),
}

#[derive(Debug, thiserror::Error)]
pub enum CborError {
    #[error("it is not a CBOR map: {0}")]
    Cbor(#[from] decode::Error),
    #[error("it is not a FILESYSTEM_CBOR record: {0} is missing")]
    Missing(&'static str),
}

/// Appends the page's file to `out`. Returns false and appends nothing for events that the format does not store:
/// sitemaps, failures, answers other than 2xx.
pub fn write_event(event: &PageEvent, derived: &Derived, out: &mut Vec<u8>) -> bool {
    CborRecord::from_event(event, derived).inspect(|record| record.write(out)).is_some()
}

impl<'a> CborRecord<'a> {
    /// The record of a page; none for events that the format does not store.
    pub fn from_event(event: &'a PageEvent, derived: &'a Derived) -> Option<CborRecord<'a>> {
        let response = page_of(event)?;
        let text = match derived.is_html {
            true => Some(derived.text()),
            false => text_of(response.content_type(), &derived.body),
        };
        Some(CborRecord {
            url: Cow::from(&event.url),
            timestamp: event.ended_ms / 1000,
            request_headers: event.request_headers.clone(),
            method: Cow::from(&event.method),
            body: text.map_or_else(|| Body::Bytes(Cow::from(&*derived.body)), Body::Text),
            truncated: response.truncated,
        })
    }

    /// Appends the map to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        let done = self.encode(&mut Encoder::new(out));
        done.expect("a Vec takes every byte");
    }

    /// Turns the record into an event. A text body becomes UTF-8, unless it is HTML that declares another charset.
    pub fn into_event(self) -> PageEvent {
        let mut event = PageEvent::empty(self.url);
        event.ended_ms = self.timestamp.saturating_mul(1000);
        event.started_ms = event.ended_ms;
        event.request_headers = self.request_headers;
        if !self.method.is_empty() {
            event.method = self.method.into_owned();
        }
        if let Outcome::Response(response) = &mut event.outcome {
            response.body = match self.body {
                Body::Text(text) if is_html(None, text.as_bytes()) => body_of_text(text.into_owned(), None),
                Body::Text(text) => Bytes::from(text.into_owned()),
                Body::Bytes(bytes) => Bytes::from(bytes.into_owned()),
            };
        }
        mark_truncated(&mut event, self.truncated);
        event.give_id();
        event
    }

    fn encode<W: minicbor::encode::Write>(
        &self,
        out: &mut Encoder<W>,
    ) -> Result<(), minicbor::encode::Error<W::Error>> {
        out.map(6)?
            .str("url")?
            .str(&self.url)?
            .str("imported")?
            .null()?
            .str("key")?
            .str(&key_of(&self.url, self.timestamp))?;
        out.str("timestamp")?.u64(self.timestamp)?;
        out.str("request")?.map(4)?.str("headers")?.map(self.request_headers.0.len() as u64)?;
        for (name, value) in &self.request_headers.0 {
            out.str(name)?.str(value)?;
        }
        out.str("method")?.str(&self.method)?;
        out.str("client")?.map(5)?.str("hostname")?.str("")?.str("address")?.str("")?;
        out.str("software")?.str(concat!("Seine/", env!("CARGO_PKG_VERSION")))?;
        out.str("contact")?.map(2)?.str("name")?.str("")?.str("email")?.str("")?;
        out.str("robots")?.str("classic")?.str("body")?.null()?;
        out.str("response")?.map(1 + u64::from(self.truncated.is_some()))?.str("body")?;
        match &self.body {
            Body::Text(text) => out.str(text)?,
            Body::Bytes(bytes) => out.bytes(bytes)?,
        };
        if let Some(reason) = self.truncated {
            out.str("truncated")?.str(reason.name())?;
        }
        Ok(())
    }
}

/// Reads one file, also from ACHE: keys in any order; unknown keys are skipped.
pub fn parse(bytes: &[u8]) -> Result<CborRecord<'static>, CborError> {
    let mut record = CborRecord::default();
    let mut has_url = false;
    each_entry(&mut Decoder::new(bytes), |key, input| {
        match key {
            "url" => {
                record.url = text(input)?.into();
                has_url = true;
            }
            "timestamp" => record.timestamp = input.u64()?,
            "request" => request(input, &mut record)?,
            "response" => response(input, &mut record)?,
            _ => input.skip()?,
        }
        Ok(())
    })?;
    if has_url { Ok(record) } else { Err(CborError::Missing("url")) }
}

/// The value of `url`, if that is the first key of the map. For callers that have only the beginning of a file.
pub fn url_at_start(bytes: &[u8]) -> Option<String> {
    let mut input = Decoder::new(bytes);
    input.map().ok()?;
    (text(&mut input).ok()? == "url").then(|| text(&mut input).ok()).flatten()
}

fn request(input: &mut Decoder, record: &mut CborRecord) -> Result<(), decode::Error> {
    each_entry(input, |key, input| {
        match key {
            "method" => record.method = text(input)?.into(),
            "headers" => each_entry(input, |name, input| {
                record.request_headers.push(name, text(input)?);
                Ok(())
            })?,
            _ => input.skip()?,
        }
        Ok(())
    })
}

fn response(input: &mut Decoder, record: &mut CborRecord) -> Result<(), decode::Error> {
    each_entry(input, |key, input| {
        match (key, input.datatype()?) {
            ("body", _) => record.body = body(input)?,
            // Another program may have a key of this name with any value.
            ("truncated", Type::String) => record.truncated = Truncated::by_name(input.str()?),
            _ => input.skip()?,
        }
        Ok(())
    })
}

/// Calls `take` for each entry of a map with text keys; `take` reads the value. Accepts maps of definite and indefinite
/// length. Null is an empty map.
fn each_entry(
    input: &mut Decoder,
    mut take: impl FnMut(&str, &mut Decoder) -> Result<(), decode::Error>,
) -> Result<(), decode::Error> {
    if input.datatype()? == Type::Null {
        return input.null();
    }
    let mut left = input.map()?;
    loop {
        match &mut left {
            Some(0) => return Ok(()),
            Some(count) => *count -= 1,
            None if input.datatype()? == Type::Break => return input.skip(),
            None => {}
        }
        let key = text(input)?;
        take(&key, input)?;
    }
}

/// Reads a text string of one or several pieces; null is an empty string.
fn text(input: &mut Decoder) -> Result<String, decode::Error> {
    match input.datatype()? {
        Type::Null => input.null().map(|()| String::new()),
        _ => input.str_iter()?.collect(),
    }
}

fn body(input: &mut Decoder) -> Result<Body<'static>, decode::Error> {
    Ok(match input.datatype()? {
        Type::Bytes | Type::BytesIndef => {
            let pieces = input.bytes_iter()?.collect::<Result<Vec<_>, _>>()?;
            Body::Bytes(pieces.concat().into())
        }
        _ => Body::Text(text(input)?.into()),
    })
}

/// `example_www_<sha1 of the URL>_<seconds>`.
fn key_of(url: &str, timestamp: u64) -> String {
    let mut labels: Vec<&str> = host(url).unwrap_or_default().split('.').collect();
    labels.reverse();
    format!("{}_{}_{timestamp}", labels.join("_"), HEXLOWER.encode(&Sha1::digest(url)))
}

impl Default for Body<'_> {
    fn default() -> Self {
        Body::Bytes(Cow::default())
    }
}
