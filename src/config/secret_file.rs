//! Secrets that stand in files, as containers (`/run/secrets`) and systemd (`$CREDENTIALS_DIRECTORY`) hand them over: what a
//! secret is called, with `_file` behind it, names the file. One rule for keys, variables, options of a sink and Kafka's
//! properties; read anew at each start, so the path is all that is kept.

use std::path::Path;

use super::files::read_at_most;
use super::keys::{self, Key};
use super::values;
use super::yaml::{Node, Value};

/// Certificates with their keys are a page or two.
const MAX_BYTES: u64 = 1 << 20;
const SUFFIX: &str = "_file";

/// The secret that a name says the file of: `http.api.read_token_file`.
pub(super) fn secret_of(name: &str) -> Option<&str> {
    name.strip_suffix(SUFFIX)
}

/// What says the file of a secret.
pub(super) fn name_of(secret: &str) -> String {
    format!("{secret}{SUFFIX}")
}

/// The key of this name; or the secret key of which it names the file, and true.
pub(super) fn find(name: &str) -> Option<(&'static Key, bool)> {
    let of_file = || keys::find(secret_of(name)?).filter(|key| key.secret).map(|key| (key, true));
    keys::find(name).map(|key| (key, false)).or_else(of_file)
}

/// A key as it was spelled: itself, or as its file.
pub(super) fn spelled(key: &Key, in_file: bool) -> String {
    if in_file { name_of(key.name) } else { key.name.to_owned() }
}

/// What stands in the file that a value names, as if it had been the value. The error says what was expected.
pub(super) fn content(path: &Node) -> Result<Node, String> {
    if path.is_null() {
        return Ok(path.clone());
    }
    let text = read(values::text(path).map_err(|_| "the path of a file".to_owned())?)?;
    Ok(Node { line: path.line, value: Value::Scalar { text, quoted: true } })
}

/// What stands in a file, without the newline at its end. The error says what was expected, and nothing of the content.
pub(super) fn read(path: &str) -> Result<String, String> {
    // The same file, from wherever a later command is given.
    if !path.starts_with('/') {
        return Err(format!("the whole path of a file, from / on; {path:?} is none"));
    }
    let bytes = read_at_most(Path::new(path), MAX_BYTES).map_err(|error| {
        format!("a file that can be read, and {path:?} cannot ({error}); check the path and who may read it")
    })?;
    let bytes = bytes.ok_or_else(|| format!("a file with a secret alone; {path:?} is larger than 1 MiB"))?;
    let text = String::from_utf8(bytes).map_err(|_| format!("a file of UTF-8 text; {path:?} is none"))?;
    let text = text.strip_suffix('\n').map_or(text.as_str(), |line| line.strip_suffix('\r').unwrap_or(line));
    if text.trim().is_empty() {
        return Err(format!("a file with a secret in it; {path:?} is empty"));
    }
    Ok(text.to_owned())
}
