//! Runs one world from its beginning to its end: the crawl runs, is killed and started again, and is asked about at the
//! end.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use seine::api::Service;
use seine::api::schema::{Forget, Order as Ordered, Retry};
use seine::cli::exit;
use seine::config::{self, StartedWith};
use seine::crawl::letters::Replay;
use seine::crawl::{Crawl, Operator};
use seine::fetch::network::Network;
use seine::signals::{Received, SimulatedSignals};
use seine::telemetry::progress::Screen;
use seine_system::blocking::Turns;
use seine_system::clock::SimulatedIds;
use seine_system::disk::SimulatedDisk;
use tokio::sync::mpsc::UnboundedSender;

use crate::asking;
use crate::destinations::Destinations;
use crate::machine::system::{self, Disk};
use crate::machine::{Machine, Stop, memory};
use crate::oracle::{Books, Broken, Contents, Ends, Oracle, Report, Said};
use crate::web::Web;
use crate::world::{Event, HOUR, MINUTE, Order, SECOND, World};

/// The result of a world.
#[derive(Debug, Default)]
pub struct Outcome {
    pub broken: Vec<Broken>,
    /// A digest that is the same for two runs of one world.
    pub trace: u64,
    pub requests: u64,
    pub turns: u64,
    pub lives: u32,
    /// Peak memory of any process.
    pub peak_bytes: u64,
}

/// Time between two questions for the status of the crawl.
const LOOK: u64 = 6 * HOUR;
/// After SIGTERM the crawl must end within this time.
const ENDING: u64 = 5 * MINUTE;
/// A crawl without `--stay` that can fetch everything must end within this time.
const RUNNING_OUT: u64 = 12 * HOUR;
/// `--patience` of a crawl without `--stay`: the default.
const PATIENCE: Duration = Duration::from_secs(60);
/// A replay of dead letters may take this long.
const REPLAYING: u64 = 10 * MINUTE;
const MUCH_ROOM: u64 = 1 << 50;

