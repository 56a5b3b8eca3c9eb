//! The query of a link: in the charset of its document.

use encoding_rs::{EncoderResult, Encoding};

/// A query as the bytes that are percent-encoded, by the URL standard's "percent-encode after encoding": what the charset
/// does not have is a numeric reference (`&#20013;`), encoded already so that it does not end its parameter.
pub(super) fn encode(query: &str, encoding: &'static Encoding) -> Vec<u8> {
    let mut encoder = encoding.new_encoder();
    let mut out = Vec::with_capacity(query.len() + 16);
    let mut rest = query;
    loop {
        // As much as `rest` can become, so that what is left is at most what cannot be encoded.
        out.reserve(encoder.max_buffer_length_from_utf8_without_replacement(rest.len()).unwrap_or(rest.len() * 4));
        let (result, read) = encoder.encode_from_utf8_to_vec_without_replacement(rest, &mut out, true);
        rest = &rest[read..];
        match result {
            EncoderResult::InputEmpty => return out,
            EncoderResult::Unmappable(c) => out.extend(format!("%26%23{}%3B", u32::from(c)).into_bytes()),
            EncoderResult::OutputFull => {}
        }
    }
}
