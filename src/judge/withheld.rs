//! Why an answer is not delivered.

use seine_parse::page::PageEvent;

/// Whether this page asks not to be indexed. `says`: the answer says so. `before`: the page said so at the last
/// fetch; a 304 or a cut page need not repeat it.
pub fn is_noindex(event: &PageEvent, says: bool, before: bool) -> bool {
    event.kind.is_delivered()
        && event.response().is_some_and(|response| match response.status {
            304 => says || before,
            _ => response.is_success() && (says || (before && response.is_cut())),
        })
}
