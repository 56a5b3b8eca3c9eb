//! Writes page events as records.

use bytes::Bytes;
use quick_cache::unsync::Cache;
use std::borrow::Cow;
use uuid::{Builder, Uuid};
use xxhash_rust::xxh3::xxh3_128;

use super::digest::{labelled, sha1};
use super::record::{RECORD_END, date, push_escaped, push_field, push_uri, urn};
use super::revisits::{EarlierCapture, Revisit};
use crate::compressed_streams::CompressedStreams;
use crate::encoder::{Encoder, NewFile};
use crate::http::{self, Exactness};
use crate::options::WarcOptions;
use seine_delivery::Entry;
use seine_parse::Link;
use seine_parse::page::{EpochMs, Headers, Hop, HttpVersion, PageEvent, Response};
use seine_system::clock::now_ms;

/// ISO 28500:2017, in its freely available draft.
const CONFORMS_TO: &str = "http://bibnum.bnf.fr/WARC/WARC_ISO_28500_version1-1_latestdraft.pdf";
const HTTP_RESPONSE: &str = "application/http;msgtype=response";
const HTTP_REQUEST: &str = "application/http;msgtype=request";
const FIELDS: &str = "application/warc-fields";

/// Whether WARC stores the event: a page with an answer of any status.
pub fn stores_event(event: &PageEvent) -> bool {
    response_of(event).is_some()
}

fn response_of(event: &PageEvent) -> Option<&Response> {
    event.response().filter(|_| event.kind.is_delivered())
}

/// Writes the records of one sink's files. It remembers in memory what it wrote (see [`WarcOptions::revisits`]). So
/// after a restart the first unchanged copy of each page is written in full again.
pub struct WarcWriter {
    options: WarcOptions,
    members: Option<CompressedStreams>,
    /// The last records written, by a hash of the URL. Two URLs with the same hash do harm only if they also have the
    /// same body. The entry unused for longest is dropped first, approximately.
    earlier: Option<Cache<u128, EarlierCapture>>,
    /// Buffers that are reused for every record.
    fields: Vec<u8>,
    block: Vec<u8>,
}

impl WarcWriter {
    pub fn new(options: WarcOptions) -> WarcWriter {
        WarcWriter {
            members: options.compress.then(|| CompressedStreams::gzip(options.compression_level)),
            earlier: (options.revisits > 0).then(|| Cache::new(options.revisits)),
            options,
            fields: Vec::new(),
            block: Vec::new(),
        }
    }

    /// Appends the first record of a file. `software`: for example `Seine/0.2.0`.
    pub fn write_info(&mut self, software: &str, file: &NewFile<'_>, at: EpochMs, out: &mut Vec<u8>) {
        self.block.clear();
        let fields = [
            ("software", software),
            ("format", "WARC File Format 1.1"),
            ("conformsTo", CONFORMS_TO),
            ("robots", if self.options.obeys_robots { "classic" } else { "ignore" }),
            ("hostname", file.hostname.unwrap_or_default()),
            ("operator", self.options.operator.as_deref().unwrap_or_default()),
            ("http-header-user-agent", &self.options.user_agent),
            ("isPartOf", file.crawler_id),
        ];
        for (name, value) in fields.into_iter().filter(|(_, value)| !value.is_empty()) {
            push_field(&mut self.block, name, value);
        }
        let id = derived_id(&Uuid::NAMESPACE_URL, format!("{} {at}", file.name).as_bytes());
        self.begin("warcinfo", &id, at);
        push_field(&mut self.fields, "WARC-Filename", file.name);
        self.finish(FIELDS, out);
    }

    /// Appends the records of a page. Returns false and appends nothing for events that WARC does not store (see
    /// [`stores_event`]). `links`: those of the page, for the `metadata` record; unused without it.
    pub fn write_event(&mut self, event: &PageEvent, links: &[Link], out: &mut Vec<u8>) -> bool {
        let Some(response) = response_of(event) else { return false };
        let capture = Capture::new(event);
        for (number, hop) in event.hops.iter().enumerate().filter(|(_, hop)| hop.status != 0) {
            self.write_hop(&capture, number, hop, out);
        }
        self.write_response(&capture, response, out);
        self.write_request(&capture, response, out);
        if self.options.metadata {
            self.write_metadata(&capture, links, out);
        }
        true
    }

    fn write_hop(&mut self, capture: &Capture, number: usize, hop: &Hop, out: &mut Vec<u8>) {
        let reason = ::http::StatusCode::from_u16(hop.status).ok().and_then(|it| it.canonical_reason());
        let redirect = Response {
            status: hop.status,
            reason: reason.unwrap_or_default().to_owned(),
            version: HttpVersion::Http11,
            headers: hop.headers.clone(),
            body: Bytes::new(),
            truncated: None,
            wall: None,
            wire: None,
        };
        self.block.clear();
        http::write_response(&redirect, &mut self.block);
        self.begin("response", &capture.id(&format!("redirect {number}")), capture.date);
        push_uri(&mut self.fields, "WARC-Target-URI", &hop.url);
        if let Some(ip) = hop.ip {
            push_field(&mut self.fields, "WARC-IP-Address", &ip.to_string());
        }
        self.push_extensions(capture.event);
        push_field(&mut self.fields, "Seine-Redirects-To", &urn(&capture.uuid));
        push_field(&mut self.fields, "Seine-Message", "rebuilt");
        if had_body(&hop.headers) {
            push_field(&mut self.fields, "WARC-Truncated", "unspecified");
        }
        self.finish(HTTP_RESPONSE, out);
    }

