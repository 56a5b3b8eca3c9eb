//! Page requisites: images, styles, scripts, sound and video that a page needs to be shown. As written; URLs are not
//! resolved.
//!
//! Found by the HTML standard's table of attributes with URLs, `srcset` (§4.8.4.2.2), and `url()` and `@import` in CSS
//! (css-values-4 §4.5, css-cascade-4 §2). Resources fetched by scripts are not found.

mod css;

use serde::{Deserialize, Serialize};

use super::DeriveOptions;
use super::html::names::Name;
use super::html::outline::{self, Element, Visitor};
use super::html::{decode_attribute, decode_text};
use super::html_facts::{self, has_token};
use super::short::starts_with;

/// Which requisites are wanted; none by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Requisites {
    pub images: bool,
    /// Style sheets and what they refer to: images, fonts, further sheets.
    pub styles: bool,
    pub scripts: bool,
    /// Sound, video, and embedded documents.
    pub media: bool,
}

/// Limit of requisites per page.
pub const MAX_REQUISITES: usize = 10_000;
const MAX_FORMS: usize = 100;

impl Requisites {
    pub fn is_any(self) -> bool {
        self.images || self.styles || self.scripts || self.media
    }

    /// Whether this wants a kind that the other does not.
    pub fn exceed(self, other: Requisites) -> bool {
        (self.images && !other.images)
            || (self.styles && !other.styles)
            || (self.scripts && !other.scripts)
            || (self.media && !other.media)
    }

    /// Turns on a kind by its name: `images`, `styles`, `scripts`, `media`. Returns false for an unknown name.
    pub fn want(&mut self, name: &str) -> bool {
        match name {
            "images" => self.images = true,
            "styles" => self.styles = true,
            "scripts" => self.scripts = true,
            "media" => self.media = true,
            _ => return false,
        }
        true
    }
}

/// The references found so far, as written, with repeats.
#[derive(Debug, Default)]
pub(super) struct Named {
    wanted: Requisites,
    wants_forms: bool,
    pub references: Vec<String>,
    /// Targets of forms that are sent by GET.
    pub forms: Vec<String>,
    /// The text is a style sheet: in an SVG `<style>`, whose content is markup.
    in_style: bool,
}

impl<'a> Visitor<'a> for Named {
    fn open(&mut self, element: &Element<'_, 'a>) {
        self.element(element.name, |name| element.attribute(name).map(|it| decode_attribute(it).into_owned()));
        self.in_style = element.name == Name::Style;
    }

    fn close(&mut self, _: Name, _: usize) {
        self.in_style = false;
    }

    fn text(&mut self, text: &'a str) {
        if self.in_style {
            self.css(&decode_text(text));
        }
    }

    fn raw(&mut self, name: Name, text: &'a str) {
        if name == Name::Style || name == Name::Other && self.in_style {
            self.css(text);
        }
    }
}

impl Named {
    /// Reads the markup again, if anything is wanted.
    pub(crate) fn of_page(text: &str, options: &DeriveOptions) -> Named {
        let mut named = Named { wanted: options.requisites, wants_forms: options.forms, ..Named::default() };
        if named.wanted.is_any() || named.wants_forms {
            outline::read(text, &mut named);
        }
        named
    }

    pub(crate) fn of_style_sheet(text: &str, options: &DeriveOptions) -> Named {
        let mut named = Named { wanted: options.requisites, ..Named::default() };
        named.css(text);
        named
    }

