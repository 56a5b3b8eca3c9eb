//! Finds dates as people write them: `17 May 2024`, `May 17th, 2024`, `17.05.2024`, `2024年5月17日`.

use std::ops::Range;

use time::{Date, Month, Time};

use crate::date;
use crate::page::EpochMs;

/// Longer texts are not searched beyond this.
const MAX_TEXT_BYTES: usize = 400;
/// A day before 1990 is more likely something else: a page of the web is younger.
const MIN_YEAR: u32 = 1990;
const MAX_YEAR: u32 = 2100;

/// The names of the months in many languages, in lower case: nominative or genitive, and abbreviations.
const MONTHS: [&str; 12] = [
    "january jan januar jänner janvier janv enero ene gennaio janeiro januari stycznia ledna января",
    "february feb februar février fevrier févr febrero febbraio fevereiro februari lutego února февраля",
    "march mar märz mars marzo março maart marca března марта",
    "april apr avril avr abril aprile kwietnia dubna апреля",
    "may mai mayo maggio maio mei maj maja května мая",
    "june jun juni juin junio giugno junho czerwca června июня",
    "july jul juli juillet juil julio luglio julho lipca července июля",
    "august aug août aout agosto augustus augusti sierpnia srpna августа",
    "september sep sept septembre septiembre settembre setembro września září сентября",
    "october oct oktober okt octobre octubre ottobre outubro października října октября",
    "november nov novembre noviembre novembro listopada listopadu ноября",
    "december dec dezember dez décembre déc diciembre dicembre dezembro grudnia prosince декабря",
];

/// The time that a value of the markup states: as [`date::parse`] reads it, or else the first moment of the first day
/// that it names. In UTC if there is no offset.
pub(crate) fn parse(value: &str) -> Option<EpochMs> {
    let value = value.trim();
    // A value of digits only is a year, which names no day, or a day without hyphens.
    if value.len() > 4 && value.bytes().all(|byte| byte.is_ascii_digit()) {
        let part = |at: Range<usize>| value.get(at)?.parse().ok();
        return if matches!(value.len(), 8 | 12 | 14) { day(part(0..4)?, part(4..6)?, part(6..8)?) } else { None };
    }
    // Shorter values name a year or a month, and no day.
    date::parse(value).filter(|_| value.len() >= 10).or_else(|| Some(find(value).next()?.0))
}

/// The days named in a text, in order, with the ranges of their words. Days whose order of day and month is uncertain
/// are left out.
pub(crate) fn find(text: &str) -> impl Iterator<Item = (EpochMs, Range<usize>)> {
    let text = &text[..text.floor_char_boundary(MAX_TEXT_BYTES)];
    let parts = parts(text);
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < parts.len() {
            let here = &parts[at..];
            if let Some((day, count)) = dates(text, here) {
                let range = here[0].at.start..here[count - 1].at.end;
                at += count;
                return Some((day, range));
            }
            at += 1;
        }
        None
    })
}

/// A number or a word of a text.
struct Part {
    at: Range<usize>,
    /// Numbers of at most four digits.
    number: Option<u32>,
}

impl Part {
    fn len(&self) -> usize {
        self.at.len()
    }
}

fn parts(text: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut last = None;
    for (at, character) in text.char_indices() {
        let kind = (character.is_alphabetic(), character.is_ascii_digit());
        let end = at + character.len_utf8();
        match parts.last_mut() {
            Some(part) if last == Some(kind) && kind != (false, false) => part.at.end = end,
            _ if kind != (false, false) => parts.push(Part { at: at..end, number: None }),
            _ => {}
        }
        last = Some(kind);
    }
    for part in &mut parts {
        part.number = text[part.at.clone()].parse().ok().filter(|_| part.len() <= 4);
    }
    parts
}

/// The day that the first of these parts belong to, and the number of its parts.
fn dates(text: &str, parts: &[Part]) -> Option<(EpochMs, usize)> {
    let first = parts.first()?;
    match first.number {
        Some(number) if first.len() == 4 => year_first(text, number, parts),
        Some(number) => numbers(text, number, parts).or_else(|| day_first(text, number, parts)),
        None => month_first(text, parts),
    }
}

/// What is written between two parts.
fn between<'a>(text: &'a str, first: &Part, second: &Part) -> &'a str {
    &text[first.at.end..second.at.start]
}

