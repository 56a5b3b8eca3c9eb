//! `seine why`: the story of one URL.

use std::process::ExitCode;

use super::asked::{Asked, ago};
use super::folder::Folder;
use crate::api::said::{
    AttemptStory, Attempts, DeliveredPlace, FoundLink, HostStatus, PageStory, PreferenceSaid, QueuePlace, RankStory,
    SinkPlace, Why,
};
use crate::clock::now_ms;
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
        super::print(&match args.json {
            true => format!("{}\n", serde_json::to_string(&why)?),
            false => told(&why, now_ms()),
        })?;
    }
    Ok(ExitCode::SUCCESS)
}

fn told(why: &Why, now: u64) -> String {
    let mut text = format!("{}\n  {}: {}\n", why.url, why.state, why.reason);
    let mut row = |name: &str, said: String| text += &format!("  {name:<11} {said}\n");
    match (&why.scope.rule, why.scope.is_admitted) {
        (Some(rule), _) => row("scope", format!("refused: {rule}")),
        (None, _) => row("scope", "admitted".to_owned()),
    }
    if let Some(refused) = &why.scope.refused {
        let (links, found) = (grouped(refused.links), ago(refused.found_ms, now));
        row(
            "refused",
            format!("{links} links to its host, the first {found}: {} on {}", refused.url, refused.found_on),
        );
    }
    row("robots.txt", robots(why, now));
    for (number, said) in why.preferences.iter().enumerate() {
        row(if number == 0 { "asks" } else { "" }, told_of_preference(said));
    }
    if let Some(host) = &why.host {
        row("host", told_of_host(host, now));
    }
    let last = why.found.last.as_ref().filter(|last| why.found.first.as_ref() != Some(last));
    for (name, found) in [("found", why.found.first.as_ref()), ("last link", last)] {
        if let Some(found) = found {
            row(name, told_of_link(found, now));
        }
    }
    if let Some(queue) = &why.queue {
        if let Some(RankStory { rank, reasons }) = &queue.rank {
            let reasons: Vec<String> = reasons.iter().map(|it| format!("{} {:+.2}", it.of, it.adds)).collect();
            row("rank", format!("{rank:.3} ({})", reasons.join(", ")));
        }
        row(if queue.is_revisit { "next look" } else { "queue" }, told_of_queue(queue, now));
    }
    for (number, attempt) in why.attempts.last.iter().enumerate() {
        let is_first = number == 0;
        row(if is_first { "attempts" } else { "" }, told_of_attempt(attempt, is_first.then_some(&why.attempts), now));
    }
    if let Some(page) = &why.page {
        told_of_page(page, now).into_iter().for_each(|(name, said)| row(name, said));
    }
    if !why.aliases.is_empty() {
        row("aliases", why.aliases.join(" "));
    }
    if !why.duplicates.is_empty() {
        row("duplicates", why.duplicates.join(" "));
    }
    if let Some(budget) = &why.budget {
        row("budget", budget.clone());
    }
    for sink in &why.sinks {
        row(&sink.sink, told_of_sink(sink));
    }
    text
}

fn told_of_queue(queue: &QueuePlace, now: u64) -> String {
    let ahead = queue.ahead.map(|ahead| format!("{ahead} URLs of its host before it")).unwrap_or_default();
    let due = queue.due_ms.map(|due| format!("due {}", ago(due, now))).unwrap_or_default();
    let attempts = match &queue.last_failure {
        Some(failure) => format!("{} attempts so far, the last failed with {failure}", queue.attempts),
        None => format!("{} attempts so far", queue.attempts),
    };
    let said = [ahead, due, format!("{} links from a seed", queue.depth), attempts];
    let said: Vec<String> = said.into_iter().filter(|said| !said.is_empty()).collect();
    said.join(", ")
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
    said
}

pub(super) fn told_of_host(host: &HostStatus, now: u64) -> String {
    let mut said = format!("{}: {}, {} URLs to fetch", host.host, host.state, host.urls);
    if let Some(trouble) = &host.trouble {
        said += &format!(", {} since {} ({} in a row)", trouble.cause, ago(trouble.since_ms, now), trouble.failures);
    }
    if let Some(delay) = host.ordered_delay_ms {
        said += &format!(", {delay} ms between two visits by order");
    }
    if let Some(pages) = host.ordered_pages {
        said += &format!(", {pages} pages admitted at most by order");
    }
    if let Some(due) = host.due_ms.filter(|due| *due > now) {
        said += &format!(", to be visited {}", ago(due, now));
    }
    if host.urls_held > 0 {
        said += &format!(", {} URLs held", host.urls_held);
    }
    host.traps.iter().for_each(|trap| said += &format!("\n  {trap}"));
    said
}

fn told_of_page(page: &PageStory, now: u64) -> Vec<(&'static str, String)> {
    let mut rows = vec![("last look", format!("{}, status {}", ago(page.fetched_ms, now), page.status))];
    if let Some(alive) = page.alive_ms {
        let changes =
            page.changes_a_day.map(|rate| format!(", believed to change {rate:.2} times a day")).unwrap_or_default();
        rows.push(("last there", format!("{}, {} changes seen{changes}", ago(alive, now), page.changes)));
    }
    if let Some(missing) = page.missing_since_ms {
        rows.push(("missing", format!("since {}", ago(missing, now))));
    }
    if let Some(url) = &page.final_url {
        rows.push(("leads to", url.clone()));
    }
    if let Some(owner) = &page.alias_of {
        rows.push(("alias of", owner.clone()));
    }
    if let (Some(relevance), Some(model)) = (page.relevance, &page.relevance_model) {
        let verdict = if page.is_relevant == Some(true) { "relevant" } else { "irrelevant" };
        rows.push(("relevance", format!("{relevance:.3}, {verdict}, by {model}")));
    }
    if let Some(digest) = &page.digest {
        rows.push(("digest", format!("sha256:{digest}")));
    }
    rows.push(("event", page.event_id.clone()));
    rows
}
