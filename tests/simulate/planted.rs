//! Bugs that are planted one at a time, to show that the simulation finds each.

use std::process::ExitCode;
use std::time::Instant;

use crate::Options;
use crate::team;

/// Its name in `src` (`planted::is`), and what it does.
const BUGS: [(&str, &str); 20] = [
    ("half_page_final", "a page whose body broke off counts as whole"),
    ("one_bad_hour", "one noindex, Disallow, empty page or other redirect removes a page at once"),
    ("gone_at_once", "one 404 removes a page at once"),
    ("stall_after_kill", "a worker that waits for the validator is not told that it went on"),
    ("emptied_unnoticed", "nobody notices that an index is another one"),
    ("cursor_early", "a sink's cursor moves to what was taken, not to what is delivered"),
    ("lost_tombstone", "what becomes of a page that is gone is not sent"),
    ("rest_forgotten", "hosts do not rest after a restart"),
    ("wake_up_dropped", "the log's writer is not told that an event waits"),
    ("wall_clock", "times, and with them versions, are the machine's clock, which is set back"),
    ("version_dropped", "documents carry no version"),
    ("page_pays_for_host", "a URL pays for connections that its host refuses"),
    ("outage_unnoticed", "an outage of this machine is each host's own"),
    ("retry_after_ignored", "Retry-After is not obeyed"),
    ("robots_for_ever", "robots.txt is never fetched again"),
    ("crawl_delay_ignored", "Crawl-delay is not obeyed"),
    ("address_ignored", "hosts that share an address do not wait for each other"),
    ("new_links_lost", "links of a page that has changed are not followed"),
    ("aliases_asleep", "aliases of a page that leaves are not fetched again"),
    ("pause_forgotten", "a restart resumes what the operator has paused"),
];
/// Of real time, for each.
const MINUTES: f64 = 5.0;

pub fn all() -> ExitCode {
    let seed = fastrand::u64(..1 << 40);
    println!("{} bugs, worlds from seed {seed} on, at most {MINUTES} minutes for each", BUGS.len());
    let mut missed = 0;
    for (name, what) in BUGS {
        let options = Options { minutes: Some(MINUTES), plant: Some(name.to_owned()), ..Options::default() };
        match find(seed, &options) {
            Found::Broken { seed, how, seconds } => {
                println!("found   {name} ({what})\n        in {seconds:.0} s, world {seed}: {how}")
            }
            Found::Nothing { worlds } => {
                missed += 1;
                println!("MISSED  {name} ({what}) in {worlds} worlds");
            }
        }
    }
    println!("{} of {} found", BUGS.len() - missed, BUGS.len());
    if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

enum Found {
    Broken { seed: u64, how: String, seconds: f64 },
    Nothing { worlds: u64 },
}

/// A world that breaks with the bug a property that it does not break without.
fn find(seed: u64, options: &Options) -> Found {
    let began = Instant::now();
    let (mut from, mut worlds) = (seed, 0);
    loop {
        let left = MINUTES - began.elapsed().as_secs_f64() / 60.0;
        if left <= 0.0 {
            return Found::Nothing { worlds };
        }
        let found = team::search(from, &Options { minutes: Some(left), ..options.clone() }, true);
        worlds += found.worlds;
        let Some((last, _)) = found.failed.last() else { return Found::Nothing { worlds } };
        for (seed, how) in &found.failed {
            if !team::breaks(*seed).contains(&team::property(how)) {
                return Found::Broken { seed: *seed, how: how.clone(), seconds: began.elapsed().as_secs_f64() };
            }
        }
        from = last + 1;
    }
}
