//! HTML elements that the standard's parser or ours treats specially.

use crate::short::{LOWER, is_name, number};

/// "Special" in the standard: an end tag does not close elements outside this one.
pub const SPECIAL: u32 = 1;
/// Its start tag closes an open `<p>`.
pub const CLOSES_P: u32 = 1 << 1;
/// Its end tag closes the elements open in it, if it is in scope.
pub const BLOCK: u32 = 1 << 2;
pub const FORMATTING: u32 = 1 << 3;
pub const VOID: u32 = 1 << 4;
/// Ends a scope of the standard.
pub const SCOPE: u32 = 1 << 5;
/// Outer formatting ends at it, and inner formatting does not continue after it.
pub const MARKER: u32 = 1 << 6;
/// Its end tag may be missing.
pub const IMPLIED_END: u32 = 1 << 7;
/// Ends SVG and MathML.
pub const BREAKOUT: u32 = 1 << 8;
pub const HEAD: u32 = 1 << 9;
/// Allowed in the head's `<noscript>`.
pub const HEAD_NOSCRIPT: u32 = 1 << 10;
/// After it no frameset is allowed.
pub const NO_FRAMESET: u32 = 1 << 11;
pub const HEADING: u32 = 1 << 12;
/// Its content is text up to its end tag.
pub const RAW: u32 = 1 << 13;
/// Starts and ends a line.
pub const LINE: u32 = 1 << 14;
/// Separated from other text by a blank.
pub const BLANK: u32 = 1 << 15;
/// Not visible to readers: scripts, fallbacks, form fields.
pub const UNSEEN: u32 = 1 << 16;
/// A part of a table.
pub const TABLE_PART: u32 = 1 << 17;
pub const SECTION: u32 = 1 << 18;

/// The flags of an ordinary block.
const PLAIN: u32 = CLOSES_P | BLOCK | SPECIAL | LINE;
const HEAD_VOID: u32 = SPECIAL | VOID | HEAD | HEAD_NOSCRIPT;

macro_rules! names {
    ($($name:ident $text:literal $flags:expr;)*) => {
        /// The name of an element.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Name {
            $($name,)*
            /// Any other name.
            Other,
        }

        const NAMES: &[(Name, &str)] = &[$((Name::$name, $text)),*];
        const FLAGS: &[u32] = &[$($flags,)* 0];
    };
}

