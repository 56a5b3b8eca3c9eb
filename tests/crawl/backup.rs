//! Backups of a running crawl, from which the crawl continues. An incomplete backup is never taken for a complete one.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

use crate::small_disk;
use crate::support::program::{Place, Process, Ran, cat, command, count, eventually, free_port, run, stats};
use crate::support::server::Answer;
use crate::support::{Plan, Running, TestSite, counted, links};

/// Many segments and files, which are removed while a backup is taken.
const SMALL: &str = "target_storage.data_format.files.max_file_size: 20KiB\n\
    page_log.segment_size: 64KiB\n\
    page_log.max_size: 1MiB\n";
const PAGES: usize = 400;

fn site() -> TestSite {
    TestSite::start(Plan { pages: PAGES, hosts: 3, ..Plan::default() })
}

fn beside(place: &Place, name: &str) -> PathBuf {
    place.data().with_file_name(name)
}

fn backup(place: &Place, to: &Path) -> Ran {
    run(&["backup".as_ref(), "-o".as_ref(), place.data().as_os_str(), to.as_os_str()])
}

fn restore(from: &Path, to: &Path) -> Ran {
    run(&["restore".as_ref(), from.as_os_str(), "-o".as_ref(), to.as_os_str()])
}

/// `seine crawl` in another folder than the place's own.
fn crawl_in(place: &Place, folder: &Path) -> Command {
    let mut command = command(&["crawl"]);
    command.arg("-c").arg(place.config()).arg("-o").arg(folder).args(["--delay", "1ms"]);
    command
}

fn manifest(backup: &Path) -> Value {
    serde_json::from_slice(&fs::read(backup.join("manifest.json")).unwrap()).unwrap()
}

/// A finished crawl of the whole site, and its backup.
fn at_rest() -> (TestSite, Place, PathBuf) {
    let (site, place) = (site(), Place::with(SMALL));
    Process::start(place.crawl(&site.seeds(), &["--delay", "0"])).wait().ok();
    let to = beside(&place, "backup");
    backup(&place, &to).ok();
    (site, place, to)
}

#[test]
fn taken_while_pages_flow_the_crawl_goes_on_from_it_when_all_else_is_lost() {
    let (site, place) = (site(), Place::with(SMALL));
    site.set_pace(Duration::from_millis(4));
    let process = Process::start(place.crawl(&site.seeds(), &["--delay", "1ms"]));
    let mut taken = Vec::new();
    for number in 1..=6 {
        eventually("pages flow", || site.visits().len() > number * PAGES / 8);
        let to = beside(&place, &format!("backup-{number}"));
        let said = backup(&place, &to).ok();
        assert!(said.stderr.contains("data/files, the output of a sink"), "{}", said.stderr);
        assert!(!manifest(&to)["facts"]["readers"].as_array().unwrap().is_empty());
        taken.push(to);
        // After the backup, as docs/backup.md says.
        let archive = beside(&place, &format!("files-{number}"));
        assert!(command_ok(Command::new("cp").arg("-r").arg(place.data().join("files")).arg(&archive)));
    }
    let asked = site.visits().len();
    assert!(process.kill(), "the crawl was to be under way still");
    assert!(site.pages().len() > asked / 2, "{asked} requests: nothing is left to do");
    fs::remove_dir_all(place.data()).unwrap();
    site.set_pace(Duration::ZERO);

    for (number, from) in (1..).zip(&taken) {
        let folder = beside(&place, &format!("again-{number}"));
        restore(from, &folder).ok();
        run(&["audit".as_ref(), folder.as_os_str()]).ok();
        fs::rename(beside(&place, &format!("files-{number}")), folder.join("files")).unwrap();
        Process::start(crawl_in(&place, &folder)).wait().ok();
        run(&["audit".as_ref(), folder.as_os_str()]).ok();
        let kept = count(cat(&folder.join("files")).iter());
        assert_eq!(kept.keys().cloned().collect::<BTreeSet<_>>(), site.pages(), "from {}", from.display());
        assert_eq!(stats(&folder)["frontier"]["live"], site.pages().len());
    }
}

fn command_ok(command: &mut Command) -> bool {
    command.status().unwrap().success()
}

