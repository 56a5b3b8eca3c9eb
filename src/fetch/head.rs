//! What an answer begins with, whichever transport brings it.

use std::net::IpAddr;

use http::{Extensions, HeaderMap, StatusCode, Version};

use crate::page::{HttpVersion, latin1_to_string};

/// More than any honest server sends; a page with more is a protocol failure.
pub(super) const MAX_HEADERS: usize = 512;

pub(super) struct Head {
    pub status: u16,
    /// As sent; empty for HTTP/2.
    pub reason: String,
    pub version: HttpVersion,
    pub headers: HeaderMap,
    /// The address that answered.
    pub ip: Option<IpAddr>,
    /// The body's length, where the head says it.
    pub announced: Option<u64>,
}

impl Head {
    pub fn new(status: StatusCode, version: Version, headers: HeaderMap, extensions: &Extensions) -> Head {
        Head {
            status: status.as_u16(),
            reason: reason_phrase(status, version, extensions),
            version: http_version(version),
            headers,
            ip: None,
            announced: None,
        }
    }
}

fn reason_phrase(status: StatusCode, version: Version, extensions: &Extensions) -> String {
    if version >= Version::HTTP_2 {
        return String::new();
    }
    match extensions.get::<hyper::ext::ReasonPhrase>() {
        Some(phrase) => latin1_to_string(phrase.as_bytes()),
        None => status.canonical_reason().unwrap_or_default().to_owned(),
    }
}

fn http_version(version: Version) -> HttpVersion {
    match version {
        Version::HTTP_2 => HttpVersion::Http2,
        Version::HTTP_09 | Version::HTTP_10 => HttpVersion::Http10,
        _ => HttpVersion::Http11,
    }
}
