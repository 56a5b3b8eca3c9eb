//! Single values: parsing text, and printing for the user. Each parser's error says what it expected.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use ::config::{Value, ValueKind};

use super::checked::Cookie;
use super::secret::Secret;
use super::yaml;

/// Longer durations are mistakes, and would overflow a clock.
const MAX_DURATION: Duration = Duration::from_secs(100 * 365 * 86_400);

/// The unit of a duration without unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Millis,
    Minutes,
}

pub(super) fn text(value: &Value) -> Result<&str, String> {
    match &value.kind {
        ValueKind::String(text) => Ok(text.trim()),
        _ => Err("a value".into()),
    }
}

/// The words of YAML 1.1, which ACHE's parser accepts.
pub(super) fn boolean(value: &Value) -> Result<bool, String> {
    match text(value).unwrap_or_default().to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" => Ok(true),
        "false" | "no" | "off" => Ok(false),
        _ => Err("true or false".into()),
    }
}

pub(super) fn count(value: &Value, least: u64, most: u64) -> Result<u64, String> {
    let expected = || match most {
        u64::MAX => format!("a whole number from {least} up"),
        _ => format!("a whole number from {least} to {most}"),
    };
    let number = text(value).ok().and_then(|text| text.parse::<u64>().ok()).ok_or_else(expected)?;
    if number < least || number > most { Err(expected()) } else { Ok(number) }
}

pub(super) fn number(value: &Value) -> Result<f64, String> {
    let parsed = text(value).ok().and_then(|text| text.parse::<f64>().ok());
    parsed.filter(|number| number.is_finite()).ok_or_else(|| "a number".into())
}

/// A number in the key's unit, or with `ms`, `s`, `m` (minutes), `h`, `d`.
pub(super) fn duration(value: &Value, unit: Unit, least: Duration) -> Result<Duration, String> {
    let bare = match unit {
        Unit::Millis => "milliseconds",
        Unit::Minutes => "minutes",
    };
    let expected = || {
        format!("a duration such as 500ms, 5s, 2m, 1h or 7d, or a number of {bare}, at least {}", shown_duration(least))
    };
    let (digits, suffix) = split_unit(text(value).map_err(|_| expected())?);
    let millis_each: u64 = match (suffix, unit) {
        ("ms", _) | ("", Unit::Millis) => 1,
        ("s", _) => 1000,
        ("m", _) | ("", Unit::Minutes) => 60_000,
        ("h", _) => 3_600_000,
        ("d", _) => 86_400_000,
        _ => return Err(expected()),
    };
    let millis = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(millis_each)).ok_or_else(expected)?;
    let duration = Duration::from_millis(millis);
    if duration < least || duration > MAX_DURATION { Err(expected()) } else { Ok(duration) }
}

/// Parses a duration of the command line: with a unit, or in milliseconds.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    duration(&Value::from(yaml::plain(text)), Unit::Millis, Duration::ZERO)
        .map_err(|expected| format!("expected {expected}"))
}

/// Parses a size of the command line: with a unit, or in bytes.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    size(&Value::from(yaml::plain(text)), 1).map_err(|expected| format!("expected {expected}"))
}

/// Bytes, or with `kB`, `MB`, `GB`, `TB` (thousands) or `KiB`, `MiB`, `GiB`, `TiB` (1024s); case is ignored.
pub(super) fn size(value: &Value, least: u64) -> Result<u64, String> {
    let expected = || format!("a size such as 64MB or 64MiB, or a number of bytes, at least {}", shown_size(least));
    let (digits, suffix) = split_unit(text(value).map_err(|_| expected())?);
    let bytes_each: u64 = match suffix.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kb" => 1000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        "tib" => 1 << 40,
        _ => return Err(expected()),
    };
    let bytes = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(bytes_each)).ok_or_else(expected)?;
    if bytes < least { Err(expected()) } else { Ok(bytes) }
}

fn split_unit(text: &str) -> (&str, &str) {
    let (digits, suffix) = text.split_at(text.bytes().take_while(u8::is_ascii_digit).count());
    (digits, suffix.trim_start())
}

/// A list of words; a single word is a list of one.
pub(super) fn list(value: &Value) -> Result<Vec<String>, String> {
    let expected = || "a list of words".to_owned();
    match &value.kind {
        ValueKind::Nil => Ok(Vec::new()),
        ValueKind::Array(items) => {
            items.iter().map(|item| text(item).map(str::to_owned).map_err(|_| expected())).collect()
        }
        ValueKind::String(text) => Ok(vec![text.trim().to_owned()]),
        _ => Err(expected()),
    }
}

