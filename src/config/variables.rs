//! The layer of the environment: `SEINE__LINK_STORAGE__CACHE_SIZE=64MiB` sets `link_storage.cache_size`.

use super::error::{Origin, Problem};
use super::keys;
use super::layers::{Layer, typed};
use super::secret_file;
use super::values;

/// Prefix of all our variables. In the rest of the name, `__` means a dot, and case is ignored.
const PREFIX: &str = "SEINE__";
/// The prefix with a frequent spelling mistake.
const MISSPELT: &str = "SEINE_";

/// Reads the variables that begin with `SEINE__`. Empty ones count as not set.
pub(super) fn layer(env: &[(String, String)], problems: &mut Vec<Problem>) -> Layer {
    let mut layer = Layer::default();
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
        match typed(key, text, &at) {
            Err(problem) => problems.push(Problem::Yaml { at, problem }),
            Ok(value) => layer.add(&secret_file::spelled(key, in_file), value, problems),
        }
    }
    layer
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
