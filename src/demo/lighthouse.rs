//! `lighthouse.localhost`: where things go wrong: pages that are slow, busy, broken, missing and gone.

use std::time::Duration;

use super::entry::{Entry, Town};
use super::skin::{Page, list};

const HOST: &str = "lighthouse";
/// How long the slow page takes.
const SLOW: Duration = Duration::from_secs(2);

pub(super) fn entries(town: &Town) -> Vec<Entry> {
    let robots = "User-agent: *\nDisallow: /lamp/\nAllow: /lamp/stairs\nDisallow: /*.log$\n";
    vec![
        Entry::new(HOST, "/robots.txt", "text/plain", robots),
        front(town),
        slow(town),
        busy(town),
        broken(town),
        missing(town),
        gone(town),
        lamp(town, "/lamp/room"),
        lamp(town, "/lamp/stairs"),
        Entry::new(HOST, "/keeper.log", "text/plain", "Nothing to report.\n"),
    ]
}

fn front(town: &Town) -> Entry {
    let doors = [
        ("/slow", "The lamp turns (two seconds a turn)"),
        ("/busy", "The keeper's study (knock first)"),
        ("/broken", "The telegraph"),
        ("/missing", "The second lighthouse"),
        ("/gone", "The old lens"),
        ("/lamp/stairs", "The stairs"),
        ("/lamp/room", "The lamp room (no visitors)"),
        ("/keeper.log", "The keeper's log (private)"),
    ];
    let doors: Vec<_> = doors.iter().map(|(path, text)| (path.to_string(), text.to_string())).collect();
    let intro = include_str!("assets/lighthouse/front.html");
    page(town, "/", Page::new("Wend Point Light", format!("{intro}{}", list(&doors))))
}

fn slow(town: &Town) -> Entry {
    let main = "<p>One turn of the lamp takes two seconds, and so did this page.</p>\n";
    let mut entry = page(town, "/slow", Page::new("The lamp turns", main));
    entry.delay = SLOW;
    entry
}

/// 503 with Retry-After at the first request, then a page.
fn busy(town: &Town) -> Entry {
    let main = "<p>You came back. Most people knock once and tell everyone the keeper is never in.</p>\n";
    let mut entry = page(town, "/busy", Page::new("The keeper's study", main));
    entry.busy_at_first = true;
    entry
}

fn broken(town: &Town) -> Entry {
    page(town, "/broken", Page::new("The telegraph", "<p>−−− ·−· −−· ·− (500)</p>\n")).status(500)
}

fn missing(town: &Town) -> Entry {
    let main = "<p>There never was a second lighthouse. People keep linking to it all the same.</p>\n";
    page(town, "/missing", Page::new("No such lighthouse", main)).status(404)
}

fn gone(town: &Town) -> Entry {
    page(town, "/gone", Page::new("The old lens", "<p>Sold in 1911. It is not coming back.</p>\n")).status(410)
}

fn lamp(town: &Town, path: &str) -> Entry {
    page(town, path, Page::new("Up the tower", "<p>One hundred and twelve steps, and a rope for the last ten.</p>\n"))
}

fn page(town: &Town, path: &str, page: Page) -> Entry {
    Entry::html(HOST, path, page.on(HOST, town))
}
