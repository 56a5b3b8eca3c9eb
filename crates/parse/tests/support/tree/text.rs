//! The visible parts of a page: text, headings, link texts and image descriptions, from one walk over its tree.

use seine_parse::html_facts::{MAX_LINKS, collapse};
use seine_parse::html_text::Heading;

use super::{Element, NodeId, Step, Tree};

/// The content of a page, by the tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TreeText {
    /// Visible text: white space collapsed, one line per block.
    pub text: String,
    /// In document order. A heading within a heading belongs to the outer one.
    pub headings: Vec<Heading>,
    /// The `alt` of every image that has one.
    pub image_alts: Vec<String>,
    /// The text of every `<a href>` that has text.
    pub link_texts: Vec<String>,
}

/// Extracts everything.
pub fn page_text(page: &str) -> TreeText {
    let reader = read(&Tree::parse(page));
    TreeText { text: reader.text, ..reader.facts }
}

fn read(tree: &Tree) -> Reader {
    let mut reader = Reader::default();
    for step in tree.walk() {
        match step {
            Step::Open(id, element) => reader.open(id, element),
            Step::Close(id, element) => reader.close(id, element),
            Step::Text(text) => reader.text(text),
        }
    }
    reader
}

/// The separator before the next word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
enum Gap {
    #[default]
    None,
    Blank,
    Line,
}

#[derive(Default)]
struct Reader {
    facts: TreeText,
    text: String,
    gap: Gap,
    /// The outermost invisible element.
    unseen: Option<NodeId>,
    /// The outermost open heading: its level and where its text starts.
    heading: Option<(NodeId, u8, usize)>,
    /// The outermost open link, and where its text starts.
    link: Option<(NodeId, usize)>,
}

impl Reader {
    fn open(&mut self, id: NodeId, element: &Element) {
        if self.unseen.is_some() {
            return;
        }
        if is_unseen(element) {
            self.unseen = Some(id);
            return;
        }
        self.widen(gap_around(element));
        if let Some(level) = heading_level(element) {
            self.heading.get_or_insert((id, level, self.text.len()));
        }
        if element.name() == "a" && element.attribute("href").is_some() {
            self.link.get_or_insert((id, self.text.len()));
        }
        if element.name() == "img"
            && let Some(alt) =
                element.attribute("alt").map(|alt| collapse(alt, alt.len())).filter(|alt| !alt.is_empty())
        {
            self.facts.image_alts.push(alt);
        }
    }

    fn close(&mut self, id: NodeId, element: &Element) {
        if let Some(unseen) = self.unseen {
            self.unseen = (unseen != id).then_some(unseen);
            return;
        }
        if let Some((open, level, start)) = self.heading
            && open == id
        {
            self.heading = None;
            self.facts.headings.extend(self.since(start).map(|text| Heading { level, text }));
        }
        if let Some((open, start)) = self.link
            && open == id
        {
            self.link = None;
            if self.facts.link_texts.len() < MAX_LINKS {
                self.facts.link_texts.extend(self.since(start));
            }
        }
        self.widen(gap_around(element));
    }

    fn text(&mut self, text: &str) {
        if self.unseen.is_some() {
            return;
        }
        for part in text.split_inclusive(char::is_whitespace) {
            let word = part.trim_end();
            if !word.is_empty() {
                self.word(word);
            }
            if word.len() != part.len() {
                self.widen(Gap::Blank);
            }
        }
    }

    fn word(&mut self, word: &str) {
        match self.gap {
            _ if self.text.is_empty() => {}
            Gap::None => {}
            Gap::Blank => self.text.push(' '),
            Gap::Line => self.text.push('\n'),
        }
        self.gap = Gap::None;
        self.text.push_str(word);
    }

    fn widen(&mut self, gap: Gap) {
        self.gap = self.gap.max(gap);
    }

    /// The text from `start` on, as one line; none if it is empty.
    fn since(&self, start: usize) -> Option<String> {
        let text = self.text.get(start..)?;
        Some(collapse(text, text.len())).filter(|text| !text.is_empty())
    }
}

fn heading_level(element: &Element) -> Option<u8> {
    match element.name().as_bytes() {
        [b'h', level @ b'1'..=b'6'] if element.is_html() => Some(level - b'0'),
        _ => None,
    }
}

/// Scripts, fallbacks, form fields, and elements marked hidden.
fn is_unseen(element: &Element) -> bool {
    let name = element.name();
    if !element.is_html() {
        return matches!(name, "title" | "desc" | "metadata" | "script" | "style" | "annotation" | "annotation-xml");
    }
    matches!(
        name,
        "script"
            | "style"
            | "noscript"
            | "title"
            | "iframe"
            | "noembed"
            | "noframes"
            | "textarea"
            | "select"
            | "datalist"
    ) || element.attribute("hidden").is_some()
}

/// Blocks have lines of their own, cells are separated, and other elements continue the text.
fn gap_around(element: &Element) -> Gap {
    match element.name() {
        "td" | "th" | "button" | "input" | "img" | "label" => Gap::Blank,
        "address" | "article" | "aside" | "blockquote" | "body" | "br" | "caption" | "center" | "dd" | "details"
        | "dialog" | "div" | "dl" | "dt" | "fieldset" | "figcaption" | "figure" | "footer" | "form" | "h1" | "h2"
        | "h3" | "h4" | "h5" | "h6" | "header" | "hgroup" | "hr" | "legend" | "li" | "main" | "menu" | "nav" | "ol"
        | "p" | "pre" | "section" | "summary" | "table" | "tbody" | "tfoot" | "thead" | "tr" | "ul" => Gap::Line,
        _ => Gap::None,
    }
}
