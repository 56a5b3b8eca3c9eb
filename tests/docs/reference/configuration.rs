//! The output of `seine check-config --defaults` as a page, with a heading for each key.

use std::fmt::Write;

use super::super::support::program::run;
use super::check;

const BEFORE: &str = "# Configuration keys

This page is what `seine check-config --defaults` prints: each key with its default and what it does. Leave out what you
do not change. [config/seine.yml](../../config/seine.yml) is a short file to start from.

- Keys may be flat (`http.port: 9090`), as in ACHE's `ache.yml`, or nested, or both.
- An environment variable overrides a key: `SEINE__HTTP__PORT=9090`, with two underscores for a dot. Lists have commas:
  `SEINE__TARGET_STORAGE__DATA_FORMATS=FILES,VOID`.
- A secret may be in a file. Put `_file` behind its key, or `_FILE` behind its variable, and give the absolute path:
  `http.api.read_token_file: /run/secrets/read_token`. Seine reads the file at each start and reload.
- Durations are `500ms`, `5s`, `2m`, `1h` or `7d`; a number alone is milliseconds. Sizes are `64MB` (millions) or `64MiB`; a
  number alone is bytes.
- `[reload]` marks keys that `seine reload` changes in a running crawl.
- `seine check-config -c FILE` shows every value and where it comes from. An unknown key is an error that names
  the nearest known one.
";

/// The part of the file with no keys: what ACHE has and Seine has not.
const LAST: &str = "\n## Keys of ACHE without effect\n\n```text\n";

#[test]
fn the_keys_are_those_of_the_program() {
    let all = run(&["check-config", "--defaults"]).ok().stdout;
    let mut page = BEFORE.to_owned();
    let mut help: Vec<&str> = Vec::new();
    let mut keys = 0;
    let (_, body) = all.split_once("\n\n").expect("a head and a body");
    for line in body.lines() {
        if let Some(title) = line.strip_prefix("# ──") {
            let title = title.trim_matches(|letter: char| letter == '─' || letter.is_whitespace());
            write!(page, "\n## {title}\n").unwrap();
            help.clear();
        } else if let Some(text) = line.strip_prefix('#') {
            help.push(text.strip_prefix(' ').unwrap_or(text));
        } else if let Some((key, _)) = line.split_once(':') {
            keys += 1;
            write!(page, "\n### `{key}`\n\n```yaml\n").unwrap();
            help.iter().for_each(|text| writeln!(page, "{}", format!("# {text}").trim_end()).unwrap());
            write!(page, "{line}\n```\n").unwrap();
            help.clear();
        } else if line.is_empty() && !help.is_empty() {
            // A paragraph for no key: the list of ACHE's keys at the end.
            help.push("");
        }
    }
    assert!(keys > 100, "{keys} keys");
    write!(page, "{LAST}{}\n```\n", help.join("\n").trim()).unwrap();
    check("configuration.md", &page);
}
