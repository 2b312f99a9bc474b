//! The verdicts of `gamewire check`, and the catalogue behind them.
//!
//! - [`text`]: what is wrong first, then a table of verdicts, for people.
//! - [`json`]: one object, for scripts.
//! - [`rules`]: the catalogue, and one rule explained.

pub mod json;
pub mod rules;
pub mod text;
