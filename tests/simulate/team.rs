//! Many worlds, one process for each core. A process that hangs or dies takes one world with it, and that world has failed.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use crate::machine::system;
use crate::machine::turns::SIGNS;
use crate::world::World;
use crate::{Options, run};

/// Processes at the same time.
const MEMBERS: u64 = 2;
/// Without a turn for so long (of real time) a world hangs.
const HANGS: Duration = Duration::from_secs(180);

/// What a team found.
#[derive(Debug, Default)]
pub struct Found {
    pub worlds: u64,
    pub requests: u64,
    pub took: Duration,
    /// Seeds of worlds in which something broke, and what.
    pub failed: Vec<(u64, String)>,
}

/// Runs worlds until their number or their time is over. Says at once what breaks, and tells the first world that fails as a short
/// story.
pub fn lead(options: &Options) -> ExitCode {
    let seed = options.seed.unwrap_or_else(|| fastrand::u64(..1 << 40));
    println!("worlds from seed {seed} on (repeat: make simulate SEED={seed})");
    let mut told = BTreeSet::new();
    let mut tell = |seed: u64, what: &str| {
        if told.insert((seed, property(what).to_owned())) {
            println!("world {seed}: {what}");
        }
    };
    let found = search_telling(seed, options, false, &mut tell);
    let worlds = found.worlds as f64;
    println!(
        "{} worlds, {} requests, {:.0} s: {:.2} s of a core each",
        found.worlds,
        found.requests,
        found.took.as_secs_f64(),
        found.took.as_secs_f64() * MEMBERS as f64 / worlds.max(1.0)
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

/// `tell`: hears of each failure at once.
fn search_telling(seed: u64, options: &Options, first: bool, tell: &mut dyn FnMut(u64, &str)) -> Found {
    let began = Instant::now();
    let (sender, receiver) = channel();
    let mut members: Vec<Child> = (0..MEMBERS)
        .map(|core| {
            let mut command = myself();
            command.args(["--member", &core.to_string(), "--seed", &(seed + core).to_string()]);
            if let Some(worlds) = options.worlds {
                command.args(["--worlds", &worlds.saturating_sub(core).div_ceil(MEMBERS).to_string()]);
            }
            if let Some(minutes) = options.minutes {
                command.args(["--minutes", &minutes.to_string()]);
            }
            command.args(options.of_bug());
            let mut child = command.stdout(Stdio::piped()).spawn().expect("this program runs");
            let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
            let sender = sender.clone();
            std::thread::spawn(move || {
                for line in lines.map_while(Result::ok) {
                    let _ = sender.send((core, Some(line)));
                }
                let _ = sender.send((core, None));
            });
            child
        })
        .collect();
    drop(sender);
    let mut found = gather(&receiver, first, tell);
    for child in &mut members {
        if first {
            let _ = child.kill();
        }
        let _ = child.wait();
    }
    found.took = began.elapsed();
    found
}

fn gather(lines: &Receiver<(u64, Option<String>)>, first: bool, tell: &mut dyn FnMut(u64, &str)) -> Found {
    let mut found = Found::default();
    let mut fail = |found: &mut Found, seed: u64, what: &str| {
        tell(seed, what);
        found.failed.push((seed, what.to_owned()));
    };
    let mut under_way = [None; MEMBERS as usize];
    for (core, line) in lines {
        let world = &mut under_way[core as usize];
        let Some(line) = line else {
            if let Some(seed) = world.take() {
                fail(&mut found, seed, "its process died or hung");
            }
            if first && !found.failed.is_empty() {
                break;
            }
            continue;
        };
        let mut words = line.splitn(3, ' ');
        let (kind, seed) = (words.next(), words.next().and_then(|seed| seed.parse::<u64>().ok()));
        let rest = words.next().unwrap_or_default();
        match (kind, seed) {
            (Some("begin"), seed) => *world = seed,
            (Some("end"), Some(_)) => {
                *world = None;
                found.worlds += 1;
                found.requests += rest.parse::<u64>().unwrap_or(0);
                if first && !found.failed.is_empty() {
                    break;
                }
            }
            (Some("broken"), Some(seed)) => fail(&mut found, seed, rest),
            _ => println!("{line}"),
        }
    }
    found
}

/// What breaks in a world that suits this bug, without it.
pub fn stories(seed: u64, bug: &str) -> Vec<String> {
    let one = Options { worlds: Some(1), shape: Some(bug.to_owned()), ..Options::default() };
    search(seed, &one, false).failed.into_iter().map(|(_, how)| how).collect()
}

/// `property 3`.
fn property(what: &str) -> &str {
    what.split(':').next().unwrap_or_default()
}

fn myself() -> Command {
    Command::new(std::env::current_exe().expect("this program has a path"))
}

/// Runs every second world from the given one on.
pub fn member(core: usize, options: &Options) -> ExitCode {
    system::stay_on(core);
    std::thread::spawn(watch);
    let began = Instant::now();
    let time = options.minutes.map(|minutes| Duration::from_secs_f64(minutes * 60.0));
    let mut seed = options.seed.unwrap_or(1);
    let mut left = options.worlds.unwrap_or(u64::MAX);
    let mut out = std::io::stdout();
    while left > 0 && time.is_none_or(|time| began.elapsed() < time) {
        let mut say = |line: String| _ = writeln!(out, "{line}").and_then(|()| out.flush());
        let Some(world) = World::for_bug(seed, options.shape.as_deref()) else {
            seed += MEMBERS;
            continue;
        };
        say(format!("begin {seed}"));
        let outcome = run::run(world, false);
        for broken in &outcome.broken {
            say(format!("broken {seed} property {}: {}", broken.property, broken.story.replace('\n', " ")));
        }
        say(format!("end {seed} {}", outcome.requests));
        seed += MEMBERS;
        left -= 1;
    }
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
