//! A connection below the HTTP library. The library refuses some requests itself, with an empty body; this module
//! replaces that with a problem document, as for all other errors. It also closes connections whose client does not
//! read.

use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use super::problem::Refusal;

/// A connection whose client reads nothing for this long has failed.
const UNREAD: Duration = Duration::from_secs(20);

pub(super) struct Connection<S> {
    stream: S,
    instead: Option<Instead>,
    /// Runs while the client reads nothing.
    waits: Option<Pin<Box<Sleep>>>,
}

/// What is written instead of the library's answer.
struct Instead {
    ours: Vec<u8>,
    written: usize,
    /// Length of the library's answer.
    theirs: usize,
}

impl<S> Connection<S> {
    pub fn new(stream: S) -> Connection<S> {
        Connection { stream, instead: None, waits: None }
    }

    fn bounded<T>(&mut self, context: &mut Context, written: Poll<Result<T>>) -> Poll<Result<T>> {
        if written.is_ready() {
            self.waits = None;
            return written;
        }
        let waits = self.waits.get_or_insert_with(|| Box::pin(sleep(UNREAD)));
        waits.as_mut().poll(context).map(|()| Err(Error::from(ErrorKind::TimedOut)))
    }
}

impl<S: AsyncWrite + Unpin> Connection<S> {
    /// None if the answer is not the library's own. The library repeats the call with the same bytes until they are
    /// written.
    fn replaced(&mut self, context: &mut Context, first: &[u8], theirs: usize) -> Option<Poll<Result<usize>>> {
        if self.instead.is_none() {
            let ours = in_our_words(first)?;
            self.instead = Some(Instead { ours, written: 0, theirs });
        }
        Some(self.write_instead(context))
    }

    fn write_instead(&mut self, context: &mut Context) -> Poll<Result<usize>> {
        let Some(Instead { ours, written, theirs }) = &mut self.instead else { return Poll::Ready(Ok(0)) };
        while *written < ours.len() {
            match ready!(Pin::new(&mut self.stream).poll_write(context, &ours[*written..]))? {
                0 => return Poll::Ready(Err(Error::from(ErrorKind::WriteZero))),
                more => *written += more,
            }
        }
        let theirs = *theirs;
        self.instead = None;
        Poll::Ready(Ok(theirs))
    }
}

/// For an answer with this beginning. Our own answers have a content type.
fn in_our_words(head: &[u8]) -> Option<Vec<u8>> {
    let refusal = match head.get(..13)? {
        b"HTTP/1.1 414 " => Refusal::TooLong(
            "the address has more than 65,534 bytes; a URL of 4096 is the longest that is fetched".to_owned(),
        ),
        b"HTTP/1.1 431 " => Refusal::TooMuch("the head of the request is too long".to_owned()),
        b"HTTP/1.1 400 " if memchr::memmem::find(head, b"content-type").is_none() => {
            Refusal::Bad("this is no request of HTTP/1.1".to_owned())
        }
        _ => return None,
    };
    let (status, body) = (refusal.status(), refusal.document());
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/problem+json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    Some(head.into_bytes())
}

impl<S: AsyncRead + Unpin> AsyncRead for Connection<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context, into: &mut ReadBuf) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Connection<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context, bytes: &[u8]) -> Poll<Result<usize>> {
        let written = match self.replaced(context, bytes, bytes.len()) {
            Some(written) => written,
            None => Pin::new(&mut self.stream).poll_write(context, bytes),
        };
        self.bounded(context, written)
    }

    fn poll_write_vectored(mut self: Pin<&mut Self>, context: &mut Context, all: &[IoSlice]) -> Poll<Result<usize>> {
        let first = all.first().map_or(&[][..], |first| first);
        let written = match self.replaced(context, first, all.iter().map(|slice| slice.len()).sum()) {
            Some(written) => written,
            None => Pin::new(&mut self.stream).poll_write_vectored(context, all),
        };
        self.bounded(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
