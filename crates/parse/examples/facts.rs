//! Writes what `scripts/readable/facts.py` measures: `facts PAGES`.
//!
//! `PAGES`: a folder with `urls.tsv` (name, URL) and for each line `NAME.html`. Prints one line of JSON for each page.

use std::fs;
use std::path::PathBuf;

use seine_parse::charset;
use seine_parse::html_text::page_facts;
use serde_json::json;

fn main() -> std::io::Result<()> {
    let folder = PathBuf::from(std::env::args_os().nth(1).unwrap_or_default());
    for line in fs::read_to_string(folder.join("urls.tsv"))?.lines() {
        let (name, url) = line.split_once('\t').unwrap_or((line, ""));
        let body = fs::read(folder.join(format!("{name}.html")))?;
        let page = page_facts(&charset::decode_text(&body, charset::detect(&body, None)));
        let (published, modified, authors) = (page.published(url), page.modified(), page.authors());
        let record = json!({
            "id": name,
            "published": published.as_ref().map(|found| found.value),
            "published_from": published.map(|found| found.origin),
            "modified": modified.as_ref().map(|found| found.value),
            "modified_from": modified.map(|found| found.origin),
            "author_from": authors.as_ref().map(|found| found.origin),
            "author": authors.map_or(Vec::new(), |found| found.value),
        });
        println!("{record}");
    }
    Ok(())
}
