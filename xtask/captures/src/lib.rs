//! Generates captures: packets with correct or deliberately wrong headers, conversations from scripts, and
//! the files of `samples/`.
//!
//! - [`wire`] builds packets and capture files.
//! - [`exchange`] turns a readable script of a conversation into packets.
//! - [`samples`] is the list of sample captures and how each is made.
//! - [`attacks`] makes attacks in which the sender of each packet is known.
//! - [`exhausting`] makes captures that cost much more to process than to send.
//! - [`bulk`] writes captures of millions of packets for measurements.
//! - [`mutate`] damages captures.
//! - [`bytes`] builds byte strings.
//! - [`traffic`] plays many conversations at once, and records them completely or not.
//!
//! This crate follows the tables of the protocols' specifications and is independent of the dissectors, except
//! for the language of scripts, so that an error there cannot be hidden by the same error in a sample. It uses no clock and no randomness
//! except [`wire::Prng`], so its output is reproducible. It is a tool for developers: invalid text is an
//! error, invalid arguments are a panic.

pub mod attacks;
pub mod bulk;
pub mod bytes;
pub mod exchange;
pub mod exhausting;
pub mod mutate;
pub mod samples;
pub mod traffic;
pub mod wire;
