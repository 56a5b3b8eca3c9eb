//! Reads a page in one pass, without a tree.
//!
//! A tree decides where elements stand, but also, in corners, whether they exist at all. Where this pass cannot know,
//! it says so ([`NeedsTree`]) instead of guessing: frames, links within SVG or MathML, misnested templates, shadow roots,
//! raw text where the standard's parser may ignore the tag, and more open elements than the memory limit allows.
//!
//! Known difference that remains: an `<svg>` or `<math>` that is not closed by its own end tag (`<svg/>`, nested and
//! broken out of, closed with an outer element), followed by raw text (`<script>`, `<title>`, …) that looks like markup.
//! Usually a link follows and the tree decides. About one in 5000 pages of random tag soup with such drawings.

use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::LazyLock;

use lol_html::html_content::{Element, TextChunk, TextType};
use lol_html::{
    ElementContentHandlers, EndTagHandler, HandlerResult, HtmlRewriter, MemorySettings, Selector, Settings,
};
use regex::Regex;

use super::html_facts::{Collector, HtmlFacts};

/// For the stack of open elements: some 100,000 of them. Pages have tens.
const MAX_MEMORY: usize = 32 << 20;
const HTML_NAMESPACE: &str = "http://www.w3.org/1999/xhtml";
const ELEMENTS: &str = "a, area, base, frame, frameset, html, iframe, link, meta, template, title";

/// The one-pass reader reads `<noscript>` as text, as a browser with scripts does. We run none: under another name (of
/// the same length) its content is markup.
static NOSCRIPT: LazyLock<Regex> = LazyLock::new(|| Regex::new("(?i-u:<noscript)").expect("a constant pattern"));
const NOSCRIPT_RENAMED: &str = "<nxscript";

thread_local! {
    static SELECTORS: (Selector, Selector) = (
        ELEMENTS.parse().expect("a constant selector"),
        "title".parse().expect("a constant selector"),
    );
}

/// Only the tree can tell what this page says.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the page has to be read by its tree: {reason}")]
pub struct NeedsTree {
    pub reason: String,
}

/// Reads a page in one pass. `agent` is our product token, for `<meta name=AGENT>`.
pub fn read(text: &str, agent: &str) -> Result<HtmlFacts, NeedsTree> {
    let text = NOSCRIPT.replace_all(text, NOSCRIPT_RENAMED);
    let state = Rc::new(RefCell::new(StreamState::default()));
    SELECTORS
        .with(|selectors| scan(&text, selectors, &state))
        .map_err(|error| NeedsTree { reason: error.to_string() })?;
    let facts = std::mem::take(&mut state.borrow_mut().collector).finish(agent);
    if matches!(text, Cow::Owned(_)) && holds_renamed(&facts) {
        return Err(NeedsTree { reason: "<noscript within an attribute or the title".into() });
    }
    Ok(facts)
}

fn scan(
    text: &str,
    (elements, title): &(Selector, Selector),
    state: &Rc<RefCell<StreamState>>,
) -> Result<(), lol_html::errors::RewritingError> {
    let on_element = |element: &mut Element| StreamState::element(state, element);
    let on_title_text = |chunk: &mut TextChunk| {
        state.borrow_mut().title_text(chunk);
        Ok(())
    };
    let settings = Settings::new()
        .append_element_content_handler((
            Cow::Borrowed(elements),
            ElementContentHandlers::default().element(on_element),
        ))
        .append_element_content_handler((Cow::Borrowed(title), ElementContentHandlers::default().text(on_title_text)))
        .with_memory_settings(MemorySettings::new().with_max_allowed_memory_usage(MAX_MEMORY))
        .with_strict(true);
    let mut rewriter = HtmlRewriter::new(settings, |_: &[u8]| {});
    rewriter.write(text.as_bytes())?;
    rewriter.end()
}

/// What is known in the middle of the page.
#[derive(Default)]
struct StreamState {
    collector: Collector,
    /// Open `<template>`s. Their content is inert until a script uses it.
    templates: usize,
    /// The text of the title that is being read.
    title: Option<String>,
}

impl StreamState {
    fn element(state: &Rc<RefCell<StreamState>>, element: &mut Element) -> HandlerResult {
        let name = element.tag_name();
        if element.namespace_uri() != HTML_NAMESPACE {
            // A link in a drawing is rare, and what follows an unclosed drawing looks like one.
            return Err(format!("<{name}> within SVG or MathML").into());
        }
        match name.as_str() {
            "frameset" | "frame" => return Err(format!("<{name}>").into()),
            "template" => return StreamState::template(state, element),
            _ => {}
        }
        let mut this = state.borrow_mut();
        if name == "title" {
            this.title = (this.templates == 0 && !this.collector.has_title()).then(String::new);
        } else if this.templates == 0 {
            this.collector.element(&name, |wanted| element.get_attribute(wanted).map(decode_attribute));
        }
        Ok(())
    }

    /// A template is inert up to its own end tag, but for a declarative shadow root, which is shown as it stands.
    fn template(state: &Rc<RefCell<StreamState>>, element: &mut Element) -> HandlerResult {
        if element.has_attribute("shadowrootmode") {
            return Err("a declarative shadow root".into());
        }
        state.borrow_mut().templates += 1;
        let state = Rc::clone(state);
        let on_end: EndTagHandler<'static> = Box::new(move |end| {
            state.borrow_mut().templates -= 1;
            if end.name() == "template" { Ok(()) } else { Err("a <template> that is not closed".into()) }
        });
        element.on_end_tag(on_end)
    }

    fn title_text(&mut self, chunk: &TextChunk) {
        // An icon's title is no raw text (and said to be in the HTML namespace, being an integration point).
        let Some(title) = self.title.as_mut().filter(|_| chunk.text_type() == TextType::RCData) else { return };
        title.push_str(chunk.as_str());
        if chunk.last_in_text_node()
            && let Some(title) = self.title.take()
        {
            self.collector.title(&htmlize::unescape(normalize_input(title)));
        }
    }
}

fn decode_attribute(raw: String) -> String {
    let raw = normalize_input(raw);
    match memchr::memchr(b'&', raw.as_bytes()) {
        Some(_) => htmlize::unescape_attribute(&raw).into_owned(),
        None => raw,
    }
}

/// What the standard's parser does before it looks at anything: line breaks are `\n`, zero characters are replaced.
fn normalize_input(raw: String) -> String {
    match memchr::memchr2(b'\r', b'\0', raw.as_bytes()) {
        Some(_) => raw.replace("\r\n", "\n").replace('\r', "\n").replace('\0', "\u{fffd}"),
        None => raw,
    }
}

fn holds_renamed(facts: &HtmlFacts) -> bool {
    let texts = [&facts.base, &facts.title, &facts.canonical, &facts.lang];
    let mut all = texts
        .into_iter()
        .flatten()
        .chain(facts.links.iter().map(|link| &link.href))
        .chain(&facts.rsl)
        .chain(facts.meta.iter().flat_map(|(name, content)| [name, content]));
    all.any(|text| text.contains(NOSCRIPT_RENAMED))
}
