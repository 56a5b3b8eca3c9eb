//! The layers of a configuration: defaults, the file, the environment, the command line. Each is a source of the
//! `config` crate, which lays the later ones over the earlier ones.
//!
//! A layer is flat: full names of keys with their values. Some of ACHE's keys have a value and also keys below them, so a
//! tree cannot hold them all. Each value remembers where it comes from ([`Origin::of`]).

use std::fmt;
use std::path::Path;
use std::sync::LazyLock;

use ::config::{ConfigError, Map, Source, Value, ValueKind};

use super::error::{MAX_PROBLEMS, Origin, Problem};
use super::keys::{self, Key, Kind};
use super::secret_file;
use super::values;
use super::yaml::{self, Node, Tree, YamlError};

/// Values by the key's name, or by the name that gives the file of a secret.
pub(super) type Values = Map<String, Value>;

#[derive(Debug, Clone, Default)]
pub(super) struct Layer {
    settings: Vec<Setting>,
}

#[derive(Clone)]
struct Setting {
    /// A key, or the name that gives the file of a secret.
    name: String,
    /// Set only this entry of the key's mapping. The others stay as they are in the layers below.
    entry: Option<String>,
    value: Value,
}

/// The crate wants to print sources. The value may be secret.
impl fmt::Debug for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Source for Layer {
    fn clone_into_box(&self) -> Box<dyn Source + Send + Sync> {
        Box::new(self.clone())
    }

    fn collect(&self) -> Result<Values, ConfigError> {
        let mut values = Values::new();
        self.settings.iter().for_each(|setting| setting.put(&mut values));
        Ok(values)
    }

    /// Puts each value under its full name. The crate would make a tree of the names, and join mappings.
    fn collect_to(&self, below: &mut Value) -> Result<(), ConfigError> {
        if let ValueKind::Table(values) = &mut below.kind {
            self.settings.iter().for_each(|setting| setting.put(values));
        }
        Ok(())
    }
}

/// Lays layers over each other, the strongest last. They are one source of the crate together. Its builder takes them, too,
/// but would then split their names at the dots.
pub(super) fn lay(layers: Vec<Layer>) -> Values {
    // A layer is read before it is laid, so it cannot fail.
    layers.collect().unwrap_or_default()
}

impl Setting {
    fn put(&self, values: &mut Values) {
        let Some(entry) = &self.entry else {
            // A secret is given by its key or by its file, whichever the later layer has.
            if let Some((key, _)) = secret_file::find(&self.name).filter(|(key, _)| key.secret) {
                values.shift_remove(key.name);
                values.shift_remove(&secret_file::name_of(key.name));
            }
            values.insert(self.name.clone(), self.value.clone());
            return;
        };
        let whole = values.entry(self.name.clone()).or_default();
        // A default is replaced like that of any other key. Null is an empty mapping.
        let is_default = Origin::of(whole) == Origin::Default;
        if is_default || whole.kind == ValueKind::Nil {
            let origin = if is_default { self.value.origin() } else { whole.origin() }.map(str::to_owned);
            *whole = Value::new(origin.as_ref(), Values::new());
        }
        // A value that is not a mapping stays, and its check refuses it.
        if let ValueKind::Table(entries) = &mut whole.kind {
            entries.shift_remove(entry);
            // The first entry wins over nested ones: `bootstrap: {servers: …}`.
            entries.shift_insert(0, entry.clone(), self.value.clone());
        }
    }
}

/// `defaults.yml`.
pub(super) fn defaults() -> &'static Layer {
    static DEFAULTS: LazyLock<Layer> = LazyLock::new(|| {
        let mut problems = Vec::new();
        read(super::DEFAULTS, &|_| Origin::Default, &mut problems)
    });
    &DEFAULTS
}

/// The text of a file: flat keys, nested keys or both.
pub(super) fn file(path: &Path, text: &str, problems: &mut Vec<Problem>) -> Layer {
    read(text, &|line| Origin::File { path: path.to_owned(), line }, problems)
}

fn read(text: &str, at: &impl Fn(usize) -> Origin, problems: &mut Vec<Problem>) -> Layer {
    let mut reader = Reader { at, layer: Layer::default(), problems };
    match yaml::parse(text) {
        Ok(root) => reader.walk(root),
        Err(error) => reader.refuse_yaml(error),
    }
    reader.layer
}

struct Reader<'a, A> {
    /// Makes the origin of a line.
    at: &'a A,
    layer: Layer,
    problems: &'a mut Vec<Problem>,
}

