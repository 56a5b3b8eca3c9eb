//! Letters from other ports, each in the charset of its country and time, and each declared in another way.

use encoding_rs::Encoding;

use super::entry::{Entry, Town};
use super::skin::Page;

/// How a page tells its charset.
enum Declared {
    /// In the Content-Type header only.
    Header,
    /// In `<meta charset>` only.
    Meta,
    /// In `<meta http-equiv="Content-Type">` only.
    HttpEquiv,
    /// By a byte order mark only.
    Mark,
    /// Not at all: to be detected.
    Nowhere,
}

struct Letter {
    path: &'static str,
    title: &'static str,
    language: &'static str,
    /// A label of the WHATWG Encoding Standard.
    charset: &'static str,
    declared: Declared,
    /// A paragraph a line.
    text: &'static str,
}

/// `(path, title)` of every letter.
pub(super) fn titles() -> Vec<(String, String)> {
    LETTERS.iter().map(|letter| (letter.path.to_owned(), letter.title.to_owned())).collect()
}

pub(super) fn entries(town: &Town) -> Vec<Entry> {
    LETTERS.iter().map(|letter| entry(town, letter)).collect()
}

fn entry(town: &Town, letter: &Letter) -> Entry {
    let Letter { charset, .. } = letter;
    let text: String = letter.text.lines().map(|text| format!("<p>{text}</p>\n")).collect();
    let main = format!("<blockquote lang=\"{}\">\n{text}</blockquote>\n", letter.language);
    let meta = match letter.declared {
        Declared::Meta => format!("<meta charset=\"{charset}\">"),
        Declared::HttpEquiv => {
            format!("<meta http-equiv=\"Content-Type\" content=\"text/html; charset={charset}\">")
        }
        _ => String::new(),
    };
    let content_type = match letter.declared {
        Declared::Header => format!("text/html; charset={charset}"),
        _ => "text/html".to_owned(),
    };
    let page = Page::new(letter.title, main).beside("/letters/", "All letters").declared("museum", town, &meta);
    Entry::new("museum", letter.path, &content_type, encode(letter, &page))
}

fn encode(letter: &Letter, page: &str) -> Vec<u8> {
    // A label nobody knows would show as UTF-8; the test of the charsets would tell.
    let encoding = Encoding::for_label(letter.charset.as_bytes()).unwrap_or(encoding_rs::UTF_8);
    let (bytes, _, _) = encoding.encode(page);
    match letter.declared {
        Declared::Mark => [b"\xef\xbb\xbf".as_slice(), &bytes].concat(),
        _ => bytes.into_owned(),
    }
}

const LETTERS: [Letter; 6] = [
    Letter {
        path: "/letters/bordeaux",
        title: "Une lettre de Bordeaux",
        language: "fr",
        charset: "iso-8859-1",
        declared: Declared::Header,
        text: include_str!("assets/letters/bordeaux.txt"),
    },
    Letter {
        path: "/letters/arkhangelsk",
        title: "Письмо из Архангельска",
        language: "ru",
        charset: "windows-1251",
        declared: Declared::Header,
        text: include_str!("assets/letters/arkhangelsk.txt"),
    },
    Letter {
        path: "/letters/yokohama",
        title: "横浜からの手紙",
        language: "ja",
        charset: "shift_jis",
        declared: Declared::Meta,
        text: include_str!("assets/letters/yokohama.txt"),
    },
    Letter {
        path: "/letters/canton",
        title: "广州来信",
        language: "zh",
        charset: "gbk",
        declared: Declared::HttpEquiv,
        text: include_str!("assets/letters/canton.txt"),
    },
    Letter {
        path: "/letters/busan",
        title: "부산에서 온 편지",
        language: "ko",
        charset: "euc-kr",
        declared: Declared::Nowhere,
        text: include_str!("assets/letters/busan.txt"),
    },
    Letter {
        path: "/letters/reykjavik",
        title: "Bréf frá Reykjavík",
        language: "is",
        charset: "utf-8",
        declared: Declared::Mark,
        text: include_str!("assets/letters/reykjavik.txt"),
    },
];
