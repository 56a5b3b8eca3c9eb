//! Bugs that are planted one at a time, to show that the simulation finds each.

use std::process::ExitCode;
use std::time::Duration;

use crate::Options;
use crate::team;

/// A bug in `src`.
struct Bug {
    /// Its name in the code (`planted::is`).
    name: &'static str,
    what: &'static str,
    /// A world that showed it when it was recorded.
    world: u64,
    /// One story must contain one of these texts. Other stories may be about other effects of the bug.
    shows: &'static [&'static str],
}

impl Bug {
    fn shown_by(&self, story: &str) -> bool {
        self.shows.iter().any(|it| story.contains(it))
    }
}

const fn bug(name: &'static str, what: &'static str, world: u64, shows: &'static [&'static str]) -> Bug {
    Bug { name, what, world, shows }
}

/// A URL is not fetched, or is fetched too late.
const STALLS: &[&str] = &["was not fetched", "in flight from", "lacks the live page"];

const BUGS: [Bug; 26] = [
    bug(
        "half_page_final",
        "a page whose body broke off counts as whole",
        2005,
        &["does not hold the last version", "lacks the live page"],
    ),
    bug(
        "one_bad_hour",
        "one noindex, Disallow, empty page or other redirect removes a page at once",
        2007,
        &["lost the live page", "an empty body that nothing had confirmed"],
    ),
    bug("gone_at_once", "one 404 removes a page at once", 2005, &["lost the live page"]),
    bug("stall_after_kill", "a worker that waits for the validator is not told that it went on", 2015, STALLS),
    bug("emptied_unnoticed", "nobody notices that an index is another one", 2005, &["pages-index lacks the live page"]),
    bug(
        "cursor_early",
        "a sink's cursor moves to what was taken, not to what is delivered",
        2005,
        &["lacks the live page", "does not hold the last version"],
    ),
    bug(
        "lost_tombstone",
        "what becomes of a page that is gone is not sent",
        2005,
        &["but it is not there", "holds one page twice", "which holds it"],
    ),
    bug("rest_forgotten", "hosts do not rest after a restart", 690_683_631_217, &["ms too early)"]),
    bug(
        "addresses_forgotten",
        "addresses do not rest after a restart",
        880_319_093_019,
        &["it has one request at a time"],
    ),
    bug(
        "partitions_forgotten",
        "a page stays in its former partition, too, after partitions were added",
        2005,
        &["holds one page twice", "but it is not there", "does not hold the last version"],
    ),
    bug("wake_up_dropped", "the log's writer is not told that an event waits", 2005, STALLS),
    bug("wall_clock", "times, and with them versions, are the machine's clock, which is set back", 2005, STALLS),
    bug(
        "version_dropped",
        "documents carry no version",
        2005,
        &["after it had it as of", "does not hold the last version"],
    ),
    bug(
        "page_pays_for_host",
        "a URL pays for connections that its host refuses",
        899_848_731_304,
        &["could not be connected to"],
    ),
    bug(
        "outage_unnoticed",
        "an outage of this machine is each host's own",
        2011,
        &["before an outage of this machine"],
    ),
    bug("retry_after_ignored", "Retry-After is not obeyed", 2005, &["it said Retry-After"]),
    bug("robots_for_ever", "robots.txt is never fetched again", 2005, &["by a robots.txt that was"]),
    bug("crawl_delay_ignored", "Crawl-delay is not obeyed", 2005, &["its robots.txt wants a delay"]),
    bug(
        "address_ignored",
        "hosts that share an address do not wait for each other",
        2005,
        &["it has one request at a time"],
    ),
    bug("new_links_lost", "links of a page that has changed are not followed", 2005, &["never asked for"]),
    bug("aliases_asleep", "aliases of a page that leaves are not fetched again", 2011, &["has nobody's page instead"]),
    bug("pause_forgotten", "a restart resumes what the operator has paused", 2005, &["while the crawl was paused"]),
    bug("part_is_whole", "a 206 that nobody asked for replaces the page", 2005, &["does not hold the last version"]),
    bug(
        "limits_for_ever",
        "links that a limit left out are not found when it is lifted",
        362_285_150_628,
        &["never asked for"],
    ),
    bug(
        "redirects_start_over",
        "a redirect to a slow host does not wait for the delay that its own request to that host has caused",
        890_008,
        &["ended with exit status 4"],
    ),
    bug("refused_for_ever", "a URL that answered 404 at first is never fetched again", 2005, &["lacks the live page"]),
];
/// CPU time of each processor for one bug.
const MINUTES: f64 = 5.0;

