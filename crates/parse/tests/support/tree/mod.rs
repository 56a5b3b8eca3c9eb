//! The reference for parsing: the page as the tree that the HTML standard prescribes, scripts off. html5ever builds it
//! in an arena.
//!
//! Nodes are numbered in the order of their creation, which is that of the start tags. Nothing here recurses, and
//! hostile nesting is bounded by `sink`.

mod sink;
mod text;

pub use text::{TreeText, page_text};

use std::borrow::Cow;

use html5ever::tendril::StrTendril;
use html5ever::{Attribute, Namespace, QualName, local_name, ns};

use seine_parse::html::names::Name;
use seine_parse::html_facts::{Collector, HtmlFacts};

/// A page's tree. It is not `Send`.
#[derive(Debug)]
pub struct Tree {
    pub nodes: Vec<Node>,
}

/// A node's number in its tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

#[derive(Debug)]
pub struct Node {
    pub parent: Option<NodeId>,
    pub previous: Option<NodeId>,
    pub next: Option<NodeId>,
    pub first_child: Option<NodeId>,
    pub last_child: Option<NodeId>,
    /// Distance from the document when the node was inserted.
    pub depth: u32,
    pub data: NodeData,
}

#[derive(Debug)]
pub enum NodeData {
    Document,
    Element(Element),
    Text(StrTendril),
}

/// An element: name and attributes as given by the parser.
#[derive(Debug)]
pub struct Element {
    pub name: QualName,
    pub attributes: Vec<Attribute>,
}

/// One step of a walk over a tree, in document order.
#[derive(Debug, Clone, Copy)]
pub enum Step<'t> {
    Open(NodeId, &'t Element),
    Text(&'t str),
    Close(NodeId, &'t Element),
}

impl Element {
    /// The lower-case name without namespace.
    pub fn name(&self) -> &str {
        &self.name.local
    }

    /// An HTML element, not one of SVG or MathML.
    pub fn is_html(&self) -> bool {
        self.name.ns == ns!(html)
    }

    /// The value of an attribute (lower-case name, no namespace).
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attribute_in(&ns!(), name)
    }

    /// An inert template is not part of the page until a script uses it. A declarative shadow root is.
    pub fn is_inert(&self) -> bool {
        self.is_html() && self.name.local == local_name!("template") && self.attribute("shadowrootmode").is_none()
    }

    fn attribute_in(&self, namespace: &Namespace, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|given| given.name.ns == *namespace && &*given.name.local == name);
        found.map(|attribute| &*attribute.value)
    }

    /// Passes HTML elements and SVG links to the collector.
    fn collect(&self, collector: &mut Collector) {
        if self.is_html() {
            collector.element(Name::of(self.name().as_bytes()), |name| self.attribute(name).map(Cow::from));
        } else if self.name.ns == ns!(svg) && self.name.local == local_name!("a") {
            collector.element(Name::A, |name| {
                let xlink = || self.attribute_in(&ns!(xlink), name).filter(|_| name == "href");
                self.attribute(name).or_else(xlink).map(Cow::from)
            });
        }
    }
}

impl Tree {
    /// All elements in document order, opened and closed. Inert templates have no content.
    pub fn walk(&self) -> Walk<'_> {
        Walk { tree: self, at: Some((NodeId(0), Direction::Down)) }
    }

    /// The same facts as [`seine_parse::html_facts::read`], except that the link of a cloned element (misnested `<a>`)
    /// occurs once more.
    pub fn facts(&self, agent: &str) -> HtmlFacts {
        let mut opened: Vec<(NodeId, &Element)> = Vec::new();
        for step in self.walk() {
            if let Step::Open(id, element) = step {
                opened.push((id, element));
            }
        }
        // By start tag, not by position: the parser moves misplaced content of a table in front of it.
        opened.sort_unstable_by_key(|(id, _)| *id);
        let mut collector = Collector::default();
        for (id, element) in opened {
            element.collect(&mut collector);
            if element.is_html() && element.name.local == local_name!("title") {
                collector.title(&self.text_of(id));
            }
        }
        collector.finish(agent)
    }

    /// The text directly below a node.
    fn text_of(&self, id: NodeId) -> String {
        let mut text = String::new();
        let mut child = self.node(id).and_then(|node| node.first_child);
        while let Some(node) = child.and_then(|id| self.node(id)) {
            if let NodeData::Text(part) = &node.data {
                text.push_str(part);
            }
            child = node.next;
        }
        text
    }

    fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id.0 as usize)
    }
}

/// The iterator behind [`Tree::walk`].
#[derive(Debug)]
pub struct Walk<'t> {
    tree: &'t Tree,
    at: Option<(NodeId, Direction)>,
}

#[derive(Debug, Clone, Copy)]
enum Direction {
    /// The node is visited for the first time.
    Down,
    /// Its children were visited.
    Up,
}

impl<'t> Iterator for Walk<'t> {
    type Item = Step<'t>;

    fn next(&mut self) -> Option<Step<'t>> {
        loop {
            let (id, direction) = self.at?;
            let node = self.tree.node(id)?;
            let child = node.first_child.filter(|_| !matches!(&node.data, NodeData::Element(e) if e.is_inert()));
            self.at = match (direction, &node.data) {
                (Direction::Down, NodeData::Text(_)) => after(node),
                (Direction::Down, _) => Some(child.map_or((id, Direction::Up), |child| (child, Direction::Down))),
                (Direction::Up, _) => after(node),
            };
            match (direction, &node.data) {
                (Direction::Down, NodeData::Text(text)) => return Some(Step::Text(text)),
                (Direction::Down, NodeData::Element(element)) => return Some(Step::Open(id, element)),
                (Direction::Up, NodeData::Element(element)) => return Some(Step::Close(id, element)),
                _ => {}
            }
        }
    }
}

fn after(node: &Node) -> Option<(NodeId, Direction)> {
    node.next.map(|next| (next, Direction::Down)).or(node.parent.map(|parent| (parent, Direction::Up)))
}
