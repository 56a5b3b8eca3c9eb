//! Tells `seine --version` which commit it was built from: `SEINE_COMMIT` when it is set (by a package's or an image's
//! build), else what git says, and only where the build is optimised: a commit must not make every other build anew.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=SEINE_COMMIT");
    println!("cargo::rerun-if-changed=build.rs");
    let told = std::env::var("SEINE_COMMIT").ok().filter(|commit| !commit.is_empty());
    let is_optimised = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let commit = told.or_else(|| if is_optimised { from_git() } else { None });
    println!("cargo::rustc-env=SEINE_COMMIT={}", commit.as_deref().unwrap_or("unknown"));
}

/// None where this folder is not a clone's root: the sources may lie unpacked in another project's.
fn from_git() -> Option<String> {
    if !git(&["rev-parse", "--show-prefix"])?.is_empty() {
        return None;
    }
    // Grows with each commit and each checkout.
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    if Path::new(&log).exists() {
        println!("cargo::rerun-if-changed={log}");
    }
    git(&["rev-parse", "--short=12", "HEAD"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
