//! Pages that are not written in full: unchanged since they were last written, or unchanged according to the server.

use uuid::Uuid;

use super::digest::labelled;
use super::record::{date, push_field, push_uri, urn};
use seine_parse::page::EpochMs;

const NOT_MODIFIED: &str = "http://netpreserve.org/warc/1.1/revisit/server-not-modified";
const IDENTICAL: &str = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";

/// A `response` record written earlier.
#[derive(Clone, Copy)]
pub(super) struct EarlierCapture {
    /// SHA-1 of the body without its transfer coding.
    pub digest: [u8; 20],
    pub id: Uuid,
    pub date: EpochMs,
}

/// Why a page is not written in full.
pub(super) enum Revisit {
    /// The server answered 304. The earlier record is known if it is still remembered.
    NotModified(Option<EarlierCapture>),
    Identical(EarlierCapture),
}

impl Revisit {
    pub(super) fn push_fields(&self, url: &str, out: &mut Vec<u8>) {
        let (profile, earlier) = match self {
            Revisit::NotModified(earlier) => (NOT_MODIFIED, earlier.as_ref()),
            Revisit::Identical(earlier) => (IDENTICAL, Some(earlier)),
        };
        push_field(out, "WARC-Profile", profile);
        push_uri(out, "WARC-Refers-To-Target-URI", url);
        if let Some(earlier) = earlier {
            push_field(out, "WARC-Refers-To", &urn(&earlier.id));
            push_field(out, "WARC-Refers-To-Date", &date(earlier.date));
            push_field(out, "WARC-Payload-Digest", &labelled(&earlier.digest));
        }
        if let Revisit::Identical(..) = self {
            push_field(out, "WARC-Truncated", "length");
        }
    }
}
