//! Which edited copies are found, and which different pages are taken for copies. Each page goes the way of a crawl: the
//! text is read from the markup, and the frontier says of which page it is a near duplicate.

use std::path::Path;

use fastrand::Rng;

use super::edit::{Edit, places};
use super::made::{Differs, article, list, product};
use super::{Asking, has_text, pages_in};

const ARTICLES: u64 = 300;
const LISTS: u64 = 40;
const PRODUCTS: u64 = 40;
/// Pages read from a folder, at most.
const REAL: usize = 1000;

/// In shorter pages a word is more than one of 100.
const MIN_WORDS: usize = 100;

const COPIES: [(&str, &[Edit]); 12] = [
    ("3 of 1,000 words replaced", &[Edit::Replace(3)]),
    ("10 of 1,000 words replaced", &[Edit::Replace(10)]),
    ("20 of 1,000 words replaced", &[Edit::Replace(20)]),
    ("30 of 1,000 words replaced", &[Edit::Replace(30)]),
    ("50 of 1,000 words replaced", &[Edit::Replace(50)]),
    ("10 of 1,000 words inserted", &[Edit::Insert(10)]),
    ("10 of 1,000 words dropped, up to 20 neighbours each", &[Edit::Drop(10)]),
    ("another page frame", &[Edit::Frame]),
    ("another page frame, 10 of 1,000 words replaced", &[Edit::Frame, Edit::Replace(10)]),
    ("200 of 1,000 words replaced", &[Edit::Replace(200)]),
    ("500 of 1,000 words replaced", &[Edit::Replace(500)]),
    ("800 of 1,000 words replaced", &[Edit::Replace(800)]),
];
/// The last of these are no copies any more.
const NO_COPIES: usize = 3;

/// Pages of a kind: how many were asked for, how many were found, and how many named a wrong page.
#[derive(Default)]
struct Row {
    asked: u64,
    found: u64,
    wrong: u64,
}

impl Row {
    fn print(&self, of: &str, kind: &str) {
        let Row { asked, found, wrong } = self;
        println!("| {of} | {kind} | {asked} | {found} | {wrong} |");
    }
}

pub fn measure(folder: Option<&Path>) {
    println!("| pages | copies | asked | copy of the right page | of a wrong page |\n|---|---|---|---|---|");
    let articles: Vec<String> = (0..ARTICLES).map(|number| article(number).html()).collect();
    let mut all = edited("articles", &articles);
    let lists: Vec<String> = (0..LISTS).map(|number| list(7, number, 150).html()).collect();
    add(&mut all, &edited("lists of links", &lists));
    for (name, differs) in [("title", Differs::Title), ("list", Differs::List), ("numbers", Differs::Numbers)] {
        for common in [8, 20, 60] {
            let of_shop = |number| product(common as u64, number, common, differs).html();
            let wrong = different(&(0..PRODUCTS).map(of_shop).collect::<Vec<_>>());
            let row = Row { asked: PRODUCTS, found: 0, wrong };
            row.print(&format!("products, {} common words", common * 16), &format!("none: other {name}"));
            add(&mut all, &row);
        }
    }
    if let Some(folder) = folder {
        let mut real: Vec<String> =
            pages_in(folder).map(|(_, body)| String::from_utf8_lossy(&body).into_owned()).collect();
        Rng::with_seed(5).shuffle(&mut real);
        real.truncate(REAL);
        add(&mut all, &edited("of the folder", &real));
    }
    let Row { found, wrong, .. } = all;
    println!("precision {:.3}", found as f64 / (found + wrong).max(1) as f64);
}

fn add(all: &mut Row, more: &Row) {
    *all = Row { asked: all.asked + more.asked, found: all.found + more.found, wrong: all.wrong + more.wrong };
}

/// How many pages are taken for copies of earlier ones.
fn different(pages: &[String]) -> u64 {
    let mut asking = Asking::new();
    pages.iter().filter(|page| asking.ask(page.as_bytes(), true).is_some()).count() as u64
}

/// Asks for all pages, then for edited copies of those that are no copies. Returns the sum, without pages that are short.
fn edited(of: &str, pages: &[String]) -> Row {
    let mut asking = Asking::new();
    let (mut originals, mut all) = (Vec::new(), Row { asked: pages.len() as u64, ..Row::default() });
    for page in pages {
        match asking.ask(page.as_bytes(), true) {
            Some(_) => all.wrong += 1,
            None if has_text(page.as_bytes()) && places(page).len() >= MIN_WORDS => {
                originals.push((asking.url(), page))
            }
            None => {}
        }
    }
    all.print(of, "none: the pages themselves");
    println!("| {of} | {} of {} have 100 words | | | |", originals.len(), pages.len());
    let mut rng = Rng::with_seed(3);
    for (number, (kind, edits)) in COPIES.iter().enumerate() {
        let mut row = Row::default();
        for (url, page) in &originals {
            let copy = edits.iter().fold((*page).clone(), |copy, edit| edit.apply(&copy, &mut rng));
            let answer = asking.ask(copy.as_bytes(), false);
            let is_right = answer.as_ref().is_some_and(|of| of.url == *url && number + NO_COPIES < COPIES.len());
            row.asked += 1;
            row.found += u64::from(is_right);
            row.wrong += u64::from(answer.is_some() && !is_right);
        }
        row.print(of, kind);
        add(&mut all, &row);
    }
    all
}
