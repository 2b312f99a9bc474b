//! A capture in many files, read by many processes: which packets each is to see, and what comes of it all.
//!
//! ```text
//! files --survey--> Plan --Route, per file--> rows --Analysis, per partition--> Portions --judge--> Outcome
//! ```
//!
//! What two hosts say to each other is analysed by one [`Analysis`], which has a partition of all pairs of
//! hosts ([`Decoder::partition`](crate::session::Decoder::partition)); what spans pairs is merged and judged as it is
//! for threads ([`Merge`](crate::session::Merge)). So it comes to what one process makes of the same files,
//! merged. Packets of other traffic are left out as early as that is sure, and leave their mark: numbers and
//! times of packets, hosts that were heard.
//!
//! Nothing here knows how rows get from one process to another, sorted: that is the work of an engine.

mod analysis;
mod bytes;
mod judge;
mod pair;
mod plan;
mod route;
mod row;
mod summaries;
mod survey;

pub use analysis::{Analysis, Portion, Portions, Reports};
pub use bytes::{Broken, from_bytes, to_bytes};
pub use judge::judge;
pub use plan::Plan;
pub use route::Route;
pub use row::{Kind, Row};
pub use summaries::{Summaries, put_together};
pub use survey::{Survey, survey};
