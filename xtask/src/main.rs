//! `cargo run -p xtask -- samples [--check]`

fn main() {}
