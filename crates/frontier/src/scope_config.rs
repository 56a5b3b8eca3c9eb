//! Settings of the scope.

use seine_parse::page::preferences::Purposes;
use seine_parse::requisites::Requisites;

/// Which URLs are in scope. `scope` applies it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ScopeConfig {
    pub rule: ScopeRule,
    /// More hosts in scope, besides those of the seeds.
    pub hosts: Vec<String>,
    /// Regular expressions for whole URLs; case is ignored, as in ACHE. If there are any, at least one must match …
    pub allow: Vec<String>,
    /// … and none of these.
    pub deny: Vec<String>,
    /// Content of ACHE's `link_filters.yml`.
    pub link_filters: Option<String>,
    /// Obey nofollow in rel, robots meta tags and X-Robots-Tag.
    pub obey_nofollow: bool,
    /// Withhold pages with noindex in robots meta tags or X-Robots-Tag.
    pub obey_noindex: bool,
    /// `purpose`, `accept_licenses`.
    pub purposes: Purposes,
    /// Which resources needed to show pages are fetched.
    pub requisites: Requisites,
    /// Follow the actions of GET forms.
    pub forms: bool,
    /// Query parameters that are removed from links: names, or prefixes with `*`. Used if the data folder is new or the
    /// user set the key.
    pub drop_parameters: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ScopeRule {
    /// The hosts of the seeds.
    #[default]
    Host,
    /// The registrable domains of the seeds (public suffix + 1) with all hosts below.
    Domain,
    Any,
}
