//! `seine limit`: raise or lower what a crawl may bring, while it runs or rests.

use std::process::ExitCode;

use super::asked::Asked;
use super::folder::Folder;
use crate::api::said::{BudgetStatus, Order};
use crate::config;
use crate::telemetry::progress::grouped;

/// Show the limits of a crawl, or raise or lower one, whatever is configured; it holds over restarts.
#[derive(clap::Args)]
#[command(after_help = "\
Limits:
  pages                      of all runs together, as --max-pages (target_storage.visited_page_limit): the crawl ends with it
  host-pages                 admitted of each host (link_storage.max_pages_per_domain)
  OF/PER/WHAT                a budget, as in budget.rules: crawl, host or domain; life, run or day; pages, bytes_received or
                             bytes_decoded. host/pages is host/life/pages

Examples:
  seine limit -o data                               what is limited, and how far it is spent
  seine limit pages 5000 -o data                    so many pages and no more
  seine limit crawl/day/bytes_received 50GiB        a budget
  seine limit host/day/pages none                   no such budget
  seine limit pages default                         as configured again
  seine host example.com pages 200                  of one host")]
pub struct Args {
    #[arg(requires = "most")]
    limit: Option<String>,
    /// Pages, or bytes as 64MB or 1GiB; none: any number; default: as configured.
    most: Option<String>,
    #[command(flatten)]
    folder: Folder,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let Args { limit, most, folder } = args;
    if let (Some(limit), Some(most)) = (limit, most) {
        let order = match most.as_str() {
            "default" => Order::ResetLimit { limit },
            "none" => Order::SetLimit { limit, most: None },
            most => {
                let bytes =
                    config::parse_size(most).map_err(|wanted| anyhow::anyhow!("{most:?} is no limit: {wanted}"))?;
                Order::SetLimit { limit, most: Some(bytes) }
            }
        };
        return super::steer::order(&folder.output, &order);
    }
    let status = Asked::of(&folder.output)?.status()?;
    let mut text = String::new();
    for BudgetStatus { of, what, per, limit, spent, resting_hosts } in &status.budgets {
        let spent = match spent {
            Some(spent) => format!("{} of {}", grouped(*spent), grouped(*limit)),
            None => format!("{} each", grouped(*limit)),
        };
        let resting =
            if *resting_hosts > 0 { format!(", {} hosts rest", grouped(*resting_hosts)) } else { String::new() };
        text += &format!("{:<28} {spent}{resting}\n", format!("{of}/{per}/{what}"));
    }
    for (limit, most) in &status.ordered_limits {
        let most = most.map_or_else(|| "none".to_owned(), grouped);
        text += &format!("{limit:<28} {most}, by order; seine limit {limit} default undoes it\n");
    }
    super::print(if text.is_empty() { "nothing is limited\n" } else { &text })
}
