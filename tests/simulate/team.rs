//! Crawls many worlds, two at a time, each in a process of its own. If a process hangs or dies, one world is lost, and counts as failed.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use crate::machine::system;
use crate::machine::turns::SIGNS;
use crate::world::World;
use crate::{Options, run};

/// Processes at the same time.
pub const MEMBERS: u64 = 2;
/// A world without a turn for this time (real time) hangs.
const HANGS: Duration = Duration::from_secs(180);

/// The findings of a team.
#[derive(Debug, Default)]
pub struct Found {
    /// Number of worlds whose process did not die.
    pub ends: Vec<End>,
    /// Seeds of worlds in which a property broke, with the stories.
    pub failed: Vec<(u64, String)>,
}

impl Found {
    pub fn cpu(&self) -> Duration {
        self.ends.iter().map(|end| end.cpu).sum()
    }
}

/// Runs worlds until their number or their time is used up. Prints each failure at once, and the first world that fails as a short
/// story.
pub fn lead(options: &Options) -> ExitCode {
    let seed = options.seed.unwrap_or_else(|| fastrand::u64(..1 << 40));
    println!("worlds from seed {seed} on (repeat: make simulate SEED={seed})");
    let began = Instant::now();
    let mut told = BTreeSet::new();
    let mut tell = |seed: u64, what: &str| {
        if told.insert((seed, property(what).to_owned())) {
            println!("world {seed}: {what}");
        }
    };
    let found = search_telling(seed, options, false, &mut tell);
    println!(
        "{} worlds, {} requests, {:.0} s: {:.2} s of a processor each",
        found.ends.len(),
        found.ends.iter().map(|end| end.requests).sum::<u64>(),
        began.elapsed().as_secs_f64(),
        found.cpu().as_secs_f64() / (found.ends.len() as f64).max(1.0)
    );
    let Some((seed, _)) = found.failed.first() else { return ExitCode::SUCCESS };
    let failed: BTreeSet<u64> = found.failed.iter().map(|(seed, _)| *seed).collect();
    println!("\n{} worlds failed; the first of them, made smaller:", failed.len());
    let mut shrinking = myself();
    shrinking.args(["--shrink", &seed.to_string()]);
    shrinking.args(options.of_bug());
    let _ = shrinking.status();
    ExitCode::FAILURE
}

/// `first`: stops at the first failure.
pub fn search(seed: u64, options: &Options, first: bool) -> Found {
    search_telling(seed, options, first, &mut |_, _| ())
}

/// `tell`: called at once for each failure.
fn search_telling(seed: u64, options: &Options, first: bool, tell: &mut dyn FnMut(u64, &str)) -> Found {
    let (sender, receiver) = channel();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for core in 0..MEMBERS {
            let (sender, is_over) = (sender.clone(), &is_over);
            scope.spawn(move || crawl_worlds(core, seed + core, options, is_over, &sender));
        }
        drop(sender);
        gather(&receiver, &mut |seed, how| {
            is_over.fetch_or(first, Ordering::Relaxed);
            tell(seed, how);
        })
    })
}

/// Crawls every second world from `seed` on, until their number or their time is used up.
fn crawl_worlds(core: u64, seed: u64, options: &Options, is_over: &AtomicBool, lines: &Sender<Line>) {
    let began = Instant::now();
    let duration = |minutes: f64| Duration::from_secs_f64(minutes * 60.0);
    let (time, cpu_time) = (options.minutes.map(duration), options.cpu_minutes.map(duration));
    let worlds = options.worlds.map_or(u64::MAX, |worlds| worlds.saturating_sub(core).div_ceil(MEMBERS));
    let (mut next, mut cpu) = (seed, Duration::ZERO);
    for _ in 0..worlds {
        let has_time = time.is_none_or(|time| began.elapsed() < time) && cpu_time.is_none_or(|time| cpu < time);
        if is_over.load(Ordering::Relaxed) || !has_time {
            return;
        }
        let mut crawled = None;
        listen(member(core, next, options), |line| {
            match &line {
                Line::Begin { seed } => crawled = Some(*seed),
                Line::End(end) => cpu += end.cpu,
                _ => {}
            }
            let _ = lines.send(line);
        });
        let Some(seed) = crawled else { return };
        next = seed + MEMBERS;
    }
}

/// Begins one world.
pub fn begin(core: u64, seed: u64, options: &Options) -> impl FnOnce() -> Found + use<> {
    let member = member(core, seed, options);
    let (sender, receiver) = channel();
    let listening = std::thread::spawn(move || listen(member, |line| _ = sender.send(line)));
    move || {
        let found = gather(&receiver, &mut |_, _| ());
        let _ = listening.join();
        found
    }
}

