//! A2S from the user's side: datagrams in, messages and verdicts out.

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
