//! Records that are too large are skipped and counted, in bounded memory. Links lead nowhere outside.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use seine_formats::Format;

use crate::support::program::run;
use crate::{events, write};

/// More than the longest line, block or page that is read: 256 MB.
const HUGE: u64 = 280 << 20;
/// More than may be kept in memory, and few enough for a debug build to skip.
const MANY: u64 = 128 << 20;
/// In MB: the program's own memory, and a few of the longest cells.
const LITTLE: u64 = 128;

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Writes `before`, many bytes of `filling`, and `behind`, compressed.
fn huge(before: &[u8], (filling, count): (u8, u64), behind: &[u8], gzip: bool, path: &Path) {
    let mut content = before.chain(std::io::repeat(filling).take(count)).chain(behind);
    let file = std::fs::File::create(path).unwrap();
    let level = flate2::Compression::fast();
    if gzip {
        let mut encoder = flate2::write::GzEncoder::new(file, level);
        std::io::copy(&mut content, &mut encoder).unwrap();
        encoder.finish().unwrap();
    } else {
        let mut encoder = flate2::write::ZlibEncoder::new(file, level);
        std::io::copy(&mut content, &mut encoder).unwrap();
        encoder.finish().unwrap();
    }
}

/// Runs the program; returns its output and its peak memory in MB.
fn measured(arguments: &[&str]) -> (String, Option<i32>, u64) {
    let script = "import resource, subprocess, sys\n\
        ran = subprocess.run(sys.argv[1:])\n\
        print('PEAK', resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)\n\
        sys.exit(ran.returncode)";
    let ran =
        Command::new("python3").args(["-c", script, env!("CARGO_BIN_EXE_seine")]).args(arguments).output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    let peak = said.lines().find_map(|line| line.strip_prefix("PEAK ")).expect("a figure").parse().unwrap();
    (said, ran.status.code(), peak)
}

/// Format, file, content before and after, and the memory limit.
type Case = (Format, &'static str, Vec<u8>, u8, Vec<u8>, u64);

fn cases() -> [Case; 6] {
    let record = b"{\"url\":\"http://a.example/\",\"content\":\"\"}\n";
    let row = b"\"{\"\"original_url\"\":\"\"http://a.example/\"\"}\"\r\n";
    let tianwang = b"version: 1.0\nurl: http://a.example/\ndate: x\nlength: 2\n\nab\n";
    let warc = b"WARC/1.1\r\nWARC-Type: warcinfo\r\nContent-Length: 0\r\n\r\n\r\n\r\n";
    let head = format!("version: 1.0\nurl: x\ndate: x\nlength: {HUGE}\n\n");
    let block = format!("WARC/1.1\r\nWARC-Type: response\r\nContent-Length: {HUGE}\r\n\r\n");
    let name = "a.example/http%3A%2F%2Fa.example%2F";
    [
        (crate::FILES, "junk.gz", record.to_vec(), b'x', [b"\n", &record[..]].concat(), LITTLE),
        (
            crate::FILES,
            "line.gz",
            [&record[..], b"{\"url\":\""].concat(),
            b'x',
            [b"\"}\n", &record[..]].concat(),
            256 + LITTLE,
        ),
        (
            crate::WEB_INDEX,
            "cell.gz",
            [&row[..], b"\"{\"\"original_url\"\":\"\""].concat(),
            b'x',
            [b"\"\"}\"\r\n", &row[..]].concat(),
            LITTLE,
        ),
        (
            crate::TIANWANG,
            "data.gz",
            [&tianwang[..], head.as_bytes()].concat(),
            b'x',
            [b"\n", &tianwang[..]].concat(),
            LITTLE,
        ),
        (
            crate::WARC,
            "block.gz",
            [&warc[..], block.as_bytes()].concat(),
            b'x',
            [b"\r\n\r\n", &warc[..]].concat(),
            LITTLE,
        ),
        (crate::HTML, name, b"<html>".to_vec(), b'x', Vec::new(), LITTLE),
    ]
}

#[test]
fn what_is_too_large_takes_no_memory_and_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("a.example")).unwrap();
    for (format, name, before, filling, behind, most) in cases() {
        let path = folder.path().join(name);
        let count = if matches!(name, "junk.gz" | "cell.gz") { MANY } else { HUGE };
        huge(&before, (filling, count), &behind, format != crate::HTML, &path);
        let (path, out) = (text(&path), folder.path().join("out"));
        for arguments in [&["verify", path][..], &["cat", path], &["recover", path, text(&out)]] {
            if format == crate::HTML && arguments[0] == "recover" {
                continue;
            }
            let (said, status, peak) = measured(arguments);
            assert_eq!(status, Some(1), "{format}: {arguments:?}: {said}");
            assert!(peak <= most, "{format}: {arguments:?} took {peak} MB: {said}");
        }
        // The record after it was read.
        if [crate::FILES, crate::WEB_INDEX, crate::TIANWANG].contains(&format) {
            assert_eq!(run(&["cat", path]).json_lines().len(), 2, "{format}");
            assert_eq!(run(&["cat", text(&out)]).json_lines().len(), 2, "{format}: recovered");
        }
        let _ = std::fs::remove_file(&out);
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn a_body_that_is_cut_where_it_decodes_to_too_much_is_no_success() {
    let folder = tempfile::tempdir().unwrap();
    let packed = folder.path().join("packed");
    huge(b"<title>bomb</title>", (b'x', HUGE), b"", true, &packed);
    let mut event = events::page(1, std::fs::read(&packed).unwrap());
    events::response(&mut event).headers.push("content-encoding", "gzip");
    write(crate::WARC, &[event], &folder.path().join("warc"));
    let ran = run(&["cat", text(&folder.path().join("warc"))])
        .fails_naming(&["has more than 268435456 bytes after decompression"]);
    assert_eq!(ran.json_lines()[0]["size"], 268_435_456_u64, "what was decoded is there");
}

#[test]
fn line_ends_without_end_are_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let record = b"{\"url\":\"http://a.example/\",\"content\":\"\"}\n";
    let row = b"\"{\"\"original_url\"\":\"\"http://a.example/\"\"}\"\r\n";
    for (name, record) in [("lines.gz", &record[..]), ("rows.gz", row)] {
        let path = folder.path().join(name);
        huge(record, (b'\n', MANY), record, true, &path);
        for arguments in [&["verify", text(&path)][..], &["cat", text(&path)]] {
            let (said, status, peak) = measured(arguments);
            assert_eq!(status, Some(0), "{said}");
            assert!(peak <= LITTLE, "{arguments:?} took {peak} MB");
        }
        let out = folder.path().join("out");
        let (said, status, peak) = measured(&["recover", text(&path), text(&out)]);
        assert_eq!((status, said.contains("2 records")), (Some(0), true), "{said}");
        assert!(peak <= LITTLE, "recover took {peak} MB");
        std::fs::remove_file(out).unwrap();
    }
}