/// Any mapping. Nested mappings are flattened with dots; the case of names is kept.
pub(super) fn properties(value: &Value) -> Result<BTreeMap<String, String>, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![(String::new(), value)];
    while let Some((name, value)) = open.pop() {
        match &value.kind {
            ValueKind::Table(entries) => {
                for (key, value) in entries {
                    let full = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                    open.push((full, value));
                }
            }
            ValueKind::String(text) if !name.is_empty() => {
                found.insert(name, text.clone());
            }
            ValueKind::Nil if name.is_empty() => {}
            ValueKind::Nil => {
                found.insert(name, String::new());
            }
            _ => return Err("a mapping of names to values".into()),
        }
    }
    Ok(found)
}

/// Host names, each with one IP address or a list.
pub(super) fn hosts(value: &Value) -> Result<BTreeMap<String, Vec<IpAddr>>, String> {
    let expected = || "a mapping of host names to IP addresses, such as {intranet.test: 10.0.0.7}".to_owned();
    let entries = match &value.kind {
        ValueKind::Nil => return Ok(BTreeMap::new()),
        ValueKind::Table(entries) => entries,
        _ => return Err(expected()),
    };
    let addresses = |value| -> Option<Vec<IpAddr>> {
        let parsed: Vec<IpAddr> = list(value).ok()?.iter().map(|word| word.parse().ok()).collect::<Option<_>>()?;
        (!parsed.is_empty()).then_some(parsed)
    };
    entries
        .iter()
        .map(|(name, value)| Some((name.to_ascii_lowercase(), addresses(value)?)))
        .collect::<Option<_>>()
        .ok_or_else(expected)
}

/// ACHE's form: a list of `{domain, cookie, path}`; path is optional.
pub(super) fn cookies(value: &Value) -> Result<Vec<Cookie>, String> {
    let entries = entries(value, "a list of cookies, each {domain: example.com, path: /, cookie: name=value}")?;
    entries.iter().map(cookie).collect()
}

/// The entries of a list; null is an empty list. `form` is an example for the error.
pub(super) fn entries<'n>(value: &'n Value, form: &str) -> Result<&'n [Value], String> {
    match &value.kind {
        ValueKind::Nil => Ok(&[]),
        ValueKind::Array(entries) => Ok(entries),
        _ => Err(form.to_owned()),
    }
}

/// The error for an entry of a list, with its number.
pub(super) fn of_entry(form: &str, index: usize, expected: &str) -> String {
    format!("{form}; entry {}: {expected}", index + 1)
}

fn cookie(value: &Value) -> Result<Cookie, String> {
    let expected = |what: &str| format!("each cookie to have a domain, a cookie and perhaps a path: {what}");
    let ValueKind::Table(entries) = &value.kind else { return Err(expected("this is not a mapping")) };
    let (mut domain, mut path, mut cookie) = (None, "/".to_owned(), None);
    for (name, value) in entries {
        let value = text(value).map_err(|_| expected(&format!("{name} has no value")))?.to_owned();
        match name.as_str() {
            "domain" => domain = Some(value.trim_start_matches('.').to_ascii_lowercase()),
            "path" => path = value,
            "cookie" => cookie = Some(value),
            other => return Err(expected(&format!("{other} is not one of these"))),
        }
    }
    let domain = domain.filter(|domain| !domain.is_empty()).ok_or_else(|| expected("the domain is missing"))?;
    let cookie = cookie.filter(|cookie| !cookie.is_empty()).ok_or_else(|| expected("the cookie is missing"))?;
    if !is_header_value(&cookie) {
        return Err(expected("the cookie has characters that are not allowed in a header"));
    }
    if !path.starts_with('/') {
        return Err(expected("the path does not begin with /"));
    }
    Ok(Cookie { domain, path, cookie: Secret::new(cookie) })
}

/// Printable ASCII, as RFC 9110 wants field values.
pub(super) fn is_header_value(text: &str) -> bool {
    text.bytes().all(|byte| (0x20..0x7f).contains(&byte))
}

pub(super) fn shown_duration(duration: Duration) -> String {
    let millis = duration.as_millis();
    let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s")];
    match units.iter().find(|(each, _)| millis > 0 && millis.is_multiple_of(*each)) {
        Some((each, name)) => format!("{}{name}", millis / each),
        None => format!("{millis}ms"),
    }
}

