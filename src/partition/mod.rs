//! Analyses a capture of many files with many processes: which packets each gets, and how their
//! results are merged.
//!
//! ```text
//! files --survey--> Plan --Route, per file--> rows --Analysis, per partition--> Portions --verdict--> Outcome
//! ```
//!
//! The traffic between two hosts is handled by one [`Analysis`], which has a partition of all pairs
//! of hosts ([`Decoder::partition`](crate::session::Decoder::partition)); results that span pairs
//! are merged and checked as they are for threads ([`Merge`](crate::session::Merge)). The outcome
//! equals that of one process that reads the same files, merged. Packets of other traffic are left
//! out as early as possible, but what they show is passed on: numbers and times of packets, and
//! hosts in the recording.
//!
//! How rows get from one process to another, sorted, is the work of an engine such as Spark.

mod analysis;
mod bytes;
mod pair;
mod plan;
mod route;
mod row;
mod summaries;
mod survey;
mod verdict;

pub use analysis::{Analysis, Portion, Portions, Reports};
pub use bytes::{BrokenBytes, from_bytes, to_bytes};
pub use plan::Plan;
pub use route::Route;
pub use row::{PartitionRow, RowKind};
pub use summaries::{Summaries, put_together};
pub use survey::{Survey, survey};
pub use verdict::verdict;
