//! The layout of the pages: one frame, one colour per host.

use super::entry::{Entry, House};

/// A host as its pages present it.
#[derive(Debug, Clone, Copy)]
pub(super) struct TownHost {
    /// `harbour`, of `harbour.localhost`.
    pub name: &'static str,
    pub title: &'static str,
    pub motto: &'static str,
    pub colour: &'static str,
}

/// All hosts in the order of the menu. The first gets the first loopback address.
pub(super) const HOSTS: [TownHost; 8] = [
    TownHost { name: "harbour", title: "Saltmere Harbour", motto: "Where the Wend meets the sea", colour: "#1d4e6b" },
    TownHost { name: "library", title: "The Harbour Library", motto: "Dry books in a wet town", colour: "#6b3e1d" },
    TownHost {
        name: "market",
        title: "Saltmere Market",
        motto: "Open until the gulls have had enough",
        colour: "#2f6b3a",
    },
    TownHost { name: "weather", title: "Weather at Saltmere", motto: "Look up, then look here", colour: "#4a5a78" },
    TownHost { name: "museum", title: "The Museum of the Stream", motto: "What the water left us", colour: "#5b3470" },
    TownHost { name: "radio", title: "Radio Saltmere", motto: "104.2, between the waves", colour: "#8a2f3c" },
    TownHost {
        name: "tides",
        title: "The Tide Tables",
        motto: "It comes back. It always comes back",
        colour: "#176b66",
    },
    TownHost { name: "lighthouse", title: "Wend Point Light", motto: "Sometimes it is dark", colour: "#6b5d1d" },
];

/// The host called `name`, or the harbour if there is none.
pub(super) fn place(name: &str) -> &'static TownHost {
    HOSTS.iter().find(|place| place.name == name).unwrap_or(&HOSTS[0])
}

/// A page without its frame.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub title: String,
    /// Further elements of `<head>`.
    pub head: String,
    /// The content, as HTML.
    pub main: String,
    /// `(path, text)` of links in the side column, on the same host.
    pub beside: Vec<(String, String)>,
}

impl Page {
    pub(super) fn new(title: impl Into<String>, main: impl Into<String>) -> Page {
        Page { title: title.into(), main: main.into(), ..Page::default() }
    }

    pub(super) fn head(mut self, head: impl Into<String>) -> Page {
        self.head = head.into();
        self
    }

    pub(super) fn beside(mut self, path: impl Into<String>, text: impl Into<String>) -> Page {
        self.beside.push((path.into(), text.into()));
        self
    }

    /// The whole document. `charset` is the markup that declares the charset, or empty.
    pub(super) fn declared(&self, house: &House, charset: &str) -> String {
        let TownHost { title: name, motto, colour, .. } = place(house.name);
        let Page { title, head, main, .. } = self;
        let menu = menu(house);
        let beside = beside(&self.beside);
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n{charset}\n<title>{title} · {name}</title>\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <link rel=\"icon\" href=\"data:,\">\n{head}\n<style>{STYLE}header,footer{{background:{colour}}}\
             h2,a{{color:{colour}}}</style>\n</head>\n<body>\n<header><div class=\"wide\"><a href=\"/\">{name}</a>\
             <p>{motto}</p></div></header>\n<nav class=\"town wide\">{menu}</nav>\n<div class=\"wide page\">\n\
             <main>\n<h1>{title}</h1>\n{main}\n</main>\n{beside}</div>\n<footer><div class=\"wide\">Saltmere is a small \
             town that exists only on this computer, for as long as the demo runs.</div></footer>\n</body>\n</html>\n"
        )
    }
}

impl House {
    /// A UTF-8 page whose header declares the charset.
    pub(super) fn page(&self, path: impl Into<String>, page: Page) -> Entry {
        self.entry(path, "text/html; charset=utf-8", page.declared(self, "<meta charset=\"utf-8\">"))
    }
}

/// Links to the front pages of the other hosts.
fn menu(house: &House) -> String {
    let others = HOSTS.iter().filter(|place| place.name != house.name);
    others.map(|place| format!("<a href=\"{}\">{}</a> ", house.url(place.name, "/"), place.title)).collect()
}

fn beside(links: &[(String, String)]) -> String {
    if links.is_empty() {
        return String::new();
    }
    format!("<aside>\n<h2>See also</h2>\n{}</aside>\n", list(links))
}

/// A list of links.
pub(super) fn list(links: &[(String, String)]) -> String {
    let items: String = links.iter().map(|(path, text)| format!("<li><a href=\"{path}\">{text}</a></li>\n")).collect();
    format!("<ul>\n{items}</ul>\n")
}

/// `A small boat` → `a-small-boat`.
pub(super) fn slug(text: &str) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-").to_ascii_lowercase()
}

const STYLE: &str = "*{box-sizing:border-box}body{margin:0;font:17px/1.6 Georgia,serif;color:#222;background:#faf8f3}\
    .wide{max-width:60rem;margin:auto;padding:0 1.2rem}header{color:#fff;padding:1.4rem 0}header a{color:#fff;font-size:1.7rem;\
    text-decoration:none}header p{margin:0;font-style:italic;opacity:.85}nav.town{padding-top:.7rem;font-size:.9rem}\
    nav.town a{margin-right:.9rem}.page{display:flex;flex-wrap:wrap;gap:2.5rem;padding-bottom:3rem}main{flex:3 1 24rem}\
    aside{flex:1 1 12rem;border-left:3px solid #ddd5c4;padding-left:1.2rem}h1{line-height:1.2}table{border-collapse:collapse}\
    td,th{border-bottom:1px solid #ddd5c4;padding:.3rem .8rem;text-align:left}img{max-width:100%}\
    footer{color:#fff;padding:1rem 0;font-size:.85rem}blockquote{margin-left:0;padding-left:1rem;border-left:3px solid #ddd5c4}";
