//! Bugs that are planted one at a time, to show that the simulation finds each.

use std::process::ExitCode;
use std::time::Instant;

use crate::Options;
use crate::team;

/// A bug in `src`.
struct Bug {
    /// Its name there (`planted::is`).
    name: &'static str,
    what: &'static str,
    /// A story of it has one of these. Others may tell of something else that the bug has brought about.
    shows: &'static [&'static str],
}

impl Bug {
    fn shown_by(&self, story: &str) -> bool {
        self.shows.iter().any(|it| story.contains(it))
    }
}

const fn bug(name: &'static str, what: &'static str, shows: &'static [&'static str]) -> Bug {
    Bug { name, what, shows }
}

/// Something is not fetched, or comes too late.
const STALLS: &[&str] = &["was not fetched", "in flight from", "lacks the live page"];

const BUGS: [Bug; 21] = [
    bug(
        "half_page_final",
        "a page whose body broke off counts as whole",
        &["does not hold the last version", "lacks the live page"],
    ),
    bug(
        "one_bad_hour",
        "one noindex, Disallow, empty page or other redirect removes a page at once",
        &["lost the live page", "an empty body that nothing had confirmed"],
    ),
    bug("gone_at_once", "one 404 removes a page at once", &["lost the live page"]),
    bug("stall_after_kill", "a worker that waits for the validator is not told that it went on", STALLS),
    bug("emptied_unnoticed", "nobody notices that an index is another one", &["pages-index lacks the live page"]),
    bug(
        "cursor_early",
        "a sink's cursor moves to what was taken, not to what is delivered",
        &["lacks the live page", "does not hold the last version"],
    ),
    bug(
        "lost_tombstone",
        "what becomes of a page that is gone is not sent",
        &["but it is not there", "holds one page twice", "which holds it"],
    ),
    bug("rest_forgotten", "hosts do not rest after a restart", &["ms too early)"]),
    bug("wake_up_dropped", "the log's writer is not told that an event waits", STALLS),
    bug("wall_clock", "times, and with them versions, are the machine's clock, which is set back", STALLS),
    bug("version_dropped", "documents carry no version", &["after it had it as of", "does not hold the last version"]),
    bug("page_pays_for_host", "a URL pays for connections that its host refuses", &["could not be connected to"]),
    bug("outage_unnoticed", "an outage of this machine is each host's own", &["before an outage of this machine"]),
    bug("retry_after_ignored", "Retry-After is not obeyed", &["it said Retry-After"]),
    bug("robots_for_ever", "robots.txt is never fetched again", &["by a robots.txt that was"]),
    bug("crawl_delay_ignored", "Crawl-delay is not obeyed", &["its robots.txt wants a delay"]),
    bug("address_ignored", "hosts that share an address do not wait for each other", &["requests to an address begin"]),
    bug("new_links_lost", "links of a page that has changed are not followed", &["never asked for"]),
    bug("aliases_asleep", "aliases of a page that leaves are not fetched again", &["has nobody's page instead"]),
    bug("pause_forgotten", "a restart resumes what the operator has paused", &["while the crawl was paused"]),
    bug("refused_for_ever", "a URL that answered 404 at first is never fetched again", &["lacks the live page"]),
];
/// Of real time, for each.
const MINUTES: f64 = 5.0;

/// `only`: this one alone.
pub fn all(options: &Options) -> ExitCode {
    let seed = options.seed.unwrap_or_else(|| fastrand::u64(..1 << 40));
    let wanted = |bug: &&Bug| options.plant.as_ref().is_none_or(|name| bug.name == name);
    let bugs: Vec<&Bug> = BUGS.iter().filter(wanted).collect();
    println!("{} bugs, worlds from seed {seed} on, at most {MINUTES} minutes for each", bugs.len());
    let mut missed = 0;
    for bug in &bugs {
        match find(seed, bug) {
            Found::Broken { seed, how, seconds, worlds } => {
                println!("found   {:<20} {seconds:>4.0} s {worlds:>4} worlds  {}", bug.name, bug.what);
                println!("        world {seed}, which breaks nothing so without it: {how}");
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
    Broken { seed: u64, how: String, seconds: f64, worlds: u64 },
    Nothing { worlds: u64 },
}

/// A world in which something breaks as this bug breaks it, and nothing breaks so without the bug.
fn find(seed: u64, bug: &Bug) -> Found {
    let began = Instant::now();
    let (mut from, mut worlds) = (seed, 0);
    loop {
        let left = MINUTES - began.elapsed().as_secs_f64() / 60.0;
        if left <= 0.0 {
            return Found::Nothing { worlds };
        }
        let (shape, plant) = (Some(bug.name.to_owned()), Some(bug.name.to_owned()));
        let found = team::search(from, &Options { minutes: Some(left), shape, plant, ..Options::default() }, true);
        worlds += found.worlds;
        let Some(last) = found.failed.iter().map(|(seed, _)| *seed).max() else { return Found::Nothing { worlds } };
        let shown = found.failed.iter().filter(|(_, how)| bug.shown_by(how));
        for (seed, how) in shown {
            if !team::stories(*seed, bug.name).iter().any(|how| bug.shown_by(how)) {
                let seconds = began.elapsed().as_secs_f64();
                return Found::Broken { seed: *seed, how: how.clone(), seconds, worlds };
            }
        }
        from = last + 1;
    }
}
