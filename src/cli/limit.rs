//! `seine limit`: changes the limits of a crawl, running or stopped.

use std::process::ExitCode;

use super::asked::Asked;
use super::folder::Folder;
use crate::api::schema::{BudgetStatus, Order};
use crate::config;
use crate::telemetry::progress::grouped;

/// Show the limits of a crawl, or change one. The change overrides the configuration and survives restarts.
#[derive(clap::Args)]
#[command(after_help = "\
Limits:
  pages                      all runs together, as --max-pages (target_storage.visited_page_limit); then the crawl ends
  host-pages                 per host (link_storage.max_pages_per_domain)
  OF/PER/WHAT                a budget, as in budget.rules: crawl, host or domain; life, run or day; pages, bytes_received or
                             bytes_decoded. host/pages is host/life/pages

Examples:
  seine limit -o data                               show limits and how much is used
  seine limit pages 5000 -o data                    end after 5000 pages
  seine limit crawl/day/bytes_received 50GiB        set a budget
  seine limit host/day/pages none                   remove a budget
  seine limit pages default                         use the configured value again
  seine host example.com pages 200                  limit one host")]
pub(super) struct Args {
    #[arg(requires = "most")]
    limit: Option<String>,
    /// Pages, or bytes such as 64MB or 1GiB; none: no limit; default: as configured.
    most: Option<String>,
    #[command(flatten)]
    folder: Folder,
}

pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let Args { limit, most, folder } = args;
    if let (Some(limit), Some(most)) = (limit, most) {
        let order = match most.as_str() {
            "default" => Order::ResetLimit { limit },
            "none" => Order::SetLimit { limit, most: None },
            most => {
                let of_pages = || "expected a number of pages, at least 1".to_owned();
                let number = config::parse_size(most)
                    .map_err(|of_bytes| if limit.ends_with("pages") { of_pages() } else { of_bytes })
                    .map_err(|wanted| anyhow::anyhow!("{most:?} is not a limit: {wanted}"))?;
                Order::SetLimit { limit, most: Some(number) }
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
        let resting = if *resting_hosts > 0 {
            format!(", {} hosts have used it up", grouped(*resting_hosts))
        } else {
            String::new()
        };
        text += &format!("{:<28} {spent}{resting}\n", format!("{of}/{per}/{what}"));
    }
    for (limit, most) in &status.ordered_limits {
        let most = most.map_or_else(|| "none".to_owned(), grouped);
        text += &format!("{limit:<28} {most}, by order; undo with: seine limit {limit} default\n");
    }
    super::print(if text.is_empty() { "no limits\n" } else { &text })
}
