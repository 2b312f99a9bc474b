//! A2S as a user meets it: datagrams go in, messages and verdicts come out.

mod answers;
mod conversations;
mod crowd;
mod exchanges;
mod fragments;
mod lab;
mod lost;
mod messages;
mod robustness;
mod script;
mod splits;