    fn write_response(&mut self, capture: &Capture, response: &Response, out: &mut Vec<u8>) {
        let event = capture.event;
        self.block.clear();
        let exactness = http::write_response(response, &mut self.block);
        let head = match &response.wire {
            Some(wire) if exactness == Exactness::Exact => wire.head.len(),
            _ => self.block.len() - response.body.len(),
        };
        let revisit = self.revisit(capture, response);
        self.begin(if revisit.is_some() { "revisit" } else { "response" }, &capture.uuid, capture.date);
        push_uri(&mut self.fields, "WARC-Target-URI", &event.final_url);
        self.push_extensions(event);
        push_field(&mut self.fields, "Seine-Fetch-Ms", &event.ended_ms.saturating_sub(capture.date).to_string());
        self.push_exchange(event, protocol(response.version), exactness);
        if let Some(preferences) = event.preferences_json() {
            push_field(&mut self.fields, "Seine-Preferences", &preferences);
        }
        match &revisit {
            Some(revisit) => {
                revisit.push_fields(&event.final_url, &mut self.fields);
                if let Revisit::Identical(..) = revisit {
                    self.block.truncate(head);
                }
            }
            None => {
                if !is_coded(response, exactness) {
                    let digest = capture.payload_digest(response);
                    push_field(&mut self.fields, "WARC-Payload-Digest", &labelled(&digest));
                }
                if let Some(reason) = response.truncated {
                    push_field(&mut self.fields, "WARC-Truncated", reason.name());
                }
            }
        }
        self.finish(HTTP_RESPONSE, out);
    }

    /// The earlier record if the page need not be written again; otherwise remembers the present one. A page under
    /// another URL is always written, so that it can be found in the archive.
    fn revisit(&mut self, capture: &Capture, response: &Response) -> Option<Revisit> {
        let is_unchanged = response.status == 304;
        let Some(earlier) = &mut self.earlier else { return is_unchanged.then_some(Revisit::NotModified(None)) };
        let PageEvent { url, final_url, .. } = capture.event;
        let url = if url == final_url { Cow::from(url) } else { Cow::from(format!("{url} {final_url}")) };
        let key = xxh3_128(url.as_bytes());
        if is_unchanged {
            return Some(Revisit::NotModified(earlier.get(&key).copied()));
        }
        if !response.is_success() || response.truncated.is_some() || response.body.is_empty() {
            return None;
        }
        let digest = capture.payload_digest(response);
        if let Some(same) = earlier.get(&key).filter(|it| it.digest == digest) {
            return Some(Revisit::Identical(*same));
        }
        earlier.insert(key, EarlierCapture { digest, id: capture.uuid, date: capture.date });
        None
    }

    /// Omitted if nothing is known about the request.
    fn write_request(&mut self, capture: &Capture, response: &Response, out: &mut Vec<u8>) {
        let event = capture.event;
        let was_kept = response.wire.as_ref().is_some_and(|wire| !wire.request.is_empty());
        if !was_kept && event.request_headers.0.is_empty() {
            return;
        }
        self.block.clear();
        let Some(exactness) = http::write_request(event, &mut self.block) else { return };
        self.begin("request", &capture.id("request"), capture.date);
        push_uri(&mut self.fields, "WARC-Target-URI", &event.final_url);
        // A request to an HTTP/1.0 server is HTTP/1.1, too.
        let asked_in = if response.version == HttpVersion::Http2 { HttpVersion::Http2 } else { HttpVersion::Http11 };
        self.push_exchange(event, protocol(asked_in), exactness);
        push_field(&mut self.fields, "WARC-Concurrent-To", &urn(&capture.uuid));
        self.finish(HTTP_REQUEST, out);
    }

    fn write_metadata(&mut self, capture: &Capture, links: &[Link], out: &mut Vec<u8>) {
        let event = capture.event;
        self.block.clear();
        let hops = "L".repeat(event.depth.into()) + &"R".repeat(event.hops.len());
        push_field(&mut self.block, "hopsFromSeed", &hops);
        let took = event.ended_ms.saturating_sub(event.started_ms);
        push_field(&mut self.block, "fetchTimeMs", &took.to_string());
        for link in links {
            self.block.extend_from_slice(b"outlink: ");
            push_escaped(&mut self.block, &link.url);
            self.block.extend_from_slice(if link.nofollow { b" L rel=nofollow\r\n" } else { b" L\r\n" });
        }
        self.begin("metadata", &capture.id("metadata"), capture.date);
        push_uri(&mut self.fields, "WARC-Target-URI", &event.final_url);
        push_field(&mut self.fields, "WARC-Concurrent-To", &urn(&capture.uuid));
        self.finish(FIELDS, out);
    }

