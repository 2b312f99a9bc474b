//! Tests of verdicts from events.

use dissectors::kit::{FlowFacts, Settings, Span, Transport};
use dissectors::net_rules::NET004;

use super::*;
use crate::net::Tunnels;
use crate::session::{Batch, EventOrder};

#[test]
fn findings_that_are_not_kept_are_counted_by_severity() {
    let ends = ["10.0.0.2:27015", "10.0.0.1:50000"].map(|end| end.parse().unwrap());
    let (began, seen, silence, lossy) = (true, [true; 2], 0, false);
    let (number, transport) = (1, Transport::Udp);
    let context = FlowContext {
        protocol: None,
        flow: FlowFacts { ends, began, seen, silence, lossy, number, transport },
        roles: [None; 2],
        packet: (1, 24),
        moment: EventOrder::at(1),
        digits: 6,
        copy_of: None,
        tunnels: Tunnels::default(),
        hop_limit: 64,
        direction: Default::default(),
        window_closed: [0; 2],
    };
    let found = |rule, verdict, severity| {
        vec![Finding::of(rule, verdict, severity, Span::default(), String::new()); 900]
    };
    let findings = [
        found(&NET004, Verdict::Fail, Severity::Warning),
        found(&NET011, Verdict::Note, Severity::Note),
    ]
    .concat();
    let ledger_settings = LedgerSettings::of(&Settings::default(), 8);
    let mut checker = Checker::new(Selection::default(), ledger_settings, false);
    let batch = Batch::of_findings(context, findings);
    for _ in 0..3 {
        checker.event(&batch.event(0).unwrap());
    }
    let [notes, warnings, errors] = checker.severity_counts();
    assert_eq!([notes, warnings, errors], [2700, 2700, 0]);
    assert_eq!((checker.found().len(), checker.left_out), (2000, 3400));
}
