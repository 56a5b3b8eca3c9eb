//! Dates in response headers.

use std::time::UNIX_EPOCH;

use seine_parse::page::{EpochMs, Response};

/// The date of a header (RFC 9110 §5.6.7); none if it has none, or something else.
pub(super) fn date_of(response: &Response, header: &str) -> Option<EpochMs> {
    response.headers.get(header).and_then(http_date)
}

pub(super) fn http_date(text: &str) -> Option<EpochMs> {
    let time = httpdate::parse_http_date(text.trim()).ok()?;
    EpochMs::try_from(time.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()
}
