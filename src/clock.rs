//! The crawl's clock: this machine's, as long as that does not run backwards.
//!
//! Everything a crawl orders, it orders by time: events by their ids, an index's versions by the time of the fetch, visits
//! by when they are due. A machine's clock may be set back, in a run or between two. The crawl's goes on then, from the
//! latest time it has told, at the pace of a second a second, until the machine's has caught up; times in events are ahead
//! by so much meanwhile. The frontier keeps the latest time over restarts.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use uuid::{Builder, ContextV7, Timestamp, Uuid};

use crate::outside::stand_in;
use crate::page::EpochMs;
use crate::planted;

static CLOCK: Mutex<Clock> = Mutex::new(Clock { told: None });
static IDS: LazyLock<Mutex<ContextV7>> = LazyLock::new(Mutex::default);

/// A clock that never runs backwards, whatever it is told of the machine's. Times are handed in.
#[derive(Debug, Default)]
pub struct Clock {
    /// When the machine's clock was last ahead of this one, and what it said.
    told: Option<(EpochMs, Instant)>,
}

impl Clock {
    /// The time, when the machine's clock says `wall`.
    pub fn tell(&mut self, wall: EpochMs, now: Instant) -> EpochMs {
        let steady = self.told.map_or(0, |(ms, at)| ms.saturating_add(whole_ms(now.saturating_duration_since(at))));
        if wall > steady || self.told.is_none() {
            self.told = Some((wall, now));
        }
        wall.max(steady)
    }
}

/// Milliseconds since 1970, never fewer than before: the unit of every time in an event.
pub fn now_ms() -> EpochMs {
    if planted::is("wall_clock") {
        return wall_ms();
    }
    CLOCK.lock().tell(wall_ms(), Instant::now())
}

/// From now on it is at least `ms`. Returns by how much that is ahead of the machine's clock.
pub fn never_before(ms: EpochMs) -> Duration {
    let ahead = CLOCK.lock().tell(ms, Instant::now()).saturating_sub(wall_ms());
    Duration::from_millis(ahead)
}

/// A new event's id: UUIDv7, 32 lower-case hex digits, larger than every one before it.
pub fn event_id() -> String {
    if let Some(numbers) = stand_in::<SimulatedIds>() {
        return numbers.next(now_ms());
    }
    let ids = IDS.lock();
    let now = now_ms();
    let stamp = Timestamp::from_unix(&*ids, now / 1000, (now % 1000) as u32 * 1_000_000);
    Uuid::new_v7(stamp).simple().to_string()
}

/// In a simulation: ids without chance in them.
#[derive(Clone, Default)]
pub struct SimulatedIds(Arc<AtomicU64>);

impl SimulatedIds {
    fn next(&self, now: EpochMs) -> String {
        let number = self.0.fetch_add(1, Ordering::Relaxed);
        let mut chance = [0; 10];
        chance[2..].copy_from_slice(&number.to_be_bytes());
        Builder::from_unix_timestamp_millis(now, &chance).into_uuid().simple().to_string()
    }
}

/// In a simulation: the process was started anew, and has not heard of any time.
#[cfg(feature = "simulate")]
pub fn forget() {
    *CLOCK.lock() = Clock::default();
}

/// When an event's id was made; none of an id that is no UUIDv7.
pub fn time_of(event_id: &str) -> Option<EpochMs> {
    let (seconds, nanos) = Uuid::try_parse(event_id).ok()?.get_timestamp()?.to_unix();
    Some(seconds * 1000 + u64::from(nanos) / 1_000_000)
}

/// What this machine's clock says, whichever way it was set: for what is no event's time.
pub fn wall_ms() -> EpochMs {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, whole_ms)
}

fn whole_ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
