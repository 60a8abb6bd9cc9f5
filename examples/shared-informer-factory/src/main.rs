//! Placeholder until the factory exists.
fn main() {}
