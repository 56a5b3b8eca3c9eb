//! A network for one test: the other half of the test runs in a process in a network namespace with only loopback.

use std::process::Command;

const DONE: &str = "the whole scenario has run";
const HERE: &str = "SEINE_TEST_NETWORK";

/// Runs `scenario`, an ignored test of this binary by its full name, in a network of its own.
pub fn run(scenario: &str) {
    let is_given = |flags: &&str| {
        let tried = Command::new("unshare").args([flags, "ip", "link", "set", "lo", "up"]).output();
        tried.is_ok_and(|output| output.status.success())
    };
    let Some(flags) = ["-n", "-rn"].into_iter().find(is_given) else {
        // Visible with --nocapture. In CI this runs as root.
        println!("SKIPPED: no network of its own (unshare -n or -rn, ip of iproute2): run this test as root");
        return;
    };
    let output = Command::new("unshare")
        .args([flags, "sh", "-c", r#"ip link set lo up && exec "$@""#, "sh"])
        .arg(std::env::current_exe().expect("this binary"))
        .args([scenario, "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        .env(HERE, "1")
        .output()
        .expect("unshare is there");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains(DONE), "{said}");
}

/// In the scenario: whether it has a network of its own. False if it is run directly.
pub fn is_here() -> bool {
    std::env::var_os(HERE).is_some()
}

/// Runs `ip` with these arguments, separated by blanks.
#[track_caller]
pub fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split(' ')).status();
    assert!(status.expect("ip is there").success(), "ip {arguments}");
}

/// Marks the scenario as successful.
pub fn done() {
    println!("{DONE}");
}
