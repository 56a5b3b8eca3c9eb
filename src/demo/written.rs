//! Pages that need no program: they are written in `assets/HOST/pages.txt`.

use std::time::Duration;

use encoding_rs::Encoding;

use super::entry::{Entry, House};
use super::skin::Page;
use super::words::Pen;

/// All pages of such a file. Each begins with a line `=== PATH`; then come lines `name: value`, an empty line and the content.
///
/// `title` makes it a page in the house's frame, to which `head`, `beside` (a path and its text), `charset` (of the bytes
/// sent; UTF-8), `meta` (what the page says of its charset) and `mark` (a byte order mark) belong. `status`, `seconds`
/// (before the first byte) and `busy` (at the first request) are any answer's; every other name is a header's. `{port}` is
/// the town's, `{talk}` two paragraphs of the house's own.
pub(super) fn pages(house: &House, text: &str, talk: &[&str]) -> Vec<Entry> {
    let talk = if talk.is_empty() { String::new() } else { Pen::new(house.name).paragraphs(talk, 2, 3) };
    let text = text.replace("{port}", &house.port.to_string()).replace("{talk}\n", &talk);
    text.split("=== ").skip(1).map(|page| entry(house, page)).collect()
}

fn entry(house: &House, text: &str) -> Entry {
    let (head, content) = text.trim_end().split_once("\n\n").unwrap_or((text.trim_end(), ""));
    let (path, lines) = head.split_once('\n').unwrap_or((head, ""));
    let content = if content.is_empty() { String::new() } else { format!("{content}\n") };
    let mut entry = house.entry(path, "", content.as_str());
    let mut page = Page::new("", content);
    // A label nobody knows would show as UTF-8; the test of the charsets would tell.
    let mut encoding = encoding_rs::UTF_8;
    let (mut meta, mut mark) = ("<meta charset=\"utf-8\">", "");
    for (name, value) in lines.lines().filter_map(|line| line.split_once(':')) {
        let value = value.trim();
        match name {
            "title" => page.title = value.to_owned(),
            "head" => page.head = value.to_owned(),
            "beside" => page.beside.extend(value.split_once(' ').map(|(path, text)| (path.into(), text.into()))),
            "charset" => encoding = Encoding::for_label(value.as_bytes()).unwrap_or(encoding),
            "meta" => meta = value,
            "mark" => mark = "\u{feff}",
            "status" => entry.status = value.parse().unwrap_or(500),
            "seconds" => entry.delay = Duration::from_secs(value.parse().unwrap_or(0)),
            "busy" => entry.busy_at_first = true,
            header => entry = entry.header(header, value),
        }
    }
    if !page.title.is_empty() {
        let document = format!("{mark}{}", page.declared(house, meta));
        entry.body = encoding.encode(&document).0.into_owned();
        if !entry.headers.iter().any(|(name, _)| name == "content-type") {
            entry = entry.header("content-type", "text/html; charset=utf-8");
        }
    }
    entry
}
