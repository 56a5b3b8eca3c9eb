//! The headline of a page, and the text near it, where a page names its author and its date.

use std::ops::Range;

use super::About;
use crate::html_text::PageFacts;

/// Bytes of text before the headline that are near it.
const BEFORE: usize = 200;
/// Bytes of text behind the headline that are near it, and twice as many if the last line is long.
const BEHIND: usize = 700;
/// Shorter headings say too little to be found in a title.
const MIN_LETTERS: usize = 6;
/// Headings that are compared with the title.
const MAX_HEADINGS: usize = 50;

/// The ranges of the text right before the headline and right behind it, in whole lines.
pub(super) fn near(page: &PageFacts) -> Option<(Range<usize>, Range<usize>)> {
    page.near_headline.get_or_init(|| find(page)).clone()
}

fn find(page: &PageFacts) -> Option<(Range<usize>, Range<usize>)> {
    let at = headline(page)?;
    let begin = page.text.ceil_char_boundary(at.start.saturating_sub(BEFORE));
    let begin = if begin == 0 {
        0
    } else {
        begin + page.text[begin..at.start].find('\n').map_or(at.start - begin, |at| at + 1)
    };
    let cut = |end: usize| page.text.floor_char_boundary(end.min(page.text.len()));
    let (end, limit) = (cut(at.end + BEHIND), cut(at.end + 2 * BEHIND));
    let end = page.text[end..limit].find('\n').map_or(limit, |at| end + at);
    Some((begin..at.start, at.end..end))
}

/// The heading that the title has, or else the only `<h1>`.
pub(crate) fn headline(page: &PageFacts) -> Option<Range<usize>> {
    let titles = titles(&page.about);
    let headings = || page.heading_ranges().iter().filter(|(level, _)| *level <= 2).take(MAX_HEADINGS);
    let is_title = |at: &Range<usize>| {
        let heading = letters(&page.line(at));
        heading.len() >= MIN_LETTERS && titles.iter().any(|title| title.contains(&heading) || heading.contains(title))
    };
    let mut first = headings().filter(|(level, _)| *level == 1);
    let only = first.next().filter(|_| first.next().is_none());
    let named = headings().find(|(_, at)| is_title(at));
    named.or(only).map(|(_, at)| at.clone())
}

fn titles(about: &About) -> Vec<String> {
    let named = about.metas(&["og:title", "twitter:title"]).chain(about.of_items("headline"));
    let titles = named.chain(Some(&*about.title)).map(letters);
    titles.filter(|title| title.len() >= MIN_LETTERS).take(8).collect()
}

/// Only the letters and digits, in lower case.
pub(crate) fn letters(text: &str) -> String {
    text.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}
