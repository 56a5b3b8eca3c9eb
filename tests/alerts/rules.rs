//! Configuration and rules, checked with Prometheus's own tool.

use std::process::Command;

use crate::prometheus::programs;
use crate::{project_file, text_of_file};

fn promtool(arguments: &[&str]) -> String {
    let mut command = Command::new(programs().join("promtool"));
    let output = command.args(arguments).current_dir(project_file("config/prometheus")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "promtool {arguments:?}: {said}");
    said.into_owned()
}

pub fn alert_names() -> Vec<String> {
    let rules = text_of_file("config/prometheus/alerts.yml");
    rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).map(str::to_owned).collect()
}

#[test]
fn the_configuration_and_its_rules_are_right() {
    let said = promtool(&["check", "config", "prometheus.yml"]);
    assert!(said.contains("1 rule files found"), "{said}");
    let said = promtool(&["check", "rules", "alerts.yml"]);
    assert!(said.contains(&format!("{} rules found", alert_names().len())), "{said}");
}

#[test]
fn every_alert_has_its_cases_and_they_pass() {
    promtool(&["test", "rules", "alerts_test.yml"]);
    let cases = text_of_file("config/prometheus/alerts_test.yml");
    for name in alert_names() {
        let is_tested =
            [format!("alertname: {name}"), format!("alertname=\"{name}\"")].iter().any(|it| cases.contains(it));
        assert!(is_tested, "no case speaks of {name}");
    }
}

#[test]
fn every_alert_says_what_it_means_and_what_to_do() {
    let rules = text_of_file("config/prometheus/alerts.yml");
    for rule in rules.split("- alert: ").skip(1) {
        let name = rule.lines().next().unwrap();
        for part in ["severity: ", "summary: ", "description: ", "action: "] {
            assert!(rule.contains(part), "{name} has no {part}");
        }
    }
}
