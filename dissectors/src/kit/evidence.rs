//! What the recording proves, and how a broken rule is reported.

use serde::{Deserialize, Serialize};

use crate::kit::{Mark, NeededEvidence, Rule, Severity, Span};

/// What the recording proves about a message. See [`Evidence::suffices`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The user states that the capture is complete.
    pub complete: bool,
    /// The flow's first packet opens a conversation.
    pub began: bool,
    /// The recording itself lost something that touches the message.
    pub lost: bool,
    /// The recording lost packets of the flow: earlier or later messages may be missing.
    pub lossy: bool,
    /// The capture has a packet from the party that is expected to respond, or to have sent
    /// something before, on this flow: both directions were recorded.
    pub asked_party_seen: bool,
    /// The capture continues for at least the response timeout after the request.
    pub waited: bool,
    /// An ICMP error says that the request did not arrive, so that no response will come.
    pub refused: bool,
}

impl Evidence {
    /// Whether a breach is proven. No other function decides this.
    pub const fn suffices(self, needs: NeededEvidence) -> bool {
        if self.lost {
            return false;
        }
        match needs {
            NeededEvidence::Message => true,
            NeededEvidence::Interval => !self.lossy,
            NeededEvidence::Beginning => {
                !self.lossy && (self.complete || self.began && self.asked_party_seen)
            }
            NeededEvidence::Response => {
                self.refused
                    || !self.lossy && (self.complete || self.waited && self.asked_party_seen)
            }
        }
    }

    /// Whether a breach would be proven if some packet of the asked party's host were in the capture, in whatever flow.
    pub const fn suffices_if_heard(self, rule: &Rule) -> bool {
        let heard = Evidence { asked_party_seen: true, ..self };
        rule.requires_response && !self.suffices(rule.needs) && heard.suffices(rule.needs)
    }
}

crate::named! {
    /// The result of checking a rule once, unless it passed.
    #[derive(Serialize, Deserialize)]
    pub enum Verdict {
        /// Broken for certain.
        Fail = "fail",
        /// Possibly broken: packets missing from the capture could explain it.
        Inconclusive = "inconclusive",
        /// A known deviation; the rule passes.
        Note = "note",
    }
}

impl Verdict {
    /// The severity of a finding with this verdict, where `of_rule` is that of the rule.
    pub fn severity(self, of_rule: Severity) -> Severity {
        if self == Verdict::Note { Severity::Note } else { of_rule }
    }
}

/// A rule that was broken or may have been broken, or a note on it. [`Rule`] has the requirement and its
/// reason, `detail` the fault of this message.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// Which rule.
    pub rule: &'static Rule,
    /// The result.
    pub verdict: Verdict,
    /// Its severity: the rule's, as configured by the user, or a note.
    pub severity: Severity,
    /// The bytes in question.
    pub span: Span,
    /// What is wrong, with the values from this message.
    pub detail: String,
    /// The message that it is about, if not the current one.
    pub mark: Option<Mark>,
    /// It is inconclusive only because this flow has no packet of the asked party: one of its host in any other flow
    /// proves it.
    pub if_heard: bool,
}

impl Finding {
    /// A finding about the current message.
    pub fn of(
        rule: &'static Rule,
        verdict: Verdict,
        severity: Severity,
        span: Span,
        detail: String,
    ) -> Finding {
        Finding { rule, verdict, severity, span, detail, mark: None, if_heard: false }
    }
}
