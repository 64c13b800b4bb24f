//! The `apportion` command.
fn main() {}
