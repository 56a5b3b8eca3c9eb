//! The usual transport: reqwest, HTTP/1.1 and 2. Bodies are as received, heads as reqwest returns them.

use std::time::Duration;

use http::HeaderMap;
use http::response::Parts;
use seine_parse::page::{Failure, FailureReason};
use tower::util::MapFutureLayer;

use super::answer::{Incoming, MAX_HEADERS};
use super::dns::Dns;
use super::error::{ClientError, NO_ROOTS, cause_of, failure};
use super::pool::{MAX_IDLE_TIME, RotatingClient, connect_time};
use super::stages::timed;
use crate::config::FetchConfig;

/// A dead HTTP/2 connection is given up after twice this time, because later requests would wait on it too.
const HTTP2_PING: Duration = Duration::from_secs(10);

pub(super) struct Plain {
    http: RotatingClient<reqwest::Client>,
}

impl Plain {
    pub(super) fn new(config: &FetchConfig, dns: &Dns) -> Result<Plain, ClientError> {
        let (config, dns) = (config.clone(), dns.clone());
        let trusting = builder(&config, &dns).build();
        // Decided only once: a client that is made while no file can be opened would find no certificates.
        let has_roots = trusting.is_ok();
        let make = move || {
            let builder = builder(&config, &dns);
            Ok(if has_roots { builder } else { builder.tls_certs_only([]) }.build()?)
        };
        let first = match trusting {
            Ok(http) => http,
            Err(error) => {
                tracing::warn!(error = cause_of(&error), "{NO_ROOTS}");
                make()?
            }
        };
        Ok(Plain { http: RotatingClient::new(first, make) })
    }

    pub(super) async fn get(&self, url: &url::Url, headers: HeaderMap) -> Result<(Parts, Incoming), Failure> {
        let sent = self.http.client(url).get(url.clone()).headers(headers).send().await;
        let response = sent.map_err(|error| failure_of(&error))?;
        Ok(Incoming::of(response.into(), None))
    }
}

fn failure_of(error: &reqwest::Error) -> Failure {
    let failure = failure(error.is_connect(), error);
    match error.is_builder() && !error.is_connect() {
        true => Failure { reason: FailureReason::BadUrl, ..failure },
        false => failure,
    }
}

/// The settings of reqwest.
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
        .connect_timeout(connect_time(config))
        .connector_layer(MapFutureLayer::new(timed))
        .http2_keep_alive_interval(HTTP2_PING)
        .http2_keep_alive_timeout(HTTP2_PING)
        .http1_max_headers(MAX_HEADERS)
        .http1_ignore_invalid_headers_in_responses(true)
        .pool_max_idle_per_host(config.connections_per_host)
        .pool_idle_timeout(MAX_IDLE_TIME)
        .tcp_nodelay(true)
}