pub fn all(options: &Options) -> ExitCode {
    let minutes = options.cpu_minutes.unwrap_or(MINUTES);
    let wanted = |bug: &&Bug| options.plant.as_ref().is_none_or(|name| bug.name == name);
    let bugs: Vec<&Bug> = BUGS.iter().filter(wanted).collect();
    println!("{} bugs, at most {minutes} minutes of each processor for each", bugs.len());
    let mut missed = 0;
    for bug in &bugs {
        match find(options.seed, minutes, bug) {
            Found::Broken { seed, how, cpu, worlds } => {
                let new = if seed == bug.world { "" } else { "  (record this world)" };
                println!("found   {:<20} {:>4.0} s {worlds:>4} worlds  {}", bug.name, cpu.as_secs_f64(), bug.what);
                println!("        world {seed}, which breaks nothing so without it: {how}{new}");
            }
            Found::Nothing { worlds } => {
                missed += 1;
                println!("MISSED  {:<20}        {worlds:>4} worlds  {}", bug.name, bug.what);
            }
        }
    }
    println!("{} of {} found", bugs.len() - missed, bugs.len());
    if missed == 0 && !bugs.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

enum Found {
    Broken { seed: u64, how: String, cpu: Duration, worlds: u64 },
    Nothing { worlds: u64 },
}

/// Finds a world that fails as this bug makes it fail, and that does not fail in this way without the bug. It tries the recorded world
/// first, unless a seed is given.
fn find(given: Option<u64>, minutes: f64, bug: &Bug) -> Found {
    let shape = Options { shape: Some(bug.name.to_owned()), ..Options::default() };
    let plant = Options { plant: Some(bug.name.to_owned()), ..shape.clone() };
    let (mut cpu, mut worlds) = (Duration::ZERO, 0);
    if given.is_none() {
        let (with, without) = (team::begin(0, bug.world, &plant), team::begin(1, bug.world, &shape));
        let (with, without) = (with(), without());
        (cpu, worlds) = (cpu + with.cpu() + without.cpu(), worlds + 1);
        let shown = with.failed.iter().find(|(_, how)| bug.shown_by(how));
        if let Some((seed, how)) = shown.filter(|_| !without.failed.iter().any(|(_, how)| bug.shown_by(how))) {
            return Found::Broken { seed: *seed, how: how.clone(), cpu, worlds };
        }
    }
    let mut from = given.unwrap_or_else(|| fastrand::u64(..1 << 40));
    loop {
        let left = minutes - cpu.as_secs_f64() / 60.0 / team::MEMBERS as f64;
        if left <= 0.0 {
            return Found::Nothing { worlds };
        }
        let found = team::search(from, &Options { cpu_minutes: Some(left), ..plant.clone() }, true);
        (cpu, worlds) = (cpu + found.cpu(), worlds + found.ends.len() as u64);
        let Some(last) = found.failed.iter().map(|(seed, _)| *seed).max() else { return Found::Nothing { worlds } };
        for (seed, how) in found.failed.iter().filter(|(_, how)| bug.shown_by(how)) {
            let without = team::begin(0, *seed, &shape)();
            cpu += without.cpu();
            if !without.failed.iter().any(|(_, how)| bug.shown_by(how)) {
                return Found::Broken { seed: *seed, how: how.clone(), cpu, worlds };
            }
        }
        from = last + 1;
    }
}
