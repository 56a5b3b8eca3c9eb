//! The configuration while keys are read into it, with the checks of single keys.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use seine_formats::stored_fields::{Field, Stored};
use seine_frontier::{ScopeRule, pattern};
use seine_parse::page::preferences::Purpose;
use seine_parse::preferences::terms;
use seine_parse::requisites::Requisites;

use super::checked::{Canonical, Config, ElasticConfig, Redirects, Walls};
use super::error::Problem;
use super::kafka_properties;
use super::secret::Secret;
use super::sinks::{self, SinksDraft};
use super::values::is_header_value;

/// A body of this size fits into a record of the page log (256 MiB), together with the headers of all its redirects.
const MAX_BODY_BYTES: u64 = 200 << 20;

/// The values of the keys, before keys that belong together are joined.
#[derive(Clone)]
pub(super) struct Draft {
    pub config: Config,
    pub use_scope: bool,
    pub outlinks: bool,
    pub max_depth: Option<u16>,
    pub depth_classifier: bool,
    pub finds_duplicates: bool,
    pub near_within: u8,
    /// Set by the link classifier: links have scores, and the scores are learned.
    pub ranks: bool,
    pub learns: bool,
    pub online_learning: bool,
    pub sinks: SinksDraft,
    pub elastic: ElasticConfig,
    /// From the deprecated key `host`.
    pub transport_host: Option<url::Url>,
    pub http_enabled: bool,
    pub http_host: IpAddr,
    pub http_port: u16,
    /// Notes of the last setter for the user.
    pub notes: Vec<String>,
}

/// An empty draft, which the table of keys fills.
impl Default for Draft {
    fn default() -> Self {
        Draft {
            config: Config::empty(),
            use_scope: false,
            outlinks: false,
            max_depth: None,
            depth_classifier: false,
            finds_duplicates: false,
            near_within: 0,
            ranks: false,
            learns: false,
            online_learning: false,
            sinks: SinksDraft::default(),
            elastic: ElasticConfig::default(),
            transport_host: None,
            http_enabled: false,
            http_host: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            http_port: 0,
            notes: Vec::new(),
        }
    }
}

impl Draft {
    /// Joins the keys that belong together.
    pub(super) fn finish(mut self) -> (Config, Vec<String>) {
        self.focus();
        let config = &mut self.config;
        config.frontier.max_depth = match (self.outlinks, self.max_depth) {
            (false, _) => Some(0),
            (true, None) if self.depth_classifier => Some(0),
            (true, depth) => depth,
        };
        config.frontier.duplicates = self.finds_duplicates.then_some(self.near_within);
        if !self.use_scope {
            config.scope.rule = ScopeRule::Any;
        }
        let warc = &mut self.sinks.options.warc;
        warc.user_agent = config.fetch.user_agent.header();
        warc.obeys_robots = config.fetch.obey_robots;
        warc.operator = warc.operator.take().or_else(|| config.fetch.user_agent.email.clone());
        self.config.http.listen = self.http_enabled.then_some(SocketAddr::new(self.http_host, self.http_port));
        let problems = sinks::join(&mut self);
        // Cookies are kept only if a sink archives requests.
        let formats = self.config.sinks.iter().filter_map(|sink| sink.format);
        let keeps_requests = formats.map(|format| format.holds(Field::Exchange)).any(|held| held == Stored::Complete);
        self.config.fetch.archive_credentials &= keeps_requests;
        (self.config, problems)
    }
}

/// Checks for values that are right alone and wrong together.
pub(super) fn contradictions(config: &Config) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut add = |keys, problem: &str| problems.push(Problem::Together { keys, problem: problem.into() });
    if config.frontier.backoff_base > config.frontier.backoff_max {
        add(
            "link_storage.scheduler.backoff_base and backoff_max",
            "the first back-off is longer than the longest one; raise backoff_max",
        );
    }
    let revisit = &config.frontier.revisit;
    if revisit.min_interval > revisit.max_interval {
        add(
            "link_storage.recrawl.min_interval and max_interval",
            "min_interval is longer than max_interval; raise max_interval",
        );
    }
    if config.log.segment_bytes > config.log.max_bytes / 2 {
        add(
            "page_log.segment_size and page_log.max_size",
            "the log needs room for at least two segments; raise max_size or lower segment_size",
        );
    }
    if config.fetch.max_body_bytes > MAX_BODY_BYTES {
        add(
            "crawler_manager.downloader.max_body_size and the page log",
            "an event of the log holds a body of at most 200 MiB; lower max_body_size",
        );
    }
    let mut skipping = config.sinks.iter().filter(|sink| sink.upkeep.skip_duplicates);
    if skipping.next().is_some() && config.frontier.duplicates.is_none() {
        add(
            "target_storage.data_format.*.skip_duplicates and duplicates.enabled",
            "Seine must detect duplicates so that a destination can skip them; set duplicates.enabled: true",
        );
    }
    for sink in &config.sinks {
        for (keys, problem) in (sink.destination.row().contradictions)(&sink.destination) {
            add(keys, problem);
        }
    }
    problems
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

