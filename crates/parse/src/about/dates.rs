//! When a page was published and modified.

use std::ops::Range;

use super::headline;
use super::marks::{Kind, Mark};
use super::{About, Found, Origin};
use crate::html_text::PageFacts;
use crate::page::EpochMs;
use crate::page_date::{find, parse};

/// Longer lines are sentences, and their dates are those of other things.
const MAX_LINE_BYTES: usize = 120;

/// Names of `<meta>` elements, letters and digits only: those of Open Graph, Dublin Core, Highwire Press, Parse.ly,
/// Sailthru and others. The first that a page has counts.
const PUBLISHED: [&str; 31] = [
    "articlepublishedtime",
    "articlepublished",
    "ogpublishedtime",
    "ogarticlepublishedtime",
    "datepublished",
    "publishedtime",
    "publisheddate",
    "publishdate",
    "pubdate",
    "parselypubdate",
    "sailthrudate",
    "cxenseparserecspublishtime",
    "btpubdate",
    "rnewsdatepublished",
    "originalpublicationdate",
    "publicationdate",
    "prismpublicationdate",
    "citationpublicationdate",
    "citationonlinedate",
    "citationdate",
    "dctermsissued",
    "dcdateissued",
    "dcissued",
    "dctermscreated",
    "dcdatecreated",
    "dccreated",
    "dctermsdate",
    "dcdate",
    "datecreated",
    "articledate",
    "date",
];
const MODIFIED: [&str; 8] = [
    "articlemodifiedtime",
    "ogupdatedtime",
    "datemodified",
    "modifiedtime",
    "dctermsmodified",
    "dcdatemodified",
    "dcmodified",
    "lastmodified",
];

/// Before a date: it is that of a change.
const CHANGED: [&str; 10] = [
    "updated",
    "modified",
    "reviewed",
    "edited",
    "revised",
    "aktualisiert",
    "geändert",
    "mis à jour",
    "actualizado",
    "aggiornato",
];
/// In a line: its date is that of something else.
const OTHERS: [&str; 12] = [
    "©",
    "copyright",
    "deadline",
    "expires",
    "until",
    "event",
    "register",
    "since",
    "effective",
    "version",
    "joined",
    "comment",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Published,
    Modified,
}

impl PageFacts {
    /// The time of publication. `url`: the URL of the page.
    pub fn published(&self, url: &str) -> Option<Found<EpochMs>> {
        let of_items = self.about.item_dates(&["datePublished", "dateCreated"]);
        let stated = self.stated(of_items, &PUBLISHED, Kind::Published);
        let marked = || self.marks.of(Kind::PubDate).find_map(|mark| self.time_of(mark));
        let timed = || marked().or_else(|| self.timed(What::Published));
        let timed = || timed().map(|value| Found { value, origin: Origin::Time });
        let written = || self.written(What::Published).map(|value| Found { value, origin: Origin::Text });
        let of_url = || of_url(url).map(|value| Found { value, origin: Origin::Url });
        stated.or_else(timed).or_else(written).or_else(of_url)
    }

    /// The time of the last modification.
    pub fn modified(&self) -> Option<Found<EpochMs>> {
        let stated = self.stated(self.about.item_dates(&["dateModified"]), &MODIFIED, Kind::Modified);
        let timed = || self.timed(What::Modified).map(|value| Found { value, origin: Origin::Time });
        let written = || self.written(What::Modified).map(|value| Found { value, origin: Origin::Text });
        stated.or_else(timed).or_else(written)
    }

    /// A time that the markup states by a property or a name.
    fn stated(&self, of_items: Option<EpochMs>, names: &[&str], kind: Kind) -> Option<Found<EpochMs>> {
        let found = |origin| move |value| Found { value, origin };
        let of_marks = || self.marks.of(kind).find_map(|mark| self.time_of(mark));
        of_items
            .map(found(Origin::JsonLd))
            .or_else(|| self.about.meta_date(names))
            .or_else(|| of_marks().map(found(Origin::Microdata)))
    }

    /// The value of an element, or the date in its text.
    fn time_of(&self, mark: &Mark) -> Option<EpochMs> {
        let text = || Some(find(self.text.get(mark.at.clone())?).next()?.0);
        mark.value.as_deref().and_then(parse).or_else(text)
    }

