//! Determines the elements of a page and where they end. Follows the standard's tree construction (§13.2.6, scripts
//! off), but only with a stack of open elements and without a tree.
//!
//! There are two differences. Misplaced content of a table stays where it is written. Formatting is not repeated in
//! later blocks; [`Visitor::split`] tells where the standard would repeat it. Elements nested deeper than [`MAX_DEPTH`]
//! are closed at once, as in browsers, so that each tag takes a bounded number of steps.

mod end;
mod foreign;
mod start;

use super::names::{COUNT, FORMATTING, IMPLIED_END, Name, SCOPE, SECTION, VOID};
use super::tokens::{Attribute, Tag, Token, Tokens};

/// Browsers allow 512. Elements beyond this are flattened, which loses neither links nor text.
pub const MAX_DEPTH: usize = 126;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Namespace {
    Html,
    Svg,
    MathMl,
}

/// An element at its start tag.
#[derive(Debug, Clone, Copy)]
pub struct Element<'t, 'a> {
    pub name: Name,
    pub namespace: Namespace,
    /// The name as written.
    pub written: &'a str,
    pub attributes: &'t [Attribute<'a>],
    /// Number of elements around it, without `<html>` and `<body>`.
    pub depth: usize,
    /// The element stays open.
    pub stays: bool,
}

impl<'a> Element<'_, 'a> {
    /// The value, as written, of the first attribute with this name.
    pub fn attribute(&self, name: &str) -> Option<&'a str> {
        let is = |given: &&Attribute| given.name.len() == name.len() && given.name.eq_ignore_ascii_case(name);
        self.attributes.iter().find(is).map(|attribute| attribute.value)
    }

    pub fn is_html(&self) -> bool {
        self.namespace == Namespace::Html
    }
}

/// Receives the elements of a page, except those within inert templates.
pub trait Visitor<'a> {
    fn open(&mut self, element: &Element<'_, 'a>);
    /// The open element at this depth ends. Elements of SVG and MathML have no name here.
    fn close(&mut self, _name: Name, _depth: usize) {}
    /// The link's end tag; the link does not continue after it.
    fn end_link(&mut self) {}
    /// Text with undecoded references.
    fn text(&mut self, _text: &'a str) {}
    /// The content of an element that is text only.
    fn raw(&mut self, _name: Name, _text: &'a str) {}
    /// Misnested formatting from above this depth would be repeated in the element that is open at it.
    fn split(&mut self, _depth: usize) {}
    /// The page has frames instead of a body: discard its earlier content.
    fn frames(&mut self) {}
}

/// Reads a page.
pub fn read<'a>(page: &'a str, visitor: &mut impl Visitor<'a>) {
    let mut outline = Outline {
        tokens: Tokens::new(page),
        visitor,
        stack: Vec::new(),
        open: [0; COUNT],
        inert: None,
        in_head: true,
        frameset_ok: true,
        framesets: None,
    };
    while let Some(token) = outline.tokens.next(outline.in_foreign()) {
        match token {
            Token::Start(tag) => outline.start(tag),
            Token::End(tag) => outline.end(tag),
            Token::Text(text) => outline.text(text),
            Token::Raw(text) => outline.cdata(text),
        }
    }
    outline.close_to(0);
}

/// An open element.
#[derive(Debug, Clone, Copy)]
struct Open<'a> {
    name: Name,
    namespace: Namespace,
    written: &'a str,
    /// A foreign element that may contain HTML.
    is_integration_point: bool,
    /// Its end tag was read while inner elements are still open.
    is_gone: bool,
}

impl Open<'_> {
    fn is_html(&self) -> bool {
        self.namespace == Namespace::Html
    }

    fn has(&self, flags: u32) -> bool {
        self.is_html() && self.name.has(flags) && !self.is_gone
    }

    fn is(&self, name: Name) -> bool {
        self.is_html() && self.name == name && !self.is_gone
    }

    fn ends_scope(&self) -> bool {
        self.has(SCOPE) || self.is_integration_point
    }
}

struct Outline<'v, 'a, V> {
    tokens: Tokens<'a>,
    visitor: &'v mut V,
    stack: Vec<Open<'a>>,
    /// Number of open HTML elements of each name.
    open: [u16; COUNT],
    /// Stack index of the outermost inert template.
    inert: Option<usize>,
    in_head: bool,
    /// A frameset is still allowed.
    frameset_ok: bool,
    /// Number of open framesets, if the page has frames.
    framesets: Option<usize>,
}

