//! `kill -9` at any moment: afterwards the state is exactly that of all batches up to the offset.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use seine_frontier::*;

use crate::memory::MemoryFrontier;
use crate::support::*;

/// Set for the process to be killed: the store's folder.
const FOLDER: &str = "SEINE_TEST_KILLED_FRONTIER";
const ROUNDS: u32 = 30;

/// Batch number `n`, always the same: new and known URLs, pages, rechecks and retries.
pub fn numbered(n: u64) -> Batch {
    let url = |batch: u64, k: u64| format!("http://h{}.example/{batch}/{k}", (batch + k) % 5);
    let links = (0..12).map(|k| page(&url(n, k))).chain((0..5).map(|k| page(&url(n.saturating_sub(k * k), k))));
    let before = |k: u64| n.checked_sub(k + 1);
    let mut verdicts = Vec::new();
    for (k, back) in [(0, 0), (1, 0), (2, 3), (3, 7)] {
        let Some(old) = before(back) else { continue };
        let event = n * 10 + k;
        verdicts.push(match k {
            0 => fetched(&url(old, 0), event, None),
            1 => fetched(&url(old, 1), event, Some(1_000_000 + n)),
            2 => retry(&url(old, 2), event, 2_000_000 + n, 1),
            _ => in_state(&url(old, 1), event, PageState::Gone),
        });
    }
    // A hint makes an earlier page due sooner. The batch after the next has its verdict.
    let changed = |old: u64| Hint { url: url(old, 1), changed_ms: u64::MAX / 2, due: 500_000 + n };
    let hints = before(2).map(changed).into_iter().collect();
    Batch { hints, ..batch(n, verdicts, links.collect()) }
}

/// Not a test by itself: the process that [`survives`] starts and kills. Prints the offset after each batch.
#[test]
#[ignore = "started by another test"]
fn victim() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let frontier = EmbeddedFrontier::open(Path::new(&folder), plain(), 0).unwrap();
    println!("\nopened");
    let first = frontier.cursor().unwrap().index + 1;
    for n in first..first + 100_000 {
        for lease in frontier.lease(0, LeaseLimits::new(2, 3)).unwrap() {
            let fetched = lease.work.iter().take(1).map(|work| work.url.clone()).collect();
            frontier.release(lease, Release { fetched, ..Release::default() }).unwrap();
        }
        frontier.apply(&numbered(n), 0).unwrap();
        println!("\napplied {n}");
    }
}

fn start_victim(folder: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["kill::victim", "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}

/// Kills the process after it has printed `lines` lines, and then a number of spins. Returns the last batch that it
/// reported as applied.
fn kill_after(mut victim: Child, lines: u32, spins: u32) -> u64 {
    let mut output = BufReader::new(victim.stdout.take().unwrap()).lines();
    let mut applied = 0;
    let mut said = 0;
    while said < lines {
        let line = output.next().expect("it runs until it is killed").unwrap();
        applied = line.strip_prefix("applied ").map_or(applied, |n| n.parse().unwrap());
        said += u32::from(line == "opened" || line.starts_with("applied "));
    }
    (0..spins).for_each(|_| std::hint::spin_loop());
    victim.kill().unwrap();
    victim.wait().unwrap();
    for line in output.map_while(Result::ok) {
        applied = line.strip_prefix("applied ").and_then(|n| n.parse().ok()).unwrap_or(applied);
    }
    applied
}

#[test]
fn survives() {
    let dir = tempfile::tempdir().unwrap();
    let twin = MemoryFrontier::new(plain());
    let mut random = fastrand::Rng::with_seed(20);
    let mut known = BTreeSet::new();
    for round in 0..ROUNDS {
        let applied = kill_after(start_victim(dir.path()), random.u32(1..25), random.u32(0..200_000));
        let frontier = EmbeddedFrontier::open(dir.path(), plain(), 0).unwrap();
        let cursor = frontier.cursor().unwrap().index;
        assert!(cursor >= applied, "round {round}: {applied} was applied, found {cursor}");
        for n in twin.cursor().unwrap().index + 1..=cursor {
            let batch = numbered(n);
            known.extend(batch.proposals.iter().map(|proposal| proposal.url.clone()));
            known.extend(batch.verdicts.iter().map(|verdict| verdict.url.clone()));
            twin.apply(&batch, 0).unwrap();
        }
        check_counters(&frontier);
        assert_same(&frontier, &twin.reopened(plain(), 0), &known, round);
    }
    assert!(twin.cursor().unwrap().index > u64::from(ROUNDS), "it came forward between kills");
}

fn assert_same(found: &dyn Model, expected: &dyn Model, known: &BTreeSet<String>, round: u32) {
    assert_eq!(found.counts(), expected.counts(), "round {round}");
    assert_eq!(found.next_due(), expected.next_due(), "round {round}");
    for url in known {
        assert_eq!(found.page(url).unwrap(), expected.page(url).unwrap(), "round {round}");
    }
    let late = 3_000_000;
    let work = |frontier: &dyn Model| {
        let leases = frontier.lease(late, LeaseLimits::new(100, 1_000_000)).unwrap();
        leases.into_iter().map(|lease| (lease.host, lease.work)).collect::<Vec<_>>()
    };
    assert_eq!(work(found), work(expected), "round {round}");
}

/// Killed before the store exists, or while it is created.
#[test]
fn survives_its_first_moments() {
    let mut random = fastrand::Rng::with_seed(3);
    let dir = tempfile::tempdir().unwrap();
    for _ in 0..8 {
        let mut victim = start_victim(dir.path());
        // The folder's lock is the first file.
        while !dir.path().join("lock").exists() && victim.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        let spins = random.u32(0..3_000_000);
        (0..spins).for_each(|_| std::hint::spin_loop());
        victim.kill().unwrap();
        victim.wait().unwrap();
        let frontier = EmbeddedFrontier::open(dir.path(), plain(), 0).unwrap();
        drop(frontier);
        std::fs::remove_dir_all(dir.path()).unwrap();
        std::fs::create_dir(dir.path()).unwrap();
    }
}
