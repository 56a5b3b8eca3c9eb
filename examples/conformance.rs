//! Answers a table of public test cases: one JSON row a line on standard input, one JSON answer a line on standard
//! output. `cargo run --example conformance -- TABLE`, TABLE being a table's name or file: `charset`.

use std::io::{BufRead, Write};
use std::path::Path;

use anyhow::{Context, bail};
use base64::Engine;
use serde_json::{Value, json};

fn main() -> anyhow::Result<()> {
    let table = std::env::args().nth(1).context("no table named; usage: conformance TABLE")?;
    let name = Path::new(&table).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let answer: fn(&Value) -> anyhow::Result<Value> = match name {
        "charset" => charset,
        _ => bail!("table {table:?} is not known; known: charset"),
    };
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let row = serde_json::from_str(&line?)?;
        writeln!(out, "{}", answer(&row)?)?;
    }
    Ok(())
}

/// `data_b64`, `http_content_type` → the charset's name, as Python's codecs call it.
fn charset(row: &Value) -> anyhow::Result<Value> {
    let body = base64::engine::general_purpose::STANDARD.decode(row["data_b64"].as_str().context("no data_b64")?)?;
    let encoding = seine::parse::charset::detect(&body, row["http_content_type"].as_str());
    Ok(match encoding.name() {
        "windows-874" => json!("cp874"),
        "x-mac-cyrillic" => json!("mac-cyrillic"),
        "ISO-8859-8-I" => json!("iso-8859-8"),
        name => json!(name.to_ascii_lowercase()),
    })
}
