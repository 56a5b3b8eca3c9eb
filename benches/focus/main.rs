//! A crawl that looks for pages of one topic on made webs (`tests/support/topics.rs`), without a network: how many fetches it takes to
//! have nine in ten of them. Breadth first, focused, and by ACHE's strategy (`ache.rs`). One host at a time is asked, and rests for ten
//! and a half turns then.
//!
//!     cargo bench --bench focus [-- PAGES [PICTURE.svg]]

mod ache;
#[path = "../../crates/parse/tests/support/event.rs"]
mod event;
mod picture;
#[path = "../../tests/support/topics.rs"]
mod topics;
#[path = "../../tests/support/walk.rs"]
mod walk;

use picture::Curve;
use seine::config::FocusConfig;
use topics::Web;
use walk::{Walk, fetches_for};

const WEBS: u64 = 5;
/// Of a curve.
const POINTS: usize = 200;
const OFF: FocusConfig = FocusConfig { ranks: false, learns: false, hard: false, min_rank: 0.0, relevant_only: false };
const BY_PAGE: FocusConfig = FocusConfig { ranks: true, ..OFF };
const LEARNED: FocusConfig = FocusConfig { learns: true, ..BY_PAGE };

/// None: ACHE's.
const STRATEGIES: [(&str, Option<FocusConfig>); 6] = [
    ("breadth first", Some(OFF)),
    ("ACHE, hard focus", None),
    ("ACHE, soft focus", None),
    ("Seine, by the page", Some(BY_PAGE)),
    ("Seine, learned", Some(LEARNED)),
    ("Seine, learned, hard", Some(FocusConfig { hard: true, ..LEARNED })),
];

fn main() {
    let pages = std::env::args().skip(1).find_map(|arg| arg.parse().ok()).unwrap_or(20_000);
    let picture = std::env::args().skip(1).find(|arg| arg.ends_with(".svg"));
    let mut curves = STRATEGIES.map(|(name, _)| Curve { name, points: vec![0.0; POINTS + 1] });
    let mut shares = [0.0; STRATEGIES.len()];
    for seed in 1..=WEBS {
        let web = Web::new(seed, pages);
        let (reachable, wanted) = web.reachable();
        println!("web {seed}: {reachable} pages can be reached, {wanted} of them are wanted");
        for (number, (name, focus)) in STRATEGIES.into_iter().enumerate() {
            let fetched = crawl(&web, name, focus, seed);
            let found = fetched.iter().filter(|page| web.is_wanted(**page)).count();
            let took = |part| fetches_for(&web, &fetched, wanted, part);
            let shown = |part| took(part).map_or("never".to_owned(), |took| took.to_string());
            println!(
                "  {name:<22} 50 %: {:>6}  75 %: {:>6}  90 %: {:>6}  95 %: {:>6}  {:>5.1} % of them in {:>6} fetches",
                shown(0.5),
                shown(0.75),
                shown(0.9),
                shown(0.95),
                100.0 * found as f64 / wanted as f64,
                fetched.len(),
            );
            shares[number] += took(0.9).map_or(f64::NAN, |took| took as f64 / reachable as f64) / WEBS as f64;
            add(&mut curves[number].points, &web, &fetched, (reachable, wanted));
        }
    }
    println!("fetches for nine in ten of the wanted pages, of all pages, on average:");
    for ((name, _), share) in STRATEGIES.iter().zip(shares) {
        println!(
            "  {name:<22} {}",
            if share.is_nan() { "never on some".to_owned() } else { format!("{:.1} %", share * 100.0) }
        );
    }
    if let Some(path) = picture {
        std::fs::write(path, picture::draw(&curves, pages, WEBS)).expect("the picture is written");
    }
}

fn crawl(web: &Web, name: &str, focus: Option<FocusConfig>, seed: u64) -> Vec<usize> {
    let Some(focus) = focus else { return ache::crawl(web, name.contains("hard"), seed) };
    let mut walk = Walk::new(web, focus);
    walk.go(usize::MAX);
    std::mem::take(&mut walk.fetched)
}

/// One web's part of the mean.
fn add(points: &mut [f64], web: &Web, fetched: &[usize], (reachable, wanted): (usize, usize)) {
    let mut found = vec![0];
    for page in fetched {
        found.push(found[found.len() - 1] + usize::from(web.is_wanted(*page)));
    }
    for (at, point) in points.iter_mut().enumerate() {
        let fetches = (reachable * at / POINTS).min(fetched.len());
        *point += found[fetches] as f64 / wanted as f64 / WEBS as f64;
    }
}
