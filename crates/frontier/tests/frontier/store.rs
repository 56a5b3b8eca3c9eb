//! The embedded frontier's folder: its lock, and the effects of damage.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use seine_frontier::*;

use crate::kill::numbered;
use crate::memory::MemoryFrontier;
use crate::support::*;

fn open(dir: &Path) -> Result<EmbeddedFrontier, FrontierError> {
    EmbeddedFrontier::open(dir, plain(), 0)
}

fn message(dir: &Path) -> String {
    match open(dir) {
        Ok(_) => panic!("{} was opened", dir.display()),
        Err(error) => error.to_string(),
    }
}

/// Number of batches in the store, and of those in tables; the others are only in the journal.
const BATCHES: u64 = 60;
const IN_TABLES: u64 = 40;

fn apply(frontier: &dyn Model, n: u64) {
    frontier.apply(&numbered(n), 0).unwrap();
}

/// A store with something in every keyspace.
fn fill(dir: &Path) {
    let frontier = open(dir).unwrap();
    (1..=IN_TABLES).for_each(|n| apply(&frontier, n));
    let robots = Robots { fetched_ms: 1, expires_ms: 2, access: RobotsAccess::AllowAll, tdm: None };
    let lease = lease_one(&frontier, 0, 1);
    frontier.release(lease, Release { robots: Some(robots), ..Release::default() }).unwrap();
    drop(frontier);
    into_tables(dir);
    let frontier = open(dir).unwrap();
    (IN_TABLES + 1..=BATCHES).for_each(|n| apply(&frontier, n));
}

/// Moves everything from the journal into tables.
fn into_tables(dir: &Path) {
    let db = fjall::Database::builder(dir.join("store")).open().unwrap();
    for name in db.list_keyspace_names() {
        let keyspace = db.keyspace(&name, fjall::KeyspaceCreateOptions::default).unwrap();
        keyspace.rotate_memtable_and_wait().unwrap();
    }
}

/// Fetches everything that can be leased. Returns the number of URLs per host.
fn fetch_all(frontier: &dyn Model) -> Vec<usize> {
    let mut fetched = BTreeMap::new();
    let mut cursor = 1000;
    loop {
        let leases = frontier.lease(1, LeaseLimits::new(8, 100)).expect("a bad block is no reason to lease nothing");
        if leases.is_empty() {
            return fetched.into_values().collect();
        }
        for lease in leases {
            *fetched.entry(lease.host.origin.clone()).or_default() += lease.work.len();
            cursor += 1;
            let verdicts = lease.work.iter().map(|work| crate::support::fetched(&work.url, cursor, None)).collect();
            all_fetched(frontier, lease);
            frontier.apply(&batch(cursor, verdicts, Vec::new()), 1).unwrap();
        }
    }
}

#[test]
fn a_bad_block_costs_the_queue_of_one_host() {
    const HOSTS: usize = 5;
    const URLS: usize = 2000;
    let dir = tempfile::tempdir().unwrap();
    let frontier = open(dir.path()).unwrap();
    let mut random = fastrand::Rng::with_seed(7);
    for host in 0..HOSTS {
        // Long and incompressible, so that the keyspace of queues becomes the largest.
        let mut path =
            |n: usize| (0..8).map(|_| format!("{:016x}", random.u64(..))).collect::<String>() + &n.to_string();
        let urls = (0..URLS).map(|n| page(&format!("http://h{host}.example/{}", path(n))));
        frontier.propose(&urls.collect::<Vec<_>>(), 0).unwrap();
    }
    drop(frontier);
    into_tables(dir.path());
    let table = files(dir.path()).into_iter().filter(|file| file.to_string_lossy().contains("/tables/"));
    let table = table.max_by_key(|file| fs::metadata(file).unwrap().len()).unwrap();
    let mut bytes = fs::read(&table).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x55;
    fs::write(&table, bytes).unwrap();

    let frontier = open(dir.path()).unwrap();
    let mut fetched = fetch_all(&frontier);
    fetched.sort();
    assert!(fetched[0] < URLS || fetched.len() < HOSTS, "the damage was met: {fetched:?}");
    assert_eq!(fetched[fetched.len() - (HOSTS - 1)..], [URLS; HOSTS - 1], "{fetched:?}");
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}

#[test]
fn belongs_to_one_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let frontier = open(dir.path()).unwrap();
    let error = message(dir.path());
    assert!(error.contains(&dir.path().display().to_string()), "{error}");
    assert!(error.contains("another process uses it"), "{error}");
    drop(frontier);
    open(dir.path()).unwrap();
}

#[test]
fn refuses_a_newer_format() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()).unwrap());
    let db = fjall::Database::builder(dir.path().join("store")).open().unwrap();
    let notes = db.keyspace("notes", fjall::KeyspaceCreateOptions::default).unwrap();
    notes.insert("format", "seine frontier 2").unwrap();
    drop((db, notes));
    let error = message(dir.path());
    assert!(error.contains("seine frontier 2") && error.contains("open it with the version that made it"), "{error}");
}

#[test]
fn refuses_what_is_not_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let db = fjall::Database::builder(dir.path().join("store")).open().unwrap();
    db.keyspace("someone", fjall::KeyspaceCreateOptions::default).unwrap().insert("a", "b").unwrap();
    drop(db);
    let error = message(dir.path());
    assert!(error.contains("it does not say which format it has") && error.contains("begin anew"), "{error}");

    let file = dir.path().join("file");
    fs::write(&file, "no folder").unwrap();
    assert!(message(&file).contains("disk's space, permissions"), "{}", message(&file));
}

