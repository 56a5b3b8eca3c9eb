//! `seine build-model` and `seine test-model`, and errors in models and examples.

use std::fs;
use std::path::{Path, PathBuf};

use fastrand::Rng;

use crate::languages::{LANGUAGES, Language, write_examples};
use crate::support::program::{Ran, run};

pub fn build(examples: &Path, model: &Path) -> Ran {
    run(&["build-model".as_ref(), "-t".as_ref(), examples.as_os_str(), "-o".as_ref(), model.as_os_str()])
}

fn test(model: &Path, examples: &Path) -> Ran {
    run(&["test-model".as_ref(), "-m".as_ref(), model.as_os_str(), "-t".as_ref(), examples.as_os_str()])
}

/// A classifier's verdict on a file.
fn ask(model: &Path, file: &Path) -> Ran {
    run(&["test-model".as_ref(), "-m".as_ref(), model.as_os_str(), file.as_os_str()])
}

/// A figure of a report: `accuracy 0.950`.
#[track_caller]
fn figure(report: &str, name: &str) -> f64 {
    let line = report.lines().find_map(|line| line.trim_start().strip_prefix(name)).expect("the report has the figure");
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// A folder with a `pageclassifier.yml`.
fn model(folder: &Path, yml: &str) -> PathBuf {
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("pageclassifier.yml"), yml).unwrap();
    folder.to_owned()
}

/// A `pageclassifier.yml` with another threshold.
fn with_threshold(yml: &str, threshold: &str) -> String {
    let (before, after) = yml.split_once("relevance_threshold: ").expect("a threshold");
    let rest = after.split_once('\n').expect("a line").1;
    format!("{before}relevance_threshold: {threshold}\n{rest}")
}

#[test]
fn a_model_learns_any_script_and_finds_what_it_has_not_seen() {
    for language in &LANGUAGES {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        write_examples(&at("examples"), &[language], 60, true, 1);
        write_examples(&at("others"), &[language], 60, true, 2);
        write_examples(&at("chance"), &[language], 60, false, 3);
        let report = build(&at("examples"), &at("model")).ok().stdout;
        let tried = test(&at("model"), &at("others")).ok().stdout;
        for report in [&report, &tried] {
            assert!(figure(report, "accuracy") > 0.95 && figure(report, "Brier") < 0.05, "{}: {report}", language.name);
        }
        assert!(figure(&report, "precision") > 0.9 && figure(&report, "recall") > 0.9);
        // The report shows if nothing can be learned.
        let report = build(&at("chance"), &at("of chance")).ok().stdout;
        let accuracy = figure(&report, "accuracy");
        assert!(accuracy < 0.7 && figure(&report, "Brier") > 0.2, "{}: {report}", language.name);
    }
}

#[test]
fn one_model_knows_several_languages_and_says_which_words_decide() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    let all: Vec<&Language> = LANGUAGES.iter().collect();
    write_examples(&at("examples"), &all, 40, true, 1);
    let report = build(&at("examples"), &at("model")).ok().stdout;
    assert!(figure(&report, "accuracy") > 0.95, "{report}");
    let mut rng = Rng::with_seed(9);
    for (language, words) in LANGUAGES.iter().zip(["virus vaccine fever", "вирус вакцина", "病 毒 疫 苗", "فيروس لقاح"])
    {
        for (is_relevant, verdict) in [(true, "  relevant"), (false, "  irrelevant")] {
            let page = at("page.html");
            fs::write(&page, language.page(is_relevant, 8, &mut rng)).unwrap();
            let said = ask(&at("model"), &page).ok().stdout;
            assert!(said.lines().next().unwrap().contains(verdict), "{said}");
            let for_it = said.lines().find(|line| line.contains("for: ")).unwrap();
            assert_eq!(words.split(' ').any(|word| for_it.contains(word)), is_relevant, "{said}");
        }
    }
    // People can read the file: one feature per line, strongest first.
    let text = fs::read_to_string(at("model/model.json")).unwrap();
    let features = text.lines().filter(|line| line.starts_with("[\""));
    let read = |line: &str| -> (String, f64, f64) { serde_json::from_str(line.trim_end_matches(',')).unwrap() };
    let features: Vec<(String, f64, f64)> = features.map(read).collect();
    assert!(features.len() > 100 && features.is_sorted_by(|a, b| a.2 >= b.2), "{text}");
}

