//! `seine why`: everything that is known about one URL.

use std::process::ExitCode;

use seine_frontier::Refused;
use seine_system::clock::now_ms;

use super::asked::{Asked, ago};
use super::folder::Folder;
use crate::api::schema::{
    AttemptStory, Attempts, DeliveredLocation, Discovery, FoundLink, HostRobots, HostStatus, HostTrouble, PageStory,
    PreferenceStory, QueueStory, RankStory, SinkStory, Why,
};
use crate::telemetry::progress::{grouped, span};

/// Explain the state of a URL: scope, robots.txt, its host, its position in the queue, its last answer, and each sink.
///
/// Asks the running crawl, or reads the data folder of a stopped one.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  seine why -o data https://example.com/about
  seine why -o data --json https://example.com/about | jq .sinks")]
pub(super) struct Args {
    #[arg(value_name = "URL", required = true)]
    urls: Vec<String>,
    #[command(flatten)]
    folder: Folder,
    /// Print one JSON object per URL, as the API does.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let asked = Asked::of(&args.folder.output)?;
    for url in &args.urls {
        let why = asked.why(url)?;
        super::print(&super::as_text(&why, args.json, |why| description(why, now_ms()))?)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn description(why: &Why, now: u64) -> String {
    let mut text = format!("{}\n  {}: {}\n", why.url, why.state, why.reason);
    let mut row = |name: &str, shown: Option<String>| {
        text.extend(shown.map(|shown| format!("  {name:<11} {shown}\n")));
    };
    row("scope", Some(why.scope.rule.as_ref().map_or("admitted".to_owned(), |rule| format!("refused: {rule}"))));
    row("refused", why.scope.refused.as_ref().map(|refused| describe_refused(refused, now)));
    row("robots.txt", Some(robots(why, now)));
    for (number, shown) in why.preferences.iter().enumerate() {
        row(if number == 0 { "publisher" } else { "" }, Some(describe_preference(shown)));
    }
    row("host", why.host.as_ref().map(|host| describe_host(host, now)));
    let Discovery { first, last } = &why.found;
    row("found", first.as_ref().map(|found| describe_link(found, now)));
    row("last link", last.as_ref().filter(|_| first != last).map(|found| describe_link(found, now)));
    if let Some(queue) = &why.queue {
        row("score", queue.rank.as_ref().map(describe_score));
        row(if queue.is_revisit { "recheck" } else { "queue" }, Some(describe_queue(queue, now)));
    }
    for (number, attempt) in why.attempts.last.iter().enumerate() {
        let all = (number == 0).then_some(&why.attempts);
        row(all.map_or("", |_| "attempts"), Some(describe_attempt(attempt, all, now)));
    }
    for (name, shown) in why.page.iter().flat_map(|page| describe_page(page, why.attempts.last.last(), now)) {
        row(name, shown);
    }
    let some = |urls: &[String]| Some(urls.join(" ")).filter(|_| !urls.is_empty());
    row("aliases", some(&why.aliases));
    row("duplicates", some(&why.duplicates));
    row("budget", why.budget.clone());
    for sink in &why.sinks {
        row(&sink.sink, Some(describe_sink(sink)));
    }
    text
}

fn describe_refused(Refused { links, url, found_on, found_ms }: &Refused, now: u64) -> String {
    format!("{} links to its host, the first {}: {url} on {found_on}", grouped(*links), ago(*found_ms, now))
}

fn describe_score(RankStory { rank, reasons }: &RankStory) -> String {
    let reasons: Vec<String> = reasons.iter().map(|it| format!("{} {:+.2}", it.of, it.adds)).collect();
    format!("{rank:.3} ({})", reasons.join(", "))
}

fn describe_queue(queue: &QueueStory, now: u64) -> String {
    listed([
        queue.ahead.map(|ahead| format!("{ahead} URLs of its host come first")),
        queue.due_ms.map(|due| format!("due {}", ago(due, now))),
        Some(format!("{} links from a seed", queue.depth)),
        Some(format!("{} attempts so far", queue.attempts)),
        queue.last_failure.as_ref().map(|failure| format!("last failure: {failure}")),
    ])
}

/// Joins all parts that are present with commas.
fn listed<const N: usize>(shown: [Option<String>; N]) -> String {
    shown.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn describe_sink(sink: &SinkStory) -> String {
    let mut shown = sink.state.clone();
    if let Some(ahead) = sink.ahead {
        shown += &format!(", {ahead} events come first");
    }
    if let Some(reason) = &sink.reason {
        shown += &format!(": {reason}");
    }
    if let Some(location) = &sink.location {
        shown += &format!(": {}", describe_location(location));
    }
    if let Some(why) = &sink.location_unknown {
        shown += &format!("; its location is unknown: {why}");
    }
    shown
}

fn describe_location(location: &DeliveredLocation) -> String {
    match location {
        DeliveredLocation::Message { topic, partition, offset } => {
            format!("topic {topic}, partition {partition}, offset {offset}")
        }
        DeliveredLocation::Document { index, id, version } => {
            format!("index {index}, document {id}, version {version}")
        }
        DeliveredLocation::Record { file, record, offset } => {
            let record = record.map(|record| format!(", record {record}")).unwrap_or_default();
            let offset = offset.map(|offset| format!(", byte {offset}")).unwrap_or_default();
            format!("{file}{record}{offset}")
        }
    }
}

fn describe_link(found: &FoundLink, now: u64) -> String {
    let way = match found.way.as_str() {
        "seed" => "given as a seed",
        "added" => "given as a seed later",
        "robots_txt" => "listed in",
        "sitemap" => "in the sitemap",
        "feed" => "in the feed",
        "canonical" => "named as canonical by",
        "requisite" => "needed by",
        "guess" => "the usual location of a sitemap, tried because robots.txt names none",
        _ => "by a link on",
    };
    let on = match (&found.on, &found.by) {
        (Some(on), _) => format!(" {on}"),
        (None, Some(by)) => format!(" by {by}"),
        (None, None) if matches!(found.way.as_str(), "seed" | "added" | "guess") => String::new(),
        (None, None) => " a page that is no longer known".to_owned(),
    };
    format!("{way}{on}, {}", ago(found.at_ms, now))
}

/// Describes one attempt. `all` is given for the first one described.
fn describe_attempt(attempt: &AttemptStory, all: Option<&Attempts>, now: u64) -> String {
    let mut shown = format!("{}: {}", ago(attempt.at_ms, now), attempt.outcome);
    if !attempt.counts {
        shown += ", host trouble";
    }
    if let Some(digest) = &attempt.digest {
        shown += &format!(", content sha256:{digest}…");
    }
    if let Some(all) = all.filter(|all| all.in_all > all.last.len() as u64) {
        shown += &format!(" (the last {} of {})", all.last.len(), all.in_all);
    }
    shown
}

fn describe_preference(preference: &PreferenceStory) -> String {
    let PreferenceStory { statement, text, forbids } = preference;
    let text = text.as_ref().map(|text| format!(", {text:?}")).unwrap_or_default();
    let forbids = forbids.as_ref().map(|purpose| format!(": forbids {purpose}")).unwrap_or_default();
    format!("{statement}{text}{forbids}")
}

fn robots(why: &Why, now: u64) -> String {
    let robots = &why.robots;
    let mut shown = match robots.verdict.as_str() {
        "unknown" => "never fetched".to_owned(),
        verdict => verdict.to_owned(),
    };
    match (&robots.line, robots.line_number) {
        (Some(line), Some(number)) => shown += &format!(" by line {number}, {line:?}"),
        (Some(line), None) => shown += &format!(": {line}"),
        _ => {}
    }
    if let Some(fetched) = robots.fetched_ms {
        shown += &format!(", fetched {}", ago(fetched, now));
    }
    if let Some(until) = robots.expires_ms.filter(|until| *until > now && robots.verdict == "denied") {
        shown += &format!(", and to be fetched anew {} at the earliest", ago(until, now));
    }
    shown
}

pub(super) fn describe_host(host: &HostStatus, now: u64) -> String {
    let trouble = |it: &HostTrouble| match it.failures {
        // Perhaps not the host's fault.
        0 => format!("some of its URLs failed, first {} ({})", ago(it.since_ms, now), it.cause),
        failures => format!("{} since {} ({failures} in a row)", it.cause, ago(it.since_ms, now)),
    };
    let mut shown = listed([
        Some(format!("{}: {}, {} URLs queued", host.host, host.state, host.urls)),
        host.trouble.as_ref().map(trouble),
        host.ordered_delay_ms.map(|delay| format!("delay of {delay} ms by order")),
        host.ordered_pages.map(|pages| format!("at most {pages} pages by order")),
        host.due_ms.filter(|due| *due > now).map(|due| format!("due {}", ago(due, now))),
        (host.urls_deferred > 0).then(|| format!("{} URLs deferred", host.urls_deferred)),
    ]);
    if let Some(other) = &host.waits_for {
        shown += &format!("\n  its robots.txt or tdmrep.json redirects to {other}, which is blocked");
    }
    if let Some(round) = host.round_ms {
        shown += &format!(
            "\n  its URLs take {} at its delay: rechecks come later than link_storage.recrawl.max_interval",
            span(round / 1000)
        );
    }
    shown.extend(host.robots.as_ref().map(|robots| format!("\n  {}", describe_robots(robots, now))));
    host.traps.iter().for_each(|trap| shown += &format!("\n  {trap}"));
    shown
}

fn describe_robots(robots: &HostRobots, now: u64) -> String {
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

/// `last`: the last attempt. The record of a page may be older, because an answer that is no news leaves it unchanged.
fn describe_page(page: &PageStory, last: Option<&AttemptStory>, now: u64) -> [(&'static str, Option<String>); 8] {
    let changes = page.changes_a_day.map(|rate| format!("estimated {rate:.2} changes per day"));
    let seen = |alive| listed([Some(ago(alive, now)), Some(format!("{} changes seen", page.changes)), changes]);
    let verdict = if page.is_relevant == Some(true) { "relevant" } else { "irrelevant" };
    let by_record = || if page.status == 0 { "no answer".to_owned() } else { format!("status {}", page.status) };
    let fetched = last.map_or(page.fetched_ms, |last| last.at_ms.max(page.fetched_ms));
    let answer = last.map_or_else(by_record, |last| last.outcome.clone());
    let judged = page.relevance.zip(page.relevance_model.as_ref());
    [
        ("last fetch", Some(format!("{}, {answer}", ago(fetched, now)))),
        ("last live", page.alive_ms.map(seen)),
        (
            "unconfirmed",
            page.doubt.map(|doubt| format!("since {}: {}", ago(doubt.since_ms, now), doubt.what.meaning())),
        ),
        ("redirects to", page.final_url.clone()),
        ("alias of", page.alias_of.clone()),
        ("relevance", judged.map(|(relevance, model)| format!("{relevance:.3}, {verdict}, by {model}"))),
        ("digest", page.digest.as_ref().map(|digest| format!("sha256:{digest}"))),
        ("event", Some(page.event_id.clone())),
    ]
}
