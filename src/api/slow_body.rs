//! The body of a request. While the client sends nothing, its connection counts as idle.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};

use super::connection_slots::ConnectionSlot;

/// The body of a request, and the place of its connection; none for the owner's socket.
pub(super) struct SlowBody {
    pub body: Incoming,
    pub slot: Option<Arc<ConnectionSlot>>,
}

impl Body for SlowBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        if let Some(slot) = &self.slot {
            match frame.is_pending() {
                true => slot.waits(),
                false => slot.is_busy(),
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
