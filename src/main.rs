//! Arguments → one call.
fn main() {}
