//! docs/reference is made of the source: the keys that the program prints, the help of each command, the description of the API,
//! the table of formats, and what `/metrics` says. `UPDATE=1 cargo test --test docs reference` writes it.

mod api;
mod commands;
mod configuration;
mod formats;
mod metrics;

use std::fs;

use super::pages::root;

/// Compares a page with what is there, or writes it.
fn check(name: &str, page: &str) {
    let path = root().join("docs/reference").join(name);
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, page).unwrap();
        return;
    }
    let there = fs::read_to_string(&path).unwrap_or_default();
    let line = there.lines().zip(page.lines()).position(|(old, new)| old != new);
    assert!(
        there == page,
        "docs/reference/{name} is not what the source says, from line {} on. \
         `UPDATE=1 cargo test --test docs reference` writes it.",
        line.unwrap_or_else(|| there.lines().count().min(page.lines().count())) + 1
    );
}

/// Text for Markdown, in a paragraph or a cell.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        match letter {
            '<' => escaped.push_str("&lt;"),
            '*' | '|' | '_' | '[' | ']' => {
                escaped.push('\\');
                escaped.push(letter);
            }
            '\n' => escaped.push(' '),
            letter => escaped.push(letter),
        }
    }
    escaped
}
