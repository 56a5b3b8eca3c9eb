//! The keys of the ELASTICSEARCH sink: their checks, and the deprecated keys.

use std::path::PathBuf;

use url::Url;

use super::checked::ElasticConfig;
use super::draft::Draft;
use super::secret::Secret;
use super::values::is_header_value;

/// The values of the keys, with the default host if there is none.
pub(super) fn finish(draft: &Draft) -> ElasticConfig {
    let mut config = draft.elastic.clone();
    if config.hosts.is_empty() {
        config.hosts.extend(draft.transport_host.clone().or_else(|| Url::parse("http://localhost:9200").ok()));
    }
    config
}

/// Checks that there is one complete way of authentication: user and password, or an API key.
pub(super) fn contradictions(config: &ElasticConfig) -> Vec<(&'static str, &'static str)> {
    let mut found = Vec::new();
    if config.username.is_some() && config.api_key.is_some() {
        found.push((
            "target_storage.data_format.elasticsearch.rest.username and api_key",
            "only one way of authentication can be used; remove one of them",
        ));
    }
    if config.username.is_none() && config.password.is_some() {
        found.push((
            "target_storage.data_format.elasticsearch.rest.username and password",
            "a password needs its username",
        ));
    }
    found
}

pub(super) fn set_hosts(draft: &mut Draft, hosts: Vec<String>) -> Result<(), String> {
    draft.elastic.hosts = hosts.iter().map(|host| host_url(host)).collect::<Result<_, _>>()?;
    Ok(())
}

/// Parses a server's URL; the default port is Elasticsearch's.
fn host_url(text: &str) -> Result<Url, String> {
    let expected = |what: &str| format!("URLs such as http://node1:9200; {what}");
    // This check comes first, because the other errors show the text.
    if text.contains('@') {
        return Err(expected("user and password belong into the keys rest.username and rest.password"));
    }
    let mut url = Url::parse(text).map_err(|_| expected(&format!("{text} is not one")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(expected(&format!("{text} is not one")));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(expected(&format!("{text} has more than a path")));
    }
    if !names_port(text) {
        url.set_port(Some(9200)).map_err(|()| expected(&format!("{text} is not one")))?;
    }
    Ok(url)
}

/// Whether the text has a port. `Url` drops a port that is the scheme's default.
fn names_port(text: &str) -> bool {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let port = authority.rsplit_once(':').map(|(_, port)| port);
    port.is_some_and(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The rules of Elasticsearch's "Create index" page.
pub(super) fn set_index(draft: &mut Draft, name: &str) -> Result<(), String> {
    let forbidden = |c: char| {
        c.is_uppercase()
            || c.is_whitespace()
            || c.is_control()
            || matches!(c, '\\' | '/' | '*' | '?' | '"' | '<' | '>')
            || matches!(c, '|' | ',' | '#' | ':' | '%')
    };
    let is_right =
        !name.is_empty() && name.len() <= 255 && !name.starts_with(['-', '_', '+', '.']) && !name.contains(forbidden);
    if !is_right {
        return Err("an index name: lower case, at most 255 bytes, without \\ / * ? \" < > | , # : % and blanks, not beginning with - _ + .".into());
    }
    draft.elastic.index = name.to_owned();
    Ok(())
}

pub(super) fn set_type(draft: &mut Draft, name: &str) -> Result<(), String> {
    if name != "page" {
        draft.notes.push("accepted, no effect: servers since Elasticsearch 7 have no types".into());
    }
    Ok(())
}

pub(super) fn set_username(draft: &mut Draft, name: Option<&str>) -> Result<(), String> {
    if name.is_some_and(|name| name.is_empty() || name.contains(':')) {
        return Err("a user's name, without a colon".into());
    }
    draft.elastic.username = name.map(str::to_owned);
    Ok(())
}

pub(super) fn set_password(draft: &mut Draft, password: Option<&str>) -> Result<(), String> {
    draft.elastic.password = password.map(Secret::new);
    Ok(())
}

pub(super) fn set_api_key(draft: &mut Draft, key: Option<&str>) -> Result<(), String> {
    if key.is_some_and(|key| key.is_empty() || !is_header_value(key) || key.contains(char::is_whitespace)) {
        return Err("the value `encoded` that Elasticsearch showed for the new key".into());
    }
    draft.elastic.api_key = key.map(Secret::new);
    Ok(())
}

pub(super) fn set_ca_file(draft: &mut Draft, path: Option<&str>) -> Result<(), String> {
    if path == Some("") {
        return Err("the path of a PEM file".into());
    }
    draft.elastic.ca_file = path.map(PathBuf::from);
    Ok(())
}

pub(super) fn set_transport_host(draft: &mut Draft, host: Option<&str>) -> Result<(), String> {
    let Some(host) = host else { return Ok(()) };
    let expected = || match host.contains('@') {
        // The text may contain a password, so the error does not show it.
        true => "only a host name or address".to_owned(),
        false => format!("a host name or address; {host} is not one"),
    };
    let mut url = Url::parse(&format!("http://{host}")).map_err(|_| expected())?;
    if url.path() != "/" || !url.username().is_empty() || url.query().is_some() {
        return Err(expected());
    }
    url.set_port(Some(9200)).map_err(|()| expected())?;
    draft.notes.push(format!(
        "deprecated: the transport protocol is gone; {url} is used unless rest.hosts is set. Set \
         target_storage.data_format.elasticsearch.rest.hosts instead"
    ));
    draft.transport_host = Some(url);
    Ok(())
}

pub(super) fn set_cluster_name(draft: &mut Draft, name: Option<&str>) -> Result<(), String> {
    if name.is_some() {
        draft.notes.push("deprecated, no effect: with HTTP, the hosts determine the cluster".into());
    }
    Ok(())
}