#[test]
fn the_same_examples_make_the_same_model_and_the_same_page_has_the_same_relevance() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    write_examples(&at("examples"), &[&LANGUAGES[0]], 30, true, 1);
    for model in ["one", "two"] {
        build(&at("examples"), &at(model)).ok();
    }
    let files = |name: &str| ["model.json", "pageclassifier.yml"].map(|file| fs::read(at(name).join(file)).unwrap());
    assert_eq!(files("one"), files("two"));
    let page = at("examples/positive/en-0.html");
    assert_eq!(ask(&at("one"), &page).ok().stdout, ask(&at("two"), &page).ok().stdout);
    fs::remove_file(&page).unwrap();
    build(&at("examples"), &at("two")).ok();
    assert_ne!(files("one")[0], files("two")[0]);
}

#[test]
fn examples_that_nothing_can_be_learnt_from_are_named_with_the_remedy() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    let (examples, out) = (at("examples"), at("model"));
    let fails = |words: &[&str]| {
        build(&examples, &out).fails_naming(words);
        assert!(!out.exists(), "nothing may be left of what failed");
    };
    fails(&["has no folder positive", "as HTML files or archives"]);
    fs::create_dir_all(examples.join("positive")).unwrap();
    fails(&["has no folder negative"]);
    fs::create_dir_all(examples.join("negative")).unwrap();
    fails(&["there is no page in", "positive"]);
    let page = |class: &str, number: u64| {
        let page = LANGUAGES[0].page(class == "positive", 12, &mut Rng::with_seed(number));
        fs::write(examples.join(class).join(format!("{number}.html")), page).unwrap();
    };
    (0..8).for_each(|number| page("positive", number));
    fails(&["there is no page in", "negative"]);
    (0..4).for_each(|number| page("negative", number));
    fails(&["4 pages in", "negative", "too few", "each class needs 5"]);
    fs::copy(examples.join("positive/3.html"), examples.join("negative/other.html")).unwrap();
    fails(&["the same page is in both classes", "positive/3.html", "negative/other.html"]);
    fs::remove_file(examples.join("negative/other.html")).unwrap();
    page("negative", 5);
    // A repeated example of a class counts once, and files that are not pages are skipped.
    fs::copy(examples.join("positive/3.html"), examples.join("positive/again.html")).unwrap();
    fs::write(examples.join("positive/picture.png"), b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR").unwrap();
    let said = build(&examples, &out).ok();
    assert!(said.stdout.contains("8 relevant pages and 5 others"), "{}", said.stdout);
    assert!(
        said.stderr.contains("1 pages have the same content as another")
            && said.stderr.contains("1 files are not pages"),
        "{}",
        said.stderr
    );
}

#[test]
fn menus_and_short_lines_tell_pages_apart() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    let mut rng = Rng::with_seed(1);
    // The text is of one topic; only a menu and a button differ.
    for (class, menu, button) in [("positive", "Replies Members", "Quote"), ("negative", "Basket Delivery", "Buy")] {
        for examples in ["examples", "others"] {
            let folder = at(examples).join(class);
            fs::create_dir_all(&folder).unwrap();
            for number in 0..60 {
                let text = LANGUAGES[0].page(true, 12, &mut rng);
                let page = format!("{text}<ul><li><a href=/a>{menu}</a></ul><p>{button}</p>");
                fs::write(folder.join(format!("{number}.html")), page).unwrap();
            }
        }
    }
    build(&at("examples"), &at("model")).ok();
    let report = test(&at("model"), &at("others")).ok().stdout;
    assert!(figure(&report, "accuracy") > 0.85, "{report}");
    let said = ask(&at("model"), &at("others/positive/1.html")).ok().stdout;
    assert!(said.contains("quote +") && said.contains("link:members +"), "{said}");
}

#[test]
fn the_threshold_is_the_one_with_the_best_f1_where_relevant_pages_are_few() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    for (examples, seed) in [("examples", 1), ("others", 2)] {
        let mut rng = Rng::with_seed(seed);
        for (class, is_relevant, count) in [("positive", true, 40), ("negative", false, 400)] {
            let folder = at(examples).join(class);
            fs::create_dir_all(&folder).unwrap();
            for number in 0..count {
                // Hardly a word is of the topic, so some pages cannot be told.
                fs::write(folder.join(format!("{number}.html")), LANGUAGES[0].page(is_relevant, 200, &mut rng))
                    .unwrap();
            }
        }
    }
    let report = build(&at("examples"), &at("model")).ok().stdout;
    let yml = fs::read_to_string(at("model/pageclassifier.yml")).unwrap();
    let threshold = yml.split("relevance_threshold: ").nth(1).unwrap().trim().to_owned();
    assert!(report.contains(&format!("relevant from {threshold} on")), "{report}");
    assert!((0.1..0.45).contains(&threshold.parse::<f64>().unwrap()), "{threshold}: {report}");
    let f1 = |threshold: &str| {
        model(&at("model"), &with_threshold(&yml, threshold));
        figure(&test(&at("model"), &at("others")).ok().stdout, "F1")
    };
    let (chosen, half) = (f1(&threshold), f1("0.5"));
    assert!(chosen > half + 0.02, "{chosen} at {threshold}, {half} at 0.5");
}

