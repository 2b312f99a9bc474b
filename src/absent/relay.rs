//! There are no sockets and no processes, so nothing is relayed and recorded.

use std::time::Duration;

#[path = "../relay/plan.rs"]
mod plan;

pub use plan::RelayPlan;

/// The longest time that `--linger` can wait.
pub const LONGEST_LINGER: Duration = Duration::from_secs(5);

/// Why relays cannot begin.
#[derive(Debug, thiserror::Error)]
#[error(
    "no command can be run and recorded by this build; record with gamewire on Linux or macOS, and open the file"
)]
pub struct RelayError;
