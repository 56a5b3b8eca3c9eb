//! The output of a quiet crawl.

use std::process::Command;
use std::time::Duration;

use crate::sites::server::Answer;

use crate::support::site;

#[test]
fn quiet_is_quiet_for_longer_than_a_moment() {
    // Longer than the interval between progress lines.
    let site = site(|ask| match ask.path() {
        "/" => Answer::html("page").after(Duration::from_millis(5500)),
        _ => Answer::new(404, ""),
    });
    let folder = tempfile::tempdir().unwrap();
    let done = Command::new(env!("CARGO_BIN_EXE_seine"))
        .args(["crawl", "--quiet", "--delay", "0", "--allow-private", "--sink", "void", "--seed"])
        .arg(format!("{}/", site.origin(0)))
        .arg("-o")
        .arg(folder.path())
        .env("SEINE__LOGGING__FILTER", "warn")
        .output()
        .unwrap();
    assert!(done.status.success());
    assert_eq!((String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr)), ("".into(), "".into()));
}
