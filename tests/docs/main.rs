//! The documents: the reference is what the source says, links lead somewhere, and commands do what the text says.

mod examples;
mod links;
mod pages;
mod reference;
#[path = "../support/mod.rs"]
mod support;