impl<'a, V: Visitor<'a>> Outline<'_, 'a, V> {
    fn text(&mut self, text: &'a str) {
        let is_blank = || text.bytes().all(|byte| matches!(byte, b'\t' | b'\n' | b'\x0c' | b'\r' | b' '));
        if self.in_head || self.frameset_ok {
            if self.framesets.is_some() || self.in_head && is_blank() {
                return;
            }
            if self.in_head && self.open[Name::Template as usize] == 0 {
                self.in_head = false;
                if self.stack.last().is_some_and(|open| open.is(Name::Noscript)) {
                    self.pop();
                }
            }
            self.frameset_ok &= is_blank();
        }
        let is_between_cells = |open: &Open| open.has(SECTION) || open.is(Name::Table) || open.is(Name::Tr);
        let is_lost = self.framesets.is_some() || self.stack.last().is_some_and(is_between_cells) && is_blank();
        if self.inert.is_none() && !is_lost {
            self.visitor.text(text);
        }
    }

    fn cdata(&mut self, text: &'a str) {
        self.frameset_ok = false;
        if self.inert.is_none() {
            self.visitor.raw(Name::Other, text);
        }
    }

    fn close_p(&mut self) {
        self.close_found(self.in_button_scope(Name::P));
    }

    fn close_implied(&mut self, kept: Name) {
        while self.stack.last().is_some_and(|open| open.has(IMPLIED_END) && open.name != kept) {
            self.pop();
        }
    }

    fn find(&self, is_it: impl Fn(&Open<'a>) -> bool, is_end: impl Fn(&Open<'a>) -> bool) -> Option<usize> {
        for (at, open) in self.stack.iter().enumerate().rev() {
            if is_it(open) {
                return Some(at);
            }
            if is_end(open) {
                return None;
            }
        }
        None
    }

    fn in_scope(&self, name: Name) -> Option<usize> {
        (self.open[name as usize] > 0).then(|| self.find(|open| open.is(name), Open::ends_scope)).flatten()
    }

    fn in_button_scope(&self, name: Name) -> Option<usize> {
        let is_end = |open: &Open| open.ends_scope() || open.is(Name::Button);
        (self.open[name as usize] > 0).then(|| self.find(|open| open.is(name), is_end)).flatten()
    }

    fn visit(&mut self, tag: Tag<'a>, namespace: Namespace, stays: bool) {
        if self.inert.is_none() {
            let Tag { name, written, .. } = tag;
            let attributes = &self.tokens.attributes;
            self.visitor.open(&Element { name, namespace, written, attributes, depth: self.stack.len(), stays });
        }
    }

    fn push(&mut self, tag: Tag<'a>) {
        let tag = if tag.name == Name::Image { Tag { name: Name::Img, ..tag } } else { tag };
        self.push_as(tag, Namespace::Html);
    }

    fn push_made(&mut self, name: Name) {
        let attributes = std::mem::take(&mut self.tokens.attributes);
        self.push(Tag { name, written: name.text(), self_closing: false });
        self.tokens.attributes = attributes;
    }

    fn push_as(&mut self, tag: Tag<'a>, namespace: Namespace) {
        let is_html = namespace == Namespace::Html;
        let is_empty = if is_html { tag.name.has(VOID) } else { tag.self_closing };
        let stays = !is_empty && self.stack.len() < MAX_DEPTH;
        self.visit(tag, namespace, stays);
        if stays {
            let is_integration_point = !is_html && self.is_integration_point(tag.written, namespace);
            let Tag { name, written, .. } = tag;
            self.stack.push(Open { name, namespace, written, is_integration_point, is_gone: false });
            self.open[name as usize] += u16::from(is_html);
        } else if !is_empty && self.inert.is_none() {
            self.visitor.close(tag.name, self.stack.len());
        }
    }

    /// Closes an element, if one was found, and everything open in it.
    fn close_found(&mut self, at: Option<usize>) {
        at.into_iter().for_each(|at| self.close_to(at));
    }

    fn close_to(&mut self, length: usize) {
        while self.stack.len() > length {
            self.pop();
        }
    }

    fn pop(&mut self) {
        while let Some(open) = self.stack.pop() {
            let depth = self.stack.len();
            if open.is_html() && !open.is_gone {
                self.open[open.name as usize] -= 1;
            }
            self.inert = self.inert.filter(|inert| *inert != depth);
            if self.inert.is_none() && !(open.is_gone && open.name.has(FORMATTING)) {
                self.visitor.close(if open.is_html() { open.name } else { Name::Other }, depth);
            }
            if !self.stack.last().is_some_and(|open| open.is_gone) {
                break;
            }
        }
    }
}
