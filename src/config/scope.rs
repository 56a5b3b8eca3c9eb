//! Which links are followed.

use crate::page::preferences::Purposes;
use crate::parse::requisites::Requisites;

/// Which URLs are in scope; `frontier::scope` applies it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ScopeConfig {
    pub rule: ScopeRule,
    /// Hosts in scope besides the seeds'.
    pub hosts: Vec<String>,
    /// Regular expressions on the whole URL, without case (as in ACHE): at least one must match, if there are any …
    pub allow: Vec<String>,
    /// … and none of these.
    pub deny: Vec<String>,
    /// ACHE's `link_filters.yml`, its content.
    pub link_filters: Option<String>,
    /// rel=nofollow, meta robots and X-Robots-Tag nofollow are honoured.
    pub obey_nofollow: bool,
    /// Pages with meta robots or X-Robots-Tag noindex are read and not delivered.
    pub obey_noindex: bool,
    /// `purpose`, `accept_licenses`.
    pub purposes: Purposes,
    /// What is asked for of what pages need to be shown.
    pub requisites: Requisites,
    /// Where forms with GET lead is followed.
    pub forms: bool,
    /// Parameters that are taken out of links, in a data folder that is new or where this is set: names, or how they begin
    /// and a `*`.
    pub drop_parameters: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ScopeRule {
    /// The seeds' hosts.
    #[default]
    Host,
    /// The seeds' registrable domains (public suffix + 1) and all below.
    Domain,
    Any,
}
