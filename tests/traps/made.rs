//! Made sites: endless ones, alone and beside many real pages, and large ones that only look endless.

use std::cell::Cell;
use std::fmt::Write;

use fastrand::Rng;

use crate::site::{links, text};

pub const FRAME: &str = "<nav><a href=/>Home</a> <a href=/page/1>News</a></nav><p>The harbour town of Saltmere</p>";

/// The page at a path and query.
type Page = Box<dyn Fn(&str) -> Option<String>>;

/// A site, and which of its paths are real pages.
pub struct Made {
    pub name: &'static str,
    pub page: Page,
    /// The real page behind a path and query.
    pub real: fn(&str) -> Option<String>,
    /// Number of real pages.
    pub pages: usize,
}

/// A trap: the page at a path and query, and the links of the n-th real page that lead there.
struct Trap {
    name: &'static str,
    page: fn(&str, &str) -> Option<String>,
    entries: fn(usize) -> Vec<String>,
}

const TRAPS: [Trap; 10] = [
    Trap { name: "tag combinations in the path", page: tags, entries: |n| vec![format!("/tags/{}", TAGS[n % 14])] },
    Trap {
        name: "tag combinations in the query",
        page: facets,
        entries: |n| vec![format!("/goods?tag={}", TAGS[n % 14])],
    },
    Trap { name: "a search that echoes", page: search, entries: |n| vec![format!("/search?q={}", TAGS[n % 14])] },
    Trap { name: "histories of a wiki", page: history, entries: |n| vec![format!("/page/{n}?action=history")] },
    Trap { name: "a maze of made-up words", page: maze, entries: |_| vec!["/maze/".into()] },
    Trap { name: "a maze in the root", page: root_maze, entries: |_| vec!["/ravel".into()] },
    Trap { name: "a calendar", page: calendar, entries: |_| vec!["/calendar/2026-11".into()] },
    Trap { name: "a list without a last page", page: archive, entries: |_| vec!["/archive?page=1".into()] },
    Trap { name: "links that grow", page: growing, entries: |_| vec!["/about/".into()] },
    Trap { name: "links with the time", page: clock, entries: |_| vec!["/status?t=1".into()] },
];

const TAGS: [&str; 14] =
    ["blue", "calm", "dry", "early", "fast", "green", "heavy", "iron", "joint", "kind", "late", "mild", "new", "old"];

/// Every endless site with this many real pages.
pub fn endless(pages: usize) -> Vec<Made> {
    let beside = |trap: Trap| Made {
        name: trap.name,
        page: Box::new(move |path_and_query| {
            let (path, query) = path_and_query.split_once('?').unwrap_or((path_and_query, ""));
            let number = path.strip_prefix("/page/").and_then(|number| number.parse::<usize>().ok());
            match number.filter(|number| query.is_empty() && (1..=pages).contains(number)) {
                Some(number) => {
                    let next = [number * 2, number * 2 + 1].into_iter().filter(|next| *next <= pages);
                    let to: Vec<String> =
                        next.map(|next| format!("/page/{next}")).chain((trap.entries)(number)).collect();
                    Some(format!("<title>Page {number}</title>{FRAME}<p>{}</p>{}", text(number), links(&to)))
                }
                None if path == "/" => Some(format!("{FRAME}{}", links(&["/page/1"]))),
                None => (trap.page)(path, query),
            }
        }),
        real: |path| path.strip_prefix("/page/").is_some_and(|it| it.parse::<usize>().is_ok()).then(|| path.to_owned()),
        pages,
    };
    TRAPS.into_iter().map(beside).chain([forum(pages)]).collect()
}

fn made_up(seed: u64) -> String {
    let mut rng = Rng::with_seed(seed);
    (0..3 + rng.usize(..3))
        .map(|_| ["ba", "ke", "li", "mo", "nu", "ra", "si", "to", "vu", "xe"][rng.usize(..10)])
        .collect()
}

