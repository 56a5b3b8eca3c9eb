//! A response of any transport: its head, and its body as it arrives.

use bytes::{Bytes, BytesMut};
use http::Version;
use http::response::Parts;
use http_body_util::BodyExt;
use hyper::body::Body;
use seine_parse::page::wire::Wire;
use seine_parse::page::{HttpVersion, Response, Truncated, latin1_to_string};
use seine_simulation_hooks::planted;

use super::capture::{Capture, NotCaptured, Recording};

/// More than any honest server sends; a response with more is a protocol failure.
pub(super) const MAX_HEADERS: usize = 512;

/// The rest of a response, as it arrives.
pub(super) struct Incoming {
    body: reqwest::Body,
    is_http2: bool,
    /// None if nobody wants the exact bytes, or if they are unreliable.
    recording: Option<Recording>,
}

impl Incoming {
    pub(super) fn of(response: http::Response<reqwest::Body>, recording: Option<Recording>) -> (Parts, Incoming) {
        let is_http2 = response.version() == Version::HTTP_2;
        let (head, body) = response.into_parts();
        (head, Incoming { body, is_http2, recording })
    }

    /// The length of the body, if the head gives it.
    pub(super) fn announced(&self) -> Option<u64> {
        self.body.size_hint().exact()
    }

    /// The next piece of the body; none at its end, if it is complete. An error means that it is truncated: shorter
    /// than its length, without its last chunk, or reset.
    pub(super) async fn piece(&mut self) -> Result<Option<Bytes>, Truncated> {
        loop {
            let frame = match self.body.frame().await {
                Some(Ok(frame)) => frame,
                // hyper reports an HTTP/2 stream that was reset with NO_ERROR as complete.
                None if !self.is_http2 || self.body.is_end_stream() => {
                    self.record(|capture, received| capture.end(received, true));
                    return Ok(None);
                }
                Some(Err(_)) | None => {
                    self.record(|capture, received| capture.end(received, false));
                    return Err(Truncated::Disconnect);
                }
            };
            // Trailers are ignored. A recording has them in its framing.
            if let Ok(piece) = frame.into_data() {
                self.record(|capture, received| capture.body(received, &piece));
                return Ok(Some(piece));
            }
        }
    }

    /// The bytes around a body of which `kept` bytes are kept; none if they are unknown.
    pub(super) fn wire(self, kept: usize) -> Option<Wire> {
        self.recording.map(|recording| recording.capture.into_wire(kept))
    }

    fn record(&mut self, step: impl FnOnce(&mut Capture, &mut BytesMut) -> Result<(), NotCaptured>) {
        if self.recording.as_mut().is_some_and(|recording| recording.go_on(step).is_err()) {
            self.recording = None;
        }
    }
}

/// As sent; empty for HTTP/2.
pub(super) fn reason_phrase(head: &Parts) -> String {
    if head.version >= Version::HTTP_2 {
        return String::new();
    }
    match head.extensions.get::<hyper::ext::ReasonPhrase>() {
        Some(phrase) => latin1_to_string(phrase.as_bytes()),
        None => head.status.canonical_reason().unwrap_or_default().to_owned(),
    }
}

pub(super) fn http_version(version: Version) -> HttpVersion {
    match version {
        Version::HTTP_2 => HttpVersion::Http2,
        Version::HTTP_09 | Version::HTTP_10 => HttpVersion::Http10,
        _ => HttpVersion::Http11,
    }
}

/// Whether the server sent only a part of the body, although nobody asked for a part: a 206 whose `Content-Range` does not say
/// that it is all (RFC 9110 §15.3.7).
pub(super) fn is_part(response: &Response) -> bool {
    let is_plant = planted::is("part_is_whole");
    response.status == 206 && !is_plant && !response.headers.get("content-range").is_some_and(is_all)
}

/// `bytes 0-99/100`, but not `bytes 0-99/200` or `bytes 0-99/*`.
fn is_all(range: &str) -> bool {
    let parts = || {
        let (range, length) = range.trim().strip_prefix("bytes ")?.split_once('/')?;
        let (first, last) = range.trim().split_once('-')?;
        let number = |text: &str| text.trim().parse::<u64>().ok();
        Some((number(first)?, number(last)?, number(length)?))
    };
    parts().is_some_and(|(first, last, length)| first == 0 && last.checked_add(1) == Some(length))
}
