//! Sinks: `target_storage.data_formats` and its longer form `target_storage.sinks`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ::config::{Value, ValueKind};
use seine_formats::filesystem::Naming;
use seine_formats::options::Options;
use seine_formats::{Format, files, tianwang, warc};

use super::checked::{KafkaConfig, Removed, STDOUT, SinkConfig, Unchanged, Upkeep};
use super::destinations::{self, Kind};
use super::draft::Draft;
use super::keys::Key;
use super::secret_file;
use super::values;

/// The keys of sinks while they are read.
#[derive(Clone, Default)]
pub(super) struct SinksDraft {
    /// From `data_formats`.
    short: Vec<Wanted>,
    /// From `target_storage.sinks`.
    long: Vec<Long>,
    pub options: Options,
    pub sizes: Sizes,
    pub compression_level: u32,
    pub naming: Naming,
    pub pagestore_base: Option<PathBuf>,
    pub kafka: KafkaConfig,
    pub kafka_format: Option<Format>,
    /// By the name of the destination.
    upkeep: BTreeMap<&'static str, Upkeep>,
}

/// Maximum sizes of rolling files.
#[derive(Clone, Default)]
pub(super) struct Sizes {
    pub files: u64,
    pub warc: u64,
    pub tianwang: u64,
    /// For all other formats.
    pub records: u64,
}

#[derive(Clone, PartialEq)]
struct Wanted {
    name: String,
    destination: &'static Kind,
    format: Option<Format>,
}

/// An entry of `target_storage.sinks`.
#[derive(Clone)]
struct Long {
    wanted: Wanted,
    options: Vec<(&'static Key, Value)>,
}

const GROUP: &str = "target_storage.data_format.";
/// The group of keys that several formats share.
const RECORDS: &str = "records";

impl SinksDraft {
    /// Settings of a destination.
    pub(super) fn upkeep(&mut self, destination: &'static str) -> &mut Upkeep {
        self.upkeep.entry(destination).or_default()
    }
}

impl Upkeep {
    /// The table of keys checks the words of this key and the next.
    pub(super) fn set_unchanged(&mut self, word: &str) {
        self.unchanged = match word {
            "skip" => Unchanged::Skip,
            "touch" => Unchanged::Touch,
            _ => Unchanged::Send,
        };
    }