/// Pages that the sink had not taken are delivered from the copied log.
#[test]
fn what_a_sink_had_not_taken_yet_is_delivered_after_the_restore() {
    let (site, place) = (site(), Place::with("page_log.segment_size: 64KiB\n"));
    let data = place.data();
    let seine = |words: &[&str]| run(&[words, &["-o", data.to_str().unwrap()]].concat());
    let begun = Process::start(place.crawl(&site.seeds(), &["--delay", "0", "--max-pages", "20"]));
    begun.wait().ok();
    seine(&["sinks", "pause", "files"]).ok();
    seine(&["host", "unheard.test", "block"]).ok();
    Process::start(place.crawl(&[], &["--delay", "0", "--patience", "1s"])).wait();
    let pending = place.stats()["sinks"][0]["pending"].as_u64().unwrap();
    assert!(pending > 300, "{pending}");
    let (to, again) = (beside(&place, "backup"), beside(&place, "again"));
    backup(&place, &to).ok();
    fs::create_dir(&again).unwrap();
    restore(&to, &again).ok();
    assert!(command_ok(Command::new("cp").arg("-r").arg(data.join("files")).arg(&again)));
    fs::remove_dir_all(&data).unwrap();

    let asked = site.visits().len();
    let seine = |words: &[&str]| run(&[words, &["-o", again.to_str().unwrap()]].concat());
    assert_eq!(seine(&["orders", "--json"]).ok().json_lines().len(), 2);
    let host = seine(&["host", "http://unheard.test"]).ok().stdout;
    assert!(host.contains("blocked"), "{host}");
    seine(&["sinks", "resume", "files"]).ok();
    Process::start(crawl_in(&place, &again)).wait().ok();
    assert_eq!(site.visits().len(), asked, "everything was fetched before");
    assert_eq!(count(cat(&again.join("files")).iter()).into_keys().collect::<BTreeSet<_>>(), site.pages());
}

/// The destinations may have versions that the backup does not know. A 304 would leave them there.
#[test]
fn after_a_restore_each_page_is_fetched_without_conditions_once() {
    type Asked = Arc<Mutex<Vec<(String, bool)>>>;
    let asked = Asked::default();
    let noted = asked.clone();
    let site = Running::start(
        1,
        counted(move |ask, _| {
            let condition = ask.header("if-none-match");
            noted.lock().unwrap().push((ask.path().to_owned(), condition.is_some()));
            match (ask.path(), condition) {
                ("/" | "/page", Some(_)) => Answer::new(304, ""),
                ("/", None) => Answer::html(links(&["/page"])).header("etag", "\"1\""),
                ("/page", None) => Answer::html("a page").header("etag", "\"1\""),
                _ => Answer::text("").status(404),
            }
        }),
    );
    let place = Place::with("link_storage.recrawl.interval: 1s\n");
    Process::start(place.crawl(&[site.origin(0) + "/"], &["--delay", "0"])).wait().ok();
    let (to, again) = (beside(&place, "backup"), beside(&place, "again"));
    backup(&place, &to).ok();
    restore(&to, &again).ok();
    asked.lock().unwrap().clear();
    let mut command = crawl_in(&place, &again);
    command.arg("--stay");
    let process = Process::start(command);
    let of = |path: &str| -> Vec<bool> {
        let asked = asked.lock().unwrap();
        asked.iter().filter(|(asked, _)| asked == path).map(|(_, has_condition)| *has_condition).collect()
    };
    eventually("each page is fetched three times", || of("/").len() >= 3 && of("/page").len() >= 3);
    process.signal("TERM");
    process.wait().ok();
    for path in ["/", "/page"] {
        assert_eq!(of(path)[..3], [false, true, true], "{path}");
    }
}

/// A file sink without its folder starts again, from what the log still has.
#[test]
fn restored_without_its_archive_a_sink_starts_again() {
    let (_site, place, to) = at_rest();
    let again = beside(&place, "again");
    restore(&to, &again).ok();
    let said = Process::start(crawl_in(&place, &again)).wait().ok().stderr;
    assert!(said.contains("with empty counters") && said.contains("is gone"), "{said}");
    let log = stats(&again)["sinks"][0]["delivered"].as_u64().unwrap();
    assert!(log > 0 && cat(&again.join("files")).len() as u64 == log, "{log}");
    let audit = run(&["audit".as_ref(), again.as_os_str(), "--destinations".as_ref()]).ok();
    assert!(audit.stdout.contains("live pages are not there (seine sinks refill"), "{}", audit.stdout);
}

