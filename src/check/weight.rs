//! How grave findings are, compared with one another.

use dissectors::kit::{Severity, Verdict};

/// Findings by severity: inconclusive ones rank below proven ones.
pub const WEIGHTS: [Option<(Severity, Verdict)>; 7] = [
    None,
    Some((Severity::Note, Verdict::Inconclusive)),
    Some((Severity::Note, Verdict::Note)),
    Some((Severity::Warning, Verdict::Inconclusive)),
    Some((Severity::Error, Verdict::Inconclusive)),
    Some((Severity::Warning, Verdict::Fail)),
    Some((Severity::Error, Verdict::Fail)),
];

/// The rank of a finding: its index in [`WEIGHTS`].
pub fn weight(severity: Severity, verdict: Verdict) -> u8 {
    match (severity, verdict) {
        (Severity::Note, Verdict::Inconclusive) => 1,
        (Severity::Note, _) | (_, Verdict::Note) => 2,
        (Severity::Warning, Verdict::Inconclusive) => 3,
        (Severity::Error, Verdict::Inconclusive) => 4,
        (Severity::Warning, Verdict::Fail) => 5,
        (Severity::Error, Verdict::Fail) => 6,
    }
}
