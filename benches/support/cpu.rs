//! CPU time of one thread.

use std::hint::black_box;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The kernel brings a running thread's CPU time up to date every few milliseconds: a round takes many of these.
const ROUND: Duration = Duration::from_millis(200);

/// CPU time of one run, the best of several rounds of many runs; and what the run returns.
pub fn best_of(rounds: u32, run: &mut dyn FnMut() -> usize) -> (Duration, usize) {
    let mut out = 0;
    let mut round = || {
        let (start, mut runs) = (cpu_time(), 0);
        loop {
            out = black_box(run());
            runs += 1;
            let took = cpu_time().saturating_sub(start);
            if took >= ROUND {
                return took / runs;
            }
        }
    };
    let best = (0..rounds).map(|_| round()).min().unwrap_or_default();
    (best, out)
}

/// CPU time of this thread where the system tells (Linux), else the time on the wall.
fn cpu_time() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    let on_cpu = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = on_cpu.and_then(|text| text.split(' ').next().and_then(|it| it.parse().ok()));
    nanos.map_or_else(|| START.get_or_init(Instant::now).elapsed(), Duration::from_nanos)
}
