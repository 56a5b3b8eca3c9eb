//! The commands as a user types them.

use std::io::{BufRead, BufReader};
use std::path::Path;

use seine_formats::Format;
use seine_formats::stored_fields::{Field, Stored};
use serde_json::Value;

use crate::support::program::{Process, Ran, command, run};
use crate::{events, pages, write};

fn seine(arguments: &[&str]) -> Ran {
    run(arguments)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// An archive of numbered pages, some of them images.
fn archive(folder: &Path, format: Format) {
    let events: Vec<_> =
        (0..10)
            .map(|n| {
                if n % 4 == 3 {
                    events::with_type(n, "image/png", "png")
                } else {
                    events::page(n, format!("<p>{n}</p>"))
                }
            })
            .collect();
    write(format, &events, folder);
}

fn urls(ran: &Ran) -> Vec<String> {
    ran.json_lines().iter().map(|line| line["url"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn cat_prints_one_object_a_page_with_what_the_format_holds() {
    let folder = tempfile::tempdir().unwrap();
    let event = events::with_type(1, "text/html; charset=iso-8859-1", &b"caf\xe9"[..]);
    for format in [crate::FILES, crate::ELASTIC, crate::CDR31] {
        write(format, std::slice::from_ref(&event), &folder.path().join(format.name));
    }
    let at = |name: &str| folder.path().join(name);
    let printed = |name: &str| seine(&["cat", "--content", text(&at(name))]).ok().stdout;
    insta::assert_snapshot!([printed("FILES"), printed("ELASTIC"), printed("CDR31")].concat());
}

#[test]
fn cat_makes_nothing_up() {
    let folder = tempfile::tempdir().unwrap();
    let event = events::page(1, "<p>one</p>");
    for format in Format::ALL {
        let at = folder.path().join(format.name);
        write(format, std::slice::from_ref(&event), &at);
        let line = seine(&["cat", "--content", text(&at)]).ok().json_lines().remove(0);
        let has = |name: &str| line.as_object().unwrap().contains_key(name);
        for (field, names) in [
            (Field::FinalUrl, &["redirected_url"][..]),
            (Field::Status, &["status"]),
            (Field::Headers, &["content_type", "response_headers"]),
            (Field::Fetched, &["fetch_time"]),
            (Field::Body, &["size"]),
            (Field::Relevance, &["relevance"]),
            (Field::CrawlerId, &["crawler_id"]),
        ] {
            let is_held = format.holds(field) != Stored::No && !(format == crate::CDR31 && field == Field::FinalUrl);
            assert!(names.iter().all(|name| has(name) == is_held), "{format}: {field}: {line}");
        }
        assert_eq!(has("content"), format != crate::WEB_INDEX, "{format}");
        assert!(!line.to_string().contains("1970"), "{line}");
    }
    // A record that lacks fields of its format.
    let lines = "{\"url\":\"http://a.example/\",\"content\":\"\"}\n";
    std::fs::write(folder.path().join("old.jsonl"), lines).unwrap();
    let old = seine(&["cat", text(&folder.path().join("old.jsonl"))]).ok().json_lines().remove(0);
    assert!(old.get("fetch_time").is_none() && old.get("relevance").is_none(), "{old}");
    let ache = "Version: 1.0\nurl: http://a.example/\ndate: yesterday\nlength: 3\n\nabc\n";
    std::fs::write(folder.path().join("old.tianwang"), ache).unwrap();
    let old = seine(&["cat", text(&folder.path().join("old.tianwang"))]).ok().json_lines().remove(0);
    assert!(old.get("fetch_time").is_none() && old.get("status").is_none(), "{old}");
}

#[test]
fn convert_says_what_it_fills_in_and_leaves_out_what_has_no_content() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    archive(&at("html"), crate::HTML);
    let ran = seine(&["convert", text(&at("html")), text(&at("warc")), "--to", "WARC"]).ok();
    for told in [
        "filled in, because WARC demands it: the final URL (the requested one) of 10 pages of FILESYSTEM_HTML",
        "the status (200 OK) of 10 pages",
        "the time of the fetch (when its file was last changed) of 10 pages",
        "the relevance (1 for HTML, else 0) of 10 pages",
    ] {
        assert!(ran.stderr.contains(told), "{told} is not in {}", ran.stderr);
    }
    let changed = std::fs::metadata(&*pages(&at("html"))[0].location.input).unwrap().modified().unwrap();
    let changed = changed.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as u64;
    assert!(pages(&at("warc")).iter().all(|page| page.event.ended_ms.abs_diff(changed) < 60_000));

    archive(&at("index"), crate::WEB_INDEX);
    let ran = seine(&["convert", text(&at("index")), text(&at("files")), "--to", "FILES"])
        .fails_naming(&["no content", "left out: the archive has no content for them"]);
    assert_eq!(ran.status.code(), Some(1));
    assert!(std::fs::read_dir(at("files")).unwrap().next().is_none() || pages(&at("files")).is_empty());
    for format in ["WEB_INDEX", "CDR31"] {
        let ran = seine(&["convert", text(&at("index")), text(&at(format)), "--to", format])
            .fails_naming(&["no page was written", "give an archive of the same pages with their content"]);
        assert_eq!(ran.status.code(), Some(1), "{format}: {}", ran.stderr);
    }
    let dated = seine(&["cat", text(&at("html")), "--from", "1971-01-01"]).ok();
    assert_eq!(dated.stdout, "", "nobody knows when");
    assert_eq!(urls(&seine(&["cat", text(&at("html")), "--status", "200"]).ok()).len(), 10);
}

#[test]
fn cat_takes_only_the_pages_that_are_meant() {
    let folder = tempfile::tempdir().unwrap();
    archive(folder.path(), crate::FILES);
    let cat = |arguments: &[&str]| urls(&seine(&[&["cat", text(folder.path())], arguments].concat()).ok()).len();
    assert_eq!(cat(&[]), 10);
    assert_eq!(cat(&["--type", "image/*"]), 2);
    assert_eq!(cat(&["--type", "text/html,image/png"]), 10);
    assert_eq!(cat(&["--host", "h1.example"]), 3);
    assert_eq!(cat(&["--host", ".example"]), 10);
    assert_eq!(cat(&["--url", "/[12][?]"]), 2);
    assert_eq!(cat(&["--status", "404"]), 0);
    assert_eq!(cat(&["--status", "2xx"]), 10);
    assert_eq!(cat(&["--from", "2026-11-21", "--until", "2026-11-21"]), 10);
    assert_eq!(cat(&["--until", "2026-11-20"]), 0);
    // Pages are about a second apart.
    assert_eq!(cat(&["--from", "2026-11-21T14:37:10Z"]), 5);
    seine(&["cat", text(folder.path()), "--status", "abc"]).fails_naming(&["abc", "4xx"]);
    seine(&["cat", text(folder.path()), "--from", "yesterday"]).fails_naming(&["yesterday", "2026-11-21"]);
}

#[test]
fn cat_tells_where_a_page_is() {
    let folder = tempfile::tempdir().unwrap();
    archive(folder.path(), crate::ELASTIC);
    let lines = seine(&["cat", "--location", text(folder.path())]).ok().json_lines();
    assert_eq!(lines[2]["record"], 3);
    let file = std::fs::read_to_string(lines[2]["file"].as_str().unwrap()).unwrap();
    let at = lines[2]["offset"].as_u64().unwrap() as usize;
    assert!(
        file[at..].starts_with("{\"domain\":\"h2.example\",\"url\":\"http://h2.example/2"),
        "{}",
        &file[at..at + 80]
    );
}

#[test]
fn cat_is_quiet_when_nobody_reads_on() {
    let folder = tempfile::tempdir().unwrap();
    write(crate::FILES, &events::random(2_000), folder.path());
    let (process, stdout) = Process::start_unread(command(&["cat", "--content", text(folder.path())]));
    let mut first = String::new();
    BufReader::new(stdout).read_line(&mut first).unwrap();
    let ran = process.wait().ok();
    assert_eq!(ran.stderr, "");
    assert!(first.starts_with("{\"url\""), "{first}");
}

#[test]
fn a_folder_is_read_in_order_and_everything_odd_in_it_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    archive(&at("b-10"), crate::FILES);
    archive(&at("b-9"), crate::CDR31);
    std::fs::write(at("a.jsonl"), "{\"url\":\"http://first.example/\",\"content\":\"\"}\n{\"url\":\n").unwrap();
    std::fs::write(at("notes.txt"), "remember the milk").unwrap();
    std::fs::write(at("nothing"), "").unwrap();
    let ran = seine(&["cat", text(folder.path())]);
    assert_eq!(ran.status.code(), Some(1), "one line could not be read");
    let printed = urls(&ran);
    assert_eq!(printed.len(), 1 + 8 + 10, "CDR holds no images");
    assert_eq!(printed[0], "http://first.example/");
    assert!(!ran.json_lines()[1].as_object().unwrap().contains_key("status"), "CDR before FILES: 9 before 10");
    for told in ["a.jsonl: line 2", "notes.txt: skipped", "begins \"remember the milk\"", "nothing: skipped, empty"] {
        assert!(ran.stderr.contains(told), "{told} is not in {}", ran.stderr);
    }
}

#[test]
fn what_is_no_archive_is_said_with_what_was_looked_for() {
    let folder = tempfile::tempdir().unwrap();
    let notes = folder.path().join("notes");
    std::fs::write(&notes, b"\x7fELF\x02\x01").unwrap();
    seine(&["cat", text(&notes)]).fails_naming(&["notes", "7f 45 4c 46", "FILES", "CDR31", "--format"]);
    seine(&["cat", "/nowhere/x"]).fails_naming(&["/nowhere/x", "kafka://"]);
    seine(&["cat", "/nowhere/*.gz"]).fails_naming(&["/nowhere/*.gz", "no file matches"]);
    seine(&["cat", "kafka://nobody"]).fails_naming(&["kafka://nobody", "kafka://HOST:PORT/TOPIC"]);
    seine(&["cat", text(&notes), "--format", "ZIP"]).fails_naming(&["ZIP", "FILES"]);
}

#[test]
fn convert_writes_what_a_crawl_would_have_and_says_what_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    archive(&at("elastic"), crate::ELASTIC);
    let ran =
        seine(&["convert", text(&at("elastic")), text(&at("files")), "--to", "files", "--type", "text/html"]).ok();
    let found = pages(&at("files"));
    assert_eq!(found.len(), 8);
    assert!(found.iter().all(|page| page.format == crate::FILES));
    let told = [
        "from ELASTIC: FILES holds no status, page classifier, event id",
        "delivered            8\n",
        "left out             2   not selected\n",
    ];
    for told in told {
        assert!(ran.stderr.contains(told), "{told} is not in {}", ran.stderr);
    }
    let names: Vec<_> = std::fs::read_dir(at("files")).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(names.len(), 1, "{names:?}: the files, and no others");

    seine(&["convert", text(&at("elastic")), text(&at("files")), "--to", "files"])
        .fails_naming(&["is not empty; give a new folder"]);
    seine(&["convert", text(&at("elastic")), text(&at("x")), "--to", "tar"]).fails_naming(&["tar", "FILES"]);
}

#[test]
fn a_conversion_takes_sizes_from_the_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write(crate::FILES, &events::random(60), &at("one"));
    std::fs::write(at("seine.yml"), "target_storage.data_format.files.max_file_size: 20000\n").unwrap();
    let config = at("seine.yml");
    seine(&["convert", text(&at("one")), text(&at("many")), "--to", "FILES", "-c", text(&config), "--quiet"]).ok();
    assert!(std::fs::read_dir(at("many")).unwrap().count() > 3);
    assert_eq!(pages(&at("many")).len(), 60);
}

