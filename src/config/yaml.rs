//! Parses YAML into a tree with line numbers, and turns it into values of the `config` crate. Scalars stay text, because
//! the key decides their type: `no` stays a word where a word is expected, and a version number keeps its zeros.
//!
//! Aliases are refused and the depth is limited, so a small file cannot become a large tree or overflow the stack.

use ::config::{Map, Value, ValueKind};
use yaml_rust2::parser::{Event, Parser};
use yaml_rust2::scanner::{Marker, TScalarStyle};

use super::error::Origin;

const MAX_DEPTH: usize = 32;

#[derive(Debug)]
pub(super) struct Node {
    /// Line of the key, if there is one, from 1.
    pub line: usize,
    pub tree: Tree,
}

#[derive(Debug)]
pub(super) enum Tree {
    /// None: an empty value, or one of YAML's words for null.
    Scalar(Option<String>),
    List(Vec<Node>),
    /// In their order. A name may stand here twice.
    Map(Vec<(String, Node)>),
}

#[derive(Debug)]
pub(super) struct YamlError {
    pub line: usize,
    pub problem: String,
}

impl Node {
    /// The value of the node. It and each value in it remember where they stand: `at` makes the origin of a line.
    ///
    /// # Errors A mapping has a name twice.
    pub(super) fn value(self, at: &impl Fn(usize) -> Origin) -> Result<Value, YamlError> {
        let kind = match self.tree {
            Tree::Scalar(text) => ValueKind::from(text),
            Tree::List(nodes) => {
                ValueKind::Array(nodes.into_iter().map(|node| node.value(at)).collect::<Result<_, _>>()?)
            }
            Tree::Map(entries) => {
                let mut values = Map::new();
                for (name, node) in entries {
                    let line = node.line;
                    if values.insert(name.clone(), node.value(at)?).is_some() {
                        let problem = format!("a mapping has {name} twice; remove one of them");
                        return Err(YamlError { line, problem });
                    }
                }
                ValueKind::Table(values)
            }
        };
        Ok(Value::new(Some(&at(self.line).to_string()), kind))
    }
}

/// A plain scalar that is not from a file.
pub(super) fn plain(text: &str) -> ValueKind {
    ValueKind::from((!is_null(text)).then(|| text.to_owned()))
}

/// Whether a plain scalar is an empty value, or one of YAML's words for null.
pub(super) fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

/// Parses one document into a value. `at` makes the origin of a line.
pub(super) fn value(text: &str, at: &impl Fn(usize) -> Origin) -> Result<Value, YamlError> {
    parse(text)?.value(at)
}

/// Parses one document. An empty document is an empty mapping.
pub(super) fn parse(text: &str) -> Result<Node, YamlError> {
    let mut parser = Parser::new_from_str(text);
    let mut builder = Builder::default();
    loop {
        let (event, mark) = parser
            .next_token()
            .map_err(|error| YamlError { line: error.marker().line(), problem: error.info().to_owned() })?;
        if matches!(event, Event::StreamEnd) {
            break;
        }
        builder.take(event, &mark).map_err(|problem| YamlError { line: mark.line(), problem: problem.to_owned() })?;
    }
    Ok(builder.root.unwrap_or(Node { line: 1, tree: Tree::Map(Vec::new()) }))
}

#[derive(Default)]
struct Builder {
    root: Option<Node>,
    open: Vec<Open>,
}

/// A list or mapping that is still open.
enum Open {
    List { line: usize, items: Vec<Node> },
    Map { line: usize, entries: Vec<(String, Node)>, key: Option<(String, usize)> },
}

impl Builder {
    fn take(&mut self, event: Event, mark: &Marker) -> Result<(), &'static str> {
        let line = mark.line();
        match event {
            Event::Scalar(text, style, _, _) => {
                let is_null = style == TScalarStyle::Plain && is_null(&text);
                // A key of this name is a word like any other.
                let is_key = matches!(self.open.last(), Some(Open::Map { key: None, .. }));
                let text = (is_key || !is_null).then_some(text);
                self.place(Node { line, tree: Tree::Scalar(text) })
            }
            Event::SequenceStart(..) => self.push(Open::List { line, items: Vec::new() }),
            Event::MappingStart(..) => self.push(Open::Map { line, entries: Vec::new(), key: None }),
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(Open::List { line, items }) => self.place(Node { line, tree: Tree::List(items) }),
                Some(Open::Map { line, entries, .. }) => self.place(Node { line, tree: Tree::Map(entries) }),
                None => Err("an end without a beginning"),
            },
            Event::Alias(_) => Err("aliases (`*name`) are not supported; repeat the value"),
            Event::DocumentStart if self.root.is_some() => Err("a second document; only one is allowed"),
            _ => Ok(()),
        }
    }

    fn push(&mut self, open: Open) -> Result<(), &'static str> {
        if self.open.len() >= MAX_DEPTH {
            return Err("nested too deeply");
        }
        self.open.push(open);
        Ok(())
    }

    fn place(&mut self, node: Node) -> Result<(), &'static str> {
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some(Open::List { items, .. }) => items.push(node),
            Some(Open::Map { entries, key, .. }) => match (key.take(), node.tree) {
                (Some((name, line)), tree) => entries.push((name, Node { line, tree })),
                (None, Tree::Scalar(text)) => *key = Some((text.unwrap_or_default(), node.line)),
                (None, _) => return Err("a key must be a word, not a list or mapping"),
            },
        }
        Ok(())
    }
}
