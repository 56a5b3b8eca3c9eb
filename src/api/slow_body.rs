//! A request's body on a connection whose place others may need: while the client sends nothing of it, the connection waits.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};

use super::places::Place;

/// The body of a request, and the place of its connection; none for the owner's socket, which needs no place.
pub(super) struct SlowBody {
    pub body: Incoming,
    pub place: Option<Arc<Place>>,
}

impl Body for SlowBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        if let Some(place) = &self.place {
            match frame.is_pending() {
                true => place.waits(),
                false => place.is_busy(),
            }
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
