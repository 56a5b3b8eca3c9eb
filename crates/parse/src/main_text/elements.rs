//! The HTML elements known to NekoHTML 1.9.20 with the changes of Boilerpipe 1.2.2: which are inline or blocks, their
//! parents, and which elements their start tag closes. Also what Boilerpipe does with them. This is HTML 4 as browsers
//! read it in 2005; later elements are unknown.

use crate::html::names::{slot, slots};
use crate::short::is_name;

/// Inline: closed before an element that is neither inline nor a block, and reopened in it.
pub(super) const INLINE: u16 = 1;
/// The end tags of most elements do not close a block around them.
pub(super) const BLOCK: u16 = 2;
/// Without content.
pub(super) const EMPTY: u16 = 4;
/// Its end tag closes it at any depth.
pub(super) const CONTAINER: u16 = 8;
/// Its content is text.
pub(super) const SPECIAL: u16 = 16;
/// Its parent is searched for only within the innermost table.
pub(super) const BOUNDED: u16 = 32;
/// Boilerpipe's actions: ignore the tag with its content; continue the text; continue the text after a blank.
pub(super) const IGNORED: u16 = 64;
pub(super) const RUNS_ON: u16 = 128;
pub(super) const APART: u16 = 256;
/// The kinds used by NekoHTML.
pub(super) const KINDS: u16 = INLINE | BLOCK | EMPTY | CONTAINER | SPECIAL | BOUNDED;

/// A set of elements, one bit each.
pub(super) type Set = u128;

#[derive(Debug, Clone, Copy)]
pub(super) struct Element {
    pub flags: u16,
    /// Elements it may be in; empty for the root.
    pub parents: Set,
    /// The parent to insert if there is none.
    pub parent: Option<Tag>,
    /// Open elements that its start tag closes.
    pub closes: Set,
}

impl Tag {
    pub(super) const fn set(self) -> Set {
        1 << self as u8
    }

    pub(super) const fn element(self) -> &'static Element {
        &ELEMENTS[self as usize]
    }

    pub(super) const fn has(self, flag: u16) -> bool {
        self.element().flags & flag != 0
    }

    /// Whether it may contain an element of its own kind. If not, its start tag closes one at any depth.
    pub(super) const fn is_nestable(self) -> bool {
        self.element().closes & self.set() == 0
    }

    /// Finds a tag by name, in any case.
    pub(super) fn of(name: &[u8]) -> Tag {
        match TAGS.get(usize::from(SLOTS[slot(name)])) {
            Some((tag, known)) if is_name(known, name) => *tag,
            _ => Tag::Unknown,
        }
    }
}

macro_rules! elements {
    ($($tag:ident $name:literal, $flags:expr, [$($parent:ident)? $(, $other:ident)*], [$($closed:ident),*];)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub(crate) enum Tag {
            $($tag,)*
            /// Any other name.
            Unknown,
        }

        const TAGS: &[(Tag, &str)] = &[$((Tag::$tag, $name)),*];

        const ELEMENTS: &[Element] = &[
            $(Element {
                flags: $flags,
                parents: 0 $(| Tag::$parent.set())? $(| Tag::$other.set())*,
                parent: first(&[$(Tag::$parent)?]),
                closes: 0 $(| Tag::$closed.set())*,
            },)*
            Element {
                flags: CONTAINER,
                parents: Tag::Body.set() | Tag::Head.set(),
                parent: Some(Tag::Body),
                closes: 0,
            },
        ];
    };
}

/// Number of tags.
pub(super) const COUNT: usize = ELEMENTS.len();

const fn first(parents: &[Tag]) -> Option<Tag> {
    if parents.is_empty() { None } else { Some(parents[0]) }
}

const SLOTS: [u8; 1024] = slots(TAGS);

