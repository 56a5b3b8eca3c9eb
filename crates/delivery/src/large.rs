//! Limits the bytes of large decoded pages that exist at a time in the whole process, for all readers together.
//!
//! 20 KB may decode to 20 MB. The validator and every sink decode for themselves what they read from the log. Queues and
//! batches bound received bytes; this module bounds decoded bytes. A large page is decoded, used and dropped, and is never
//! kept with its entry.

use bytes::Bytes;
use parking_lot::{Condvar, Mutex};
use tokio::sync::{Semaphore, SemaphorePermit};

use seine_parse::decode::{DecodeProblem, Decoded};
use seine_parse::page::{Kind, PageEvent};
use seine_parse::{self as parse, DeriveOptions, Derived, sitemap};

/// A page that decodes to fewer bytes is small. Each thread that reads pages may have one of them at a time.
pub const SMALL: u64 = 1 << 20;
/// Bytes of decoded large pages at a time; a single one may be larger.
const ROOM: u64 = 24 << 20;

/// Given back when it is dropped.
pub type BodyRoom = SemaphorePermit<'static>;

/// Bytes of long bodies that workers may hold at a time, from the reading on until the page log has taken them.
const BODIES: usize = 64 << 20;
static BODY_ROOM: Semaphore = Semaphore::const_new(BODIES);

static TAKEN: Mutex<Line> = Mutex::new(Line { taken: 0, last_ticket: 0, serving: 1 });
static GIVEN_BACK: Condvar = Condvar::new();
static WORKERS: Semaphore = Semaphore::const_new(1);

/// The result of `read` for the decoded body. A large page waits until there is room for it, and has that until the last of
/// its body is dropped: that must not wait for a server, nor for another large page.
pub fn derive(event: &PageEvent, options: &DeriveOptions, read: impl FnOnce(Decoded) -> Derived) -> Derived {
    if let Some(decoded) = decode_small(event, options) {
        return read(decoded);
    }
    let mut room = Room::take(at_most(event, options));
    let mut derived = read(parse::decode(event, options.max_decoded_bytes));
    room.shrink(derived.body.len() as u64);
    derived.body = Bytes::from_owner(BodyWithRoom { body: derived.body, _room: room });
    derived
}

/// The decoded body, if the page is small.
pub fn decode_small(event: &PageEvent, options: &DeriveOptions) -> Option<Decoded> {
    let is_sure = event.kind.is_delivered() || !is_coded(event);
    if !is_sure || received(event) >= SMALL {
        return None;
    }
    let decoded = parse::decode(event, options.max_decoded_bytes.min(SMALL));
    let is_as_received =
        |problem: &DecodeProblem| matches!(problem, DecodeProblem::Unknown { .. } | DecodeProblem::TooMany { .. });
    let is_whole = decoded.problem.as_ref().is_none_or(is_as_received);
    (is_whole && (decoded.body.len() as u64) < SMALL).then_some(decoded)
}

/// For a worker's task, before it derives a large page in a thread that others wait for: one at a time.
pub async fn turn() -> Option<SemaphorePermit<'static>> {
    WORKERS.acquire().await.ok()
}

/// Room for a body that is longer than [`SMALL`] and may come to `at_most` bytes. The caller keeps it until the page log has
/// taken the body: by then that is counted there.
pub async fn body_room(at_most: u64) -> Option<BodyRoom> {
    let bytes = usize::try_from(at_most).unwrap_or(BODIES).min(BODIES);
    BODY_ROOM.acquire_many(bytes as u32).await.ok()
}

fn received(event: &PageEvent) -> u64 {
    event.response().map_or(0, |response| response.body.len() as u64)
}

/// A sitemap may be gzip without a Content-Encoding header.
fn is_coded(event: &PageEvent) -> bool {
    event.response().is_some_and(|response| {
        response.headers.get("content-encoding").is_some() || response.body.starts_with(&[0x1f, 0x8b])
    })
}

/// The most that the body may decode to.
fn at_most(event: &PageEvent, options: &DeriveOptions) -> u64 {
    match (is_coded(event), event.kind) {
        (false, _) => received(event),
        (true, Kind::Page | Kind::Requisite) => options.max_decoded_bytes,
        (true, Kind::Sitemap) => options.max_decoded_bytes.max(sitemap::MAX_BYTES as u64),
    }
}

/// Readers are served in order of arrival. Otherwise the largest pages would wait for ever behind smaller ones.
struct Line {
    taken: u64,
    last_ticket: u64,
    serving: u64,
}

/// Bytes that are taken until it is dropped.
struct Room(u64);

impl Room {
    fn take(bytes: u64) -> Room {
        let bytes = bytes.min(ROOM);
        let mut line = TAKEN.lock();
        line.last_ticket += 1;
        let ticket = line.last_ticket;
        GIVEN_BACK.wait_while(&mut line, |line| line.serving != ticket || line.taken + bytes > ROOM);
        line.taken += bytes;
        line.serving += 1;
        GIVEN_BACK.notify_all();
        Room(bytes)
    }

    fn shrink(&mut self, bytes: u64) {
        let bytes = bytes.min(self.0);
        TAKEN.lock().taken -= self.0 - bytes;
        self.0 = bytes;
        GIVEN_BACK.notify_all();
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.shrink(0);
    }
}

/// A body, and the room it has.
struct BodyWithRoom {
    body: Bytes,
    _room: Room,
}

impl AsRef<[u8]> for BodyWithRoom {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}
