//! The transport of most crawls: reqwest, HTTP/1.1 and 2. Bodies as received; heads as reqwest shows them.

use bytes::Bytes;
use http::HeaderMap;

use super::client::ClientError;
use super::dns::Dns;
use super::transport::{Head, MAX_HEADERS, MAX_IDLE_PER_HOST, MAX_IDLE_TIME, NO_ROOTS, cause_of, failure};
use crate::config::FetchConfig;
use crate::page::{Failure, FailureReason, Truncated};

pub(super) struct Plain {
    http: reqwest::Client,
}

pub(super) struct PlainBody {
    response: reqwest::Response,
}

impl Plain {
    pub fn new(config: &FetchConfig, dns: &Dns) -> Result<Plain, ClientError> {
        let http = match builder(config, dns).build() {
            Ok(http) => http,
            Err(error) => {
                tracing::warn!(error = cause_of(&error), "{NO_ROOTS}");
                builder(config, dns).tls_certs_only([]).build()?
            }
        };
        Ok(Plain { http })
    }

    pub async fn get(&self, url: &url::Url, headers: HeaderMap) -> Result<(Head, PlainBody), Failure> {
        let sent = self.http.get(url.clone()).headers(headers).send().await;
        let mut response = sent.map_err(|error| failure(reason_of(&error), &error))?;
        let headers = std::mem::take(response.headers_mut());
        let head = Head {
            ip: response.remote_addr().map(|address| address.ip()),
            announced: response.content_length(),
            ..Head::new(response.status(), response.version(), headers, response.extensions())
        };
        Ok((head, PlainBody { response }))
    }
}

impl PlainBody {
    pub async fn piece(&mut self) -> Result<Option<Bytes>, Truncated> {
        let broken = |error: reqwest::Error| if error.is_timeout() { Truncated::Time } else { Truncated::Disconnect };
        self.response.chunk().await.map_err(broken)
    }
}

/// What reqwest itself says of a failure.
fn reason_of(error: &reqwest::Error) -> FailureReason {
    if error.is_timeout() {
        FailureReason::Timeout
    } else if error.is_builder() && !error.is_connect() {
        FailureReason::BadUrl
    } else {
        FailureReason::Connect
    }
}

/// What reqwest is told, the same for every request.
fn builder(config: &FetchConfig, dns: &Dns) -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .dns_resolver(dns.clone())
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .no_gzip()
        .no_brotli()
        .no_deflate()
        .no_zstd()
        .connect_timeout(config.connect_timeout)
        .read_timeout(config.read_timeout)
        .http1_max_headers(MAX_HEADERS)
        .http1_ignore_invalid_headers_in_responses(true)
        .pool_max_idle_per_host(MAX_IDLE_PER_HOST)
        .pool_idle_timeout(MAX_IDLE_TIME)
        .tcp_nodelay(true)
}
