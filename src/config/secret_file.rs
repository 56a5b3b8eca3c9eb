//! Secrets in files, as containers (`/run/secrets`) and systemd (`$CREDENTIALS_DIRECTORY`) provide them. The name of a
//! secret with `_file` appended gives the path of its file. This holds for keys, variables, options of a sink and
//! Kafka's properties. Seine stores only the path, and reads the file at each start.

use std::path::Path;

use ::config::{Value, ValueKind};

use super::files::read_at_most;
use super::keys::{self, Key};
use super::values;

/// Certificates with their keys have a page or two.
const MAX_BYTES: u64 = 1 << 20;
const SUFFIX: &str = "_file";

/// The name of the secret whose file this name gives: `http.api.read_token_file`.
pub(super) fn secret_of(name: &str) -> Option<&str> {
    name.strip_suffix(SUFFIX)
}

/// The name that gives the file of a secret.
pub(super) fn name_of(secret: &str) -> String {
    format!("{secret}{SUFFIX}")
}

/// The key with this name. Or the secret key whose file this name gives, with true.
pub(super) fn find(name: &str) -> Option<(&'static Key, bool)> {
    let of_file = || keys::find(secret_of(name)?).filter(|key| key.secret).map(|key| (key, true));
    keys::find(name).map(|key| (key, false)).or_else(of_file)
}

/// The name of a key, or the name that gives its file.
pub(super) fn spelled(key: &Key, in_file: bool) -> String {
    if in_file { name_of(key.name) } else { key.name.to_owned() }
}

/// The content of the file that a value names, as if it were the value. The error says what was expected.
pub(super) fn content(path: &Value) -> Result<Value, String> {
    if path.kind == ValueKind::Nil {
        return Ok(path.clone());
    }
    let text = read(values::text(path).map_err(|_| "the path of a file".to_owned())?)?;
    Ok(Value::new(path.origin().map(str::to_owned).as_ref(), text))
}

/// Reads a file and drops the newline at its end. The error says what was expected and nothing of the content.
pub(super) fn read(path: &str) -> Result<String, String> {
    // A later command may run in another directory, so the path must be absolute.
    if !path.starts_with('/') {
        return Err(format!("the absolute path of a file; {path:?} is not absolute"));
    }
    let bytes = read_at_most(Path::new(path), MAX_BYTES).map_err(|error| {
        format!("a readable file; {path:?} cannot be read ({error}); check the path and its permissions")
    })?;
    let bytes = bytes.ok_or_else(|| format!("a file that contains only a secret; {path:?} is larger than 1 MiB"))?;
    let text = String::from_utf8(bytes).map_err(|_| format!("a file of UTF-8 text; {path:?} is not UTF-8"))?;
    let text = text.strip_suffix('\n').map_or(text.as_str(), |line| line.strip_suffix('\r').unwrap_or(line));
    if text.trim().is_empty() {
        return Err(format!("a file that contains a secret; {path:?} is empty"));
    }
    Ok(text.to_owned())
}
