//! The API for remote workers: leases of hosts, and pages, one by one or as a stream.

use std::time::Duration;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::rejection::JsonRejection;
use axum::extract::{FromRequest, Json, Path, Query, Request, State};
use axum::http::{HeaderMap, header};
use axum::response::Response;
use http_body_util::BodyExt;
use serde::Deserialize;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};

use super::access::By;
use super::connection_slots::RequestSlot;
use super::problem::Refusal;
use super::schema::work::{LeaseWanted, LeasedWork, Leasing, PageRefused, PageSent, PagesTaken, Prepared};
use super::service::{App, BODY_TIMEOUT, BROKEN_OFF, json};

/// Maximum time to wait for work.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// How often to check for hosts that have become due. A change ends the wait early.
const CHECK_EVERY: Duration = Duration::from_millis(500);
/// A host whose robots.txt takes longer is kept for the next request …
const PREPARING: Duration = Duration::from_secs(10);
/// … and so is a host that is ready this much later than the first. The leases of those that are ready are running, and
/// hosts of one address, whose politeness slots follow each other, must not be sent together.
const LATE: Duration = Duration::from_millis(100);
/// Maximum size of a stream of WARC records; and space in JSON besides the body of a page.
pub(super) const WARC_BYTES: usize = 64 << 20;
const BESIDE_BODY: u64 = 1 << 20;
/// A stream with this many refused pages is not read to its end, because each refusal is kept in memory.
const MOST_REFUSED: usize = 1000;

pub(super) async fn clients(State(app): State<App>) -> Result<Response, Refusal> {
    app.answer(|service| Ok(service.work().clients())).await
}

pub(super) async fn lease(
    State(app): State<App>,
    Extension(By(client)): Extension<By>,
    Extension(RequestSlot(slot)): Extension<RequestSlot>,
    request: Request,
) -> Result<Response, Refusal> {
    let wanted = timeout(BODY_TIMEOUT, <Json<LeaseWanted> as FromRequest<App>>::from_request(request, &app)).await;
    let Json(wanted) = wanted
        .map_err(|_| Refusal::Bad(BROKEN_OFF.to_owned()))?
        .map_err(|error: JsonRejection| Refusal::Bad(error.body_text()))?;
    let until = Instant::now() + Duration::from_millis(wanted.wait_ms).min(LONGEST_WAIT);
    let mut changed = app.service.work().changed();
    loop {
        changed.mark_unchanged();
        let client = client.clone();
        let leasing = app.on(move |service| service.work().lease(&client, wanted.hosts)).await?;
        let leases: Vec<_> = prepared(leasing).await.into_iter().filter_map(Prepared::tell).collect();
        if !leases.is_empty() || Instant::now() >= until {
            return Ok(json(LeasedWork { leases, ..app.service.work().terms() }));
        }
        slot.iter().for_each(|slot| slot.waits());
        let _ = timeout_at(until.min(Instant::now() + CHECK_EVERY), changed.changed()).await;
    }
}

/// The hosts that are ready in time; none waits for another.
async fn prepared(leasing: Vec<Leasing>) -> Vec<Prepared> {
    let mut deadline = Instant::now() + PREPARING;
    let (mut preparing, mut ready) = (leasing.into_iter().collect::<JoinSet<_>>(), Vec::new());
    while let Ok(Some(prepared)) = timeout_at(deadline, preparing.join_next()).await {
        if let Ok(Ok(prepared)) = prepared {
            deadline = deadline.min(Instant::now() + LATE);
            ready.push(prepared);
        }
    }
    ready
}

pub(super) async fn renew(
    State(app): State<App>,
    Extension(By(client)): Extension<By>,
    Path(lease): Path<String>,
) -> Result<Response, Refusal> {
    app.answer(move |service| service.work().renew(&client, &lease)).await
}

pub(super) async fn release(
    State(app): State<App>,
    Extension(By(client)): Extension<By>,
    Path(lease): Path<String>,
) -> Result<Response, Refusal> {
    app.answer(move |service| service.work().release(&client, &lease)).await
}

#[derive(Deserialize)]
pub(super) struct PagesQuery {
    lease: Option<String>,
}

pub(super) async fn pages(
    State(app): State<App>,
    Extension(By(client)): Extension<By>,
    Query(query): Query<PagesQuery>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let clients = app.service.config().work.clients.len();
    let _place = app.uploads.permit(&client, clients).ok_or_else(|| {
        let why = format!("{client} sends as many pages already as are taken of it at a time: try again in a moment");
        Refusal::Unavailable(why)
    })?;
    match content_type.split(';').next().unwrap_or_default().trim() {
        "application/json" => take_one(&app, client, body).await.map(json),
        "application/x-ndjson" => take_lines(&app, client, body).await.map(json),
        "application/warc" => {
            let lease = query.lease.ok_or_else(|| {
                Refusal::Bad("WARC records say nothing of a lease: name it, /api/v1/work/pages?lease=…".to_owned())
            })?;
            take_warc(&app, client, lease, body).await.map(json)
        }
        other => Err(Refusal::Bad(format!(
            "pages come as application/json (one), application/x-ndjson (one a line) or application/warc, not {other:?}"
        ))),
    }
}

