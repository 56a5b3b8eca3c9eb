//! Records the bytes of one request and response, beside the client that reads the same bytes. The record is exact or
//! missing: every byte of the body that the client returns must occur in the received bytes; otherwise there is a
//! [`NotCaptured`].

use bytes::{Buf, Bytes, BytesMut};
use seine_formats::chunked::Dechunker;
use seine_formats::http::head_length;
use seine_parse::page::wire::{Framing, Wire};

use super::tap::RequestTap;

/// Maximum size of the recorded chunk sizes and trailers: about 150,000 chunks, far more than honest servers send.
const MAX_FRAMING: u64 = 1 << 20;

/// A recording in progress.
pub(super) struct Recording {
    /// For log messages.
    pub url: String,
    pub exchanged: RequestTap,
    pub capture: Capture,
}

impl Recording {
    /// Processes what was received since the last call. After an error the bytes are not kept.
    pub(super) fn go_on(
        &mut self,
        step: impl FnOnce(&mut Capture, &mut BytesMut) -> Result<(), NotCaptured>,
    ) -> Result<(), NotCaptured> {
        let stepped = self.exchanged.peek(|_, received| step(&mut self.capture, received));
        stepped.unwrap_or(Err(NotCaptured::Gone)).inspect_err(|doubt| doubt.tell(&self.url))
    }
}

/// The received bytes of one response.
pub(super) struct Capture {
    request: Bytes,
    head: Bytes,
    /// State of the chunked coding; none if the body is not chunked.
    chunks: Option<Chunks>,
}

#[derive(Default)]
struct Chunks {
    dechunker: Dechunker,
    /// Received bytes of the body; the client has returned the first `given`.
    ahead: Vec<u8>,
    given: usize,
    /// Bytes consumed, with framing, and the bytes of the body among them.
    taken: u64,
    body: u64,
    /// The chunked coding is invalid; the client stops there too.
    is_broken: bool,
}

/// Why the bytes are not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotCaptured {
    #[error("the request was sent only in part, or differs from the one that was made")]
    Request,
    #[error("the received bytes have no response head with that status")]
    Head,
    #[error("the received bytes do not contain the client's body")]
    Body,
    #[error("the transfer coding does not end where the body does")]
    End,
    #[error("more than {MAX_FRAMING} bytes of chunk sizes and trailers")]
    TooManyChunks,
    #[error("more was received than fits the buffer, or the connection continued with another exchange")]
    Gone,
}

impl NotCaptured {
    pub(super) fn tell(self, url: &str) {
        tracing::debug!(url, doubt = %self, "the exact bytes of an exchange are not kept");
    }
}

impl Capture {
    /// Takes the response head from what was `received` after `request`. `target` is the request target as sent,
    /// `status` that of the response, and `is_chunked` says how its body ends.
    pub(super) fn begin(
        request: &[u8],
        target: &str,
        received: &mut BytesMut,
        status: u16,
        is_chunked: bool,
    ) -> Result<Capture, NotCaptured> {
        if !is_request_for(request, target) {
            return Err(NotCaptured::Request);
        }
        let head = loop {
            // Empty lines before a head do not belong to it.
            let empty = received.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            received.advance(empty);
            let length = head_length(received);
            let head = &received[..length];
            let found = status_of(head).filter(|_| head.ends_with(b"\n")).ok_or(NotCaptured::Head)?;
            if found == status {
                // Copied, because the buffer is larger and would live as long as the event.
                let head = Bytes::copy_from_slice(head);
                received.advance(length);
                break head;
            }
            if !(100..200).contains(&found) {
                return Err(NotCaptured::Head);
            }
            received.advance(length);
        };
        let chunks = is_chunked.then(Chunks::default);
        Ok(Capture { request: Bytes::copy_from_slice(request), head, chunks })
    }

    /// Matches the next `piece` of the body, as the client returns it, with what was received.
    pub(super) fn body(&mut self, received: &mut BytesMut, piece: &[u8]) -> Result<(), NotCaptured> {
        let Some(chunks) = &mut self.chunks else {
            if !received.starts_with(piece) {
                return Err(NotCaptured::Body);
            }
            received.advance(piece.len());
            return Ok(());
        };
        chunks.feed(received)?;
        if !chunks.ahead[chunks.given..].starts_with(piece) {
            return Err(NotCaptured::Body);
        }
        chunks.given += piece.len();
        Ok(())
    }

    /// The body has ended. `is_whole`: the client says that it is complete.
    pub(super) fn end(&mut self, received: &mut BytesMut, is_whole: bool) -> Result<(), NotCaptured> {
        let Some(chunks) = &mut self.chunks else { return Ok(()) };
        chunks.feed(received)?;
        if is_whole && !(chunks.dechunker.is_ended() && chunks.given == chunks.ahead.len()) {
            return Err(NotCaptured::End);
        }
        Ok(())
    }

    /// The bytes around the first `kept` bytes of the body.
    pub(super) fn into_wire(self, kept: usize) -> Wire {
        let mut framing = self.chunks.map(|chunks| chunks.dechunker.into_framing()).unwrap_or_default();
        framing.retain(|it: &Framing| it.at <= kept as u64);
        Wire { request: self.request, head: self.head, framing }
    }
}

impl Chunks {
    fn feed(&mut self, received: &mut BytesMut) -> Result<(), NotCaptured> {
        if self.is_broken {
            return Ok(());
        }
        // Not after every piece, because a piece can be one byte.
        if self.given > self.ahead.len() / 2 {
            self.ahead.drain(..self.given);
            self.given = 0;
        }
        let before = self.ahead.len();
        let fed = self.dechunker.feed(received, &mut self.ahead);
        self.body += (self.ahead.len() - before) as u64;
        match fed {
            Ok(taken) => {
                received.advance(taken);
                self.taken += taken as u64;
            }
            // Bytes that are not a chunk do not belong to the response.
            Err(_) => self.is_broken = true,
        }
        if self.taken.saturating_sub(self.body) > MAX_FRAMING {
            return Err(NotCaptured::TooManyChunks);
        }
        Ok(())
    }
}

fn is_request_for(request: &[u8], target: &str) -> bool {
    let rest = request.strip_prefix(b"GET ").and_then(|rest| rest.strip_prefix(target.as_bytes()));
    rest.is_some_and(|rest| rest.starts_with(b" HTTP/1.")) && request.ends_with(b"\r\n\r\n")
}

/// The status in a status line: `HTTP/1.1 200 OK`.
fn status_of(head: &[u8]) -> Option<u16> {
    let digits = head.strip_prefix(b"HTTP/1.")?.get(2..5)?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}
