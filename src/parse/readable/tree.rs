//! A page as a tree for who reads it: elements and text in the order of the page, each with the place behind all that is in it.
//!
//! Not the standard's tree, as nothing is moved: what is misnested ends where its parent ends, which costs a reader nothing. Links
//! and paragraphs end where browsers end them. Nothing recurses, and hostile nesting and numbers are bounded.

use super::markup::{Markup, Piece, attribute};
use super::names::{BLOCK, Tag, UNSEEN, VOID, WALL};

/// Elements within each other; those deeper are left out, not what is in them. Browsers have the same limit.
const MAX_DEPTH: usize = 512;
/// How far out an element is looked for that a tag ends.
const MAX_SEARCH: usize = 64;
/// Elements and texts of a page. What comes behind them is lost; no page for people has as many.
const MAX_NODES: usize = 2_000_000;
/// Bytes of structured data that are kept, and how many pieces.
const MAX_DATA: (usize, usize) = (200_000, 32);

#[derive(Debug, Clone, Copy)]
pub struct Node<'a> {
    /// None: a text.
    pub tag: Option<Tag>,
    /// Attributes as they are written, or the text with its references.
    pub written: &'a str,
    pub parent: u32,
    /// Behind all that is in it.
    pub end: u32,
}

/// What stands in a page. The first node is the root, whatever the page is like.
#[derive(Debug)]
pub struct Tree<'a> {
    pub nodes: Vec<Node<'a>>,
    /// As it is written.
    pub title: &'a str,
    /// The attributes of `<meta>` elements.
    pub metas: Vec<&'a str>,
    /// `<base href>` and `<link rel=canonical>`, attributes of the first of each.
    pub base: Option<&'a str>,
    pub canonical: Option<&'a str>,
    /// The attributes of the element in which Discourse's forums send their posts.
    pub preloaded: Option<&'a str>,
    /// JSON-LD, as it is written.
    pub data: Vec<&'a str>,
}

struct Builder<'a> {
    tree: Tree<'a>,
    open: Vec<u32>,
    /// Open elements that are left out.
    left_out: usize,
    /// Open drawings, within each other: nothing of them is kept.
    drawings: usize,
    has_body: bool,
}

impl<'a> Tree<'a> {
    pub fn read(page: &'a str) -> Tree<'a> {
        let root = Node { tag: Some(Tag::Html), written: "", parent: 0, end: 0 };
        let tree = Tree {
            nodes: vec![root],
            title: "",
            metas: Vec::new(),
            base: None,
            canonical: None,
            preloaded: None,
            data: Vec::new(),
        };
        let mut builder = Builder { tree, open: vec![0], left_out: 0, drawings: 0, has_body: false };
        for piece in Markup::new(page) {
            if builder.tree.nodes.len() >= MAX_NODES {
                break;
            }
            match piece {
                Piece::Start { tag, attributes, closed } => builder.start(tag, attributes, closed),
                Piece::End(tag) => builder.end(tag),
                Piece::Text(text) => builder.text(text),
                Piece::Raw(text) => builder.raw(text),
            }
        }
        builder.close_to(0);
        builder.tree
    }
}

impl<'a> Builder<'a> {
    fn tag(&self, open: usize) -> Tag {
        self.tree.nodes[self.open[open] as usize].tag.unwrap_or(Tag::Other)
    }

    fn start(&mut self, tag: Tag, written: &'a str, closed: bool) {
        if self.drawings > 0 && !tag.has(BLOCK) {
            self.drawings += usize::from(tag == Tag::Svg && !closed);
            return;
        }
        // What stands apart ends a drawing.
        self.drawings = 0;
        self.note(tag, written);
        match tag {
            // Attributes of a second one count for the first, whose class may say something.
            Tag::Html => return,
            Tag::Body if self.has_body => return,
            Tag::Body => {
                self.close_to(1);
                self.has_body = true;
            }
            Tag::Head if self.open.len() > 1 => return,
            Tag::Svg => {
                self.drawings = usize::from(!closed);
                return;
            }
            _ => self.close_before(tag),
        }
        if tag.has(VOID) {
            self.push(Some(tag), written);
        } else if self.open.len() >= MAX_DEPTH {
            self.left_out += 1;
        } else {
            let number = self.push(Some(tag), written);
            self.open.push(number);
        }
    }