#[test]
fn a_backup_that_is_damaged_or_not_whole_is_not_restored() {
    let (_site, place, to) = at_rest();
    let again = beside(&place, "again");
    let files: Vec<PathBuf> = manifest(&to)["files"].as_array().unwrap().iter().map(path_of).collect();
    assert!(files.len() > 10, "{files:?}");
    for file in &files {
        let path = to.join(file);
        let whole = fs::read(&path).unwrap();
        let Some(middle) = whole.len().checked_sub(1).map(|last| last / 2) else { continue };
        let mut damaged = whole.clone();
        damaged[middle] ^= 1;
        fs::write(&path, damaged).unwrap();
        restore(&to, &again).fails_naming(&[file.to_str().unwrap(), "SHA-256", "another backup"]);
        fs::write(&path, &whole[..middle]).unwrap();
        restore(&to, &again).fails_naming(&[file.to_str().unwrap(), &format!("has {middle} bytes")]);
        fs::write(&path, whole).unwrap();
        assert!(!again.exists(), "nothing is left behind");
    }
    let lost = to.join(&files[0]);
    fs::rename(&lost, to.join("elsewhere")).unwrap();
    restore(&to, &again).fails_naming(&[files[0].to_str().unwrap(), "is missing"]);
    fs::rename(to.join("elsewhere"), &lost).unwrap();
    fs::rename(to.join("manifest.json"), to.join("elsewhere")).unwrap();
    restore(&to, &again).fails_naming(&["no complete backup", "manifest.json"]);
    fs::rename(to.join("elsewhere"), to.join("manifest.json")).unwrap();
    // A manifest with a path outside the backup.
    let text = fs::read_to_string(to.join("manifest.json")).unwrap();
    fs::write(to.join("manifest.json"), text.replace(files[0].to_str().unwrap(), "../seine.yml")).unwrap();
    restore(&to, &again).fails_naming(&["../seine.yml", "cannot be part of a backup"]);
    fs::write(to.join("manifest.json"), &text).unwrap();

    restore(&to, &place.data()).fails_naming(&["is not empty"]);
    restore(&to, &to.join("inside")).fails_naming(&["is inside"]);
    // The top of a volume, as it is created.
    fs::create_dir_all(again.join("lost+found")).unwrap();
    restore(&to, &again).ok();
    assert!(again.join("lost+found").is_dir());
    run(&["audit".as_ref(), again.as_os_str()]).ok();
}

fn path_of(file: &Value) -> PathBuf {
    file["path"].as_str().unwrap().into()
}

#[test]
fn of_dead_letters_only_their_files_are_copied() {
    let (_site, place, _) = at_rest();
    let letters = place.data().join("files/dead_letters");
    // A killed replay leaves rejected letters, and a partly rewritten file.
    fs::create_dir_all(letters.join("replay/dead_letters")).unwrap();
    for name in ["00000001.tally", "00000002.letters", "00000002.letters.tmp", "replay/dead_letters/00000001.letters"] {
        File::create(letters.join(name)).unwrap();
    }
    let to = beside(&place, "another");
    backup(&place, &to).ok();
    let manifest = manifest(&to);
    let copied = manifest["files"].as_array().unwrap().iter().map(path_of);
    let copied: Vec<_> = copied.filter(|path| path.starts_with("files")).collect();
    assert_eq!(copied, ["00000001.tally", "00000002.letters"].map(|name| Path::new("files/dead_letters").join(name)));
}

/// Without these files, pages sent by a client could not be fetched again if the client is excluded after the restore.
#[test]
fn what_clients_sent_unseen_is_in_the_backup() {
    let (_site, place, _) = at_rest();
    let journals = ["alice.sent", "alice.sent.older", "bob.in_question"];
    let in_clients = |folder: &Path, name: &str| folder.join("clients").join(name);
    fs::create_dir_all(place.data().join("clients")).unwrap();
    for name in journals {
        fs::write(in_clients(&place.data(), name), format!("http://a.example/{name}\n")).unwrap();
    }
    let (to, again) = (beside(&place, "another"), beside(&place, "again"));
    backup(&place, &to).ok();
    restore(&to, &again).ok();
    for name in journals {
        assert_eq!(fs::read_to_string(in_clients(&again, name)).unwrap(), format!("http://a.example/{name}\n"));
    }
}

