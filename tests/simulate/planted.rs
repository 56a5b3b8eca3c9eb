//! Bugs that are planted one at a time, to show that the simulation finds each.

use std::process::ExitCode;

use crate::Options;
use crate::team;

/// Its name in `src` (`planted::is`), and what it does.
const BUGS: [(&str, &str); 0] = [];
/// Of real time, for each.
const MINUTES: f64 = 5.0;

pub fn all() -> ExitCode {
    let seed = fastrand::u64(..1 << 40);
    println!("{} bugs, worlds from seed {seed} on, at most {MINUTES} minutes for each", BUGS.len());
    let mut missed = 0;
    for (name, what) in BUGS {
        let options = Options { minutes: Some(MINUTES), plant: Some(name.to_owned()), ..Options::default() };
        let found = team::search(seed, &options, true);
        match found.failed.first() {
            Some((seed, how)) => {
                println!("found   {name} ({what})\n        in {:.0} s, world {seed}: {how}", found.took.as_secs_f64())
            }
            None => {
                missed += 1;
                println!("MISSED  {name} ({what}) in {} worlds", found.worlds);
            }
        }
    }
    println!("{} of {} found", BUGS.len() - missed, BUGS.len());
    if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
