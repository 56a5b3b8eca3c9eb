//! Measures how many walls are told from pages: `walls MANIFEST`.
//!
//! `MANIFEST`: one line of JSON for each answer: `file` (its body without content codings), `kind` (the name of its wall;
//! none for a real page), and if they are known `status`, `headers` (names and values), `url` and `asked`. Prints each
//! answer that is judged wrongly, then counts by kind.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use bytes::Bytes;
use seine_parse::page::{Headers, Response};
use seine_parse::walls::{self, Answer};
use serde::Deserialize;

const URL: &str = "https://www.example.com/a/page";

#[derive(Deserialize)]
struct Line {
    file: String,
    kind: Option<String>,
    status: Option<u16>,
    #[serde(default)]
    headers: Vec<(String, String)>,
    url: Option<String>,
    asked: Option<String>,
}

fn main() -> std::io::Result<()> {
    let manifest = fs::read_to_string(std::env::args_os().nth(1).unwrap_or_default())?;
    let mut counts = BTreeMap::<String, [usize; 3]>::new();
    let mut took = Duration::ZERO;
    for line in manifest.lines() {
        let line: Line = serde_json::from_str(line)?;
        let body = Bytes::from(fs::read(&line.file)?);
        let status = line.status.unwrap_or(200);
        let response = Response { status, headers: Headers(line.headers), body: body.clone(), ..Response::empty() };
        let url = line.url.as_deref().unwrap_or(URL);
        let answer = Answer { response: &response, url, asked: line.asked.as_deref().unwrap_or(url) };
        let began = Instant::now();
        let wall = walls::of(&answer, &body);
        took += began.elapsed();
        let told = wall.as_ref().map(|wall| wall.kind.name());
        let counts = counts.entry(line.kind.clone().unwrap_or_else(|| "page".to_owned())).or_default();
        counts[0] += 1;
        counts[1] += usize::from(told.is_some());
        counts[2] += usize::from(told == line.kind.as_deref());
        if told != line.kind.as_deref() {
            let (wanted, evidence) =
                (line.kind.unwrap_or_default(), wall.map(|wall| wall.evidence).unwrap_or_default());
            println!("{}\twanted {wanted:?}\ttold {:?}\t{evidence}", line.file, told.unwrap_or_default());
        }
    }
    for (kind, [all, told, rightly]) in &counts {
        println!("{kind}: {told} of {all} told as walls, {rightly} rightly named");
    }
    println!(
        "{:.0} µs an answer",
        took.as_secs_f64() * 1e6 / counts.values().map(|[all, ..]| *all).sum::<usize>() as f64
    );
    Ok(())
}