    /// Handles an element of HTML or SVG. `attribute` returns the decoded value of an attribute.
    fn element(&mut self, name: Name, attribute: impl Fn(&str) -> Option<String>) {
        let Requisites { images, styles, scripts, media } = self.wanted;
        match name {
            Name::Img if images => self.image(attribute("src"), attribute("srcset")),
            // A source of a picture, or of sound and video.
            Name::Source => {
                let (src, srcset) = (attribute("src"), attribute("srcset"));
                self.add(src.filter(|_| media));
                self.image(None, srcset.filter(|_| images));
            }
            Name::Input if images => {
                let is_image = attribute("type").is_some_and(|kind| kind.eq_ignore_ascii_case("image"));
                self.add(attribute("src").filter(|_| is_image));
            }
            Name::Image if images => self.add(attribute("href").or_else(|| attribute("xlink:href"))),
            Name::Body | Name::Table | Name::Tr | Name::Td | Name::Th if images => self.add(attribute("background")),
            Name::Video => {
                self.add(attribute("src").filter(|_| media));
                self.add(attribute("poster").filter(|_| images));
            }
            Name::Audio | Name::Track | Name::Embed if media => self.add(attribute("src")),
            Name::Object if media => self.add(attribute("data")),
            Name::Script if scripts => self.add(attribute("src")),
            Name::Link => self.link_element(&attribute),
            Name::Form if self.wants_forms => {
                let is_get = attribute("method").is_none_or(|method| method.eq_ignore_ascii_case("get"));
                if let Some(action) = attribute("action").filter(|_| is_get && self.forms.len() < MAX_FORMS) {
                    // The form's fields replace the query (§4.10.21.3, "mutate action URL").
                    self.forms.push(action.split('?').next().unwrap_or_default().to_owned());
                }
            }
            _ => {}
        }
        if styles && let Some(style) = attribute("style") {
            self.css(&style);
        }
    }

    /// Handles a style sheet, or the value of a `style` attribute.
    fn css(&mut self, text: &str) {
        if self.wanted.styles {
            css::references(text, &mut |reference| self.add(Some(reference)));
        }
    }

    fn link_element(&mut self, attribute: &impl Fn(&str) -> Option<String>) {
        let Some(rel) = attribute("rel") else { return };
        let is = |token| has_token(&rel, token);
        let is_preloaded = |wanted: &[&str]| {
            let kind = attribute("as").unwrap_or_default();
            is("preload") && wanted.iter().any(|known| kind.eq_ignore_ascii_case(known))
        };
        let Requisites { images, styles, scripts, .. } = self.wanted;
        let is_icon = is("icon") || is("apple-touch-icon") || is("mask-icon");
        let is_wanted = (styles && (is("stylesheet") || is_preloaded(&["style", "font"])))
            || (images && (is_icon || is_preloaded(&["image"])))
            || (scripts && (is("modulepreload") || is("manifest") || is_preloaded(&["script"])));
        if is_wanted {
            self.image(attribute("href"), attribute("imagesrcset").filter(|_| images));
        }
    }

    fn image(&mut self, src: Option<String>, srcset: Option<String>) {
        self.add(src);
        for candidate in srcset.iter().flat_map(|srcset| candidates(srcset)) {
            self.add(Some(candidate.to_owned()));
        }
    }

    fn add(&mut self, reference: Option<String>) {
        let Some(reference) = html_facts::reference(reference.map(Into::into)) else { return };
        let is_inline = starts_with(reference.as_bytes(), b"data:");
        if !is_inline && self.references.len() < MAX_REQUISITES {
            self.references.push(reference);
        }
    }
}

/// The URLs of a `srcset`: each up to white space, without commas at its end. A comma outside parentheses ends its
/// descriptors.
fn candidates(srcset: &str) -> impl Iterator<Item = &str> {
    let mut rest = srcset;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == ',');
        let end = rest.find(|c: char| c.is_ascii_whitespace()).unwrap_or(rest.len());
        let (url, behind) = rest.split_at(end);
        rest = if url.ends_with(',') { behind } else { behind_descriptors(behind) };
        Some(url.trim_end_matches(',')).filter(|url| !url.is_empty())
    })
}

fn behind_descriptors(text: &str) -> &str {
    let mut open = false;
    let end = text.bytes().position(|byte| {
        match byte {
            b'(' => open = true,
            b')' => open = false,
            _ => {}
        }
        byte == b',' && !open
    });
    end.map_or("", |end| &text[end + 1..])
}