fn is_plain_name(text: &str) -> bool {
    (1..=64).contains(&text.len()) && !text.starts_with('.') && text.chars().all(is_plain)
}

pub(super) fn set_crawler_id(draft: &mut Draft, id: &str) -> Result<(), String> {
    if !is_plain_name(id) {
        return Err("1 to 64 letters, digits, `-`, `_` and `.`, not beginning with `.`".into());
    }
    draft.config.crawler_id = id.to_owned();
    Ok(())
}

/// Converts each word of a list. The error names the first word that is not allowed, and what is expected.
fn set_each<C: FromIterator<T>, T>(
    target: &mut C,
    words: &[String],
    expected: &str,
    meaning: impl Fn(&str) -> Option<T>,
) -> Result<(), String> {
    let meant = words.iter().map(|word| meaning(word).ok_or_else(|| format!("{expected}; {word} is not valid")));
    meant.collect::<Result<C, String>>().map(|meant| *target = meant)
}

pub(super) fn set_scope_hosts(draft: &mut Draft, hosts: Vec<String>) -> Result<(), String> {
    let host = |text: &str| url::Host::parse(text).ok().map(|_| text.to_ascii_lowercase());
    set_each(&mut draft.config.scope.hosts, &hosts, "host names without scheme, port or path", host)
}

pub(super) fn set_purposes(draft: &mut Draft, words: Vec<String>) -> Result<(), String> {
    let purpose = |word: &str| Purpose::ALL.into_iter().find(|purpose| purpose.name() == word);
    let expected = format!("some of {}", Purpose::ALL.map(Purpose::name).join(", "));
    set_each(&mut draft.config.scope.purposes.declared, &words, &expected, purpose)
}

pub(super) fn set_licenses(draft: &mut Draft, urls: Vec<String>) -> Result<(), String> {
    set_each(&mut draft.config.scope.purposes.licenses, &urls, "absolute http or https URLs", terms)
}

pub(super) fn set_patterns(target: &mut Vec<String>, patterns: Vec<String>) -> Result<(), String> {
    for pattern in &patterns {
        pattern::check(pattern)?;
    }
    *target = patterns;
    Ok(())
}

pub(super) fn set_requisites(draft: &mut Draft, names: Vec<String>) -> Result<(), String> {
    let mut wanted = Requisites::default();
    if let Some(odd) = names.iter().find(|name| !wanted.want(name)) {
        return Err(format!("any of images, styles, scripts, media; {odd} is not one of them"));
    }
    draft.config.scope.requisites = wanted;
    Ok(())
}

pub(super) fn set_drop_parameters(draft: &mut Draft, patterns: Vec<String>) -> Result<(), String> {
    let pattern = |text: &str| {
        let name = text.strip_suffix('*').unwrap_or(text);
        let is_name = !name.is_empty() && name.bytes().all(|it| it.is_ascii_graphic() && !b"*&=#?".contains(&it));
        is_name.then(|| text.to_owned())
    };
    let expected = "names of parameters such as fbclid, or prefixes such as utm_*";
    set_each(&mut draft.config.scope.drop_parameters, &patterns, expected, pattern)
}

pub(super) fn set_obey_robots(draft: &mut Draft, obey: bool) {
    draft.config.fetch.obey_robots = obey;
    if !obey {
        draft.notes.push("Seine does not obey robots.txt, as configured; crawl only sites that allow it".into());
    }
}

/// The table of keys checks the words of this key and the next two.
pub(super) fn set_redirects(draft: &mut Draft, word: &str) {
    draft.config.frontier.redirects = if word == "follow" { Redirects::Follow } else { Redirects::First };
}

pub(super) fn set_canonical(draft: &mut Draft, word: &str) {
    draft.config.frontier.canonical = if word == "obey" { Canonical::Obey } else { Canonical::Ignore };
}

pub(super) fn set_walls(draft: &mut Draft, word: &str) {
    draft.config.fetch.walls = if word == "deliver" { Walls::Deliver } else { Walls::Hold };
}

pub(super) fn set_mime_types(draft: &mut Draft, types: Vec<String>) -> Result<(), String> {
    let is_token = |part: &str| {
        part == "*" || !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "!#$&-^_.+".contains(c))
    };
    let media_type = |text: &str| {
        let (kind, sub) = text.split_once('/')?;
        (is_token(kind) && is_token(sub)).then(|| text.to_ascii_lowercase())
    };
    set_each(&mut draft.config.fetch.mime_types, &types, "media types such as text/html or image/*", media_type)
}