#[test]
fn a_model_of_version_1_judges_as_when_it_was_made() {
    let place = tempfile::tempdir().unwrap();
    let folder = model(&place.path().join("model"), "type: trained");
    let page = place.path().join("page.html");
    // Version 1 leaves out short lines if there are enough long ones.
    fs::write(&page, format!("<p>{}virus<p>football<p><a href=/>virus</a>", "the news of today ".repeat(20))).unwrap();
    let judged = |version: u64| {
        let head = format!(
            r#""format": "seine page classifier", "version": {version}, "positive": 5, "negative": 5, "bias": 0.0,
            "cross_validation": {{"accuracy": 1.0, "precision": 1.0, "recall": 1.0, "f1": 1.0, "brier": 0.0}},
            "slope": -3.0, "intercept": 0.0"#
        );
        let features = r#"["virus", 1.0, 2.0], ["football", 1.0, -2.0]"#;
        fs::write(folder.join("model.json"), format!(r#"{{"model": {{{head}}}, "features": [{features}]}}"#)).unwrap();
        ask(&folder, &page).ok().stdout.split_whitespace().next().unwrap().to_owned()
    };
    assert_eq!(judged(1), "0.997527");
    assert_eq!(judged(2), "0.500000");
}

#[test]
fn archives_are_examples_as_files_are() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    write_examples(&at("examples"), &[&LANGUAGES[1]], 20, true, 1);
    build(&at("examples"), &at("of files")).ok();
    for class in ["positive", "negative"] {
        let folder = at("examples").join(class);
        let mut lines = String::new();
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let record = serde_json::json!({
                "url": format!("http://a.test/{}", path.file_name().unwrap().to_str().unwrap()), "redirected_url": null,
                "content": data_encoding::BASE64.encode(&fs::read(&path).unwrap()), "content_type": "text/html",
                "response_headers": {}, "fetch_time": 1_795_271_825_985_u64,
                "relevance": { "relevance": 1.0, "isRelevant": true }, "crawler_id": "x",
            });
            lines += &format!("{record}\n");
            fs::remove_file(path).unwrap();
        }
        fs::write(folder.join("crawl_data-1-0.jsonl"), lines).unwrap();
    }
    let report = build(&at("examples"), &at("of archives")).ok().stdout;
    assert!(report.contains("20 relevant pages and 20 others") && figure(&report, "accuracy") > 0.9, "{report}");
}

#[test]
fn a_folder_that_is_no_classifier_says_what_is_wrong_and_what_to_do() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("model");
    let page = place.path().join("page.html");
    fs::write(&page, "<p>a page").unwrap();
    ask(&folder, &page).fails_naming(&["has no pageclassifier.yml", "seine build-model"]);
    let wrong: [(&str, &[&str]); 18] = [
        (
            "type: smile\nparameters:\n  model_file: pageclassifier.model",
            &["line 1", "Java-serialised", "seine build-model"],
        ),
        ("type: weka", &["Java-serialised", "seine build-model"]),
        ("type: keep_link_relevance\nparameters: {features_file: x}", &["Java-serialised", "seine build-model"]),
        ("parameters: {}", &["type is missing", "url_regex", "trained"]),
        ("type: body_regexp", &["body_regexp", "body_regex, regex"]),
        (
            "type: body_regex\nparameters:\n  regular_expression: x",
            &["line 3", "regular_expression", "regular_expressions"],
        ),
        ("type: body_regex\nparameters:\n  regular_expressions: []", &["there is no regular expression"]),
        ("type: body_regex", &["there is no regular expression"]),
        ("type: url_regex\nparameters:\n  regular_expressions:\n  - '(?<=x)y'", &["look-around", "(?<=x)y"]),
        ("type: url_regex\nparameters:\n  regular_expressions: ['(a{1000}){1000}']", &["smaller regular expression"]),
        ("type: url_regex\nparameters: {whitelist_file: gone.txt}", &["line 2", "gone.txt", "No such file"]),
        ("type: title_regex\nparameters: {regular_expression: ''}", &["line 2", "a regular expression"]),
        ("type: regex\nparameters: {boolean_operator: XOR, url: {regexes: [a]}}", &["AND or OR"]),
        ("type: regex\nparameters: {boolean_operator: OR}", &["there is no regular expression"]),
        ("type: regex\nparameters: {url: [a]}", &["a mapping of boolean_operator, regexes"]),
        ("type: trained", &["model.json", "No such file"]),
        ("type: [", &["not valid YAML"]),
        ("type: url_regex\ntypo: 1", &["typo"]),
    ];
    for (yml, words) in wrong {
        model(&folder, yml);
        ask(&folder, &page).fails_naming(words);
    }
    // The same at the start of a crawl.
    let config = place.path().join("seine.yml");
    fs::write(&config, format!("target_storage.model: {}\n", folder.display())).unwrap();
    run(&["check-config", "-c", config.to_str().unwrap()]).fails_naming(&[
        "seine.yml:1",
        "target_storage.model",
        "typo",
    ]);
    fs::remove_file(folder.join("pageclassifier.yml")).unwrap();
    fs::write(folder.join("pageclassifier.model"), b"\xac\xed\0\x05").unwrap();
    ask(&folder, &page).fails_naming(&["Java-serialised", "seine build-model"]);
}