fn hash(text: &str) -> u64 {
    text.bytes().fold(7, |hash: u64, byte| hash.wrapping_mul(0x0100_0000_01b3) ^ u64::from(byte))
}

/// The same goods, for every set of tags.
fn tags(path: &str, _: &str) -> Option<String> {
    let chosen: Vec<&str> = path.strip_prefix("/tags/")?.split('+').collect();
    let more = TAGS.iter().filter(|tag| !chosen.contains(tag)).map(|tag| {
        let mut all = [chosen.as_slice(), &[tag]].concat();
        all.sort_unstable();
        format!("/tags/{}", all.join("+"))
    });
    Some(format!("{FRAME}<h1>Goods: {}</h1>{}{}", chosen.join(" and "), goods(path), links(&more.collect::<Vec<_>>())))
}

/// The same in the query, in the order of the clicks.
fn facets(path: &str, query: &str) -> Option<String> {
    let chosen: Vec<&str> = query.strip_prefix("tag=").filter(|_| path == "/goods")?.split(',').collect();
    let more =
        TAGS.iter().filter(|tag| !chosen.contains(tag)).map(|tag| format!("/goods?tag={},{tag}", chosen.join(",")));
    Some(format!("{FRAME}<h1>Goods: {}</h1>{}{}", chosen.join(" and "), goods(query), links(&more.collect::<Vec<_>>())))
}

fn goods(salt: &str) -> String {
    let mut rng = Rng::with_seed(hash(salt));
    let mut all: Vec<usize> = (0..40).collect();
    rng.shuffle(&mut all);
    all.iter().take(12).map(|good| format!("<li>{} in {}</li>", made_up(*good as u64), TAGS[good % 14])).collect()
}

/// Repeats what was searched for, and proposes other searches.
fn search(path: &str, query: &str) -> Option<String> {
    let words: Vec<&str> = query.strip_prefix("q=").filter(|_| path == "/search")?.split('+').collect();
    let mut rng = Rng::with_seed(hash(query));
    let other =
        |word: String| format!("/search?q={}", [&words[words.len().saturating_sub(2)..], &[&word]].concat().join("+"));
    let to: Vec<String> = (0..6).map(|_| other(made_up(rng.u64(..)))).collect();
    let asked = words.join(" ");
    let also: String = to.iter().map(|to| format!("<a href=\"{to}\">{}</a> ", to[10..].replace('+', " "))).collect();
    Some(format!("<title>{asked}</title>{FRAME}<h1>No results for {asked}</h1><p>Others looked for: {also}</p>"))
}

/// Each page has 60 revisions: their list, their texts, and the difference of any two.
fn history(path: &str, query: &str) -> Option<String> {
    let number: usize = path.strip_prefix("/page/")?.parse().ok()?;
    let revision = |name: &str| query.split('&').find_map(|it| it.strip_prefix(name)).and_then(|it| it.parse().ok());
    let at = |what: String| format!("/page/{number}?{what}");
    let (old, offset): (Option<usize>, Option<usize>) = (revision("oldid="), revision("offset="));
    Some(match old {
        Some(old) => {
            let mut words: Vec<String> = text(number).split(' ').map(str::to_owned).collect();
            let place = old % words.len();
            words[place] = made_up(old as u64);
            let near = [old.saturating_sub(1), old + 1];
            let near =
                near.iter().map(|to| at(format!("diff={to}&oldid={old}"))).chain([at(format!("oldid={}", near[0]))]);
            format!("{FRAME}<p>Revision {old}</p>{}{}", words.join(" "), links(&near.collect::<Vec<_>>()))
        }
        None => {
            let from = offset.unwrap_or(0);
            let shown = (from..from + 20).filter(|at| *at < 60).map(|at| number * 60 + at);
            let to = shown.flat_map(|id| [at(format!("oldid={id}")), at(format!("diff={}&oldid={id}", id + 1))]);
            let next = (from < 40).then(|| at(format!("action=history&offset={}", from + 20)));
            format!("{FRAME}<h1>History of page {number}</h1>{}", links(&to.chain(next).collect::<Vec<_>>()))
        }
    })
}

