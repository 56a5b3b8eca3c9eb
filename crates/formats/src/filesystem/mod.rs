//! ACHE's FILESYSTEM_HTML, FILESYSTEM_JSON and FILESYSTEM_CBOR (its documentation, “Data Formats”): one file per page,
//! `<host>/<name>`.
//!
//! The host is that of the URL requested. The name is the URL, form-encoded (`application/x-www-form-urlencoded`), or
//! its SHA-256. There is no extension. HTML is the decoded body; JSON is the FILES object ([`super::files`]) without a
//! line feed; CBOR is the map of [`super::cbor`].

pub(crate) mod one_page;

use std::path::Path;

use data_encoding::HEXLOWER;
use percent_encoding::percent_decode_str;
use sha2::{Digest, Sha256};

use super::cbor::{self, CborRecord};
use super::files::{self, FilesRecord, body_alone};
use super::format::{Files, Format, FormatSpec};
use super::records::{ArchiveReader, ReaderInput, SinglePage};
use super::recovery::RecoveryMethod;
use super::sniff::Confidence;
use super::stored_fields::{Field, Reduction, Stored};
use seine_delivery::Entry;
use seine_parse::page::{Outcome, PageEvent};
use seine_parse::url::host;

/// Only the body.
pub const HTML: Format = Format(&FormatSpec {
    name: "FILESYSTEM_HTML",
    about: "one file per page: its body",
    schema: "html",
    holds: &[(Field::Url, Stored::Complete), (Field::Body, Stored::Complete), (Field::OtherTypes, Stored::Complete)],
    demands: &[Field::Url, Field::Body],
    // A body can be anything, so only the path shows this format.
    begins: |_| Confidence::No,
    reader: |input| {
        let url = url_of_path(&input.path);
        one_page(input, |bytes, _| html_page(bytes, url))
    },
    encoder: |_| Box::new(body_alone),
    stores_event: Some(files::stores_event),
    files: Files::OnePage,
    recovery: RecoveryMethod::Nothing,
});

/// The FILES object.
pub const JSON: Format = Format(&FormatSpec {
    name: "FILESYSTEM_JSON",
    about: "one file per page: the object that FILES writes",
    schema: "files",
    holds: files::HOLDS,
    demands: files::DEMANDS,
    // Looks like FILES, so only the path shows this format.
    begins: |_| Confidence::No,
    reader: |input| one_page(input, |bytes, path| record_page(&bytes, path, files_record)),
    encoder: |_| Box::new(files::encode),
    stores_event: Some(files::stores_event),
    files: Files::OnePage,
    recovery: RecoveryMethod::Nothing,
});

/// The map of [`cbor`].
pub const CBOR: Format = Format(&FormatSpec {
    name: "FILESYSTEM_CBOR",
    about: "one file per page: a CBOR map",
    schema: "cbor",
    holds: &[
        (Field::Url, Stored::Complete),
        (Field::Body, Stored::Partly(Reduction::TextOrBytes)),
        (Field::Fetched, Stored::Partly(Reduction::Seconds)),
        (Field::Request, Stored::Complete),
        (Field::Truncated, Stored::Complete),
        (Field::OtherTypes, Stored::Complete),
    ],
    demands: &[Field::Url, Field::Fetched, Field::Body],
    begins: |beginning| {
        let is_map = matches!(beginning.text().first(), Some(0xa0..=0xbf));
        Confidence::sure_if(is_map && cbor::url_at_start(beginning.text()).is_some())
    },
    reader: |input| one_page(input, |bytes, path| record_page(&bytes, path, cbor_record)),
    encoder: |_| {
        Box::new(|entry: &Entry, out: &mut Vec<u8>| {
            files::stores_event(&entry.event) && cbor::write_event(&entry.event, &entry.content(), out)
        })
    },
    stores_event: Some(files::stores_event),
    files: Files::OnePage,
    recovery: RecoveryMethod::Nothing,
});

/// Longest file name on Linux, in bytes.
pub(super) const MAX_NAME: usize = 255;

