//! The crawl, life after life: started in the same way each time and killed, with its peak memory and its output.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::clock::Clock;
use crate::ground::Ground;
use crate::support::program::{Process, Ran};

pub struct Crawl {
    pub ground: Ground,
    pub clock: Clock,
    config: PathBuf,
    seeds: Vec<String>,
    child: Option<Child>,
    lives: usize,
    /// When it was killed.
    pub kills: Vec<Instant>,
    pub memory: Memory,
}

impl Crawl {
    pub fn new(ground: Ground, clock: Clock, settings: &str, seeds: Vec<String>) -> Crawl {
        let config = ground.beside("seine.yml");
        std::fs::write(&config, settings).expect("the configuration is written");
        Crawl { ground, clock, config, seeds, child: None, lives: 0, kills: Vec::new(), memory: Memory::watch() }
    }

    fn said(&self, life: usize) -> PathBuf {
        self.ground.beside(&format!("said-{life}"))
    }

    /// The same command for the first time and every time after. `more`: options.
    pub fn start(&mut self, more: &[&str]) {
        assert!(self.child.is_none(), "it runs");
        self.lives += 1;
        let mut command = self.ground.seine(&["crawl", "--quiet"]);
        command.arg("-c").arg(&self.config).arg("-o").arg(self.ground.data()).args(more);
        for seed in &self.seeds {
            command.args(["--seed", seed]);
        }
        self.clock.apply(&mut command);
        let said = File::create(self.said(self.lives)).expect("a file for what it says");
        let child = command.stdout(Stdio::null()).stderr(said).spawn().expect("the program starts");
        self.memory.of(child.id());
        self.child = Some(child);
    }

    pub fn end_of(&mut self) -> Option<ExitStatus> {
        self.child.as_mut().expect("it was started").try_wait().expect("it is ours")
    }

    /// SIGKILL, in the middle of it.
    pub fn kill(&mut self) {
        if let Some(status) = self.end_of() {
            panic!("{status}: it ended before it was killed: {}", self.last_words());
        }
        self.memory.look();
        let mut child = self.child.take().expect("it runs");
        child.kill().expect("it is ours");
        child.wait().expect("it is ours");
        self.kills.push(Instant::now());
        assert!(!self.last_words().contains("panicked at"), "{}", self.last_words());
    }

    /// Waits until it has ended by itself, and well.
    pub fn wait_for_end(&mut self, at_most: Duration) {
        let deadline = Instant::now() + at_most;
        let status = loop {
            if let Some(status) = self.end_of() {
                break status;
            }
            if Instant::now() > deadline {
                self.kill();
                panic!("it did not end within {at_most:?}: {}; {}", self.last_words(), self.books());
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        self.child = None;
        assert!(status.success(), "{status}: {}", self.last_words());
    }

    /// The end of the present life's output.
    pub fn last_words(&self) -> String {
        let said = std::fs::read_to_string(self.said(self.lives)).unwrap_or_default();
        let start = said.len().saturating_sub(4000);
        said.chars().skip(start).collect()
    }

    /// `seine audit --destinations`; it must not run.
    pub fn audit(&self) -> Ran {
        let mut audit = self.ground.seine(&["audit", "--destinations", "-c"]);
        audit.arg(&self.config).arg(self.ground.data());
        Process::start(audit).wait()
    }

    pub fn books(&self) -> String {
        let mut stats = self.ground.seine(&["stats", "--json"]);
        stats.arg(self.ground.data());
        Process::start(stats).wait().stdout
    }
}

impl Drop for Crawl {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The peak memory of any life, as the kernel recorded it (VmHWM).
pub struct Memory {
    shared: Arc<Watched>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Watched {
    process: AtomicU32,
    peak_kib: AtomicU64,
    over: AtomicBool,
}

impl Memory {
    fn watch() -> Memory {
        let shared = Arc::<Watched>::default();
        let watched = shared.clone();
        let thread = std::thread::spawn(move || {
            while !watched.over.load(Ordering::SeqCst) {
                watched.look();
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        Memory { shared, thread: Some(thread) }
    }

    fn of(&self, process: u32) {
        self.shared.process.store(process, Ordering::SeqCst);
    }

    fn look(&self) {
        self.shared.look();
    }

    pub fn peak_mib(&self) -> u64 {
        self.shared.peak_kib.load(Ordering::SeqCst) / 1024
    }
}

impl Watched {
    fn look(&self) {
        let path = format!("/proc/{}/status", self.process.load(Ordering::SeqCst));
        let status = std::fs::read_to_string(path).unwrap_or_default();
        let mark = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = mark.and_then(|mark| mark.trim().trim_end_matches(" kB").parse().ok());
        self.peak_kib.fetch_max(kib.unwrap_or(0), Ordering::SeqCst);
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
