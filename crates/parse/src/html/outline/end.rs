//! End tags.

use super::super::names::{BLOCK, FORMATTING, HEADING, Name, SPECIAL, TABLE_PART};
use super::super::tokens::Tag;
use super::{Open, Outline, Visitor};

impl<'a, V: Visitor<'a>> Outline<'_, 'a, V> {
    pub(super) fn end(&mut self, tag: Tag<'a>) {
        if self.in_foreign() && !self.end_foreign(tag) {
            return;
        }
        match tag.name {
            Name::Frameset => {
                if let Some(open) = &mut self.framesets {
                    *open = open.saturating_sub(1);
                }
            }
            Name::Html | Name::Head | Name::Body => self.in_head = false,
            Name::Br => {
                self.tokens.attributes.clear();
                self.start(tag);
            }
            Name::P => {
                if self.in_button_scope(Name::P).is_none() && !self.in_head {
                    self.push_made(Name::P);
                }
                self.close_p();
            }
            Name::Form => self.end_form(),
            Name::Li => {
                let is_end = |open: &Open| open.ends_scope() || open.is(Name::Ol) || open.is(Name::Ul);
                self.close_found(self.find(|open| open.is(Name::Li), is_end));
            }
            Name::Dd | Name::Dt => self.end_in_scope(tag.name),
            Name::Template => self.close_found(self.stack.iter().rposition(|open| open.is(Name::Template))),
            Name::Table => self.end_in_table(tag.name),
            name if name.has(TABLE_PART) => self.end_in_table(name),
            name if name.has(FORMATTING) => match self.find(|open| open.is(name), Open::ends_scope) {
                Some(open) => self.end_formatting(open),
                None => self.end_link(name),
            },
            name if name.has(HEADING) => {
                self.close_found(self.find(|open| open.has(HEADING), Open::ends_scope));
            }
            name if name.has(BLOCK) => self.end_in_scope(name),
            _ => self.end_other(tag),
        }
    }

    pub(super) fn end_in_scope(&mut self, name: Name) {
        self.close_found(self.in_scope(name));
    }

    fn end_in_table(&mut self, name: Name) {
        let is_end = |open: &Open| open.is(Name::Table) || open.is(Name::Template);
        if self.open[name as usize] > 0 {
            self.close_found(self.find(|open| open.is(name), is_end));
        }
    }

    fn end_form(&mut self) {
        if let Some(open) = self.in_scope(Name::Form) {
            self.close_implied(Name::Other);
            self.leave(open);
        }
    }

    fn end_other(&mut self, tag: Tag<'a>) {
        let is_it = |open: &Open| open.is(tag.name) && open.written.eq_ignore_ascii_case(tag.written);
        if self.open[tag.name as usize] > 0 {
            self.close_found(self.find(is_it, |open| open.has(SPECIAL)));
        }
    }

    pub(super) fn end_formatting(&mut self, at: usize) {
        let is_block = |open: &Open| open.has(SPECIAL);
        let name = self.stack[at].name;
        if !self.stack[at + 1..].iter().any(is_block) {
            self.close_to(at);
            return self.end_link(name);
        }
        if self.inert.is_none() {
            for depth in (at + 1..self.stack.len()).filter(|depth| name == Name::A && is_block(&self.stack[*depth])) {
                self.visitor.split(depth);
            }
            self.visitor.close(name, at);
        }
        self.leave(at);
        self.end_link(name);
    }

    fn end_link(&mut self, name: Name) {
        if name == Name::A && self.inert.is_none() {
            self.visitor.end_link();
        }
    }

    fn leave(&mut self, at: usize) {
        if at + 1 == self.stack.len() {
            return self.pop();
        }
        let open = &mut self.stack[at];
        open.is_gone = true;
        self.open[open.name as usize] -= 1;
    }
}