elements! {
    A "a", INLINE, [Body], [A];
    Abbr "abbr", INLINE | APART, [Body], [];
    Acronym "acronym", INLINE | APART, [Body], [];
    Address "address", BLOCK, [Body], [];
    Applet "applet", IGNORED, [Body], [];
    Area "area", EMPTY, [Map], [];
    B "b", INLINE | RUNS_ON, [Body], [];
    Base "base", EMPTY, [Head], [];
    Basefont "basefont", 0, [Head], [];
    Bdo "bdo", INLINE, [Body], [];
    Bgsound "bgsound", EMPTY, [Head], [];
    Big "big", INLINE, [Body], [];
    Blink "blink", INLINE, [Body], [];
    Blockquote "blockquote", BLOCK, [Body], [P];
    Body "body", CONTAINER, [Html], [Head];
    Br "br", EMPTY, [Body], [];
    Button "button", 0, [Body], [];
    Caption "caption", INLINE, [Table], [];
    Center "center", 0, [Body], [];
    Cite "cite", INLINE, [Body], [];
    Code "code", INLINE | RUNS_ON, [Body], [];
    Col "col", EMPTY, [Table], [];
    Colgroup "colgroup", 0, [Table], [Col, Colgroup];
    Comment "comment", SPECIAL, [Html], [];
    Dd "dd", 0, [Dl], [Dt, Dd];
    Del "del", 0, [Body], [];
    Dfn "dfn", INLINE, [Body], [];
    Dir "dir", 0, [Body], [];
    Div "div", BLOCK, [Body], [P];
    Dl "dl", BLOCK, [Body], [];
    Dt "dt", 0, [Dl], [Dt, Dd];
    Em "em", INLINE | RUNS_ON, [Body], [];
    Embed "embed", IGNORED, [Body], [];
    Fieldset "fieldset", 0, [Body], [];
    Font "font", CONTAINER | RUNS_ON, [Body], [];
    Form "form", CONTAINER, [Body, Td, Div], [Button, P];
    Frame "frame", EMPTY, [Frameset], [];
    Frameset "frameset", 0, [Html], [];
    H1 "h1", BLOCK, [Body, A], [H1, H2, H3, H4, H5, H6, P];
    H2 "h2", BLOCK, [Body, A], [H1, H2, H3, H4, H5, H6, P];
    H3 "h3", BLOCK, [Body, A], [H1, H2, H3, H4, H5, H6, P];
    H4 "h4", BLOCK, [Body, A], [H1, H2, H3, H4, H5, H6, P];
    H5 "h5", BLOCK, [Body, A], [H1, H2, H3, H4, H5, H6, P];
    H6 "h6", BLOCK, [Body, A], [H1, H2, H3, H4, H5, H6, P];
    Head "head", 0, [Html], [];
    Hr "hr", EMPTY, [Body], [P];
    Html "html", 0, [], [];
    I "i", INLINE | RUNS_ON, [Body], [];
    Iframe "iframe", BLOCK, [Body], [];
    Ilayer "ilayer", BLOCK, [Body], [];
    Img "img", EMPTY, [Body], [];
    Input "input", EMPTY, [Body], [];
    Ins "ins", 0, [Body], [];
    Isindex "isindex", 0, [Head], [];
    Kbd "kbd", INLINE, [Body], [];
    Keygen "keygen", 0, [Body], [];
    Label "label", 0, [Body], [];
    Layer "layer", BLOCK, [Body], [];
    Legend "legend", INLINE, [Fieldset], [];
    Li "li", 0, [Body, Ul, Ol], [Li];
    Link "link", EMPTY | IGNORED, [Head], [];
    Listing "listing", 0, [Body], [];
    Map "map", INLINE, [Body], [];
    Marquee "marquee", 0, [Body], [];
    Menu "menu", 0, [Body], [];
    Meta "meta", EMPTY, [Head], [Style, Title];
    Multicol "multicol", 0, [Body], [];
    Nextid "nextid", EMPTY, [Body], [];
    Nobr "nobr", INLINE, [Body], [];
    Noembed "noembed", 0, [Body], [];
    Noframes "noframes", 0, [Frameset], [];
    Nolayer "nolayer", 0, [Body], [];
    Noscript "noscript", IGNORED, [Body], [];
    Object "object", IGNORED, [Body], [];
    Ol "ol", BLOCK, [Body], [];
    Optgroup "optgroup", 0, [Select], [Option];
    Option "option", IGNORED, [Select], [Option];
    P "p", CONTAINER, [Body], [P];
    Param "param", EMPTY, [Object, Applet], [];
    Plaintext "plaintext", SPECIAL, [Body], [];
    Pre "pre", 0, [Body], [];
    Q "q", INLINE, [Body], [];
    Rb "rb", INLINE, [Ruby], [Rb];
    Rbc "rbc", 0, [Ruby], [];
    Rp "rp", INLINE, [Ruby], [Rb];
    Rt "rt", INLINE, [Ruby], [Rb, Rp];
    Rtc "rtc", 0, [Ruby], [Rbc];
    Ruby "ruby", 0, [Body], [Ruby];
    S "s", 0, [Body], [];
    Samp "samp", INLINE, [Body], [];
    Script "script", SPECIAL | IGNORED, [Head, Body], [];
    Select "select", CONTAINER, [Body], [Select];
    Small "small", INLINE, [Body], [];
    Sound "sound", EMPTY, [Head], [];
    Spacer "spacer", EMPTY, [Body], [];
    Span "span", CONTAINER | RUNS_ON, [Body], [];
    Strike "strike", INLINE | RUNS_ON, [Body], [];
    Strong "strong", INLINE | RUNS_ON, [Body], [];
    Style "style", SPECIAL | IGNORED, [Head, Body], [Style, Title, Meta];
    Sub "sub", INLINE | RUNS_ON, [Body], [];
    Sup "sup", INLINE | RUNS_ON, [Body], [];
    Table "table", BLOCK | CONTAINER, [Body], [];
    Tbody "tbody", 0, [Table], [Thead, Td, Th, Tr, Colgroup];
    Td "td", CONTAINER | BOUNDED, [Tr], [Td, Th];
    Textarea "textarea", SPECIAL, [Body], [];
    Tfoot "tfoot", 0, [Table], [Thead, Tbody, Td, Th, Tr];
    Th "th", CONTAINER | BOUNDED, [Tr], [Td, Th];
    Thead "thead", 0, [Table], [Colgroup];
    Title "title", SPECIAL, [Head, Body], [];
    Tr "tr", BLOCK | BOUNDED, [Tbody, Thead, Tfoot], [Td, Th, Tr, Colgroup];
    Tt "tt", INLINE | RUNS_ON, [Body], [];
    U "u", INLINE | RUNS_ON, [Body], [];
    Ul "ul", BLOCK, [Body], [];
    Var "var", INLINE | RUNS_ON, [Body], [];
    Wbr "wbr", EMPTY, [Body], [];
    Xml "xml", 0, [Body], [];
    Xmp "xmp", SPECIAL, [Body], [];
}
