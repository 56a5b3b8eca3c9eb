//! `seine text`, as a user types it.

use std::io::Write;
use std::process::Stdio;

use crate::support::program::{command, run};
use crate::{events, write};

const PAGE: &str = "<title>T</title><h1>Caf\u{e9}</h1><p>Open <a href=hours>daily</a>.</p>";

fn text(path: &std::path::Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn files_are_printed_as_text_and_markdown() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.html");
    // In windows-1252, undeclared.
    std::fs::write(
        &file,
        PAGE.replace('\u{e9}', "\u{1}").bytes().map(|b| if b == 1 { 0xe9 } else { b }).collect::<Vec<_>>(),
    )
    .unwrap();
    let file = text(&file);
    let printed = |more: &[&str]| run(&[&["text", file], more].concat()).ok().stdout;
    assert_eq!(printed(&["--extractor", "readable"]), "Caf\u{e9}\nOpen daily.\n");
    assert_eq!(printed(&["--markdown"]), "# Caf\u{e9}\n\nOpen [daily](hours).\n");
    assert_eq!(
        printed(&["--markdown", "--base", "https://a.example/b/"]),
        "# Caf\u{e9}\n\nOpen [daily](https://a.example/b/hours).\n"
    );
    // Boilerpipe takes short pages for boilerplate.
    assert_eq!(printed(&[]), "");
    let line: serde_json::Value = serde_json::from_str(&printed(&["--json", "--markdown"])).unwrap();
    assert_eq!(line["text"], "Caf\u{e9}\nOpen daily.\n");
    assert!((0.0..=1.0).contains(&line["confidence"].as_f64().unwrap()));
    run(&["text", file, "--markdown", "--extractor", "boilerpipe"]).exits(2);
    run(&["text", file, "--extractor", "other"]).exits(2);
    run(&["text", "/no/such/page"]).exits(1).fails_naming(&["/no/such/page"]);
}

#[test]
fn standard_input_is_read() {
    let mut process =
        command(&["text", "--markdown", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    process.stdin.take().unwrap().write_all(PAGE.as_bytes()).unwrap();
    let printed = process.wait_with_output().unwrap();
    assert!(printed.status.success());
    assert_eq!(String::from_utf8(printed.stdout).unwrap(), "# Caf\u{e9}\n\nOpen [daily](hours).\n");
}

#[test]
fn a_url_is_found_in_archives_and_its_latest_page_taken() {
    let folder = tempfile::tempdir().unwrap();
    let old = events::page(1, PAGE.replace("daily", "never"));
    let mut new = events::page(1, PAGE);
    new.ended_ms += 1000;
    let other = events::page(2, "<p>Another page");
    for format in [crate::FILES, crate::WARC] {
        let at = folder.path().join(format.name);
        write(format, &[old.clone(), new.clone(), other.clone()], &at);
        let printed = run(&["text", "--markdown", &new.url, text(&at)]).ok().stdout;
        let link = format!("{}hours", &new.final_url[..new.final_url.rfind('/').unwrap() + 1]);
        assert_eq!(printed, format!("# Caf\u{e9}\n\nOpen [daily]({link}).\n"));
        run(&["text", "https://nowhere.example/", text(&at)])
            .exits(1)
            .fails_naming(&["https://nowhere.example/ is not in"]);
    }
}
