//! The ends of comments, document types, CDATA sections and processing instructions.

use memchr::memmem::Finder;
use memchr::{memchr_iter, memchr2};

use super::{Markup, Piece};

impl<'a> Markup<'a> {
    /// Handles the text after `<!`.
    pub(super) fn declaration(&mut self) -> Option<Piece<'a>> {
        if self.skip_prefix(b"--") {
            match self.comment_end(self.at) {
                Some(end) => self.at = end,
                None => {
                    self.skip_tag();
                }
            }
            return Some(Piece::Aside);
        }
        if self.skip_prefix(b"[CDATA[") {
            self.at += Finder::new("]]>").find(self.rest()).map_or(self.rest().len(), |end| end + 3);
            return Some(Piece::Aside);
        }
        if self.skip_prefix(b"DOCTYPE") {
            self.doctype();
        } else {
            self.skip_balanced();
        }
        None
    }

    /// The position after the next `-->`.
    pub(super) fn comment_end(&mut self, from: usize) -> Option<usize> {
        if self.no_comment_end {
            return None;
        }
        let end = Finder::new("-->").find(&self.page.as_bytes()[from..]);
        self.no_comment_end = end.is_none();
        end.map(|end| from + end + 3)
    }

    fn doctype(&mut self) {
        if self.skip_spaces() {
            self.strict_name();
            self.skip_spaces();
            if self.skip_prefix(b"PUBLIC") || self.skip_prefix(b"SYSTEM") {
                self.skip_spaces();
                self.skip_literal();
                self.skip_spaces();
                self.skip_literal();
            }
        }
        let end = self.rest().iter().position(|byte| matches!(byte, b'<' | b'>' | b'['));
        self.at += end.unwrap_or(self.rest().len());
        match self.byte() {
            Some(b'>') => self.at += 1,
            Some(b'[') => self.skip_balanced(),
            _ => {}
        }
    }

    fn skip_literal(&mut self) {
        let Some(quote @ (b'"' | b'\'')) = self.byte() else { return };
        self.at += 1;
        let rest = self.rest();
        self.at += memchr2(quote, b'<', rest).map_or(rest.len(), |end| end + usize::from(rest[end] == quote));
    }

    /// Skips past the first `>` without a matching `<`.
    fn skip_balanced(&mut self) {
        let mut depth = 1_usize;
        while let Some(found) = memchr2(b'<', b'>', self.rest()) {
            depth = if self.rest()[found] == b'<' { depth + 1 } else { depth - 1 };
            self.at += found + 1;
            if depth == 0 {
                return;
            }
        }
        self.at = self.page.len();
    }

    /// Handles the text after `<?`.
    pub(super) fn instruction(&mut self) -> Option<Piece<'a>> {
        let name = self.strict_name();
        if name.is_empty() || name.eq_ignore_ascii_case("xml") {
            self.attributes();
            return None;
        }
        let rest = self.rest();
        let end = memchr_iter(b'>', rest).find(|&end| end > 0 && matches!(rest[end - 1], b'?' | b'/'));
        self.at += end.map_or(rest.len(), |end| end + 1);
        Some(Piece::Aside)
    }
}
