//! Below the handlers: bodies sent in pieces, and a socket on which a hand-written response can replace hyper's.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use hyper::body::{Body, Frame, SizeHint};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Interval;

/// A response body as hyper requests it.
pub(super) enum Pieces {
    Whole(Bytes),
    Trickle { left: Bytes, piece: usize, ticks: Interval },
    Endless(Bytes),
}

impl Pieces {
    pub(super) fn trickle(left: Bytes, piece: usize, every: Duration) -> Pieces {
        // An interval of zero panics, and empty pieces would never end.
        let ticks = tokio::time::interval(every.max(Duration::from_millis(1)));
        Pieces::Trickle { left, piece: piece.max(1), ticks }
    }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let data = match self.get_mut() {
            Pieces::Whole(left) => std::mem::take(left),
            Pieces::Endless(piece) => piece.clone(),
            Pieces::Trickle { left, .. } if left.is_empty() => Bytes::new(),
            Pieces::Trickle { left, piece, ticks } => {
                ready!(ticks.poll_tick(cx));
                left.split_to(left.len().min(*piece))
            }
        };
        Poll::Ready((!data.is_empty()).then(|| Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Pieces::Whole(left) | Pieces::Trickle { left, .. } => left.is_empty(),
            Pieces::Endless(piece) => piece.is_empty(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Pieces::Whole(left) | Pieces::Trickle { left, .. } => SizeHint::with_exact(left.len() as u64),
            Pieces::Endless(_) => SizeHint::default(),
        }
    }
}

/// Where a connection's handler leaves a response that hyper must not write.
pub(super) type Override = Arc<Mutex<Option<Bytes>>>;

/// A socket that writes hyper's bytes until its [`Override`] is set. From then on it writes those bytes and drops
/// hyper's. (A pipelining client could lose the end of an earlier answer; ours do not pipeline.)
pub(super) struct Socket {
    stream: TcpStream,
    replacement: Override,
    /// The rest of the replacement, once there is one.
    raw: Option<Bytes>,
}

impl Socket {
    pub(super) fn new(stream: TcpStream, replacement: Override) -> Socket {
        Socket { stream, replacement, raw: None }
    }
}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if let Some(bytes) = this.replacement.lock().take() {
            this.raw = Some(bytes);
        }
        let Some(left) = &mut this.raw else {
            return Pin::new(&mut this.stream).poll_write(cx, buf);
        };
        while left.has_remaining() {
            let written = ready!(Pin::new(&mut this.stream).poll_write(cx, left))?;
            left.advance(written);
        }
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}
