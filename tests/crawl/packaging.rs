//! The contents of packages.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::support::program::run;

#[test]
fn the_version_names_commit_and_formats() {
    let text = run(&["--version"]).ok().stdout;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], concat!("seine ", env!("CARGO_PKG_VERSION")));
    assert!(lines[1].starts_with("commit "), "{text}");
    for format in ["page log ", "event ", "frontier "] {
        let number = lines[2].split_once(format).and_then(|(_, behind)| behind.chars().next());
        assert!(number.is_some_and(|digit| digit.is_ascii_digit()), "{text}");
    }
    // One line for `-V`.
    assert_eq!(run(&["-V"]).ok().stdout.lines().collect::<Vec<_>>(), lines[..1]);
}

#[test]
fn each_command_has_a_man_page_and_is_completed() {
    let folder = tempfile::tempdir().unwrap();
    run(&["manual".as_ref(), folder.path().as_os_str()]).ok();
    let read = |path: &str| fs::read_to_string(folder.path().join(path)).unwrap_or_else(|_| panic!("no {path}"));
    let help = run(&["--help"]).ok().stdout;
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // A command's line begins with two spaces; continuation lines are indented further.
    let names = commands.filter(|line| !line.starts_with("   ")).filter_map(|line| line.split_whitespace().next());
    let mut found = 0;
    for name in names.filter(|name| *name != "help") {
        found += 1;
        assert!(read(&format!("man1/seine-{name}.1")).contains(".SH OPTIONS"), "{name}");
        for completions in ["seine.bash", "_seine", "seine.fish"] {
            assert!(read(&format!("completions/{completions}")).contains(name), "{name} in {completions}");
        }
    }
    assert!(found > 10, "{help}");
    assert!(read("man1/seine-dead-letters-list.1").contains("sink"));
    assert!(!folder.path().join("man1/seine-manual.1").exists(), "that command is for packages alone");
}

#[test]
fn a_shell_is_told_what_to_complete() {
    let bash = run(&["completions", "bash"]).ok().stdout;
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("seine.bash");
    fs::write(&script, &bash).unwrap();
    // As the shell does at the second Tab after `seine back`.
    let complete =
        "source \"$1\"; COMP_WORDS=(seine back); COMP_CWORD=1; _seine seine back seine; echo \"${COMPREPLY[@]}\"";
    let output = std::process::Command::new("bash").args(["-c", complete, "bash"]).arg(&script).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(said.trim(), "backup", "{}", String::from_utf8_lossy(&output.stderr));
    for (shell, begins) in [("zsh", "#compdef seine"), ("fish", "# Print an optspec")] {
        assert!(run(&["completions", shell]).ok().stdout.starts_with(begins), "{shell}");
    }
    run(&["completions", "cmd"]).fails_naming(&["possible values", "zsh"]);
}

/// A script of the project, with the test's commands before the machine's in the path.
fn script(name: &str, commands: &[(&str, &str)]) -> (bool, String) {
    let folder = tempfile::tempdir().unwrap();
    for (command, body) in commands {
        let path = folder.path().join(command);
        fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    let ran = Command::new(script).env("PATH", path).output().unwrap();
    (ran.status.success(), String::from_utf8(ran.stdout).unwrap())
}

#[test]
fn an_audit_without_advisories_says_so_in_its_result() {
    let deny = |advisories: &str| {
        let version = "if [ \"$1\" = --version ]; then echo cargo-deny 0.20.2; exit; fi";
        format!("{version}\ncase \"$*\" in *advisories*) {advisories} ;; *) echo licenses ok ;; esac")
    };
    let audit = |git: &str, advisories: &str| {
        script("scripts/audit", &[("cargo-deny", &deny(advisories)), ("cargo", "exit 0"), ("git", git)])
    };
    let (passed, said) = audit("exit 128", "exit 9");
    let last = said.lines().last().unwrap();
    assert!(passed && last.starts_with("audit: INCOMPLETE, advisories NOT CHECKED"), "{said}");
    let (passed, said) = audit("exit 0", "echo advisories ok");
    assert!(passed && said.ends_with("advisories ok\naudit: ok\n"), "{said}");
    assert!(!audit("exit 0", "exit 9").0, "an advisory fails the audit");
}

/// cargo-deny leaves out the crates that others bring, unless it is told otherwise.
#[test]
fn the_audit_looks_for_unmaintained_crates_that_others_bring() {
    let settings = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("deny.toml")).unwrap();
    let advisories = settings.split("\n[").find(|part| part.starts_with("advisories]")).unwrap();
    let set = |line: &str| advisories.lines().any(|it| it == line);
    assert!(set("unmaintained = \"all\"") && set("yanked = \"deny\"") && set("ignore = []"), "{advisories}");
}

#[test]
fn what_a_change_must_pass_ends_with_the_result_of_the_audit() {
    let make = |audit: &str, known: &str, fresh: &str| {
        format!(
            "case \"$*\" in audit) {audit} ;; test) echo 'test result: ok. 3 passed; 0 failed; 1 ignored;' ;; \
             *SEED*) {known} ;; *MINUTES*) {fresh} ;; esac"
        )
    };
    let checked = |audit: &str, known: &str, fresh: &str| script(".ci/run", &[("make", &make(audit, known, fresh))]);
    let (passed, said) = checked("echo audit: INCOMPLETE; echo more", "true", "true");
    assert!(
        passed && said.contains("\n3 passed, 0 failed, 1 skipped\n") && said.ends_with("\naudit: INCOMPLETE\n"),
        "{said}"
    );
    assert!(!checked("exit 1", "true", "true").0, "an audit that fails fails it");
    assert!(!checked("echo audit: passed", "exit 1", "true").0, "a world that must hold fails it");
    let (passed, said) = checked("echo audit: passed", "true", "echo make simulate SEED=7; exit 1");
    assert!(passed && said.ends_with("\nsimulation: fresh worlds broke: make simulate SEED=7\n"), "{said}");
}
