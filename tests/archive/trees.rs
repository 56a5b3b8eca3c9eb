//! Trees of files named after their pages: a damaged file is reported as damaged, and not taken for a page of another
//! format.

use std::path::{Path, PathBuf};

use seine_formats::Format;

use crate::support::program::{Ran, run};
use crate::{events, pages, write};

const SETTINGS: [&str; 3] = ["", "hash_file_name: true", "compress_data: true"];

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A tree of twelve pages, and its files.
fn tree(format: Format, setting: &str, folder: &Path) -> Vec<PathBuf> {
    let events: Vec<_> = (0..12).map(|n| events::page(n, format!("<p>{n}</p>").repeat(30))).collect();
    write(crate::FILES, &events, &folder.join("from"));
    let config = folder.join("seine.yml");
    std::fs::write(&config, format!("target_storage.data_format.filesystem.{setting}\n")).unwrap();
    let (from, to) = (folder.join("from"), folder.join("tree"));
    let mut arguments = vec!["convert", text(&from), text(&to), "--to", format.name];
    if !setting.is_empty() {
        arguments.extend(["-c", text(&config)]);
    }
    run(&arguments).ok();
    let files = walkdir::WalkDir::new(&to).sort_by_file_name().into_iter().flatten();
    files.filter(|it| it.file_type().is_file()).map(|it| it.into_path()).collect()
}

fn verdicts(ran: &Ran) -> Vec<(String, String)> {
    let line = |line: &serde_json::Value| {
        (line["format"].as_str().unwrap_or_default().into(), line["verdict"].as_str().unwrap().into())
    };
    ran.json_lines().iter().map(line).collect()
}

/// Each kind of damage, in one file each.
fn damage(files: &[PathBuf]) -> usize {
    let harm: [fn(&mut Vec<u8>); 5] = [
        |bytes| bytes.clear(),
        |bytes| bytes.truncate(bytes.len() / 2),
        |bytes| bytes[0] ^= 0x55,
        |bytes| bytes.fill(0),
        |bytes| *bytes = b"<html>something else".to_vec(),
    ];
    for (file, harm) in files.iter().zip(harm) {
        let mut bytes = std::fs::read(file).unwrap();
        harm(&mut bytes);
        std::fs::write(file, bytes).unwrap();
    }
    harm.len()
}

#[test]
fn a_damaged_record_in_a_file_of_its_own_is_damaged_whatever_is_left_of_it() {
    for format in [crate::JSON, crate::CBOR] {
        for setting in SETTINGS {
            let folder = tempfile::tempdir().unwrap();
            let files = tree(format, setting, folder.path());
            assert_eq!(files.len(), 12);
            let damaged = damage(&files);
            let tree = folder.path().join("tree");
            let verified = run(&["verify", "--json", text(&tree)]);
            assert_eq!(verified.status.code(), Some(1), "{format} {setting}: {}", verified.stdout);
            let verdicts = verdicts(&verified);
            assert!(verdicts.iter().all(|(found, _)| found == format.name), "{format} {setting}: {verdicts:?}");
            let bad = verdicts.iter().filter(|(_, verdict)| verdict == "damaged").count();
            assert_eq!(bad, damaged, "{format} {setting}: {verdicts:?}");

            let cat = run(&["cat", text(&tree)]);
            assert_eq!((cat.status.code(), cat.json_lines().len()), (Some(1), 12 - damaged), "{format} {setting}");
            let out = folder.path().join("out");
            let converted = run(&["convert", text(&tree), text(&out), "--to", "FILES"]);
            assert_eq!(converted.status.code(), Some(1));
            assert_eq!(pages(&out).len(), 12 - damaged, "{format} {setting}");
            // A single file is reported by its name.
            let alone = run(&["verify", "--json", text(&files[1])]);
            assert_eq!(alone.status.code(), Some(1), "{format} {setting}: {}", alone.stdout);
        }
    }
}

#[test]
fn a_record_is_told_by_what_is_left_of_it_when_nothing_stands_beside_it() {
    for format in [crate::JSON, crate::CBOR] {
        let folder = tempfile::tempdir().unwrap();
        let files = tree(format, "", folder.path());
        let alone = folder.path().join("alone").join(files[0].strip_prefix(folder.path().join("tree")).unwrap());
        std::fs::create_dir_all(alone.parent().unwrap()).unwrap();
        let mut bytes = std::fs::read(&files[0]).unwrap();
        let at = memchr::memmem::find(&bytes, b"http://h").unwrap();
        bytes[at + 7] = b'j';
        std::fs::write(&alone, &bytes).unwrap();
        let verified = run(&["verify", "--json", text(&alone)]);
        assert_eq!(verdicts(&verified), [(format.name.to_owned(), "damaged".to_owned())]);
        bytes[0] = b'x';
        std::fs::write(&alone, &bytes).unwrap();
        let verified = run(&["verify", "--json", text(&alone)]);
        assert_eq!(verdicts(&verified), [(format.name.to_owned(), "damaged".to_owned())]);
    }
}

#[test]
fn a_body_may_be_anything_a_record_of_its_own_page_too() {
    let folder = tempfile::tempdir().unwrap();
    let mut events: Vec<_> = (0..6).map(|n| events::page(n, format!("<p>{n}</p>"))).collect();
    events.push(events::page(6, ""));
    events.push(events::with_type(7, "application/json", "{\"redirected_url\": null, \"content\":\"\"}"));
    let mut record = Vec::new();
    seine_formats::files::write_event(&events[0], b"made up", &mut record);
    events.push(events::with_type(8, "application/json", record));
    write(crate::HTML, &events, folder.path());
    let verified = run(&["verify", "--json", text(folder.path())]).ok();
    let verdicts = verdicts(&verified);
    assert_eq!(verdicts.len(), events.len());
    assert!(verdicts.iter().all(|(format, _)| format == "FILESYSTEM_HTML"), "{verdicts:?}");
}

#[test]
fn an_archive_of_which_nothing_could_be_read_is_no_success() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("empty")).unwrap();
    std::fs::create_dir(at("odd")).unwrap();
    std::fs::write(at("odd/notes.txt"), "remember the milk").unwrap();
    write(crate::FILES, &[events::page(1, "one")], &at("files"));
    std::fs::create_dir(at("cut")).unwrap();
    let file = std::fs::read_dir(at("files")).unwrap().next().unwrap().unwrap().path();
    std::fs::write(at("cut/crawl_data-1-0.deflate"), &std::fs::read(file).unwrap()[..60]).unwrap();
    for name in ["empty", "odd", "cut"] {
        let from = at(name);
        let out = at(&format!("{name}-out"));
        run(&["cat", text(&from)]).fails_naming(&["no page could be read"]);
        assert_eq!(run(&["verify", text(&from)]).status.code(), Some(1), "{name}");
        run(&["convert", text(&from), text(&out), "--to", "CDR31"]).fails_naming(&["no page could be read"]);
    }
    // Pages that were not selected were still read.
    run(&["cat", text(&at("files")), "--status", "404"]).ok();
}
