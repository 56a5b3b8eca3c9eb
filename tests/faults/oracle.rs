//! A crawl of a website with known pages. A test kills and restarts it, and then checks the destination:
//!
//! * Every page of the site is there at least once, or among the sink's dead letters, and nothing else is.
//! * Each has the bytes that the site sent, and comes from one accepted event.
//! * Only pages that were being delivered when the crawl was killed may be there more than once.
//! * The counters of the crawl balance, by `seine stats` and by `seine audit`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::program::{DEADLINE, Place, Process, Ran, command, eventually};
use crate::support::{Final, Plan, TestSite};

/// One event as a destination holds it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Held {
    /// The event's; none where the destination does not keep it.
    pub id: Option<String>,
    pub url: String,
    pub content: Vec<u8>,
}

/// A crawl and its website. The crawl is killed when dropped.
pub struct Crawl {
    pub site: TestSite,
    pub place: Place,
    sink: &'static str,
    /// The most events that the sink has under way, by its configuration: taken from the log, and its place there not
    /// yet committed behind them.
    most_under_way: u64,
    child: Option<Child>,
    /// The standard error of each life.
    said: Vec<PathBuf>,
    /// Events accepted and not yet committed by the sink, at each kill.
    pending_at_kills: Vec<u64>,
}

/// Its exit status after a signal before it is done.
const STOPPED: i32 = 6;
/// … and when a page is not delivered, or a dead letter.
const UNDELIVERED: i32 = 5;

impl Crawl {
    /// `sink`: its name in `seine stats`. `settings`: the lines that configure it. `most_under_way`: see the field. The site
    /// answers slowly, one answer in `pace` on each host, until [`Crawl::end`]: that the crawl does not end before its
    /// faults do.
    pub fn new(sink: &'static str, plan: Plan, pace: Duration, settings: &str, most_under_way: u64) -> Crawl {
        let (site, place) = (TestSite::start(plan), Place::with(settings));
        site.set_pace(pace);
        let (said, pending_at_kills) = (Vec::new(), Vec::new());
        Crawl { site, place, sink, most_under_way, child: None, said, pending_at_kills }
    }

    /// The same command for the first time and every time after. A server that is started anew on a busy machine takes
    /// longer than the minute that a run waits by itself.
    pub fn start(&mut self) {
        self.start_with(&["--patience", "5m"]);
    }

    /// The same with more options.
    pub fn start_with(&mut self, more: &[&str]) {
        assert!(self.child.is_none(), "it runs");
        let path = self.place.write(&format!("said-{}", self.said.len()), "");
        let mut command = self.place.crawl(&self.site.seeds(), &[&["--quiet", "--delay", "0"], more].concat());
        command.stdout(Stdio::null()).stderr(File::create(&path).expect("a file for what it says"));
        self.said.push(path);
        self.child = Some(command.spawn().expect("the program starts"));
    }

    /// Waits until the website was asked for so many URLs more: the crawl goes on, whatever its destination does.
    pub fn goes_on(&mut self, visits: usize) {
        let wanted = self.site.running.visits.len() + visits;
        let Crawl { site, child, said, .. } = self;
        eventually("the crawl goes on", || {
            assert!(!has_ended(child), "it ended: {}", last_words(said));
            site.running.visits.len() >= wanted
        });
    }

    /// SIGKILL, in the middle of it.
    pub fn kill(&mut self) {
        assert!(!has_ended(&mut self.child), "it ended before it was killed: {}", last_words(&self.said));
        let mut child = self.child.take().expect("it runs");
        child.kill().expect("it is ours");
        child.wait().expect("it is ours");
        self.note_pending();
    }

    fn note_pending(&mut self) {
        let pending = self.book(&self.place.stats(), "pending");
        self.pending_at_kills.push(pending);
    }

    /// Sends SIGTERM, and returns how long the crawl took to end. Pages that are being delivered stay so, as after a kill.
    pub fn terminate(&mut self) -> Duration {
        let child = self.child.take().expect("it runs");
        let sent = std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
        assert!(sent.expect("kill is there").success());
        let told = Instant::now();
        self.child = Some(child);
        assert_eq!(self.wait_for_end().code(), Some(STOPPED), "{}", last_words(&self.said));
        let took = told.elapsed();
        self.note_pending();
        took
    }

    /// Waits until it has ended by itself, and well: with whatever can be delivered. The site answers at once from now on.
    pub fn end(&mut self) {
        self.site.set_pace(Duration::ZERO);
        let status = self.wait_for_end();
        let wanted = if self.dead_letters().is_empty() { 0 } else { UNDELIVERED };
        assert_eq!(status.code(), Some(wanted), "{}", last_words(&self.said));
    }

    /// Waits until it has ended without having delivered everything; what it said.
    pub fn end_undelivered(&mut self) -> String {
        self.site.set_pace(Duration::ZERO);
        assert_eq!(self.wait_for_end().code(), Some(UNDELIVERED), "{}", last_words(&self.said));
        self.note_pending();
        last_words(&self.said)
    }

