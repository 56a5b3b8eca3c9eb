//! Builds a [`Tree`] with html5ever, within limits.
//!
//! The standard's algorithm looks at all open elements for every tag and may create many nodes for one tag. So a small
//! hostile page can cost minutes and gigabytes. There are three limits: elements nested deeper than [`MAX_DEPTH`] are
//! closed at once (browsers flatten such pages, too), and a tree ends at [`MAX_NODES`] or [`MAX_WORK`].

use std::borrow::Cow;
use std::cell::{Cell, Ref, RefCell};

use html5ever::buffer_queue::BufferQueue;
use html5ever::interface::{ElemName, ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts};
use html5ever::tree_builder::{TreeBuilder, TreeBuilderOpts};
use html5ever::{Attribute, LocalName, Namespace, QualName, TokenizerResult, local_name};

use super::{Element, Node, NodeData, NodeId, Tree};

/// Browsers allow 512. Flattening loses neither links nor text.
pub const MAX_DEPTH: u32 = 128;
/// About 60 MB; the longest real pages are below this.
pub const MAX_NODES: usize = 500_000;
/// Open elements that the parser looks at, summed over all tags: well below a second. A long page needs a hundredth of
/// this.
pub const MAX_WORK: u64 = 50_000_000;

const DOCUMENT: NodeId = NodeId(0);
/// Stands for comments and processing instructions, which are dropped.
const NOTHING: NodeId = NodeId(u32::MAX);

impl Tree {
    /// Parses a whole page. Never fails: every text is a page.
    pub fn parse(text: &str) -> Tree {
        let options = TreeBuilderOpts { scripting_enabled: false, drop_doctype: true, ..TreeBuilderOpts::default() };
        let limited = Limited { builder: TreeBuilder::new(Sink::new(), options), work: Cell::new(0) };
        let tokenizer = Tokenizer::new(limited, TokenizerOpts::default());
        let input = BufferQueue::default();
        input.push_back(StrTendril::from_slice(text));
        // The tokenizer pauses after scripts and `<meta charset>`; nothing needs to be done there.
        while !matches!(tokenizer.feed(&input), TokenizerResult::Done) {}
        tokenizer.end();
        Tree { nodes: tokenizer.sink.builder.sink.nodes.into_inner() }
    }
}

/// Between tokenizer and tree builder: keeps the tree within its limits.
struct Limited {
    builder: TreeBuilder<NodeId, Sink>,
    work: Cell<u64>,
}

impl Limited {
    fn is_spent(&self) -> bool {
        self.builder.sink.nodes.borrow().len() >= MAX_NODES || self.work.get() >= MAX_WORK
    }
}

impl TokenSink for Limited {
    type Handle = NodeId;

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<NodeId> {
        let sink = &self.builder.sink;
        if self.is_spent() && token != Token::EOFToken {
            return TokenSinkResult::Continue;
        }
        self.work.set(self.work.get() + u64::from(sink.depth.get()));
        let opened = match &token {
            Token::TagToken(tag) if tag.kind == TagKind::StartTag => Some(tag.name.clone()),
            _ => None,
        };
        sink.reached.set(0);
        let result = self.builder.process_token(token, line);
        if let Some(name) = opened
            && sink.reached.get() > MAX_DEPTH
            && result == TokenSinkResult::Continue
            // An end tag `</br>` would add another `<br>`.
            && name != local_name!("br")
        {
            let _ = self.builder.process_token(Token::TagToken(end_tag(name)), line);
        }
        result
    }

    fn end(&self) {
        self.builder.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.builder.adjusted_current_node_present_but_not_in_html_namespace()
    }
}

fn end_tag(name: LocalName) -> Tag {
    Tag { kind: TagKind::EndTag, name, self_closing: false, attrs: Vec::new(), had_duplicate_attributes: false }
}

/// The tree while it is built. html5ever calls through a shared reference, one call at a time.
struct Sink {
    nodes: RefCell<Vec<Node>>,
    /// Depth of the deepest element inserted since this was last reset.
    reached: Cell<u32>,
    /// Depth of the last element inserted.
    depth: Cell<u32>,
}

impl Sink {
    fn new() -> Sink {
        Sink { nodes: RefCell::new(vec![Node::new(NodeData::Document)]), reached: Cell::new(0), depth: Cell::new(0) }
    }

    fn create(&self, data: NodeData) -> NodeId {
        let mut nodes = self.nodes.borrow_mut();
        let id = NodeId(nodes.len() as u32);
        nodes.push(Node::new(data));
        id
    }

    /// Inserts a node without parent under `parent`, before `next` or at the end.
    fn attach(&self, id: NodeId, parent: NodeId, next: Option<NodeId>) {
        let mut nodes = self.nodes.borrow_mut();
        let nodes = nodes.as_mut_slice();
        let previous = match next {
            Some(next) => at(nodes, next).previous.replace(id),
            None => at(nodes, parent).last_child.replace(id),
        };
        match previous {
            Some(previous) => at(nodes, previous).next = Some(id),
            None => at(nodes, parent).first_child = Some(id),
        }
        let depth = at(nodes, parent).depth + 1;
        let node = at(nodes, id);
        (node.parent, node.previous, node.next, node.depth) = (Some(parent), previous, next, depth);
        if matches!(node.data, NodeData::Element(_)) {
            self.reached.set(self.reached.get().max(depth));
            self.depth.set(depth);
        }
    }