    pub(super) fn set_removed(&mut self, word: &str) {
        self.removed = match word {
            "delete" => Removed::Delete,
            "tombstone" => Removed::Tombstone,
            "event" => Removed::Event,
            _ => Removed::Keep,
        };
    }
}

pub(super) fn set_from_archive(draft: &mut Draft, names: Vec<String>) -> Result<(), String> {
    match names.iter().any(|name| name.trim().is_empty()) {
        true => Err("files, folders, patterns, or kafka://HOST:PORT/TOPIC".into()),
        false => {
            draft.config.from_archive = names;
            Ok(())
        }
    }
}

pub(super) fn set_formats(draft: &mut Draft, names: Vec<String>) -> Result<(), String> {
    let words: Vec<String> = sink_words().iter().map(|(word, _)| word.to_ascii_uppercase()).collect();
    let available = format!("one or several of {}", words.join(", "));
    let mut wanted: Vec<Wanted> = Vec::new();
    for name in names {
        let Some(found) = short(&name) else {
            let name = name.to_ascii_uppercase();
            return Err(match name.as_str() {
                "ROCKSDB" => {
                    format!("{available}; {name} is not supported, so its pages would be lost")
                }
                _ => format!("{available}; {name} is not one of them"),
            });
        };
        if wanted.contains(&found) {
            return Err(format!("each format once; {} is listed twice", name.to_ascii_uppercase()));
        }
        wanted.push(found);
    }
    if wanted.is_empty() {
        return Err(format!("{available}; use VOID to deliver pages nowhere"));
    }
    draft.sinks.short = wanted;
    Ok(())
}

/// The words that `data_formats` allows, each with a short description.
pub fn sink_words() -> Vec<(&'static str, &'static str)> {
    let others = destinations::TABLE.into_iter().filter(|to| to.is_word).map(|to| (to.name, to.about));
    Format::ALL.map(|format| (format.name, format.about)).into_iter().chain(others).collect()
}

/// The sink for one word: a format that is kept in files, or another destination.
fn short(word: &str) -> Option<Wanted> {
    let name = word.to_ascii_lowercase();
    if let Ok(format) = Format::parse(word) {
        return Some(Wanted { name, destination: Kind::of_files(format), format: Some(format) });
    }
    let destination = destinations::TABLE.into_iter().find(|to| to.is_word && to.name == name)?;
    Some(Wanted { name, destination, format: None })
}

pub(super) fn set_kafka_format(draft: &mut Draft, name: &str) -> Result<(), String> {
    let format = format_of(name).map_err(|others| format!("JSON, CDR31 or ELASTIC, or another, {others}"))?;
    draft.sinks.kafka_format = Some(format);
    Ok(())
}

/// Parses `target_storage.sinks`, and returns it as text for the user.
pub(super) fn set_sinks(draft: &mut Draft, value: &Value) -> Result<String, String> {
    let entries =
        values::entries(value, "a list of sinks, each {name: news, destination: kafka, format: CDR31, options: {…}}")?;
    let read = entries.iter().map(Long::read).collect::<Result<Vec<_>, _>>()?;
    let shown = read.iter().map(Long::shown).collect::<Result<Vec<_>, _>>()?;
    draft.sinks.long = read;
    Ok(format!("[{}]", shown.join(", ")))
}

/// Makes the sinks of the configuration. Returns the problems.
pub(super) fn join(draft: &mut Draft) -> Vec<String> {
    let (mut sinks, mut problems) = (Vec::<SinkConfig>::new(), Vec::new());
    let short = draft.sinks.short.iter().map(|wanted| (wanted, draft.build(wanted)));
    let long = draft
        .sinks
        .long
        .iter()
        .map(|long| (&long.wanted, draft.with(&long.options).and_then(|it| it.build(&long.wanted))));
    for (wanted, built) in short.chain(long) {
        match built {
            Ok(sink) if sinks.iter().any(|other| other.name == sink.name) => {
                problems.push(format!("each sink needs a name of its own; {} is used twice", sink.name));
            }
            Ok(sink) => sinks.push(sink),
            Err(problem) => problems.push(format!("sink {}: {problem}", wanted.name)),
        }
    }
    draft.config.sinks = sinks;
    problems
}

impl Draft {
    /// A copy of the draft with a sink's own options.
    fn with(&self, options: &[(&'static Key, Value)]) -> Result<Draft, String> {
        let mut own = self.clone();
        for (key, value) in options {
            key.kind.set(&mut own, value).map_err(|expected| refused(key, &expected))?;
        }
        Ok(own)
    }

    fn build(&self, wanted: &Wanted) -> Result<SinkConfig, String> {
        let to = wanted.destination;
        let format = wanted.format.or((to.format)(self));
        to.takes(format)?;
        let upkeep =
            Upkeep { answers: to.answers(format), ..self.sinks.upkeep.get(to.name).copied().unwrap_or_default() };
        if let Upkeep { min_change: 1.., unchanged: Unchanged::Send, .. } = upkeep {
            return Err("min_change has no effect where unchanged is send; set unchanged to skip".to_owned());
        }
        Ok(SinkConfig {
            name: wanted.name.clone(),
            format,
            options: Options { min_change: upkeep.min_change, ..self.sinks.options.clone() },
            destination: (to.build)(self, format),
            upkeep,
            kind: to.name,
        })
    }
}

impl Sizes {
    pub(super) fn of(&self, format: Option<Format>) -> u64 {
        let own = [(files::FORMAT, self.files), (warc::FORMAT, self.warc), (tianwang::FORMAT, self.tianwang)];
        own.into_iter().find(|(known, _)| Some(*known) == format).map_or(self.records, |(_, size)| size)
    }
}

impl Long {
    fn read(value: &Value) -> Result<Long, String> {
        let ValueKind::Table(entries) = &value.kind else {
            return Err("each sink to be a mapping, such as {name: news, destination: kafka, format: CDR31}".into());
        };
        let (mut name, mut destination, mut format, mut options) = (None, None, None, None);
        for (key, value) in entries {
            let word = || values::text(value).map_err(|expected| format!("a sink's {key} to be {expected}"));
            match key.as_str() {
                "name" => name = Some(word()?.to_owned()),
                "destination" => destination = Some(Kind::find(word()?)?),
                "format" => {
                    let word = word()?;
                    let none = |others| format!("a sink's format to be {others}; {word} is not one of them");
                    format = Some(format_of(word).map_err(none)?);
                }
                "options" => options = Some(value),
                other => return Err(format!("a sink to have only name, destination, format and options, not {other}")),
            }
        }
        let destination = destination.or(format.map(Kind::of_files));
        let destination = destination.ok_or("each sink to have a destination or a format")?;
        let name = name.unwrap_or_else(|| match format {
            Some(format) if destination == Kind::of_files(format) => format.name.to_ascii_lowercase(),
            _ => destination.name.to_owned(),
        });
        check_name(&name)?;
        if destination.name == STDOUT && name != STDOUT {
            return Err(format!("the sink with destination stdout to have the name {STDOUT}, not {name}"));
        }
        let mut long = Long { wanted: Wanted { name, destination, format }, options: Vec::new() };
        if let Some(options) = options {
            long.read_options("", options)?;
        }
        Ok(long)
    }

    /// Parses options: keys below `target_storage.data_format` without their group.
    fn read_options(&mut self, above: &str, value: &Value) -> Result<(), String> {
        let name = &self.wanted.name;
        let ValueKind::Table(entries) = &value.kind else {
            return Err(format!("the options of {name} to be a mapping, such as {{topic_name: news}}"));
        };
        for (key, value) in entries {
            let path = if above.is_empty() { key.clone() } else { format!("{above}.{key}") };
            match self.key(&path) {
                Some((key, in_file)) => {
                    if key.secret && self.options.iter().any(|(other, _)| other.name == key.name) {
                        let secret = if in_file { secret_file::secret_of(&path).unwrap_or_default() } else { &path };
                        let file = secret_file::name_of(secret);
                        return Err(format!("only one of {secret} and {file}; remove the other"));
                    }
                    let read = || secret_file::content(value).map_err(|what| format!("{path} to be {what}"));
                    self.options.push((key, if in_file { read()? } else { value.clone() }));
                }
                None if matches!(value.kind, ValueKind::Table(_)) => self.read_options(&path, value)?,
                None => {
                    return Err(format!(
                        "options of {} to be keys of {GROUP}{}; {path} is not one of them",
                        self.wanted.name,
                        self.groups().join(" or ")
                    ));
                }
            }
        }
        Ok(())
    }

    fn key(&self, path: &str) -> Option<(&'static Key, bool)> {
        self.groups().iter().find_map(|group| secret_file::find(&format!("{GROUP}{group}.{path}")))
    }

    /// The groups of keys that a sink's options may come from.
    fn groups(&self) -> Vec<String> {
        let format = self.wanted.format.map(|format| format.name.to_ascii_lowercase());
        let of_files = (self.wanted.destination.name == destinations::FILES).then(|| RECORDS.to_owned());
        let destination = self.wanted.destination.name.to_owned();
        let mut groups: Vec<String> = format.into_iter().collect();
        // FILES and its destination have the same name, so the group is added once.
        groups.extend((destination != destinations::FILES || groups.is_empty()).then_some(destination));
        groups.extend(of_files);
        groups.dedup();
        groups
    }

    fn shown(&self) -> Result<String, String> {
        let Wanted { name, destination, format } = &self.wanted;
        let format = format.map(|format| format!(", format: {format}")).unwrap_or_default();
        let option = |(key, value): &(&'static Key, Value)| {
            let shown = key.kind.set(&mut Draft::default(), value).map_err(|expected| refused(key, &expected))?;
            let shown = if key.secret && value.kind != ValueKind::Nil {
                values::shown_text(super::Secret::MASK)
            } else {
                shown
            };
            let name = key.name.strip_prefix(GROUP).and_then(|name| name.split_once('.'));
            Ok(format!("{}: {shown}", name.map_or(key.name, |(_, option)| option)))
        };
        let options = self.options.iter().map(option).collect::<Result<Vec<_>, String>>()?;
        let options = if options.is_empty() { String::new() } else { format!(", options: {{{}}}", options.join(", ")) };
        Ok(format!("{{name: {name}, destination: {}{format}{options}}}", destination.name))
    }
}

fn refused(key: &Key, expected: &str) -> String {
    format!("{}: expected {expected}", key.name.strip_prefix(GROUP).unwrap_or(key.name))
}

/// The format for a word. ACHE calls FILES `JSON`. The error lists all formats.
fn format_of(word: &str) -> Result<Format, String> {
    if word.eq_ignore_ascii_case("JSON") { Ok(files::FORMAT) } else { Format::parse(word) }
}

/// Checks a sink's name, which becomes a folder, a label of metrics and a word on the command line.
fn check_name(name: &str) -> Result<(), String> {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    let is_right = !name.is_empty() && name.len() <= 64 && name.chars().all(allowed);
    let taken = ["frontier", "log", "validator", "fetch_log"];
    match is_right && !taken.contains(&name) {
        true => Ok(()),
        false => Err(format!(
            "a sink's name to be 1 to 64 lower-case letters, digits, - and _, and not one of {}; {name} is not allowed",
            taken.join(", ")
        )),
    }
}
