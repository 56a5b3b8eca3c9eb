//! The value and the source of each key: the flattened file, then the environment, then options.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::error::{MAX_PROBLEMS, Origin, Problem};
use super::keys::{self, Key, Kind};
use super::secret_file;
use super::values;
use super::yaml::{self, Node, Value};

/// Settings by key. Other keys have their default.
pub(super) type Settings = BTreeMap<&'static str, Setting>;

pub(super) struct Setting {
    pub node: Node,
    pub at: Origin,
    /// `node` gives the path of the file with the value, which is a secret.
    pub in_file: bool,
}

impl Setting {
    /// The value, read from its file if it is in one. The error says what was expected.
    pub fn value(&self) -> Result<Cow<'_, Node>, String> {
        if self.in_file { secret_file::content(&self.node).map(Cow::Owned) } else { Ok(Cow::Borrowed(&self.node)) }
    }
}

pub(super) const DATA_FORMATS: &str = "target_storage.data_formats";
pub(super) const SINKS: &str = "target_storage.sinks";

/// Prefix of all our variables. In the rest of the name, `__` means a dot, and case is ignored.
const PREFIX: &str = "SEINE__";
/// The prefix with a frequent spelling mistake.
const MISSPELT: &str = "SEINE_";

/// Parses the text of a file: flat keys, nested keys or both.
pub(super) fn from_file(path: &Path, text: &str, problems: &mut Vec<Problem>) -> Settings {
    let mut reader = Reader { path: path.to_owned(), settings: Settings::new(), problems };
    match yaml::parse(text) {
        Ok(root) => reader.walk(root),
        Err(error) => {
            let at = reader.at(error.line);
            reader.problems.push(Problem::Yaml { at, problem: error.problem });
        }
    }
    reader.settings
}

struct Reader<'a> {
    path: PathBuf,
    settings: Settings,
    problems: &'a mut Vec<Problem>,
}

impl Reader<'_> {
    fn at(&self, line: usize) -> Origin {
        Origin::File { path: self.path.clone(), line }
    }

    fn walk(&mut self, root: Node) {
        let mut open = vec![(String::new(), root)];
        while let Some((name, node)) = open.pop() {
            if self.problems.len() >= MAX_PROBLEMS {
                return;
            }
            if !name.is_empty() && self.is_value(&name, &node) {
                self.set(&name, node);
                continue;
            }
            match node.value {
                Value::Map(entries) if name.is_empty() || is_group(&name) => {
                    let full = |key: String| if name.is_empty() { key } else { format!("{name}.{key}") };
                    open.extend(entries.into_iter().rev().map(|(key, node)| (full(key), node)));
                }
                _ if node.is_null() && (name.is_empty() || is_group(&name)) => {}
                _ => self.refuse(name, &node),
            }
        }
    }

    /// Some of ACHE's keys have a value and also keys below them: `link_storage.recrawl_selector`.
    fn is_value(&self, name: &str, node: &Node) -> bool {
        match secret_file::find(name) {
            Some((key, _)) => key.kind.is_mapping() || !matches!(node.value, Value::Map(_)) || !is_group(name),
            None => mapping_above(name).is_some(),
        }
    }

    fn set(&mut self, name: &str, node: Node) {
        let at = self.at(node.line);
        if let Some((key, in_file)) = secret_file::find(name) {
            insert(&mut self.settings, self.problems, key, name, Setting { node, at, in_file });
        } else if let Some((key, entry)) = mapping_above(name) {
            let entry = (entry.to_owned(), node);
            match self.settings.get_mut(key.name).map(|setting| &mut setting.node.value) {
                Some(Value::Map(entries)) => entries.push(entry),
                _ => {
                    let node = Node { line: entry.1.line, value: Value::Map(vec![entry]) };
                    let setting = Setting { node, at, in_file: false };
                    insert(&mut self.settings, self.problems, key, name, setting);
                }
            }
        }
    }

    fn refuse(&mut self, name: String, node: &Node) {
        let at = self.at(node.line);
        self.problems.push(if name.is_empty() {
            Problem::Yaml { at, problem: "expected keys with values, such as `crawler_id: news`".into() }
        } else if is_group(&name) {
            let problem = "is a group of keys and cannot have a value".into();
            Problem::Value { at, key: name, problem }
        } else {
            Problem::UnknownKey { at, hint: keys::hint(&name), key: values::shown_key(&name) }
        });
    }
}

/// Adds a setting, unless the key is already set. `name` is the name as written: the key, its file or an alias.
fn insert(settings: &mut Settings, problems: &mut Vec<Problem>, key: &'static Key, name: &str, setting: Setting) {
    let Some(first) = settings.get(key.name) else {
        settings.insert(key.name, setting);
        return;
    };
    let (at, first_at, name) = (setting.at, first.at.clone(), name.to_owned());
    problems.push(if setting.in_file == first.in_file {
        Problem::Twice { at, first: first_at, key: name }
    } else {
        let other = secret_file::spelled(key, first.in_file);
        Problem::BothWays { at, key: name, first: first_at, other }
    });
}

/// Whether known keys begin with this name and a dot.
fn is_group(name: &str) -> bool {
    let below = |known: &str| known.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
    keys::all().any(|key| below(key.name)) || keys::ALIASES.iter().any(|(alias, _)| below(alias))
}

/// Splits the name of a mapping's entry, as `….kafka.properties.acks`, into the mapping's key and the entry's name.
fn mapping_above(name: &str) -> Option<(&'static Key, &str)> {
    keys::all().filter(|key| key.kind.is_mapping()).find_map(|key| {
        let entry = name.strip_prefix(key.name)?.strip_prefix('.')?;
        Some((key, entry))
    })
}