    /// What stands in the head, wherever it is found.
    fn note(&mut self, tag: Tag, written: &'a str) {
        let is_rel = |rel: &str| attribute(written, "rel").is_some_and(|given| given.eq_ignore_ascii_case(rel));
        match tag {
            Tag::Meta if self.tree.metas.len() < 500 => self.tree.metas.push(written),
            Tag::Div if self.tree.preloaded.is_none() && written.contains("data-preloaded=") => {
                self.tree.preloaded = Some(written);
            }
            Tag::Base => self.tree.base = self.tree.base.or(Some(written)),
            Tag::Link if self.tree.canonical.is_none() && is_rel("canonical") => self.tree.canonical = Some(written),
            _ => {}
        }
    }

    /// Closes what ends where an element begins.
    fn close_before(&mut self, tag: Tag) {
        let length = self.open.len();
        let mut to = length;
        for at in (1.max(length.saturating_sub(MAX_SEARCH))..length).rev() {
            let outer = self.tag(at);
            if tag.ends(outer) {
                to = at;
            } else if tag.bars(outer) {
                break;
            }
        }
        self.close_to(to);
        // Whatever is shown stands behind the head.
        if self.open.len() == 2 && self.tag(1) == Tag::Head && tag.has(BLOCK) && !tag.has(UNSEEN) {
            self.close_to(1);
        }
    }

    fn end(&mut self, tag: Tag) {
        if self.drawings > 0 && !tag.has(BLOCK) {
            self.drawings -= usize::from(tag == Tag::Svg);
            return;
        }
        self.drawings = 0;
        if self.left_out > 0 && !tag.has(VOID) {
            self.left_out -= 1;
            return;
        }
        if matches!(tag, Tag::Html | Tag::Body) || tag.has(VOID) {
            return;
        }
        let length = self.open.len();
        for at in (1.max(length.saturating_sub(MAX_SEARCH))..length).rev() {
            let outer = self.tag(at);
            if outer == tag {
                return self.close_to(at);
            }
            let is_wall = outer.has(WALL) && !matches!(tag, Tag::Table | Tag::Tr | Tag::Tbody | Tag::Thead);
            let is_beyond = !tag.has(BLOCK) && tag != Tag::A && outer.has(BLOCK);
            if is_wall || is_beyond || tag != Tag::Table && outer == Tag::Table {
                return;
            }
        }
    }

    fn text(&mut self, text: &'a str) {
        if self.drawings == 0 {
            self.push(None, text);
        }
    }

    fn raw(&mut self, text: &'a str) {
        if self.drawings > 0 {
            return;
        }
        let Some(&number) = self.open.last() else { return };
        let element = self.tree.nodes[number as usize];
        match element.tag {
            Some(Tag::Title) if self.tree.title.is_empty() => self.tree.title = text,
            Some(Tag::Script) => {
                let is_data = || attribute(element.written, "type").is_some_and(|kind| kind.contains("ld+json"));
                if text.len() <= MAX_DATA.0 && self.tree.data.len() < MAX_DATA.1 && is_data() {
                    self.tree.data.push(text);
                }
            }
            Some(Tag::Xmp | Tag::Plaintext) => {
                self.push(None, text);
            }
            _ => {}
        }
    }

    fn push(&mut self, tag: Option<Tag>, written: &'a str) -> u32 {
        let number = self.tree.nodes.len() as u32;
        let parent = self.open.last().copied().unwrap_or(0);
        self.tree.nodes.push(Node { tag, written, parent, end: number + 1 });
        number
    }

    fn close_to(&mut self, length: usize) {
        let end = self.tree.nodes.len() as u32;
        for number in self.open.drain(length..) {
            self.tree.nodes[number as usize].end = end;
        }
    }
}
