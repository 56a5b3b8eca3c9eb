//! The cost of the readable extractor: CPU time per page of a folder, and its distribution.
//!
//! `cargo bench --bench readable [-- FOLDER]`: by default the pages of `tests/pages`. The mean is the CPU time of the best of
//! three rounds. The quantiles are those of the best of three elapsed times of each page.

#[path = "../../../benches/support/cpu.rs"]
mod cpu;

use std::path::{Path, PathBuf};
use std::time::Instant;

use seine_parse::charset;
use seine_parse::clean_text::{Extractor, TextOptions, clean_text};

fn main() -> std::io::Result<()> {
    let given = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let folder = given.map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pages"), PathBuf::from);
    let mut pages = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "html") {
            let body = std::fs::read(path)?;
            pages.push(charset::decode_text(&body, charset::detect(&body, None)).into_owned());
        }
    }
    let bytes: usize = pages.iter().map(String::len).sum();
    println!("{} pages of {} KB\n", pages.len(), bytes / pages.len().max(1) / 1000);
    println!("{:<24}{:>10}{:>10}{:>10}   ms a page", "", "mean", "p50", "p99");
    for (name, extractor, markdown) in [
        ("boilerpipe", Extractor::Boilerpipe, false),
        ("readable", Extractor::Readable, false),
        ("readable, Markdown", Extractor::Readable, true),
    ] {
        let options = TextOptions { extractor, markdown, language: false };
        show(name, &pages, |page| clean_text(page, Some("https://site.example/page"), options).text.len());
    }
    Ok(())
}

fn show(name: &str, pages: &[String], read: impl Fn(&str) -> usize) {
    let (cpu, _) = cpu::best_of(3, &mut || pages.iter().map(|page| read(page)).sum());
    let mean = cpu.as_secs_f64() * 1e3 / pages.len().max(1) as f64;
    let wall = |page: &String| {
        let times = (0..3).map(|_| {
            let begun = Instant::now();
            std::hint::black_box(read(page));
            begun.elapsed()
        });
        times.min().unwrap_or_default().as_secs_f64() * 1e3
    };
    let mut times: Vec<f64> = pages.iter().map(wall).collect();
    times.sort_by(f64::total_cmp);
    let at = |share: usize| times.get(times.len() * share / 100).copied().unwrap_or_default();
    println!("{name:<24}{mean:>10.2}{:>10.2}{:>10.2}", at(50), at(99));
}
