//! `seine clients`: the crawlers that take work from this one.

use std::process::ExitCode;

use super::asked::Asked;
use super::folder::Folder;
use crate::api::said::Order;
use crate::api::said::work::ClientStatus;
use crate::telemetry::progress::grouped;

/// List the crawlers that take work from this one (work.clients): what they have, have brought, and how far they are believed.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    folder: Folder,
    /// One JSON object a line.
    #[arg(long)]
    json: bool,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Let a client take work again that was shut out. All of its pages are fetched twice until it has proven itself.
    Readmit {
        /// As work.clients names it.
        client: String,
    },
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    if let Some(Action::Readmit { client }) = args.action {
        return super::steer::order(&args.folder.output, &Order::ReadmitClient { client });
    }
    let clients = Asked::of(&args.folder.output)?.clients()?;
    let mut text = String::new();
    for client in &clients {
        text += &super::told(client, args.json, lines)?;
    }
    if text.is_empty() && !args.json {
        text = "no crawler takes work from this one: work.clients names those that may\n".into();
    }
    super::print(&text)
}

fn lines(client: &ClientStatus) -> String {
    let ClientStatus { name, hosts, max_hosts, accepted, held, refused, agreed, disagreed, lapsed, .. } = client;
    let belief = match (&client.shut_out, client.is_proven) {
        (Some(why), _) => format!("shut out: {why}; {} of its pages are fetched again", grouped(client.in_question)),
        (None, true) => "proven".to_owned(),
        (None, false) => "not proven yet: all of its pages are fetched again".to_owned(),
    };
    format!(
        "{name:<16} {:>13} pages accepted, {} looked at ourselves, {} refused; {hosts} hosts of {max_hosts}\n{:<16} {belief}; \
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