#[test]
fn begins_again_where_its_making_was_interrupted() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("store.new/keyspaces")).unwrap();
    fs::write(dir.path().join("store.new/0.jnl"), "half").unwrap();
    let frontier = open(dir.path()).unwrap();
    assert_eq!(frontier.counts(), Counts::default());
}

/// A file's length, and its bytes up to the last that is not 0, because journals are long and mostly empty.
type Content = (u64, Vec<u8>);

fn content(file: &Path) -> Content {
    let mut bytes = fs::read(file).unwrap();
    let length = bytes.len() as u64;
    bytes.truncate(bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1));
    (length, bytes)
}

fn restore(files: &[(PathBuf, Content)]) {
    for (path, (length, bytes)) in files {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
        fs::File::options().write(true).open(path).unwrap().set_len(*length).unwrap();
    }
}

/// Each file in turn is cut in half, or its middle is changed. The store then reports the damage, at its opening or at
/// a read, or it is complete up to its offset.
#[test]
fn says_so_when_damaged() {
    let dir = tempfile::tempdir().unwrap();
    fill(dir.path());
    let whole: Vec<_> = files(dir.path()).into_iter().map(|path| (path.clone(), content(&path))).collect();
    let damages = whole.iter().filter(|(path, (_, bytes))| !bytes.is_empty() && !is_outdated(path, &whole));
    for (number, (path, (length, bytes))) in damages.enumerate() {
        fs::remove_dir_all(dir.path()).unwrap();
        restore(&whole);
        let middle = bytes.len() / 2;
        if number % 2 == 0 {
            let mut changed = bytes.clone();
            changed[middle..].iter_mut().take(64).for_each(|byte| *byte ^= 0x55);
            restore(&[(path.clone(), (*length, changed))]);
        } else {
            fs::write(path, &bytes[..middle]).unwrap();
        }
        let name = path.strip_prefix(dir.path()).unwrap().display().to_string();
        match look_through(dir.path(), &name) {
            Err(error) => assert!(error.to_string().contains(&dir.path().display().to_string()), "{name}: {error}"),
            // A truncated journal is like a torn write: it is valid up to there.
            Ok(()) => {
                assert!(name.ends_with("0.jnl") || name.ends_with("current"), "{name}: the damage went unnoticed")
            }
        }
    }
}

/// A keyspace's list of tables (`v7`), of which there is a newer one.
fn is_outdated(path: &Path, whole: &[(PathBuf, Content)]) -> bool {
    let version = |path: &Path| path.file_name()?.to_str()?.strip_prefix('v')?.parse::<u32>().ok();
    let is_newer = |other: &Path| other.parent() == path.parent() && version(other) > version(path);
    version(path).is_some() && whole.iter().any(|(other, _)| is_newer(other))
}

/// Reads everything. All answers must be right.
fn look_through(dir: &Path, name: &str) -> Result<(), FrontierError> {
    let found = open(dir)?;
    let twin = MemoryFrontier::new(plain());
    let cursor = found.cursor()?.index;
    (1..=cursor).for_each(|n| apply(&twin, n));
    assert_eq!(found.counts(), twin.counts(), "{name}");
    for proposal in (1..=cursor).flat_map(|n| numbered(n).proposals) {
        assert_eq!(found.page(&proposal.url)?, twin.page(&proposal.url).unwrap(), "{name}: {}", proposal.url);
    }
    // Looks up the queue state of each URL.
    let all: Vec<Proposal> = (1..=cursor).flat_map(|n| numbered(n).proposals).collect();
    assert_eq!(found.propose(&all, 0)?, twin.propose(&all, 0).unwrap(), "{name}");
    let work = |leases: Vec<Lease>| leases.into_iter().map(|lease| lease.work).collect::<Vec<_>>();
    let leases = found.lease(3_000_000, LeaseLimits::new(100, 1_000_000))?;
    assert_eq!(work(leases), work(twin.lease(3_000_000, LeaseLimits::new(100, 1_000_000)).unwrap()), "{name}");
    let known: Vec<Proposal> = (1..=cursor).flat_map(|n| numbered(n).proposals).collect();
    assert_eq!(found.propose(&known, 3_000_000)?.added, 0, "{name}");
    Ok(())
}

/// Many threads commit little while fjall's worker is busy. fjall once got a request from each commit to flush the full
/// buffer. 1,000 of them made its worker wait for ever for room in its own queue, and nothing was flushed any more.
#[test]
fn small_commits_do_not_stop_the_stores_worker() {
    let dir = tempfile::tempdir().unwrap();
    let frontier = EmbeddedFrontier::open(dir.path(), plain(), 0).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..6 {
            let (frontier, is_over) = (&frontier, &is_over);
            scope.spawn(move || {
                for n in (0_u64..).take_while(|_| !is_over.load(Ordering::Relaxed)) {
                    // The large one fills the buffer.
                    let text = if n % 2_000 == 0 { "x".repeat(1 << 20) } else { n.to_string() };
                    frontier.set_note(&thread.to_string(), &text).unwrap();
                }
            });
        }
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..160 {
            let mut path = || (0..1_000).map(|_| random.alphanumeric()).collect::<String>();
            let urls: Vec<_> = (0..500).map(|n| page(&format!("https://www.site-{}.com/{}", n % 97, path()))).collect();
            frontier.propose(&urls, 0).unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
    });
    // fjall begins a new journal with the first flush after 64 MB.
    for file in fs::read_dir(dir.path().join("store")).unwrap() {
        let (path, size) = file.map(|file| (file.path(), file.metadata().unwrap().len())).unwrap();
        assert!(size < 100 << 20, "{} has {size} bytes: nothing was flushed", path.display());
    }
}
