//! The live status of the crawl as server-sent events (HTML Living Standard, 9.2).

use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http_body_util::channel::Channel;

use super::problem::Refusal;
use super::service::App;

const APART: Duration = Duration::from_secs(2);
/// A client that does not read this many events is disconnected.
const UNREAD: usize = 8;
/// Maximum number of clients. Each keeps a connection, and other requests need some too.
pub(super) const CLIENTS: usize = 64;

/// The first event at once, then one every two seconds, until the client disconnects.
pub(super) async fn events(State(app): State<App>) -> Result<Response, Refusal> {
    let Ok(slot) = app.followers.clone().try_acquire_owned() else {
        return Err(Refusal::Unavailable(format!(
            "{CLIENTS} clients receive the live status already; poll /api/v1/status instead"
        )));
    };
    let (mut sender, body) = Channel::<Bytes, Refusal>::new(UNREAD);
    tokio::spawn(async move {
        let _place = slot;
        let mut tick = tokio::time::interval(APART);
        loop {
            tick.tick().await;
            let Ok(status) = app.on(|service| service.status()).await else { return };
            let Ok(json) = serde_json::to_string(&status) else { return };
            let event = Bytes::from(format!("event: status\ndata: {json}\n\n"));
            match tokio::time::timeout(APART * UNREAD as u32, sender.send_data(event)).await {
                Ok(Ok(())) => {}
                _ => return,
            }
        }
    });
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    Ok((headers, Body::new(body)).into_response())
}
