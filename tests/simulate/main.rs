//! The whole crawl in one process, in virtual time, on generated worlds. docs/reliability.md says why, and what a simulation cannot see.
//!
//!     cargo test --features simulate --profile simulate --test simulate -- [OPTIONS]
//!
//!     --seed N       the first world (default: a random one, which is printed)
//!     --worlds N     the number of worlds
//!     --minutes N    or: as many worlds as fit into this time
//!     --cpu-minutes N    or: as many as fit into this CPU time of each processor
//!     --story N      prints the story of one world; with --requests every request, too
//!     --url URL      in a story: the requests for this URL, and the answer of `seine why` whenever it changes
//!     --log          in a story: warnings and errors that Seine logs
//!     --plant NAME   with a planted bug
//!     --shape NAME   worlds that suit a planted bug; without --plant they have no bug
//!     --planted      plants one bug after the other, in the world recorded for it, or else in others that suit it. Fails if a bug is
//!                    not found. With --plant only that bug; with --seed other worlds; with --cpu-minutes for this time
//!
//! Without options: a few fixed worlds, twice each, as a check that worlds repeat.

mod asking;
mod destinations;
mod machine;
mod oracle;
mod planted;
mod run;
mod shrink;
mod team;
mod web;
mod world;

use std::process::ExitCode;

use machine::system;
use world::World;

#[global_allocator]
static ALLOCATOR: machine::memory::Counting = machine::memory::Counting(mimalloc::MiMalloc);

#[derive(Debug, Default, Clone)]
pub struct Options {
    seed: Option<u64>,
    worlds: Option<u64>,
    minutes: Option<f64>,
    cpu_minutes: Option<f64>,
    story: Option<u64>,
    requests: bool,
    log: bool,
    url: Option<String>,
    plant: Option<String>,
    shape: Option<String>,
    planted: bool,
    /// A member of a team: crawls one world on this core, and prints its result.
    member: Option<usize>,
    shrink: Option<u64>,
}

fn main() -> ExitCode {
    let options = Options::read(std::env::args().skip(1));
    if let Some(bug) = options.plant.as_ref().filter(|_| !options.planted) {
        seine_simulation_hooks::planted::plant(bug);
    }
    oracle::tell_of(options.url.clone());
    run::note_panics();
    if let Some(core) = options.member {
        return team::crawl_one(core, &options);
    }
    match &options {
        Options { story: Some(seed), .. } => tell(*seed, &options),
        Options { shrink: Some(seed), .. } => shrink::shrink(*seed, options.shape.as_deref()),
        Options { planted: true, .. } => planted::all(&options),
        Options { worlds: None, minutes: None, .. } => check(),
        _ => team::lead(&options),
    }
}

impl Options {
    fn read(mut arguments: impl Iterator<Item = String>) -> Options {
        let mut options = Options::default();
        while let Some(argument) = arguments.next() {
            let mut number = || arguments.next().and_then(|number| number.parse::<f64>().ok());
            match argument.as_str() {
                "--seed" => options.seed = number().map(|seed| seed as u64),
                "--worlds" => options.worlds = number().map(|worlds| worlds as u64),
                "--cpu-minutes" => options.cpu_minutes = number(),
                "--minutes" => options.minutes = number(),
                "--story" => options.story = number().map(|seed| seed as u64),
                "--shrink" => options.shrink = number().map(|seed| seed as u64),
                "--member" => options.member = number().map(|core| core as usize),
                "--url" => options.url = arguments.next(),
                "--plant" => options.plant = arguments.next(),
                "--shape" => options.shape = arguments.next(),
                "--requests" => options.requests = true,
                "--log" => options.log = true,
                "--planted" => options.planted = true,
                _ => {} // of cargo's
            }
        }
        options
    }

    /// The options for members of a team: the planted bug, and the shape of the worlds.
    fn of_bug(&self) -> Vec<&str> {
        let both = [("--plant", &self.plant), ("--shape", &self.shape)];
        let given = both.into_iter().filter_map(|(option, value)| Some([option, value.as_deref()?]));
        given.flatten().collect()
    }
}

/// Crawls a few worlds twice, as a check that a world depends only on its seed.
fn check() -> ExitCode {
    let mut is_well = true;
    for seed in 1..=4 {
        let (one, other) = (team::begin(0, seed, &Options::default()), team::begin(1, seed, &Options::default()));
        let (one, other) = (one().ends, other().ends);
        let repeats = one.first().zip(other.first()).is_some_and(|(one, other)| one.repeats(other));
        println!("world {seed} {}: {one:?}", if repeats { "repeats itself" } else { "DOES NOT REPEAT ITSELF" });
        if !repeats {
            println!("{other:?}");
            is_well = false;
        }
    }
    if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Crawls one world and prints its story.
fn tell(seed: u64, options: &Options) -> ExitCode {
    system::stay_on(0);
    let Some(world) = World::for_bug(seed, options.shape.as_deref()) else {
        println!("world {seed} does not suit this bug");
        return ExitCode::FAILURE;
    };
    println!("{}", world.story());
    for linking in options.url.iter().flat_map(|url| world.linking_to(url)) {
        println!("  {linking}");
    }
    if options.log {
        let to_stderr = tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(false);
        to_stderr.with_max_level(tracing::Level::WARN).init();
    }
    let outcome = run::run(world, options.requests || options.url.is_some());
    println!(
        "{} requests, {} turns, {} lives, at most {} KB of memory, trace {:x}",
        outcome.requests,
        outcome.turns,
        outcome.lives,
        outcome.peak_bytes >> 10,
        outcome.trace
    );
    for broken in &outcome.broken {
        println!("property {} is broken: {}", broken.property, broken.story);
    }
    if outcome.broken.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
