//! Elements whose markup says that they hold a date or an author, with their ranges in the visible text.

use std::ops::Range;

use memchr::memchr2_iter;

use crate::html::decode_attribute;
use crate::html::names::Name;
use crate::html::outline::Element;
use crate::html_facts::has_token;

/// Further elements are ignored.
const MAX_MARKS: usize = 500;
/// Longer values are ignored.
const MAX_VALUE_BYTES: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Microdata or RDFa: `datePublished`.
    Published,
    /// Microdata or RDFa: `dateModified`.
    Modified,
    /// Microdata or RDFa: `author`.
    Author,
    /// Microdata or RDFa: `name`, which names an author if it is within one.
    Name,
    /// `<time>`.
    Time,
    /// `<time pubdate>`, which HTML had for some years.
    PubDate,
    /// `rel=author`.
    AuthorLink,
    /// A class such as `byline` or `post-author`.
    Byline,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) kind: Kind,
    /// The value in an attribute: `datetime`, `content`.
    pub(crate) value: Option<String>,
    /// The text of the element.
    pub(crate) at: Range<usize>,
}

/// The marks of a page, in the order of their start tags.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Marks {
    marks: Vec<Mark>,
    /// Depth and index of those whose elements are open.
    open: Vec<(usize, usize)>,
}

impl Marks {
    /// `at`: where the text of the element begins.
    pub(crate) fn open(&mut self, element: &Element, at: usize) {
        if self.marks.len() < MAX_MARKS
            && let Some((kind, value)) = mark(element)
        {
            if element.stays {
                self.open.push((element.depth, self.marks.len()));
            }
            self.marks.push(Mark { kind, value, at: at..at });
        }
    }

    /// `end`: where the text of the element at this depth ends.
    pub(crate) fn close(&mut self, depth: usize, end: usize) {
        while let Some((_, index)) = self.open.pop_if(|(open, _)| *open >= depth) {
            self.marks[index].at.end = end;
        }
    }

    pub(crate) fn of(&self, kind: Kind) -> impl Iterator<Item = &Mark> {
        self.marks.iter().filter(move |mark| mark.kind == kind)
    }
}

fn mark(element: &Element) -> Option<(Kind, Option<String>)> {
    let is_time = element.name == Name::Time;
    let (mut kind, mut value) = (is_time.then_some(Kind::Time), None);
    for attribute in element.attributes {
        let is = |name: &str| attribute.name.eq_ignore_ascii_case(name);
        let found = match attribute.name.len() {
            3 if is("rel") => has_token(attribute.value, "author").then_some(Kind::AuthorLink),
            5 if kind.is_none() && is("class") => is_byline(attribute.value).then_some(Kind::Byline),
            7 if is_time && is("pubdate") => Some(Kind::PubDate),
            7 if is("content") => {
                value = value.or(Some(attribute.value));
                None
            }
            8 if is("datetime") => {
                value = Some(attribute.value);
                None
            }
            8 if is("itemprop") || is("property") => attribute.value.split_ascii_whitespace().find_map(property),
            _ => None,
        };
        kind = found.or(kind);
    }
    let value = value.filter(|value| kind.is_some() && value.len() <= MAX_VALUE_BYTES);
    Some((kind?, value.map(|value| decode_attribute(value.trim()).into_owned())))
}

/// A property of schema.org, with any prefix.
fn property(name: &str) -> Option<Kind> {
    let name = name.rsplit([':', '/', '#']).next().unwrap_or(name);
    let known = [
        ("datepublished", Kind::Published),
        ("datemodified", Kind::Modified),
        ("author", Kind::Author),
        ("name", Kind::Name),
    ];
    known.into_iter().find(|(known, _)| name.eq_ignore_ascii_case(known)).map(|(_, kind)| kind)
}

/// Whether a class names an author or a byline, and not something beside it.
fn is_byline(class: &str) -> bool {
    const BESIDE: [&str; 14] = [
        "comment", "avatar", "image", "img", "photo", "pic", "bio", "social", "icon", "title", "desc", "box", "role",
        "widget",
    ];
    let bytes = class.as_bytes();
    let is_named = memchr2_iter(b'u', b'y', bytes)
        .any(|at| bytes[at..].starts_with(b"uthor") || bytes[at..].starts_with(b"yline"));
    is_named
        && class.split_ascii_whitespace().any(|token| {
            let token = token.to_ascii_lowercase();
            (token.contains("author") || token.contains("byline")) && !BESIDE.iter().any(|word| token.contains(word))
        })
}
