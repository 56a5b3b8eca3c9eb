//! Proxies in the environment: they are not used, and that is said.

use std::env;

/// By which programs are told of a proxy; in small letters, too.
const VARIABLES: [&str; 3] = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];

/// Says so where a proxy is set. Through one, Seine would neither know which addresses it visits (private ones are refused) nor
/// how often it visits each.
pub fn tell() {
    let is_set = |name: &String| env::var_os(name).is_some_and(|value| !value.is_empty());
    let names = VARIABLES.iter().flat_map(|name| [(*name).to_owned(), name.to_lowercase()]);
    let set: Vec<String> = names.filter(is_set).collect();
    if set.is_empty() {
        return;
    }
    tracing::warn!(
        "{} set, and Seine uses no proxy: it checks itself which addresses it visits and how often. Run it where the web can be \
         reached directly (seine work fetches there for a crawl that runs here), or unset the variable if it is not for Seine",
        match set.as_slice() {
            [one] => format!("{one} is"),
            several => format!("{} are", several.join(", ")),
        }
    );
}
