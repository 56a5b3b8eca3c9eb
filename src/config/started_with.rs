//! The configuration that a crawl was started with, stored in its data folder. Later commands, such as a replay of dead
//! letters, use it to reach the same destinations.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use seine_system::folders;
use serde::{Deserialize, Serialize};

use super::{ConfigError, Loaded, load_with, secret_file};

/// In the data folder. Only the owner may read it, because variables can contain passwords.
const FILE: &str = "started-with.json";

/// The configuration file or folder of the last run, with its variables and options.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StartedWith {
    /// Absolute. The content is read at each use.
    pub config: Option<PathBuf>,
    /// Variables that begin with `SEINE__`.
    pub environment: BTreeMap<String, String>,
    /// Keys set by options, with their values as typed.
    pub options: BTreeMap<String, String>,
}

#[derive(Debug, thiserror::Error)]
pub enum StartedWithError {
    #[error("{action} {path}: {source}; the file stores the configuration that the crawl was started with")]
    File { action: &'static str, path: PathBuf, source: std::io::Error },
    #[error(
        "{path} is damaged ({source}); remove it, and name the crawl's configuration with -c and its other options"
    )]
    Damaged { path: PathBuf, source: serde_json::Error },
}

impl StartedWith {
    pub fn new(
        config: Option<&Path>,
        environment: &[(String, String)],
        options: &[(impl AsRef<str>, String)],
    ) -> StartedWith {
        StartedWith {
            config: config.map(|path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned())),
            environment: environment.iter().map(upper).filter(|(name, _)| name.starts_with("SEINE__")).collect(),
            options: options.iter().map(|(key, value)| (key.as_ref().to_owned(), value.clone())).collect(),
        }
    }

    /// Loads it from a data folder; the default if nothing is stored.
    pub fn load(folder: &Path) -> Result<StartedWith, StartedWithError> {
        let path = folder.join(FILE);
        match std::fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text).map_err(|source| StartedWithError::Damaged { path, source }),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(StartedWith::default()),
            Err(source) => Err(StartedWithError::File { action: "reading", path, source }),
        }
    }

    /// Stores it in an existing data folder, atomically. Does nothing if it is stored already.
    pub fn save(&self, folder: &Path) -> Result<(), StartedWithError> {
        if StartedWith::load(folder).is_ok_and(|kept| kept == *self) && folder.join(FILE).exists() {
            return Ok(());
        }
        let path = folder.join(FILE);
        let put = |text: Vec<u8>| folders::put(&path, &text, folders::OWNERS).map(drop);
        let written = serde_json::to_vec_pretty(self).map_err(Into::into).and_then(put);
        written.map_err(|source| StartedWithError::File { action: "writing", path, source })
    }

    /// Names of variables and keys whose values are secret or may be.
    pub fn secrets(&self) -> Vec<String> {
        let variables = self.environment.iter().filter(|(name, value)| may_be_secret(&key_of(name), value));
        let options = self.options.iter().filter(|(key, value)| may_be_secret(key, value));
        variables.chain(options).map(|(name, _)| name.clone()).collect()
    }

    /// A copy without secret values.
    pub(crate) fn without_secrets(mut self) -> StartedWith {
        self.environment.retain(|name, value| !may_be_secret(&key_of(name), value));
        self.options.retain(|key, value| !may_be_secret(key, value));
        self
    }

    /// The crawl's configuration, with new settings over the stored ones: `config` replaces the file, and each variable
    /// and key replaces the stored one of the same name.
    ///
    /// # Errors As [`super::load`].
    pub fn configuration(
        &self,
        config: Option<&Path>,
        environment: &[(String, String)],
        options: &[(String, String)],
    ) -> Result<Loaded, ConfigError> {
        let mut all = self.clone();
        for (name, value) in environment.iter().map(upper) {
            all.environment.retain(|then, _| !is_other_way(then, &name));
            all.environment.insert(name, value);
        }
        all.options.extend(options.iter().cloned());
        let environment: Vec<_> = all.environment.into_iter().collect();
        let options: Vec<_> = all.options.into_iter().collect();
        load_with(config.or(self.config.as_deref()), &environment, &options)
    }
}

/// `SEINE__HTTP__PORT` becomes `http.port`.
fn key_of(variable: &str) -> String {
    let lower = variable.to_ascii_lowercase();
    lower.strip_prefix("seine__").unwrap_or(&lower).replace("__", ".")
}

/// Whether a key is secret, or has entries (cookies, Kafka's properties, options of sinks) with a name that sounds
/// secret.
fn may_be_secret(key: &str, value: &str) -> bool {
    let says_so = |text: &str| {
        let text = text.to_ascii_lowercase();
        ["password", "secret", "jaas", "key", "token", "cookie"].iter().any(|word| text.contains(word))
    };
    match secret_file::find(key) {
        Some((_, true)) => false,
        Some((found, false)) => found.secret || (found.kind.has_entries() && (says_so(key) || says_so(value))),
        // The key is one of Kafka's properties.
        None => says_so(key),
    }
}

/// One variable gives a secret, the other the file of the same secret.
fn is_other_way(one: &str, other: &str) -> bool {
    let (one, other) = (one.to_ascii_lowercase(), other.to_ascii_lowercase());
    secret_file::secret_of(&one) == Some(&other) || secret_file::secret_of(&other) == Some(&one)
}

/// Case is ignored in names of variables.
fn upper((name, value): &(String, String)) -> (String, String) {
    (name.to_ascii_uppercase(), value.clone())
}
