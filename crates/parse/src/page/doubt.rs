//! Signs that a known page is gone or may no longer be delivered. One bad answer may be temporary, so the page stays at
//! its destinations until a second fetch confirms it.

use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};

use seine_simulation_hooks::planted;

/// An answer that contradicts a known page. The numbers are stored: add new ones, never change old ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Encode, Decode)]
#[serde(rename_all = "snake_case")]
#[cbor(index_only)]
pub enum Doubt {
    /// The server answered 404 or 410.
    #[default]
    #[n(0)]
    Missing,
    /// robots.txt now forbids the URL.
    #[n(1)]
    Forbidden,
    /// The page now asks not to be indexed.
    #[n(2)]
    Noindex,
    /// The URL redirects to another page than before, or to no page.
    #[n(3)]
    Elsewhere,
    /// The page is empty and was not before.
    #[n(4)]
    Empty,
    /// The body was cut. This says nothing about the page, however often it happens: a second cut body does not confirm
    /// the first.
    #[n(5)]
    Cut,
    /// The page now names another canonical URL, which has a page.
    #[n(6)]
    Named,
    /// Its media type is not accepted (`valid_mime_types`).
    #[n(7)]
    UnwantedType,
}

impl Doubt {
    pub fn is_missing(&self) -> bool {
        *self == Doubt::Missing
    }

    /// For people: what the last fetch showed.
    pub fn meaning(self) -> &'static str {
        match self {
            Doubt::Missing => "it answered with 404 or 410",
            Doubt::Forbidden => "robots.txt forbids it",
            Doubt::Noindex => "it asked not to be indexed",
            Doubt::Elsewhere => "it redirected to another page than before, or to none",
            Doubt::Empty => "it was empty",
            Doubt::Cut => "its body was cut",
            Doubt::Named => "it named another URL as its canonical one",
            Doubt::UnwantedType => "its media type is not accepted",
        }
    }
}

/// Which doubts a further answer of the same kind confirms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Believed {
    /// None yet.
    Nothing,
    /// The page has shown this doubt for long enough.
    Only(Doubt),
    /// Every doubt is confirmed by its first answer (`confirm_gone: 0`).
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
