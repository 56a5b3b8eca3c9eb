//! Sends a backup of the crawl as a stream; `backup/` says what it contains.

use std::io::{Error, ErrorKind, Write};

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http_body_util::channel::{Channel, Sender};
use tokio::runtime::Handle;

use super::access::By;
use super::problem::Refusal;
use super::service::App;

/// Size of a piece, and number of pieces that wait for a reader.
const PIECE_BYTES: usize = 64 << 10;
const PIECES: usize = 16;

/// One backup at a time. A client that reads nothing for a while is disconnected, as everywhere.
pub(super) async fn stream(State(app): State<App>, Extension(By(by)): Extension<By>) -> Result<Response, Refusal> {
    let Ok(slot) = app.backups.clone().try_acquire_owned() else {
        return Err(Refusal::Conflict("a backup is being taken already; wait for its end".to_owned()));
    };
    let (sender, body) = Channel::<Bytes, Refusal>::new(PIECES);
    let mut out = Outgoing { sender, runtime: Handle::current(), pending: Vec::with_capacity(PIECE_BYTES) };
    tokio::task::spawn_blocking(move || {
        let _place = slot;
        app.service.backup(&mut out, &by);
    });
    let headers = [(header::CONTENT_TYPE, "application/octet-stream"), (header::CACHE_CONTROL, "no-store")];
    Ok((headers, Body::new(body)).into_response())
}

struct Outgoing {
    sender: Sender<Bytes, Refusal>,
    runtime: Handle,
    pending: Vec<u8>,
}

impl Write for Outgoing {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.pending.len() >= PIECE_BYTES {
            self.flush()?;
        }
        self.pending.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let piece = Bytes::from(std::mem::replace(&mut self.pending, Vec::with_capacity(PIECE_BYTES)));
        let sent = self.runtime.block_on(self.sender.send_data(piece));
        sent.map_err(|_| Error::new(ErrorKind::BrokenPipe, "whoever took the backup has hung up"))
    }
}
