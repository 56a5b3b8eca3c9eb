//! What sends a request and reads its answer: reqwest, or for archives that want exact bytes a client of our own making
//! above the same hyper. Both are told the same and tell the same.

use bytes::Bytes;
use http::HeaderMap;

use super::head::Head;
use super::plain::{Plain, PlainBody};
use super::tapped::{Tapped, TappedBody};
use crate::page::wire::Wire;
use crate::page::{Failure, Truncated};

pub(super) enum Transport {
    Plain(Plain),
    Tapped(Box<Tapped>),
}

/// The rest of an answer, as it comes.
pub(super) enum Incoming {
    Plain(PlainBody),
    Tapped(Box<TappedBody>),
}

impl Transport {
    pub async fn get(&self, url: &url::Url, headers: HeaderMap) -> Result<(Head, Incoming), Failure> {
        Ok(match self {
            Transport::Plain(http) => {
                let (head, body) = http.get(url, headers).await?;
                (head, Incoming::Plain(body))
            }
            Transport::Tapped(http) => {
                let (head, body) = http.get(url, headers).await?;
                (head, Incoming::Tapped(Box::new(body)))
            }
        })
    }
}

impl Incoming {
    /// The next piece of the body; none at its end, when all of it came. An error is a break: a body shorter than its
    /// length, chunks without the last one, a stream or connection that was reset.
    pub async fn piece(&mut self) -> Result<Option<Bytes>, Truncated> {
        match self {
            Incoming::Plain(body) => body.piece().await,
            Incoming::Tapped(body) => body.piece().await,
        }
    }

    /// The bytes around a body of which `kept` bytes are kept; none when the transport does not know them.
    pub fn wire(self, kept: usize) -> Option<Wire> {
        match self {
            Incoming::Plain(_) => None,
            Incoming::Tapped(body) => body.wire(kept),
        }
    }
}
