//! A really full disk: the first failed write poisons fjall. The frontier waits, and ends in the same state as if there
//! had always been space.

use std::path::{Path, PathBuf};

use seine_frontier::*;

use crate::kill::numbered;
use crate::memory::MemoryFrontier;
use crate::small_disk::{self, fill, make_room};
use crate::support::*;

#[test]
fn small_batches_meet_a_full_disk() {
    small_disk::run("full_disk::small_batches", 24);
}

#[test]
#[ignore = "started by another test"]
fn small_batches() {
    let Some(dir) = small_disk::here() else { return };
    // The free space when the batches begin. Some fail soon; in others the journal's blocks are already allocated.
    for (round, left) in [0, 300].into_iter().enumerate() {
        let mut pair = Pair::open(&dir.join(format!("frontier-{round}")));
        for from in [1, 2000] {
            pair.first_of_round(from);
            fill(&dir, left << 10);
            let failed = (from + 1..from + 2000).find(|n| !pair.applies(&numbered(*n)));
            pair.assert_away(&dir, failed.expect("the disk is full at some time"));
            make_room(&dir);
            pair.comes_back();
        }
        pair.check();
    }
    small_disk::done();
}

/// Enough data that tables are written in the background, where failures are not reported to a caller.
#[test]
fn large_batches_meet_a_full_disk() {
    small_disk::run("full_disk::large_batches", 72);
}

#[test]
#[ignore = "started by another test"]
fn large_batches() {
    let Some(dir) = small_disk::here() else { return };
    let large = |n: u64| {
        // Long and incompressible URLs, but few of them, because the twin reads all of them for each.
        let mut random = fastrand::Rng::with_seed(n);
        let mut url = |k: u64| {
            let path: String = (0..1500).map(|_| random.alphanumeric()).collect();
            format!("http://h{}.example/{n}/{k}/{path}", k % 7)
        };
        batch(n, Vec::new(), (0..300).map(|k| page(&url(k))).collect())
    };
    let mut pair = Pair::open(&dir.join("frontier"));
    for round in 0..4_u64 {
        let from = 1 + round * 100;
        pair.first_of_round(from);
        fill(&dir, (round * 5) << 20);
        let failed = (from + 1..from + 100).find(|n| !pair.applies(&large(*n)));
        pair.assert_away(&dir, failed.expect("the disk is full at some time"));
        make_room(&dir);
        pair.comes_back();
    }
    pair.check();
    small_disk::done();
}

/// A frontier on the disk, and one in memory without failures.
struct Pair {
    dir: PathBuf,
    frontier: EmbeddedFrontier,
    twin: MemoryFrontier,
    leased: Option<(Lease, Lease)>,
    /// The batch that failed.
    open: Option<Batch>,
}

const NOW: u64 = 10_000_000;

impl Pair {
    fn open(dir: &Path) -> Pair {
        let frontier = EmbeddedFrontier::open(dir, plain(), 0).unwrap();
        Pair { dir: dir.to_owned(), frontier, twin: MemoryFrontier::new(plain()), leased: None, open: None }
    }

    fn both(&self) -> [&dyn Model; 2] {
        [&self.frontier, &self.twin]
    }

    /// While there is space: URLs, some of them leased, some of those fetched and not validated.
    fn first_of_round(&mut self, n: u64) {
        assert!(self.applies(&numbered(n)));
        for frontier in self.both() {
            let lease = lease_one(frontier, NOW, 2);
            all_fetched(frontier, lease);
        }
        self.leased = Some((lease_one(&self.frontier, NOW, 3), lease_one(&self.twin, NOW, 3)));
    }

    fn applies(&mut self, batch: &Batch) -> bool {
        match self.frontier.apply(batch, 0) {
            Ok(applied) => {
                assert_eq!(applied, self.twin.apply(batch, 0).unwrap());
                true
            }
            Err(error) => {
                assert!(error.is_waiting(), "{error}");
                assert!(error.to_string().contains("free some space"), "{error}");
                self.open = Some(batch.clone());
                false
            }
        }
    }

    /// Nothing works while the disk is full, and every call says so.
    fn assert_away(&mut self, disk: &Path, failed: u64) {
        fill(disk, 0);
        let frontier = &self.frontier;
        assert!(matches!(frontier.disk_state(), DiskState::Failed(_)), "{:?}", frontier.disk_state());
        assert!(frontier.lease(NOW, LeaseLimits::new(1, 1)).unwrap_err().is_waiting());
        assert!(frontier.lease_host("http://other.example", NOW).unwrap_err().is_waiting());
        assert!(frontier.propose(&pages(&["http://other.example/"]), 0).unwrap_err().is_waiting());
        assert!(frontier.page("http://other.example/").unwrap_err().is_waiting());
        assert!(frontier.flush().unwrap_err().is_waiting());
        for _ in 0..3 {
            assert!(frontier.restore().unwrap_err().is_waiting());
            assert!(matches!(frontier.disk_state(), DiskState::Failed(_)), "{:?}", frontier.disk_state());
        }
        assert!(frontier.cursor().unwrap() < at(failed));
        // Leases end nevertheless.
        let (lease, twins) = self.leased.take().unwrap();
        let robots = Robots { fetched_ms: failed, expires_ms: NOW, access: RobotsAccess::AllowAll, tdm: None };
        for (frontier, lease) in self.both().into_iter().zip([lease, twins]) {
            let fetched = lease.work.iter().take(1).map(|work| work.url.clone()).collect();
            let release = Release {
                fetched,
                robots: Some(robots.clone()),
                health: Some(Health::Troubled(trouble(3))),
                ..Release::default()
            };
            frontier.release(lease, release).unwrap();
        }
    }

    fn comes_back(&mut self) {
        self.frontier.restore().unwrap();
        assert_eq!(self.frontier.disk_state(), DiskState::Well);
        let batch = self.open.take().unwrap();
        // A failed write may have been stored nevertheless.
        if self.frontier.cursor().unwrap() == batch.cursor {
            self.twin.apply(&batch, 0).unwrap();
        } else {
            assert!(self.applies(&batch));
        }
        assert_eq!(self.frontier.apply(&batch, 0).unwrap(), Applied::default());
        assert_eq!(self.frontier.counts(), self.twin.counts());
        check_counters(&self.frontier);
    }

    /// The same URLs, hosts and pages, in this process and after a restart.
    fn check(self) {
        let work = |frontier: &dyn Model| {
            let leases = frontier.lease(NOW, LeaseLimits::new(100, 1_000_000)).unwrap();
            leases.into_iter().map(|lease| (lease.host, lease.work)).collect::<Vec<_>>()
        };
        let after = self.twin.reopened(plain(), 0);
        assert_eq!(work(&self.frontier), work(&self.twin));
        drop(self.frontier);
        let frontier = EmbeddedFrontier::open(&self.dir, plain(), 0).unwrap();
        assert_eq!(frontier.counts(), after.counts());
        assert_eq!(work(&frontier), work(&after));
        check_counters(&frontier);
    }
}
