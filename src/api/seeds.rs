//! Adds seeds from a stream, in batches, any number of them.

use axum::body::Body;
use http_body_util::BodyExt;
use tokio::time::timeout;

use super::problem::Refusal;
use super::schema::SeedsAdded;
use super::service::{App, BODY_TIMEOUT, BROKEN_OFF};

/// URLs per batch.
const BATCH: usize = 1000;
/// Maximum length of a line.
const LINE_BYTES: usize = 64 << 10;

/// Adds every line. Seeds added before an error or a disconnect stay.
pub(super) async fn take(app: &App, mut body: Body, by: String) -> Result<SeedsAdded, Refusal> {
    let (mut sum, mut rest, mut batch) = (SeedsAdded::default(), Vec::new(), Vec::new());
    let late = |_| Refusal::Bad(format!("{BROKEN_OFF}; what came of the list of seeds was added in parts of {BATCH}"));
    while let Some(frame) = timeout(BODY_TIMEOUT, body.frame()).await.map_err(late)? {
        let frame = frame.map_err(|error| Refusal::Bad(format!("the list of seeds broke off: {error}")))?;
        let Ok(bytes) = frame.into_data() else { continue };
        rest.extend_from_slice(&bytes);
        let mut begin = 0;
        while let Some(length) = memchr::memchr(b'\n', &rest[begin..]) {
            batch.extend(url_in(&rest[begin..begin + length]));
            begin += length + 1;
            if batch.len() >= BATCH {
                add(app, std::mem::take(&mut batch), &by, &mut sum).await?;
            }
        }
        rest.drain(..begin);
        if rest.len() > LINE_BYTES {
            return Err(Refusal::TooMuch(format!("a line of the list has more than {LINE_BYTES} bytes")));
        }
    }
    batch.extend(url_in(&rest));
    add(app, batch, &by, &mut sum).await?;
    Ok(sum)
}

fn url_in(line: &[u8]) -> Option<String> {
    let line = String::from_utf8_lossy(line);
    let line = line.trim();
    (!line.is_empty() && !line.starts_with('#')).then(|| line.to_owned())
}

async fn add(app: &App, urls: Vec<String>, by: &str, sum: &mut SeedsAdded) -> Result<(), Refusal> {
    if urls.is_empty() {
        return Ok(());
    }
    let by = by.to_owned();
    sum.add(app.on(move |service| service.add_seeds(&urls, &by)).await?);
    Ok(())
}