/// Starts a process that crawls one world: this one, or the next of every second one that suits the bug.
fn member(core: u64, seed: u64, options: &Options) -> Child {
    let mut command = myself();
    command.args(["--member", &core.to_string(), "--seed", &seed.to_string()]).args(options.of_bug());
    command.stdout(Stdio::piped()).spawn().expect("this program runs")
}

/// The output of a member.
enum Line {
    Begin {
        seed: u64,
    },
    Broken {
        seed: u64,
        how: String,
    },
    End(End),
    /// The process ended within this world.
    Died {
        seed: u64,
    },
}

/// The results of a world. All of them repeat when this world is crawled again, except for the processor time.
#[derive(Debug)]
pub struct End {
    pub requests: u64,
    pub turns: u64,
    pub trace: u64,
    pub cpu: Duration,
}

impl End {
    fn read(numbers: &str) -> Option<End> {
        let mut numbers = numbers.split(' ').map_while(|number| number.parse().ok());
        let (requests, turns, trace) = (numbers.next()?, numbers.next()?, numbers.next()?);
        Some(End { requests, turns, trace, cpu: Duration::from_millis(numbers.next()?) })
    }

    /// Two crawls of one world went the same way.
    pub fn repeats(&self, other: &End) -> bool {
        (self.requests, self.turns, self.trace) == (other.requests, other.turns, other.trace)
    }
}

impl Line {
    fn read(line: &str) -> Option<Line> {
        let (kind, rest) = line.split_once(' ')?;
        match kind {
            "begin" => Some(Line::Begin { seed: rest.parse().ok()? }),
            "broken" => {
                let (seed, how) = rest.split_once(' ')?;
                Some(Line::Broken { seed: seed.parse().ok()?, how: how.to_owned() })
            }
            "end" => End::read(rest).map(Line::End),
            _ => None,
        }
    }
}

/// Waits for the end of a member.
fn listen(mut member: Child, mut hear: impl FnMut(Line)) {
    let output = member.stdout.take().expect("it is piped");
    let mut under_way = None;
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        let Some(line) = Line::read(&line) else {
            println!("{line}");
            continue;
        };
        match line {
            Line::Begin { seed } => under_way = Some(seed),
            Line::End(_) => under_way = None,
            _ => {}
        }
        hear(line);
    }
    if let Some(seed) = under_way {
        hear(Line::Died { seed });
    }
    let _ = member.wait();
}

fn gather(lines: &Receiver<Line>, tell: &mut dyn FnMut(u64, &str)) -> Found {
    let mut found = Found::default();
    for line in lines {
        let (seed, how) = match line {
            Line::Begin { .. } => continue,
            Line::End(end) => {
                found.ends.push(end);
                continue;
            }
            Line::Broken { seed, how } => (seed, how),
            Line::Died { seed } => (seed, "its process died or hung".to_owned()),
        };
        tell(seed, &how);
        found.failed.push((seed, how));
    }
    found
}

/// `property 3`.
fn property(what: &str) -> &str {
    what.split(':').next().unwrap_or_default()
}

fn myself() -> Command {
    Command::new(std::env::current_exe().expect("this program has a path"))
}

/// Crawls one world in this process. A second world in the same process would not repeat, because tokio's random seed depends on the
/// number of runtimes that the process has had.
pub fn crawl_one(core: usize, options: &Options) -> ExitCode {
    system::stay_on(core);
    std::thread::spawn(watch);
    let mut seed = options.seed.unwrap_or(1);
    let world = loop {
        match World::for_bug(seed, options.shape.as_deref()) {
            Some(world) => break world,
            None => seed += MEMBERS,
        }
    };
    let mut out = std::io::stdout();
    let mut say = |line: String| _ = writeln!(out, "{line}").and_then(|()| out.flush());
    say(format!("begin {seed}"));
    let outcome = run::run(world, false);
    for broken in &outcome.broken {
        say(format!("broken {seed} property {}: {}", broken.property, broken.story.replace('\n', " ")));
    }
    say(format!("end {} {} {} {}", outcome.requests, outcome.turns, outcome.trace, system::cpu_ms()));
    ExitCode::SUCCESS
}

/// A thread that has the turn and blocks for real would keep a world from ever ending.
pub fn watch() {
    let (mut last, mut since) = (SIGNS.load(Ordering::Relaxed), Instant::now());
    loop {
        std::thread::sleep(Duration::from_secs(1));
        let now = SIGNS.load(Ordering::Relaxed);
        if now != last {
            (last, since) = (now, Instant::now());
        } else if since.elapsed() > HANGS {
            eprintln!("no thread has given up its turn for {HANGS:?}");
            std::process::abort();
        }
    }
}