#[test]
fn verify_tells_whole_open_cut_and_damaged_files_apart() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write(crate::FILES, &events::random(50), &at("new"));
    let file = std::fs::read_dir(at("new")).unwrap().next().unwrap().unwrap().path();
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(at("a-whole.deflate"), &bytes).unwrap();
    std::fs::write(at("b-open.deflate.open"), &bytes[..bytes.len() - 10]).unwrap();
    std::fs::write(at("c-cut.deflate"), &bytes[..bytes.len() / 2]).unwrap();
    let mut flipped = bytes.clone();
    flipped[bytes.len() / 2] ^= 0x55;
    std::fs::write(at("d-damaged.deflate"), &flipped).unwrap();
    std::fs::write(at("e-lines.jsonl"), "{\"url\":\"http://a.example/\",\"content\":\"\"}\nrubbish\n").unwrap();
    std::fs::remove_dir_all(at("new")).unwrap();

    let ran = seine(&["verify", "--json", text(folder.path())]);
    assert_eq!(ran.status.code(), Some(1));
    let lines = ran.json_lines();
    let verdicts: Vec<&str> = lines.iter().map(|line| line["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["whole", "open", "cut", "damaged", "damaged"]);
    assert_eq!((&lines[0]["pages"], &lines[0]["format"]), (&Value::from(50), &Value::from("FILES")));
    assert_eq!((&lines[4]["pages"], &lines[4]["damaged_records"]), (&Value::from(1), &Value::from(1)));
    assert!(lines[4]["problems"][0].as_str().unwrap().contains("line 2"));

    let plain = seine(&["verify", text(&at("a-whole.deflate"))]).ok();
    assert!(plain.stdout.starts_with("whole    FILES           50 pages"), "{}", plain.stdout);
}

#[test]
fn a_web_index_that_breaks_off_is_cut_and_not_damaged() {
    let folder = tempfile::tempdir().unwrap();
    archive(folder.path(), crate::WEB_INDEX);
    let file = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    let bytes = std::fs::read(&file).unwrap();
    let whole = bytes.iter().filter(|byte| **byte == b'\n').count() - 1;
    std::fs::write(&file, &bytes[..bytes.len() - 10]).unwrap();
    let ran = seine(&["verify", "--json", text(&file)]);
    assert_eq!(ran.status.code(), Some(1));
    assert_eq!((&ran.json_lines()[0]["verdict"], &ran.json_lines()[0]["pages"]), (&"cut".into(), &whole.into()));
    seine(&["cat", text(&file)]).ok();
}

#[test]
fn verify_knows_a_file_that_is_being_written_by_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("crawl_data-1-0.deflate");
    let line = b"{\"url\":\"http://a.example/\",\"content\":\"\"}\n";
    let mut stream = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut stream, line).unwrap();
    std::io::Write::flush(&mut stream).unwrap();
    let flushed = stream.get_ref().clone();
    std::fs::write(&file, &flushed).unwrap();
    assert!(seine(&["verify", text(&file)]).ok().stdout.starts_with("open     FILES            1 pages"));
    std::fs::write(&file, &flushed[..flushed.len() - 1]).unwrap();
    let ran = seine(&["verify", text(&file)]).fails_naming(&["1 cut or damaged"]);
    assert!(ran.stdout.starts_with("cut"), "{}", ran.stdout);
}

