//! Statements of publishers. `preferences.jsonl` has the cases. Each names the section of its draft (`by`), in the
//! versions listed in `parse::preferences`. Examples from the drafts are quoted; all other texts are ours.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use proptest::prelude::*;
use seine_parse::meta::RobotsMeta;
use seine_parse::page::preferences::{Purpose, Purposes, Says, Scheme, Statement, Usage, in_force};
use seine_parse::page::{Headers, PageEvent};
use seine_parse::preferences::tdm::TdmFile;
use seine_parse::preferences::{content_signal, content_usage, of_headers};
use seine_parse::robots::RobotsTxt;
use seine_parse::{DeriveOptions, derive};
use serde::Deserialize;

use crate::NO_TIME;
use crate::event;

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct Case {
    by: String,
    robots: Option<String>,
    #[serde(default = "seine")]
    agent: String,
    #[serde(default = "page")]
    path: String,
    #[serde(default)]
    headers: Vec<(String, String)>,
    #[serde(default = "html", rename = "type")]
    content_type: String,
    html: Option<String>,
    tdmrep: Option<String>,
    /// Usage → `y` or `n`, for usages that are mentioned.
    expect: BTreeMap<String, String>,
    /// URLs of all terms, in order.
    terms: Option<Vec<String>>,
    /// `robots.txt:7` for each statement.
    #[serde(rename = "where")]
    places: Option<Vec<String>>,
    purposes: Option<Vec<Purpose>>,
    #[serde(default)]
    licenses: BTreeSet<String>,
    opted_out: Option<Purpose>,
}

fn seine() -> String {
    "Seine".into()
}

fn page() -> String {
    "/page".into()
}

fn html() -> String {
    "text/html".into()
}

impl Case {
    fn event(&self) -> PageEvent {
        let type_ = ("content-type", self.content_type.as_str());
        let headers = self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).chain([type_]);
        let body = self.html.clone().unwrap_or_default();
        event::page(format!("https://site.example{}", self.path), &headers.collect::<Vec<_>>(), body)
    }

    /// Collected as by a worker.
    fn said(&self) -> Vec<Statement> {
        let robots = RobotsTxt::parse(self.robots.as_deref().unwrap_or_default().as_bytes(), &self.agent);
        let mut said = if robots.allows(&self.path) { robots.preferences(&self.path) } else { Vec::new() };
        said.extend(TdmFile::parse(self.tdmrep.as_deref().unwrap_or_default()).statement(&self.path));
        let options =
            DeriveOptions { max_decoded_bytes: 1 << 20, agent: self.agent.clone(), ..DeriveOptions::default() };
        said.extend(derive(&self.event(), &options).preferences);
        said
    }

    /// The difference from what is expected.
    fn fault(&self) -> Option<String> {
        let said = self.said();
        let in_force = |usage: Usage| {
            let (is_allowed, _) = in_force(&said, usage)?;
            Some((usage.name().to_owned(), if is_allowed { "y" } else { "n" }.to_owned()))
        };
        let found: BTreeMap<String, String> = Usage::ALL.into_iter().filter_map(in_force).collect();
        let terms: Vec<String> = said.iter().filter_map(|it| it.terms.clone()).collect();
        let place = |it: &Statement| format!("{}:{}", it.source, it.line);
        let places: Vec<String> = said.iter().map(place).collect();
        let purposes =
            Purposes { declared: self.purposes.iter().flatten().copied().collect(), licenses: self.licenses.clone() };
        let opted_out = purposes.opted_out(&said).map(|it| it.of);
        let is_right = found == self.expect
            && self.terms.as_ref().is_none_or(|expected| *expected == terms)
            && self.places.as_ref().is_none_or(|expected| *expected == places)
            && opted_out == self.opted_out;
        (!is_right).then(|| format!("{self:?}\n  found {found:?} {terms:?} {places:?} {opted_out:?}"))
    }
}

