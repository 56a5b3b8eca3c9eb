//! Errors of a configuration or a seed file, in the user's words.

use std::fmt;
use std::path::PathBuf;

use ::config::Value;

/// Reading stops after this many problems; the file is probably of another kind.
pub(super) const MAX_PROBLEMS: usize = 20;

/// All problems of a configuration, up to twenty.
#[derive(Debug, thiserror::Error)]
#[error("{}", listed(.problems))]
pub struct ConfigError {
    pub problems: Vec<Problem>,
}

/// One problem of a configuration.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    #[error("cannot read {path}: {source}; check the path given with -c and its permissions", path = .path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{path} is a folder without seine.yml or ache.yml; put one there, or name a file", path = .path.display())]
    EmptyFolder { path: PathBuf },
    #[error("{path} is not a configuration: {problem}", path = .path.display())]
    NotText { path: PathBuf, problem: String },
    #[error("{at}: not valid YAML: {problem}")]
    Yaml { at: Origin, problem: String },
    #[error("{at}: unknown key {key}; {hint}")]
    UnknownKey { at: Origin, key: String, hint: String },
    #[error("{at}: {key} is set twice (first: {first}); remove one of them")]
    Twice { at: Origin, first: Origin, key: String },
    #[error("{at}: {key} is set, and {other} too ({first}); remove one of them")]
    BothWays { at: Origin, key: String, first: Origin, other: String },
    /// `problem` says what is expected, and names the value unless it is secret.
    #[error("{at}: {key}: {problem}")]
    Value { at: Origin, key: String, problem: String },
    /// Values that are right alone and wrong together.
    #[error("{keys}: {problem}")]
    Together { keys: &'static str, problem: String },
}

/// A note to the user; the configuration is accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    pub at: Origin,
    pub key: &'static str,
    /// What Seine does instead of what the key asks for.
    pub text: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.at, self.key, self.text)
    }
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Default,
    /// Lines count from 1.
    File {
        path: PathBuf,
        line: usize,
    },
    /// Name of the variable.
    Environment(String),
    /// An option of the command line.
    CommandLine,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str(DEFAULT),
            Origin::File { path, line } => write!(f, "{}:{line}", path.display()),
            Origin::Environment(name) => write!(f, "{VARIABLE}{name}"),
            Origin::CommandLine => f.write_str(COMMAND_LINE),
        }
    }
}

const DEFAULT: &str = "default";
const VARIABLE: &str = "environment variable ";
const COMMAND_LINE: &str = "command line";

impl Origin {
    /// Where a value of the `config` crate comes from. It keeps an origin as its text.
    pub(super) fn of(value: &Value) -> Origin {
        let text = value.origin().unwrap_or(DEFAULT);
        // The name of a variable that sets a key has no colon.
        let in_file = text.rsplit_once(':').and_then(|(path, line)| Some((path.into(), line.parse().ok()?)));
        match (in_file, text.strip_prefix(VARIABLE)) {
            (Some((path, line)), _) => Origin::File { path, line },
            (None, Some(name)) => Origin::Environment(name.to_owned()),
            (None, None) if text == COMMAND_LINE => Origin::CommandLine,
            (None, None) => Origin::Default,
        }
    }

    /// The line in the file; 0 if the value is not from a file.
    pub(super) fn line(&self) -> usize {
        match self {
            Origin::File { line, .. } => *line,
            _ => 0,
        }
    }
}

fn listed(problems: &[Problem]) -> String {
    match problems {
        [one] => one.to_string(),
        many => {
            let lines: Vec<String> = many.iter().map(|problem| format!("\n  {problem}")).collect();
            format!("the configuration has {} problems:{}", many.len(), lines.concat())
        }
    }
}
