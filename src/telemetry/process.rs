//! What the operating system says of this process, under Prometheus' standard names; nothing where there is no `/proc`.
//!
//! Read here: the `process` feature of `prometheus` would bring procfs and a second rustix for some lines of files.

use prometheus::{Counter, Gauge, IntGauge, Registry};

use super::gauges::{gauge, keep};
use crate::descriptors::Shares;

pub(super) struct ProcessGauges {
    cpu: Counter,
    memory: IntGauge,
    virtual_memory: IntGauge,
    threads: IntGauge,
    open_files: IntGauge,
    max_files: IntGauge,
}

impl ProcessGauges {
    pub fn new(registry: &Registry) -> ProcessGauges {
        let gauge = |name: &str, help: &str| gauge(registry, name, help);
        let started = Gauge::new("process_start_time_seconds", "When the process started, in seconds since 1970.");
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        keep(registry, started).set(now.map_or(0.0, |it| it.as_secs_f64()));
        ProcessGauges {
            cpu: keep(registry, Counter::new("process_cpu_seconds_total", "CPU time, user and system, in seconds.")),
            memory: gauge("process_resident_memory_bytes", "Memory of the process in RAM."),
            virtual_memory: gauge("process_virtual_memory_bytes", "Memory that the process has mapped."),
            threads: gauge("process_threads", "Threads of the process."),
            open_files: gauge("process_open_fds", "Open file descriptors."),
            max_files: gauge("process_max_fds", "As many file descriptors may be open."),
        }
    }

    pub fn set(&self) {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let number = |name: &str| -> Option<i64> {
            let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
            line.split_whitespace().next()?.parse().ok()
        };
        let set = |gauge: &IntGauge, value: Option<i64>| gauge.set(value.unwrap_or(0));
        set(&self.memory, number("VmRSS").map(|kilobytes| kilobytes * 1024));
        set(&self.virtual_memory, number("VmSize").map(|kilobytes| kilobytes * 1024));
        set(&self.threads, number("Threads"));
        set(&self.open_files, std::fs::read_dir("/proc/self/fd").ok().map(|files| files.count() as i64));
        self.max_files.set(i64::try_from(Shares::now().limit).unwrap_or(i64::MAX));
        self.cpu.inc_by((cpu_seconds().unwrap_or(0.0) - self.cpu.get()).max(0.0));
    }
}

/// proc(5): fields 14 and 15, `utime` and `stime` in clock ticks. The second field, a name in brackets, may hold anything.
fn cpu_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    let mut fields = text.get(text.rfind(')')? + 1..)?.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    let all = ticks()? + ticks()?;
    Some(all as f64 / rustix::param::clock_ticks_per_second() as f64)
}
