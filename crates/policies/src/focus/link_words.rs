//! The words of a page's links: those between `<a>` and `</a>`, and those on both sides within the same block.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};

use super::lead::{ANCHOR, BESIDE, LinkWords};
use super::words::Cutter;
use seine_parse::html::names::{Name, RAW};
use seine_parse::html::tokens::{Attribute, Tag, Token, Tokens};
use seine_parse::html::{decode_attribute, decode_text};
use seine_parse::html_facts::MAX_LINKS;

/// Elements within a line. Words, and the context of a link, continue across them.
const INLINE: [&str; 24] = [
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "em", "font", "i", "img", "kbd", "mark", "s",
    "small", "span", "strong", "sub", "sup", "time", "tt", "u",
];
/// Consecutive links without a word between them share the words that follow, up to this many links.
const AWAITING: usize = BESIDE;

/// The words of each link, by its URL. `resolver` gets the page's base URL, if set, and returns a function that turns a
/// reference into the URL. If several links have the same URL, the first with words of its own counts.
pub fn link_words<R>(page: &str, resolver: impl FnOnce(Option<&str>) -> R) -> HashMap<String, LinkWords>
where
    R: Fn(&str) -> Option<String>,
{
    let mut reader = Reader::default();
    let mut tokens = Tokens::new(page);
    while let Some(token) = tokens.next(reader.is_in_drawing()) {
        if let Token::Start(tag) = token
            && tag.name.has(RAW)
            && !reader.is_in_drawing()
        {
            tokens.expect_raw(tag.name);
        }
        reader.take(token, &tokens.attributes);
    }
    reader.close();
    let resolve = resolver(reader.base.as_deref());
    let mut words: HashMap<String, LinkWords> = HashMap::with_capacity(reader.links.len());
    for (href, found) in reader.links {
        let Some(url) = resolve(href.trim_ascii()) else { continue };
        let known = words.entry(url).or_default();
        if known.anchor.is_empty() {
            *known = found;
        }
    }
    words
}

#[derive(Default)]
struct Reader<'p> {
    links: Vec<(Cow<'p, str>, LinkWords)>,
    base: Option<String>,
    cutter: Cutter,
    /// The last words of the block.
    before: VecDeque<u16>,
    /// The open link.
    open: Option<usize>,
    /// Closed links that still need words after them, with how many.
    awaiting: VecDeque<(usize, usize)>,
    /// The template or drawing whose content is skipped, with its nesting depth.
    unread: Option<(Name, usize)>,
}

impl<'p> Reader<'p> {
    fn is_in_drawing(&self) -> bool {
        self.unread.is_some_and(|(unread, _)| unread == Name::Svg)
    }

    /// `attributes`: those of a start tag.
    fn take(&mut self, token: Token<'p>, attributes: &[Attribute<'p>]) {
        if self.is_unread(token) {
            return;
        }
        match token {
            Token::Text(text) => self.read(|cutter, take| cutter.text(&decode_text(text), &mut |word| take(word))),
            Token::Start(tag) => self.start(tag, attributes),
            Token::End(tag) if tag.name == Name::A => self.close(),
            Token::End(tag) => self.pass(tag.written),
            Token::Raw(_) => {}
        }
    }

    fn is_unread(&mut self, token: Token<'p>) -> bool {
        match (self.unread, token) {
            (Some((unread, open)), Token::Start(tag)) if tag.name == unread => {
                self.unread = Some((unread, open + usize::from(!tag.self_closing)));
            }
            (Some((unread, open)), Token::End(tag)) if tag.name == unread => {
                self.unread = (open > 1).then_some((unread, open - 1));
            }
            (Some(_), _) => {}
            (None, Token::Start(tag)) if matches!(tag.name, Name::Template | Name::Svg) => {
                self.unread = (!tag.self_closing).then_some((tag.name, 1));
            }
            // These stand within a line.
            (None, Token::Start(tag)) => return matches!(tag.name, Name::Script | Name::Style),
            (None, _) => return false,
        }
        true
    }

    fn start(&mut self, tag: Tag<'p>, attributes: &[Attribute<'p>]) {
        self.pass(tag.written);
        let attribute = |wanted: &str| {
            let found = attributes.iter().find(|it| it.name.eq_ignore_ascii_case(wanted));
            found.map(|it| decode_attribute(it.value))
        };
        match tag.name {
            Name::A | Name::Area => {
                self.close();
                let Some(href) = attribute("href").filter(|_| self.links.len() < MAX_LINKS) else { return };
                let around = self.before.iter().copied().collect();
                self.links.push((href, LinkWords { anchor: Vec::new(), around }));
                self.open = Some(self.links.len() - 1);
                if tag.name == Name::Area {
                    self.apart(&attribute("alt").unwrap_or_default());
                    self.close();
                }
            }
            Name::Img if self.open.is_some() => attribute("alt").into_iter().for_each(|alt| self.apart(&alt)),
            Name::Base if self.base.is_none() => self.base = attribute("href").map(Cow::into_owned),
            _ => {}
        }
    }

    /// Text that is not joined with the word before or after it.
    fn apart(&mut self, text: &str) {
        self.read(|cutter, take| {
            cutter.end(&mut |word| take(word));
            cutter.text(text, &mut |word| take(word));
            cutter.end(&mut |word| take(word));
        });
    }

    fn close(&mut self) {
        self.read(|cutter, take| cutter.end(&mut |word| take(word)));
        if let Some(link) = self.open.take() {
            if self.awaiting.len() == AWAITING {
                self.awaiting.pop_front();
            }
            self.awaiting.push_back((link, BESIDE));
        }
    }

    /// A tag. A block element ends the context of a link.
    fn pass(&mut self, name: &str) {
        if !INLINE.iter().any(|known| name.eq_ignore_ascii_case(known)) {
            self.read(|cutter, take| cutter.end(&mut |word| take(word)));
            self.before.clear();
            self.awaiting.clear();
        }
    }

    fn read(&mut self, cut: impl FnOnce(&mut Cutter, &mut dyn FnMut(u16))) {
        let mut cutter = std::mem::take(&mut self.cutter);
        cut(&mut cutter, &mut |word| self.word(word));
        self.cutter = cutter;
    }

    fn word(&mut self, word: u16) {
        if let Some((_, words)) = self.open.and_then(|link| self.links.get_mut(link))
            && words.anchor.len() < ANCHOR
        {
            words.anchor.push(word);
        }
        for (link, left) in &mut self.awaiting {
            self.links[*link].1.around.push(word);
            *left -= 1;
        }
        while self.awaiting.front().is_some_and(|(_, left)| *left == 0) {
            self.awaiting.pop_front();
        }
        if self.before.len() == BESIDE {
            self.before.pop_front();
        }
        self.before.push_back(word);
    }
}