/// Reads one page per line. An invalid line is refused and the next one read, unless the line is too long.
async fn take_lines(app: &App, client: String, mut body: Body) -> Result<PagesTaken, Refusal> {
    let most = most_of_a_page(app);
    let (mut rest, mut taken, mut scanned) = (Vec::new(), PagesTaken::default(), 0);
    while let Some(piece) = next_piece(&mut body).await? {
        rest.extend_from_slice(&piece);
        while let Some(length) = memchr::memchr(b'\n', &rest[scanned..]) {
            let line: Vec<u8> = rest.drain(..scanned + length + 1).collect();
            scanned = 0;
            taken = take_line(app, &client, line, taken).await?;
            if let (true, Some(last)) = (taken.refused.len() >= MOST_REFUSED, taken.refused.last()) {
                let why = &last.why;
                let kept = format!(
                    "{} pages were accepted and the server fetches {} itself; send only the others again",
                    taken.accepted, taken.refetched
                );
                return Err(Refusal::TooMuch(format!(
                    "{MOST_REFUSED} pages of these were refused, the last as {why:?}; {kept}"
                )));
            }
        }
        scanned = rest.len();
        if rest.len() > most {
            return Err(Refusal::TooMuch(format!("a page has {most} bytes at most, in JSON")));
        }
    }
    take_line(app, &client, rest, taken).await
}

async fn take_one(app: &App, client: String, body: Body) -> Result<PagesTaken, Refusal> {
    let page = whole(body, most_of_a_page(app)).await?;
    take_line(app, &client, page, PagesTaken::default()).await
}

async fn take_line(app: &App, client: &str, line: Vec<u8>, mut taken: PagesTaken) -> Result<PagesTaken, Refusal> {
    if line.trim_ascii().is_empty() {
        return Ok(taken);
    }
    let client = client.to_owned();
    app.on(move |service| {
        match serde_json::from_slice::<PageSent>(&line) {
            Ok(page) => service.work().take(&client, page, &mut taken),
            Err(error) => {
                let why = format!("not a page as openapi.json describes it: {error}");
                taken.refused.push(PageRefused { url: String::new(), why });
            }
        }
        Ok(taken)
    })
    .await
}

fn most_of_a_page(app: &App) -> usize {
    (app.service.work().max_body_bytes().div_ceil(3) * 4 + BESIDE_BODY) as usize
}

async fn whole(mut body: Body, most: usize) -> Result<Vec<u8>, Refusal> {
    let mut whole = Vec::new();
    while let Some(piece) = next_piece(&mut body).await? {
        if whole.len() + piece.len() > most {
            return Err(Refusal::TooMuch(format!("at most {most} bytes at once")));
        }
        whole.extend_from_slice(&piece);
    }
    Ok(whole)
}

/// Reserves memory, which all such streams share.
async fn whole_warc(app: &App, mut body: Body) -> Result<(Vec<u8>, Option<OwnedSemaphorePermit>), Refusal> {
    let (mut whole, mut room) = (Vec::new(), None::<OwnedSemaphorePermit>);
    while let Some(piece) = next_piece(&mut body).await? {
        if whole.len() + piece.len() > WARC_BYTES {
            return Err(Refusal::TooMuch(format!("at most {WARC_BYTES} bytes at once")));
        }
        let permit = app.uploads.room.clone().try_acquire_many_owned(piece.len() as u32).map_err(|_| {
            Refusal::Unavailable(format!(
                "streams of WARC records have {WARC_BYTES} bytes of memory together, and others have them: try again in a moment"
            ))
        })?;
        match &mut room {
            None => room = Some(permit),
            Some(room) => room.merge(permit),
        }
        whole.extend_from_slice(&piece);
    }
    Ok((whole, room))
}

async fn take_warc(app: &App, client: String, lease: String, body: Body) -> Result<PagesTaken, Refusal> {
    // This comes before any of the body is in memory.
    let (of, fence) = (client.clone(), lease.clone());
    app.on(move |service| service.work().has_lease(&of, &fence)).await?;
    let (warc, _room) = whole_warc(app, body).await?;
    app.on(move |service| {
        let mut taken = PagesTaken::default();
        service.work().take_warc(&client, &lease, warc, &mut taken)?;
        Ok(taken)
    })
    .await
}

async fn next_piece(body: &mut Body) -> Result<Option<Bytes>, Refusal> {
    loop {
        let frame = timeout(BODY_TIMEOUT, body.frame()).await;
        let Some(frame) = frame.map_err(|_| Refusal::Bad(BROKEN_OFF.to_owned()))? else { return Ok(None) };
        let frame = frame.map_err(|error| Refusal::Bad(format!("the pages broke off: {error}")))?;
        if let Ok(data) = frame.into_data() {
            return Ok(Some(data));
        }
    }
}
