//! The visible content of a page: text, headings, link texts and image descriptions. Also collects the facts that the
//! page states about itself, in one pass over its markup.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use super::about::About;
use super::about::marks::Marks;
use super::html::names::{BLANK, CLOSES_P, IMPLIED_END, LINE, MARKER, NO_FRAMESET, Name, SPECIAL, UNSEEN};
use super::html::outline::{self, Element, Namespace, Visitor};
use super::html::{decode_attribute, decode_text};
use super::html_facts::{MAX_LINKS, collapse};
use super::stretches::{space_at, stretch_end};

/// The content of a page, for sinks that index text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PageFacts {
    pub about: About,
    /// Visible text: white space collapsed, one line per block. Misplaced content of a table stays where it is written.
    pub text: String,
    /// Ranges in [`PageFacts::text`], with levels.
    headings: Vec<(u8, Range<usize>)>,
    link_texts: Vec<Range<usize>>,
    /// The text of `<nav>`, `<aside>` and `<footer>`.
    frames: Vec<Range<usize>>,
    /// The `alt` text of every visible image.
    pub image_alts: Vec<String>,
    /// Text with low weight in the word index: `alt`, `title` and `id` of images, and options of forms, visible or not.
    pub passing: String,
    /// Number of `<a href>` elements.
    pub links: usize,
    pub(crate) marks: Marks,
    /// The text before and behind the headline; searched once.
    pub(crate) near_headline: OnceLock<Option<(Range<usize>, Range<usize>)>>,
}

/// `<h1>` to `<h6>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// 1 to 6.
    pub level: u8,
    pub text: String,
}

impl PageFacts {
    /// In document order. A heading within a heading belongs to the outer one.
    pub fn headings(&self) -> impl Iterator<Item = Heading> {
        self.headings.iter().map(|(level, at)| Heading { level: *level, text: self.line(at) })
    }

    /// The text of every `<a href>` that has text, up to [`MAX_LINKS`].
    pub fn link_texts(&self) -> impl Iterator<Item = String> {
        self.link_texts.iter().map(|at| self.line(at))
    }

    /// Headings with their ranges in the text.
    pub(crate) fn heading_ranges(&self) -> &[(u8, Range<usize>)] {
        &self.headings
    }

    /// Where the text of links is, up to [`MAX_LINKS`], in document order.
    pub(crate) fn link_ranges(&self) -> &[Range<usize>] {
        &self.link_texts
    }

    /// Where the text of menus, asides and footers is, in document order and without overlaps.
    pub(crate) fn frame_ranges(&self) -> &[Range<usize>] {
        &self.frames
    }

    /// A part of the text as one line.
    pub(crate) fn line(&self, at: &Range<usize>) -> String {
        self.text.get(at.clone()).unwrap_or_default().trim().replace('\n', " ")
    }
}

/// Extracts the visible text and the facts of a page.
pub fn page_facts(page: &str) -> PageFacts {
    let mut reader = Reader::default();
    reader.facts.text.reserve(page.len() / 8);
    outline::read(page, &mut reader);
    reader.facts
}

/// Only [`PageFacts::text`].
pub(crate) fn visible_text(page: &str) -> String {
    page_facts(page).text
}

/// The separator before the next word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
enum Gap {
    #[default]
    None,
    Blank,
    Line,
}

#[derive(Default)]
struct Reader {
    facts: PageFacts,
    gap: Gap,
    /// For each open element, where it begins in the text.
    starts: Vec<usize>,
    /// Number of open elements that end outer formatting.
    markers: usize,
    /// Depth of the outermost invisible element.
    unseen: Option<usize>,
    /// The raw text of the current element is invisible.
    is_raw_unseen: bool,
    /// Depth of the outermost option of a form.
    option: Option<usize>,
    /// The outermost heading: its depth, its level, and where its text starts.
    heading: Option<(usize, u8, usize)>,
    link: Option<Link>,
    /// The outermost menu, aside or footer: its depth, and where its text starts.
    frame: Option<(usize, usize)>,
    /// A link whose parent was closed, and which continues with the next word: number of markers around it.
    left_open: Option<usize>,
}

