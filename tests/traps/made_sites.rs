//! What crawls of made sites fetch, and what they cost. `cargo test --test traps made -- --nocapture` prints the table.

use std::collections::BTreeSet;

use crate::made::{Made, endless, finite};
use crate::sites::{Crawled, crawl_up_to};

/// A crawl is stopped after this many requests.
const MOST: usize = 12_000;

/// A crawl of a made site.
struct Row {
    name: &'static str,
    got: usize,
    pages: usize,
    asked: usize,
    held: u64,
}

impl Row {
    fn of(made: &Made) -> Row {
        let Crawled { asked, held } = crawl_up_to(MOST, &made.page, 1);
        let got: BTreeSet<String> = asked.iter().filter_map(|path| (made.real)(path)).collect();
        let got: BTreeSet<String> = got.into_iter().filter(|path| (made.page)(path).is_some()).collect();
        let row = Row { name: made.name, got: got.len(), pages: made.pages, asked: asked.len(), held };
        let Row { name, got, pages, asked, held } = &row;
        let beside = (asked - got) * 100 / asked;
        eprintln!("| {name} | {got} of {pages} | {asked} | {beside} % | {held} |");
        row
    }
}

#[test]
fn made_small_sites_cost_at_most_1000_requests() {
    for made in endless(40) {
        let Row { name, got, pages, asked, .. } = Row::of(&made);
        assert!(got == pages && asked <= 1000, "{name}: {got} of {pages} pages in {asked} requests");
    }
}

#[test]
fn made_traps_beside_4000_pages_take_at_most_15_percent() {
    for made in endless(4000) {
        let Row { name, got, pages, asked, .. } = Row::of(&made);
        let is_within = (asked - got) * 100 <= asked * 15;
        assert!(got == pages && is_within, "{name}: {got} of {pages} pages in {asked} requests");
    }
}

/// The town has 100 events and 100 months with one, and a calendar without end around them.
#[test]
fn made_sites_that_look_endless_are_complete() {
    for made in finite() {
        let Row { name, got, pages, asked, held } = Row::of(&made);
        assert!(got == pages, "{name}: {got} of {pages} pages in {asked} requests, {held} left");
        assert!(held == 0 || asked <= 2000, "{name}: {asked} requests");
    }
}