/// Reads the variables that begin with `SEINE__`. Empty ones count as not set.
pub(super) fn from_environment(env: &[(String, String)], problems: &mut Vec<Problem>) -> Settings {
    let mut settings = Settings::new();
    for (name, text) in env {
        let at = Origin::Environment(name.clone());
        let Some(rest) = name.strip_prefix(PREFIX) else {
            problems.extend(meant(name).map(|key| {
                let hint = format!("write two underscores for a dot: {}", variable_name(&key));
                Problem::UnknownKey { at, key: values::shown_key(name), hint }
            }));
            continue;
        };
        let key_name = rest.to_ascii_lowercase().replace("__", ".");
        let Some((key, in_file)) = secret_file::find(&key_name) else {
            let (key, hint) = (values::shown_key(&key_name), variable_hint(&key_name));
            problems.push(Problem::UnknownKey { at, key, hint });
            continue;
        };
        if text.trim().is_empty() {
            continue;
        }
        match variable(key, text) {
            Err(problem) => problems.push(Problem::Yaml { at, problem }),
            Ok(node) => {
                let name = secret_file::spelled(key, in_file);
                insert(&mut settings, problems, key, &name, Setting { node, at, in_file });
            }
        }
    }
    settings
}

/// Adds the options of the command line that set keys; they override the rest.
pub(super) fn lay_over(settings: &mut Settings, options: &[(impl AsRef<str>, String)], problems: &mut Vec<Problem>) {
    for (name, text) in options {
        let name = name.as_ref();
        if let Some((key, in_file)) = secret_file::find(name) {
            let at = Origin::CommandLine;
            match variable(key, text) {
                Ok(node) => drop(settings.insert(key.name, Setting { node, at, in_file })),
                Err(problem) => problems.push(Problem::Yaml { at: Origin::CommandLine, problem }),
            }
        } else if let Some((key, entry)) = mapping_above(name) {
            lay_entry_over(settings, key, entry, text.trim());
        } else {
            let hint = keys::hint(name);
            problems.push(Problem::UnknownKey { at: Origin::CommandLine, key: values::shown_key(name), hint });
        }
    }
}

/// Decides between `target_storage.sinks` and `data_formats`. If only the longer form is set at the strongest source,
/// it counts alone. Options and variables override a file. Returns true if `data_formats` and its default are ignored.
pub(super) fn prefer_sinks(settings: &mut Settings) -> bool {
    let rank = |at: &Origin| match at {
        Origin::Default => 0,
        Origin::File { .. } => 1,
        Origin::Environment(_) => 2,
        Origin::CommandLine => 3,
    };
    let is_empty = |node: &Node| node.is_null() || matches!(&node.value, Value::List(nodes) if nodes.is_empty());
    let short = settings.get(DATA_FORMATS).map(|setting| rank(&setting.at));
    let long = settings.get(SINKS).filter(|setting| !is_empty(&setting.node)).map(|setting| rank(&setting.at));
    if long.is_some() && long < short {
        settings.remove(SINKS);
    }
    short < long
}

/// Sets one entry of a mapping and keeps the others. A value that is not a mapping stays, and its check refuses it.
fn lay_entry_over(settings: &mut Settings, key: &'static Key, entry: &str, text: &str) {
    let nothing = || Node { line: 0, value: Value::Map(Vec::new()) };
    let new = || Setting { node: nothing(), at: Origin::CommandLine, in_file: false };
    let setting = settings.entry(key.name).or_insert_with(new);
    if setting.node.is_null() {
        setting.node = nothing();
    }
    if let Value::Map(entries) = &mut setting.node.value {
        entries.retain(|(name, _)| name != entry);
        let node = match key.kind {
            Kind::Hosts(_) => yaml::parse(text).unwrap_or_else(|_| Node::plain(text)),
            _ => Node::plain(text),
        };
        // The first entry wins over nested ones: `bootstrap: {servers: …}`.
        entries.insert(0, (entry.to_owned(), node));
    }
}

/// Parses a variable: lists and mappings as YAML in one line, lists also as words with commas.
pub(super) fn variable(key: &Key, text: &str) -> Result<Node, String> {
    use Kind::{Budgets, Cookies, Hosts, List, Overrides, Properties, Sinks};
    let text = text.trim();
    match key.kind {
        List(_) if !text.starts_with('[') => {
            Ok(Node { line: 0, value: Value::List(text.split(',').map(|word| Node::plain(word.trim())).collect()) })
        }
        List(_) | Budgets(_) | Cookies(_) | Hosts(_) | Overrides(_) | Properties(_) | Sinks(_) => {
            yaml::parse(text).map_err(|error| error.problem)
        }
        _ => Ok(Node::plain(text)),
    }
}

fn variable_hint(key_name: &str) -> String {
    match keys::nearest(key_name) {
        Some(name) => format!("did you mean {}?", variable_name(name)),
        None => keys::NO_HINT.into(),
    }
}

/// The name of the variable for a key.
fn variable_name(key: &str) -> String {
    format!("{PREFIX}{}", key.to_ascii_uppercase().replace('.', "__"))
}

/// The key that the user meant with one underscore too few: `SEINE_HTTP_PORT`.
fn meant(name: &str) -> Option<String> {
    let plain = |name: &str| name.to_ascii_lowercase().replace(['.', '_'], "");
    let rest = plain(name.strip_prefix(MISSPELT)?);
    let files = keys::all().filter(|key| key.secret).map(|key| secret_file::name_of(key.name));
    keys::all().map(|key| key.name.to_owned()).chain(files).find(|key| plain(key) == rest)
}
