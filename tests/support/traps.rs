//! Valuable pages with six traps next to them: a calendar with days, paths that repeat themselves, and a list in every
//! order.

// Each test binary uses its own part of this.
#![allow(dead_code)]

use std::fmt::Write;

use fastrand::Rng;
use time::Month;

pub const NAVIGATION: &str =
    "<nav><a href=/>Home</a> <a href=/page/1>Journal</a> <p>The harbour journal of Saltmere, with tide tables</nav>";

/// A natural text: the same few words again and again, and some rare ones.
pub fn text(number: usize) -> String {
    let mut rng = Rng::with_seed(number as u64);
    let mut text = String::new();
    for _ in 0..80 {
        let rank = (8000.0_f64).powf(rng.f64()) as u64;
        let mut word = Rng::with_seed(rank);
        let letters: String = (0..3 + word.usize(..5)).map(|_| word.lowercase()).collect();
        write!(text, "{letters} ").unwrap();
    }
    text
}

pub fn links<U: AsRef<str>>(urls: &[U]) -> String {
    urls.iter().map(|url| format!("<a href=\"{}\">more</a> ", url.as_ref().replace('&', "&amp;"))).collect()
}

/// `/page/1` to `/page/{pages}`: each links to two more, to a month, and to the list.
fn article(number: usize, pages: usize) -> String {
    let next =
        [number * 2, number * 2 + 1].into_iter().filter(|next| *next <= pages).map(|next| format!("/page/{next}"));
    let month = format!("/calendar/{}/{}", 2016 + number / 12 % 10, number % 12 + 1);
    let next: Vec<String> = next.chain([month, "/list?show=boats".to_owned()]).collect();
    format!("<title>Page {number}</title>{NAVIGATION}<p>{}</p>{}", text(number), links(&next))
}

/// Every month of every year, with links to its neighbours and its days.
fn calendar(year: i64, month: i64) -> String {
    let name = Month::January.nth_next((month - 1).rem_euclid(12) as u8);
    let days: String = (1..=28).map(|day| format!("<td><a href=/calendar/{year}/{month}/{day}>{day}</a>")).collect();
    let at = |months: i64| {
        let month = year * 12 + month - 1 + months;
        format!("/calendar/{}/{}", month.div_euclid(12), month.rem_euclid(12) + 1)
    };
    let links = links(&[at(-1), at(1), at(12)]);
    format!("{NAVIGATION}<h1>{name} {year}</h1><tr><th>Mon<th>Tue<th>Wed{days}</table>No events. {links}")
}

/// The same twenty boats, ordered and filtered by six parameters.
fn list(query: &str) -> String {
    let mut boats: Vec<usize> = (0..20).collect();
    Rng::with_seed(query.len() as u64).shuffle(&mut boats);
    let boats: String =
        boats.iter().map(|boat| format!("<li>Boat {} of {}", text(*boat).split(' ').next().unwrap(), boat)).collect();
    let mut to = Vec::new();
    for name in ["colour", "length", "sails", "sort", "show", "year"] {
        for value in ["red", "long", "many", "best"] {
            let others = query.split('&').filter(|it| !it.is_empty() && !it.starts_with(name));
            let all: Vec<String> = others.map(str::to_owned).chain([format!("{name}={value}")]).collect();
            to.push(format!("/list?{}", all.join("&")));
        }
    }
    format!("{NAVIGATION}<ul>{boats}</ul>red long many best{}", links(&to))
}

/// A site with `pages` valuable pages.
pub fn site(path_and_query: &str, pages: usize) -> Option<String> {
    let (path, query) = path_and_query.split_once('?').unwrap_or((path_and_query, ""));
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    Some(match parts[..] {
        [""] => format!("{NAVIGATION}{}", links(&["/page/1", "/calendar/2026/11", "/loop/", "/list?show=all"])),
        ["page", number] => article(number.parse().unwrap(), pages),
        ["calendar", year, month] => calendar(year.parse().unwrap(), month.parse().unwrap()),
        ["calendar", year, month, day] => {
            let month = Month::January.nth_next(month.parse::<u8>().unwrap() - 1);
            format!("{NAVIGATION}<h1>{day} {month} {year}</h1>No events.")
        }
        ["loop", ..] => format!("{NAVIGATION}<p>About us. <a href='about/'>About</a> <a href='us/'>Us</a>"),
        ["list"] => list(query),
        _ => return None,
    })
}

/// Whether a path belongs to a trap. Months that valuable pages link to do not.
pub fn is_trap(path: &str) -> bool {
    let is_linked =
        (2016..2026).any(|year| path.starts_with(&format!("/calendar/{year}/")) && path.split('/').count() == 4);
    !is_linked && ["/calendar", "/loop", "/list"].iter().any(|trap| path.starts_with(trap))
}
