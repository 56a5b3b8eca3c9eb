//! Pure functions of bytes: what a page says and where it points. No I/O, no clock, no recursion over a tree.

pub mod robots;
pub mod sitemap;
pub mod url;

use bytes::Bytes;

/// What is derived from an event: once, and shared by everyone who needs it.
#[derive(Debug, Clone, Default)]
pub struct Derived {
    /// The body with its content codings taken off; what could be decoded when the coding is broken or over the limit.
    pub body: Bytes,
    /// SHA-256 of `body`.
    pub digest: [u8; 32],
    /// Normalised http(s) URLs of the page's links, first appearance first, each once.
    pub links: Vec<Link>,
}

/// A link, resolved against the page's base and normalised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    pub url: String,
    /// Not to be followed: `rel=nofollow` on it, or the page says so.
    pub nofollow: bool,
}
