//! The elements of a page as Boilerpipe gets them. NekoHTML's tag balancer adds missing elements and closes open ones
//! by its own rules ([`elements`](super::elements)). This module needs only a stack of open elements, no tree.

use std::mem::take;

use super::elements::{BLOCK, CONTAINER, COUNT, EMPTY, INLINE, KINDS, Set, Tag};
use super::letters::is_space;
use super::markup::{Markup, Piece};
use super::reader::{Action, Reader};

/// Limit of steps over open elements for all tags: well below a second. A long page needs a hundredth of this.
const MAX_WORK: usize = 20_000_000;

/// Passes the page to `reader`. Stops early if it takes too much work.
pub(super) fn read(page: &str, reader: &mut Reader) {
    let mut balancer = Balancer::new(reader);
    for piece in Markup::new(page) {
        match piece {
            Piece::Start { name, empty } => balancer.start_tag(name, empty),
            Piece::End { name } => balancer.end(Tag::of(name.as_bytes())),
            Piece::Text(text) => balancer.text(text),
            Piece::Character(character) => balancer.text(character.encode_utf8(&mut [0; 4])),
            Piece::Aside => balancer.aside(),
        }
        if balancer.work > MAX_WORK {
            break;
        }
    }
    balancer.finish();
}

/// An open element.
#[derive(Debug, Clone, Copy)]
struct Open {
    tag: Tag,
    action: Action,
    /// Number of the element, counted as they are opened.
    number: usize,
}

struct Balancer<'r> {
    reader: &'r mut Reader,
    stack: Vec<Open>,
    /// Number of open elements of each kind.
    open: [u32; COUNT],
    are_open: Set,
    opened: usize,
    /// Closed inline elements that will be reopened.
    inline: Vec<Open>,
    /// Delayed end tags: that of the head waits for the body, those of body and root for the end of the page.
    ends: Vec<Tag>,
    /// Delayed end tags were applied once; the head's is no longer delayed.
    has_ended: bool,
    is_last: bool,
    /// Text before the first tag.
    early: String,
    seen: Seen,
    work: usize,
}

#[derive(Default)]
struct Seen {
    root: bool,
    root_end: bool,
    head: bool,
    body: bool,
    /// A form is open.
    form: bool,
}

impl<'r> Balancer<'r> {
    fn new(reader: &'r mut Reader) -> Self {
        Balancer {
            reader,
            stack: Vec::new(),
            open: [0; COUNT],
            are_open: 0,
            opened: 0,
            inline: Vec::new(),
            ends: Vec::new(),
            has_ended: false,
            is_last: false,
            early: String::new(),
            seen: Seen::default(),
            work: 0,
        }
    }

    fn start_tag(&mut self, name: &str, empty: bool) {
        let tag = Tag::of(name.as_bytes());
        // The name alone decides what an element does; its full `prefix:name` decides how it is nested.
        let action = match tag {
            Tag::Unknown => {
                let local = name.split_once(':').map_or("", |name| name.1);
                Action::of(Tag::of(local.as_bytes()))
            }
            _ => Action::of(tag),
        };
        self.start(tag, action, false);
        if empty && tag == Tag::Unknown {
            self.end(tag);
        }
    }

    /// `forced`: the element is inserted, without a tag in the page.
    fn start(&mut self, tag: Tag, action: Action, forced: bool) {
        self.work += 1;
        let is_refused = forced && matches!(tag, Tag::Table | Tag::Select);
        if self.seen.root_end || is_refused || !self.meets(tag) || !self.has_place(tag) {
            return;
        }
        let saved = if tag.has(KINDS) { 0 } else { self.close_inline() };
        self.close_before(tag);
        self.seen.root = true;
        self.reader.open(action);
        if tag.has(EMPTY) {
            self.reader.close(action);
        } else {
            self.push(tag, action);
        }
        for _ in 0..saved {
            if let Some(open) = self.inline.pop() {
                self.start(open.tag, open.action, true);
            }
        }
        if tag == Tag::Body {
            self.refeed();
        }
    }

    /// Whether the element may occur here: root, head and body occur once, and a form cannot contain a form.
    fn meets(&mut self, tag: Tag) -> bool {
        let is_again = match tag {
            Tag::Html => return !self.seen.root,
            Tag::Head => std::mem::replace(&mut self.seen.head, true),
            Tag::Form => std::mem::replace(&mut self.seen.form, true),
            Tag::Body => {
                if !self.seen.head {
                    self.force(Tag::Head);
                    self.end(Tag::Head);
                }
                self.obey_ends();
                std::mem::replace(&mut self.seen.body, true)
            }
            Tag::Frameset | Tag::Unknown => {
                self.obey_ends();
                false
            }
            _ => false,
        };
        !is_again
    }

    /// Makes sure that the element's parent is open; inserts it if needed.
    fn has_place(&mut self, tag: Tag) -> bool {
        let element = tag.element();
        let Some(parent) = element.parent else { return true };
        if !self.seen.root {
            return self.force(parent);
        }
        if parent == Tag::Head && self.seen.body {
            return true;
        }
        let is_there = if tag.has(super::elements::BOUNDED) {
            let mut inner = self.stack.iter().rev().inspect(|_| self.work += 1);
            let found = inner.find(|open| open.tag == Tag::Table || element.parents & open.tag.set() != 0);
            found.is_some_and(|open| open.tag != Tag::Table)
        } else {
            element.parents & self.are_open != 0
        };
        is_there || self.force(parent)
    }

