//! The page at `/`: three files in the binary, which use only this server. They contain no data of the crawl; they
//! request it from the API, with a token if necessary.

use axum::http::header;
use axum::response::{IntoResponse, Response};

/// Allows nothing from other hosts, no other scripts, and no frames around the page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

pub(super) async fn html() -> Response {
    file("text/html; charset=utf-8", include_str!("index.html"))
}

pub(super) async fn style() -> Response {
    file("text/css; charset=utf-8", include_str!("page.css"))
}

pub(super) async fn script() -> Response {
    file("text/javascript; charset=utf-8", include_str!("page.js"))
}

fn file(content_type: &'static str, text: &'static str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, content_type),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (headers, text).into_response()
}
