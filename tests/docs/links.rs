//! Every link of a document leads to a file that is there, and to a heading that is there. The web is not asked.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use regex::Regex;

use super::pages::{documents, prose, read, root};

/// The links of a text: `[text](target)`, pictures too.
fn links(text: &str) -> Vec<String> {
    let link = Regex::new(r"\]\(<?([^)\s>]+)>?\)").unwrap();
    link.captures_iter(&prose(text)).map(|found| found[1].to_owned()).collect()
}

/// The anchors of the headings, as GitHub and mdBook make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    let mut is_code = false;
    let link = Regex::new(r"\[([^\]]*)\]\([^)]*\)").unwrap();
    for line in text.lines() {
        is_code ^= line.trim_start().starts_with("```");
        let heading = line.trim_start_matches('#');
        if is_code || heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let plain = link.replace_all(heading.trim(), "$1").into_owned();
        let kept = |letter: &char| letter.is_alphanumeric() || "-_ ".contains(*letter);
        let name: String = plain.to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-");
        let again = (1..).map(|n| format!("{name}-{n}")).find(|name| !anchors.contains(name)).unwrap();
        anchors.insert(if anchors.contains(&name) { again } else { name });
    }
    anchors
}

/// `docs/howto/../page.md` as `docs/page.md`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => assert!(plain.pop(), "{} leads out of the project", path.display()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// Why a link leads nowhere.
fn wrong(document: &Path, link: &str) -> Option<String> {
    if link.starts_with("https://") || link.starts_with("http://") || link.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    let folder = document.parent().unwrap();
    let target = if file.is_empty() { document.to_owned() } else { plain(&folder.join(file)) };
    if !root().join(&target).exists() {
        return Some(format!("{}: no file {}", document.display(), target.display()));
    }
    let is_page = target.extension().is_some_and(|extension| extension == "md");
    let is_there = anchor.is_empty() || !is_page || anchors(&read(&target)).contains(anchor);
    (!is_there).then(|| format!("{}: no heading #{anchor} in {}", document.display(), target.display()))
}

#[test]
fn links_lead_to_files_and_headings() {
    let documents = documents();
    let wrong: Vec<String> = documents
        .iter()
        .flat_map(|document| links(&read(document)).into_iter().filter_map(|link| wrong(document, &link)))
        .collect();
    assert!(wrong.is_empty(), "links that lead nowhere:\n{}", wrong.join("\n"));
    let all: usize = documents.iter().map(|document| links(&read(document)).len()).sum();
    assert!(all > 100, "{all} links");
}

#[test]
fn the_book_has_every_page_of_docs() {
    let summary = Path::new("docs/SUMMARY.md");
    let listed: BTreeSet<PathBuf> =
        links(&read(summary)).iter().map(|link| plain(&Path::new("docs").join(link))).collect();
    let of_the_book = |path: &PathBuf| path.starts_with("docs") && path != summary && !path.ends_with("NEXT.md");
    let missing: Vec<PathBuf> =
        documents().into_iter().filter(|path| of_the_book(path) && !listed.contains(path)).collect();
    assert!(missing.is_empty(), "not in docs/SUMMARY.md: {missing:?}");
}

#[test]
fn links_and_headings_are_read_as_github_reads_them() {
    let text =
        "# One `thing`, and two\n## One [link](a.md#b)\n# Same\n# Same\n```sh\n# none [x](y)\n```\n[z](<q.md>)\n";
    let expected = ["one-thing-and-two", "one-link", "same", "same-1"];
    assert_eq!(anchors(text), expected.into_iter().map(str::to_owned).collect());
    assert_eq!(links(text), ["a.md#b", "q.md"]);
    assert!(wrong(Path::new("docs/index.md"), "nothing.md").is_some());
    assert!(wrong(Path::new("docs/index.md"), "../README.md#no-such-heading").is_some());
    assert!(wrong(Path::new("docs/index.md"), "../README.md").is_none());
}
