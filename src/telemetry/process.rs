//! Metrics of this process from the operating system, under Prometheus's standard names; none without `/proc`.
//!
//! The `process` feature of `prometheus` is not used, because it would add procfs and a second rustix for a few lines.

use seine_system::descriptors::Shares;

use super::gauges::Readings;

impl Readings {
    pub(super) fn note_start(&mut self) {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let seconds = now.map_or(0.0, |it| it.as_secs_f64());
        self.gauge("process_start_time_seconds", "When the process started, in seconds since 1970.", seconds);
    }

    pub(super) fn read_process(&mut self) {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let number = |name: &str| -> Option<f64> {
            let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
            line.split_whitespace().next()?.parse().ok()
        };
        let bytes = |name: &str| number(name).unwrap_or(0.0) * 1024.0;
        let open_files = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
        self.gauge("process_resident_memory_bytes", "Memory of the process in RAM.", bytes("VmRSS"));
        self.gauge("process_virtual_memory_bytes", "Memory that the process has mapped.", bytes("VmSize"));
        self.gauge("process_threads", "Threads of the process.", number("Threads").unwrap_or(0.0));
        self.gauge("process_open_fds", "Open file descriptors.", open_files as f64);
        self.gauge("process_max_fds", "Maximum number of open file descriptors.", Shares::now().limit as f64);
        let cpu = [([], cpu_seconds().unwrap_or(0.0))];
        self.counters("process_cpu_seconds_total", "CPU time, user and system, in seconds.", [], cpu);
    }
}

/// proc(5): fields 14 and 15, `utime` and `stime` in clock ticks. The second field, a name in brackets, may contain
/// anything.
fn cpu_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    let mut fields = text.get(text.rfind(')')? + 1..)?.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    let all = ticks()? + ticks()?;
    Some(all as f64 / rustix::param::clock_ticks_per_second() as f64)
}
