//! A page as a tree for who reads it: elements and text in the order of the page, each with the place behind all that is in it.
//!
//! The elements are those of the page's [outline], and nothing is moved: what a link leaves open when it
//! ends, ends with it.

use std::borrow::Cow;

use crate::html::names::{BLANK, CLOSES_P, LINE, Name, SCOPE, UNSEEN, VOID};
use crate::html::outline::{self, Element, Namespace, Visitor};
use crate::html::tokens::Attribute;
use crate::html::{decode_attribute, decode_text};

/// Elements and texts of a page, and attributes of them all. What comes behind them is lost; no page for people has as many.
const MAX_NODES: usize = 2_000_000;
/// Bytes of structured data that are kept, and how many pieces.
const MAX_DATA: (usize, usize) = (200_000, 32);

#[derive(Debug, Clone, Copy)]
pub struct Node<'a> {
    /// None: a text.
    pub name: Option<Name>,
    /// Text before and behind it stands apart.
    pub is_apart: bool,
    /// Of a text, as it is written.
    written: &'a str,
    /// Where its attributes begin; they end where those of the next node do.
    attributes: u32,
    pub parent: u32,
    /// Behind all that is in it.
    pub end: u32,
}

/// What stands in a page. The first node is the root, whatever the page is like.
#[derive(Debug)]
pub struct Tree<'a> {
    pub nodes: Vec<Node<'a>>,
    attributes: Vec<Attribute<'a>>,
    /// As it is written, as is whatever follows.
    pub title: &'a str,
    /// Of the first `<base href>` and `<link rel=canonical href>`.
    pub base: Option<&'a str>,
    pub canonical: Option<&'a str>,
    /// In which Discourse's forums send their posts.
    pub preloaded: Option<&'a str>,
    /// JSON-LD.
    pub data: Vec<&'a str>,
}

struct Builder<'a> {
    tree: Tree<'a>,
    /// The root, the body if there is one, and every open element.
    open: Vec<Open>,
    /// How many stand around the elements that have a depth: the root, or the body too.
    outer: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct Open {
    /// It, or what its content goes to.
    number: u32,
    /// It is a part of a drawing: of these HTML alone is kept.
    is_drawn: bool,
}

impl<'a> Tree<'a> {
    pub fn read(page: &'a str) -> Tree<'a> {
        let root = Node { name: Some(Name::Html), is_apart: true, written: "", attributes: 0, parent: 0, end: 0 };
        let tree = Tree {
            nodes: vec![root],
            attributes: Vec::new(),
            title: "",
            base: None,
            canonical: None,
            preloaded: None,
            data: Vec::new(),
        };
        let mut builder = Builder { tree, open: vec![Open::default()], outer: 1 };
        outline::read(page, &mut builder);
        builder.close_to(0);
        builder.tree
    }

    pub fn attributes(&self, number: u32) -> &[Attribute<'a>] {
        let begin_of = |number: usize| self.nodes.get(number).map(|node| node.attributes as usize);
        let begin = begin_of(number as usize).unwrap_or_default();
        &self.attributes[begin..begin_of(number as usize + 1).unwrap_or(self.attributes.len())]
    }

    /// The value of the first attribute of a lower-case name.
    pub fn attribute(&self, number: u32, name: &str) -> Option<Cow<'a, str>> {
        let found = self.attributes(number).iter().find(|it| it.name.eq_ignore_ascii_case(name));
        found.map(|it| decode_attribute(it.value))
    }

    /// A text.
    pub fn text(&self, number: u32) -> Cow<'a, str> {
        decode_text(self.nodes[number as usize].written)
    }
}

