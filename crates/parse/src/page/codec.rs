//! The layout of an event in the page log: the length of the head (`u32`, little-endian), the head as JSON, then the
//! body as received. The head is JSON so that fields can be added and a person can read it in a hex dump.

use bytes::Bytes;

use super::{Outcome, PageEvent};

/// The version of this layout. Raise it when older versions cannot read the new layout. They ignore unknown fields, so
/// a new field needs no new version.
pub const FORMAT: u32 = 1;

#[derive(Debug, thiserror::Error)]
pub enum CodecError {
    #[error("event is shorter than its own head says: {have} bytes, {need} needed")]
    Short { have: usize, need: usize },
    #[error("event head cannot be read: {0}; was it written by a newer seine?")]
    Head(#[from] serde_json::Error),
}

/// Appends the event's bytes to `out`.
pub fn encode(event: &PageEvent, out: &mut Vec<u8>) {
    encode_head(event, out);
    out.extend_from_slice(body(event));
}

/// Appends everything before the body. For callers that do not want to copy the body.
pub fn encode_head(event: &PageEvent, out: &mut Vec<u8>) {
    let length_at = out.len();
    out.extend_from_slice(&[0; 4]);
    serde_json::to_writer(&mut *out, event).expect("an event has no map keys or types that JSON lacks");
    let head_length = (out.len() - length_at - 4) as u32;
    out[length_at..length_at + 4].copy_from_slice(&head_length.to_le_bytes());
}

/// The body as received; empty for a failure.
pub fn body(event: &PageEvent) -> &[u8] {
    event.response().map_or(&[], |response| &response.body)
}

/// Reads one event; the body shares `bytes`.
pub fn decode(bytes: &Bytes) -> Result<PageEvent, CodecError> {
    let need = |need: usize| CodecError::Short { have: bytes.len(), need };
    let head_length = bytes.first_chunk::<4>().ok_or(need(4))?;
    let body_at = (u32::from_le_bytes(*head_length) as usize).saturating_add(4);
    let head = bytes.get(4..body_at).ok_or(need(body_at))?;
    let mut event: PageEvent = serde_json::from_slice(head)?;
    if let Outcome::Response(response) = &mut event.outcome {
        response.body = bytes.slice(body_at..);
    }
    Ok(event)
}