#[test]
fn every_case_of_the_drafts_is_read_as_they_say() {
    let cases: Vec<Case> =
        include_str!("preferences.jsonl").lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    assert!(cases.len() >= 200, "{} cases", cases.len());
    let faults: Vec<String> = cases.iter().filter_map(Case::fault).collect();
    assert!(faults.is_empty(), "{} of {} cases:\n{}", faults.len(), cases.len(), faults.join("\n"));
    let by: BTreeSet<&str> = cases.iter().map(|case| case.by.split(' ').next().unwrap()).collect();
    let drafts = ["ATTACH-05", "DeviantArt", "RSL", "TDMRep", "VOCAB-07", "contentsignals.org", "own"];
    assert_eq!(by, drafts.into());
}

#[test]
fn an_event_keeps_what_was_said() {
    let said = [
        (Scheme::ContentUsage, "train-ai=n, search=y", r#"["search=y","train-ai=n"]"#),
        (Scheme::ContentSignal, "ai-input=no", r#"["ai-input=n"]"#),
    ];
    for (scheme, value, json) in said {
        let says = if scheme == Scheme::ContentUsage { content_usage(value) } else { content_signal(value) };
        assert_eq!(serde_json::to_string(&says).unwrap(), json);
        assert_eq!(serde_json::from_str::<Says>(json).unwrap(), says);
    }
    let robots = RobotsTxt::parse(b"License: https://a.example/l\nUser-agent: *\nContent-Usage: train-ai=n", "Seine");
    let mut event = event::page("https://site.example/", &[], "");
    event.preferences = Some(robots.preferences("/"));
    let mut bytes = Vec::new();
    seine_parse::page::codec::encode(&event, &mut bytes);
    assert_eq!(seine_parse::page::codec::decode(&bytes.into()).unwrap(), event);
    let json = event.preferences_json().unwrap();
    let expected = concat!(
        r#"[{"scheme":"content-usage","source":"robots.txt","line":3,"says":["train-ai=n"]},"#,
        r#"{"scheme":"rsl","source":"robots.txt","line":1,"terms":"https://a.example/l"}]"#
    );
    assert_eq!(json, expected);
    assert_eq!(event.preferences.unwrap()[0].to_string(), "content-usage: train-ai=n (robots.txt, line 3)");
    // Words that a later version may write.
    assert_eq!(
        serde_json::from_str::<Says>(r#"["train-ai=n","fly=n","search=perhaps"]"#).unwrap(),
        content_usage("train-ai=n")
    );
}

#[test]
fn hostile_files_and_headers_are_read_in_linear_time() {
    let begun = Instant::now();
    // A header of a megabyte, valid and invalid.
    let dictionary = (0..60_000).map(|number| format!("key-{number}=n, ")).collect::<String>();
    assert!(!content_usage(&format!("{dictionary}train-ai=n")).is_nothing());
    assert!(content_usage(&dictionary).is_nothing(), "a comma at the end");
    assert!(!content_signal(&"ai-train=no,".repeat(100_000)).is_nothing());
    assert!(content_usage(&"(".repeat(1 << 20)).is_nothing());
    let many: Vec<(String, String)> =
        (0..20_000).map(|number| ("content-usage".into(), format!("k{number}=n"))).collect();
    assert!(of_headers(&Headers(many), RobotsMeta::default(), false, "https://a.example/").is_empty());
    // 100,000 rules that all match the path, or all have the same length; anything beyond 500 KiB is not read.
    let long = "/".repeat(4000);
    for rule in ["Content-Usage: train-ai=n\n", "Content-Usage: /*a search=n\n", "Content-Signal: /* ai-train=no\n"] {
        let robots = RobotsTxt::parse(format!("User-agent: *\n{}", rule.repeat(100_000)).as_bytes(), "Seine");
        assert_eq!(robots.preferences(&format!("{long}a")).len(), 1, "{rule}");
    }
    let nested: String = (1..900).map(|depth| format!("Content-Usage: {} train-ai=n\n", &long[..depth])).collect();
    let robots = RobotsTxt::parse(format!("User-agent: *\n{nested}").as_bytes(), "Seine");
    for _ in 0..100 {
        assert_eq!(robots.preferences(&long)[0].line, 900);
    }
    let licenses = RobotsTxt::parse("License: https://a.example/\n".repeat(10_000).as_bytes(), "Seine");
    assert_eq!(licenses.preferences("/").len(), 8);
    // Deeply nested JSON, and an array of very many rules.
    assert!(TdmFile::parse(&"[".repeat(500_000)).statement("/").is_none());
    assert!(TdmFile::parse(&r#"{"a":"#.repeat(100_000)).statement("/").is_none());
    let rules = vec![r#"{"location":"/x","tdm-reservation":1}"#; 13_000].join(",");
    let file = TdmFile::parse(&format!(r#"[{rules},{{"location":"/","tdm-reservation":1}}]"#));
    assert_eq!(file.statement("/").map(|it| it.line), Some(13_001));
    assert!(begun.elapsed() < NO_TIME, "{:?}", begun.elapsed());
}

/// Text that is nearly what the readers expect.
fn nearly() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "train-ai",
        "search",
        "ai-train",
        "=n",
        "=y",
        "=no",
        "=(n",
        ")",
        ";a",
        "=\"",
        "\"",
        ", ",
        ",",
        " ",
        "\t",
        "/",
        "/a",
        "*",
        "$",
        "%41",
        "%",
        "#",
        ":",
        "\n",
        "\r\n",
        "User-agent: *",
        "Content-Usage:",
        "Content-Signal:",
        "License: https://a/",
        "Disallow: /",
        "{",
        "}",
        "[",
        "]",
        "\"location\":",
        "\"/\"",
        "\"tdm-reservation\":1",
        "é",
        "\u{feff}",
    ]);
    prop::collection::vec(prop_oneof![4 => word.prop_map(str::to_owned), 1 => ".{0,3}"], 0..60)
        .prop_map(|words| words.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// No input makes a reader fail. What it reads stays the same when it is written and read again.
    #[test]
    fn nothing_breaks_the_readers(text in nearly(), path in "/[a*$%é]{0,9}") {
        let robots = RobotsTxt::parse(text.as_bytes(), "Seine");
        let mut said = robots.preferences(&path);
        said.extend(TdmFile::parse(&text).statement(&path));
        let headers = ["content-usage", "content-signal", "tdm-reservation", "tdm-policy", "link"];
        let headers = Headers(headers.iter().map(|name| ((*name).into(), text.clone())).collect());
        said.extend(of_headers(&headers, RobotsMeta::default(), true, "https://a.example/"));
        let again: Vec<Statement> = serde_json::from_str(&serde_json::to_string(&said).unwrap()).unwrap();
        prop_assert_eq!(&again, &said);
        let again: Vec<Statement> = minicbor::decode(&minicbor::to_vec(&said).unwrap()).unwrap();
        prop_assert_eq!(again, said);
    }

    /// The deciding rules are the same as by a search through all rules.
    #[test]
    fn the_longest_rules_decide(paths in prop::collection::vec("/[ab/]{0,4}[*]?[ab]{0,2}[$]?", 0..20), path in "/[ab/]{0,8}") {
        let lines: String = paths.iter().map(|path| format!("Content-Usage: {path} train-ai=n\n")).collect();
        let robots = RobotsTxt::parse(format!("User-agent: *\n{lines}").as_bytes(), "Seine");
        let found = robots.preferences(&path).first().map(|statement| statement.line);
        let all = RobotsTxt::parse(
            format!("User-agent: *\n{}", lines.replace("Content-Usage", "Disallow").replace(" train-ai=n", "")).as_bytes(),
            "Seine",
        );
        prop_assert_eq!(found, all.decision(&path).map(|decision| decision.line));
    }
}
