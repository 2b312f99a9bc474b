//! The specification's own lines, whole conversations, and bytes of every kind.

mod conversations;
mod lab;
mod messages;
mod robustness;