    fn wait_for_end(&mut self) -> ExitStatus {
        let deadline = Instant::now() + DEADLINE;
        while !has_ended(&mut self.child) {
            if Instant::now() > deadline {
                self.kill();
                panic!("it did not end: {}; {}", last_words(&self.said), self.place.stats());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        self.child.take().expect("it ran").wait().expect("it is ours")
    }

    /// Compares the destination with the website. `held`: everything there.
    pub fn check(&self, held: &[Held]) {
        self.check_pages(held);
        self.check_repeats(held);
        self.check_books();
    }

    fn check_pages(&self, held: &[Held]) {
        let dead = self.dead_letters();
        let contents = self.site.contents();
        let mut ids: BTreeMap<&str, BTreeSet<&Option<String>>> = BTreeMap::new();
        for event in held.iter().chain(&dead) {
            let content = contents.get(&event.url).unwrap_or_else(|| panic!("{} is no page of the site", event.url));
            assert!(content.as_bytes() == event.content, "{} is not what the site sent", event.url);
            ids.entry(&event.url).or_default().insert(&event.id);
        }
        let missing: Vec<_> = contents.keys().filter(|url| !ids.contains_key(url.as_str())).collect();
        assert!(missing.is_empty(), "lost: {missing:?}; {}", last_words(&self.said));
        let twice: Vec<_> = ids.iter().filter(|(_, ids)| ids.len() > 1).collect();
        assert!(twice.is_empty(), "accepted more than once: {twice:?}");
    }

    fn check_repeats(&self, held: &[Held]) {
        let distinct: BTreeSet<_> = held.iter().map(|event| (&event.id, &event.url)).collect();
        let repeated = (held.len() - distinct.len()) as u64;
        let at_kills = self.pending_at_kills.iter().map(|pending| (*pending).min(self.most_under_way)).sum::<u64>();
        let remade = self.times_remade();
        let most = at_kills + remade * self.most_under_way;
        println!(
            "{} messages, {repeated} repeated of at most {most} (kills: {:?} pending; made anew {remade} times)",
            held.len(),
            self.pending_at_kills
        );
        assert!(repeated <= most, "{repeated} are there again, and {most} can have been under way");
    }

    fn check_books(&self) {
        let stats = self.place.stats();
        let pages = self.site.pages().len() as u64;
        assert_eq!(stats["frontier"]["live"], pages);
        assert_eq!(stats["frontier"]["refused"], self.site.count(|state| *state == Final::Missing));
        assert_eq!((&stats["work_proposed"], &stats["page_proposed"]), (&0.into(), &0.into()));
        assert_eq!(self.book(&stats, "delivered") + self.book(&stats, "dead_lettered"), pages);
        assert_eq!((self.book(&stats, "damaged"), self.book(&stats, "pending")), (0, 0));
        self.audit(&self.place.config()).ok();
    }

    /// `seine audit --destinations`.
    pub fn audit(&self, config: &Path) -> Ran {
        let mut audit = command(&["audit", "--destinations", "-c"]);
        audit.arg(config).arg(self.place.data());
        Process::start(audit).wait()
    }

    /// Times in which the running program gave its sink up and made another one: what was under way then came again. One
    /// that could not be opened had nothing under way.
    fn times_remade(&self) -> u64 {
        let said: String = self.said.iter().map(|path| std::fs::read_to_string(path).expect("what it said")).collect();
        let remade = |line: &&str| line.contains("it will be restarted") && !line.contains("no broker answers");
        said.lines().filter(remade).count() as u64
    }

    fn book(&self, stats: &Value, book: &str) -> u64 {
        let sinks = stats["sinks"].as_array().expect("stats have sinks");
        let books = sinks.iter().find(|sink| sink["name"] == self.sink);
        // Before it was opened for the first time it has none.
        books.map_or(0, |books| books[book].as_u64().expect("a number"))
    }

    pub fn dead_letters(&self) -> Vec<Held> {
        // Made with the first letter.
        if !self.place.data().join(self.sink).join("dead_letters").is_dir() {
            return Vec::new();
        }
        let mut show = command(&["dead-letters", "show", "--all", "--sink", self.sink, "-o"]);
        show.arg(self.place.data());
        let letters = Process::start(show).wait().ok().json_lines();
        let text = |letter: &Value, name: &str| letter[name].as_str().expect("text").to_owned();
        let held = |letter: &Value| Held {
            id: Some(text(letter, "id")),
            url: text(letter, "url"),
            content: text(letter, "content").into_bytes(),
        };
        letters.iter().map(held).collect()
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

fn has_ended(child: &mut Option<Child>) -> bool {
    child.as_mut().is_some_and(|child| child.try_wait().expect("it is ours").is_some())
}

fn last_words(said: &[PathBuf]) -> String {
    said.last().map(|path| std::fs::read_to_string(path).unwrap_or_default()).unwrap_or_default()
}