impl<'a> Visitor<'a> for Builder<'a> {
    fn open(&mut self, element: &Element<'_, 'a>) {
        let Element { name, namespace, depth, stays, .. } = *element;
        match name {
            Name::Html if element.is_html() => {}
            Name::Body if element.is_html() => self.body(element),
            name => {
                self.close_to(self.outer + depth);
                let is_drawn = namespace == Namespace::Svg;
                let number = if is_drawn { self.parent() } else { self.element(name, element) };
                if stays {
                    self.open.push(Open { number, is_drawn });
                }
            }
        }
    }

    fn close(&mut self, name: Name, depth: usize) {
        let at = self.outer + depth;
        if at + 1 >= self.open.len() {
            return self.close_to(at);
        }
        // Only a link takes with it what it leaves open.
        let to = if name == Name::A { self.open.len() } else { at + 1 };
        let parent = self.open[at - 1].number;
        let end = self.end();
        for open in &mut self.open[at..to] {
            self.tree.nodes[open.number as usize].end = end;
            open.number = parent;
        }
    }

    fn text(&mut self, text: &'a str) {
        if self.open.last().is_none_or(|open| !open.is_drawn) {
            self.push(None, false, text, &[]);
        }
    }

    fn raw(&mut self, name: Name, text: &'a str) {
        let is_data = || {
            let kind = self.tree.attribute(self.end() - 1, "type");
            kind.is_some_and(|kind| kind.contains("ld+json"))
        };
        match name {
            Name::Title if self.tree.title.is_empty() => self.tree.title = text,
            Name::Script if text.len() <= MAX_DATA.0 && self.tree.data.len() < MAX_DATA.1 && is_data() => {
                self.tree.data.push(text);
            }
            Name::Xmp => {
                self.open.push(Open { number: self.end() - 1, is_drawn: false });
                self.text(text);
                self.close_to(self.open.len() - 1);
            }
            Name::Plaintext | Name::Other => self.text(text),
            _ => {}
        }
    }
}

impl<'a> Builder<'a> {
    fn end(&self) -> u32 {
        self.tree.nodes.len() as u32
    }

    fn parent(&self) -> u32 {
        self.open.last().map_or(0, |open| open.number)
    }

    /// The first one's classes may say something; it holds what comes behind it.
    fn body(&mut self, body: &Element<'_, 'a>) {
        if self.open.len() == 1 {
            let number = self.push(Some(Name::Body), true, "", body.attributes);
            self.open.push(Open { number, is_drawn: false });
            self.outer = 2;
        }
    }

    /// Notes what belongs into the head, wherever it stands.
    fn element(&mut self, name: Name, element: &Element<'_, 'a>) -> u32 {
        let name = if element.is_html() { name } else { Name::Other };
        let tree = &mut self.tree;
        let is_rel = |rel: &str| element.attribute("rel").is_some_and(|given| given.eq_ignore_ascii_case(rel));
        match name {
            Name::Div if tree.preloaded.is_none() => tree.preloaded = element.attribute("data-preloaded"),
            Name::Base if tree.base.is_none() => tree.base = element.attribute("href"),
            Name::Link if tree.canonical.is_none() && is_rel("canonical") => tree.canonical = element.attribute("href"),
            _ => {}
        }
        self.push(Some(name), is_apart(name, element.written), "", element.attributes)
    }

    /// What is too much is its parent.
    fn push(&mut self, name: Option<Name>, is_apart: bool, written: &'a str, attributes: &[Attribute<'a>]) -> u32 {
        let parent = self.parent();
        if self.tree.nodes.len() >= MAX_NODES {
            return parent;
        }
        let number = self.end();
        let begin = self.tree.attributes.len();
        if begin < MAX_NODES {
            self.tree.attributes.extend(attributes);
        }
        let node = Node { name, is_apart, written, attributes: begin as u32, parent, end: number + 1 };
        self.tree.nodes.push(node);
        number
    }

    fn close_to(&mut self, length: usize) {
        let end = self.end();
        for open in self.open.drain(length.min(self.open.len())..) {
            self.tree.nodes[open.number as usize].end = end;
        }
    }
}

/// An element of the page's own, `<my-card>`, mostly is a block.
fn is_apart(name: Name, written: &str) -> bool {
    name.has(LINE | BLANK) && !name.has(VOID)
        || name.has(CLOSES_P | SCOPE | UNSEEN)
        || matches!(name, Name::Audio | Name::Canvas | Name::Iframe | Name::Textarea | Name::Video)
        || name == Name::Other && written.contains('-')
}
