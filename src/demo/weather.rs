//! `weather.localhost`: a few pages, and a robots.txt that asks for a second between visits.

use super::entry::{Entry, Town};
use super::skin::{Page, list};
use super::words::Pen;

const HOST: &str = "weather";
const DAYS: [&str; 6] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

pub(super) fn entries(town: &Town) -> Vec<Entry> {
    let robots = "# The weather will not be hurried.\nUser-agent: *\nCrawl-delay: 1\n";
    let mut entries = vec![Entry::new(HOST, "/robots.txt", "text/plain", robots).machinery(), front(town)];
    entries.extend(DAYS.map(|day| forecast(town, day)));
    entries
}

fn front(town: &Town) -> Entry {
    let days: Vec<_> = DAYS.iter().map(|day| (format!("/{}", day.to_lowercase()), day.to_string())).collect();
    let intro = "<p>The observatory is a shed on Wend Point with a barometer, a window and a chair. Please allow a \
                 second between questions: the observer is writing.</p>\n";
    let sunday = "<p>On Sundays there is weather, but nobody looks.</p>\n";
    page(town, "/", Page::new("This week", format!("{intro}{}{sunday}", list(&days))))
}

fn forecast(town: &Town, day: &str) -> Entry {
    let path = format!("/{}", day.to_lowercase());
    let mut pen = Pen::new(&path);
    let table = format!(
        "<table>\n<tr><th>Pressure</th><td>{} hPa</td></tr>\n<tr><th>Wind</th><td>{}, force {}</td></tr>\n\
         <tr><th>Sea</th><td>{} °C</td></tr>\n</table>\n",
        pen.number(981, 1034),
        pen.fill("{wind}"),
        pen.number(1, 8),
        pen.number(6, 13),
    );
    let main = format!("{table}{}", pen.paragraphs(&WEATHER_TALK, 3, 3));
    page(town, &path, Page::new(format!("{day}'s weather"), main).beside("/", "The week"))
}

fn page(town: &Town, path: &str, page: Page) -> Entry {
    Entry::html(HOST, path, page.on(HOST, town))
}

const WEATHER_TALK: [&str; 10] = [
    "From {hour}, {sky}; later, more of the same, but with conviction.",
    "The wind will be {wind} at first and then remember something and turn.",
    "{person} of {quay} expects frost, on account of a knee.",
    "A depression over {port} is feeling better and may visit.",
    "Visibility is good enough to see {bird}, but not to be sure of it.",
    "Small boats should stay in, large ones should pretend to have meant to.",
    "In {year} the same barometer reading was followed by {few} days of hail and a wedding.",
    "Washing may be hung out at {hour} at the owner's risk.",
    "The {ship}, {few} miles out, reports {sky} and a shortage of {drink}.",
    "The outlook is the one from the window.",
];