#[test]
fn a_backup_says_which_passwords_it_holds_and_leaves_them_out_on_request() {
    const PASSWORD: &str = "sesame-open-1234567890";
    const VARIABLES: [&str; 2] = [
        "SEINE__TARGET_STORAGE__DATA_FORMAT__ELASTICSEARCH__REST__PASSWORD",
        "SEINE__TARGET_STORAGE__DATA_FORMAT__KAFKA__PROPERTIES",
    ];
    let (site, place) = (site(), Place::new());
    let mut crawl = place.crawl(&site.seeds()[..1], &["--delay", "0", "--max-pages", "1"]);
    crawl.env(VARIABLES[0], PASSWORD);
    crawl.env(VARIABLES[1], format!("{{sasl.password: {PASSWORD}, bootstrap.servers: '127.0.0.1:1'}}"));
    crawl.env("SEINE__TARGET_STORAGE__DATA_FORMAT__ELASTICSEARCH__REST__USERNAME", "elastic");
    Process::start(crawl).wait().ok();
    let holds = |folder: &Path| {
        let text = fs::read_to_string(folder.join("started-with.json")).unwrap();
        assert!(text.contains("elastic"), "{text}");
        text.contains(PASSWORD)
    };

    let with = beside(&place, "with");
    let said = backup(&place, &with).ok().stderr;
    assert!(VARIABLES.iter().all(|name| said.contains(name)) && said.contains("--without-secrets"), "{said}");
    assert!(!said.contains(PASSWORD) && holds(&with));

    let (without, again) = (beside(&place, "without"), beside(&place, "again"));
    let said = run(&[
        "backup".as_ref(),
        "--without-secrets".as_ref(),
        "-o".as_ref(),
        place.data().as_os_str(),
        without.as_os_str(),
    ]);
    assert!(!said.ok().stderr.contains("SEINE__"));
    assert!(!holds(&without));
    let said = restore(&without, &again).ok().stderr;
    assert!(VARIABLES.iter().all(|name| said.contains(name)), "{said}");
    assert!(!holds(&again));
}

#[test]
fn a_backup_has_a_folder_of_its_own_elsewhere() {
    let (_site, place, to) = at_rest();
    let before = fs::read(to.join("manifest.json")).unwrap();
    backup(&place, &to).fails_naming(&["is not empty"]);
    assert_eq!(fs::read(to.join("manifest.json")).unwrap(), before, "the backup that is there stays");
    let inside = place.data().join("deep/er/backup");
    backup(&place, &inside).fails_naming(&["is inside", "elsewhere"]);
    assert!(!place.data().join("deep").exists());
    let by_a_link = beside(&place, "link");
    std::os::unix::fs::symlink(place.data(), &by_a_link).unwrap();
    backup(&place, &by_a_link.join("backup")).fails_naming(&["is inside"]);
    backup(&place, &place.data()).fails_naming(&["is inside"]);
    let by_its_text = beside(&place, "missing").join("..").join(place.data().file_name().unwrap()).join("backup");
    backup(&place, &by_its_text).fails_naming(&["is inside"]);
    let nothing = Place::new();
    backup(&nothing, &beside(&nothing, "backup")).fails_naming(&["has no crawl"]);
    let permissions = |path: &Path| std::os::unix::fs::PermissionsExt::mode(&fs::metadata(path).unwrap().permissions());
    assert_eq!(permissions(&to) & 0o77, 0, "a backup is for its owner alone");
    assert_eq!(permissions(&to.join("started-with.json")) & 0o77, 0);
}

/// The second last file to copy is a pipe that nobody writes to, so the backup hangs there and is killed.
#[test]
fn one_that_was_killed_half_way_is_none_and_its_folder_can_be_used_again() {
    let (_site, place, _) = at_rest();
    let (to, pipe) = (beside(&place, "killed"), place.data().join("orders.jsonl"));
    assert!(command_ok(Command::new("mkfifo").arg(&pipe)));
    let mut command = command(&["backup"]);
    command.arg("-o").arg(place.data()).arg(&to);
    let process = Process::start(command);
    let mark = to.join("backup.unfinished");
    eventually("the log is copied", || to.join("log").is_dir());
    assert!(process.kill());
    assert!(mark.exists() && !to.join("manifest.json").exists());
    let again = beside(&place, "again");
    restore(&to, &again).fails_naming(&["no complete backup"]);
    fs::remove_file(&pipe).unwrap();
    // A lock may outlive its process by a moment.
    eventually("the same command takes it anew", || backup(&place, &to).status.success());
    assert!(!mark.exists());
    restore(&to, &again).ok();
    run(&["audit".as_ref(), again.as_os_str()]).ok();
}

