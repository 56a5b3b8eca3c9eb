//! Threads that give hosts back, and the thread that writes this, in many orders of their steps. Shuttle chooses at each
//! lock which thread runs.
//!
//!     cargo test -p seine-frontier --features shuttle --test interleavings

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use seine_frontier::{EmbeddedFrontier, FrontierOptions, HostLeases, LeaseLimits, Proposal, Release, Scheduler};
use seine_simulation_hooks::planted;
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::thread::{JoinHandle, spawn};

const ORDERS: usize = 100;
/// With a planted bug, which a quarter of the runs with fewer orders missed. It stops at the first that shows it.
const ORDERS_TO_FIND: usize = 1500;
/// Of a thread's stack, in words.
const STACK: usize = 1 << 18;
/// The bug that a test plants in a process of its own.
const PLANTED: &str = "SEINE_PLANTED";
/// Until then (in milliseconds) each host rests when it was visited.
const RESTS_UNTIL: u64 = 5_000;

fn in_every_order(test: fn()) {
    if let Ok(bug) = std::env::var(PLANTED) {
        planted::plant(&bug);
    }
    let mut config = shuttle::Config::new();
    config.stack_size = STACK;
    let orders = if std::env::var_os(PLANTED).is_some() { ORDERS_TO_FIND } else { ORDERS };
    shuttle::Runner::new(RandomScheduler::new(orders / 2), config.clone()).run(test);
    shuttle::Runner::new(PctScheduler::new(3, orders / 2), config).run(test);
}

fn options() -> FrontierOptions {
    FrontierOptions { default_delay: Duration::ZERO, ..FrontierOptions::default() }
}

/// One URL of each leased host was fetched, and the host rests.
fn visited(url: String) -> Release {
    Release { fetched: vec![url], not_before: RESTS_UNTIL, ..Release::default() }
}

#[test]
fn every_visit_is_written_in_every_order() {
    in_every_order(|| {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder");
        let frontier = Arc::new(EmbeddedFrontier::open(folder.path(), options(), 0).expect("it opens"));
        let hosts = ["a", "b", "c"];
        let urls = |number: u32| hosts.map(|host| Proposal::seed(&format!("http://{host}.example/{number}")));
        frontier.propose(&[urls(1), urls(2)].concat(), 0).expect("URLs are proposed");
        let leases = frontier.lease(0, LeaseLimits::new(hosts.len(), 1)).expect("leases");
        assert_eq!(leases.len(), hosts.len());
        let mut threads: Vec<JoinHandle<()>> = Vec::new();
        for lease in leases {
            let frontier = frontier.clone();
            let url = lease.work[0].url.to_string();
            threads.push(spawn(move || {
                frontier.give_back(lease, visited(url));
                frontier.write_visits().expect("the store takes it");
            }));
        }
        // Writes hosts, too, and holds the lock that the others find taken.
        let validating = frontier.clone();
        let proposal = Proposal::seed("http://d.example/");
        threads.push(spawn(move || _ = validating.propose(&[proposal], 0).expect("a URL is proposed")));
        threads.into_iter().for_each(|thread| thread.join().expect("it does not panic"));

        let leases =
            |frontier: &EmbeddedFrontier, now| frontier.lease(now, LeaseLimits::new(10, 10)).expect("leases").len();
        assert_eq!(leases(&frontier, RESTS_UNTIL - 1), 1, "only d has not rested");
        assert_eq!(leases(&frontier, RESTS_UNTIL), hosts.len(), "each visit is written, and its host is free");
        drop(frontier);
        let frontier = EmbeddedFrontier::open(folder.path(), options(), 1).expect("it opens again");
        assert_eq!(leases(&frontier, RESTS_UNTIL - 1), 1, "a killed process forgets no delay");
    });
}

#[test]
fn finds_that_a_hand_over_is_dropped() {
    let myself = std::env::current_exe().expect("this program has a path");
    let test = ["every_visit_is_written_in_every_order", "--exact"];
    let ran = Command::new(myself).args(test).env(PLANTED, "hand_over_dropped").output().expect("this program runs");
    let said = String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
    assert!(!ran.status.success() && said.contains("each visit is written"), "{said}");
}
