//! Writes what `scripts/readable` learns from: `readable_blocks PAGES VOCABULARY OUT`.
//!
//! `PAGES`: a folder of `.html` files. `VOCABULARY`: a line of marks and one of words. Into the folder `OUT`: `blocks.tsv` (file, text)
//! and `blocks.bin` (of each block its numbers as `f32`, its marks as `u64`, little-endian).

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use seine_parse::readable::features::Features;
use seine_parse::readable::vocabulary::Vocabulary;
use seine_parse::readable::{read_in, write_text};

/// A block as the trees see it.
struct Described {
    text: String,
    /// In the order of their names in `scripts/readable/README.md`.
    numbers: Vec<f32>,
    /// Bits: marks around it, marks near it, words.
    marks: Vec<u64>,
}

fn main() -> anyhow::Result<()> {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [pages, vocabulary, out] = &arguments[..] else {
        anyhow::bail!("readable_blocks PAGES VOCABULARY OUT");
    };
    let vocabulary = fs::read_to_string(vocabulary)?;
    let mut lists = vocabulary.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let (marks, words) = (lists.next().unwrap_or_default(), lists.next().unwrap_or_default());
    let mut files: Vec<PathBuf> =
        fs::read_dir(pages)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "html"));
    files.sort();
    let mut texts = BufWriter::new(File::create(out.join("blocks.tsv"))?);
    let mut numbers = BufWriter::new(File::create(out.join("blocks.bin"))?);
    for file in files {
        let page = fs::read(&file)?;
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for block in describe(&String::from_utf8_lossy(&page), &marks, &words) {
            writeln!(texts, "{name}\t{}", block.text.split_whitespace().collect::<Vec<_>>().join(" "))?;
            block.numbers.iter().try_for_each(|number| numbers.write_all(&number.to_le_bytes()))?;
            block.marks.iter().try_for_each(|marks| numbers.write_all(&marks.to_le_bytes()))?;
        }
    }
    Ok(())
}

/// The blocks of a page. Of each vocabulary so many words are looked for as the trees can have.
fn describe(page: &str, marks: &[&str], words: &[&str]) -> Vec<Described> {
    let vocabulary = Vocabulary::new(marks.iter().copied(), words.iter().copied());
    read_in(page, &vocabulary, |tree, found| {
        let features = Features::new(tree, found);
        let describe = |at| {
            let block = &found.blocks[at];
            let mut numbers = Vec::new();
            features.of(at, &mut numbers);
            let mut text = String::new();
            write_text(tree, block, &mut text);
            Described { text, numbers, marks: [&block.around[..], &block.near, &block.told].concat() }
        };
        (0..found.blocks.len()).map(describe).collect()
    })
}
