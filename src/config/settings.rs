//! Which key is set to what, and where: the file's tree flattened, with the environment laid over it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::error::{MAX_PROBLEMS, Origin, Problem};
use super::keys::{self, Key, Kind};
use super::secret_file;
use super::values;
use super::yaml::{self, Node, Value};

/// By key name. Keys that are not in it have their default.
pub(super) type Settings = BTreeMap<&'static str, Setting>;

pub(super) struct Setting {
    pub node: Node,
    pub at: Origin,
    /// `node` names the file that the value, a secret, stands in.
    pub in_file: bool,
}

impl Setting {
    /// The error says what was expected of the file.
    pub fn value(&self) -> Result<Cow<'_, Node>, String> {
        if self.in_file { secret_file::content(&self.node).map(Cow::Owned) } else { Ok(Cow::Borrowed(&self.node)) }
    }
}

pub(super) const DATA_FORMATS: &str = "target_storage.data_formats";
pub(super) const SINKS: &str = "target_storage.sinks";

/// What every variable of ours begins with. After it, `__` stands for a dot, and case does not matter.
const PREFIX: &str = "SEINE__";
/// And what it begins with when one forgets.
const MISSPELT: &str = "SEINE_";

/// Reads a file's text into settings; flat keys, nested ones and any mixture.
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

    /// Some of ACHE's keys are both: `link_storage.recrawl_selector` has a value, and keys below it.
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
            Problem::Yaml { at, problem: "keys with values are expected, such as `crawler_id: news`".into() }
        } else if is_group(&name) {
            let problem = "stands for a group of keys and has no value of its own".into();
            Problem::Value { at, key: name, problem }
        } else {
            Problem::UnknownKey { at, hint: keys::hint(&name), key: values::shown_key(&name) }
        });
    }
}

/// What is set once. `name`: the key, its file or an alias of it, as it stands there.
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

/// Some known key lies below this name.
fn is_group(name: &str) -> bool {
    let below = |known: &str| known.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
    keys::all().any(|key| below(key.name)) || keys::ALIASES.iter().any(|(alias, _)| below(alias))
}

/// For an entry of a mapping written flat, as `….kafka.properties.acks`: the mapping's key, and the entry's name.
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
                let hint = format!("two underscores stand for a dot: {}", variable_name(&key));
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

/// Lays options of the command line that stand for keys over the rest.
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

/// The two keys that say where pages go, of which the longer form counts alone when the shorter is not set beside it; what is
/// said on the command line or in a variable stands in the place of all that a file says. True: the shorter is not to be
/// read, nor its default.
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

/// Sets one entry of a mapping, the others as they are. What is no mapping is left for its check to refuse.
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
        // The first wins over what is written nested: `bootstrap: {servers: …}`.
        entries.insert(0, (entry.to_owned(), node));
    }
}

/// Lists and mappings as YAML in one line; lists also as words with commas.
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

/// The variable that sets a key.
fn variable_name(key: &str) -> String {
    format!("{PREFIX}{}", key.to_ascii_uppercase().replace('.', "__"))
}

/// The key that a variable was meant for which begins with one underscore too few: `SEINE_HTTP_PORT`.
fn meant(name: &str) -> Option<String> {
    let plain = |name: &str| name.to_ascii_lowercase().replace(['.', '_'], "");
    let rest = plain(name.strip_prefix(MISSPELT)?);
    let files = keys::all().filter(|key| key.secret).map(|key| secret_file::name_of(key.name));
    keys::all().map(|key| key.name.to_owned()).chain(files).find(|key| plain(key) == rest)
}
