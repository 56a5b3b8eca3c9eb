//! The project's documents, and what stands in them: blocks, headings, links.

use std::path::{Path, PathBuf};
use std::{fs, mem};

/// The project's folder.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The pages of the book, and the documents beside it, by their paths from the project's folder.
pub fn documents() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(root())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    for folder in ["docs", "src", "crates", "config", "scripts"] {
        found.extend(walkdir::WalkDir::new(root().join(folder)).into_iter().filter_map(|entry| {
            let path = entry.unwrap().into_path();
            path.extension().is_some_and(|extension| extension == "md").then_some(path)
        }));
    }
    found.sort();
    found.into_iter().map(|path| path.strip_prefix(root()).unwrap().to_owned()).collect()
}

pub fn read(document: &Path) -> String {
    fs::read_to_string(root().join(document)).unwrap_or_else(|error| panic!("{}: {error}", document.display()))
}

/// A block of code, with the comments (`<!-- … -->`) that stand between the text and it.
#[derive(Debug, Default)]
pub struct Block {
    /// Of its first line.
    pub line: usize,
    pub language: String,
    pub text: String,
    pub comments: Vec<String>,
}

/// The fenced blocks of a document; the last is empty, and has the comments that stand behind the others.
pub fn blocks(text: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut comments: Vec<String> = Vec::new();
    let mut open: Option<Block> = None;
    for (number, line) in text.lines().enumerate() {
        let fence = line.trim_start().strip_prefix("```");
        match (&mut open, fence) {
            (None, Some(language)) => {
                let (line, language) = (number + 2, language.trim().to_owned());
                open = Some(Block { line, language, comments: mem::take(&mut comments), ..Block::default() });
            }
            (Some(_), Some(_)) => found.extend(open.take()),
            (Some(block), None) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, None) => comments.extend(comment(line)),
        }
    }
    assert!(open.is_none(), "a block that is not closed");
    found.push(Block { line: text.lines().count(), comments, ..Block::default() });
    found
}

fn comment(line: &str) -> Option<String> {
    Some(line.trim().strip_prefix("<!--")?.strip_suffix("-->")?.trim().to_owned())
}

/// The text without its fenced blocks and without `code`.
pub fn prose(text: &str) -> String {
    let mut prose = String::new();
    let mut is_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code && !line.starts_with("    ") {
            for (n, part) in line.split('`').enumerate() {
                prose.push_str(if n % 2 == 0 { part } else { "code" });
            }
            prose.push('\n');
        }
    }
    prose
}
