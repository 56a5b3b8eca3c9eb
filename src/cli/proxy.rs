//! Warns that Seine does not use the proxies set in the environment.

use std::env;

/// Variables that set a proxy for many programs; also in lower case.
const VARIABLES: [&str; 3] = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];

/// Warns if a proxy is set. Through a proxy, Seine could neither refuse private addresses nor limit the requests to an
/// address.
pub(super) fn tell() {
    let is_set = |name: &String| env::var_os(name).is_some_and(|value| !value.is_empty());
    let names = VARIABLES.iter().flat_map(|name| [(*name).to_owned(), name.to_lowercase()]);
    let set: Vec<String> = names.filter(is_set).collect();
    if set.is_empty() {
        return;
    }
    tracing::warn!(
        "{} set, but Seine uses no proxy, because it must control which addresses it fetches from and how often. Run it where the web can be \
         reached directly (or run seine work there for a crawl here), or unset the variable",
        match set.as_slice() {
            [one] => format!("{one} is"),
            several => format!("{} are", several.join(", ")),
        }
    );
}
