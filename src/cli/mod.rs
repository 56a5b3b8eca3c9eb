//! The command line: one file per command.

mod archive;
mod asked;
mod audit;
mod backup;
mod build_model;
mod cat;
mod check_config;
mod clients;
mod completions;
mod convert;
mod crawl;
mod dead_letters;
mod demo;
mod destination;
mod examples;
pub mod exit;
mod folder;
mod forget;
mod health;
mod limit;
mod manual;
mod migrate;
mod proxy;
mod recover;
mod replay;
mod retry;
mod sinks;
mod start_crawl;
mod stats;
mod status;
mod steer;
mod test_model;
mod text;
mod ticker;
mod verify;
mod version;
mod why;
mod work;

use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use serde::Serialize;

use self::folder::NamedFolder;
use crate::api::schema::Order;
use crate::config;
use crate::telemetry::progress;

/// The default data folder.
const DATA_FOLDER: &str = "data";

/// A streaming crawl service: pages are accepted durably once and delivered at least once.
#[derive(Parser)]
#[command(
    name = "seine",
    version,
    long_version = version::LONG.as_str(),
    max_term_width = 100,
    arg_required_else_help = true,
    after_help = EXAMPLES
)]
struct Seine {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  seine demo                                        watch a crawl of a website that seine itself serves
  seine crawl --seed https://example.com -o data    crawl one site into data/files
  seine cat data/files                              print the stored pages, one JSON line per page
  seine replay data/files --to kafka -c config      send them to Kafka later
  seine status -o data; seine why -o data URL       what the crawl does; the state of a URL
  seine crawl --seed https://example.com -o ten --max-pages 10 --sink stdout | jq .title

To continue a crawl that was stopped or killed, start it again with the same -o.";

#[derive(Subcommand)]
enum Command {
    Crawl(Box<crawl::Args>),
    #[command(name = "startCrawl")]
    StartCrawl(start_crawl::Args),
    Demo(demo::Args),
    Cat(cat::Args),
    Text(text::Args),
    Convert(convert::Args),
    Replay(replay::Args),
    Verify(verify::Args),
    Recover(recover::Args),
    Status(status::Args),
    Top(status::Top),
    Stats(stats::Args),
    Why(why::Args),
    Hosts(steer::Hosts),
    Host(steer::Host),
    Seeds(steer::Seeds),
    /// Pause a crawl: no more fetches, but accepted pages are delivered. The pause survives restarts.
    Pause(NamedFolder),
    /// Resume a paused crawl.
    Resume(NamedFolder),
    /// Make a running crawl read its configuration again, as SIGHUP does.
    ///
    /// It reads the file that the crawl was started with; the environment and options of the start still override it.
    /// If the file is wrong, or changes keys that need a restart (destinations, HTTP client, store), nothing changes
    /// and Seine lists those keys.
    Reload(NamedFolder),
    Limit(limit::Args),
    Forget(forget::Args),
    Orders(steer::Orders),
    Sinks(sinks::Args),
    Audit(audit::Args),
    Backup(backup::Backup),
    Restore(backup::Restore),
    CheckConfig(check_config::Args),
    Health(health::Args),
    DeadLetters(dead_letters::Args),
    Retry(retry::Args),
    Migrate(migrate::Args),
    #[command(alias = "buildModel")]
    BuildModel(build_model::Args),
    TestModel(test_model::Args),
    Work(work::Args),
    Clients(clients::Args),
    Completions(completions::Args),
    #[command(hide = true)]
    Manual(manual::Args),
}

/// Parses the arguments and runs a command. Errors go to standard error. The exit status is 0 for success, 1 for a
/// failure, 2 for wrong arguments.
pub fn main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let seine = Seine::parse_from(start_crawl::with_long_names(arguments));
    // Errors of the configuration are printed before it is loaded, so only the environment can ask for JSON.
    let wants_json = |(name, value): &(String, String)| {
        name.eq_ignore_ascii_case("SEINE__LOGGING__FORMAT") && value.eq_ignore_ascii_case("json")
    };
    if config::environment().iter().any(wants_json) {
        progress::speak_json();
    }
    let result = match seine.command {
        Command::Crawl(args) => crawl::run(*args),
        Command::StartCrawl(args) => start_crawl::run(args),
        Command::Demo(args) => demo::run(args),
        Command::Cat(args) => cat::run(args),
        Command::Text(args) => text::run(args),
        Command::Convert(args) => convert::run(args),
        Command::Replay(args) => replay::run(args),
        Command::Verify(args) => verify::run(args),
        Command::Recover(args) => recover::run(args),
        Command::Status(args) => status::run(args),
        Command::Top(args) => status::top(args),
        Command::Stats(args) => stats::run(args),
        Command::Why(args) => why::run(args),
        Command::Hosts(args) => steer::hosts(args),
        Command::Host(args) => steer::host(args),
        Command::Seeds(args) => steer::seeds(args),
        Command::Pause(crawl) => steer::order(crawl.path(), &Order::Pause {}),
        Command::Resume(crawl) => steer::order(crawl.path(), &Order::Resume {}),
        Command::Reload(crawl) => steer::reload(crawl.path()),
        Command::Forget(args) => forget::run(args),
        Command::Limit(args) => limit::run(args),
        Command::Orders(args) => steer::orders(args),
        Command::Sinks(args) => sinks::run(args),
        Command::Audit(args) => audit::run(args),
        Command::Backup(args) => backup::backup(args),
        Command::Restore(args) => backup::restore(args),
        Command::CheckConfig(args) => check_config::run(args),
        Command::Health(args) => health::run(args),
        Command::DeadLetters(args) => dead_letters::run(args),
        Command::Retry(args) => retry::run(args),
        Command::Migrate(args) => migrate::run(args),
        Command::BuildModel(args) => build_model::run(args),
        Command::TestModel(args) => test_model::run(args),
        Command::Work(args) => work::run(args),
        Command::Clients(args) => clients::run(args),
        Command::Completions(args) => completions::run(args),
        Command::Manual(args) => manual::run(args),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            progress::say("ERROR", &explain(&error));
            ExitCode::FAILURE
        }
    }
}

/// Prints the result of a command. A closed pipe, as with `| head`, is not a failure.
fn print(text: &str) -> anyhow::Result<ExitCode> {
    is_printed(text).map(|_| ExitCode::SUCCESS)
}

/// False if the reader closed the pipe.
fn is_printed(text: &str) -> anyhow::Result<bool> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        written => Ok(written.map(|()| true)?),
    }
}

/// The result as a line of JSON or as text.
fn as_text<T: Serialize>(said: &T, as_json: bool, words: impl FnOnce(&T) -> String) -> anyhow::Result<String> {
    Ok(if as_json { format!("{}\n", serde_json::to_string(said)?) } else { words(said) })
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

/// An error and its causes. Most of our errors already contain the text of their cause, which is not repeated.
fn explain(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}
