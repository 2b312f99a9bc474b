//! Reads packet captures of game-server query and master-server protocols, and says what is in
//! them.

pub mod net;
pub mod report;
pub mod text;
