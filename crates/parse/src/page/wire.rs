//! The exact bytes of an HTTP/1 exchange. Archives want more than an HTTP client reports.
//!
//! The body itself is kept once, in [`Response::body`](super::Response). This module keeps only the bytes before,
//! between and after its pieces.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// The bytes around the body of one response, if the client recorded them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wire {
    /// Request line, headers and blank line of the request.
    #[serde(with = "as_latin1")]
    pub request: Bytes,
    /// Status line, headers and blank line of the response, as received, without preceding informational (1xx)
    /// responses.
    #[serde(with = "as_latin1")]
    pub head: Bytes,
    /// The bytes of the transfer coding (RFC 9112 §7) before, between and after the pieces of the body, in order. Empty
    /// if the body was sent without one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub framing: Vec<Framing>,
}

/// Bytes of the transfer coding: chunk sizes with their line ends, the last chunk, trailers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Framing {
    /// How many bytes of the body precede it.
    pub at: u64,
    #[serde(with = "as_latin1")]
    pub bytes: Bytes,
}

impl Wire {
    /// Appends the response as it was received: head, then the body with its framing.
    pub fn write_response(&self, body: &[u8], out: &mut Vec<u8>) {
        out.reserve(self.head.len() + body.len() + self.framing.iter().map(|it| it.bytes.len()).sum::<usize>());
        out.extend_from_slice(&self.head);
        let mut written = 0;
        for framing in &self.framing {
            let at = usize::try_from(framing.at).unwrap_or(usize::MAX).clamp(written, body.len());
            out.extend_from_slice(&body[written..at]);
            out.extend_from_slice(&framing.bytes);
            written = at;
        }
        out.extend_from_slice(&body[written..]);
    }
}

/// Stores bytes as a string of characters with the same numbers, so that every byte survives JSON and the text stays
/// readable.
mod as_latin1 {
    use bytes::Bytes;
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::page::{latin1_to_string, string_to_latin1};

    pub(super) fn serialize<S: Serializer>(bytes: &Bytes, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&latin1_to_string(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        Ok(string_to_latin1(&String::deserialize(deserializer)?).into())
    }
}
