//! A tap on a connection, between TLS and the HTTP client, which stores the bytes until they are taken.
//!
//! HTTP/1 has one request at a time on a connection. A request ends with its first empty line (ours have no body).
//! Everything read until the next request is its response.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::BytesMut;
use hyper_rustls::MaybeHttpsStream;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// More than the client reads ahead, which is at most about 400 KB.
const MAX_BUFFERED: usize = 1 << 20;

/// The bytes of one connection; cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Tap(Arc<Mutex<Spool>>);

#[derive(Default)]
struct Spool {
    /// Number of the request, from 1.
    number: u64,
    request: BytesMut,
    /// Bytes read since the request and not taken.
    received: BytesMut,
    /// Nobody needs this response, or it was too large.
    is_closed: bool,
}

/// The request in progress on a connection. Releases its bytes when dropped.
pub(super) struct RequestTap {
    tap: Tap,
    number: u64,
}

impl Tap {
    /// The present request.
    pub(super) fn exchanged(&self) -> RequestTap {
        RequestTap { tap: self.clone(), number: self.0.lock().number }
    }

    fn write(&self, bytes: &[u8]) {
        let mut spool = self.0.lock();
        if spool.number == 0 || spool.request.ends_with(b"\r\n\r\n") {
            *spool = Spool { number: spool.number + 1, ..Spool::default() };
        }
        spool.request.extend_from_slice(bytes);
        spool.limit();
    }

    fn read(&self, bytes: &[u8]) {
        let mut spool = self.0.lock();
        if !spool.is_closed {
            spool.received.extend_from_slice(bytes);
            spool.limit();
        }
    }
}

impl Spool {
    fn limit(&mut self) {
        if self.request.len() + self.received.len() > MAX_BUFFERED {
            self.close();
        }
    }

    fn close(&mut self) {
        *self = Spool {
            number: self.number,
            request: std::mem::take(&mut self.request),
            is_closed: true,
            ..Spool::default()
        };
        self.request.truncate(MAX_BUFFERED);
    }
}

impl RequestTap {
    /// Passes the request, and the bytes received since, to `look`. None if the bytes are gone: there were too many, or
    /// another request has started.
    pub(super) fn peek<T>(&self, look: impl FnOnce(&[u8], &mut BytesMut) -> T) -> Option<T> {
        let spool = &mut *self.tap.0.lock();
        (spool.number == self.number && !spool.is_closed).then(|| look(&spool.request, &mut spool.received))
    }
}

impl Drop for RequestTap {
    fn drop(&mut self) {
        let mut spool = self.tap.0.lock();
        if spool.number == self.number {
            spool.close();
        }
    }
}

/// A connection with a tap.
pub(super) struct TappedStream {
    stream: TokioIo<MaybeHttpsStream<TokioIo<TcpStream>>>,
    tap: Tap,
}

impl TappedStream {
    pub(super) fn new(stream: MaybeHttpsStream<TokioIo<TcpStream>>) -> TappedStream {
        TappedStream { stream: TokioIo::new(stream), tap: Tap::default() }
    }
}

impl Connection for TappedStream {
    /// Every response on this connection has the tap among its extensions.
    fn connected(&self) -> Connected {
        self.stream.connected().extra(self.tap.clone())
    }
}

impl AsyncRead for TappedStream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buf.filled().len();
        ready!(Pin::new(&mut this.stream).poll_read(cx, buf))?;
        this.tap.read(buf.filled().get(before..).unwrap_or_default());
        Poll::Ready(Ok(()))
    }
}

/// Not vectored, because a request without a body is one piece.
impl AsyncWrite for TappedStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = ready!(Pin::new(&mut this.stream).poll_write(cx, bytes))?;
        this.tap.write(bytes.get(..written).unwrap_or(bytes));
        Poll::Ready(Ok(written))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}
