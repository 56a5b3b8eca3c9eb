//! The words of a page's links: those between `<a>` and `</a>`, and those on either side as far as the block reaches.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};

use super::lead::{ANCHOR, BESIDE, LinkWords};
use super::words::Cutter;
use crate::parse::html_facts::MAX_LINKS;
use crate::parse::markup::{Markup, Piece};

/// Elements within a line: a word goes on beyond them, and so does what is around a link.
const INLINE: [&str; 24] = [
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "em", "font", "i", "img", "kbd", "mark", "s",
    "small", "span", "strong", "sub", "sup", "time", "tt", "u",
];
/// Elements whose content nobody reads.
const UNREAD: [&str; 4] = ["script", "style", "template", "svg"];
/// Links without a word between them share what comes next; so many of them.
const AWAITING: usize = BESIDE;

/// By its URL, each link's words. `resolve`: what a reference on the page is to be known by, of the base that the page names, if it
/// does; the first link to a URL that has words of its own counts.
pub fn link_words(page: &str, resolve: impl Fn(Option<&str>, &str) -> Option<String>) -> HashMap<String, LinkWords> {
    let mut reader = Reader::default();
    let mut markup = Markup::new(page);
    let mut begin = 0;
    while let Some(piece) = markup.next() {
        let end = markup.place();
        reader.take(piece, &page[begin..end]);
        begin = end;
    }
    reader.close();
    let base = reader.base;
    let mut words: HashMap<String, LinkWords> = HashMap::with_capacity(reader.links.len());
    for (href, found) in reader.links {
        let Some(url) = resolve(base.as_deref(), &href) else { continue };
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
    /// The link that is open.
    open: Option<usize>,
    /// Links that are closed, and want words, so many each.
    awaiting: VecDeque<(usize, usize)>,
    /// The element whose content is passed over, and how many of its name are open.
    unread: Option<(&'p str, usize)>,
}

impl<'p> Reader<'p> {
    /// `written`: the piece as it stands in the page; of a tag, with its attributes.
    fn take(&mut self, piece: Piece<'p>, written: &'p str) {
        if self.is_unread(piece) {
            return;
        }
        match piece {
            Piece::Text(text) => self.read(|cutter, take| cutter.text(text, &mut |word| take(word))),
            Piece::Character(c) => self.read(|cutter, take| cutter.character(c, &mut |word| take(word))),
            Piece::Start { name, empty } => self.start(name, empty, written),
            Piece::End { name } if name.eq_ignore_ascii_case("a") => self.close(),
            Piece::End { name } => self.pass(name),
            Piece::Aside => {}
        }
    }

    fn is_unread(&mut self, piece: Piece<'p>) -> bool {
        match (self.unread, piece) {
            (Some((unread, open)), Piece::Start { name, empty: false }) if name.eq_ignore_ascii_case(unread) => {
                self.unread = Some((unread, open + 1));
            }
            (Some((unread, open)), Piece::End { name }) if name.eq_ignore_ascii_case(unread) => {
                self.unread = (open > 1).then_some((unread, open - 1));
            }
            (Some(_), _) => {}
            (None, Piece::Start { name, empty: false }) if is_one_of(name, &UNREAD) => self.unread = Some((name, 1)),
            (None, _) => return false,
        }
        true
    }

    fn start(&mut self, name: &str, empty: bool, written: &'p str) {
        self.pass(name);
        if name.eq_ignore_ascii_case("a") || name.eq_ignore_ascii_case("area") {
            self.close();
            let is_area = name.len() > 1;
            let Some(href) = attribute(written, name, "href").filter(|_| self.links.len() < MAX_LINKS) else { return };
            let around = self.before.iter().copied().collect();
            self.links.push((href, LinkWords { anchor: Vec::new(), around }));
            self.open = Some(self.links.len() - 1);
            if is_area {
                self.text_of(written, name, "alt");
            }
            if is_area || empty {
                self.close();
            }
        } else if name.eq_ignore_ascii_case("img") && self.open.is_some() {
            self.text_of(written, name, "alt");
        } else if name.eq_ignore_ascii_case("base") && self.base.is_none() {
            self.base = attribute(written, name, "href").map(Cow::into_owned);
        }
    }

    fn text_of(&mut self, written: &'p str, name: &str, wanted: &str) {
        if let Some(text) = attribute(written, name, wanted) {
            self.read(|cutter, take| {
                cutter.end(&mut |word| take(word));
                cutter.text(&text, &mut |word| take(word));
                cutter.end(&mut |word| take(word));
            });
        }
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

    /// A tag: where it is of a block, nothing around a link goes beyond it.
    fn pass(&mut self, name: &str) {
        if !is_one_of(name, &INLINE) {
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

fn is_one_of(name: &str, names: &[&str]) -> bool {
    names.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// The value of a tag's attribute, decoded. `written` may have something before the tag.
fn attribute<'p>(written: &'p str, name: &str, wanted: &str) -> Option<Cow<'p, str>> {
    let opening = memchr::memchr_iter(b'<', written.as_bytes())
        .find(|at| written[at + 1..].get(..name.len()).is_some_and(|it| it.eq_ignore_ascii_case(name)))?;
    let mut rest = &written[opening + 1 + name.len()..];
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        let end = rest.find(|c: char| c.is_ascii_whitespace() || matches!(c, '=' | '>' | '/')).unwrap_or(rest.len());
        let (attribute, behind) = rest.split_at(end);
        if attribute.is_empty() && !behind.starts_with('=') {
            return None;
        }
        let Some(value) = behind.trim_start().strip_prefix('=') else {
            rest = behind;
            continue;
        };
        let value = value.trim_start();
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
        let (value, behind) = match quote {
            Some(quote) => value[1..].split_once(quote).unwrap_or((&value[1..], "")),
            None => value.split_at(value.find(|c: char| c.is_ascii_whitespace() || c == '>').unwrap_or(value.len())),
        };
        if attribute.eq_ignore_ascii_case(wanted) {
            return Some(htmlize::unescape_attribute(value));
        }
        rest = behind;
    }
}
