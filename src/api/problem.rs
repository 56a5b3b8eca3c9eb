//! Errors of the API, as problem documents (RFC 9457).

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use seine_frontier::FrontierError;
use seine_page_log::LogError;
use serde::{Deserialize, Serialize};

/// Why a request is refused. The texts say what to do instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub enum Refusal {
    /// The request is invalid.
    Bad(String),
    /// The token is missing or unknown.
    Unknown(String),
    /// The token does not allow this.
    Forbidden(String),
    NotFound(String),
    /// The path does not support this method.
    NoSuchMethod(String),
    /// The present state does not allow it.
    Conflict(String),
    /// The body is too large.
    TooMuch(String),
    /// Too many requests.
    TooOften(String),
    /// Temporarily: the disk is full, or the store is closed.
    Unavailable(String),
    Failed(String),
}

/// RFC 9457. `type` is `about:blank`, because the status says what kind of problem it is.
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
