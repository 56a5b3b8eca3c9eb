//! The command line: one file a command.

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
mod exit;
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
use crate::api::said::Order;
use crate::config;
use crate::telemetry::progress;

/// Where data is that no option places elsewhere.
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
  seine cat data/files                              show what was stored, one JSON line a page
  seine replay data/files --to kafka -c config      send it on, years later
  seine status -o data; seine why -o data URL       what it does; why a page is there or not
  seine crawl --seed https://example.com -o ten --max-pages 10 --sink stdout | jq .title

A crawl that was stopped, or killed, goes on when it is started again with the same -o.";

#[derive(Subcommand)]
enum Command {
    Crawl(crawl::Args),
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
    /// Pause a crawl: nothing more is fetched, what is accepted is delivered; until it is resumed, over restarts, too.
    Pause(NamedFolder),
    /// Let a paused crawl go on.
    Resume(NamedFolder),
    /// Let a running crawl read its configuration again, as SIGHUP does: all that has changed is in force from then on, or nothing is.
    ///
    /// What is read is what the crawl was started with: its file, and over it the environment and the options of then. A file that is
    /// wrong, or that changes what cannot be changed while it runs (destinations, the client, the store), changes nothing; which
    /// keys those are is said.
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

/// Parses the arguments and runs the command they name. Errors go to standard error; the exit status is 0 when all went
/// well, 1 for a failure, 2 for arguments that are not understood.
pub fn main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let seine = Seine::parse_from(start_crawl::with_long_names(arguments));
    // What is wrong with the configuration is told before it is known: its file cannot say how.
    let wants_json = |(name, value): &(String, String)| {
        name.eq_ignore_ascii_case("SEINE__LOGGING__FORMAT") && value.eq_ignore_ascii_case("json")
    };
    if config::environment().iter().any(wants_json) {
        progress::speak_json();
    }
    let result = match seine.command {
        Command::Crawl(args) => crawl::run(args),
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
        Command::Pause(crawl) => steer::order(crawl.path(), &Order::Pause),
        Command::Resume(crawl) => steer::order(crawl.path(), &Order::Resume),
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

/// Prints what a command has found, which has gone well so far. That nobody reads on, as with `| head`, is no failure.
fn print(text: &str) -> anyhow::Result<ExitCode> {
    is_printed(text).map(|_| ExitCode::SUCCESS)
}

/// False when nobody reads on.
fn is_printed(text: &str) -> anyhow::Result<bool> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        written => Ok(written.map(|()| true)?),
    }
}

/// As a line of JSON, or in words.
fn told<T: Serialize>(said: &T, as_json: bool, words: impl FnOnce(&T) -> String) -> anyhow::Result<String> {
    Ok(if as_json { format!("{}\n", serde_json::to_string(said)?) } else { words(said) })
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

/// An error and its causes, each said once: most of our errors name their cause themselves.
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
