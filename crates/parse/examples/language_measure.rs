//! Measures how often the language of a text is right: `language_measure [--evidence] FOLDER`.
//!
//! `FOLDER` has files `TAG.txt`, `TAG-ANYTHING.txt` or `TAG~ANYTHING.txt`, one sentence or paragraph a line. A page is eight
//! lines; a short text is one line of 40 bytes or more. Texts in languages that the model does not know should get no
//! language; so should those of files whose name begins with `x_`.
//!
//! `--evidence` prints what is decided by instead, which `scripts/language/odds.py` learns from.

#[path = "../../../benches/support/cpu.rs"]
mod cpu;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use seine_parse::language::{MIN_BYTES, evidence, of_text, tags};

/// Lines of a page, and the most pages and short texts of a file.
const PAGE_LINES: usize = 8;
const PAGES: usize = 12;
const SHORT: usize = 80;
/// Times are of texts of at least this size.
const TIMED_BYTES: usize = 800;

/// Other tags of the languages.
const SAME: [(&str, &str); 22] = [
    ("acm", "ar"),
    ("ary", "ar"),
    ("arz", "ar"),
    ("azj", "az"),
    ("cmn", "zh"),
    ("cjy", "zh"),
    ("fil", "tl"),
    ("gan", "zh"),
    ("hsn", "zh"),
    ("iw", "he"),
    ("jw", "jv"),
    ("kmr", "ku"),
    ("lzh", "zh"),
    ("no", "nb"),
    ("pes", "fa"),
    ("quh", "qu"),
    ("qul", "qu"),
    ("quy", "qu"),
    ("quz", "qu"),
    ("uzn", "uz"),
    ("wuu", "zh"),
    ("yue", "zh"),
];

#[derive(Default, Clone, Copy)]
struct Score {
    right: u32,
    wrong: u32,
    none: u32,
}

fn main() -> io::Result<()> {
    let (flags, folders): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(|it| it.starts_with("--"));
    let show_evidence = flags.iter().any(|flag| flag == "--evidence");
    for folder in folders {
        let texts = read(Path::new(&folder))?;
        if show_evidence {
            print_evidence(&texts);
        } else {
            println!("{folder}");
            ["pages", "short"].iter().enumerate().for_each(|(kind, name)| print_scores(name, &texts, kind == 1));
            print_time(&texts);
        }
    }
    Ok(())
}

struct Text {
    tag: String,
    is_known: bool,
    is_short: bool,
    text: String,
}

fn read(folder: &Path) -> io::Result<Vec<Text>> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    paths.sort();
    let known = tags();
    let mut texts = Vec::new();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|it| it == "txt")) {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let tag = name.split(['-', '~', '_']).next().unwrap_or_default();
        let tag = SAME.iter().find(|(other, _)| *other == tag).map_or(tag, |(_, tag)| tag);
        let is_known = known.contains(&tag);
        let content = fs::read_to_string(path)?;
        let lines: Vec<&str> = content.lines().filter(|line| line.len() >= MIN_BYTES).collect();
        let pages = lines.chunks(PAGE_LINES).take(PAGES).map(|lines| (false, lines.join("\n")));
        let short = lines.iter().take(SHORT).map(|line| (true, (*line).to_owned()));
        let all = pages.chain(short);
        texts.extend(all.map(|(is_short, text)| Text { tag: tag.to_owned(), is_known, is_short, text }));
    }
    Ok(texts)
}

fn print_scores(name: &str, texts: &[Text], is_short: bool) {
    let mut known: BTreeMap<&str, Score> = BTreeMap::new();
    let mut unknown = Score::default();
    let mut wrong: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    for text in texts.iter().filter(|text| text.is_short == is_short) {
        let found = of_text(&text.text).map(|found| found.tag);
        let score = if text.is_known { known.entry(&text.tag).or_default() } else { &mut unknown };
        match found {
            None => score.none += 1,
            Some(tag) if tag == text.tag => score.right += 1,
            Some(tag) => {
                score.wrong += 1;
                *wrong.entry((&text.tag, tag)).or_default() += 1;
            }
        }
    }
    let sum = |part: fn(&Score) -> u32| f64::from(known.values().map(part).sum::<u32>());
    let all = sum(|it| it.right + it.wrong + it.none).max(1.0);
    let share = |part: fn(&Score) -> u32| 100.0 * sum(part) / all;
    let of_unknown = f64::from(unknown.wrong + unknown.none).max(1.0);
    println!(
        "  {name}: {:.1} % right, {:.1} wrong, {:.1} none ({all} in {} languages); in unknown languages {:.1} % wrong ({of_unknown})",
        share(|it| it.right),
        share(|it| it.wrong),
        share(|it| it.none),
        known.len(),
        100.0 * f64::from(unknown.wrong) / of_unknown,
    );
    let poor = known.iter().filter(|(_, it)| it.right * 10 < (it.right + it.wrong + it.none) * 9);
    let poor: Vec<_> = poor.map(|(tag, it)| format!("{tag} {}/{}", it.right, it.right + it.wrong + it.none)).collect();
    println!("    below 90 %: {}", poor.join(", "));
    let mut wrong: Vec<_> = wrong.into_iter().collect();
    wrong.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let wrong: Vec<_> =
        wrong.iter().take(25).map(|((tag, found), count)| format!("{tag} as {found} {count}")).collect();
    println!("    most often: {}", wrong.join(", "));
}

fn print_time(texts: &[Text]) {
    let pages: Vec<&str> = texts.iter().map(|text| &*text.text).filter(|text| text.len() >= TIMED_BYTES).collect();
    let read = |page: &&&str| of_text(page).map_or(0, |found| found.tag.len());
    let (cost, _) = cpu::best_of(5, &mut || pages.iter().map(|page| read(&page)).sum());
    let best = cost.as_secs_f64() * 1e6 / pages.len().max(1) as f64;
    println!("  {best:.1} µs of CPU time a page ({} pages)", pages.len());
}

/// Tag, whether it is known, the tag found (or `-`), the factors.
fn print_evidence(texts: &[Text]) {
    for text in texts {
        let Some(found) = evidence(&text.text) else { continue };
        let factors: Vec<_> = found.factors().iter().map(|factor| format!("{factor:.4}")).collect();
        let known = u8::from(text.is_known);
        println!("{}\t{known}\t{}\t{}", text.tag, found.tag().unwrap_or("-"), factors.join("\t"));
    }
}
