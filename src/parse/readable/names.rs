//! The elements of HTML by what they do to text, and which start tags end which open elements.

/// Text before and behind it stands apart.
pub const BLOCK: u8 = 1;
/// Without content.
pub const VOID: u8 = 2;
/// Its content is text, to its end tag.
pub const RAW: u8 = 4;
/// What is in it is not read: programs, fallbacks, fields, drawings.
pub const UNSEEN: u8 = 8;
/// No end tag within it reaches beyond it, nor does a start tag end what is around it.
pub const WALL: u8 = 16;

macro_rules! elements {
    ($($tag:ident $name:literal $flags:expr;)*) => {
        /// An element's name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Tag {
            $($tag,)*
            /// An element of the page's own, `<my-card>`, which mostly is a block.
            Custom,
            /// Any other, which runs on with the text.
            Other,
        }

        /// Sorted by name.
        const ELEMENTS: &[(&str, Tag, u8)] = &[$(($name, Tag::$tag, $flags)),*];
    };
}

elements! {
    A "a" 0;
    Address "address" BLOCK;
    Area "area" VOID;
    Article "article" BLOCK;
    Aside "aside" BLOCK;
    Audio "audio" BLOCK | UNSEEN;
    B "b" 0;
    Base "base" VOID;
    Blockquote "blockquote" BLOCK;
    Body "body" BLOCK | WALL;
    Br "br" VOID;
    Button "button" BLOCK | WALL;
    Canvas "canvas" BLOCK | UNSEEN;
    Caption "caption" BLOCK | WALL;
    Center "center" BLOCK;
    Code "code" 0;
    Col "col" VOID;
    Colgroup "colgroup" BLOCK;
    Datalist "datalist" BLOCK | UNSEEN;
    Dd "dd" BLOCK;
    Del "del" 0;
    Details "details" BLOCK;
    Dialog "dialog" BLOCK;
    Div "div" BLOCK;
    Dl "dl" BLOCK;
    Dt "dt" BLOCK;
    Em "em" 0;
    Embed "embed" VOID;
    Fieldset "fieldset" BLOCK;
    Figcaption "figcaption" BLOCK;
    Figure "figure" BLOCK;
    Footer "footer" BLOCK;
    Form "form" BLOCK;
    Frame "frame" VOID;
    Frameset "frameset" BLOCK;
    H1 "h1" BLOCK;
    H2 "h2" BLOCK;
    H3 "h3" BLOCK;
    H4 "h4" BLOCK;
    H5 "h5" BLOCK;
    H6 "h6" BLOCK;
    Head "head" BLOCK | UNSEEN;
    Header "header" BLOCK;
    Hgroup "hgroup" BLOCK;
    Hr "hr" BLOCK | VOID;
    Html "html" BLOCK | WALL;
    I "i" 0;
    Iframe "iframe" BLOCK | RAW | UNSEEN;
    Img "img" VOID;
    Input "input" VOID;
    Kbd "kbd" 0;
    Label "label" BLOCK;
    Legend "legend" BLOCK;
    Li "li" BLOCK;
    Link "link" VOID;
    Main "main" BLOCK;
    Menu "menu" BLOCK;
    Meta "meta" VOID;
    Nav "nav" BLOCK;
    Noembed "noembed" RAW | UNSEEN;
    Noframes "noframes" RAW | UNSEEN;
    Noscript "noscript" BLOCK | UNSEEN;
    Object "object" BLOCK | WALL;
    Ol "ol" BLOCK;
    Optgroup "optgroup" BLOCK;
    Option "option" BLOCK;
    P "p" BLOCK;
    Param "param" VOID;
    Picture "picture" 0;
    Plaintext "plaintext" BLOCK | RAW;
    Pre "pre" BLOCK;
    S "s" 0;
    Samp "samp" 0;
    Script "script" RAW | UNSEEN;
    Section "section" BLOCK;
    Select "select" BLOCK | UNSEEN | WALL;
    Source "source" VOID;
    Span "span" 0;
    Strike "strike" 0;
    Strong "strong" 0;
    Style "style" RAW | UNSEEN;
    Sub "sub" 0;
    Summary "summary" BLOCK;
    Sup "sup" 0;
    Svg "svg" 0;
    Table "table" BLOCK | WALL;
    Tbody "tbody" BLOCK;
    Td "td" BLOCK | WALL;
    Template "template" BLOCK | UNSEEN | WALL;
    Textarea "textarea" BLOCK | RAW | UNSEEN;
    Tfoot "tfoot" BLOCK;
    Th "th" BLOCK | WALL;
    Thead "thead" BLOCK;
    Time "time" 0;
    Title "title" RAW | UNSEEN;
    Tr "tr" BLOCK;
    Track "track" VOID;
    Tt "tt" 0;
    Ul "ul" BLOCK;
    Video "video" BLOCK | UNSEEN;
    Wbr "wbr" VOID;
    Xmp "xmp" BLOCK | RAW;
}

