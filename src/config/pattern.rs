//! Regular expressions for URLs, in the one mode in which they are used.

use regex::bytes::{Regex, RegexBuilder};

/// A pattern for whole URLs or, with `^` and `$` of its own, for all of one: the dot matches everything, case does not
/// matter, as in ACHE. URLs are bytes here, so classes are those of ASCII: `[a-z]`, not `\p{L}`.
pub fn compile(written: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(&expression(written)).unicode(false).build()
}

/// What is compiled.
pub fn expression(written: &str) -> String {
    format!("(?is){written}")
}

/// Says why a text is no such pattern.
pub(super) fn check(written: &str) -> Result<(), String> {
    match compile(written) {
        Ok(_) => Ok(()),
        Err(regex::Error::CompiledTooBig(_)) => Err(format!("a smaller regular expression than {written}")),
        Err(error) if error.to_string().contains("Unicode") => Err(format!(
            "regular expressions of ASCII classes, such as [a-z]: URLs are bytes here; {written} has others"
        )),
        Err(_) => Err(format!("regular expressions, without look-around and back-references; {written} is none")),
    }
}
