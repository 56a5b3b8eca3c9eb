//! What the API refuses, as a problem document (RFC 9457).

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};

use crate::frontier::FrontierError;
use crate::page_log::LogError;

/// Why something asked for is not given or done. The texts say what to do instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub enum Refusal {
    /// What was asked is not understood, or cannot be.
    Bad(String),
    /// No token, or not one of this crawl's.
    Unknown(String),
    /// Whoever asks may not.
    Forbidden(String),
    NotFound(String),
    /// What is there cannot be asked for like this.
    NoSuchMethod(String),
    /// As things are it cannot be done.
    Conflict(String),
    /// An address that is longer than any that means something.
    TooLong(String),
    /// More than is taken at once.
    TooMuch(String),
    /// Too many requests.
    TooOften(String),
    /// Not now: the disk is full, or the store away.
    Unavailable(String),
    Failed(String),
}

/// RFC 9457. `type` is `about:blank`: the status says what kind of problem it is.
#[derive(Debug, Serialize, Deserialize)]
pub struct Problem {
    pub title: String,
    pub status: u16,
    pub detail: String,
}

impl Refusal {
    pub fn status(&self) -> StatusCode {
        match self {
            Refusal::Bad(_) => StatusCode::BAD_REQUEST,
            Refusal::Unknown(_) => StatusCode::UNAUTHORIZED,
            Refusal::Forbidden(_) => StatusCode::FORBIDDEN,
            Refusal::NotFound(_) => StatusCode::NOT_FOUND,
            Refusal::NoSuchMethod(_) => StatusCode::METHOD_NOT_ALLOWED,
            Refusal::Conflict(_) => StatusCode::CONFLICT,
            Refusal::TooLong(_) => StatusCode::URI_TOO_LONG,
            Refusal::TooMuch(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Refusal::TooOften(_) => StatusCode::TOO_MANY_REQUESTS,
            Refusal::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
            Refusal::Failed(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    pub(super) fn document(&self) -> String {
        let status = self.status();
        let title = status.canonical_reason().unwrap_or("Problem").to_owned();
        let problem = Problem { title, status: status.as_u16(), detail: self.to_string() };
        serde_json::to_string(&problem).unwrap_or_default()
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (status, body) = (self.status(), self.document());
        let mut response = (status, [(header::CONTENT_TYPE, "application/problem+json")], body).into_response();
        if status == StatusCode::TOO_MANY_REQUESTS {
            response.headers_mut().insert(header::RETRY_AFTER, header::HeaderValue::from_static("1"));
        }
        if status == StatusCode::UNAUTHORIZED {
            let bearer = header::HeaderValue::from_static("Bearer realm=\"seine\"");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, bearer);
        }
        response
    }
}

impl From<FrontierError> for Refusal {
    fn from(error: FrontierError) -> Self {
        match &error {
            FrontierError::BadUrl(_) => Refusal::Bad(error.to_string()),
            _ if error.is_waiting() => Refusal::Unavailable(error.to_string()),
            _ => Refusal::Failed(error.to_string()),
        }
    }
}

impl From<LogError> for Refusal {
    fn from(error: LogError) -> Self {
        Refusal::Failed(error.to_string())
    }
}
