//! `seine clients`: the remote workers of a crawl.

use std::process::ExitCode;

use super::asked::Asked;
use super::folder::Folder;
use crate::api::schema::Order;
use crate::api::schema::work::ClientStatus;
use crate::telemetry::progress::grouped;

/// List remote workers (work.clients): their hosts, their pages, and whether they are trusted.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    folder: Folder,
    /// Print one JSON object per line.
    #[arg(long)]
    json: bool,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Admit a worker again that was shut out. Seine fetches all of its pages itself too, until the worker is trusted.
    Readmit {
        /// Name in work.clients.
        client: String,
    },
}

pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    if let Some(Action::Readmit { client }) = args.action {
        return super::steer::order(&args.folder.output, &Order::ReadmitClient { client });
    }
    let clients = Asked::of(&args.folder.output)?.clients()?;
    let mut text = String::new();
    for client in &clients {
        text += &super::as_text(client, args.json, lines)?;
    }
    if text.is_empty() && !args.json {
        text = "no remote workers; work.clients names those that may connect\n".into();
    }
    super::print(&text)
}

fn lines(client: &ClientStatus) -> String {
    let ClientStatus { name, hosts, max_hosts, accepted, refetched: held, refused, agreed, disagreed, lapsed, .. } =
        client;
    let belief = match (&client.shut_out, client.is_proven) {
        (Some(why), _) => format!("shut out: {why}; {} of its pages are being refetched", grouped(client.in_question)),
        (None, true) => "trusted".to_owned(),
        (None, false) => "not trusted yet: Seine fetches all of its pages itself".to_owned(),
    };
    format!(
        "{name:<16} {:>13} pages accepted, {} being compared, {} refused; {hosts} hosts of {max_hosts}\n{:<16} {belief}; \
         {} pages agreed, {} did not; {} leases lapsed\n",
        grouped(*accepted),
        grouped(*held),
        grouped(*refused),
        "",
        grouped(*agreed),
        grouped(*disagreed),
        grouped(*lapsed),
    )
}