    /// The first `<time>` behind the headline, or else right before it.
    fn timed(&self, what: What) -> Option<EpochMs> {
        let (before, behind) = headline::near(self)?;
        let within = |near: Range<usize>| {
            let times = self.marks.of(Kind::Time).filter(move |mark| near.contains(&mark.at.start));
            times
                .filter(|mark| what_of(self.line_before(mark.at.start)) == Some(what))
                .filter_map(|mark| self.time_of(mark))
        };
        within(behind).next().or_else(|| within(before).last())
    }

    /// The text of a line before a position, or the line before if the position is at its begin. Only what is behind the
    /// last date there, because what is before belongs to that date.
    fn line_before(&self, at: usize) -> &str {
        let begin = self.text.ceil_char_boundary(at.saturating_sub(MAX_LINE_BYTES));
        let before = self.text.get(begin..at).unwrap_or_default().trim_end();
        let begin = before.rfind('\n').map_or(0, |at| at + 1);
        let line = &before[begin..];
        find(line).last().map_or(line, |(_, at)| &line[at.end..])
    }

    /// The first date in a short line behind the headline, or else right before it.
    fn written(&self, what: What) -> Option<EpochMs> {
        let (before, behind) = headline::near(self)?;
        let behind = self.text[behind].lines().find_map(|line| in_line(line, what));
        behind.or_else(|| self.text[before].lines().rev().take(3).find_map(|line| in_line(line, what)))
    }
}

impl About {
    fn item_dates(&self, properties: &[&str]) -> Option<EpochMs> {
        let pages = self.items.iter().filter(|item| item.is_page());
        let times = pages.flat_map(|item| properties.iter().map(|property| item.get(property)));
        times.filter_map(|time| parse(time.as_str()?)).find(|time| *time > 0)
    }

    fn meta_date(&self, names: &[&str]) -> Option<Found<EpochMs>> {
        let short = self.meta.iter().filter(|meta| meta.content.len() <= MAX_LINE_BYTES);
        let dates = short.filter_map(|meta| {
            let (rank, is_item) = meta.properties().chain(Some(&*meta.name)).find_map(|name| {
                // All names end so; this spares the others the comparison.
                let name = Some(name).filter(|name| name.ends_with(['e', 'd']))?;
                let letters: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
                let rank = names.iter().position(|known| *known == letters)?;
                Some((rank, letters == "datepublished" && meta.name.is_empty()))
            })?;
            let value = parse(&meta.content).filter(|time| *time > 0)?;
            Some((rank, Found { value, origin: if is_item { Origin::Microdata } else { Origin::Meta } }))
        });
        dates.min_by_key(|(rank, _)| *rank).map(|(_, found)| found)
    }
}

fn in_line(line: &str, what: What) -> Option<EpochMs> {
    let has_year = || line.contains("20") || line.contains("19");
    if line.len() > MAX_LINE_BYTES || !has_year() {
        return None;
    }
    let mut end = 0;
    find(line).find_map(|(time, at)| {
        let before = &line[end..at.start];
        end = at.end;
        (what_of(before) == Some(what)).then_some(time)
    })
}

/// What a date behind this text is the date of; none if of something else.
fn what_of(before: &str) -> Option<What> {
    let before = before.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| before.contains(word));
    if has(&CHANGED) { Some(What::Modified) } else { (!has(&OTHERS)).then_some(What::Published) }
}

/// A day in the path: `/2024/05/17/` or `/2024-05-17`.
fn of_url(url: &str) -> Option<EpochMs> {
    let path = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let mut parts = path.split('/').skip(1).peekable();
    while let Some(part) = parts.next() {
        let is_number =
            |part: &str, length: usize| part.len() == length && part.bytes().all(|byte| byte.is_ascii_digit());
        let hyphens = part.get(..10).filter(|_| part.get(10..11).is_none_or(|next| next == "-"));
        let slashes = || {
            let rest: Vec<&str> = parts.clone().take(2).collect();
            let is_day = is_number(part, 4) && rest.len() == 2 && rest.iter().all(|part| is_number(part, 2));
            is_day.then(|| format!("{part}-{}", rest.join("-")))
        };
        let day = hyphens.map(str::to_owned).or_else(slashes);
        if let Some((time, _)) = day.as_deref().and_then(|day| find(day).next()) {
            return Some(time);
        }
    }
    None
}