/// A store's folders are named by MD5. A wrong MD5 means that the page is not that of its URL.
#[test]
fn verify_refuses_a_line_of_a_pagestore_whose_md5_is_not_its_urls() {
    let folder = tempfile::tempdir().unwrap();
    write(crate::PAGESTORE, &events::random(3), folder.path());
    seine(&["verify", text(folder.path())]).ok();
    let meta = walkdir::WalkDir::new(folder.path()).into_iter().flatten().find(|it| it.file_name() == "META").unwrap();
    let lines = std::fs::read_to_string(meta.path()).unwrap();
    let page = lines.lines().next().unwrap();
    // As if two lines had been mixed up: the folder exists, but is another page's.
    let fields: Vec<&str> = page.split(' ').collect();
    let other = format!("{} http://b.example/other {}\n", fields[0], fields[2..].join(" "));
    std::fs::write(meta.path(), lines.clone() + &other).unwrap();
    let ran = seine(&["verify", text(folder.path())]).fails_naming(&["1 cut or damaged"]);
    assert!(ran.stdout.contains("is not that of its URL, http://b.example/other"), "{}", ran.stdout);
}

#[test]
fn verify_refuses_a_tianwang_record_whose_date_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pages.tianwang");
    let record = |date: &str| format!("version: 1.0\nurl: http://a.example/\ndate: {date}\nlength: 2\n\nab\n");
    std::fs::write(&file, record("Tue, 15 Apr 2003 08:13:06 GMT")).unwrap();
    seine(&["verify", text(&file)]).ok();
    std::fs::write(&file, record("Tue, 15 Apr 2003 08:13:06 GMT") + &record("Tue, 35 Apr 2003 08:13:06 GMT")).unwrap();
    let ran = seine(&["verify", text(&file)]).fails_naming(&["1 cut or damaged"]);
    assert!(ran.stdout.contains("a date that is not in RFC 822 form: \"Tue, 35 Apr"), "{}", ran.stdout);
    // `cat` still reads it, so that nothing is lost.
    assert_eq!(pages(&file).len(), 2);
}

