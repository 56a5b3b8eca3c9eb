//! Regular expressions for URLs, all compiled in the same mode.

use regex::bytes::{Regex, RegexBuilder};

/// Compiles a pattern that may match any part of a URL; use `^` and `$` for the whole. As in ACHE, the dot matches all
/// characters and case is ignored. URLs are bytes, so character classes are ASCII: `[a-z]`, not `\p{L}`.
pub fn compile(written: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(&expression(written)).unicode(false).build()
}

/// The expression with its mode.
pub fn expression(written: &str) -> String {
    format!("(?is){written}")
}

/// Checks a pattern. The error says what is wrong.
pub fn check(written: &str) -> Result<(), String> {
    match compile(written) {
        Ok(_) => Ok(()),
        Err(regex::Error::CompiledTooBig(_)) => Err(format!("a smaller regular expression; {written} is too large")),
        Err(error) if error.to_string().contains("Unicode") => Err(format!(
            "regular expressions with ASCII classes, such as [a-z], because URLs are bytes; {written} has other classes"
        )),
        Err(_) => Err(format!("regular expressions without look-around and back-references; {written} is not valid")),
    }
}
