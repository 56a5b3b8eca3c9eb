//! The configuration for people: `check-config`, and the annotated sample `config/seine.yml`.

use std::fmt::Write;
use std::path::Path;

use super::change::is_live;
use super::error::{ConfigError, Origin};
use super::keys::{self, Key};
use super::settings::DATA_FORMATS;
use super::{Loaded, environment, load, sink_words};

/// Checks what `-c` names together with the process's environment, and tells what is in force.
pub fn check_config(path: Option<&Path>) -> Result<String, ConfigError> {
    load(path, &environment()).map(|loaded| render(&loaded))
}

/// The configuration in force as YAML: each value, and behind it where it comes from. Secrets are masked.
pub fn render(loaded: &Loaded) -> String {
    let mut out = String::new();
    for file in &loaded.files {
        line(&mut out, &format!("# read {}", file.display()));
    }
    for warning in &loaded.warnings {
        line(&mut out, &format!("# warning: {warning}"));
    }
    let entries: Vec<String> = loaded.effective.iter().map(|entry| format!("{}: {}", entry.key, entry.value)).collect();
    let width = entries.iter().map(|entry| entry.chars().count()).filter(|width| *width < 90).max().unwrap_or(0);
    for (entry, effective) in entries.iter().zip(&loaded.effective) {
        line(&mut out, &format!("{entry:width$}  # {}", short(&effective.origin)));
    }
    out
}

/// The annotated sample: every key with its default. `config/seine.yml` is this text.
pub fn sample() -> String {
    let mut out = String::from(INTRODUCTION);
    for group in keys::GROUPS {
        let _ = write!(out, "\n# ── {} {}\n", group.title, "─".repeat(100usize.saturating_sub(group.title.len())));
        for key in group.keys {
            out.push('\n');
            comment(&mut out, "# ", &explained(key));
            line(&mut out, &format!("{}: {}", key.name, key.default));
        }
    }
    out.push_str(LACKING);
    for (index, key) in keys::LACKING.iter().enumerate() {
        line(&mut out, &format!("#   {}", key.name));
        let next = keys::LACKING.get(index + 1);
        if next.is_none_or(|next| next.doc != key.doc) {
            comment(&mut out, "#       ", key.doc);
        }
    }
    out
}

const INTRODUCTION: &str = "\
# Seine's configuration: every key, with its default. Leave out what you do not change.
#
# Keys may be written flat, as here and in ACHE's ache.yml, or nested, or both in one file. Any of them can be
# set by an environment variable too: SEINE__ and the key in capitals, with two underscores for a dot, as in
# SEINE__LINK_STORAGE__SCHEDULER__HOST_MIN_ACCESS_INTERVAL=2s; lists with commas: SEINE__TARGET_STORAGE__DATA_FORMATS=FILES,VOID.
#
# A secret (a token, password or key) may stand in a file, which is read anew at each start: behind its key stands _file then,
# behind its variable _FILE, and the value is the file's whole path, as in http.api.read_token_file: /run/secrets/read_token.
# The newline at the file's end is no part of it. So with any of Kafka's properties: sasl.password_file.
#
# Durations: 500ms, 5s, 2m, 1h, 7d; a number alone is milliseconds. Sizes: 64MB (millions), 64MiB (2^20); a number
# alone is bytes. `seine check-config -c FILE` tells what is in force, and where each value comes from.
#
# What is marked [reload] can be changed while a crawl runs: `seine reload -o DATA`, or SIGHUP, has it read this file again.
";

const LACKING: &str = "
# ── Keys of ACHE that do nothing here ─────────────────────────────────────────────────────────────────────
#
# They are accepted, so that an ache.yml works as it is; one that asks for something brings a warning.
#
";

fn explained(key: &Key) -> String {
    let doc = match key.name {
        DATA_FORMATS => format!("{} {}", words(), key.doc),
        _ => key.doc.to_owned(),
    };
    let doc = match key.ache {
        Some(ache) if ache != key.default => format!("{doc} (ACHE's default: {ache})"),
        _ => doc,
    };
    if is_live(key.name) { format!("{doc} [reload]") } else { doc }
}

/// What may stand in `data_formats`, with what each is.
fn words() -> String {
    let word = |(name, about): &(&str, &str)| format!("{} ({about})", name.to_ascii_uppercase());
    let words: Vec<String> = sink_words().iter().map(word).collect();
    format!("One or several of {}.", words.join(", "))
}

/// Wraps a text into comment lines of at most 112 characters.
fn comment(out: &mut String, prefix: &str, text: &str) {
    let mut current = String::new();
    for word in text.split_whitespace() {
        if !current.is_empty() && prefix.len() + current.chars().count() + word.chars().count() >= 112 {
            line(out, &format!("{prefix}{current}"));
            current.clear();
        }
        if !current.is_empty() {
            current.push(' ');
        }
        current.push_str(word);
    }
    line(out, &format!("{prefix}{current}"));
}

fn line(out: &mut String, text: &str) {
    out.push_str(text.trim_end());
    out.push('\n');
}

fn short(origin: &Origin) -> String {
    match origin {
        Origin::File { path, line } => {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            format!("{name}:{line}")
        }
        other => other.to_string(),
    }
}