/// As above, for a running crawl: one backup at a time, and the crawl can end meanwhile as usual.
#[test]
fn a_crawl_that_ends_meanwhile_leaves_no_backup() {
    let (site, place) = (site(), Place::with(SMALL));
    let process = Process::start(place.crawl(&site.seeds(), &["--delay", "0", "--stay"]));
    eventually("it runs", || place.data().join("api.sock").exists());
    assert!(command_ok(Command::new("mkfifo").arg(place.data().join("orders.jsonl"))));
    let to = beside(&place, "backup");
    let mut command = command(&["backup"]);
    command.arg("-o").arg(place.data()).arg(&to);
    let begun = Process::start(command);
    eventually("it has begun", || to.join("backup.unfinished").exists());
    backup(&place, &beside(&place, "another")).fails_naming(&["a backup is being taken already"]);
    backup(&place, &to).fails_naming(&["a backup is being taken already"]);
    // The crawl continues meanwhile.
    eventually("all is fetched", || site.visited_urls().is_superset(&site.pages()));
    process.signal("TERM");
    process.wait().ok();
    begun.wait().fails_naming(&["the connection to the crawl broke"]);
    assert!(!to.exists() && !beside(&place, "another").exists(), "nothing is left behind");
    fs::remove_file(place.data().join("orders.jsonl")).unwrap();
    backup(&place, &to).ok();
    run(&["audit".as_ref(), place.data().as_os_str()]).ok();
}

#[test]
fn a_half_restored_folder_is_no_crawl() {
    let (site, place, to) = at_rest();
    let again = beside(&place, "again");
    restore(&to, &again).ok();
    // As a kill leaves it.
    fs::write(again.join("restore.unfinished"), "").unwrap();
    for words in [&["audit"][..], &["status"], &["crawl", "--seed", &site.seeds()[0]]] {
        run(&[words, &["-o", again.to_str().unwrap()]].concat()).fails_naming(&["is being restored", "seine restore"]);
    }
    restore(&to, &again).ok();
    run(&["audit".as_ref(), again.as_os_str()]).ok();
}

#[test]
fn where_there_is_no_room_nothing_is_left_behind_and_the_crawl_does_not_notice() {
    small_disk::run("backup::backup_onto_a_small_disk", 1);
}

#[test]
#[ignore = "run by where_there_is_no_room_nothing_is_left_behind_and_the_crawl_does_not_notice"]
fn backup_onto_a_small_disk() {
    let Some(disk) = small_disk::here() else { return };
    let (site, place) = (site(), Place::with(SMALL));
    let process = Process::start(place.crawl(&site.seeds(), &["--delay", "0", "--stay"]));
    eventually("all is fetched", || {
        place.data().join("api.sock").exists() && site.visited_urls().is_superset(&site.pages())
    });
    small_disk::fill(&disk, 24 << 10);
    let to = disk.join("backup");
    let said = backup(&place, &to);
    let said = said.fails_naming(&["No space left on device", "another disk"]);
    assert!(!to.exists(), "{}", said.stderr);
    File::create(disk.join("filler")).unwrap();
    // The backup's own folder may be on a disk that has space.
    backup(&place, &beside(&place, "backup")).ok();
    process.signal("TERM");
    process.wait().ok();
    run(&["audit".as_ref(), place.data().as_os_str()]).ok();
    small_disk::done();
}

/// Over the network only with an operator's token. The start configuration, which may contain passwords, goes through
/// no connection.
#[test]
fn a_backup_is_for_who_may_steer_and_its_stream_has_no_secrets() {
    const READ: &str = "looks-and-no-more-1234";
    const OPERATE: &str = "may-do-it-all-12345678";
    let tokens = format!("http.api: {{read_token: {READ}, operate_token: {OPERATE}}}\n");
    let (site, place, port) = (site(), Place::with(&tokens), free_port());
    place.set("http.enabled", "true");
    place.set("http.port", &port.to_string());
    let process = Process::start(place.crawl(&site.seeds(), &["--delay", "0", "--stay"]));
    eventually("it listens", || place.data().join("api.sock").exists());
    let ask = |token: &str| {
        let url = format!("http://127.0.0.1:{port}/api/v1/backup");
        let bearer = format!("Authorization: Bearer {token}");
        Command::new("curl")
            .args(["-sS", "-X", "POST", "-H", &bearer, "-w", "%{http_code}", &url])
            .output()
            .unwrap()
            .stdout
    };
    assert!(String::from_utf8_lossy(&ask(READ)).contains("403"));
    let stream = ask(OPERATE);
    assert!(stream.ends_with(b"200"));
    let has = |word: &[u8]| stream.windows(word.len()).any(|part| part == word);
    assert!(has(b"frontier/urls") && has(b"log/cursors/files.cursor"));
    assert!(!has(OPERATE.as_bytes()) && !has(READ.as_bytes()));
    process.signal("TERM");
    process.wait();
}
