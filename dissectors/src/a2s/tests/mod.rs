//! A2S from the user's side: datagrams in, messages and verdicts out.

mod conversations;
mod crowd;
mod exchanges;
mod fragments;
mod lab;
mod lost;
mod messages;
mod responses;
mod robustness;
mod script;
mod splits;
