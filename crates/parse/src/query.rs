//! Encodes the query of a link in the charset of its document, and removes parameters that only track visitors.

use encoding_rs::{EncoderResult, Encoding};

/// The bytes of a query before percent-encoding, by the URL standard's "percent-encode after encoding". A character
/// that the charset lacks becomes a numeric reference (`&#20013;`), already percent-encoded so that `&` does not end
/// the parameter.
pub(super) fn encode(query: &str, encoding: &'static Encoding) -> Vec<u8> {
    let mut encoder = encoding.new_encoder();
    let mut out = Vec::with_capacity(query.len() + 16);
    let mut rest = query;
    loop {
        // Reserves the largest size of the encoded rest. Only replaced characters can need more.
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

/// Removes the given parameters from a normalised URL: whole names, or prefixes with a `*`, in any case.
pub(super) fn without(url: String, dropped: &[String]) -> String {
    let Some((page, query)) = url.split_once('?').filter(|_| !dropped.is_empty()) else { return url };
    let is_kept = |parameter: &&str| {
        let name = parameter.split('=').next().unwrap_or_default();
        !dropped.iter().any(|pattern| names(pattern, name))
    };
    if query.split('&').all(|parameter| is_kept(&parameter)) {
        return url;
    }
    let kept: Vec<&str> = query.split('&').filter(is_kept).collect();
    if kept.is_empty() { page.to_owned() } else { format!("{page}?{}", kept.join("&")) }
}

fn names(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.get(..start.len()).is_some_and(|given| given.eq_ignore_ascii_case(start)),
        None => name.eq_ignore_ascii_case(pattern),
    }
}
