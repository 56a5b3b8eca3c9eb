//! `harbour.localhost`: ships, quays, arrivals and people; redirects of every kind; a section that robots.txt forbids.

use super::entry::{Entry, House};
use super::skin::{Page, list, slug};
use super::words::{CARGO, FIRST_NAMES, PORTS, Pen, QUAYS, SHIPS, SURNAMES, TRADES, lines};
use super::written;

const DAYS: std::ops::RangeInclusive<u32> = 1..=14;
const PEOPLE: usize = 20;

pub(super) fn entries(house: &House) -> Vec<Entry> {
    let mut entries = written::pages(house, include_str!("assets/harbour/pages.txt"), &HARBOUR_TALK);
    entries.extend([fleet(house), quays(house), arrivals(house), people(house)]);
    entries.extend((0..SHIPS.len()).map(|index| ship(house, index)));
    entries.extend((0..QUAYS.len()).map(|index| quay(house, index)));
    entries.extend(DAYS.map(|day| arrivals_of(house, day)));
    entries.extend((0..PEOPLE).map(|index| person(house, index)));
    entries
}

/// The list of all ships.
fn fleet(house: &House) -> Entry {
    let rows: String = (0..SHIPS.len())
        .map(|index| {
            let Ship { name, kind, port, .. } = describe(index);
            format!("<tr><td><a href=\"/ships/{}\">{name}</a></td><td>{kind}</td><td>{port}</td></tr>\n", slug(name))
        })
        .collect();
    let main = format!("<table>\n<tr><th>Ship</th><th>Rig</th><th>Home port</th></tr>\n{rows}</table>\n");
    house.page("/ships/", Page::new("The fleet", main))
}

struct Ship {
    name: &'static str,
    kind: &'static str,
    port: &'static str,
    cargo: &'static str,
    built: u32,
}

fn describe(index: usize) -> Ship {
    let name = SHIPS[index % SHIPS.len()];
    let mut pen = Pen::new(name);
    let kind = pen.pick(&["ketch", "schooner", "steam drifter", "brig", "barge", "lugger", "motor coaster"]);
    Ship { name, kind, port: pen.pick(&PORTS), cargo: pen.pick(&CARGO), built: pen.number(1860, 1958) }
}

fn ship(house: &House, index: usize) -> Entry {
    let Ship { name, kind, port, cargo, built } = describe(index);
    let path = format!("/ships/{}", slug(name));
    let mut pen = Pen::new(&path);
    let quay = QUAYS[index % QUAYS.len()];
    let keeper = (index * 7) % PEOPLE;
    let intro = format!(
        "<p>The <em>{name}</em> is a {kind} of {port}, built in {built}. She carries {cargo}, lies at \
         <a href=\"/quays/{}\">{quay}</a> when she is in, and answers for her lines to \
         <a href=\"/people/{}\">{}</a>.</p>\n",
        slug(quay),
        slug(&person_name(keeper)),
        person_name(keeper),
    );
    let main = format!("{intro}{}", pen.paragraphs(&SHIP_TALK, 3, 4));
    let next = SHIPS[(index + 1) % SHIPS.len()];
    let page_ = Page::new(name, main)
        .beside("/ships/", "The whole fleet")
        .beside(format!("/ships/{}", slug(next)), next)
        .beside(format!("/arrivals/2026-11-{:02}", index % 14 + 1), "When she last came in")
        .beside(house.url("museum", "/exhibits/"), "Things ships left behind");
    house.page(&path, page_)
}

fn quays(house: &House) -> Entry {
    let links: Vec<_> = QUAYS.iter().map(|quay| (format!("/quays/{}", slug(quay)), quay.to_string())).collect();
    let main = format!("{}{}", Pen::new("quays").paragraph(&HARBOUR_TALK, 4), list(&links));
    house.page("/quays/", Page::new("The six quays", main))
}

fn quay(house: &House, index: usize) -> Entry {
    let name = QUAYS[index];
    let path = format!("/quays/{}", slug(name));
    let berths: Vec<_> = (index..SHIPS.len()).step_by(QUAYS.len()).map(|ship| SHIPS[ship]).collect();
    let links: Vec<_> = berths.iter().map(|ship| (format!("/ships/{}", slug(ship)), ship.to_string())).collect();
    let text = Pen::new(&path).paragraphs(&HARBOUR_TALK, 3, 3);
    house.page(&path, Page::new(name, format!("{text}<h2>Who lies here</h2>\n{}", list(&links))))
}

fn arrivals(house: &House) -> Entry {
    let links: Vec<_> = DAYS.map(|day| (format!("/arrivals/2026-11-{day:02}"), format!("{day} November"))).collect();
    house.page("/arrivals/", Page::new("Arrivals this fortnight", list(&links)))
}

fn arrivals_of(house: &House, day: u32) -> Entry {
    let path = format!("/arrivals/2026-11-{day:02}");
    let mut pen = Pen::new(&path);
    let rows: String = (0..5)
        .map(|nth| {
            let Ship { name, port, cargo, .. } = describe(day as usize * 5 + nth);
            let hour = pen.fill("{hour}");
            format!(
                "<tr><td>{hour}</td><td><a href=\"/ships/{}\">{name}</a></td><td>{port}</td><td>{cargo}</td></tr>\n",
                slug(name)
            )
        })
        .collect();
    let table = format!("<table>\n<tr><th>At</th><th>Ship</th><th>From</th><th>With</th></tr>\n{rows}</table>\n");
    let main = format!("{table}{}", pen.paragraphs(&SHIP_TALK, 2, 3));
    house.page(&path, Page::new(format!("Arrivals on {day} November"), main).beside("/arrivals/", "The fortnight"))
}

fn people(house: &House) -> Entry {
    let links: Vec<_> =
        (0..PEOPLE).map(|index| (format!("/people/{}", slug(&person_name(index))), person_name(index))).collect();
    house.page("/people/", Page::new("People of the harbour", list(&links)))
}

fn person_name(index: usize) -> String {
    format!("{} {}", FIRST_NAMES[index % FIRST_NAMES.len()], SURNAMES[(index * 5 + 3) % SURNAMES.len()])
}

fn person(house: &House, index: usize) -> Entry {
    let name = person_name(index);
    let path = format!("/people/{}", slug(&name));
    let trade = TRADES[index % TRADES.len()];
    let mut pen = Pen::new(&path);
    let ship = SHIPS[(index * 3) % SHIPS.len()];
    let intro = format!(
        "<p>{name} is the harbour's {trade}, and has been since {}. Ask about the \
         <a href=\"/ships/{}\">{ship}</a>; you will be there a while.</p>\n",
        pen.number(1970, 2019),
        slug(ship)
    );
    let main = format!("{intro}{}", pen.paragraphs(&PEOPLE_TALK, 3, 3));
    house.page(&path, Page::new(name, main).beside("/people/", "Everyone else"))
}

const HARBOUR_TALK: [&str; 12] = lines(include_str!("assets/harbour/talk.txt"));
const SHIP_TALK: [&str; 14] = lines(include_str!("assets/harbour/ships.txt"));
const PEOPLE_TALK: [&str; 12] = lines(include_str!("assets/harbour/people.txt"));