    /// Inserts an element. Returns whether it is now open.
    fn force(&mut self, tag: Tag) -> bool {
        let before = self.opened;
        self.start(tag, Action::of(tag), true);
        self.stack.last().is_some_and(|open| open.tag == tag && open.number > before)
    }

    /// Closes the innermost inline elements, which are reopened in the next element. Returns how many.
    fn close_inline(&mut self) -> usize {
        self.inline.clear();
        while let Some(open) = self.stack.last().copied().filter(|open| open.tag.has(INLINE)) {
            self.inline.push(open);
            self.pop();
        }
        self.inline.len()
    }

    /// Closes elements that end where this one begins.
    fn close_before(&mut self, tag: Tag) {
        // Elements of the head have no children.
        let length = self.stack.len();
        if length > 1 && self.stack[length - 1].tag == Tag::Script
            || length > 2 && self.stack[length - 2].tag == Tag::Head
        {
            self.pop();
        }
        let element = tag.element();
        if tag == Tag::Table {
            while self.stack.last().is_some_and(|open| open.tag.has(INLINE)) {
                self.pop();
            }
        }
        let mut at = self.stack.len();
        while at > 0 && element.closes & self.are_open != 0 {
            at -= 1;
            self.work += 1;
            let inner = self.stack[at].tag;
            if element.closes & inner.set() != 0 {
                self.pop_to(at);
            } else if tag.is_nestable() && (inner.has(BLOCK) || element.parents & inner.set() != 0) {
                break;
            }
        }
    }

    fn end(&mut self, tag: Tag) {
        self.work += 1;
        if self.seen.root_end {
            return;
        }
        match tag {
            Tag::Body | Tag::Html if !self.is_last => return self.ends.push(tag),
            Tag::Html => self.seen.root_end = true,
            Tag::Form => self.seen.form = false,
            Tag::Head if !self.has_ended => return self.ends.push(tag),
            _ => {}
        }
        match self.depth(tag) {
            Some(depth) => self.close(tag, depth),
            // A `</p>` without `<p>` is an empty paragraph.
            None if tag == Tag::P && self.force(Tag::P) => self.close(tag, 1),
            None => {}
        }
    }

    /// Closes the innermost `depth` elements. If the outermost is inline, reopens the inline ones among the others.
    fn close(&mut self, tag: Tag, depth: usize) {
        let at = self.stack.len() - depth;
        if depth > 1 && tag.has(INLINE) {
            let is_opened_again = |open: &&Open| open.tag.has(INLINE) || open.tag == Tag::Font;
            self.inline.clear();
            self.inline.extend(self.stack[at + 1..].iter().rev().filter(is_opened_again));
        }
        self.pop_to(at);
        if depth > 1 {
            for open in take(&mut self.inline).into_iter().rev() {
                self.start(open.tag, open.action, true);
            }
        }
    }

    /// Depth of the element that an end tag closes, counted from 1 at the innermost open element.
    fn depth(&mut self, tag: Tag) -> Option<usize> {
        if self.are_open & tag.set() == 0 {
            return None;
        }
        let is_barred = !tag.has(CONTAINER) && tag.is_nestable();
        let length = self.stack.len();
        let mut inner = self.stack.iter().rev().inspect(|_| self.work += 1);
        let found = inner.position(|open| open.tag == tag || is_barred && open.tag.has(BLOCK))?;
        (self.stack[length - 1 - found].tag == tag).then_some(found + 1)
    }

    fn push(&mut self, tag: Tag, action: Action) {
        self.opened += 1;
        self.stack.push(Open { tag, action, number: self.opened });
        self.open[tag as usize] += 1;
        self.are_open |= tag.set();
    }

    fn pop(&mut self) {
        let Some(Open { tag, action, .. }) = self.stack.pop() else { return };
        self.work += 1;
        self.open[tag as usize] -= 1;
        if self.open[tag as usize] == 0 {
            self.are_open &= !tag.set();
        }
        self.reader.close(action);
    }

    fn pop_to(&mut self, length: usize) {
        while self.stack.len() > length {
            self.pop();
        }
    }

    fn obey_ends(&mut self) {
        for tag in take(&mut self.ends) {
            self.has_ended = true;
            self.end(tag);
        }
        self.ends.clear();
    }

    fn text(&mut self, text: &str) {
        if self.seen.root_end {
            return;
        }
        let Some(inner) = self.stack.last() else {
            if !self.early.is_empty() || text.chars().any(|c| c > ' ') {
                self.early.push_str(text);
            }
            return;
        };
        let is_outside = matches!(inner.tag, Tag::Head | Tag::Html);
        // Blanks are dropped directly in the root, and after the head or the body.
        let are_blanks_lost = self.stack.len() < 2 || self.ends.len() == 1;
        if (is_outside || are_blanks_lost) && text.chars().all(is_space) {
            if are_blanks_lost {
                return;
            }
        } else if is_outside {
            self.force(Tag::Body);
        }
        self.reader.text(text);
    }

    /// Text before the first tag belongs to the body.
    fn aside(&mut self) {
        if !self.early.is_empty() && !self.seen.body {
            self.force(Tag::Body);
        }
        self.refeed();
    }

    fn refeed(&mut self) {
        let early = take(&mut self.early);
        if !early.is_empty() {
            self.text(&early);
        }
    }

    fn finish(mut self) {
        self.is_last = true;
        self.obey_ends();
        if !self.seen.root {
            self.seen.root_end = false;
            self.force(Tag::Body);
        }
        self.pop_to(0);
    }
}