/// `2024-05-17`, `2024/5/17`, `2024. 5. 17.`, `2024年5月17日`.
fn year_first(text: &str, year: u32, parts: &[Part]) -> Option<(EpochMs, usize)> {
    if let [_, a, second, b, third, c, ..] = parts
        && [(a, "年"), (b, "月"), (c, "日")].iter().all(|(part, sign)| text[part.at.clone()].starts_with(sign))
    {
        return Some((day(year, second.number?, third.number?)?, 6));
    }
    let [first, second, third, ..] = parts else { return None };
    let marks = [between(text, first, second), between(text, second, third)].map(str::trim);
    let is_one = marks[0] == marks[1] && ["-", "/", "."].contains(&marks[0]);
    Some((day(year, second.number?, third.number?)?, 3)).filter(|_| is_one && third.len() <= 2)
}

/// `17.05.2024`, which is never the month first, and `17/05/2024` or `05/17/2024` if only one order makes a day.
fn numbers(text: &str, first: u32, parts: &[Part]) -> Option<(EpochMs, usize)> {
    let [one, two, three, ..] = parts else { return None };
    let (second, year) = (two.number?, three.number.filter(|_| three.len() == 4)?);
    let day = match (between(text, one, two).trim(), between(text, two, three).trim()) {
        (".", ".") => day(year, second, first)?,
        ("/", "/") | ("-", "-") if first > 12 || first == second => day(year, second, first)?,
        ("/", "/") | ("-", "-") if second > 12 => day(year, first, second)?,
        _ => return None,
    };
    Some((day, 3))
}

/// `17 May 2024`, `17th of May, 2024`, `17. Mai 2024`, `17 de mayo de 2024`.
fn day_first(text: &str, number: u32, parts: &[Part]) -> Option<(EpochMs, usize)> {
    let mut count = 1;
    while count < 3 && parts.get(count).is_some_and(|part| is_filler(&text[part.at.clone()])) {
        count += 1;
    }
    let month = month(&text[parts.get(count)?.at.clone()])?;
    count += 1;
    if parts.get(count).is_some_and(|part| is_filler(&text[part.at.clone()])) {
        count += 1;
    }
    let year = parts.get(count).filter(|part| part.len() == 4)?.number?;
    Some((day(year, month, number)?, count + 1)).filter(|_| is_near(text, &parts[..=count]))
}

/// `May 17, 2024`, `May 17th 2024`, `May 17 10:00:00 2024`.
fn month_first(text: &str, parts: &[Part]) -> Option<(EpochMs, usize)> {
    let month = month(&text[parts.first()?.at.clone()])?;
    let number = parts.get(1).filter(|part| part.len() <= 2)?.number?;
    let mut count = 2;
    if parts.get(count).is_some_and(|part| is_filler(&text[part.at.clone()])) {
        count += 1;
    }
    let is_clock =
        |parts: &[Part]| parts.len() == 3 && parts.iter().all(|part| part.len() == 2 && part.number.is_some());
    if parts.get(count..count + 3).is_some_and(is_clock) {
        count += 3;
    }
    let year = parts.get(count).filter(|part| part.len() == 4)?.number?;
    Some((day(year, month, number)?, count + 1)).filter(|_| is_near(text, &parts[..=count]))
}

/// Whether these parts are one phrase: only blanks, commas, full stops, hyphens and colons are between them.
fn is_near(text: &str, parts: &[Part]) -> bool {
    let marks = parts.windows(2).map(|pair| between(text, &pair[0], &pair[1]));
    marks.into_iter().all(|marks| marks.len() <= 4 && marks.chars().all(|mark| " \u{a0},.-:\n".contains(mark)))
}

/// Words between the parts of a date.
fn is_filler(word: &str) -> bool {
    ["st", "nd", "rd", "th", "de", "of", "del", "er", "º"].iter().any(|filler| word.eq_ignore_ascii_case(filler))
}

/// Whether a word is the name of a month, with or without a full stop.
pub(crate) fn is_month(word: &str) -> bool {
    month(word.trim_end_matches('.')).is_some()
}

fn month(word: &str) -> Option<u32> {
    let word = word.to_lowercase();
    let index = MONTHS.iter().position(|names| names.split(' ').any(|name| name == word))?;
    Some(index as u32 + 1)
}

/// The first moment of a day, in UTC.
fn day(year: u32, month: u32, day: u32) -> Option<EpochMs> {
    let month = Month::try_from(u8::try_from(month).ok()?).ok()?;
    let date = Date::from_calendar_date(i32::try_from(year).ok()?, month, u8::try_from(day).ok()?).ok()?;
    let is_likely = (MIN_YEAR..MAX_YEAR).contains(&year);
    EpochMs::try_from(date.with_time(Time::MIDNIGHT).assume_utc().unix_timestamp() * 1_000).ok().filter(|_| is_likely)
}
