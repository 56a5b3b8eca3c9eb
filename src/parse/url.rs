//! URLs: made absolute.

/// `href` against `base`: absolute, without fragment; none when it is not http(s).
pub fn resolve(base: &::url::Url, href: &str) -> Option<String> {
    let mut url = base.join(href).ok()?;
    if !matches!(url.scheme(), "http" | "https") {
        return None;
    }
    url.set_fragment(None);
    Some(url.into())
}