#[test]
fn links_are_not_followed_out_of_an_archive() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write(crate::FILES, &[events::page(1, "one")], &at("archive/files"));
    write(crate::FILES, &[events::page(2, "secret")], &at("elsewhere"));
    let file_in = |name: &str| std::fs::read_dir(at(name)).unwrap().next().unwrap().unwrap().path();
    // Links within the archive are followed.
    symlink(file_in("archive/files"), at("archive/again.deflate")).unwrap();
    assert_eq!(run(&["cat", text(&at("archive"))]).ok().json_lines().len(), 2);
    symlink(file_in("elsewhere"), at("archive/out.deflate")).unwrap();
    symlink(at("elsewhere"), at("archive/folder")).unwrap();
    for name in ["cat", "verify"] {
        let ran = run(&[name, text(&at("archive"))]).fails_naming(&["out.deflate", "leads out of the folder"]);
        assert!(!ran.stdout.contains("http://h2.example/"), "{}", ran.stdout);
    }
    assert_eq!(run(&["cat", text(&at("archive/out.deflate"))]).ok().json_lines().len(), 1, "named by itself");

    // A page of a pagestore, and its folder.
    write(crate::PAGESTORE, &[events::page(1, "one"), events::page(2, "two")], &at("store"));
    let contents = walkdir::WalkDir::new(at("store")).sort_by_file_name().into_iter().flatten();
    let contents: Vec<_> = contents.filter(|it| it.file_name() == "contents.html").map(|it| it.into_path()).collect();
    std::fs::write(at("secret"), "secret").unwrap();
    std::fs::remove_file(&contents[0]).unwrap();
    symlink(at("secret"), &contents[0]).unwrap();
    let moved = at("moved");
    std::fs::rename(contents[1].parent().unwrap(), &moved).unwrap();
    symlink(&moved, contents[1].parent().unwrap()).unwrap();
    let ran = run(&["cat", "--content", text(&at("store"))]).fails_naming(&["leads out of the store"]);
    assert_eq!(ran.stdout, "");
}

/// On a terminal, progress is shown even before the first record. Standard output has only the pages.
#[test]
fn how_far_reading_is_shows_before_the_first_record() {
    let folder = tempfile::tempdir().unwrap();
    let record = b"{\"url\":\"http://a.example/\",\"content\":\"\"}\n";
    let gzip = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut encoder, bytes).unwrap();
        encoder.finish().unwrap()
    };
    // Data that takes a moment to read: the same member many times.
    let ends = gzip(&vec![b'\n'; 32 << 20]);
    let members = if cfg!(debug_assertions) { 4 } else { 64 };
    let file = folder.path().join("a.json.gz");
    std::fs::write(&file, [ends.repeat(members), gzip(&record.repeat(2))].concat()).unwrap();
    for command in ["cat", "verify", "convert", "recover"] {
        let (out, to) = (folder.path().join(format!("{command}.out")), folder.path().join(command));
        let more = match command {
            "convert" => format!("{} --to CDR31", to.display()),
            "recover" => to.display().to_string(),
            _ => String::new(),
        };
        let program = env!("CARGO_BIN_EXE_seine");
        let line = format!("{program} {command} --format FILES {} {more} > {}", file.display(), out.display());
        let ran = Command::new("script").args(["-qec", &line, "/dev/null"]).stdin(Stdio::null()).output().unwrap();
        let shown = String::from_utf8_lossy(&ran.stdout);
        assert!(ran.status.success(), "{command}: {shown}");
        assert!(shown.contains("0 pages  ") || shown.contains("0 records  "), "{command}: {shown}");
        let out = std::fs::read_to_string(&out).unwrap();
        assert!(!out.contains(" read  "), "{command}: {out}");
        if command == "cat" {
            assert_eq!(out.lines().filter(|line| line.starts_with("{\"url\":")).count(), out.lines().count());
            assert_eq!(out.lines().count(), 2, "{out}");
        }
    }
}