impl Tag {
    /// By its name, in letters of any case.
    pub fn of(name: &[u8]) -> Tag {
        let mut lower = [0; 10];
        let Some(lower) = lower.get_mut(..name.len()) else { return Tag::unknown(name) };
        lower.copy_from_slice(name);
        lower.make_ascii_lowercase();
        let found = ELEMENTS.binary_search_by(|(known, ..)| known.as_bytes().cmp(lower));
        found.map_or_else(|_| Tag::unknown(name), |at| ELEMENTS[at].1)
    }

    fn unknown(name: &[u8]) -> Tag {
        if name.contains(&b'-') { Tag::Custom } else { Tag::Other }
    }

    /// As it is written; of others nothing.
    pub fn name(self) -> &'static str {
        ELEMENTS.get(self as usize).map_or("", |element| element.0)
    }

    pub fn has(self, flag: u8) -> bool {
        let flags = match self {
            Tag::Custom => BLOCK,
            Tag::Other => 0,
            known => ELEMENTS[known as usize].2,
        };
        flags & flag != 0
    }

    /// Of a heading, 1 to 6.
    pub fn heading(self) -> Option<u8> {
        (Tag::H1 as u8..=Tag::H6 as u8).contains(&(self as u8)).then(|| self as u8 - Tag::H1 as u8 + 1)
    }

    /// Whether its start tag ends an open `inner`, if that is found before what [bars](Tag::bars) the search.
    pub fn ends(self, inner: Tag) -> bool {
        match inner {
            Tag::P => self.has(BLOCK) && !matches!(self, Tag::Custom | Tag::Button | Tag::Label | Tag::Noscript),
            Tag::Li => self == Tag::Li,
            Tag::Dt | Tag::Dd => matches!(self, Tag::Dt | Tag::Dd),
            Tag::Option => matches!(self, Tag::Option | Tag::Optgroup),
            Tag::Td | Tag::Th => matches!(self, Tag::Td | Tag::Th | Tag::Tr | Tag::Tbody | Tag::Thead | Tag::Tfoot),
            Tag::Tr => matches!(self, Tag::Tr | Tag::Tbody | Tag::Thead | Tag::Tfoot),
            Tag::Tbody | Tag::Thead | Tag::Tfoot => matches!(self, Tag::Tbody | Tag::Thead | Tag::Tfoot),
            Tag::Caption | Tag::Colgroup => matches!(self, Tag::Tr | Tag::Tbody | Tag::Thead | Tag::Tfoot | Tag::Td),
            Tag::A => self == Tag::A,
            Tag::Button => self == Tag::Button,
            Tag::H1 | Tag::H2 | Tag::H3 | Tag::H4 | Tag::H5 | Tag::H6 => self.heading().is_some(),
            _ => false,
        }
    }

    /// Whether an open `outer` keeps this start tag from ending what is around it.
    pub fn bars(self, outer: Tag) -> bool {
        match self {
            Tag::Li => matches!(outer, Tag::Ul | Tag::Ol | Tag::Menu) || outer.has(WALL),
            Tag::Dt | Tag::Dd => outer == Tag::Dl || outer.has(WALL),
            Tag::Td | Tag::Th | Tag::Tr | Tag::Tbody | Tag::Thead | Tag::Tfoot => {
                matches!(outer, Tag::Table | Tag::Template | Tag::Body)
            }
            _ => outer.has(WALL),
        }
    }
}