/// `target_storage.data_format.filesystem.*`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Naming {
    /// File names are SHA-256 of the URLs.
    pub hash_file_name: bool,
    /// Each file is a zlib stream.
    pub compress_data: bool,
}

/// Why a page cannot have a file.
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

/// Folder and name of a page's file, relative to the sink's folder. `hashed`: the name is the URL's SHA-256 in
/// lower-case hex.
pub fn path_of(url: &str, hashed: bool) -> Result<(String, String), NameError> {
    let host = host(url).filter(|host| !host.is_empty()).ok_or(NameError::NoHost)?;
    let folder = encode(host);
    let name = if hashed { HEXLOWER.encode(&Sha256::digest(url)) } else { encode(url) };
    match folder.len().max(name.len()) {
        length if length > MAX_NAME => Err(NameError::TooLong(length)),
        // Avoids the names of this folder and its parent.
        _ if folder.bytes().all(|byte| byte == b'.') => Ok((folder.replace('.', "%2E"), name)),
        _ => Ok((folder, name)),
    }
}

/// The URL that a file was named after; none for a hashed name and for other names.
pub fn url_of(name: &str) -> Option<String> {
    let url = percent_decode_str(&name.replace('+', " ")).decode_utf8().ok()?.into_owned();
    host(&url).is_some_and(|host| !host.is_empty()).then_some(url)
}

/// Encodes like Java's `URLEncoder`: keeps `A-Za-z0-9.-*_`, a space becomes `+`, everything else `%XX`.
fn encode(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

/// The URL that a FILESYSTEM_HTML file is named after, if its folder matches the URL's host.
pub fn url_of_path(path: &Path) -> Option<String> {
    let url = url_of(path.file_name()?.to_str()?)?;
    is_at(path, &url, false).then_some(url)
}

/// Whether the path ends as that of a page with this URL.
pub fn is_at(path: &Path, url: &str, hashed: bool) -> bool {
    path_of(url, hashed).is_ok_and(|(folder, name)| path.ends_with(Path::new(&folder).join(name)))
}

/// Whether the name is a SHA-256 in hex.
pub fn has_hashed_name(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    name.len() == 64 && name.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether the file name belongs to another page than this URL.
fn is_of_another_page(path: &Path, url: &str) -> bool {
    match url_of_path(path) {
        Some(named) => named != url,
        None => path_of(url, true).is_ok_and(|(folder, name)| {
            has_hashed_name(path) && path.parent().is_some_and(|it| it.ends_with(&folder)) && !path.ends_with(name)
        }),
    }
}

fn one_page(
    mut input: ReaderInput,
    page: impl FnOnce(Vec<u8>, &Path) -> Result<PageEvent, String>,
) -> std::io::Result<Box<dyn ArchiveReader>> {
    let page = one_page::content(&mut *input.bytes).and_then(|bytes| page(bytes, &input.path));
    Ok(Box::new(SinglePage(Some(page))))
}

fn html_page(body: Vec<u8>, url: Option<String>) -> Result<PageEvent, String> {
    let url =
        url.ok_or("its name contains no URL (hashed names do not), and FILESYSTEM_HTML stores the URL nowhere else")?;
    let mut event = PageEvent::empty(url);
    if let Outcome::Response(response) = &mut event.outcome {
        response.body = body.into();
    }
    Ok(event)
}

/// Reads a file with one record. The URL in the record must match the file name.
fn record_page(bytes: &[u8], path: &Path, read: fn(&[u8]) -> Result<PageEvent, String>) -> Result<PageEvent, String> {
    if bytes.is_empty() {
        return Err("it is empty, but should contain a record".into());
    }
    let event = read(bytes)?;
    if is_of_another_page(path, &event.url) {
        return Err(format!("its record is of {}, but its name is that of another page", event.url));
    }
    Ok(event)
}

fn files_record(bytes: &[u8]) -> Result<PageEvent, String> {
    files::parse_line(bytes).map(FilesRecord::into_event).map_err(|error| format!("it is not a FILES record: {error}"))
}

fn cbor_record(bytes: &[u8]) -> Result<PageEvent, String> {
    cbor::parse(bytes).map(CborRecord::into_event).map_err(|error| error.to_string())
}
