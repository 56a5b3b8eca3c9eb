//! Language tags (RFC 5646).

/// The primary language of a tag in lower case, `en` of `en-GB`; none for what is no tag.
pub fn primary_language(tag: &str) -> Option<String> {
    let primary = tag.trim().split(['-', '_']).next()?;
    let is_language = (2..=8).contains(&primary.len()) && primary.bytes().all(|it| it.is_ascii_alphabetic());
    is_language.then(|| primary.to_ascii_lowercase())
}
