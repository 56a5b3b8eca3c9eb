//! `seine forget`: removes URLs and hosts from the frontier.

use std::process::ExitCode;

use super::folder::Folder;
use crate::api::schema::{self, Order};

/// Remove URLs, or all URLs of a host, from the crawl, as if no link had led to them. A new link or seed adds them
/// again.
///
/// Their queue entries and records are deleted. Budgets, delays of hosts and orders stay. Destinations are not told and
/// keep their pages; to remove those, put the URLs out of scope first (seine reload). To keep a host out, block it or
/// put it out of scope first.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  seine forget https://example.com/old -o data
  seine forget --host example.com -o data           all of its URLs")]
pub(super) struct Args {
    #[arg(value_name = "URL", required_unless_present = "hosts")]
    urls: Vec<String>,
    /// Host: example.com or https://example.com:8443; repeatable.
    #[arg(long = "host", value_name = "HOST")]
    hosts: Vec<String>,
    #[command(flatten)]
    folder: Folder,
}

pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let Args { urls, hosts, folder } = args;
    super::steer::order(&folder.output, &Order::Forget(schema::Forget { urls, hosts }))
}