names! {
    A "a" FORMATTING;
    Address "address" PLAIN;
    Applet "applet" SPECIAL | SCOPE | MARKER | NO_FRAMESET | BLOCK;
    Area "area" SPECIAL | VOID | NO_FRAMESET;
    Article "article" PLAIN;
    Aside "aside" PLAIN;
    Audio "audio" 0;
    B "b" FORMATTING | BREAKOUT;
    Base "base" SPECIAL | VOID | HEAD;
    Basefont "basefont" HEAD_VOID;
    Bgsound "bgsound" HEAD_VOID;
    Big "big" FORMATTING | BREAKOUT;
    Blockquote "blockquote" PLAIN | BREAKOUT;
    Body "body" SPECIAL | BREAKOUT;
    Br "br" SPECIAL | VOID | BREAKOUT | NO_FRAMESET | LINE;
    Button "button" SPECIAL | BLOCK | NO_FRAMESET | BLANK;
    Canvas "canvas" 0;
    Caption "caption" SPECIAL | SCOPE | MARKER | TABLE_PART | LINE;
    Center "center" PLAIN | BREAKOUT;
    Code "code" FORMATTING | BREAKOUT;
    Col "col" SPECIAL | VOID | TABLE_PART;
    Colgroup "colgroup" SPECIAL | VOID | TABLE_PART;
    Datalist "datalist" UNSEEN;
    Dd "dd" SPECIAL | IMPLIED_END | BREAKOUT | NO_FRAMESET | LINE;
    Del "del" 0;
    Details "details" PLAIN;
    Dialog "dialog" CLOSES_P | BLOCK | LINE;
    Dir "dir" CLOSES_P | BLOCK | SPECIAL;
    Div "div" PLAIN | BREAKOUT;
    Dl "dl" PLAIN | BREAKOUT;
    Dt "dt" SPECIAL | IMPLIED_END | BREAKOUT | NO_FRAMESET | LINE;
    Em "em" FORMATTING | BREAKOUT;
    Embed "embed" SPECIAL | VOID | BREAKOUT | NO_FRAMESET;
    Fieldset "fieldset" PLAIN;
    Figcaption "figcaption" PLAIN;
    Figure "figure" PLAIN;
    Font "font" FORMATTING;
    Footer "footer" PLAIN;
    Form "form" SPECIAL | LINE;
    Frame "frame" SPECIAL | VOID;
    Frameset "frameset" SPECIAL;
    H1 "h1" SPECIAL | CLOSES_P | HEADING | BREAKOUT | LINE;
    H2 "h2" SPECIAL | CLOSES_P | HEADING | BREAKOUT | LINE;
    H3 "h3" SPECIAL | CLOSES_P | HEADING | BREAKOUT | LINE;
    H4 "h4" SPECIAL | CLOSES_P | HEADING | BREAKOUT | LINE;
    H5 "h5" SPECIAL | CLOSES_P | HEADING | BREAKOUT | LINE;
    H6 "h6" SPECIAL | CLOSES_P | HEADING | BREAKOUT | LINE;
    Head "head" SPECIAL | BREAKOUT | HEAD | HEAD_NOSCRIPT;
    Header "header" PLAIN;
    Hgroup "hgroup" PLAIN;
    Hr "hr" SPECIAL | VOID | CLOSES_P | BREAKOUT | NO_FRAMESET | LINE;
    Html "html" SPECIAL | HEAD | HEAD_NOSCRIPT;
    I "i" FORMATTING | BREAKOUT;
    Iframe "iframe" SPECIAL | RAW | NO_FRAMESET;
    Image "image" VOID | NO_FRAMESET;
    Img "img" SPECIAL | VOID | BREAKOUT | NO_FRAMESET | BLANK;
    Input "input" SPECIAL | VOID | BLANK;
    Kbd "kbd" 0;
    Keygen "keygen" VOID | NO_FRAMESET;
    Label "label" BLANK;
    Legend "legend" LINE;
    Li "li" SPECIAL | IMPLIED_END | BREAKOUT | NO_FRAMESET | LINE;
    Link "link" HEAD_VOID;
    Listing "listing" SPECIAL | CLOSES_P | BLOCK | BREAKOUT | NO_FRAMESET;
    Main "main" PLAIN;
    Marquee "marquee" SPECIAL | SCOPE | MARKER | NO_FRAMESET | BLOCK;
    Math "math" 0;
    Menu "menu" PLAIN | BREAKOUT;
    Meta "meta" HEAD_VOID | BREAKOUT;
    Nav "nav" PLAIN;
    Nobr "nobr" FORMATTING | BREAKOUT;
    Noembed "noembed" SPECIAL | RAW;
    Noframes "noframes" SPECIAL | RAW | HEAD | HEAD_NOSCRIPT;
    Noscript "noscript" SPECIAL | HEAD | HEAD_NOSCRIPT | UNSEEN;
    Object "object" SPECIAL | SCOPE | MARKER | NO_FRAMESET | BLOCK;
    Ol "ol" PLAIN | BREAKOUT;
    Optgroup "optgroup" IMPLIED_END;
    Option "option" IMPLIED_END;
    P "p" SPECIAL | CLOSES_P | IMPLIED_END | BREAKOUT | LINE;
    Param "param" SPECIAL | VOID;
    Plaintext "plaintext" SPECIAL | CLOSES_P;
    Pre "pre" PLAIN | BREAKOUT | NO_FRAMESET;
    Rb "rb" IMPLIED_END;
    Rp "rp" IMPLIED_END;
    Rt "rt" IMPLIED_END;
    Rtc "rtc" IMPLIED_END;
    Ruby "ruby" BREAKOUT;
    S "s" FORMATTING | BREAKOUT;
    Samp "samp" 0;
    Script "script" SPECIAL | RAW | HEAD;
    Search "search" CLOSES_P | BLOCK;
    Section "section" PLAIN;
    Select "select" SPECIAL | SCOPE | BLOCK | NO_FRAMESET | UNSEEN;
    Small "small" FORMATTING | BREAKOUT;
    Source "source" SPECIAL | VOID;
    Span "span" BREAKOUT;
    Strike "strike" FORMATTING | BREAKOUT;
    Strong "strong" FORMATTING | BREAKOUT;
    Style "style" SPECIAL | RAW | HEAD | HEAD_NOSCRIPT;
    Sub "sub" BREAKOUT;
    Summary "summary" PLAIN;
    Sup "sup" BREAKOUT;
    Svg "svg" 0;
    Table "table" SPECIAL | CLOSES_P | SCOPE | BREAKOUT | NO_FRAMESET | LINE;
    Tbody "tbody" SPECIAL | TABLE_PART | SECTION | LINE;
    Td "td" SPECIAL | SCOPE | MARKER | TABLE_PART | BLANK;
    Template "template" SPECIAL | SCOPE | MARKER | HEAD | NO_FRAMESET;
    Textarea "textarea" SPECIAL | RAW | NO_FRAMESET;
    Tfoot "tfoot" SPECIAL | TABLE_PART | SECTION | LINE;
    Th "th" SPECIAL | SCOPE | MARKER | TABLE_PART | BLANK;
    Thead "thead" SPECIAL | TABLE_PART | SECTION | LINE;
    Time "time" 0;
    Title "title" SPECIAL | RAW | HEAD;
    Tr "tr" SPECIAL | TABLE_PART | LINE;
    Track "track" SPECIAL | VOID;
    Tt "tt" FORMATTING | BREAKOUT;
    U "u" FORMATTING | BREAKOUT;
    Ul "ul" PLAIN | BREAKOUT;
    Var "var" BREAKOUT;
    Video "video" 0;
    Wbr "wbr" SPECIAL | VOID | NO_FRAMESET;
    Xmp "xmp" SPECIAL | CLOSES_P | RAW | NO_FRAMESET;
}