#[test]
fn a_damaged_model_is_refused_with_the_remedy() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    write_examples(&at("examples"), &[&LANGUAGES[0]], 10, true, 1);
    build(&at("examples"), &at("model")).ok();
    let (file, page) = (at("model/model.json"), at("examples/positive/en-0.html"));
    let good = fs::read_to_string(&file).unwrap();
    let bias = good.lines().find(|line| line.contains("\"bias\"")).unwrap();
    let first = good.lines().find(|line| line.starts_with("[\"")).unwrap();
    // Cut between two features, since a part of a number is another error.
    let half = &good[..good[..good.len() / 2].rfind('\n').unwrap()];
    let wrong: [(Vec<u8>, &[&str]); 9] = [
        (half.as_bytes().to_vec(), &["damaged", "EOF", "seine build-model"]),
        (Vec::new(), &["damaged", "EOF"]),
        (good.replace("\"version\": 2", "\"version\": 3").into(), &["version 3", "version 1 to 2", "another seine"]),
        (good.replace(bias, "\"bias\": NaN,").into(), &["damaged", "seine build-model"]),
        (good.replace(bias, "\"bias\": 1e999,").into(), &["damaged"]),
        (good.replace(bias, "\"bias\": null,").into(), &["damaged"]),
        (good.replacen(first, &format!("{first}\n{first}"), 1).into(), &["one of them twice"]),
        (b"\xac\xed\0\x05sr\0".to_vec(), &["Java-serialised", "seine build-model"]),
        (b"{\"model\": {\"format\": \"pickle\", \"version\": 1}}".to_vec(), &["format", "seine build-model"]),
    ];
    for (bytes, words) in wrong {
        assert_ne!(bytes, good.as_bytes());
        fs::write(&file, bytes).unwrap();
        ask(&at("model"), &page).fails_naming(words);
    }
    fs::write(&file, &good).unwrap();
    let yml = fs::read_to_string(at("model/pageclassifier.yml")).unwrap();
    model(&at("model"), &with_threshold(&yml, "1.5"));
    ask(&at("model"), &page).fails_naming(&["relevance_threshold", "from 0 to 1"]);
    model(&at("model"), &with_threshold(&yml, "0.0"));
    assert!(ask(&at("model"), &at("examples/negative/en-1.html")).ok().stdout.contains("  relevant "));
}

#[test]
fn hostile_pages_and_costly_patterns_are_judged_all_the_same() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    write_examples(&at("examples"), &[&LANGUAGES[0]], 10, true, 1);
    build(&at("examples"), &at("trained")).ok();
    let costly =
        "type: body_regex\nparameters:\n  regular_expressions: ['.*(x+x+)+y', '(.*a){40}.*', '[\\w\\W]{1,400}z.*']\n";
    model(&at("regex"), costly);
    let pages = [
        ("line", format!("<title>x</title>{}", "x".repeat(20 << 20))),
        ("words", "virus vaccine ".repeat(700_000)),
        ("tags", format!("{}virus", "<div>".repeat(4 << 20))),
        ("links", "<a href=/x>virus".repeat(1 << 20)),
        ("unclosed", format!("<title>{}", "<a <b &".repeat(1 << 20))),
        ("han", "病毒".repeat(3 << 20)),
    ];
    for (name, page) in pages {
        let file = at(&format!("{name}.html"));
        fs::write(&file, page).unwrap();
        for classifier in ["trained", "regex"] {
            let said = ask(&at(classifier), &file).ok().stdout;
            assert!(said.contains("relevant"), "{name}, {classifier}: {said}");
        }
        fs::remove_file(file).unwrap();
    }
}