/// IP addresses with or without a port; the default is 53.
pub(super) fn set_dns_servers(draft: &mut Draft, servers: Vec<String>) -> Result<(), String> {
    let address = |text: &str| match text.parse::<IpAddr>() {
        Ok(ip) => Some(SocketAddr::new(ip, 53)),
        Err(_) => text.parse::<SocketAddr>().ok(),
    };
    let expected = "addresses of name servers such as 192.0.2.53, 192.0.2.53:5353 or [2001:db8::53]:53";
    set_each(&mut draft.config.fetch.dns_servers, &servers, expected, address)
}

pub(super) fn set_agent_name(draft: &mut Draft, name: &str) -> Result<(), String> {
    if name.is_empty() || !name.chars().all(is_plain) {
        return Err("letters, digits, `-`, `_` and `.` (RFC 9309's product token)".into());
    }
    draft.config.fetch.user_agent.name = name.to_owned();
    Ok(())
}

pub(super) fn set_agent_part(target: &mut Option<String>, value: Option<&str>) -> Result<(), String> {
    if value.is_some_and(|text| text.is_empty() || !is_header_value(text)) {
        return Err("printable ASCII characters, as in a header".into());
    }
    *target = value.map(str::to_owned);
    Ok(())
}

pub(super) fn set_warc_operator(draft: &mut Draft, name: Option<&str>) -> Result<(), String> {
    if name.is_some_and(|text| text.trim().is_empty() || text.chars().any(char::is_control)) {
        return Err("a name on one line".into());
    }
    draft.sinks.options.warc.operator = name.map(str::to_owned);
    Ok(())
}

/// Kafka's own rule for names (`org.apache.kafka.common.internals.Topic`).
pub(super) fn set_kafka_topic(draft: &mut Draft, name: Option<&str>) -> Result<(), String> {
    let name = name.unwrap_or_default();
    if name.len() > 249 || matches!(name, "." | "..") || !name.chars().all(is_plain) {
        return Err("a topic's name: 1 to 249 letters, digits, `-`, `_` and `.`".into());
    }
    draft.sinks.kafka.topic = name.to_owned();
    Ok(())
}

pub(super) fn set_kafka_properties(draft: &mut Draft, given: BTreeMap<String, String>) -> Result<(), String> {
    draft.sinks.kafka.properties = kafka_properties::translate(&given, &mut draft.notes)?;
    Ok(())
}

pub(super) fn set_http_host(draft: &mut Draft, host: &str) -> Result<(), String> {
    draft.http_host = match host {
        "localhost" => IpAddr::V4(Ipv4Addr::LOCALHOST),
        _ => {
            host.trim_matches(['[', ']']).parse().map_err(|_| "an IP address, such as 127.0.0.1 or ::, or localhost")?
        }
    };
    Ok(())
}

/// `NAME:TOKEN`, separated by blanks or newlines.
pub(super) fn set_clients(clients: &mut Vec<(String, Secret)>, text: Option<&str>) -> Result<(), String> {
    const EXPECTED: &str = "NAME:TOKEN, separated by blanks or newlines";
    let mut read: Vec<(String, Secret)> = Vec::new();
    for entry in text.unwrap_or_default().split_whitespace() {
        let (name, token) = entry.split_once(':').ok_or_else(|| format!("{EXPECTED}; an entry has no colon"))?;
        if !is_plain_name(name) {
            return Err(format!("{EXPECTED}; a name has up to 64 letters, digits, dots, hyphens and underscores"));
        }
        if read.iter().any(|(other, _)| other == name) {
            return Err(format!("{EXPECTED}; {name} is listed twice"));
        }
        let secret =
            secret_token(token).map_err(|expected| format!("{EXPECTED}; as the token of {name} {expected}"))?;
        if let Some((other, _)) = read.iter().find(|(_, known)| *known == secret) {
            return Err(format!("{EXPECTED}; {name} and {other} have the same token"));
        }
        read.push((name.to_owned(), secret));
    }
    *clients = read;
    Ok(())
}

pub(super) fn set_token(token: &mut Option<Secret>, text: Option<&str>) -> Result<(), String> {
    *token = text.map(secret_token).transpose()?;
    Ok(())
}

/// The token must be long enough that nobody can guess it.
fn secret_token(text: &str) -> Result<Secret, String> {
    const SHORTEST: usize = 16;
    match text.len() >= SHORTEST && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        true => Ok(Secret::new(text)),
        false => Err(format!("{SHORTEST} or more letters, digits and signs, such as `openssl rand -hex 32` prints")),
    }
}

pub(super) fn set_log_filter(draft: &mut Draft, filter: &str) -> Result<(), String> {
    if let Err(error) = tracing_subscriber::EnvFilter::builder().parse(filter) {
        return Err(format!("a filter such as info or info,seine::fetch=debug ({error})"));
    }
    draft.config.logging.filter = filter.to_owned();
    Ok(())
}
