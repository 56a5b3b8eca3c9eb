//! A page as a tree: elements and texts in document order, each with the position after its content.
//!
//! The elements are those of the page's [outline], and nothing is moved. Elements still open at the end of a link end
//! with it.

use std::borrow::Cow;

use crate::html::names::{BLANK, CLOSES_P, LINE, Name, SCOPE, UNSEEN, VOID};
use crate::html::outline::{self, Element, Namespace, Visitor};
use crate::html::tokens::Attribute;
use crate::html::{decode_attribute, decode_text};

/// Limit of elements and texts, and of attributes. Content beyond it is dropped; pages for people are far smaller.
const MAX_NODES: usize = 2_000_000;
/// Limits of structured data: bytes, and pieces.
const MAX_DATA: (usize, usize) = (200_000, 32);

#[derive(Debug, Clone, Copy)]
pub struct Node<'a> {
    /// None: a text.
    pub name: Option<Name>,
    /// The element separates the text before, inside and after it.
    pub is_apart: bool,
    /// A text as written.
    written: &'a str,
    /// Start of its attributes; they end where those of the next node begin.
    attributes: u32,
    pub parent: u32,
    /// The position after its content.
    pub end: u32,
}

/// The nodes of a page. The first is always the root.
#[derive(Debug)]
pub struct Tree<'a> {
    pub nodes: Vec<Node<'a>>,
    attributes: Vec<Attribute<'a>>,
    /// As written, like the following fields.
    pub title: &'a str,
    /// From the first `<base href>` and `<link rel=canonical href>`.
    pub base: Option<&'a str>,
    pub canonical: Option<&'a str>,
    /// The posts embedded by a Discourse forum.
    pub preloaded: Option<&'a str>,
    /// JSON-LD.
    pub data: Vec<&'a str>,
}

struct Builder<'a> {
    tree: Tree<'a>,
    /// The root, the body if there is one, and every open element.
    open: Vec<Open>,
    /// Number of open elements without a depth: the root, and the body if there is one.
    outer: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct Open {
    /// The node, or the node that takes its content.
    number: u32,
    /// Part of SVG or MathML, of which only HTML content is kept.
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

    /// The value of the first attribute with a lower-case name.
    pub fn attribute(&self, number: u32, name: &str) -> Option<Cow<'a, str>> {
        let found = self.attributes(number).iter().find(|it| it.name.eq_ignore_ascii_case(name));
        found.map(|it| decode_attribute(it.value))
    }

    /// A text as readers see it: `10<sup>6</sup>` is 10⁶, and `10<sup>6.5</sup>` is 10^6.5, because no point is raised in
    /// Unicode. Raised and lowered words stay as they are.
    pub fn shown(&self, number: u32) -> Cow<'a, str> {
        let text = self.text(number);
        let parent = self.nodes[self.nodes[number as usize].parent as usize];
        let digits = match parent.name {
            Some(Name::Sup) => "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻ⁿ",
            Some(Name::Sub) => "₀₁₂₃₄₅₆₇₈₉₊₋₋ₙ",
            _ => return text,
        };
        let raised = |c: char| digits.chars().nth("0123456789+-\u{2212}n".chars().position(|plain| plain == c)?);
        let words = text.trim();
        let blank = &text[text.trim_end().len()..];
        let is_number = words.parse::<f32>().is_ok() && words.bytes().all(|b| b.is_ascii_digit() || b"-.".contains(&b));
        let is_decimal = is_number && !words.ends_with('.');
        match words.chars().map(raised).collect::<Option<String>>() {
            Some(raised) if !words.is_empty() => Cow::Owned(raised + blank),
            None if parent.name == Some(Name::Sup) && is_decimal => Cow::Owned(format!("^{words}{blank}")),
            _ => text,
        }
    }

    /// The decoded text of a node.
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
        // Only the end of a link closes the elements left open in it.
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

    /// The first body's classes are used; it contains everything after it.
    fn body(&mut self, body: &Element<'_, 'a>) {
        if self.open.len() == 1 {
            let number = self.push(Some(Name::Body), true, "", body.attributes);
            self.open.push(Open { number, is_drawn: false });
            self.outer = 2;
        }
    }

    /// Records data of the head, wherever it occurs.
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

    /// Beyond the limit, content belongs to the parent.
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

/// A custom element, such as `<my-card>`, is usually a block.
fn is_apart(name: Name, written: &str) -> bool {
    name.has(LINE | BLANK) && !name.has(VOID)
        || name.has(CLOSES_P | SCOPE | UNSEEN)
        || matches!(name, Name::Audio | Name::Canvas | Name::Iframe | Name::Textarea | Name::Video)
        || name == Name::Other && written.contains('-')
}
