//! Start tags.

use super::super::names::{
    CLOSES_P, HEAD, HEAD_NOSCRIPT, HEADING, MARKER, NO_FRAMESET, Name, RAW, SCOPE, SECTION, SPECIAL, TABLE_PART,
};
use super::super::tokens::{Attribute, Tag, Token};
use super::{Namespace, Open, Outline, Visitor};

impl<'a, V: Visitor<'a>> Outline<'_, 'a, V> {
    pub(super) fn start(&mut self, tag: Tag<'a>) {
        if self.is_foreign(tag.name, tag.written) {
            if !self.breaks_out(tag.name) {
                let namespace = self.stack.last().map_or(Namespace::Svg, |open| open.namespace);
                return self.push_as(tag, namespace);
            }
            while self.stack.last().is_some_and(|open| !open.is_html() && !open.is_integration_point) {
                self.pop();
            }
        }
        if self.framesets.is_some() {
            return self.start_in_frames(tag);
        }
        if self.in_head {
            self.start_in_head(tag.name);
        }
        self.frameset_ok &= !tag.name.has(NO_FRAMESET);
        self.start_html(tag);
    }

    fn start_html(&mut self, tag: Tag<'a>) {
        match tag.name {
            Name::Head | Name::Frame => {}
            Name::Html => self.visit(tag, Namespace::Html, false),
            Name::Body => {
                self.frameset_ok = false;
                self.visit(tag, Namespace::Html, false);
            }
            Name::Frameset => {
                if self.frameset_ok && self.inert.is_none() {
                    self.close_to(0);
                    self.framesets = Some(0);
                    self.visitor.frames();
                    self.start_in_frames(tag);
                }
            }
            Name::Template => self.start_template(tag),
            Name::A => {
                if let Some(open) = self.find(|open| open.is(Name::A), |open| open.has(MARKER)) {
                    self.end_formatting(open);
                }
                self.push(tag);
            }
            Name::Nobr => {
                if let Some(open) = self.in_scope(Name::Nobr) {
                    self.end_formatting(open);
                }
                self.push(tag);
            }
            Name::Li => self.start_item(tag, |open| open.is(Name::Li)),
            Name::Dd | Name::Dt => self.start_item(tag, |open| open.is(Name::Dd) || open.is(Name::Dt)),
            Name::Form => {
                if self.open[Name::Form as usize] == 0 || self.open[Name::Template as usize] > 0 {
                    self.close_p();
                    self.push(tag);
                }
            }
            Name::Button => {
                self.end_in_scope(Name::Button);
                self.push(tag);
            }
            Name::Table => self.start_table(tag),
            Name::Select | Name::Input if self.in_scope(Name::Select).is_some() => {
                self.end_in_scope(Name::Select);
                if tag.name == Name::Input {
                    self.start_input(tag);
                }
            }
            Name::Input => self.start_input(tag),
            Name::Option | Name::Optgroup | Name::Rb | Name::Rtc | Name::Rp | Name::Rt => self.start_implied(tag),
            Name::Svg => self.push_as(tag, Namespace::Svg),
            Name::Math => self.push_as(tag, Namespace::MathMl),
            name if name.has(TABLE_PART) => self.start_table_part(tag),
            _ => self.start_other(tag),
        }
    }

    fn start_other(&mut self, tag: Tag<'a>) {
        let name = tag.name;
        if name.has(CLOSES_P) {
            self.close_p();
        }
        if name.has(HEADING) && self.stack.last().is_some_and(|open| open.has(HEADING)) {
            self.pop();
        }
        if name.has(RAW) {
            return self.start_raw(tag);
        }
        self.push(tag);
        if name == Name::Plaintext {
            self.raw(name);
        }
    }

    fn start_raw(&mut self, tag: Tag<'a>) {
        self.visit(tag, Namespace::Html, false);
        self.raw(tag.name);
    }

    fn raw(&mut self, name: Name) {
        self.tokens.expect_raw(name);
        if let Some(Token::Raw(text)) = self.tokens.next(false)
            && self.inert.is_none()
        {
            self.visitor.raw(name, text);
        }
    }