/// Number of names.
pub const COUNT: usize = FLAGS.len();

impl Name {
    /// Finds a name, in any case.
    pub fn of(name: &[u8]) -> Name {
        match NAMES.get(usize::from(SLOTS[slot(name)])) {
            Some((known, text)) if is_name(text, name) => *known,
            _ => Name::Other,
        }
    }

    /// In lower case; empty for [`Name::Other`].
    pub fn text(self) -> &'static str {
        NAMES.get(self as usize).map_or("", |known| known.1)
    }

    /// The level of a heading, 1 to 6.
    pub fn heading(self) -> Option<u8> {
        self.has(HEADING).then(|| self as u8 - Name::H1 as u8 + 1)
    }

    pub const fn flags(self) -> u32 {
        FLAGS[self as usize]
    }

    pub const fn has(self, flags: u32) -> bool {
        self.flags() & flags != 0
    }
}

const SLOTS: [u8; 1 << SLOT_BITS] = slots(NAMES);

/// A perfect hash table: for each slot the index of its name. No two names share a slot.
pub const fn slots<T>(names: &[(T, &str)]) -> [u8; 1 << SLOT_BITS] {
    let mut slots = [u8::MAX; 1 << SLOT_BITS];
    let mut at = 0;
    while at < names.len() {
        let slot = slot(names[at].1.as_bytes());
        assert!(slots[slot] == u8::MAX, "two names in one slot: take another FACTOR");
        slots[slot] = at as u8;
        at += 1;
    }
    slots
}

const SLOT_BITS: u32 = 10;
/// Found by trial, for these names and those of NekoHTML.
const FACTOR: u64 = 0x8ba8_013f_e56f_d2f9;

/// Slot of a name, from its length and first eight letters in any case.
pub const fn slot(name: &[u8]) -> usize {
    let key = (number(name) | LOWER) ^ (name.len() as u64) << 56;
    (key.wrapping_mul(FACTOR) >> (u64::BITS - SLOT_BITS)) as usize
}
