//! `seine why`: the story of one URL.

use std::process::ExitCode;

use super::asked::{Asked, ago};
use super::folder::Folder;
use crate::api::said::{
    AttemptStory, Attempts, DeliveredPlace, Discovery, FoundLink, HostRobots, HostStatus, HostTrouble, PageStory,
    PreferenceSaid, QueuePlace, RankStory, SinkPlace, Why,
};
use crate::clock::now_ms;
use crate::frontier::Refused;
use crate::telemetry::progress::grouped;

/// Say why a URL is there or not: scope, robots.txt, its host, its place in the queue, its last answer, and each sink.
///
/// Asks the crawl that runs in the data folder, or reads the folder of one that rests.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  seine why -o data https://example.com/about
  seine why -o data --json https://example.com/about | jq .sinks")]
pub struct Args {
    #[arg(value_name = "URL", required = true)]
    urls: Vec<String>,
    #[command(flatten)]
    folder: Folder,
    /// One JSON object a URL, as the API gives it.
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let asked = Asked::of(&args.folder.output)?;
    for url in &args.urls {
        let why = asked.why(url)?;
        super::print(&super::told(&why, args.json, |why| told(why, now_ms()))?)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn told(why: &Why, now: u64) -> String {
    let mut text = format!("{}\n  {}: {}\n", why.url, why.state, why.reason);
    let mut row = |name: &str, said: Option<String>| {
        text.extend(said.map(|said| format!("  {name:<11} {said}\n")));
    };
    row("scope", Some(why.scope.rule.as_ref().map_or("admitted".to_owned(), |rule| format!("refused: {rule}"))));
    row("refused", why.scope.refused.as_ref().map(|refused| told_of_refused(refused, now)));
    row("robots.txt", Some(robots(why, now)));
    for (number, said) in why.preferences.iter().enumerate() {
        row(if number == 0 { "asks" } else { "" }, Some(told_of_preference(said)));
    }
    row("host", why.host.as_ref().map(|host| told_of_host(host, now)));
    let Discovery { first, last } = &why.found;
    row("found", first.as_ref().map(|found| told_of_link(found, now)));
    row("last link", last.as_ref().filter(|_| first != last).map(|found| told_of_link(found, now)));
    if let Some(queue) = &why.queue {
        row("rank", queue.rank.as_ref().map(told_of_rank));
        row(if queue.is_revisit { "next look" } else { "queue" }, Some(told_of_queue(queue, now)));
    }
    for (number, attempt) in why.attempts.last.iter().enumerate() {
        let all = (number == 0).then_some(&why.attempts);
        row(all.map_or("", |_| "attempts"), Some(told_of_attempt(attempt, all, now)));
    }
    for (name, said) in why.page.iter().flat_map(|page| told_of_page(page, now)) {
        row(name, said);
    }
    let some = |urls: &[String]| Some(urls.join(" ")).filter(|_| !urls.is_empty());
    row("aliases", some(&why.aliases));
    row("duplicates", some(&why.duplicates));
    row("budget", why.budget.clone());
    for sink in &why.sinks {
        row(&sink.sink, Some(told_of_sink(sink)));
    }
    text
}

fn told_of_refused(Refused { links, url, found_on, found_ms }: &Refused, now: u64) -> String {
    format!("{} links to its host, the first {}: {url} on {found_on}", grouped(*links), ago(*found_ms, now))
}

fn told_of_rank(RankStory { rank, reasons }: &RankStory) -> String {
    let reasons: Vec<String> = reasons.iter().map(|it| format!("{} {:+.2}", it.of, it.adds)).collect();
    format!("{rank:.3} ({})", reasons.join(", "))
}

fn told_of_queue(queue: &QueuePlace, now: u64) -> String {
    listed([
        queue.ahead.map(|ahead| format!("{ahead} URLs of its host before it")),
        queue.due_ms.map(|due| format!("due {}", ago(due, now))),
        Some(format!("{} links from a seed", queue.depth)),
        Some(format!("{} attempts so far", queue.attempts)),
        queue.last_failure.as_ref().map(|failure| format!("the last failed with {failure}")),
    ])
}

/// What there is to say, with commas.
fn listed<const N: usize>(said: [Option<String>; N]) -> String {
    said.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn told_of_sink(sink: &SinkPlace) -> String {
    let mut said = sink.state.clone();
    if let Some(ahead) = sink.ahead {
        said += &format!(", {ahead} events before it");
    }
    if let Some(reason) = &sink.reason {
        said += &format!(": {reason}");
    }
    if let Some(place) = &sink.place {
        said += &format!(": {}", told_of_place(place));
    }
    if let Some(why) = &sink.place_unknown {
        said += &format!("; where is not known: {why}");
    }
    said
}

fn told_of_place(place: &DeliveredPlace) -> String {
    match place {
        DeliveredPlace::Message { topic, partition, offset } => {
            format!("topic {topic}, partition {partition}, offset {offset}")
        }
        DeliveredPlace::Document { index, id, version } => format!("index {index}, document {id}, version {version}"),
        DeliveredPlace::Record { file, record, offset } => {
            let record = record.map(|record| format!(", record {record}")).unwrap_or_default();
            let offset = offset.map(|offset| format!(", byte {offset}")).unwrap_or_default();
            format!("{file}{record}{offset}")
        }
    }
}

fn told_of_link(found: &FoundLink, now: u64) -> String {
    let way = match found.way.as_str() {
        "seed" => "given as a seed",
        "added" => "given as a seed later",
        "robots_txt" => "named by",
        "sitemap" => "in the sitemap",
        "feed" => "in the feed",
        "canonical" => "named as canonical by",
        "requisite" => "needed by",
        _ => "by a link on",
    };
    let on = match (&found.on, &found.by) {
        (Some(on), _) => format!(" {on}"),
        (None, Some(by)) => format!(" by {by}"),
        (None, None) if matches!(found.way.as_str(), "seed" | "added") => String::new(),
        (None, None) => " a page that is not known any more".to_owned(),
    };
    format!("{way}{on}, {}", ago(found.at_ms, now))
}

/// `all`: for the first that is told.
fn told_of_attempt(attempt: &AttemptStory, all: Option<&Attempts>, now: u64) -> String {
    let mut said = format!("{}: {}", ago(attempt.at_ms, now), attempt.outcome);
    if !attempt.counts {
        said += ", its host's trouble";
    }
    if let Some(digest) = &attempt.digest {
        said += &format!(", content sha256:{digest}…");
    }
    if let Some(all) = all.filter(|all| all.in_all > all.last.len() as u64) {
        said += &format!(" (the last {} of {})", all.last.len(), all.in_all);
    }
    said
}

fn told_of_preference(preference: &PreferenceSaid) -> String {
    let PreferenceSaid { statement, text, forbids } = preference;
    let text = text.as_ref().map(|text| format!(", {text:?}")).unwrap_or_default();
    let forbids = forbids.as_ref().map(|purpose| format!(": it is not for {purpose}")).unwrap_or_default();
    format!("{statement}{text}{forbids}")
}

fn robots(why: &Why, now: u64) -> String {
    let robots = &why.robots;
    let mut said = match robots.verdict.as_str() {
        "unknown" => "never asked for".to_owned(),
        verdict => verdict.to_owned(),
    };
    match (&robots.line, robots.line_number) {
        (Some(line), Some(number)) => said += &format!(" by line {number}, {line:?}"),
        (Some(line), None) => said += &format!(": {line}"),
        _ => {}
    }
    if let Some(fetched) = robots.fetched_ms {
        said += &format!(", as fetched {}", ago(fetched, now));
    }
    if let Some(until) = robots.expires_ms.filter(|until| *until > now && robots.verdict == "denied") {
        said += &format!(", and to be fetched anew {} at the earliest", ago(until, now));
    }
    said
}

pub(super) fn told_of_host(host: &HostStatus, now: u64) -> String {
    let trouble = |it: &HostTrouble| format!("{} since {} ({} in a row)", it.cause, ago(it.since_ms, now), it.failures);
    let mut said = listed([
        Some(format!("{}: {}, {} URLs to fetch", host.host, host.state, host.urls)),
        host.trouble.as_ref().map(trouble),
        host.ordered_delay_ms.map(|delay| format!("{delay} ms between two visits by order")),
        host.ordered_pages.map(|pages| format!("{pages} pages admitted at most by order")),
        host.due_ms.filter(|due| *due > now).map(|due| format!("to be visited {}", ago(due, now))),
        (host.urls_held > 0).then(|| format!("{} URLs held", host.urls_held)),
    ]);
    said.extend(host.robots.as_ref().map(|robots| format!("\n  {}", told_of_robots(robots, now))));
    host.traps.iter().for_each(|trap| said += &format!("\n  {trap}"));
    said
}

fn told_of_robots(robots: &HostRobots, now: u64) -> String {
    let forbids = if robots.forbids_all { " forbids everything;" } else { "" };
    let fetched = ago(robots.fetched_ms, now);
    match robots.expires_ms {
        until if until <= now => format!("robots.txt{forbids} fetched {fetched}, and anew at the next visit"),
        until => format!(
            "robots.txt{forbids} fetched {fetched}, and anew at the first visit {} or later (at the next one after: seine retry \
             --reason robots_denied)",
            ago(until, now)
        ),
    }
}

fn told_of_page(page: &PageStory, now: u64) -> [(&'static str, Option<String>); 8] {
    let changes = page.changes_a_day.map(|rate| format!("believed to change {rate:.2} times a day"));
    let seen = |alive| listed([Some(ago(alive, now)), Some(format!("{} changes seen", page.changes)), changes]);
    let verdict = if page.is_relevant == Some(true) { "relevant" } else { "irrelevant" };
    let judged = page.relevance.zip(page.relevance_model.as_ref());
    [
        ("last look", Some(format!("{}, status {}", ago(page.fetched_ms, now), page.status))),
        ("last there", page.alive_ms.map(seen)),
        ("doubted", page.doubt.map(|doubt| format!("since {}: {}", ago(doubt.since_ms, now), doubt.what.meaning()))),
        ("leads to", page.final_url.clone()),
        ("alias of", page.alias_of.clone()),
        ("relevance", judged.map(|(relevance, model)| format!("{relevance:.3}, {verdict}, by {model}"))),
        ("digest", page.digest.as_ref().map(|digest| format!("sha256:{digest}"))),
        ("event", Some(page.event_id.clone())),
    ]
}
