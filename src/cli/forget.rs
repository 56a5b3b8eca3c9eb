//! `seine forget`: URLs and hosts, as if nothing had ever led to them.

use std::process::ExitCode;

use super::folder::Folder;
use crate::api::said::{self, Order};

/// Forget URLs, or all URLs of a host, as if nothing had ever led to them; a link or a seed that does brings them back.
///
/// Their places in the queue and their records go; what they were counted as in budgets stays, and so do the host's delays and
/// whatever was ordered of it. Destinations are not told, and keep what they have: to take pages away, put them out of scope first
/// (seine reload), which removes them. A host that is to stay forgotten is blocked first, or put out of scope.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  seine forget https://example.com/old -o data
  seine forget --host example.com -o data           all of its URLs")]
pub struct Args {
    #[arg(value_name = "URL", required_unless_present = "hosts")]
    urls: Vec<String>,
    /// example.com, or https://example.com:8443; repeatable.
    #[arg(long = "host", value_name = "HOST")]
    hosts: Vec<String>,
    #[command(flatten)]
    folder: Folder,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let Args { urls, hosts, folder } = args;
    super::steer::order(&folder.output, &Order::Forget(said::Forget { urls, hosts }))
}
