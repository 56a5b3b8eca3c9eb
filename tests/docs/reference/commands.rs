//! The help of every command.

use std::fmt::Write;

use super::super::support::program::run;
use super::check;

/// The commands below `words`, from their help.
fn below(help: &str) -> Vec<String> {
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = list.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").map(str::to_owned).collect()
}

fn describe(words: &[String], page: &mut String) -> usize {
    let arguments: Vec<&str> = words.iter().map(String::as_str).chain(["--help"]).collect();
    let help = run(&arguments).ok().stdout;
    let name: Vec<&str> = ["seine"].into_iter().chain(words.iter().map(String::as_str)).collect();
    write!(page, "\n## {}\n\n```text\n{}\n```\n", name.join(" "), help.trim_end()).unwrap();
    let commands = below(&help);
    1 + commands.into_iter().map(|name| describe(&[words, &[name]].concat(), page)).sum::<usize>()
}

#[test]
fn the_commands_are_those_of_the_program() {
    let mut page = "# Commands\n\nThis page is what `--help` prints for each command.\n".to_owned();
    let commands = describe(&[], &mut page);
    assert!(commands > 40, "{commands} commands");
    check("commands.md", &page);
}