    fn detach(&self, id: NodeId) {
        let mut nodes = self.nodes.borrow_mut();
        let nodes = nodes.as_mut_slice();
        let node = at(nodes, id);
        let (parent, previous, next) = (node.parent.take(), node.previous.take(), node.next.take());
        let Some(parent) = parent else { return };
        match previous {
            Some(previous) => at(nodes, previous).next = next,
            None => at(nodes, parent).first_child = next,
        }
        match next {
            Some(next) => at(nodes, next).previous = previous,
            None => at(nodes, parent).last_child = previous,
        }
    }

    /// Inserts a node or text under `parent`, before `next` or at the end. Neighbouring texts are joined.
    fn insert(&self, child: NodeOrText<NodeId>, parent: NodeId, next: Option<NodeId>) {
        match child {
            NodeOrText::AppendNode(NOTHING) => {}
            NodeOrText::AppendNode(id) => {
                self.detach(id);
                self.attach(id, parent, next);
            }
            NodeOrText::AppendText(text) => {
                if let Some(text) = self.extend_text(text, parent, next) {
                    self.attach(self.create(NodeData::Text(text)), parent, next);
                }
            }
        }
    }

    /// Appends to a neighbouring text; returns `text` if there is none.
    fn extend_text(&self, text: StrTendril, parent: NodeId, next: Option<NodeId>) -> Option<StrTendril> {
        let mut nodes = self.nodes.borrow_mut();
        let nodes = nodes.as_mut_slice();
        let previous = match next {
            Some(next) => at(nodes, next).previous,
            None => at(nodes, parent).last_child,
        };
        match previous.map(|previous| &mut at(nodes, previous).data) {
            Some(NodeData::Text(before)) => {
                before.push_tendril(&text);
                None
            }
            _ => Some(text),
        }
    }

    fn parent_of(&self, id: NodeId) -> Option<NodeId> {
        self.nodes.borrow()[id.0 as usize].parent
    }
}

/// Ids come only from [`Sink::create`], and nodes are never removed.
fn at(nodes: &mut [Node], id: NodeId) -> &mut Node {
    &mut nodes[id.0 as usize]
}

impl Node {
    fn new(data: NodeData) -> Node {
        Node { parent: None, previous: None, next: None, first_child: None, last_child: None, depth: 0, data }
    }
}

/// An element's name, borrowed from the tree being built.
#[derive(Debug)]
struct BorrowedName<'a>(Ref<'a, QualName>);

impl ElemName for BorrowedName<'_> {
    fn ns(&self) -> &Namespace {
        &self.0.ns
    }

    fn local_name(&self) -> &LocalName {
        &self.0.local
    }
}

impl TreeSink for Sink {
    type Handle = NodeId;
    type Output = Sink;
    type ElemName<'a> = BorrowedName<'a>;

    fn finish(self) -> Sink {
        self
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> NodeId {
        DOCUMENT
    }

    fn elem_name<'a>(&'a self, target: &'a NodeId) -> BorrowedName<'a> {
        BorrowedName(Ref::map(self.nodes.borrow(), |nodes| match &nodes[target.0 as usize].data {
            NodeData::Element(element) => &element.name,
            _ => unreachable!("html5ever asks for the names of elements only"),
        }))
    }

    fn create_element(&self, name: QualName, attributes: Vec<Attribute>, _: ElementFlags) -> NodeId {
        self.create(NodeData::Element(Element { name, attributes }))
    }

    fn create_comment(&self, _: StrTendril) -> NodeId {
        NOTHING
    }

    fn create_pi(&self, _: StrTendril, _: StrTendril) -> NodeId {
        NOTHING
    }

    fn append(&self, parent: &NodeId, child: NodeOrText<NodeId>) {
        self.insert(child, *parent, None);
    }

    fn append_based_on_parent_node(&self, element: &NodeId, previous: &NodeId, child: NodeOrText<NodeId>) {
        match self.parent_of(*element) {
            Some(parent) => self.insert(child, parent, Some(*element)),
            None => self.insert(child, *previous, None),
        }
    }

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    /// A template's content is kept directly below it; [`Tree::walk`] leaves it out.
    fn get_template_contents(&self, target: &NodeId) -> NodeId {
        *target
    }

    fn same_node(&self, x: &NodeId, y: &NodeId) -> bool {
        x == y
    }

    fn set_quirks_mode(&self, _: QuirksMode) {}

    fn append_before_sibling(&self, sibling: &NodeId, new_node: NodeOrText<NodeId>) {
        if let Some(parent) = self.parent_of(*sibling) {
            self.insert(new_node, parent, Some(*sibling));
        }
    }

    fn add_attrs_if_missing(&self, target: &NodeId, attributes: Vec<Attribute>) {
        let mut nodes = self.nodes.borrow_mut();
        if let NodeData::Element(element) = &mut at(&mut nodes, *target).data {
            for attribute in attributes {
                if !element.attributes.iter().any(|given| given.name == attribute.name) {
                    element.attributes.push(attribute);
                }
            }
        }
    }

    fn remove_from_parent(&self, target: &NodeId) {
        self.detach(*target);
    }

    fn reparent_children(&self, node: &NodeId, new_parent: &NodeId) {
        loop {
            let child = self.nodes.borrow()[node.0 as usize].first_child;
            let Some(child) = child else { return };
            self.detach(child);
            self.attach(child, *new_parent, None);
        }
    }

    fn is_mathml_annotation_xml_integration_point(&self, handle: &NodeId) -> bool {
        match &self.nodes.borrow()[handle.0 as usize].data {
            NodeData::Element(element) => element.attribute("encoding").is_some_and(|encoding| {
                ["text/html", "application/xhtml+xml"].iter().any(|html| encoding.eq_ignore_ascii_case(html))
            }),
            _ => false,
        }
    }
}