/// The outermost open link.
#[derive(Debug, Clone, Copy)]
struct Link {
    depth: usize,
    /// Where its text starts.
    start: usize,
    /// There is no element for it: a link that was left open continues.
    goes_on: bool,
}

impl<'a> Visitor<'a> for Reader {
    fn open(&mut self, element: &Element<'_, 'a>) {
        let Element { name, depth, .. } = *element;
        self.facts.about.open(element);
        if name == Name::A {
            self.end_link();
            let href = element.attribute("href").map(str::trim_ascii);
            self.facts.links += usize::from(href.is_some_and(|href| !href.is_empty()));
        }
        if !name.has(SPECIAL) || name.has(NO_FRAMESET | BLANK) && !name.has(IMPLIED_END | CLOSES_P) {
            self.go_on(depth);
        }
        if element.stays {
            self.starts.push(self.facts.text.len());
            self.markers += usize::from(name.has(MARKER) && element.is_html());
        }
        match name {
            Name::Img => self.image(element),
            Name::Option if element.stays => _ = self.option.get_or_insert(depth),
            _ => {}
        }
        if self.unseen.is_some() {
            return;
        }
        self.is_raw_unseen = false;
        if is_unseen(element) {
            self.is_raw_unseen = true;
            self.unseen = element.stays.then_some(depth);
            if matches!(name, Name::Html | Name::Body) && element.is_html() {
                self.hide_all();
            }
            return;
        }
        if element.is_html() {
            self.widen(name);
            self.facts.marks.open(element, self.facts.text.len());
        }
        if let Some(level) = name.heading().filter(|_| element.stays) {
            self.heading.get_or_insert((depth, level, self.facts.text.len()));
        }
        if matches!(name, Name::Nav | Name::Aside | Name::Footer) && element.stays {
            self.frame.get_or_insert((depth, self.facts.text.len()));
        }
        if name == Name::A && element.attribute("href").is_some() {
            self.link.get_or_insert(Link { depth, start: self.facts.text.len(), goes_on: false });
        }
    }

    fn close(&mut self, name: Name, depth: usize) {
        self.starts.truncate(depth);
        self.facts.marks.close(depth, self.facts.text.len());
        if name.has(MARKER) {
            self.markers = self.markers.saturating_sub(1);
            self.left_open = self.left_open.filter(|markers| *markers <= self.markers);
        }
        if self.option == Some(depth) {
            self.option = None;
        }
        if let Some((open, start)) = self.frame
            && open == depth
        {
            self.frame = None;
            self.facts.frames.extend(self.since(start));
        }
        if let Some((open, level, start)) = self.heading
            && open == depth
        {
            self.heading = None;
            self.facts.headings.extend(self.since(start).map(|at| (level, at)));
        }
        if let Some(link) = self.link
            && (link.depth == depth || link.goes_on && link.depth > depth)
        {
            self.left_open = (link.goes_on || name == Name::A).then_some(self.markers);
            self.close_link(link);
        }
        if let Some(unseen) = self.unseen {
            self.unseen = (unseen != depth).then_some(unseen);
            return;
        }
        self.widen(name);
    }

    fn end_link(&mut self) {
        self.left_open = None;
        if let Some(link) = self.link.filter(|link| link.goes_on) {
            self.close_link(link);
        }
    }

    fn split(&mut self, depth: usize) {
        if let (Some(link), Some(&start)) = (&mut self.link, self.starts.get(depth))
            && !link.goes_on
            && link.depth < depth
        {
            let at = std::mem::replace(&mut link.start, start)..start;
            self.keep_link(at);
        }
    }

    fn text(&mut self, text: &'a str) {
        if self.unseen.is_none() || self.option.is_some() {
            self.read(&decode(text));
        }
    }

    fn raw(&mut self, name: Name, text: &'a str) {
        match name {
            Name::Script => self.facts.about.script(text),
            Name::Title => self.facts.about.title(text),
            _ => {}
        }
        if matches!(name, Name::Xmp | Name::Plaintext | Name::Other)
            && self.unseen.is_none()
            && !(name == Name::Xmp && self.is_raw_unseen)
        {
            self.read(text);
        }
    }

