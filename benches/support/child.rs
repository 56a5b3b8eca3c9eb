//! The cost of a child process, read from /proc while it runs: CPU, CPU by thread, peak memory.

// Each bench uses its own part of this.
#![allow(dead_code)]

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

/// Threads and memory are looked at this often: what happens after the last look is missing from their figures, not from
/// the CPU as a whole.
const EVERY: Duration = Duration::from_millis(10);
/// The unit of the times in /proc/PID/stat is `sysconf(_SC_CLK_TCK)`, which is 100 on every Linux there is.
const TICK: Duration = Duration::from_millis(10);

/// The resources that a process used from start to end.
#[derive(Debug, Clone, Default)]
pub struct Cost {
    pub wall: Duration,
    pub user: Duration,
    pub system: Duration,
    /// CPU by the threads' names, numbered ones together.
    pub threads: BTreeMap<String, Duration>,
    pub peak_bytes: u64,
}

impl Cost {
    pub fn cpu(&self) -> Duration {
        self.user + self.system
    }
}

/// A process's CPU so far, to 10 ms.
#[derive(Debug, Clone, Copy, Default)]
pub struct Times {
    pub user: Duration,
    pub system: Duration,
    /// It has ended, and nobody has waited for it.
    pub is_zombie: bool,
}

impl Times {
    /// `proc`: its folder, such as `/proc/self`.
    pub fn read(proc: &Path) -> io::Result<Times> {
        let stat = fs::read_to_string(proc.join("stat"))?;
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks = |at: usize| fields.get(at).and_then(|field| field.parse().ok()).unwrap_or(0u32);
        Ok(Times { user: TICK * ticks(11), system: TICK * ticks(12), is_zombie: fields.first() == Some(&"Z") })
    }

    pub fn cpu(&self) -> Duration {
        self.user + self.system
    }
}

/// Waits for a child that was just started. Its CPU is read from its remains before they are taken away.
pub fn watch(mut child: Child, started: Instant) -> io::Result<Cost> {
    let proc = PathBuf::from(format!("/proc/{}", child.id()));
    let mut cost = Cost::default();
    let mut threads = HashMap::new();
    loop {
        let times = Times::read(&proc)?;
        (cost.user, cost.system) = (times.user, times.system);
        if times.is_zombie {
            break;
        }
        cost.peak_bytes = peak_bytes(&proc).unwrap_or(cost.peak_bytes);
        look_at_threads(&proc, &mut threads);
        std::thread::sleep(EVERY);
    }
    cost.wall = started.elapsed();
    for (name, cpu) in threads.into_values() {
        *cost.threads.entry(name).or_default() += cpu;
    }
    let status = child.wait()?;
    if status.success() { Ok(cost) } else { Err(io::Error::other(format!("the child failed: {status}"))) }
}

/// The most memory that the process has had at once (resident).
pub fn peak_bytes(proc: &Path) -> Option<u64> {
    let status = fs::read_to_string(proc.join("status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<u64>().ok()? * 1024)
}

/// Threads come and go while they are listed.
fn look_at_threads(proc: &Path, threads: &mut HashMap<String, (String, Duration)>) {
    let Ok(tasks) = fs::read_dir(proc.join("task")) else { return };
    for task in tasks.flatten() {
        let read = |file: &str| fs::read_to_string(task.path().join(file)).ok();
        let (Some(name), Some(stat)) = (read("comm"), read("schedstat")) else { continue };
        let nanos = stat.split(' ').next().and_then(|nanos| nanos.parse().ok()).unwrap_or(0);
        let id = task.file_name().to_string_lossy().into_owned();
        threads.insert(id, (without_number(name.trim()).to_owned(), Duration::from_nanos(nanos)));
    }
}

/// `tokio-rt-worker-3` and `tokio-rt-worker` are one kind.
fn without_number(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '-' | '_' | '#' | ' '))
}