/// Runs a world in a thread of its own, so that two worlds share nothing.
pub fn run(world: World, tells: bool) -> Outcome {
    let running = std::thread::spawn(move || {
        let folder = PathBuf::from(format!("/dev/shm/seine-simulate-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder in memory");
        let outcome = Episode::new(world, folder.clone(), tells).run();
        let _ = std::fs::remove_dir_all(&folder);
        outcome
    });
    running.join().expect("the runner itself does not fail")
}

/// The next step: an event of the script begins or ends, or the crawl is asked for its status.
enum Next {
    Begin(Event),
    Over(Event),
    Look,
}

struct Episode {
    machine: Machine,
    web: Arc<Web>,
    destinations: Destinations,
    folder: PathBuf,
    /// The API of the present process, once it serves.
    service: Arc<Mutex<Option<Arc<dyn Service>>>>,
    signals: Option<UnboundedSender<Received>>,
    /// The last words of the process, once it has ended by itself.
    ended: Arc<Mutex<Option<Report>>>,
    free: Arc<AtomicU64>,
    is_disk_full: bool,
    /// The steps to come, by time, and for one time in the order in which they were added.
    agenda: BTreeMap<(u64, u64), Next>,
    noted: u64,
    broken: Vec<Broken>,
    lives: u32,
    /// Peak memory of any process.
    peak_bytes: u64,
    chance: fastrand::Rng,
    sinks: BTreeSet<String>,
}

impl Episode {
    fn new(world: World, folder: PathBuf, tells: bool) -> Episode {
        PANICS.lock().clear();
        let machine = Machine::new(world.seed, world.begins_ms);
        let oracle = Oracle::new(&world);
        let destinations = Destinations::new(&world, &machine.outside, folder.join("data"));
        let (seed, script, ends_ms, begins_ms) = (world.seed, world.script(), world.ends_ms, world.begins_ms);
        let web = Arc::new(Web::new(world, oracle, machine.threads.clone(), tells));
        let service: Arc<Mutex<Option<Arc<dyn Service>>>> = Arc::default();
        let free = Arc::new(AtomicU64::new(MUCH_ROOM));
        let serving = service.clone();
        machine.outside.put::<Arc<dyn Network>>(web.clone());
        machine.outside.put(SimulatedIds::default());
        machine.outside.put(SimulatedDisk(free.clone()));
        machine.outside.put(Operator(Arc::new(move |running| *serving.lock() = Some(running))));
        let mut episode = Episode {
            machine,
            web,
            destinations,
            folder,
            service,
            signals: None,
            ended: Arc::default(),
            free,
            is_disk_full: false,
            agenda: BTreeMap::new(),
            noted: 0,
            broken: Vec::new(),
            lives: 0,
            peak_bytes: 0,
            chance: fastrand::Rng::with_seed(seed ^ 0x51),
            sinks: BTreeSet::new(),
        };
        for (at, event) in script {
            episode.note(at, Next::Begin(event));
        }
        let mut at = begins_ms + LOOK;
        while at < ends_ms {
            episode.note(at, Next::Look);
            at += LOOK;
        }
        episode
    }

    fn note(&mut self, at: u64, next: Next) {
        self.noted += 1;
        self.agenda.insert((at, self.noted), next);
    }

    fn run(mut self) -> Outcome {
        self.boot();
        while let Some(((at, _), next)) = self.agenda.pop_first() {
            if !self.go_on(at) {
                break;
            }
            match next {
                Next::Begin(event) => self.begin(event),
                Next::Over(event) => self.over(event),
                Next::Look => self.look(),
            }
        }
        let ends_ms = self.web.state.lock().world.ends_ms;
        if self.broken.is_empty() {
            self.go_on(ends_ms);
            self.look();
        }
        self.finish()
    }

    fn now(&self) -> u64 {
        self.web.now_ms()
    }

    /// Lets time pass until then. False if the crawl cannot go on.
    fn go_on(&mut self, until: u64) -> bool {
        let until = system::nanos() + until.saturating_sub(self.now()) * 1_000_000;
        let stop = self.machine.run(until);
        if let Stop::Livelock(threads) = stop {
            self.break_off(4, format!("the crawl turns in a circle without any time passing ({threads})"));
            return false;
        }
        let ended = self.ended.lock().take();
        if let Some(report) = ended {
            self.break_off(5, format!("the crawl ended by itself: {report}"));
            return false;
        }
        true
    }

    fn break_off(&mut self, property: u8, story: String) {
        let state = self.web.state.lock();
        let story = format!("{}: {story}", state.world.day(self.web.now_ms()));
        drop(state);
        self.broken.push(Broken { property, story });
    }

    /// Starts the process with the present configuration.
    fn boot(&mut self) {
        self.start(None);
    }

    /// `patience`: the process runs without `--stay`.
    fn start(&mut self, patience: Option<Duration>) {
        let (now, mut web) = (self.now(), self.web.state.lock());
        let settings = web.world.settings_at(now);
        self.sinks.extend(settings.sinks.iter().map(|sink| sink.name.clone()));
        let seeds = web.world.seeds();
        web.oracle.began(now);
        drop(web);
        let file = self.write_settings();
        let loaded =
            config::load_with(Some(&file), &[], &[] as &[(String, String)]).unwrap_or_else(|error| panic!("{error}"));
        let started_with = StartedWith::new(Some(&file), &[], &[] as &[(String, String)]);
        let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
        self.machine.outside.put(SimulatedSignals(Arc::new(Mutex::new(Some(receiver)))));
        self.signals = Some(sender);
        self.lives += 1;
        *self.ended.lock() = None;
        let (folder, ended, stays) = (self.folder.join("data"), self.ended.clone(), patience.is_none());
        if self.is_disk_full {
            system::set_disk(Disk::Full);
        }
        memory::process_begins();
        self.machine.boot(move || {
            let crawl = Crawl { loaded, started_with, folder, seeds, patience, screen: Screen::new(true) };
            *ended.lock() = Some(match crawl.run() {
                Err(error) => Report::of_failure(&error, exit::status_of_error(&error, stays)),
                Ok(summary) => Report::of(&summary, exit::status(&summary, stays)),
            });
        });
    }

    fn kill(&mut self, is_clean: bool) {
        *self.service.lock() = None;
        self.signals = None;
        self.machine.kill();
        self.peak_bytes = self.peak_bytes.max(memory::process_died());
        let now = self.now();
        self.web.state.lock().oracle.ended(now, is_clean);
    }

    /// Sends SIGTERM to the process, and waits for its end. None: it does not end, or not as it should.
    fn end(&mut self) -> Option<Report> {
        if let Some(signals) = &self.signals {
            let _ = signals.send(Received::End);
        }
        let report = self.await_end(ENDING);
        match &report {
            None => self.break_off(5, "the crawl does not end within five minutes of SIGTERM".to_owned()),
            Some(report) if report.status != exit::DONE => {
                self.break_off(5, format!("told to end, the crawl ended so: {report}"));
            }
            Some(_) => {}
        }
        self.kill(report.is_some());
        report
    }

    /// Runs the crawl without `--stay`, after a time in which pages have become due. It fetches these, and ends by itself.
    fn run_out(&mut self) -> Option<Report> {
        let interval = self.web.state.lock().world.settings.interval;
        self.machine.boot(|| {});
        self.machine.run(system::nanos() + interval / 4 * 1_000_000);
        self.machine.kill();
        self.start(Some(PATIENCE));
        let report = self.await_end(RUNNING_OUT);
        if report.is_none() {
            self.break_off(5, "without --stay, the crawl does not end within twelve hours".to_owned());
        }
        self.kill(report.is_some());
        report
    }

    /// Lets time pass until the process has ended by itself, but at most this long.
    fn await_end(&mut self, patience: u64) -> Option<Report> {
        let until = self.now() + patience;
        while self.ended.lock().is_none() && self.now() < until {
            let stop = self.machine.run(system::nanos() + SECOND * 1_000_000);
            if stop != Stop::Time {
                break;
            }
        }
        self.ended.lock().take()
    }

    fn begin(&mut self, event: Event) {
        let now = self.now();
        {
            let web = &mut *self.web.state.lock();
            if web.tells {
                eprintln!("  {}: {event}", web.world.day(now));
            }
            web.oracle.happened(&web.world, now, &event);
        }
        let mut lasts = event.lasts();
        match &event {
            Event::Kill => self.kill_somewhere(),
            Event::RestartWith(_) => {
                if self.end().is_some() {
                    self.boot();
                }
            }
            Event::ReloadWith(_) => self.reload(),
            Event::DiskFull { .. } => {
                self.is_disk_full = self.chance.bool(); // or there is too little, but some
                self.free.store(1 << 20, Ordering::Relaxed);
                if self.is_disk_full {
                    system::set_disk(Disk::Full);
                }
            }
            Event::NoFiles { .. } => self.web.state.lock().machine.no_files = true,
            Event::NoResolver { .. } => self.web.state.lock().machine.no_resolver = true,
            Event::NoNetwork { .. } => self.web.state.lock().machine.no_network = true,
            Event::ClockJump { by } => system::jump_wall(*by),
            Event::Order(order) => self.order(order.clone()),
            Event::ReplayLetters { sink, is_stopped: true } => self.replay_alone(sink),
            Event::ReplayLetters { sink, is_stopped: false } => {
                let replay = self.replaying(sink);
                self.machine.threads.thread("replay", Box::new(replay));
                self.settle();
            }
            Event::Destination(event) => {
                self.destinations.event(event, now);
                lasts = 0; // they know themselves
            }
        }
        if lasts > 0 {
            self.note(now + lasts, Next::Over(event));
        }
    }

    fn over(&mut self, event: Event) {
        let now = self.now();
        match &event {
            Event::DiskFull { .. } => {
                self.is_disk_full = false;
                self.free.store(MUCH_ROOM, Ordering::Relaxed);
                system::set_disk(Disk::Well);
            }
            Event::NoFiles { .. } => self.web.state.lock().machine.no_files = false,
            Event::NoResolver { .. } => self.web.state.lock().machine.no_resolver = false,
            Event::NoNetwork { .. } => self.web.state.lock().machine.no_network = false,
            // The operator hears why, and tries again.
            Event::Order(order) if !self.take_back(order) => return self.note(now + HOUR, Next::Over(event)),
            _ => {}
        }
        let web = &mut *self.web.state.lock();
        web.oracle.over(&web.world, now, &event);
        self.machine.threads.happened();
    }

    /// Kills the process at one of its next steps, or between two of its next writes, and starts it again.
    fn kill_somewhere(&mut self) {
        match self.chance.u32(..3) {
            0 => {}
            1 => self.machine.kill_at = Some(self.machine.turns + self.chance.u64(1..400)),
            _ => system::die_after_writes(self.chance.u64(1..120)),
        }
        let until = if self.machine.kill_at.is_some() || system::is_to_die() { MINUTE * 1_000_000 } else { 0 };
        self.machine.run(system::nanos() + until);
        self.kill(false);
        self.boot();
    }

    /// The operator has the running crawl read its configuration again. A crawl that does not serve reads it when it starts.
    fn reload(&mut self) {
        self.write_settings();
        let Some(service) = self.serving() else { return };
        let refusal = Arc::new(Mutex::new(None));
        let refused = refusal.clone();
        let reload = move || *refused.lock() = service.reload("simulation").err();
        self.machine.threads.thread("operator", Box::new(reload));
        self.settle();
        if let Some(refusal) = refusal.lock().take() {
            self.break_off(5, format!("the crawl refuses to read its configuration: {refusal:?}"));
        }
    }

    /// Writes the configuration of this time into its file.
    fn write_settings(&self) -> PathBuf {
        let settings = self.web.state.lock().world.settings_at(self.now());
        let file = self.folder.join("seine.yml");
        std::fs::write(&file, settings.yaml()).expect("a file in memory");
        file
    }

    fn order(&mut self, order: Order) {
        let ordered = match order.clone() {
            Order::Pause { .. } => Ordered::Pause {},
            Order::Block { origin, .. } => Ordered::BlockHost { host: origin },
            Order::Delay { origin, ms } => Ordered::SetHostDelay { host: origin, delay_ms: Some(ms) },
            Order::Limit { origin, pages, .. } => Ordered::SetHostPages { host: origin, pages: Some(pages) },
            Order::Retry => Ordered::Retry(Retry::default()),
            Order::Forget { origin } => Ordered::Forget(Forget { hosts: vec![origin], urls: Vec::new() }),
            Order::PauseSink { sink, .. } => Ordered::PauseSink { sink },
            Order::RemoveSink { sink } => Ordered::RemoveSink { sink },
            Order::Reload => return self.reload(),
        };
        if self.tell(ordered) {
            let now = self.now();
            self.web.state.lock().oracle.took(now, &order);
        } else if matches!(order, Order::RemoveSink { .. }) {
            // The operator hears why, and tries again.
            let at = self.now() + HOUR;
            self.note(at, Next::Begin(Event::Order(order)));
        }
    }

    /// Ends the crawl, replays the dead letters of a sink, and starts the crawl again. The replay may be killed; then it is repeated.
    fn replay_alone(&mut self, sink: &str) {
        if self.end().is_none() {
            return;
        }
        let is_killed = self.chance.u32(..4) == 0;
        for is_killed in [true, false].into_iter().skip(usize::from(!is_killed)) {
            if self.is_disk_full {
                system::set_disk(Disk::Full);
            }
            if is_killed {
                system::die_after_writes(self.chance.u64(1..20));
            }
            let (is_over, replay) = (Arc::new(AtomicBool::new(false)), self.replaying(sink));
            let over = is_over.clone();
            self.machine.boot(move || {
                replay();
                over.store(true, Ordering::Relaxed);
            });
            // If the destination does not answer, the operator gives up.
            let until = self.now() + REPLAYING;
            while !is_over.load(Ordering::Relaxed) && self.now() < until {
                if self.machine.run(system::nanos() + SECOND * 1_000_000) != Stop::Time {
                    break;
                }
            }
            self.machine.kill();
        }
        self.boot();
    }

    /// What `seine dead-letters replay --all` does.
    fn replaying(&self, sink: &str) -> impl FnOnce() + Send + 'static {
        let (data, sink, tells) = (self.folder.join("data"), sink.to_owned(), self.web.state.lock().tells);
        move || {
            let started_with = StartedWith::load(&data).expect("the crawl has started");
            let loaded = started_with.configuration(None, &[], &[]).unwrap_or_else(|error| panic!("{error}"));
            let Some(sink) = loaded.config.sinks.iter().find(|it| it.name() == sink) else { return };
            let replayed = Replay::new(&data, sink, &loaded.config).and_then(|mut replay| replay.run(&|_| true));
            if tells {
                eprintln!("  the operator hears: {replayed:?}");
            }
        }
    }

    /// False if the program refuses.
    fn take_back(&mut self, order: &Order) -> bool {
        let now = self.now();
        let is_taken = match order {
            Order::Pause { .. } => self.tell(Ordered::Resume {}),
            Order::Block { origin, .. } => self.tell(Ordered::UnblockHost { host: origin.clone() }),
            Order::Limit { origin, .. } => self.tell(Ordered::SetHostPages { host: origin.clone(), pages: None }),
            Order::PauseSink { sink, .. } => self.tell(Ordered::ResumeSink { sink: sink.clone() }),
            _ => true,
        };
        if is_taken {
            self.web.state.lock().oracle.takes_back(now, order);
        }
        is_taken
    }

    /// The operator gives an order and waits for the answer. True if the order is accepted.
    fn tell(&mut self, order: Ordered) -> bool {
        let Some(service) = self.serving() else { return false };
        let tells = self.web.state.lock().tells;
        let is_taken = Arc::new(AtomicBool::new(false));
        let taken = is_taken.clone();
        self.machine.threads.thread(
            "operator",
            Box::new(move || {
                let said = service.order(order, "simulation");
                taken.store(said.is_ok(), Ordering::Relaxed);
                if tells {
                    eprintln!("  the operator hears: {said:?}");
                }
            }),
        );
        self.settle();
        is_taken.load(Ordering::Relaxed)
    }

    /// The crawl, once it serves.
    fn serving(&mut self) -> Option<Arc<dyn Service>> {
        for _ in 0..60 {
            if let Some(service) = self.service.lock().clone() {
                return Some(service);
            }
            self.machine.run(system::nanos() + SECOND * 1_000_000);
        }
        None
    }

    fn settle(&mut self) {
        self.machine.threads.happened();
        self.machine.run(system::nanos() + 10 * SECOND * 1_000_000);
    }

    /// Asks the crawl for its status.
    fn look(&mut self) {
        let Some(service) = self.service.lock().clone() else { return };
        let now = self.now();
        let Ok(status) = service.status() else { return };
        crate::oracle::tell_why(&*service, &self.web.state.lock().world.day(now));
        let said = Said::of(&status, service.ready(), system::wall_ms());
        let web = &mut *self.web.state.lock();
        web.oracle.look(&web.world, now, &said);
    }

    fn finish(mut self) -> Outcome {
        let service = self.service.lock().clone();
        let status = service.as_ref().and_then(|service| service.status().ok());
        let mut ends =
            Ends { books: status.iter().flat_map(|it| &it.sinks).map(Books::of).collect(), ..Ends::default() };
        if self.broken.is_empty() {
            let urls = self.web.state.lock().oracle.urls();
            ends.told = service.map(|service| asking::whys(&*service, &urls)).unwrap_or_default();
            ends.stopped = self.end();
            self.gather(&mut ends);
            if self.broken.is_empty() {
                ends.ran_out_from = self.now();
                ends.ran_out = self.run_out().map(|report| (report, self.contents()));
                ends.audit = asking::audited(&mut self.machine, &self.folder);
            }
        }
        if self.signals.is_some() {
            self.kill(true);
            self.gather(&mut ends);
        }
        ends.panics = std::mem::take(&mut *PANICS.lock());
        ends.peak_bytes = self.peak_bytes;
        let web = &mut *self.web.state.lock();
        let mut broken = self.broken;
        if broken.is_empty() || !ends.panics.is_empty() {
            let oracle = std::mem::replace(&mut web.oracle, Oracle::new(&web.world));
            broken.extend(oracle.end(&web.world, &ends));
        }
        if web.tells {
            eprintln!("  turns: {:?}", self.machine.threads.turns.lock());
        }
        Outcome {
            broken,
            trace: web.trace,
            requests: web.requests,
            turns: self.machine.turns,
            lives: self.lives,
            peak_bytes: ends.peak_bytes,
        }
    }
}

impl Episode {
    fn gather(&self, ends: &mut Ends) {
        ends.held = self.contents();
        ends.log = self.sinks.iter().map(|sink| (sink.clone(), self.destinations.log(sink))).collect();
        ends.refused = self.sinks.iter().map(|sink| (sink.clone(), self.destinations.refused(sink))).collect();
    }

    /// What each destination holds.
    fn contents(&self) -> Contents {
        self.sinks.iter().map(|sink| (sink.clone(), self.destinations.contents(sink))).collect()
    }
}

/// All panics, in any thread.
pub static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Records panics instead of printing them.
pub fn note_panics() {
    std::panic::set_hook(Box::new(|panic| {
        PANICS.lock().push(panic.to_string());
        if std::env::var_os("RUST_BACKTRACE").is_some() {
            eprintln!("{panic}\n{}", std::backtrace::Backtrace::force_capture());
        }
    }));
}
