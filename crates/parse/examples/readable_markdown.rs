//! Writes what `scripts/readable/markdown.py` measures: `readable_markdown PAGES`.
//!
//! `PAGES`: a folder of `.html` files. Prints one line of JSON for each, in the order of their names: `file`, `text` and `markdown`.

use std::io::{BufWriter, Write};
use std::path::PathBuf;

use seine_parse::charset;
use seine_parse::readable::read;

fn main() -> std::io::Result<()> {
    let folder = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("."), PathBuf::from);
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "html"));
    files.sort();
    let mut out = BufWriter::new(std::io::stdout().lock());
    for file in files {
        let body = std::fs::read(&file)?;
        let page = charset::decode_text(&body, charset::detect(&body, None));
        let read = read(&page, None, true);
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        writeln!(out, "{}", serde_json::json!({ "file": name, "text": read.text, "markdown": read.markdown }))?;
    }
    Ok(())
}