impl<A: Fn(usize) -> Origin> Reader<'_, A> {
    fn walk(&mut self, root: Node) {
        let mut open = vec![(String::new(), root)];
        while let Some((name, node)) = open.pop() {
            if self.problems.len() >= MAX_PROBLEMS {
                return;
            }
            if !name.is_empty() && is_value(&name, &node) {
                self.set(&name, node);
                continue;
            }
            match node.tree {
                Tree::Map(entries) if name.is_empty() || is_group(&name) => {
                    let full = |key: String| if name.is_empty() { key } else { format!("{name}.{key}") };
                    open.extend(entries.into_iter().rev().map(|(key, node)| (full(key), node)));
                }
                Tree::Scalar(None) if name.is_empty() || is_group(&name) => {}
                _ => self.refuse(name, &node),
            }
        }
    }

    fn set(&mut self, name: &str, node: Node) {
        match node.value(self.at) {
            Ok(value) => self.layer.add(name, value, self.problems),
            Err(error) => self.refuse_yaml(error),
        }
    }

    fn refuse_yaml(&mut self, error: YamlError) {
        self.problems.push(Problem::Yaml { at: (self.at)(error.line), problem: error.problem });
    }

    fn refuse(&mut self, name: String, node: &Node) {
        let at = (self.at)(node.line);
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

impl Layer {
    /// Adds a value, unless the layer has the key already. `name` is the name as written: of the key, its file, an entry of
    /// its mapping, or an alias.
    pub(super) fn add(&mut self, name: &str, value: Value, problems: &mut Vec<Problem>) {
        if let Some((key, in_file)) = secret_file::find(name) {
            let spelled = [false, true].map(|in_file| secret_file::spelled(key, in_file));
            let Some(first) = self.settings.iter().find(|setting| spelled.contains(&setting.name)) else {
                let name = secret_file::spelled(key, in_file);
                self.settings.push(Setting { name, entry: None, value });
                return;
            };
            let (at, key, other) = (Origin::of(&value), name.to_owned(), first.name.clone());
            let first = Origin::of(&first.value);
            problems.push(match other == spelled[usize::from(in_file)] {
                true => Problem::Twice { at, first, key },
                false => Problem::BothWays { at, key, first, other },
            });
        } else if let Some((key, entry)) = mapping_above(name) {
            if let Some(first) = self.entry(key, entry).map(Origin::of) {
                return problems.push(Problem::Twice { at: Origin::of(&value), first, key: name.to_owned() });
            }
            self.settings.push(Setting { name: key.name.to_owned(), entry: Some(entry.to_owned()), value });
        }
    }

    /// An entry of a key's mapping, set alone or with the whole mapping.
    fn entry(&self, key: &Key, entry: &str) -> Option<&Value> {
        let mut of_key = self.settings.iter().filter(|setting| setting.name == key.name);
        of_key.find_map(|setting| match (&setting.entry, &setting.value.kind) {
            (Some(name), _) => (name == entry).then_some(&setting.value),
            (None, ValueKind::Table(entries)) => entries.get(entry),
            (None, _) => None,
        })
    }
}

/// Some of ACHE's keys have a value and also keys below them: `link_storage.recrawl_selector`.
fn is_value(name: &str, node: &Node) -> bool {
    match secret_file::find(name) {
        Some((key, _)) => key.kind.is_mapping() || !matches!(node.tree, Tree::Map(_)) || !is_group(name),
        None => mapping_above(name).is_some(),
    }
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

/// Options of the command line that set keys, or entries of a key's mapping. The last of several counts.
pub(super) fn command_line(options: &[(impl AsRef<str>, String)], problems: &mut Vec<Problem>) -> Layer {
    let mut layer = Layer::default();
    for (name, text) in options {
        let (name, at) = (name.as_ref(), Origin::CommandLine);
        if let Some((key, in_file)) = secret_file::find(name) {
            match typed(key, text, &at) {
                Ok(value) => {
                    let name = secret_file::spelled(key, in_file);
                    layer.settings.push(Setting { name, entry: None, value });
                }
                Err(problem) => problems.push(Problem::Yaml { at, problem }),
            }
        } else if let Some((key, entry)) = mapping_above(name) {
            let text = text.trim();
            let plain = || Value::new(Some(&at.to_string()), yaml::plain(text));
            let value = match key.kind {
                Kind::Hosts(_) => yaml::value(text, &|_| at.clone()).unwrap_or_else(|_| plain()),
                _ => plain(),
            };
            layer.settings.push(Setting { name: key.name.to_owned(), entry: Some(entry.to_owned()), value });
        } else {
            problems.push(Problem::UnknownKey { at, key: values::shown_key(name), hint: keys::hint(name) });
        }
    }
    layer
}

/// Parses the text of a variable or an option: lists and mappings as YAML in one line, lists also as words with commas.
pub(super) fn typed(key: &Key, text: &str, at: &Origin) -> Result<Value, String> {
    use Kind::{Budgets, Cookies, Hosts, List, Overrides, Properties, Sinks};
    let text = text.trim();
    let origin = Some(at.to_string());
    let plain = |text: &str| Value::new(origin.as_ref(), yaml::plain(text));
    match key.kind {
        List(_) if !text.starts_with('[') => {
            let words: Vec<Value> = text.split(',').map(|word| plain(word.trim())).collect();
            Ok(Value::new(origin.as_ref(), words))
        }
        List(_) | Budgets(_) | Cookies(_) | Hosts(_) | Overrides(_) | Properties(_) | Sinks(_) => {
            yaml::value(text, &|_| at.clone()).map_err(|error| error.problem)
        }
        _ => Ok(plain(text)),
    }
}

pub(super) const DATA_FORMATS: &str = "target_storage.data_formats";
pub(super) const SINKS: &str = "target_storage.sinks";

/// Decides between `target_storage.sinks` and `data_formats`. If only the longer form is set at the strongest source,
/// it counts alone. Options and variables override a file. Returns true if `data_formats` and its default are ignored.
pub(super) fn prefer_sinks(values: &mut Values) -> bool {
    let rank = |value: &Value| match Origin::of(value) {
        Origin::Default => 0,
        Origin::File { .. } => 1,
        Origin::Environment(_) => 2,
        Origin::CommandLine => 3,
    };
    let is_empty = |value: &Value| match &value.kind {
        ValueKind::Array(sinks) => sinks.is_empty(),
        kind => *kind == ValueKind::Nil,
    };
    let short = values.get(DATA_FORMATS).map(rank);
    let long = values.get(SINKS).filter(|value| !is_empty(value)).map(rank);
    if long.is_some() && long < short {
        values.insert(SINKS.to_owned(), Value::from(ValueKind::Nil));
    }
    short < long
}
