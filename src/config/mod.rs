//! Configuration: raw (the text of the file) → checked (types that cannot hold a wrong value).
//!
//! `keys` is the table of all keys, ACHE's and ours. `defaults.yml` explains each and has its default. `layers` are the
//! sources of values: defaults, file, environment (`variables`) and command line. The `config` crate lays them over each
//! other. `values` parses single values, `draft` joins them into [`Config`]. `secret_file` reads secrets from files.

mod budgets;
mod change;
pub(crate) mod checked;
mod derive_options;
mod destinations;
mod draft;
mod elastic;
mod error;
mod files;
mod focus;
mod kafka_names;
mod kafka_properties;
mod keys;
mod layers;
mod overrides;
mod page_classifier;
mod render;
mod secret;
mod secret_file;
mod seeds;
mod sinks;
mod started_with;
mod values;
mod variables;
mod yaml;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use ::config::{Value, ValueKind};

pub use change::{KeyChanged, changes};
pub use checked::*;
pub use destinations::Destination;
pub(crate) use destinations::Medium;
pub use error::{ConfigError, Origin, Problem, Warning};
pub use focus::FocusConfig;
pub(crate) use page_classifier::page_classifier;
pub use render::render;
pub use secret::Secret;
pub(crate) use seeds::check_seed;
pub use seeds::{SeedsError, read_seeds};
pub use sinks::sink_words;
pub use started_with::{StartedWith, StartedWithError};
pub(crate) use values::{parse_duration, parse_size, shown_list, static_host};

use draft::Draft;
use keys::Key;
use layers::Values;

/// All keys with their defaults and explanations, as a configuration file.
pub(crate) const DEFAULTS: &str = include_str!("defaults.yml");

/// A configuration, with the sources of its values.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    pub config: Config,
    pub warnings: Vec<Warning>,
    /// All files that were read.
    pub files: Vec<PathBuf>,
    /// All keys that have an effect, in the order of `defaults.yml`.
    pub effective: Vec<Effective>,
}

impl Loaded {
    /// The query parameters to remove from links, if the user set the key.
    pub fn drop_parameters(&self) -> Option<&[String]> {
        let is_set = |entry: &Effective| entry.key == DROP_PARAMETERS && entry.origin != Origin::Default;
        self.effective.iter().any(is_set).then_some(self.config.scope.drop_parameters.as_slice())
    }
}

/// While this key is not set, the list stored in the data folder applies.
const DROP_PARAMETERS: &str = "link_storage.link_strategy.drop_parameters";

/// A key with the value in force.
#[derive(Debug, Clone, PartialEq)]
pub struct Effective {
    pub key: &'static str,
    /// As YAML; secrets are masked.
    pub value: String,
    pub origin: Origin,
    /// The key can change while a crawl runs.
    pub is_live: bool,
}

/// Loads a configuration: defaults, then the file, or the folder's `seine.yml` or `ache.yml`, then the environment.
///
/// `env` are the variables of the process ([`environment`]). Only those that begin with `SEINE__` are used.
///
/// # Errors All problems at once: unreadable files, unknown keys, values of the wrong type, contradictions.
pub fn load(path: Option<&Path>, env: &[(String, String)]) -> Result<Loaded, ConfigError> {
    let no_options: [(&str, String); 0] = [];
    load_with(path, env, &no_options)
}

/// [`load`], and then options of the command line: keys with their values as typed. The key of a single entry of a
/// mapping, as `….kafka.properties.acks`, leaves the other entries as they are.
pub fn load_with(
    path: Option<&Path>,
    env: &[(String, String)],
    options: &[(impl AsRef<str>, String)],
) -> Result<Loaded, ConfigError> {
    let mut problems = Vec::new();
    let files = files::open(path, &mut problems);
    let file = files.main.as_ref().map(|(path, text)| layers::file(path, text, &mut problems)).unwrap_or_default();
    let variables = variables::layer(env, &mut problems);
    let options = layers::command_line(options, &mut problems);
    let mut values = layers::lay(vec![layers::defaults().clone(), file, variables, options]);
    let is_long_form = layers::prefer_sinks(&mut values);

    let mut reader = Reader { draft: Draft::default(), warnings: Vec::new(), effective: Vec::new(), problems };
    for key in keys::all().filter(|key| !is_long_form || key.name != layers::DATA_FORMATS) {
        reader.read(key, &values);
    }
    let Reader { mut draft, warnings, effective, mut problems } = reader;
    draft.config.scope.allow.extend(files.whitelist);
    draft.config.scope.deny.extend(files.blacklist);
    draft.config.scope.link_filters = files.link_filters;
    let (config, wrong_sinks) = draft.finish();
    if problems.is_empty() {
        // Values that could not be read are defaults here, so contradictions would be wrong.
        let keys = "target_storage.data_formats and target_storage.sinks";
        problems.extend(wrong_sinks.into_iter().map(|problem| Problem::Together { keys, problem }));
        problems.extend(draft::contradictions(&config));
    }
    if problems.is_empty() {
        Ok(Loaded { config, warnings, files: files.read, effective })
    } else {
        Err(ConfigError { problems })
    }
}