/// ACHE keeps the byte order mark in the text of its documents.
#[test]
fn a_document_that_begins_with_a_byte_order_mark_is_read_as_it_stands() {
    let folder = tempfile::tempdir().unwrap();
    let html = "\u{feff}<!DOCTYPE html><title>Caf\u{e9}</title>";
    let elastic = serde_json::json!({
        "domain": "a.example", "url": "http://a.example/", "title": "Caf\u{e9}", "text": "", "retrieved": "2026-11-23T21:44:00.000+0000",
        "words": [], "wordsMeta": [], "topPrivateDomain": "a.example", "html": html, "isRelevant": "relevant", "relevance": 1.0,
    });
    let cdr31 = serde_json::json!({
        "_id": "1", "url": "http://a.example/", "timestamp_crawl": "2026-11-23T21:44:00.000Z", "timestamp_index":
        "2026-11-23T21:44:00.000Z", "content_type": "text/html", "raw_content": html, "response_headers": {}, "objects": [],
        "team": "t", "crawler": "c", "version": 3.1,
    });
    for (name, document) in [("elastic.jsonl", elastic), ("cdr31.jsonl", cdr31)] {
        let file = folder.path().join(name);
        std::fs::write(&file, format!("{document}\n")).unwrap();
        let page = pages(&file).remove(0);
        assert_eq!(page.event.response().unwrap().body, html.as_bytes(), "{name}");
    }
}

