//! `weather.localhost`: a few pages, and a robots.txt that asks for a second between visits.

use super::entry::{Entry, Town};
use super::skin::{Page, list};
use super::words::{Pen, lines};

const HOST: &str = "weather";
const DAYS: [&str; 6] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

pub(super) fn entries(town: &Town) -> Vec<Entry> {
    let robots = "# The weather will not be hurried.\nUser-agent: *\nCrawl-delay: 1\n";
    let mut entries = vec![Entry::new(HOST, "/robots.txt", "text/plain", robots), front(town)];
    entries.extend(DAYS.map(|day| forecast(town, day)));
    entries
}

fn front(town: &Town) -> Entry {
    let days: Vec<_> = DAYS.iter().map(|day| (format!("/{}", day.to_lowercase()), day.to_string())).collect();
    let intro = include_str!("assets/weather/front.html");
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

const WEATHER_TALK: [&str; 10] = lines(include_str!("assets/weather/talk.txt"));
