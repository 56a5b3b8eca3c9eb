//! Reading a page's markup.

use super::html_facts::HtmlFacts;
use super::html_stream;
use super::html_tree::Tree;

/// Reads a page: in one pass where that is certain to be right, otherwise by its tree. `agent` is our product token, for
/// `<meta name=AGENT>`.
pub fn read(text: &str, agent: &str) -> HtmlFacts {
    html_stream::read(text, agent).unwrap_or_else(|_| Tree::parse(text).facts(agent))
}
