//! `link_storage.recrawl.overrides`: recheck intervals for some hosts and URLs.

use std::fmt::Write;
use std::time::Duration;

use ::config::{Value, ValueKind};
use seine_frontier::pattern;
use seine_policies::revisit::{Override, Which};

use super::values::{Unit, duration, entries, of_entry, shown_duration, shown_text, text};

const FORM: &str = "a list such as [{host: example.com, interval: 1h}, {pattern: \"/archive/\", interval: null}]";

pub(super) fn read(value: &Value) -> Result<Vec<Override>, String> {
    let one = |(index, value)| entry(value).map_err(|expected| of_entry(FORM, index, &expected));
    entries(value, FORM)?.iter().enumerate().map(one).collect()
}

fn entry(value: &Value) -> Result<Override, String> {
    let ValueKind::Table(entries) = &value.kind else { return Err("this is not a mapping".into()) };
    let mut which = Vec::new();
    let (mut interval, mut min_interval, mut max_interval) = (None, None, None);
    for (name, value) in entries {
        let time =
            || duration(value, Unit::Millis, Duration::from_millis(1)).map_err(|it| format!("{name} to be {it}"));
        let word = || text(value).map(str::to_owned).map_err(|_| format!("{name} has no value"));
        match name.as_str() {
            "host" => which.push(Which::Host(word()?.to_ascii_lowercase())),
            "pattern" => {
                let pattern = word()?;
                pattern::check(&pattern)?;
                which.push(Which::Pattern(pattern));
            }
            "interval" if value.kind == ValueKind::Nil => interval = Some(None),
            "interval" => interval = Some(Some(time()?)),
            "min_interval" => min_interval = Some(time()?),
            "max_interval" => max_interval = Some(time()?),
            other => {
                return Err(format!("{other} is not one of host, pattern, interval, min_interval and max_interval"));
            }
        }
    }
    if let (Some(least), Some(most)) = (min_interval, max_interval)
        && least > most
    {
        return Err("its min_interval is longer than its max_interval".into());
    }
    if interval.is_none() && min_interval.is_none() && max_interval.is_none() {
        return Err("it has no interval".into());
    }
    match <[Which; 1]>::try_from(which) {
        Ok([which]) => Ok(Override { which, interval, min_interval, max_interval }),
        Err(_) => Err("either a host or a pattern is needed, not both".into()),
    }
}

pub(super) fn shown(overrides: &[Override]) -> String {
    format!("[{}]", overrides.iter().map(shown_one).collect::<Vec<_>>().join(", "))
}

fn shown_one(one: &Override) -> String {
    let mut out = match &one.which {
        Which::Host(host) => format!("{{host: {}", shown_text(host)),
        Which::Pattern(pattern) => format!("{{pattern: {}", shown_text(pattern)),
    };
    let interval = one.interval.map(|it| it.map_or_else(|| "null".to_owned(), shown_duration));
    let [least, most] = [one.min_interval, one.max_interval].map(|it| it.map(shown_duration));
    for (name, value) in [("interval", interval), ("min_interval", least), ("max_interval", most)] {
        if let Some(value) = value {
            let _ = write!(out, ", {name}: {value}");
        }
    }
    out + "}"
}
