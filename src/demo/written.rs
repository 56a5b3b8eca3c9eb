//! Static pages, written in `assets/HOST/pages.txt`.

use std::time::Duration;

use encoding_rs::Encoding;

use super::entry::{Entry, House};
use super::skin::Page;
use super::words::Pen;

/// Reads all pages of such a file. Each begins with a line `=== PATH`, followed by lines `name: value`, an empty line
/// and the content.
///
/// These names belong to HTML pages with the host's frame:
///
/// - `title`: makes it such a page;
/// - `head`: further elements of the head;
/// - `beside`: a path and the text of its link;
/// - `charset`: the encoding of the bytes sent (default UTF-8);
/// - `meta`: the charset that the page declares;
/// - `mark`: a byte order mark.
///
/// Any answer can have `status`, `seconds` (delay before the first byte) and `busy` (503 at the first request). Every
/// other name is a response header. `{port}` is replaced by the port, `{talk}` by two paragraphs of the host's own
/// text.
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
    // An unknown label would give UTF-8; the test of the charsets would notice.
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