    fn frames(&mut self) {
        let about = std::mem::take(&mut self.facts.about);
        *self = Reader { facts: PageFacts { about, ..PageFacts::default() }, ..Reader::default() };
    }
}

impl Reader {
    /// Hides the whole page, including the text so far.
    fn hide_all(&mut self) {
        let PageFacts { about, passing, links, .. } = std::mem::take(&mut self.facts);
        self.facts = PageFacts { about, passing, links, ..PageFacts::default() };
        (self.heading, self.link, self.frame, self.unseen) = (None, None, None, Some(usize::MAX));
    }

    fn image(&mut self, element: &Element) {
        for name in ["alt", "title", "id"] {
            let Some(value) = element.attribute(name).filter(|value| !value.is_empty()) else { continue };
            let value = decode_attribute(value);
            if name == "alt" && self.unseen.is_none() && !is_unseen(element) {
                let alt = collapse(&value, value.len());
                self.facts.image_alts.extend(Some(alt).filter(|alt| !alt.is_empty()));
            }
            self.facts.passing.push_str(&value);
            self.facts.passing.push(' ');
        }
    }

    fn read(&mut self, text: &str) {
        if self.option.is_some() {
            self.facts.passing.push_str(text);
            self.facts.passing.push(' ');
        }
        if self.unseen.is_some() {
            return;
        }
        self.go_on(self.starts.len());
        let mut at = 0;
        while at < text.len() {
            let end = stretch_end(text, at);
            if end > at {
                self.stretch(&text[at..end]);
            }
            at = end;
            while at < text.len() {
                match space_at(text, at) {
                    0 => break,
                    length => at += length,
                }
            }
            if at > end {
                self.gap = self.gap.max(Gap::Blank);
            }
        }
    }

    /// Continues a link that was left open.
    fn go_on(&mut self, depth: usize) {
        if self.left_open == Some(self.markers) && self.link.is_none() {
            self.link = Some(Link { depth, start: self.facts.text.len(), goes_on: true });
            self.left_open = None;
        }
    }

    /// Appends words separated by single blanks.
    fn stretch(&mut self, words: &str) {
        let text = &mut self.facts.text;
        match std::mem::take(&mut self.gap) {
            _ if text.is_empty() => {}
            Gap::None => {}
            Gap::Blank => text.push(' '),
            Gap::Line => text.push('\n'),
        }
        text.push_str(words);
    }

    /// Blocks have lines of their own, cells are separated, and other elements continue the text.
    fn widen(&mut self, name: Name) {
        if name.has(LINE) {
            self.gap = Gap::Line;
        } else if name.has(BLANK) {
            self.gap = self.gap.max(Gap::Blank);
        }
    }

    fn close_link(&mut self, link: Link) {
        self.link = None;
        if let Some(at) = self.since(link.start) {
            self.keep_link(at);
        }
    }

    fn keep_link(&mut self, at: Range<usize>) {
        if !at.is_empty() && self.facts.link_texts.len() < MAX_LINKS {
            self.facts.link_texts.push(at);
        }
    }

    /// The text from `start` on; none if it is empty.
    fn since(&self, start: usize) -> Option<Range<usize>> {
        (start < self.facts.text.len()).then_some(start..self.facts.text.len())
    }
}

/// NUL characters are removed.
fn decode(text: &str) -> Cow<'_, str> {
    match memchr::memchr3(b'&', b'\r', b'\0', text.as_bytes()) {
        None => Cow::Borrowed(text),
        Some(_) => Cow::Owned(decode_text(&text.replace('\0', "")).into_owned()),
    }
}

/// Whether an element is invisible: scripts, fallbacks, form fields, and elements marked hidden.
fn is_unseen(element: &Element) -> bool {
    if element.namespace != Namespace::Html {
        let unseen = ["title", "desc", "metadata", "script", "style", "annotation", "annotation-xml"];
        return unseen.iter().any(|name| element.written.eq_ignore_ascii_case(name));
    }
    element.name.has(UNSEEN) || element.attribute("hidden").is_some()
}
