//! Access control. The socket in the data folder, which only its owner can open, allows everything. Over the network, a
//! token decides the role. Without configured tokens, everything is allowed to everybody on this machine, if the server
//! listens only on a loopback address.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, header};
use sha2::{Digest, Sha256};

use super::problem::Refusal;
use crate::config::{Config, Secret};

/// Roles. Each includes the rights of those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    Read,
    Operate,
}

/// Where a request comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Peer {
    /// The socket in the data folder.
    Owner,
    Network(SocketAddr),
}

/// Name of the sender: for the log of orders, or a remote worker's name.
#[derive(Clone)]
pub(super) struct By(pub String);

/// The rules of a server, from the present configuration.
pub(super) struct Access<'c>(pub &'c Config);

impl Access<'_> {
    /// The sender's name for the log of orders, or why the request is refused. `is_loopback`: the server listens only
    /// on a loopback address.
    pub(super) fn check(
        &self,
        peer: &Peer,
        is_loopback: bool,
        headers: &HeaderMap,
        wanted: Role,
    ) -> Result<String, Refusal> {
        let address = match peer {
            Peer::Owner => return Ok("command line".to_owned()),
            Peer::Network(address) => address,
        };
        refuse_foreign_pages(headers)?;
        let role = match (self.has_tokens(), bearer(headers)) {
            (true, Some(token)) => self.role_of(token).ok_or_else(|| Refusal::Unknown(NOT_OURS.to_owned()))?,
            (true, None) => return Err(Refusal::Unknown(TOKEN_WANTED.to_owned())),
            (false, _) if is_loopback => {
                refuse_other_names(headers)?;
                refuse_forwarded(headers)?;
                Role::Operate
            }
            (false, _) => return Err(Refusal::Forbidden(NO_TOKENS.to_owned())),
        };
        match role >= wanted {
            true => Ok(format!("{} from {}", role.name(), address.ip())),
            false => Err(Refusal::Forbidden(
                "this token is read-only; orders need the token of http.api.operate_token".to_owned(),
            )),
        }
    }

    /// For `/metrics` and the page, which need no token. They must not be readable for other websites by DNS rebinding.
    /// So a server on a loopback address accepts only the host name localhost. If tokens are configured, another name
    /// may be that of a reverse proxy: it shows the page, which contains nothing of the crawl, and `/metrics` wants a
    /// token. Returns whether it does.
    pub(super) fn may_read(&self, is_loopback: bool, path: &str, headers: &HeaderMap) -> Result<bool, Refusal> {
        match is_loopback.then(|| refuse_other_names(headers)) {
            Some(Err(_)) if self.has_tokens() => Ok(path == METRICS),
            Some(Err(refusal)) => Err(refusal),
            _ => Ok(false),
        }
    }

    /// The name of a remote worker.
    pub(super) fn client(&self, headers: &HeaderMap) -> Result<String, Refusal> {
        refuse_foreign_pages(headers)?;
        if self.0.work.clients.is_empty() {
            return Err(Refusal::Forbidden("no remote workers are configured (work.clients)".to_owned()));
        }
        let token = bearer(headers).ok_or_else(|| {
            Refusal::Unknown("a client's token is wanted: Authorization: Bearer …, one of work.clients".to_owned())
        })?;
        // All tokens are compared, so the time does not tell which one matched.
        let mut known = None;
        for (name, secret) in &self.0.work.clients {
            if is_same(Some(secret), token) {
                known = Some(name.clone());
            }
        }
        known.ok_or_else(|| Refusal::Unknown("this token is of none of work.clients".to_owned()))
    }

    fn has_tokens(&self) -> bool {
        self.0.http.read_token.is_some() || self.0.http.operate_token.is_some()
    }

    fn role_of(&self, token: &str) -> Option<Role> {
        // Both tokens are compared, so the time does not tell which one matched.
        let operates = is_same(self.0.http.operate_token.as_ref(), token);
        let reads = is_same(self.0.http.read_token.as_ref(), token);
        if operates { Some(Role::Operate) } else { reads.then_some(Role::Read) }
    }
}

/// The only path without a token that tells something of the crawl, besides the health checks.
const METRICS: &str = "/metrics";

/// Headers in which proxies name the client (RFC 7239, and older ones).
const FORWARDED: [&str; 4] = ["forwarded", "x-forwarded-for", "x-real-ip", "x-forwarded-host"];
const TOKEN_WANTED: &str =
    "a token is wanted: Authorization: Bearer …, with the value of http.api.read_token or http.api.operate_token";
const NOT_OURS: &str = "this token is none of this crawl's: they are http.api.read_token and http.api.operate_token";
const NO_TOKENS: &str = "this server listens on the network, and no token is configured: set http.api.read_token or \
                         http.api.operate_token, or listen on 127.0.0.1, or use the command line on the crawl's own machine";

impl Role {
    fn name(self) -> &'static str {
        match self {
            Role::Read => "reader",
            Role::Operate => "operator",
        }
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

/// Compares digests, so the time says nothing about the secret.
fn is_same(secret: Option<&Secret>, token: &str) -> bool {
    let Some(secret) = secret else { return false };
    let (ours, theirs) = (Sha256::digest(secret.expose().as_bytes()), Sha256::digest(token.as_bytes()));
    ours.iter().zip(theirs).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

/// A page of another website in a browser on this machine must not operate a crawl.
fn refuse_foreign_pages(headers: &HeaderMap) -> Result<(), Refusal> {
    let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let origin = origin.to_str().unwrap_or_default();
    let is_ours = origin.split_once("://").is_some_and(|(_, name)| name.eq_ignore_ascii_case(host));
    match is_ours {
        true => Ok(()),
        false => Err(Refusal::Forbidden(format!("pages of {origin:?} may not ask this server"))),
    }
}

/// A proxy on this machine forwards requests from anywhere, so such a request does not count as local.
fn refuse_forwarded(headers: &HeaderMap) -> Result<(), Refusal> {
    match FORWARDED.iter().find(|name| headers.contains_key(**name)) {
        None => Ok(()),
        Some(name) => Err(Refusal::Forbidden(format!(
            "this request came through a proxy ({name}), and without tokens this server answers its own machine alone: set \
             http.api.read_token or http.api.operate_token"
        ))),
    }
}

/// Refuses requests under another host name (DNS rebinding).
fn refuse_other_names(headers: &HeaderMap) -> Result<(), Refusal> {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    match name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback()) {
        true => Ok(()),
        false => {
            Err(Refusal::Forbidden(format!("without tokens this server answers as localhost alone, not as {host:?}")))
        }
    }
}