#[test]
fn verify_sees_damage_in_pages_that_are_compressed_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write(crate::FILES, &[events::page(1, "<p>one</p>".repeat(2000))], &at("in"));
    std::fs::write(at("seine.yml"), "target_storage.data_format.filesystem.compress_data: true\n").unwrap();
    let (config, out) = (at("seine.yml"), at("out"));
    seine(&["convert", text(&at("in")), text(&out), "--to", "FILESYSTEM_HTML", "-c", text(&config)]).ok();
    let input = pages(&out).remove(0).location.input;
    let bytes = std::fs::read(&*input).unwrap();
    let mut flipped = bytes.clone();
    *flipped.last_mut().unwrap() ^= 1;
    for damaged in [&flipped, &bytes[..bytes.len() - 1]] {
        std::fs::write(&*input, damaged).unwrap();
        let ran = seine(&["verify", text(&out)]).fails_naming(&["1 cut or damaged"]);
        assert!(ran.stdout.contains("its compressed data is damaged or cut off"), "{}", ran.stdout);
    }
}

#[test]
fn help_has_examples_and_exit_statuses() {
    for name in ["cat", "convert", "replay", "verify", "recover"] {
        let help = seine(&[name, "--help"]).ok().stdout;
        for told in ["Examples:", "Exit status:"] {
            assert!(help.contains(told), "{name}: {told} is not in {help}");
        }
    }
}

