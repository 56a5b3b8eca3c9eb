//! ACHE's FILESYSTEM_HTML, FILESYSTEM_JSON and FILESYSTEM_CBOR (seed 003): one file a page, `<host>/<name>`.
//!
//! The host is that of the URL asked for; the name is the URL itself, encoded as a form's field is
//! (`application/x-www-form-urlencoded`), or its SHA-256. No extension. HTML is the body alone, content codings removed;
//! JSON is the FILES object ([`super::files`]) without a line feed; CBOR is [`super::cbor`]'s map.

use data_encoding::HEXLOWER;
use percent_encoding::percent_decode_str;
use sha2::{Digest, Sha256};

use crate::parse::url::host;

/// The longest name of a file that Linux takes, in bytes.
pub const MAX_NAME: usize = 255;

/// Why a page can have no file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error("the URL has no host to name a folder after")]
    NoHost,
    #[error(
        "the name of its file would be {0} bytes long, and 255 is the most; \
         set target_storage.data_format.filesystem.hash_file_name: true"
    )]
    TooLong(usize),
}

/// Where a page's file is, below the sink's folder: the folder and the name of the file. `hashed`: the name is the URL's
/// SHA-256 in lower-case hex.
pub fn path_of(url: &str, hashed: bool) -> Result<(String, String), NameError> {
    let host = host(url).filter(|host| !host.is_empty()).ok_or(NameError::NoHost)?;
    let folder = encode(host);
    let name = if hashed { HEXLOWER.encode(&Sha256::digest(url)) } else { encode(url) };
    match folder.len().max(name.len()) {
        length if length > MAX_NAME => Err(NameError::TooLong(length)),
        // Not this folder, and not the one above.
        _ if folder.bytes().all(|byte| byte == b'.') => Ok((folder.replace('.', "%2E"), name)),
        _ => Ok((folder, name)),
    }
}

/// The URL that a file was named after; none for a hashed name and for what is no name of ours.
pub fn url_of(name: &str) -> Option<String> {
    let url = percent_decode_str(&name.replace('+', " ")).decode_utf8().ok()?.into_owned();
    host(&url).is_some_and(|host| !host.is_empty()).then_some(url)
}

/// As Java's `URLEncoder` does: keeps `A-Za-z0-9.-*_`, a space becomes `+`, everything else `%XX`.
fn encode(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}
