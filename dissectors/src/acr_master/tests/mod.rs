//! The specification's own lines, whole conversations, and arbitrary bytes.

mod conversations;
mod lab;
mod messages;
mod robustness;