#[test]
fn a_sink_s_file_that_is_nothing_any_more_is_not_whole() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    archive(&at("files"), crate::FILES);
    let file = std::fs::read_dir(at("files")).unwrap().next().unwrap().unwrap().path();
    let bytes = std::fs::read(&file).unwrap();

    std::fs::write(&file, "").unwrap();
    let ran = seine(&["verify", text(&at("files"))]).fails_naming(&["skipped, empty", "1 more could not be read"]);
    assert_eq!(ran.stdout, "");
    seine(&["cat", text(&at("files"))]).ok(); // a crawl may have just begun it

    std::fs::write(&file, [b"X", &bytes[1..]].concat()).unwrap();
    for name in ["verify", "cat"] {
        seine(&[name, text(&at("files"))]).fails_naming(&[".deflate: skipped", "although its name says so", "recover"]);
    }
    let (from, to) = (at("files"), at("out"));
    let ran = seine(&["convert", text(&from), text(&to), "--to", "CDR31", "--quiet"])
        .fails_naming(&["although its name says so"]);
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
}

#[test]
fn a_pipe_is_refused_and_not_half_read() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for name in ["cat", "verify"] {
        seine(&[name, text(&pipe)]).fails_naming(&["pipe is a pipe or a device", "copy it to a file first"]);
        seine(&[name, &format!("{}/p*", text(folder.path()))]).fails_naming(&["is a pipe or a device"]);
    }
    let out = folder.path().join("out");
    seine(&["recover", text(&pipe), text(&out), "--format", "FILES"])
        .fails_naming(&["pipe", "is not a file; copy it to a file first"]);
    seine(&["cat", text(folder.path())]).fails_naming(&["no page could be read"]);
}

#[test]
fn a_wrong_name_begins_no_conversion() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    archive(&at("in"), crate::FILES);
    seine(&["convert", text(&at("inn")), text(&at("out")), "--to", "CDR31"]).fails_naming(&["inn", "name a file"]);
    seine(&["convert", text(&at("in")), text(&at("out")), "--to", "CDR31"]).ok();
}

#[test]
fn what_is_written_is_not_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    archive(&at("in"), crate::FILES);
    // New files are numbered after the existing ones, and there are many.
    std::fs::write(at("seine.yml"), "target_storage.data_format.files.max_file_size: 100\n").unwrap();
    let config = at("seine.yml");
    let convert = |to: &str| seine(&["convert", text(&at("in")), text(&at(to)), "--to", "FILES", "-c", text(&config)]);
    convert("in/z").ok();
    assert_eq!(pages(&at("in/z")).len(), 10);
    std::fs::remove_dir_all(at("in/z")).unwrap();
    let replay = |from: &str| seine(&["replay", text(&at(from)), "--to", "files", "-o", text(&at("in/z")), "--again"]);
    replay("in").ok();
    replay("in").ok();
    assert_eq!(pages(&at("in/z/files")).len(), 20);
    replay("in/z/files").fails_naming(&["in/z/files is in the output folder"]);
}

#[test]
fn a_full_standard_output_is_an_error_and_no_crash() {
    let folder = tempfile::tempdir().unwrap();
    archive(&folder.path().join("in"), crate::FILES);
    let file = std::fs::read_dir(folder.path().join("in")).unwrap().next().unwrap().unwrap().path();
    let out = folder.path().join("out");
    for arguments in [&["check-config"][..], &["recover", text(&file), text(&out)]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let ran = command(arguments).stdout(full).output().unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(1), "{said}");
        assert!(said.contains("No space left"), "{said}");
    }
}
