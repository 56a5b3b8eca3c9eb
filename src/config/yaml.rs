//! Parses YAML into a tree with line numbers. Scalars stay text, because the key decides their type: `no` stays a word
//! where a word is expected, and a version number keeps its zeros.
//!
//! Aliases are refused and the depth is limited, so a small file cannot become a large tree or overflow the stack.

use yaml_rust2::parser::{Event, Parser};
use yaml_rust2::scanner::{Marker, TScalarStyle};

const MAX_DEPTH: usize = 32;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    /// Line of the key, if there is one, from 1.
    pub line: usize,
    pub value: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Scalar { text: String, quoted: bool },
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

#[derive(Debug)]
pub(crate) struct YamlError {
    pub line: usize,
    pub problem: String,
}

impl Node {
    /// A plain scalar that is not from a file.
    pub fn plain(text: &str) -> Node {
        Node { line: 0, value: Value::Scalar { text: text.to_owned(), quoted: false } }
    }

    /// An empty value, or one of YAML's words for null.
    pub fn is_null(&self) -> bool {
        matches!(&self.value, Value::Scalar { text, quoted: false } if matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL"))
    }
}

/// Parses one document. An empty document is an empty mapping.
pub(crate) fn parse(text: &str) -> Result<Node, YamlError> {
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
    Ok(builder.root.unwrap_or(Node { line: 1, value: Value::Map(Vec::new()) }))
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
                self.place(Node { line, value: Value::Scalar { text, quoted: style != TScalarStyle::Plain } })
            }
            Event::SequenceStart(..) => self.push(Open::List { line, items: Vec::new() }),
            Event::MappingStart(..) => self.push(Open::Map { line, entries: Vec::new(), key: None }),
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(Open::List { line, items }) => self.place(Node { line, value: Value::List(items) }),
                Some(Open::Map { line, entries, .. }) => self.place(Node { line, value: Value::Map(entries) }),
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
            Some(Open::Map { entries, key, .. }) => match (key.take(), node.value) {
                (Some((name, line)), value) => entries.push((name, Node { line, value })),
                (None, Value::Scalar { text, .. }) => *key = Some((text, node.line)),
                (None, _) => return Err("a key must be a word, not a list or mapping"),
            },
        }
        Ok(())
    }
}
