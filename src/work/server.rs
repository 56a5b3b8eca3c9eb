//! The server's API.

use std::error::Error;
use std::iter::successors;
use std::time::Duration;

use reqwest::{Method, StatusCode, header};
use serde::de::DeserializeOwned;

use crate::api::Problem;
use crate::api::schema::work::{LeaseWanted, LeasedWork, PageSent, PagesTaken, Released, RenewedLease};
use crate::config::Secret;

/// Longer than the longest wait for work, and enough for a page on a slow line.
const PATIENCE: Duration = Duration::from_secs(120);
const CONNECTING: Duration = Duration::from_secs(10);

#[derive(Clone)]
pub(super) struct Server {
    http: reqwest::Client,
    api: url::Url,
    token: Secret,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ServerError {
    #[error("{server} cannot be reached: {problem}; is a crawl running there with http.enabled, and is the port open?")]
    Away { server: String, problem: String },
    #[error("{server} refuses ({status}): {detail}")]
    Refused { server: String, status: u16, detail: String },
    #[error(
        "{server} sent an answer that this version does not understand: {problem}; is it another version, or \
        not Seine?"
    )]
    Foreign { server: String, problem: String },
    #[error("cannot make an HTTP client: {0}")]
    Client(String),
}

impl ServerError {
    /// The server cannot be reached, but may come back.
    pub(crate) fn is_away(&self) -> bool {
        match self {
            ServerError::Away { .. } => true,
            ServerError::Refused { status, .. } => *status >= 500,
            ServerError::Foreign { .. } | ServerError::Client(_) => false,
        }
    }

    /// The server gives no more work at the moment.
    pub(crate) fn is_for_later(&self) -> bool {
        matches!(self, ServerError::Refused { status: 409, .. }) || self.is_busy()
    }

    /// Too many requests.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(self, ServerError::Refused { status: 429, .. })
    }
}

impl Server {
    pub(super) fn new(server: url::Url, token: Secret) -> Result<Server, ServerError> {
        let http = reqwest::Client::builder().no_proxy().connect_timeout(CONNECTING).timeout(PATIENCE).build();
        let http = http.map_err(|error| ServerError::Client(error.to_string()))?;
        Ok(Server { http, api: server, token })
    }

    pub(super) async fn lease(&self, wanted: &LeaseWanted) -> Result<LeasedWork, ServerError> {
        self.ask(Method::POST, "leases", to_json(wanted)).await
    }

    pub(super) async fn renew(&self, lease: &str) -> Result<RenewedLease, ServerError> {
        self.ask(Method::POST, &format!("leases/{lease}/renew"), Vec::new()).await
    }

    pub(super) async fn release(&self, lease: &str) -> Result<Released, ServerError> {
        self.ask(Method::DELETE, &format!("leases/{lease}"), Vec::new()).await
    }

    pub(super) async fn send(&self, page: &PageSent) -> Result<PagesTaken, ServerError> {
        self.ask(Method::POST, "pages", to_json(page)).await
    }

    async fn ask<A: DeserializeOwned>(&self, method: Method, path: &str, body: Vec<u8>) -> Result<A, ServerError> {
        let url = format!("{}/api/v1/work/{path}", self.api.as_str().trim_end_matches('/'));
        let request = self
            .http
            .request(method, url)
            .bearer_auth(self.token.expose())
            .header(header::CONTENT_TYPE, "application/json")
            .body(body);
        let away = |error: reqwest::Error| ServerError::Away { server: self.shown(), problem: reason(&error) };
        let response = request.send().await.map_err(away)?;
        let status = response.status();
        let bytes = response.bytes().await.map_err(away)?;
        if !status.is_success() {
            return Err(self.refusal(status, &bytes));
        }
        serde_json::from_slice(&bytes)
            .map_err(|error| ServerError::Foreign { server: self.shown(), problem: error.to_string() })
    }

    fn refusal(&self, status: StatusCode, body: &[u8]) -> ServerError {
        let detail = match serde_json::from_slice::<Problem>(body) {
            Ok(problem) => problem.detail,
            Err(_) => "it gave no reason".to_owned(),
        };
        ServerError::Refused { server: self.shown(), status: status.as_u16(), detail }
    }

    /// The URL without user and password.
    fn shown(&self) -> String {
        self.api.origin().ascii_serialization()
    }
}

fn to_json(said: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(said).unwrap_or_default()
}

/// The innermost cause; the outer ones only say that a request failed.
fn reason(error: &reqwest::Error) -> String {
    successors(Some(error as &dyn Error), |&cause| cause.source()).last().map(ToString::to_string).unwrap_or_default()
}
