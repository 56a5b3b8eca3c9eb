//! Labelled digests: `sha1:` followed by base32.

use data_encoding::{BASE32, BASE32_NOPAD, BASE64, HEXLOWER_PERMISSIVE};
use sha1::{Digest, Sha1};
use sha2::Sha256;

use super::record::WarcRecord;
use crate::http;

/// The result of comparing a digest with the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DigestVerdict {
    /// The record has no digest, or one of bytes in another record: a revisit, or a segmented record.
    Absent,
    /// Neither SHA-1 nor SHA-256, or not in base32, base64 or hex.
    Unknown,
    Right,
    /// `found`: the digest of the actual bytes, as `sha1:` or `sha256:` and base32.
    Wrong {
        stated: String,
        found: String,
    },
}

impl WarcRecord {
    /// Compares `WARC-Block-Digest` with the block.
    pub fn check_block(&self) -> DigestVerdict {
        self.get("WARC-Block-Digest").map_or(DigestVerdict::Absent, |it| verdict(it, &[&self.block]))
    }

    /// Compares `WARC-Payload-Digest` with the payload. Accepts the digest of the payload with or without its transfer
    /// coding, since writers differ.
    pub fn check_payload(&self) -> DigestVerdict {
        let Some(stated) = self.get("WARC-Payload-Digest") else { return DigestVerdict::Absent };
        let in_segments = self.get("WARC-Segment-Number").is_some();
        if in_segments || matches!(self.kind(), "revisit" | "continuation") {
            return DigestVerdict::Absent;
        }
        if !self.is_http() {
            return verdict(stated, &[&self.block]);
        }
        let as_sent = self.block.slice(http::head_length(&self.block)..);
        match http::parse_response(&self.block) {
            Ok(response) => verdict(stated, &[&response.body, &as_sent]),
            Err(_) => verdict(stated, &[&as_sent]),
        }
    }
}

/// SHA-1 as written in WARC.
pub(super) fn labelled(digest: &[u8; 20]) -> String {
    format!("sha1:{}", BASE32.encode(digest))
}

pub(super) fn sha1(bytes: &[u8]) -> [u8; 20] {
    Sha1::digest(bytes).into()
}

/// `stated`: `algorithm:digest`. Right if it matches any of `candidates`.
fn verdict(stated: &str, candidates: &[&[u8]]) -> DigestVerdict {
    let (algorithm, text) = stated.split_once(':').unwrap_or(("", stated));
    let hash: fn(&[u8]) -> Vec<u8> = match algorithm.to_ascii_lowercase().as_str() {
        "sha1" | "sha-1" => |bytes| Sha1::digest(bytes).to_vec(),
        "sha256" | "sha-256" => |bytes| Sha256::digest(bytes).to_vec(),
        _ => return DigestVerdict::Unknown,
    };
    let Some(wanted) = decode(text.trim(), hash(b"").len()) else { return DigestVerdict::Unknown };
    let found: Vec<_> = candidates.iter().map(|bytes| hash(bytes)).collect();
    match found.first() {
        _ if found.contains(&wanted) => DigestVerdict::Right,
        Some(first) => {
            let found = format!("{}:{}", algorithm.to_ascii_lowercase(), BASE32.encode(first));
            DigestVerdict::Wrong { stated: stated.to_owned(), found }
        }
        None => DigestVerdict::Absent,
    }
}

/// The length shows the encoding; there is no other sign.
fn decode(text: &str, length: usize) -> Option<Vec<u8>> {
    let bytes = if text.len() == 2 * length {
        HEXLOWER_PERMISSIVE.decode(text.as_bytes()).ok()?
    } else {
        let upper = text.to_ascii_uppercase();
        let base32 = BASE32_NOPAD.decode(upper.trim_end_matches('=').as_bytes()).ok().filter(|it| it.len() == length);
        base32.or_else(|| BASE64.decode(text.as_bytes()).ok())?
    };
    (bytes.len() == length).then_some(bytes)
}
