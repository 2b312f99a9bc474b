//! The specification's own lines, the rules' examples, whole conversations, and arbitrary bytes.

mod answers;
mod conversations;
mod document;
mod lab;
mod lists;
mod lost;
mod owed;
mod requests;
mod robustness;
mod script;
