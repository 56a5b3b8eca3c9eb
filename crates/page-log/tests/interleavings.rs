//! The log's writer, those who append, and readers, in many orders of their steps. Shuttle chooses which thread runs at each
//! lock and signal, and reports a deadlock when all of them wait. A wait for a time does not end by itself here, so a
//! notification that is missing is such a deadlock.
//!
//!     cargo test -p seine-page-log --features shuttle --test interleavings

#[path = "../../parse/tests/support/event.rs"]
mod event;

use std::process::Command;
use std::time::Duration;

use seine_page_log::{LogConfig, PageLog, VALIDATOR};
use seine_parse::DeriveOptions;
use seine_parse::page::PageEvent;
use seine_simulation_hooks::planted;
use shuttle::future::block_on;
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::thread::{JoinHandle, spawn};

const ORDERS: usize = 300;
/// Of a thread's stack, in words.
const STACK: usize = 1 << 18;
const HOUR: Duration = Duration::from_secs(3600);
/// The bug that a test plants in a process of its own.
const PLANTED: &str = "SEINE_PLANTED";

/// Runs a test in many orders of its threads: half of them by chance, half with few changes of the thread, at the places that
/// find most faults (PCT, Burckhardt et al. 2010).
fn in_every_order(test: fn()) {
    if let Ok(bug) = std::env::var(PLANTED) {
        planted::plant(&bug);
    }
    let mut config = shuttle::Config::new();
    config.stack_size = STACK;
    shuttle::Runner::new(RandomScheduler::new(ORDERS / 2), config.clone()).run(test);
    shuttle::Runner::new(PctScheduler::new(3, ORDERS / 2), config).run(test);
}

/// A log in memory, with its writer, and its folder.
struct Running {
    log: PageLog,
    writer: JoinHandle<()>,
    _folder: tempfile::TempDir,
}

impl Running {
    fn open() -> Running {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder");
        // The writer waits for no company: that wait ends with time alone.
        let config =
            LogConfig { segment_bytes: 1 << 20, max_bytes: 1 << 40, commit_interval: Duration::ZERO, reserve_bytes: 0 };
        let (log, _) = PageLog::open(folder.path(), &config, DeriveOptions::default()).expect("the log opens");
        let writing = log.clone();
        let writer = spawn(move || writing.run_writer(&mut || ()).expect("the writer ends well"));
        Running { log, writer, _folder: folder }
    }

    /// Appends so many events, one after the other, each behind the acceptance of the last.
    fn append(&self, count: u64, body: usize) -> JoinHandle<()> {
        let log = self.log.clone();
        spawn(move || {
            for number in 0..count {
                let ticket = block_on(log.append(page(number, body), None)).expect("the log takes it");
                block_on(ticket.accepted()).expect("it is accepted");
            }
        })
    }

    /// Lets a reader read so many events, and then the end of the log.
    fn read(&self, name: &str, count: usize) -> JoinHandle<()> {
        let mut reader = self.log.reader(name).expect("a reader");
        spawn(move || {
            let mut read = 0;
            while !reader.is_closed_and_drained() {
                read += reader.next(10, 1 << 20, HOUR).expect("it reads").len();
            }
            assert_eq!(read, count, "each event once");
        })
    }

    fn close(self) {
        self.log.close();
        self.writer.join().expect("the writer does not panic");
    }
}

fn page(number: u64, body: usize) -> PageEvent {
    event::page(format!("http://example.com/{number}"), &[("content-type", "text/html")], vec![b'a'; body])
}

fn join(threads: Vec<JoinHandle<()>>) {
    threads.into_iter().for_each(|thread| thread.join().expect("it does not panic"));
}

#[test]
fn events_are_accepted_and_read_in_every_order() {
    in_every_order(|| {
        let running = Running::open();
        let readers = vec![running.read("one", 4), running.read("other", 4)];
        join(vec![running.append(2, 10), running.append(2, 10)]);
        running.close();
        join(readers);
    });
}

/// Two workers wait until the validator has read nearly everything. It releases what it has read, the last time behind an empty
/// read, and then stops.
#[test]
fn workers_hear_that_the_validator_is_near_the_end() {
    in_every_order(|| {
        let running = Running::open();
        let mut validator = running.log.follower(VALIDATOR, Default::default()).expect("a follower");
        join(vec![running.append(3, 2000)]);
        assert!(!running.log.is_near_end(VALIDATOR));
        let wait = |log: PageLog| spawn(move || block_on(log.near_end(VALIDATOR)));
        let mut threads = vec![wait(running.log.clone()), wait(running.log.clone())];
        threads.push(spawn(move || {
            let mut read = 0;
            while read < 3 {
                read += validator.next(2, 1 << 20, HOUR).expect("it reads").len();
            }
            validator.release(validator.position());
        }));
        join(threads);
        running.close();
    });
}

/// Workers that wait for the validator go on when it is opened at another offset.
#[test]
fn workers_hear_that_the_validator_was_opened_again() {
    in_every_order(|| {
        let running = Running::open();
        drop(running.log.follower(VALIDATOR, Default::default()).expect("a follower"));
        join(vec![running.append(2, 2000)]);
        let end = running.log.status().end;
        let (waiting, opening) = (running.log.clone(), running.log.clone());
        let waits = spawn(move || block_on(waiting.near_end(VALIDATOR)));
        let opens = spawn(move || drop(opening.follower(VALIDATOR, end).expect("a follower")));
        join(vec![waits, opens]);
        running.close();
    });
}

#[test]
fn closing_wakes_all_who_wait() {
    in_every_order(|| {
        let running = Running::open();
        let reader = running.read("one", 0);
        running.close();
        join(vec![reader]);
    });
}

/// Runs a test of this file in a process of its own, with a bug.
fn fails_with(bug: &str, test: &str) {
    let myself = std::env::current_exe().expect("this program has a path");
    let ran = Command::new(myself).args([test, "--exact"]).env(PLANTED, bug).output().expect("this program runs");
    let said = String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
    assert!(!ran.status.success() && said.contains("deadlock"), "{test} does not find {bug}: {said}");
}

#[test]
fn finds_that_the_writer_is_not_told() {
    fails_with("wake_up_dropped", "events_are_accepted_and_read_in_every_order");
}

/// The stall after a kill, as it was.
#[test]
fn finds_that_a_release_tells_nobody() {
    fails_with("release_untold", "workers_hear_that_the_validator_is_near_the_end");
}

/// Only two threads at the same moment show this fault: the release comes between the check and the wait.
#[test]
fn finds_that_a_look_comes_before_the_subscription() {
    fails_with("look_before_subscription", "workers_hear_that_the_validator_is_near_the_end");
}
