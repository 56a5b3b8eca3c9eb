//! SVG and MathML.

use super::super::names::{BREAKOUT, Name};
use super::super::tokens::{Attribute, Tag};
use super::{Namespace, Outline, Visitor};

impl<'a, V: Visitor<'a>> Outline<'_, 'a, V> {
    pub(super) fn in_foreign(&self) -> bool {
        self.stack.last().is_some_and(|open| !open.is_html())
    }

    /// Whether a start tag follows the rules for SVG and MathML.
    pub(super) fn is_foreign(&self, name: Name, written: &str) -> bool {
        let Some(open) = self.stack.last().filter(|open| !open.is_html()) else { return false };
        if open.namespace == Namespace::MathMl
            && open.written.eq_ignore_ascii_case("annotation-xml")
            && name == Name::Svg
        {
            return false;
        }
        let is_glyph = written.eq_ignore_ascii_case("mglyph") || written.eq_ignore_ascii_case("malignmark");
        let is_formula_text =
            open.namespace == Namespace::MathMl && !open.written.eq_ignore_ascii_case("annotation-xml");
        !open.is_integration_point || is_formula_text && is_glyph
    }

    pub(super) fn breaks_out(&self, name: Name) -> bool {
        let has_style = || {
            let styles = ["color", "face", "size"];
            self.tokens.attributes.iter().any(|it| styles.iter().any(|style| it.name.eq_ignore_ascii_case(style)))
        };
        name.has(BREAKOUT) || name == Name::Font && has_style()
    }

    pub(super) fn is_integration_point(&self, written: &str, namespace: Namespace) -> bool {
        let is = |names: &[&str]| names.iter().any(|name| written.eq_ignore_ascii_case(name));
        let holds_html = |it: &Attribute| {
            let html = ["text/html", "application/xhtml+xml"];
            it.name.eq_ignore_ascii_case("encoding") && html.iter().any(|html| it.value.eq_ignore_ascii_case(html))
        };
        match namespace {
            Namespace::Html => false,
            Namespace::Svg => is(&["foreignobject", "desc", "title"]),
            Namespace::MathMl => {
                is(&["mi", "mo", "mn", "ms", "mtext"])
                    || is(&["annotation-xml"]) && self.tokens.attributes.iter().any(holds_html)
            }
        }
    }

    /// Handles an end tag within SVG or MathML. Returns whether it belongs to the HTML outside.
    pub(super) fn end_foreign(&mut self, tag: Tag<'a>) -> bool {
        if matches!(tag.name, Name::Br | Name::P) {
            while self.in_foreign() {
                self.pop();
            }
            return true;
        }
        for at in (0..self.stack.len()).rev() {
            let open = &self.stack[at];
            if open.is_html() {
                return true;
            }
            if open.written.eq_ignore_ascii_case(tag.written) {
                self.close_to(at);
                return false;
            }
        }
        true
    }
}
