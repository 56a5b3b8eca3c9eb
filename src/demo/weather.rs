//! `weather.localhost`: a few pages, and a robots.txt with a crawl delay of one second.

use super::entry::{Entry, House};
use super::skin::Page;
use super::words::{Pen, lines};
use super::written;

const DAYS: [&str; 6] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

pub(super) fn entries(house: &House) -> Vec<Entry> {
    let mut entries = written::pages(house, include_str!("assets/weather/pages.txt"), &[]);
    entries.extend(DAYS.map(|day| forecast(house, day)));
    entries
}

fn forecast(house: &House, day: &str) -> Entry {
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
    house.page(&path, Page::new(format!("{day}'s weather"), main).beside("/", "The week"))
}

const WEATHER_TALK: [&str; 10] = lines(include_str!("assets/weather/talk.txt"));
