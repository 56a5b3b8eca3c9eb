//! Keys of what publishers ask.

use super::Kind::List;
use super::{Key, ours};
use crate::config::draft;

pub(super) const KEYS: &[Key] = &[
    ours(
        "purpose",
        "[]",
        List(draft::set_purposes),
        "What the pages are for: search, archive, ai-input, train-ai, tdm. Pages that their publishers do not want used for one of \
         these (Content-Usage, Content-Signal, TDM reservations, RSL, noai, noarchive) are read for their links and not delivered; \
         one that was leaves as if it were gone. Nothing: what is asked is noted with each page, and nothing is withheld.",
    ),
    ours(
        "accept_licenses",
        "[]",
        List(draft::set_licenses),
        "URLs of RSL licences and TDM policies that you have agreed to: what asks for one of these alone may be used. Others that a \
         page names forbid ai-input, train-ai and tdm.",
    ),
];
