//! Makes a failing world smaller as long as it fails in the same way. Then its story has only a few sentences.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::machine::system;
use crate::run;
use crate::team;
use crate::world::World;

/// Limit of real time.
const PATIENCE: Duration = Duration::from_secs(120);

/// `shape`: the world suits this bug.
pub fn shrink(seed: u64, shape: Option<&str>) -> ExitCode {
    system::stay_on(0);
    std::thread::spawn(team::watch);
    let began = Instant::now();
    let Some(mut world) = World::for_bug(seed, shape) else { return ExitCode::FAILURE };
    let mut outcome = run::run(world.clone(), false);
    let Some(broken) = outcome.broken.first() else {
        println!("world {seed}: nothing is broken");
        return ExitCode::SUCCESS;
    };
    let property = broken.property;
    'smaller: while began.elapsed() < PATIENCE {
        for smaller in world.smaller() {
            if began.elapsed() > PATIENCE {
                break 'smaller;
            }
            let tried = run::run(smaller.clone(), false);
            if tried.broken.first().is_some_and(|broken| broken.property == property) {
                (world, outcome) = (smaller, tried);
                continue 'smaller;
            }
        }
        break;
    }
    println!("{}", world.story());
    for broken in &outcome.broken {
        println!("property {} is broken: {}", broken.property, broken.story);
    }
    ExitCode::FAILURE
}