pub(super) fn shown_size(bytes: u64) -> String {
    let units = [(1u64 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match units.iter().find(|(each, _)| bytes > 0 && bytes.is_multiple_of(*each)) {
        Some((each, name)) => format!("{}{name}", bytes / each),
        None => bytes.to_string(),
    }
}

/// A word as YAML, quoted if necessary. Passwords inside URLs are masked.
pub(super) fn shown_text(text: &str) -> String {
    let text = without_password(text);
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./+=,;:@()".contains(c);
    let reads_back = !text.is_empty()
        && text.chars().all(plain)
        && !text.starts_with(['-', ':', ',', '@', '='])
        && !text.contains(',')
        && !text.ends_with(':')
        && !yaml::is_null(&text);
    if reads_back { text } else { serde_json::Value::String(text).to_string() }
}

/// A list as YAML.
pub(crate) fn shown_list(items: &[String]) -> String {
    let items: Vec<String> = items.iter().map(|item| shown_text(item)).collect();
    format!("[{}]", items.join(", "))
}

/// A mapping as YAML. Values are masked if their names sound secret.
pub(super) fn shown_properties(entries: &BTreeMap<String, String>) -> String {
    let secret = |name: &str| {
        let name = name.to_ascii_lowercase();
        ["password", "secret", "token", "jaas", "credential", "key"].iter().any(|word| name.contains(word))
    };
    let shown = |value: &str, name: &str| if secret(name) { shown_text(Secret::MASK) } else { shown_text(value) };
    let entries: Vec<String> =
        entries.iter().map(|(name, value)| format!("{}: {}", shown_text(name), shown(value, name))).collect();
    format!("{{{}}}", entries.join(", "))
}

pub(super) fn shown_hosts(hosts: &BTreeMap<String, Vec<IpAddr>>) -> String {
    let entries: Vec<String> =
        hosts.iter().map(|(name, ips)| format!("{}: {}", shown_text(name), shown_addresses(ips))).collect();
    format!("{{{}}}", entries.join(", "))
}

fn shown_addresses(ips: &[IpAddr]) -> String {
    let ips: Vec<String> = ips.iter().map(|ip| format!("\"{ip}\"")).collect();
    format!("[{}]", ips.join(", "))
}

/// The key and the value that an option gives for a host's addresses.
pub(crate) fn static_host(name: &str, ips: &[IpAddr]) -> (String, String) {
    (format!("crawler_manager.downloader.static_hosts.{name}"), shown_addresses(ips))
}

pub(super) fn shown_cookies(cookies: &[Cookie]) -> String {
    let one = |cookie: &Cookie| {
        let (domain, path) = (shown_text(&cookie.domain), shown_text(&cookie.path));
        format!("{{domain: {domain}, path: {path}, cookie: {}}}", shown_text(Secret::MASK))
    };
    format!("[{}]", cookies.iter().map(one).collect::<Vec<_>>().join(", "))
}

/// A value for an error message, shortened to one line.
pub(super) fn shown_value(value: &Value) -> String {
    match &value.kind {
        ValueKind::Array(_) => match list(value) {
            Ok(items) => shown_list(&items).chars().take(80).collect(),
            Err(_) => "a list".into(),
        },
        ValueKind::Table(_) => "a mapping".into(),
        ValueKind::Nil => "no value".into(),
        kind => {
            let text = kind.to_string();
            let whole = without_password(&text);
            let short: String = whole.chars().take(60).collect();
            let dots = if short.len() < whole.len() { "…" } else { "" };
            format!("{}{dots}", shown_text(&short))
        }
    }
}

/// A key for an error message, shortened to one line.
pub(super) fn shown_key(name: &str) -> String {
    let short: String = name.chars().take(120).collect();
    short.escape_debug().to_string()
}

/// Masks the password of `joe:secret@host`, with or without a scheme. Text without a colon may be an e-mail address.
fn without_password(text: &str) -> String {
    let start = text.find("://").map_or(0, |scheme| scheme + 3);
    let (before, rest) = text.split_at(start);
    let authority = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest.get(..authority).and_then(|authority| authority.rsplit_once('@')) {
        Some((user, _)) if start > 0 || user.contains(':') => {
            format!("{before}{}{}", Secret::MASK, rest.get(user.len()..).unwrap_or_default())
        }
        _ => text.to_owned(),
    }
}