fn babble(path: &str, into: fn(&str, &str) -> String) -> String {
    let mut rng = Rng::with_seed(hash(path));
    let mut body: String = FRAME.to_owned();
    for _ in 0..60 {
        write!(body, "{} ", made_up(rng.u64(..))).unwrap();
    }
    let to: Vec<String> = (0..8).map(|_| into(&made_up(rng.u64(..)), &made_up(rng.u64(..)))).collect();
    body + &to.iter().map(|to| format!("<a href={to}>{}</a> ", made_up(hash(to)))).collect::<String>()
}

fn maze(path: &str, _: &str) -> Option<String> {
    path.starts_with("/maze/").then(|| babble(path, |one, other| format!("/maze/{one}/{other}")))
}

fn root_maze(path: &str, _: &str) -> Option<String> {
    path[1..].bytes().all(|byte| byte.is_ascii_lowercase()).then(|| babble(path, |one, other| format!("/{one}{other}")))
}

/// Months and days, without an event.
fn calendar(path: &str, _: &str) -> Option<String> {
    let mut parts = path.strip_prefix("/calendar/")?.split('-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next());
    if let Some(day) = day {
        return Some(format!("{FRAME}<h1>{}.{month}.{year}</h1>Nothing is planned.", day?));
    }
    let at = |by: i64| {
        (year * 12 + month - 1 + by).div_euclid(12).to_string() + &format!("-{}", (month - 1 + by).rem_euclid(12) + 1)
    };
    let to = [-1, 1, 12].map(|by| format!("/calendar/{}", at(by)));
    let days = (1..=28).map(|day| format!("/calendar/{year}-{month}-{day}"));
    Some(format!(
        "{FRAME}<h1>{month}.{year}</h1>Nothing is planned.{}",
        links(&to.into_iter().chain(days).collect::<Vec<_>>())
    ))
}

fn archive(path: &str, query: &str) -> Option<String> {
    let page: u64 = query.strip_prefix("page=").filter(|_| path == "/archive")?.parse().ok()?;
    Some(format!(
        "{FRAME}<p>Page {page} of the archive is empty.</p>{}",
        links(&[format!("/archive?page={}", page + 1)])
    ))
}

fn growing(path: &str, _: &str) -> Option<String> {
    path.starts_with("/about/")
        .then(|| format!("{FRAME}<p>About the harbour. <a href='about/'>Us</a> <a href='team/'>Team</a>"))
}

fn clock(path: &str, query: &str) -> Option<String> {
    let time: u64 = query.strip_prefix("t=").filter(|_| path == "/status")?.parse().ok()?;
    Some(format!(
        "{FRAME}<p>All is well at {time}.</p>{}",
        links(&[1, 7].map(|later| format!("/status?t={}", time + later)))
    ))
}

/// Each view of a page has a session of its own in all links, and counts the guests.
fn forum(pages: usize) -> Made {
    let views = Cell::new(0_u64);
    Made {
        name: "a forum with sessions",
        page: Box::new(move |path_and_query| {
            views.set(views.get() + 1);
            let path = path_and_query.split('?').next()?;
            let number: usize = if path == "/" { 0 } else { path.strip_prefix("/topic/")?.parse().ok()? };
            let mut rng = Rng::with_seed(views.get());
            let session: String = (0..32).map(|_| rng.digit(16)).collect();
            let to = [0, number / 2, number * 2 + 1, number * 2 + 2, (number * 7 + 3) % pages];
            let to = to.into_iter().filter(|to| *to < pages).map(|to| format!("/topic/{to}?s={session}"));
            let (guests, to) = (rng.u64(2..90), links(&to.collect::<Vec<_>>()));
            Some(format!("{FRAME}<p>{}</p>{to}<p>{guests} guests. It is {}.</p>", text(number), views.get()))
        }),
        real: |path| path.split('?').next().filter(|path| path.starts_with("/topic/")).map(str::to_owned),
        pages,
    }
}

fn plain(path: &str) -> Option<String> {
    (path != "/").then(|| path.to_owned())
}

/// Sites that end, and look as if they did not.
pub fn finite() -> Vec<Made> {
    let site = |name, pages, page: fn(&str) -> Option<String>| Made { name, page: Box::new(page), real: plain, pages };
    let town = Made {
        name: "a calendar with 100 past events",
        page: Box::new(town),
        real: |path| path.starts_with("/event/").then(|| path.to_owned()),
        pages: 100,
    };
    vec![
        site("a gallery linked by next", 2000, gallery),
        site("parts by id", 3150, parts),
        town,
        site("persons of a family tree", 3000, persons),
        site("a timetable", 2040, timetable),
        site("a dictionary", 3000, dictionary),
        site("Chinese articles", 2000, chinese),
        site("goods in three orders", 1560, shop),
    ]
}

fn number(path: &str, prefix: &str, below: usize) -> Option<usize> {
    path.strip_prefix(prefix)?.parse().ok().filter(|number| *number < below)
}

fn gallery(path: &str) -> Option<String> {
    if path == "/" {
        return Some(format!("{FRAME}{}", links(&["/photo/0"])));
    }
    let photo = number(path, "/photo/", 2000)?;
    let next = (photo < 1999).then(|| format!("/photo/{}", photo + 1));
    Some(format!(
        "{FRAME}<p>Photo {photo}</p><img src=/pictures/{photo}.jpg>{}",
        links(&next.into_iter().collect::<Vec<_>>())
    ))
}

fn parts(path: &str) -> Option<String> {
    if path == "/" {
        return Some(format!("{FRAME}{}", links(&["/parts?page=0"])));
    }
    if let Some(page) = number(path, "/parts?page=", 150) {
        let parts = (page * 20..page * 20 + 20).map(|part| format!("/part?id={part}"));
        let to: Vec<String> = parts.chain((page < 149).then(|| format!("/parts?page={}", page + 1))).collect();
        return Some(format!("{FRAME}<h1>Parts, page {page}</h1>{}", links(&to)));
    }
    let part = number(path, "/part?id=", 3000)?;
    Some(format!("{FRAME}<h1>Part {part}</h1>{} mm, {} in stock", part % 90, part * 7 % 50))
}

/// A calendar without end in both directions. In the ten years before 2026 some months have an event.
fn town(path: &str) -> Option<String> {
    if path == "/" {
        return Some(format!("{FRAME}{}", links(&["/calendar/2026-11"])));
    }
    if let Some(event) = number(path, "/event/", 100) {
        return Some(format!("{FRAME}<p>{}</p>", text(event)));
    }
    let (year, month) = path.strip_prefix("/calendar/")?.split_once('-')?;
    let (month, day) = month.split_once('-').map_or((month, None), |(month, day)| (month, Some(day)));
    let months = year.parse::<i64>().ok()? * 12 + month.parse::<i64>().ok()? - 1;
    let event = 2026 * 12 + 10 - months;
    let event =
        ((1..=100).contains(&event) && day.is_none_or(|day| day == "7")).then(|| format!("/event/{}", event - 1));
    let named = event
        .as_ref()
        .map_or("Nothing is planned.".to_owned(), |event| text(event.len() + months as usize)[..40].to_owned());
    let around =
        calendar(&format!("/calendar/{year}-{month}{}", day.map_or(String::new(), |day| format!("-{day}"))), "")?;
    Some(around.replace("Nothing is planned.", &named) + &links(&event.into_iter().collect::<Vec<_>>()))
}

fn persons(path: &str) -> Option<String> {
    let person = if path == "/" { 0 } else { number(path, "/person/", 3000)? };
    let name =
        |person: usize| format!("{} {}", made_up(person as u64 * 31 % 90), made_up(1000 + person as u64 * 17 % 120));
    let to = [person * 3 + 1, person * 3 + 2, person * 3 + 3, person / 3]
        .map(|to| to.max(1))
        .into_iter()
        .filter(|to| *to < 3000);
    let to: String = to.map(|to| format!("<a href=/person/{to}>{}</a> ", name(to))).collect();
    let zero = if path == "/" { "<a href=/person/0>Begin</a>" } else { "" };
    Some(format!("{FRAME}<h1>{}</h1>born {}. Family: {to}{zero}", name(person), 1500 + person % 500))
}

fn timetable(path: &str) -> Option<String> {
    let lines: Vec<String> = (0..40).map(|line| format!("/line/{line}")).collect();
    if path == "/" {
        return Some(format!("{FRAME}{}", links(&lines)));
    }
    let (line, stop) = path.strip_prefix("/line/")?.split_once('/').unwrap_or((&path[6..], ""));
    let line: usize = line.parse().ok().filter(|line| *line < 40)?;
    if stop.is_empty() {
        let stops: Vec<String> = (0..50).map(|stop| format!("/line/{line}/{stop}")).collect();
        return Some(format!("{FRAME}<h1>Line {line}</h1>{}", links(&stops)));
    }
    let stop: usize = stop.parse().ok().filter(|stop| *stop < 50)?;
    let times: String = (0..20).map(|at| format!("<td>{}:{}", 4 + at, (stop * 7 + at * line) % 60)).collect();
    Some(format!("{FRAME}<h1>Line {line}, stop {stop}</h1>{times}{}", links(&[format!("/line/{line}")])))
}

/// Each word leads to the one before and the one after it.
fn dictionary(path: &str) -> Option<String> {
    let word = if path == "/" { 0 } else { number(path, "/word/", 3000)? };
    let near = [word.saturating_sub(1), (word + 1).min(2999), (word + 40).min(2999)];
    let to: String = near.iter().map(|to| format!("<a href=/word/{to}>{}</a> ", made_up(*to as u64))).collect();
    Some(format!("{FRAME}<h1>{}</h1>noun. {} {to}", made_up(word as u64), &text(word)[..60]))
}

fn chinese(path: &str) -> Option<String> {
    let article = if path == "/" { 0 } else { number(path, "/wen/", 2000)? };
    let mut rng = Rng::with_seed(article as u64);
    let body: String = (0..200).map(|_| char::from_u32(0x4e00 + (3000_f64.powf(rng.f64())) as u32).unwrap()).collect();
    let to = [article * 2 + 1, article * 2 + 2, article / 2].into_iter().filter(|to| *to < 2000);
    Some(format!("{FRAME}<p>{body}</p>{}", links(&to.map(|to| format!("/wen/{to}")).collect::<Vec<_>>())))
}

/// 60 goods on each of 20 shelves, 10 to a page, in three orders; two pages for each good.
fn shop(path: &str) -> Option<String> {
    let shelf = |shelf: usize, page: usize, by: &str| format!("/shelf/{shelf}?by={by}&page={page}");
    if path == "/" {
        return Some(format!("{FRAME}{}", links(&(0..20).map(|at| shelf(at, 0, "name")).collect::<Vec<_>>())));
    }
    if let Some(good) = number(path, "/good/", 1200) {
        return Some(format!("{FRAME}<h1>Bolt {good}</h1>{} by {} mm, {} in stock", good % 30, good % 70, good % 11));
    }
    let (of, query) = path.strip_prefix("/shelf/")?.split_once("?by=")?;
    let (by, page) = query.split_once("&page=")?;
    let (of, page) = (number(of, "", 20)?, number(page, "", 6)?);
    let turn = ["name", "price", "size"].iter().position(|name| *name == by)?;
    let shown = (page * 10..page * 10 + 10).map(|at| format!("/good/{}", of * 60 + (at * (turn * 2 + 1)) % 60));
    let more = (0..6).map(|page| shelf(of, page, by)).chain(["name", "price", "size"].map(|by| shelf(of, 0, by)));
    Some(format!("{FRAME}<h1>Shelf {of}</h1>Page {page}{}", links(&shown.chain(more).collect::<Vec<_>>())))
}