impl Default for Config {
    fn default() -> Config {
        static DEFAULTS: LazyLock<Config> = LazyLock::new(|| load(None, &[]).expect("defaults.yml is right").config);
        DEFAULTS.clone()
    }
}

impl SinkConfig {
    /// The FILES sink of the default configuration.
    pub fn files() -> SinkConfig {
        Config::default().sinks.remove(0)
    }
}

/// Checks the text of an option or variable for a key. The error says what the key expects.
pub(crate) fn check_value(key: &str, text: &str) -> Result<(), String> {
    let Some(key) = keys::find(key) else { return Err(keys::hint(key)) };
    let value = layers::typed(key, text, &Origin::CommandLine)?;
    key.kind.set(&mut Draft::default(), &value).map(drop).map_err(|expected| format!("expected {expected}"))
}

/// The variables of the process that begin with `SEINE_`. Bytes that are not UTF-8 are replaced, so the value is
/// refused.
pub fn environment() -> Vec<(String, String)> {
    let text = |os: std::ffi::OsString| os.to_string_lossy().into_owned();
    std::env::vars_os()
        .map(|(name, value)| (text(name), text(value)))
        .filter(|(name, _)| name.starts_with("SEINE_"))
        .collect()
}

struct Reader {
    draft: Draft,
    warnings: Vec<Warning>,
    effective: Vec<Effective>,
    problems: Vec<Problem>,
}

impl Reader {
    fn read(&mut self, key: &'static Key, values: &Values) {
        // A key of ACHE's that does nothing has no default.
        let Some((value, at)) = given(key, values) else { return };
        let value = match value {
            Ok(value) => value,
            Err(expected) => {
                let (key, problem) = (secret_file::name_of(key.name), format!("expected {expected}"));
                return self.problems.push(Problem::Value { at, key, problem });
            }
        };
        let shown = match key.kind.set(&mut self.draft, &value) {
            Ok(shown) => shown,
            Err(expected) => return self.problems.push(refused(key, &value, at, &expected)),
        };
        for text in self.draft.notes.drain(..) {
            self.warnings.push(Warning { at: at.clone(), key: key.name, text });
        }
        if let Some(ache) = key.lacking {
            let unset = layers::typed(key, ache, &Origin::Default)
                .and_then(|value| key.kind.set(&mut Draft::default(), &value));
            if Ok(shown) != unset {
                self.warnings.push(Warning { at, key: key.name, text: keys::instead(key.name) });
            }
            return;
        }
        let is_masked = key.secret && value.kind != ValueKind::Nil;
        let value = if is_masked { values::shown_text(Secret::MASK) } else { shown };
        self.effective.push(Effective { key: key.name, value, origin: at, is_live: key.is_live });
    }
}

/// The value of a key and its source; a secret may be in a file, which is read. The error says what was expected.
fn given<'v>(key: &Key, values: &'v Values) -> Option<(Result<Cow<'v, Value>, String>, Origin)> {
    if let Some(value) = values.get(key.name) {
        return Some((Ok(Cow::Borrowed(value)), Origin::of(value)));
    }
    let path = values.get(&secret_file::name_of(key.name)).filter(|_| key.secret)?;
    Some((secret_file::content(path).map(Cow::Owned), Origin::of(path)))
}

fn refused(key: &Key, value: &Value, at: Origin, expected: &str) -> Problem {
    let hidden = key.secret || matches!(key.kind, keys::Kind::Cookies(_));
    let found = if hidden { "its value (not shown)" } else { &values::shown_value(value) };
    Problem::Value { at, key: key.name.to_owned(), problem: format!("{found} is not valid; expected {expected}") }
}
