//! What kind of attack it is.

use super::target::Target;

/// Addresses that are few: toward them, responses are drawn.
const FEW: usize = 16;

/// What kind of attack it is, and whose capture shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AttackKind {
    /// A server is asked more than it can answer.
    FloodedServer,
    /// A server is made to flood others.
    Reflector,
    /// Somebody gets responses that he never asked for.
    Victim,
    /// A link between: both the requests and the responses have passed routers.
    Transit,
    /// A server is sent what is known to crash it.
    CrashAttempt,
}

impl AttackKind {
    /// All of them.
    pub const ALL: [AttackKind; 5] = [
        AttackKind::FloodedServer,
        AttackKind::Reflector,
        AttackKind::Victim,
        AttackKind::Transit,
        AttackKind::CrashAttempt,
    ];

    /// The name scripts use.
    pub const fn name(self) -> &'static str {
        match self {
            AttackKind::FloodedServer => "flooded_server",
            AttackKind::Reflector => "reflector",
            AttackKind::Victim => "victim",
            AttackKind::Transit => "transit",
            AttackKind::CrashAttempt => "crash_attempt",
        }
    }
}

/// The kind of a server that is flooded, used against others, or both. A flood from many is the
/// server's; where few addresses ask for nearly all, responses are drawn toward them. Where both
/// requests and responses have passed routers, the capture is from a link between.
pub(super) fn kind_of(
    target: &Target,
    [flooded, reflecting]: [bool; 2],
) -> (AttackKind, Option<AttackKind>) {
    let drawn: u64 = target.sources.top(FEW).0.iter().map(|(_, packets)| packets).sum();
    let is_toward_few = drawn.saturating_mul(2) >= target.packets[0];
    let (kind, also) = match (flooded, reflecting) {
        (true, true) if is_toward_few => (AttackKind::Reflector, Some(AttackKind::FloodedServer)),
        (true, true) => (AttackKind::FloodedServer, Some(AttackKind::Reflector)),
        (true, false) => (AttackKind::FloodedServer, None),
        (false, _) => (AttackKind::Reflector, None),
    };
    match target.hops.map(|hops| hops.all_routed()) {
        [true, true] => (AttackKind::Transit, Some(kind)),
        _ => (kind, also),
    }
}
