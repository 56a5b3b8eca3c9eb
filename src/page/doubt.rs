//! What speaks against a page that is there. One answer may be a mishap of an hour, so the page stays where it was delivered until
//! a second fetch agrees.

use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};

use crate::planted;

/// What an answer said against a page that is there. Stored: only add.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Encode, Decode)]
#[serde(rename_all = "snake_case")]
#[cbor(index_only)]
pub enum Doubt {
    /// It is not there: 404 or 410.
    #[default]
    #[n(0)]
    Missing,
    /// robots.txt forbids it, which it did not.
    #[n(1)]
    Forbidden,
    /// It asks not to be indexed, which it did not.
    #[n(2)]
    Noindex,
    /// It redirects to another page than before.
    #[n(3)]
    Elsewhere,
    /// It is empty, which it was not.
    #[n(4)]
    Empty,
    /// Its body broke off. This says nothing of the page, however often it happens: a second half does not confirm the first.
    #[n(5)]
    Cut,
}

impl Doubt {
    pub fn is_missing(&self) -> bool {
        *self == Doubt::Missing
    }

    /// For people: what it did when it was last asked for.
    pub fn meaning(self) -> &'static str {
        match self {
            Doubt::Missing => "it answered that it is not there",
            Doubt::Forbidden => "robots.txt forbids it",
            Doubt::Noindex => "it asked not to be indexed",
            Doubt::Elsewhere => "it redirected to another page than before",
            Doubt::Empty => "it was empty",
            Doubt::Cut => "its body broke off",
        }
    }
}

/// Which doubts another answer confirms: what it says is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Believed {
    /// None yet.
    Nothing,
    /// The page has been doubted for this reason for long enough.
    Only(Doubt),
    /// Whatever is said is believed at once (`confirm_gone: 0`).
    All,
}

impl Believed {
    pub fn takes(self, doubt: Doubt) -> bool {
        match self {
            _ if doubt == Doubt::Cut => false,
            _ if doubt == Doubt::Missing && planted::is("gone_at_once") => true,
            _ if doubt != Doubt::Missing && planted::is("one_bad_hour") => true,
            Believed::Nothing => false,
            Believed::Only(believed) => believed == doubt,
            Believed::All => true,
        }
    }
}
