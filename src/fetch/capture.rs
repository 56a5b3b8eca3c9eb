//! The bytes of one exchange, put together beside the client that reads the same bytes. They are exact or they are none:
//! every byte of the body that the client gives is looked for in what was received, and what does not fit is a [`Doubt`].

use bytes::{Buf, Bytes, BytesMut};

use super::tap::Exchanged;
use crate::formats::chunked::Dechunker;
use crate::formats::http::head_length;
use crate::page::wire::{Framing, Wire};

/// Chunk sizes and trailers of one body that are kept, in bytes: some 150,000 chunks, far more than honest servers send.
const MAX_FRAMING: u64 = 1 << 20;

/// The exchange that is being captured.
pub(super) struct Recording {
    /// For the log.
    pub url: String,
    pub exchanged: Exchanged,
    pub capture: Capture,
}

impl Recording {
    /// Goes on with what was received since. An error: its bytes are not kept.
    pub fn go_on(&mut self, step: impl FnOnce(&mut Capture, &mut BytesMut) -> Result<(), Doubt>) -> Result<(), Doubt> {
        let stepped = self.exchanged.look(|_, received| step(&mut self.capture, received));
        stepped.unwrap_or(Err(Doubt::Gone)).inspect_err(|doubt| doubt.tell(&self.url))
    }
}

/// What was received so far of one response.
pub(super) struct Capture {
    request: Bytes,
    head: Bytes,
    /// Of the transfer coding; none when the body goes as it is.
    chunks: Option<Chunks>,
}

#[derive(Default)]
struct Chunks {
    dechunker: Dechunker,
    /// Of the body, received; the first `given` bytes were given by the client too.
    ahead: Vec<u8>,
    given: usize,
    /// Bytes taken, framing included, and bytes of the body among them.
    taken: u64,
    body: u64,
    /// The client stops there too, and says so.
    is_broken: bool,
}

/// Why the bytes of an exchange are not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Doubt {
    #[error("the request went out only in part, or is not the one that was made")]
    Request,
    #[error("no head of that status is in what was received")]
    Head,
    #[error("the client's body is not in what was received")]
    Body,
    #[error("the transfer coding does not end where the body does")]
    End,
    #[error("more than {MAX_FRAMING} bytes of chunk sizes and trailers")]
    TooManyChunks,
    #[error("more was received than may be held, or the connection went on to another exchange")]
    Gone,
}

impl Doubt {
    pub fn tell(self, url: &str) {
        tracing::debug!(url, doubt = %self, "the exact bytes of an exchange are not kept");
    }
}

impl Capture {
    /// Takes the head off what was `received` since `request`, which is one for `target`: the request target as sent.
    /// `status` is that of the response, `is_chunked` says how its body is delimited.
    pub fn begin(
        request: &[u8],
        target: &str,
        received: &mut BytesMut,
        status: u16,
        is_chunked: bool,
    ) -> Result<Capture, Doubt> {
        if !is_request_for(request, target) {
            return Err(Doubt::Request);
        }
        let head = loop {
            // Empty lines before a head are no part of it.
            let empty = received.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            received.advance(empty);
            let length = head_length(received);
            let head = &received[..length];
            let found = status_of(head).filter(|_| head.ends_with(b"\n")).ok_or(Doubt::Head)?;
            if found == status {
                // Copied: what it is taken from is larger, and lives as long as the event.
                let head = Bytes::copy_from_slice(head);
                received.advance(length);
                break head;
            }
            if !(100..200).contains(&found) {
                return Err(Doubt::Head);
            }
            received.advance(length);
        };
        let chunks = is_chunked.then(Chunks::default);
        Ok(Capture { request: Bytes::copy_from_slice(request), head, chunks })
    }

    /// Takes the next `piece` of the body, as the client gives it, off what was received.
    pub fn body(&mut self, received: &mut BytesMut, piece: &[u8]) -> Result<(), Doubt> {
        let Some(chunks) = &mut self.chunks else {
            if !received.starts_with(piece) {
                return Err(Doubt::Body);
            }
            received.advance(piece.len());
            return Ok(());
        };
        chunks.feed(received)?;
        if !chunks.ahead[chunks.given..].starts_with(piece) {
            return Err(Doubt::Body);
        }
        chunks.given += piece.len();
        Ok(())
    }

    /// The body has ended. `is_whole`: by the client's word, rather than cut off.
    pub fn end(&mut self, received: &mut BytesMut, is_whole: bool) -> Result<(), Doubt> {
        let Some(chunks) = &mut self.chunks else { return Ok(()) };
        chunks.feed(received)?;
        if is_whole && !(chunks.dechunker.is_ended() && chunks.given == chunks.ahead.len()) {
            return Err(Doubt::End);
        }
        Ok(())
    }

    /// What stands around the first `kept` bytes of the body.
    pub fn into_wire(self, kept: usize) -> Wire {
        let mut framing = self.chunks.map(|chunks| chunks.dechunker.into_framing()).unwrap_or_default();
        framing.retain(|it: &Framing| it.at <= kept as u64);
        Wire { request: self.request, head: self.head, framing }
    }
}

impl Chunks {
    fn feed(&mut self, received: &mut BytesMut) -> Result<(), Doubt> {
        if self.is_broken {
            return Ok(());
        }
        // Not at every piece: pieces can be of a byte each.
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
            // What is no chunk is no part of the response.
            Err(_) => self.is_broken = true,
        }
        if self.taken.saturating_sub(self.body) > MAX_FRAMING {
            return Err(Doubt::TooManyChunks);
        }
        Ok(())
    }
}

fn is_request_for(request: &[u8], target: &str) -> bool {
    let rest = request.strip_prefix(b"GET ").and_then(|rest| rest.strip_prefix(target.as_bytes()));
    rest.is_some_and(|rest| rest.starts_with(b" HTTP/1.")) && request.ends_with(b"\r\n\r\n")
}

/// Of a status line: `HTTP/1.1 200 OK`.
fn status_of(head: &[u8]) -> Option<u16> {
    let digits = head.strip_prefix(b"HTTP/1.")?.get(2..5)?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}
