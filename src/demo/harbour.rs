//! `harbour.localhost`: ships, quays, arrivals and people; redirects of every sort; a customs house nobody may enter.

use super::entry::{Entry, Town};
use super::skin::{Page, list, slug};
use super::words::{CARGO, FIRST_NAMES, PORTS, Pen, QUAYS, SHIPS, SURNAMES, TRADES, lines};

const HOST: &str = "harbour";
const DAYS: std::ops::RangeInclusive<u32> = 1..=14;
const PEOPLE: usize = 20;

pub(super) fn entries(town: &Town) -> Vec<Entry> {
    let mut entries =
        vec![robots(town), sitemap(town), front(town), fleet(town), quays(town), arrivals(town), people(town)];
    entries.extend((0..SHIPS.len()).map(|index| ship(town, index)));
    entries.extend((0..QUAYS.len()).map(|index| quay(town, index)));
    entries.extend(DAYS.map(|day| arrivals_of(town, day)));
    entries.extend((0..PEOPLE).map(|index| person(town, index)));
    entries.extend(customs(town));
    entries.extend(moved(town));
    entries
}

fn robots(town: &Town) -> Entry {
    let sitemap = town.url(HOST, "/sitemap.txt");
    let text = format!(
        "# Ships may go anywhere but the customs house.\nUser-agent: *\nDisallow: /customs/\nAllow: /customs/hours\n\n\
         Sitemap: {sitemap}\n"
    );
    Entry::new(HOST, "/robots.txt", "text/plain", text)
}

/// The oldest form still read: one URL a line (sitemaps.org, "Text file").
fn sitemap(town: &Town) -> Entry {
    let paths = ["/", "/ships/", "/quays/", "/arrivals/", "/people/"];
    let lines: String = paths.iter().map(|path| format!("{}\n", town.url(HOST, path))).collect();
    Entry::new(HOST, "/sitemap.txt", "text/plain; charset=utf-8", lines)
}

fn front(town: &Town) -> Entry {
    let mut pen = Pen::new("the harbour");
    let doors = [
        ("/ships/", "The fleet, ship by ship"),
        ("/quays/", "The six quays"),
        ("/arrivals/", "Arrivals this fortnight"),
        ("/people/", "People of the harbour"),
        ("/customs/hours", "Customs house: opening hours"),
        ("/customs/ledger", "Customs house: the ledger (not for visitors)"),
        ("/customs/seized", "Customs house: things seized (not for visitors)"),
        ("/fish", "Where the fish went"),
        ("/old-harbour", "The old harbour"),
        ("/round-and-round", "The one-way street"),
        ("/away", "Over the horizon"),
    ];
    let intro = include_str!("assets/harbour/front.html");
    let main = format!("{intro}{}{}", pen.paragraphs(&HARBOUR_TALK, 2, 4), links(&doors));
    page(town, "/", Page::new("Welcome to the harbour", main))
}

/// Ships, all of them.
fn fleet(town: &Town) -> Entry {
    let rows: String = (0..SHIPS.len())
        .map(|index| {
            let Ship { name, kind, port, .. } = describe(index);
            format!("<tr><td><a href=\"/ships/{}\">{name}</a></td><td>{kind}</td><td>{port}</td></tr>\n", slug(name))
        })
        .collect();
    let main = format!("<table>\n<tr><th>Ship</th><th>Rig</th><th>Home port</th></tr>\n{rows}</table>\n");
    page(town, "/ships/", Page::new("The fleet", main))
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

fn ship(town: &Town, index: usize) -> Entry {
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
        .beside(town.url("museum", "/exhibits/"), "Things ships left behind");
    page(town, &path, page_)
}

fn quays(town: &Town) -> Entry {
    let links: Vec<_> = QUAYS.iter().map(|quay| (format!("/quays/{}", slug(quay)), quay.to_string())).collect();
    let main = format!("{}{}", Pen::new("quays").paragraph(&HARBOUR_TALK, 4), list(&links));
    page(town, "/quays/", Page::new("The six quays", main))
}

fn quay(town: &Town, index: usize) -> Entry {
    let name = QUAYS[index];
    let path = format!("/quays/{}", slug(name));
    let berths: Vec<_> = (index..SHIPS.len()).step_by(QUAYS.len()).map(|ship| SHIPS[ship]).collect();
    let links: Vec<_> = berths.iter().map(|ship| (format!("/ships/{}", slug(ship)), ship.to_string())).collect();
    let text = Pen::new(&path).paragraphs(&HARBOUR_TALK, 3, 3);
    page(town, &path, Page::new(name, format!("{text}<h2>Who lies here</h2>\n{}", list(&links))))
}

fn arrivals(town: &Town) -> Entry {
    let links: Vec<_> = DAYS.map(|day| (format!("/arrivals/2026-11-{day:02}"), format!("{day} November"))).collect();
    page(town, "/arrivals/", Page::new("Arrivals this fortnight", list(&links)))
}

fn arrivals_of(town: &Town, day: u32) -> Entry {
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
    page(town, &path, Page::new(format!("Arrivals on {day} November"), main).beside("/arrivals/", "The fortnight"))
}

fn people(town: &Town) -> Entry {
    let links: Vec<_> =
        (0..PEOPLE).map(|index| (format!("/people/{}", slug(&person_name(index))), person_name(index))).collect();
    page(town, "/people/", Page::new("People of the harbour", list(&links)))
}

fn person_name(index: usize) -> String {
    format!("{} {}", FIRST_NAMES[index % FIRST_NAMES.len()], SURNAMES[(index * 5 + 3) % SURNAMES.len()])
}

fn person(town: &Town, index: usize) -> Entry {
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
    page(town, &path, Page::new(name, main).beside("/people/", "Everyone else"))
}

/// Two pages nobody may fetch, and one exception.
fn customs(town: &Town) -> Vec<Entry> {
    let secret = "<p>If you are a crawler and read this, you did not read robots.txt.</p>\n";
    let hours = "<p>The customs house is open on weekdays from slack water to tea time. The ledger is not.</p>\n";
    vec![
        page(town, "/customs/ledger", Page::new("The ledger", secret)),
        page(town, "/customs/seized", Page::new("Things seized", secret)),
        page(town, "/customs/hours", Page::new("Opening hours", hours)),
    ]
}

/// Redirects: to another host, a chain of three, a loop, and out of the town.
fn moved(town: &Town) -> Vec<Entry> {
    let market = town.url("market", "/goods/");
    vec![
        Entry::moved(HOST, "/fish", 301, &market),
        Entry::moved(HOST, "/old-harbour", 301, "/older-harbour"),
        Entry::moved(HOST, "/older-harbour", 308, "/oldest-harbour"),
        Entry::moved(HOST, "/oldest-harbour", 302, "quays/"),
        Entry::moved(HOST, "/round-and-round", 302, "/and-round-again"),
        Entry::moved(HOST, "/and-round-again", 307, "/round-and-round"),
        Entry::moved(HOST, "/away", 302, "https://horizon.example/"),
    ]
}

fn page(town: &Town, path: &str, page: Page) -> Entry {
    Entry::html(HOST, path, page.on(HOST, town))
}

fn links(links: &[(&str, &str)]) -> String {
    list(&links.iter().map(|(path, text)| (path.to_string(), text.to_string())).collect::<Vec<_>>())
}

const HARBOUR_TALK: [&str; 12] = lines(include_str!("assets/harbour/talk.txt"));
const SHIP_TALK: [&str; 14] = lines(include_str!("assets/harbour/ships.txt"));
const PEOPLE_TALK: [&str; 12] = lines(include_str!("assets/harbour/people.txt"));
