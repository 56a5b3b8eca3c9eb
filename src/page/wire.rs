//! An exchange exactly as it went over an HTTP/1 connection: what an archive wants beyond what a client tells.
//!
//! The body is kept once, in [`Response::body`](super::Response): here is only what stands around and between it.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// The bytes around one response's body, where the client kept them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wire {
    /// The request: request line, headers, the blank line.
    #[serde(with = "as_latin1")]
    pub request: Bytes,
    /// Status line, headers and the blank line, as received; without informational (1xx) responses before it.
    #[serde(with = "as_latin1")]
    pub head: Bytes,
    /// What the transfer coding (RFC 9112 §7) put before, between and behind the pieces of the body, in order; empty when
    /// the body went as it is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub framing: Vec<Framing>,
}

/// Bytes of the transfer coding: chunk sizes and their line ends, the last chunk, trailers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Framing {
    /// How many bytes of the body come before it.
    pub at: u64,
    #[serde(with = "as_latin1")]
    pub bytes: Bytes,
}

impl Wire {
    /// Appends the response as it was received: head, and body with its framing.
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

/// Bytes as text of the same numbers: every byte survives JSON, and people can read it.
mod as_latin1 {
    use bytes::Bytes;
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::page::{latin1_to_string, string_to_latin1};

    pub fn serialize<S: Serializer>(bytes: &Bytes, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&latin1_to_string(bytes))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        Ok(string_to_latin1(&String::deserialize(deserializer)?).into())
    }
}
