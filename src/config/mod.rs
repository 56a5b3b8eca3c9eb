//! Configuration: raw (the text of the file) → checked (types that cannot hold a wrong value).
//!
//! `keys` is the table of all keys, ACHE's and ours. `defaults.yml` explains each and has its default. `yaml` and
//! `settings` collect the values and their sources, `values` parses single values, `draft` joins them into [`Config`].
//! The environment overrides: `SEINE__LINK_STORAGE__CACHE_SIZE=64MiB` sets `link_storage.cache_size`. `secret_file`
//! reads secrets from files.

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
mod overrides;
mod page_classifier;
mod render;
mod secret;
mod secret_file;
mod seeds;
mod settings;
mod sinks;
mod started_with;
mod values;
pub(crate) mod yaml;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

pub use change::{KeyChanged, changes};
pub use checked::*;
pub use error::{ConfigError, Origin, Problem, Warning};
pub use focus::FocusConfig;
pub use page_classifier::page_classifier;
pub use render::render;
pub use secret::Secret;
pub use seeds::{SeedsError, check_seed, read_seeds};
pub use sinks::sink_words;
pub use started_with::{StartedWith, StartedWithError};
pub use values::{parse_duration, parse_size, shown_list, static_host};

use draft::Draft;
use keys::Key;
use settings::{Setting, Settings};

/// All keys with their defaults and explanations, as a configuration file.
pub const DEFAULTS: &str = include_str!("defaults.yml");

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
    let mut settings = Settings::new();
    if let Some((path, text)) = &files.main {
        settings = settings::from_file(path, text, &mut problems);
    }
    settings.extend(settings::from_environment(env, &mut problems));
    settings::lay_over(&mut settings, options, &mut problems);
    let is_long_form = settings::prefer_sinks(&mut settings);

    let mut reader = Reader { draft: Draft::default(), warnings: Vec::new(), effective: Vec::new(), problems };
    for key in keys::all().filter(|key| !is_long_form || key.name != settings::DATA_FORMATS) {
        reader.read(key, settings.get(key.name));
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
pub fn check_value(key: &str, text: &str) -> Result<(), String> {
    let Some(key) = keys::find(key) else { return Err(keys::hint(key)) };
    let node = settings::variable(key, text)?;
    key.kind.set(&mut Draft::default(), &node).map(drop).map_err(|expected| format!("expected {expected}"))
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
    fn read(&mut self, key: &'static Key, setting: Option<&Setting>) {
        let (node, at) = match setting.map(|setting| (setting.value(), setting.at.clone())) {
            Some((Ok(node), at)) => (node, at),
            Some((Err(expected), at)) => {
                let (key, problem) = (secret_file::name_of(key.name), format!("expected {expected}"));
                return self.problems.push(Problem::Value { at, key, problem });
            }
            None if key.lacking.is_some() => return,
            None => (Cow::Borrowed(keys::default(key)), Origin::Default),
        };
        let node = &*node;
        let shown = match key.kind.set(&mut self.draft, node) {
            Ok(shown) => shown,
            Err(expected) => return self.problems.push(refused(key, node, at, &expected)),
        };
        for text in self.draft.notes.drain(..) {
            self.warnings.push(Warning { at: at.clone(), key: key.name, text });
        }
        if let Some(lacking) = key.lacking {
            let unset =
                settings::variable(key, lacking.ache).and_then(|node| key.kind.set(&mut Draft::default(), &node));
            if Ok(shown) != unset {
                self.warnings.push(Warning { at, key: key.name, text: lacking.instead.to_owned() });
            }
            return;
        }
        let value = if key.secret && !node.is_null() { values::shown_text(Secret::MASK) } else { shown };
        self.effective.push(Effective { key: key.name, value, origin: at, is_live: key.is_live });
    }
}

fn refused(key: &Key, node: &yaml::Node, at: Origin, expected: &str) -> Problem {
    let hidden = key.secret || matches!(key.kind, keys::Kind::Cookies(_));
    let found = if hidden { "its value (not shown)" } else { &values::shown_node(node) };
    Problem::Value { at, key: key.name.to_owned(), problem: format!("{found} is not valid; expected {expected}") }
}
