//! CPU time of one thread.

// Each bench uses its own part of this.
#![allow(dead_code)]

use std::hint::black_box;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The kernel brings a running thread's CPU time up to date every few milliseconds: a round takes many of these.
const ROUND: Duration = Duration::from_millis(200);

/// What one run took.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cost {
    pub cpu: Duration,
    pub wall: Duration,
}

impl Cost {
    /// The least of each.
    pub fn best(self, other: Cost) -> Cost {
        Cost { cpu: self.cpu.min(other.cpu), wall: self.wall.min(other.wall) }
    }
}

/// CPU time of one run, the best of several rounds of many runs; and what the run returns.
pub fn best_of(rounds: u32, run: &mut dyn FnMut() -> usize) -> (Duration, usize) {
    let measured: Vec<_> = (0..rounds).map(|_| round(&mut *run)).collect();
    let best = measured.iter().map(|(cost, _)| cost.cpu).min().unwrap_or_default();
    (best, measured.last().map_or(0, |(_, out)| *out))
}

/// A run's share of a round of many runs, and what the last one returned.
pub fn round<T>(mut run: impl FnMut() -> T) -> (Cost, T) {
    let (cpu, wall, mut runs) = (cpu_time(), Instant::now(), 0);
    loop {
        let out = black_box(run());
        runs += 1;
        let took = cpu_time().saturating_sub(cpu);
        if took >= ROUND {
            return (Cost { cpu: took / runs, wall: wall.elapsed() / runs }, out);
        }
    }
}

/// A single run, for what takes long or cannot be done twice.
pub fn once<T>(run: impl FnOnce() -> T) -> (Cost, T) {
    let (cpu, wall) = (cpu_time(), Instant::now());
    let out = black_box(run());
    (Cost { cpu: cpu_time().saturating_sub(cpu), wall: wall.elapsed() }, out)
}

/// CPU time of this thread where the system tells (Linux), else the time on the wall.
fn cpu_time() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    let on_cpu = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = on_cpu.and_then(|text| text.split(' ').next().and_then(|it| it.parse().ok()));
    nanos.map_or_else(|| START.get_or_init(Instant::now).elapsed(), Duration::from_nanos)
}
