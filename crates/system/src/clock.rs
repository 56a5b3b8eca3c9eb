//! The crawl's clock: the machine's clock, except that it never runs backwards.
//!
//! A crawl orders everything by time: events by their ids, an index's versions by the time of the fetch, visits by when
//! they are due. But a machine's clock may be set back, during a run or between two. Then the crawl's clock continues
//! from its latest time, second by second, until the machine's clock has caught up. Until then the times in events are
//! ahead. The frontier stores the latest time over restarts, and [`continued`] says how a stopped crawl continues.
//!
//! The crawl's clock also ignores a jump ahead during a run. Otherwise a page dated by the jump would be newer than all
//! later ones, once the clock is corrected. The time that a machine slept is not a jump. A new process starts with the
//! machine's clock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use uuid::{Builder, ContextV7, Timestamp, Uuid};

use seine_simulation_hooks::outside::replacement;
use seine_simulation_hooks::planted;

static CLOCK: Mutex<Clock> = Mutex::new(Clock { last: None, slept: Duration::ZERO, ahead: Duration::ZERO });
static SET_AHEAD: AtomicU64 = AtomicU64::new(0);
static IDS: LazyLock<Mutex<ContextV7>> = LazyLock::new(Mutex::default);

/// A clock that never runs backwards, whatever the machine's clock does. Times are passed in.
#[derive(Debug, Default)]
pub struct Clock {
    /// The last time at which the machine's clock was not behind this one, and its value.
    last: Option<(u64, Instant)>,
    /// How long the machine had slept by then.
    slept: Duration,
    /// By how much the machine's clock has jumped ahead, as far as reported.
    ahead: Duration,
}

/// A larger step ahead counts as a jump.
const JUMP: Duration = Duration::from_secs(10);

impl Clock {
    /// The time, given the machine's clock `wall`. `slept` returns how long the machine has slept, which [`Instant`]
    /// leaves out; it is called only if the clock is far ahead.
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
            "the machine's clock has jumped ahead and is ignored; if it is right, restart Seine"
        );
        self.goes_on_from(steady, now)
    }

    /// Sets the clock to at least `ms`.
    pub fn at_least(&mut self, ms: u64, now: Instant) -> u64 {
        match self.steady(now) {
            Some(steady) if steady >= ms => steady,
            _ => self.goes_on_from(ms, now),
        }
    }

    /// The time by this clock alone.
    fn steady(&self, now: Instant) -> Option<u64> {
        self.last.map(|(ms, at)| ms.saturating_add(whole_ms(now.saturating_duration_since(at))))
    }

    fn goes_on_from(&mut self, ms: u64, now: Instant) -> u64 {
        self.last = Some((ms, now));
        ms
    }
}

/// Milliseconds since 1970, never less than before: the unit of all times in events.
pub fn now_ms() -> u64 {
    if planted::is("wall_clock") {
        return wall_ms();
    }
    LazyLock::force(&BEGAN);
    CLOCK.lock().tell(wall_ms(), Instant::now(), slept)
}

/// When this process first asked for the time: as an [`Instant`], and as time since the machine was started.
static BEGAN: LazyLock<(Instant, Option<Duration>)> = LazyLock::new(|| (Instant::now(), uptime()));

/// How long this machine has slept since then.
fn slept() -> Duration {
    let (began, Some(before)) = *BEGAN else { return Duration::ZERO };
    uptime().unwrap_or_default().saturating_sub(before).saturating_sub(began.elapsed())
}

/// Time since the machine was started, including sleep; none if the system does not tell (Linux does).
fn uptime() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/uptime").ok()?;
    Duration::try_from_secs_f64(text.split(' ').next()?.parse().ok()?).ok()
}

/// Sets the clock of a crawl that starts to at least `ms`.
pub fn begin_at(ms: u64) {
    CLOCK.lock().at_least(ms, Instant::now());
}

/// Sets the clock of a running crawl to at least `ms`. Pauses that began before then end early by as much
/// ([`take_set_ahead`]).
pub fn never_before(ms: u64) {
    let mut clock = CLOCK.lock();
    let now = Instant::now();
    let ahead = clock.steady(now).map_or(0, |steady| ms.saturating_sub(steady));
    clock.at_least(ms, now);
    SET_AHEAD.fetch_add(ahead, Ordering::Relaxed);
}

/// By how much (ms) [`never_before`] has set the clock ahead since the last call.
pub fn take_set_ahead() -> u64 {
    SET_AHEAD.swap(0, Ordering::Relaxed)
}

/// How far the crawl's clock is ahead of the machine's clock; none if it is less than a minute.
pub fn ahead() -> Option<Duration> {
    const LITTLE: Duration = Duration::from_secs(60);
    Some(Duration::from_millis(now_ms().saturating_sub(wall_ms()))).filter(|ahead| *ahead > LITTLE)
}

/// Where the clock of a stopped crawl continues, and the lead to save for the next start, both in ms. `latest` is the
/// latest time of the crawl, `lead` what the last start saved.
///
/// If the machine's clock `wall` is behind by up to a day, the crawl waits for it. If it is further behind, an earlier
/// run had a wrong clock. Then the crawl keeps its lead, as a running crawl does. So the time between two runs counts,
/// and what is due in a day by the wrong clock is due in a day.
pub fn continued(wall: u64, latest: u64, lead: u64) -> (u64, u64) {
    const DAY: u64 = 24 * 60 * 60 * 1000;
    match latest.saturating_sub(wall) {
        0 => (wall, 0),
        behind if behind <= DAY && lead == 0 => (latest, 0),
        behind => (wall.saturating_add(behind.max(lead)), behind.max(lead)),
    }
}

/// The id of a new event: UUIDv7, 32 lower-case hex digits, larger than all earlier ones.
pub fn event_id() -> String {
    if let Some(numbers) = replacement::<SimulatedIds>() {
        return numbers.next(now_ms());
    }
    let ids = IDS.lock();
    let now = now_ms();
    let stamp = Timestamp::from_unix(&*ids, now / 1000, (now % 1000) as u32 * 1_000_000);
    Uuid::new_v7(stamp).simple().to_string()
}

/// In a simulation: ids without randomness.
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

/// In a simulation: forgets the time, as in a new process.
#[cfg(feature = "simulate")]
pub fn forget() {
    *CLOCK.lock() = Clock::default();
}

/// The time when an event's id was made; none if the id is not a UUIDv7.
pub fn time_of(event_id: &str) -> Option<u64> {
    let (seconds, nanos) = Uuid::try_parse(event_id).ok()?.get_timestamp()?.to_unix();
    Some(seconds * 1000 + u64::from(nanos) / 1_000_000)
}

/// The machine's clock unchanged, for times that are not those of events.
pub fn wall_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, whole_ms)
}

fn whole_ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
