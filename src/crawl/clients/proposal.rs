//! A proposal: a page sent by a remote worker. Its form and size are checked first.

use std::net::IpAddr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use data_encoding::HEXLOWER_PERMISSIVE;
use seine_parse::page::{Failure, FailureReason, Headers, HttpVersion, Outcome, PageEvent, Response, Truncated};
use seine_system::clock::now_ms;
use sha2::{Digest, Sha256};

use crate::api::schema::work::PageSent;
use crate::fetch::client::{Client, Exchange, unwanted};

const MAX_HEADERS: usize = 256;
const MAX_HEADER_BYTES: usize = 256 << 10;
const MAX_MESSAGE: usize = 1000;

/// A worker's answer for a URL, in the form of our own fetch. We set the times: the request took as long as stated, and
/// ended just now.
pub(super) struct Proposal {
    pub url: String,
    pub exchange: Exchange,
}

impl Proposal {
    /// The error says what is wrong.
    pub(super) fn of_json(page: PageSent, client: &Client) -> Result<Proposal, String> {
        let request_headers = checked_headers(page.request_headers)?;
        let headers = checked_headers(page.headers)?;
        let outcome = match (page.status, page.failure) {
            (None, Some(failure)) => {
                let reason = FailureReason::by_name(&failure.reason)
                    .ok_or_else(|| format!("{:?} is not the name of a failure", failure.reason))?;
                let message = failure.message.chars().take(MAX_MESSAGE).collect();
                Outcome::Failure(Failure { reason, message })
            }
            (Some(status), None) => {
                let body = STANDARD.decode(&page.body).map_err(|error| format!("body is not base64: {error}"))?;
                check_digest(page.digest.as_deref(), &body)?;
                let response = Response {
                    status,
                    reason: checked_reason(page.reason)?,
                    version: page.version.unwrap_or(HttpVersion::Http11),
                    headers,
                    body: body.into(),
                    truncated: page.truncated,
                    wall: None,
                    wire: None,
                };
                checked_response(response, client)?
            }
            _ => return Err("a page has either a status or a failure".to_owned()),
        };
        Ok(Proposal::new(page.url, outcome, request_headers, page.ip, page.took_ms))
    }

    /// From a page of an archive.
    pub(super) fn of_event(mut event: PageEvent, client: &Client) -> Result<Proposal, String> {
        // We follow redirects ourselves.
        if let (Some(hop), Outcome::Response(response)) = (event.hops.drain(..).next(), &mut event.outcome) {
            (response.status, response.headers, response.body) = (hop.status, hop.headers, Bytes::new());
        }
        let took_ms = event.ended_ms.saturating_sub(event.started_ms);
        let outcome = match event.outcome {
            Outcome::Response(response) => {
                let headers = checked_headers(response.headers.0)?;
                checked_response(Response { headers, wire: None, ..response }, client)?
            }
            failure @ Outcome::Failure(_) => failure,
        };
        let request_headers = checked_headers(event.request_headers.0)?;
        Ok(Proposal::new(event.url, outcome, request_headers, event.ip, took_ms))
    }

    fn new(url: String, outcome: Outcome, headers: Headers, ip: Option<IpAddr>, took_ms: u64) -> Proposal {
        let ended_ms = now_ms();
        let (request_headers, started_ms) = (headers.redacted(), ended_ms.saturating_sub(took_ms));
        Proposal { url, exchange: Exchange { request_headers, outcome, ip, started_ms, ended_ms, room: None } }
    }
}

fn checked_headers(headers: Vec<(String, String)>) -> Result<Headers, String> {
    if headers.len() > MAX_HEADERS {
        return Err(format!("more than {MAX_HEADERS} headers"));
    }
    let bytes: usize = headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    if bytes > MAX_HEADER_BYTES {
        return Err(format!("headers of more than {MAX_HEADER_BYTES} bytes"));
    }
    let mut checked = Headers::default();
    for (name, value) in headers {
        let Ok(name) = http::HeaderName::from_bytes(name.as_bytes()) else {
            return Err(format!("{name:?} is not a header name"));
        };
        // Each character stands for one byte on the wire.
        if value.chars().any(|character| matches!(character, '\r' | '\n' | '\0') || u32::from(character) > 0xff) {
            return Err(format!("the value of {name} has characters that are not allowed in a header"));
        }
        checked.push(name.as_str(), value);
    }
    Ok(checked)
}

fn checked_reason(reason: String) -> Result<String, String> {
    match reason.len() <= 200 && reason.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) {
        true => Ok(reason),
        false => Err("the reason phrase is not valid".to_owned()),
    }
}

fn check_digest(said: Option<&str>, body: &[u8]) -> Result<(), String> {
    let Some(said) = said else { return Ok(()) };
    let expected = said.strip_prefix("sha256:").and_then(|hex| HEXLOWER_PERMISSIVE.decode(hex.as_bytes()).ok());
    let expected = expected.ok_or("digest is not sha256: and 64 hexadecimal digits")?;
    match expected == Sha256::digest(body).as_slice() {
        true => Ok(()),
        false => Err("the digest of the body differs: the body changed on its way".to_owned()),
    }
}

/// Cuts the response at our own limits.
fn checked_response(mut response: Response, client: &Client) -> Result<Outcome, String> {
    if !(200..600).contains(&response.status) {
        return Err(format!("{} is not a status code", response.status));
    }
    if matches!(response.status, 204 | 304) && !response.body.is_empty() {
        return Err(format!("a response with status {} has no body", response.status));
    }
    let limits = client.limits();
    if response.is_success() && !client.is_wanted(response.content_type()) {
        return Ok(Outcome::Failure(unwanted(response.content_type().unwrap_or_default())));
    }
    if response.body.len() as u64 > limits.body_bytes {
        response.body = Bytes::copy_from_slice(&response.body[..limits.body_bytes as usize]);
        response.truncated = Some(Truncated::Length);
    }
    Ok(Outcome::Response(response))
}
