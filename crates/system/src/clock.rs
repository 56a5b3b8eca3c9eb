//! The crawl's clock: this machine's, as long as that does not run backwards.
//!
//! Everything a crawl orders, it orders by time: events by their ids, an index's versions by the time of the fetch, visits
//! by when they are due. A machine's clock may be set back, in a run or between two. The crawl's goes on then, from the
//! latest time it has told, at the pace of a second a second, until the machine's has caught up; times in events are ahead
//! by so much meanwhile. The frontier keeps the latest time over restarts.
//!
//! A clock that jumps ahead within a run is not followed either: a page that is dated by it would be newer than all that comes
//! after the clock is put right. A machine that slept is no jump. Who starts anew goes by the machine's clock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use uuid::{Builder, ContextV7, Timestamp, Uuid};

use seine_simulation_hooks::outside::stand_in;
use seine_simulation_hooks::planted;

static CLOCK: Mutex<Clock> = Mutex::new(Clock { told: None, slept: Duration::ZERO, ahead: Duration::ZERO });
static IDS: LazyLock<Mutex<ContextV7>> = LazyLock::new(Mutex::default);

/// A clock that never runs backwards, whatever it is told of the machine's. Times are handed in.
#[derive(Debug, Default)]
pub struct Clock {
    /// When the machine's clock was last ahead of this one, and what it said.
    told: Option<(u64, Instant)>,
    /// How long the machine had slept by then.
    slept: Duration,
    /// By how much the machine's clock has jumped ahead, as far as it was said.
    ahead: Duration,
}

/// A clock that is set forward by more has jumped.
const JUMP: Duration = Duration::from_secs(10);

impl Clock {
    /// The time, when the machine's clock says `wall`. `slept`: for how long the machine has slept, which [`Instant`] leaves out;
    /// asked for when the clock is far ahead.
    pub fn tell(&mut self, wall: u64, now: Instant, slept: impl FnOnce() -> Duration) -> u64 {
        let Some(steady) = self.steady(now) else { return self.goes_on_from(wall, now) };
        let ahead = Duration::from_millis(wall.saturating_sub(steady));
        if ahead <= JUMP {
            self.ahead = Duration::ZERO;
            return if wall > steady { self.goes_on_from(wall, now) } else { steady };
        }
        if ahead.abs_diff(self.ahead) <= JUMP {
            return steady;
        }
        let slept = slept();
        let asleep = std::mem::replace(&mut self.slept, slept);
        let steady = steady + whole_ms(slept.saturating_sub(asleep)).min(whole_ms(ahead));
        self.ahead = Duration::from_millis(wall - steady);
        if self.ahead <= JUMP {
            return self.goes_on_from(wall, now);
        }
        tracing::warn!(
            seconds = self.ahead.as_secs(),
            "the machine's clock has jumped ahead: pages are not dated by it; if it is right, start Seine again"
        );
        self.goes_on_from(steady, now)
    }

    /// From now on it is at least `ms`.
    pub fn at_least(&mut self, ms: u64, now: Instant) -> u64 {
        match self.steady(now) {
            Some(steady) if steady >= ms => steady,
            _ => self.goes_on_from(ms, now),
        }
    }

    /// By this clock alone.
    fn steady(&self, now: Instant) -> Option<u64> {
        self.told.map(|(ms, at)| ms.saturating_add(whole_ms(now.saturating_duration_since(at))))
    }

    fn goes_on_from(&mut self, ms: u64, now: Instant) -> u64 {
        self.told = Some((ms, now));
        ms
    }
}

/// Milliseconds since 1970, never fewer than before: the unit of every time in an event.
pub fn now_ms() -> u64 {
    if planted::is("wall_clock") {
        return wall_ms();
    }
    LazyLock::force(&BEGAN);
    CLOCK.lock().tell(wall_ms(), Instant::now(), slept)
}

/// When this process first asked for the time, by [`Instant`] and by the time since the machine was started.
static BEGAN: LazyLock<(Instant, Option<Duration>)> = LazyLock::new(|| (Instant::now(), uptime()));

/// For how long this machine has slept since then.
fn slept() -> Duration {
    let (began, Some(before)) = *BEGAN else { return Duration::ZERO };
    uptime().unwrap_or_default().saturating_sub(before).saturating_sub(began.elapsed())
}

/// Since the machine was started, its sleep included; none where the system does not say so (Linux does).
fn uptime() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/uptime").ok()?;
    Duration::try_from_secs_f64(text.split(' ').next()?.parse().ok()?).ok()
}

/// From now on it is at least `ms`. Returns by how much that is ahead of the machine's clock.
pub fn never_before(ms: u64) -> Duration {
    let ahead = CLOCK.lock().at_least(ms, Instant::now()).saturating_sub(wall_ms());
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
    fn next(&self, now: u64) -> String {
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
pub fn time_of(event_id: &str) -> Option<u64> {
    let (seconds, nanos) = Uuid::try_parse(event_id).ok()?.get_timestamp()?.to_unix();
    Some(seconds * 1000 + u64::from(nanos) / 1_000_000)
}

/// What this machine's clock says, whichever way it was set: for what is no event's time.
pub fn wall_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, whole_ms)
}

fn whole_ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