    /// Fields that ACHE's reader expects in every response, even those of redirects: about the final page. Then Seine's
    /// own.
    fn push_extensions(&mut self, event: &PageEvent) {
        push_field(&mut self.fields, "ACHE-IsRelevant", if event.relevance.is_relevant { "true" } else { "false" });
        push_field(&mut self.fields, "ACHE-Relevance", &format!("{:.10}", event.relevance.relevance));
        if let Some(model) = &event.model {
            push_field(&mut self.fields, "Seine-Relevance-Model", model);
        }
        push_uri(&mut self.fields, "ACHE-Requested-URL", &event.url);
        if let Some(of) = event.duplicate_of() {
            push_uri(&mut self.fields, "Seine-Duplicate-Of", &of.url);
            push_field(&mut self.fields, "Seine-Duplicate-Kind", of.kind());
            push_field(&mut self.fields, "Seine-Duplicate-Distance", &of.distance.to_string());
        }
    }

    fn push_exchange(&mut self, event: &PageEvent, protocol: &str, exactness: Exactness) {
        if let Some(ip) = event.ip {
            push_field(&mut self.fields, "WARC-IP-Address", &ip.to_string());
        }
        push_field(&mut self.fields, "WARC-Protocol", protocol);
        if exactness == Exactness::Rebuilt {
            push_field(&mut self.fields, "Seine-Message", "rebuilt");
        }
    }

    /// The fields that every record has.
    fn begin(&mut self, kind: &str, id: &Uuid, at: EpochMs) {
        self.fields.clear();
        self.fields.extend_from_slice(b"WARC/1.1\r\n");
        push_field(&mut self.fields, "WARC-Type", kind);
        push_field(&mut self.fields, "WARC-Record-ID", &urn(id));
        push_field(&mut self.fields, "WARC-Date", &date(at));
    }

    /// Adds the fields that describe the block, and writes the record.
    fn finish(&mut self, content_type: &str, out: &mut Vec<u8>) {
        push_field(&mut self.fields, "WARC-Block-Digest", &labelled(&sha1(&self.block)));
        push_field(&mut self.fields, "Content-Type", content_type);
        push_field(&mut self.fields, "Content-Length", &self.block.len().to_string());
        self.fields.extend_from_slice(b"\r\n");
        let pieces = [self.fields.as_slice(), &self.block, RECORD_END];
        match &mut self.members {
            Some(members) => members.write(&pieces, out),
            None => pieces.iter().for_each(|piece| out.extend_from_slice(piece)),
        }
    }
}

impl Encoder for WarcWriter {
    fn encode(&mut self, entry: &Entry, out: &mut Vec<u8>) -> bool {
        let facts = (self.options.metadata && stores_event(&entry.event)).then(|| entry.without_body());
        self.write_event(&entry.event, facts.as_ref().map_or(&[], |facts| &facts.links), out)
    }

    fn begin(&mut self, file: &NewFile<'_>) -> Vec<u8> {
        let mut first = Vec::new();
        self.write_info(concat!("Seine/", env!("CARGO_PKG_VERSION")), file, now_ms(), &mut first);
        first
    }
}

/// An event being written, with the data that all its records share.
struct Capture<'e> {
    event: &'e PageEvent,
    uuid: Uuid,
    date: EpochMs,
    payload_digest: std::cell::OnceCell<[u8; 20]>,
}

impl Capture<'_> {
    fn new(event: &PageEvent) -> Capture<'_> {
        let uuid = Uuid::parse_str(&event.id).unwrap_or_else(|_| derived_id(&Uuid::NAMESPACE_OID, event.id.as_bytes()));
        // An event from an archive may have only one of the two times.
        let date = if event.started_ms == 0 { event.ended_ms } else { event.started_ms };
        Capture { event, uuid, date, payload_digest: Default::default() }
    }

    fn id(&self, name: &str) -> Uuid {
        derived_id(&self.uuid, name.as_bytes())
    }

    fn payload_digest(&self, response: &Response) -> [u8; 20] {
        *self.payload_digest.get_or_init(|| sha1(&response.body))
    }
}

/// RFC 9562 §5.5: the same input always gives the same id.
fn derived_id(namespace: &Uuid, name: &[u8]) -> Uuid {
    let digest = sha1(&[namespace.as_bytes(), name].concat());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    Builder::from_sha1_bytes(bytes).into_uuid()
}

/// The identifiers of the WARC-Protocol proposal (iipc/warc-specifications #42).
fn protocol(version: HttpVersion) -> &'static str {
    match version {
        HttpVersion::Http10 => "http/1.0",
        HttpVersion::Http11 => "http/1.1",
        HttpVersion::Http2 => "h2",
    }
}

/// Whether the block contains the body in its transfer coding, or claims to.
fn is_coded(response: &Response, exactness: Exactness) -> bool {
    exactness == Exactness::Exact && response.headers.get("transfer-encoding").is_some()
}

/// Whether there was a body that the event does not contain.
fn had_body(headers: &Headers) -> bool {
    headers.get("transfer-encoding").is_some() || headers.get("content-length").is_some_and(|it| it.trim() != "0")
}