    fn start_in_head(&mut self, name: Name) {
        let in_template = self.open[Name::Template as usize] > 0;
        let is_in_noscript = self.stack.last().is_some_and(|open| open.is(Name::Noscript));
        if in_template || name.has(if is_in_noscript { HEAD_NOSCRIPT } else { HEAD }) {
            return;
        }
        if is_in_noscript {
            self.pop();
        }
        self.in_head = name.has(HEAD);
    }

    fn start_in_frames(&mut self, tag: Tag<'a>) {
        let open = self.framesets.get_or_insert(0);
        match tag.name {
            Name::Frameset => *open += 1,
            Name::Frame if *open > 0 => {}
            Name::Noframes => return self.start_raw(tag),
            Name::Html => {}
            _ => return,
        }
        self.visit(tag, Namespace::Html, false);
    }

    fn start_template(&mut self, tag: Tag<'a>) {
        let is_shadow_root = self.tokens.attributes.iter().any(|it| it.name.eq_ignore_ascii_case("shadowrootmode"));
        let depth = self.stack.len();
        self.push(tag);
        if self.inert.is_none() && !is_shadow_root && self.stack.len() > depth {
            self.inert = Some(depth);
        }
    }

    fn start_item(&mut self, tag: Tag<'a>, is_like: impl Fn(&Open<'a>) -> bool) {
        let is_end = |open: &Open| {
            open.has(SPECIAL) && !matches!(open.name, Name::Address | Name::Div | Name::P) || open.is_integration_point
        };
        self.close_found(self.find(is_like, is_end));
        self.close_p();
        self.push(tag);
    }

    fn start_input(&mut self, tag: Tag<'a>) {
        let is_hidden =
            |it: &Attribute| it.name.eq_ignore_ascii_case("type") && it.value.eq_ignore_ascii_case("hidden");
        self.frameset_ok &= self.tokens.attributes.iter().any(is_hidden);
        self.push(tag);
    }

    fn start_implied(&mut self, tag: Tag<'a>) {
        let (container, kept) = match tag.name {
            Name::Option => (Name::Select, Name::Optgroup),
            Name::Optgroup => (Name::Select, Name::Other),
            Name::Rp | Name::Rt => (Name::Ruby, Name::Rtc),
            _ => (Name::Ruby, Name::Other),
        };
        if self.in_scope(container).is_some() {
            self.close_implied(kept);
        } else if container == Name::Select && self.stack.last().is_some_and(|open| open.is(Name::Option)) {
            self.pop();
        }
        self.push(tag);
    }

    fn start_table(&mut self, tag: Tag<'a>) {
        // A table directly inside a table ends the outer one.
        let inner = self.find(|open| open.is(Name::Table), |open| open.has(SCOPE));
        match inner {
            Some(open) => self.close_to(open),
            None => self.close_p(),
        }
        self.push(tag);
    }

    fn start_table_part(&mut self, tag: Tag<'a>) {
        let is_end = |open: &Open| open.is(Name::Template);
        let Some(table) = self.find(|open| open.is(Name::Table), is_end) else {
            // In a template, any part of a table may start.
            if self.inert.is_some() {
                self.push(tag);
            }
            return;
        };
        let depth = match tag.name {
            Name::Td | Name::Th => {
                let row = self.part(table, |open| open.is(Name::Tr));
                row.or_else(|| self.part(table, |open| open.has(SECTION)))
            }
            Name::Tr => self.part(table, |open| open.has(SECTION)),
            _ => None,
        };
        self.close_to(depth.unwrap_or(table) + 1);
        let missing: &[Name] = match (tag.name, self.stack.last().map(|open| open.name)) {
            (Name::Td | Name::Th, Some(Name::Table)) => &[Name::Tbody, Name::Tr],
            (Name::Td | Name::Th, Some(Name::Tbody | Name::Thead | Name::Tfoot)) => &[Name::Tr],
            (Name::Tr, Some(Name::Table)) => &[Name::Tbody],
            _ => &[],
        };
        for &name in missing {
            self.push_made(name);
        }
        self.push(tag);
    }

    fn part(&self, table: usize, is_part: impl Fn(&Open<'a>) -> bool) -> Option<usize> {
        self.stack.iter().enumerate().skip(table + 1).find(|(_, open)| is_part(open)).map(|(at, _)| at)
    }
}
