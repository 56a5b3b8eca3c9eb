//! Answers the rows of a public conformance table: one JSON row a line on standard input, one JSON answer a line out.
//!
//! `cargo run --example conformance -- TABLE`, TABLE being `urls`, `robots`, `sitemaps`, `feeds` or `charset`.

use std::io::{BufRead, Write, stdin, stdout};

use ::url::Url;
use anyhow::{Context, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use seine_parse::robots::RobotsTxt;
use seine_parse::{charset, sitemap, url};
use serde_json::{Value, json};

fn main() -> anyhow::Result<()> {
    let table = std::env::args().nth(1).context("name a table: urls, robots, sitemaps, feeds, charset")?;
    let mut out = stdout().lock();
    for line in stdin().lock().lines() {
        let row: Value = serde_json::from_str(&line?)?;
        let answer = match table.as_str() {
            "urls" => url_answer(&row),
            "robots" => robots_answer(&row)?,
            "sitemaps" | "feeds" => sitemap_answer(&row)?,
            "charset" => charset_answer(&row)?,
            _ => bail!("no table {table}: name urls, robots, sitemaps, feeds or charset"),
        };
        writeln!(out, "{answer}")?;
    }
    Ok(())
}

/// `parse` and `resolve` ask for the URL as WHATWG serialises it, which our normaliser builds on; `normalize` for ours.
fn url_answer(row: &Value) -> Value {
    let input = text(row, "input");
    match (text(row, "kind"), row["base"].as_str()) {
        ("normalize", _) => json!(url::parse(input)),
        (_, None) => json!(Url::parse(input).ok().map(String::from)),
        (_, Some(base)) => json!(Url::parse(base).ok().and_then(|base| url::join(&base, input)).map(String::from)),
    }
}

fn robots_answer(row: &Value) -> anyhow::Result<Value> {
    let bytes = match row["robots"].as_str() {
        Some(robots) => robots.as_bytes().to_vec(),
        None => STANDARD.decode(text(row, "robots_b64"))?,
    };
    let robots = RobotsTxt::parse(&bytes, text(row, "agent"));
    Ok(json!(robots.allows(raw_path(text(row, "url")))))
}

/// Path and query of a URL as the table has it, not normalised: the rules must be robust against every spelling.
fn raw_path(url: &str) -> &str {
    let url = url.split('#').next().unwrap_or_default();
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.find(['/', '?', ';']).map_or("/", |at| &rest[at..])
}

/// The table has the URLs as written, not normalised.
fn sitemap_answer(row: &Value) -> anyhow::Result<Value> {
    let body = STANDARD.decode(text(row, "data_b64"))?;
    Ok(json!(sitemap::read(&body, None).urls))
}

fn text<'a>(row: &'a Value, key: &str) -> &'a str {
    row[key].as_str().unwrap_or_default()
}

/// `data_b64`, `http_content_type` → the charset's name, as Python's codecs call it.
fn charset_answer(row: &Value) -> anyhow::Result<Value> {
    let body = STANDARD.decode(text(row, "data_b64"))?;
    let encoding = charset::detect(&body, row["http_content_type"].as_str());
    Ok(match encoding.name() {
        "windows-874" => json!("cp874"),
        "x-mac-cyrillic" => json!("mac-cyrillic"),
        "ISO-8859-8-I" => json!("iso-8859-8"),
        name => json!(name.to_ascii_lowercase()),
    })
}
