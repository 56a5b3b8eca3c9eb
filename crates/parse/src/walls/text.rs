//! How much text a page shows.

use std::cell::OnceCell;

use encoding_rs::Encoding;

use crate::charset;
use crate::html_text::visible_text;

/// A page with so many links has menus.
const MENUS: usize = 6;

/// The number of visible letters of a page, counted when somebody asks.
pub(super) struct Letters<'a, F: Fn() -> &'static Encoding> {
    body: &'a [u8],
    encoding: F,
    text: OnceCell<(String, usize)>,
}

impl<'a, F: Fn() -> &'static Encoding> Letters<'a, F> {
    pub(super) fn of(body: &'a [u8], encoding: F) -> Letters<'a, F> {
        Letters { body, encoding, text: OnceCell::new() }
    }

    fn read(&self) -> &(String, usize) {
        self.text.get_or_init(|| {
            let text = visible_text(&charset::decode_text(self.body, (self.encoding)()));
            let count = text.chars().map(weight).sum();
            (text, count)
        })
    }

    pub(super) fn count(&self) -> usize {
        self.read().1
    }

    /// Whether it has the links of a site's menus. Walls have few.
    pub(super) fn has_menus(&self) -> bool {
        has_links(self.body, MENUS)
    }

    pub(super) fn text(&self) -> &str {
        &self.read().0
    }
}

/// Whether a page has at least so many links.
pub(super) fn has_links(body: &[u8], at_least: usize) -> bool {
    memchr::memmem::find_iter(body, b"<a ").take(at_least).count() == at_least
}

/// An ideograph says as much as some letters.
fn weight(letter: char) -> usize {
    match letter {
        '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7ff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}' => 3,
        letter if letter.is_alphanumeric() => 1,
        _ => 0,
    }
}
