//! `tides.localhost`: a calendar in which every month links to the next without end. The depth limit must stop this
//! trap.

use time::Month;

use super::entry::{Entry, House};
use super::skin::Page;
use super::words::{Pen, lines};

/// The page of a month, for years with four digits.
pub(super) fn month(house: &House, path: &str) -> Option<Entry> {
    let (year, month) = path.strip_prefix("/calendar/")?.split_once('/')?;
    let (year, month): (u16, u16) = (year.parse().ok()?, month.parse().ok()?);
    let is_canonical = (1..=9998).contains(&year) && (1..=12).contains(&month) && month_path(year, month - 1) == path;
    is_canonical.then(|| month_page(house, year, month - 1))
}

fn month_path(year: u16, month: u16) -> String {
    format!("/calendar/{year:04}/{:02}", month + 1)
}

/// `month`: 0 to 11.
fn month_page(house: &House, year: u16, month: u16) -> Entry {
    let path = month_path(year, month);
    let mut pen = Pen::new(&path);
    let rows: String = (1..=28)
        .map(|day| {
            let (hour, minute) = ((day * 49 / 60 + month as u32 * 5) % 12, day * 49 % 60);
            let (high, low) = (pen.number(9, 16), pen.number(0, 4));
            format!("<tr><td>{day}</td><td>{hour:02}:{minute:02}</td><td>{high} ft</td><td>{low} ft</td></tr>\n")
        })
        .collect();
    let (next_year, next_month) = if month == 11 { (year + 1, 0) } else { (year, month + 1) };
    let next = format!("<p><a rel=\"next\" href=\"{}\">Next month →</a></p>\n", month_path(next_year, next_month));
    let head = "<tr><th>Day</th><th>High water</th><th>High</th><th>Low</th></tr>\n";
    let main = format!("<table>\n{head}{rows}</table>\n{}{next}", pen.paragraph(&TIDE_TALK, 2));
    house.page(&path, Page::new(format!("{} {year}", Month::January.nth_next((month % 12) as u8)), main))
}

const TIDE_TALK: [&str; 6] = lines(include_str!("assets/tides/talk.txt"));
