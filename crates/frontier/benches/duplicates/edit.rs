//! Edits the text of a page without touching its markup.

use std::ops::Range;

use fastrand::Rng;

use super::made::words;

#[derive(Clone, Copy)]
pub enum Edit {
    /// Other words: so many of 1,000.
    Replace(usize),
    /// More words: so many of 1,000.
    Insert(usize),
    /// About this share of the words, in parts of up to 20 neighbours: so many of 1,000.
    Drop(usize),
    /// Another menu before the page and another footer behind it.
    Frame,
}

impl Edit {
    pub fn apply(self, page: &str, rng: &mut Rng) -> String {
        let places = places(page);
        let share =
            |thousandth: usize, part: usize| (places.len() * thousandth).div_ceil(1000 * part).min(places.len());
        let neighbours = |thousandth: usize| (places.len() * thousandth / 1000).clamp(1, 20);
        let (chosen, length) = match self {
            Edit::Frame => return framed(page, rng),
            Edit::Replace(some) | Edit::Insert(some) => (share(some, 1), 1),
            Edit::Drop(some) => (share(some, neighbours(some)), neighbours(some)),
        };
        let mut edited = page.to_owned();
        let mut chosen = rng.choose_multiple(0..places.len(), chosen);
        chosen.sort_unstable();
        let mut end = places.len();
        for first in chosen.into_iter().rev() {
            // From the end, so that ranges stay valid; dropped parts do not overlap.
            for at in (first..end.min(first + length)).rev() {
                let at = places[at].clone();
                match self {
                    Edit::Insert(_) => edited.insert_str(at.start, &format!("{} ", words(rng, 1))),
                    Edit::Drop(_) => edited.replace_range(at, ""),
                    _ => edited.replace_range(at, &words(rng, 1)),
                }
            }
            end = first;
        }
        edited
    }
}

fn framed(page: &str, rng: &mut Rng) -> String {
    let menu: String = (0..40).map(|_| format!("<li><a href='/{0}'>{0}</a></li>", words(rng, 2))).collect();
    let footer = format!("<ul>{menu}</ul><div>{}</div>", words(rng, 10));
    let begin = page.find("<body").and_then(|at| Some(at + page[at..].find('>')? + 1)).unwrap_or(0);
    let end = page.rfind("</body").unwrap_or(page.len()).max(begin);
    format!("{}<ul>{menu}</ul>{}{footer}{}", &page[..begin], &page[begin..end], &page[end..])
}

/// The words of the page's main part: not of head, menus, programs, and the headline.
pub fn places(page: &str) -> Vec<Range<usize>> {
    let begin = ["<main", "<body"].iter().find_map(|tag| page.find(tag)).unwrap_or(0);
    let mut places = Vec::new();
    let mut at = begin;
    while at < page.len() {
        let text_end = page[at..].find('<').map_or(page.len(), |length| at + length);
        let is_word = |c: char| c.is_alphanumeric() || c == '&' || c == ';';
        let mut word = at;
        for part in page[at..text_end].split_inclusive(|c: char| !is_word(c)) {
            let length = part.trim_end_matches(|c: char| !is_word(c)).len();
            // Not character references.
            if length > 0 && !part.contains(['&', ';']) {
                places.push(word..word + length);
            }
            word += part.len();
        }
        let Some(tag) = page.get(text_end..) else { break };
        let unread = ["script", "style", "nav", "footer", "title", "h1"]
            .into_iter()
            .find(|name| tag[1.min(tag.len())..].starts_with(name));
        let end = match unread {
            Some(name) => tag.find(&format!("</{name}")).unwrap_or(tag.len()),
            None => 0,
        };
        at = text_end + end + tag[end..].find('>').map_or(tag.len() - end, |length| length + 1);
    }
    places
}
