//! What the recording itself shows: notices, headers, fragments, and limits that were met. It is told
//! round no message.

use dissectors::kit::{Evidence, FlowFacts, Mark, Rule, Side, Time};
use dissectors::net_rules::{NET002, NET003, NET004, NET005, NET008, NET009, NET010, NET011};

use super::{NOWHERE, Scene, Session, View};
use crate::capture::Notice;
use crate::net::ip_defrag::{Cause, Event, EventKind};
use crate::net::{Outcome, Tunnels, checksum};

impl Session {
    /// Something was said about the recording itself.
    pub fn notice<V: View>(&mut self, notice: &Notice, view: &mut V) {
        let rule = match notice {
            Notice::Drops { .. } => &NET010,
            Notice::FileCut { .. }
            | Notice::FileShrank { .. }
            | Notice::BrokenBlock { .. }
            | Notice::ReadError { .. } => &NET009,
            Notice::TimeOutOfRange { .. } => return,
        };
        self.incomplete.anywhere = true;
        view.scene(&Scene {
            protocol: None,
            flow: NOWHERE,
            roles: [None; 2],
            packet: (self.frame, self.offset),
            digits: self.digits,
            tunnels: Tunnels::default(),
        });
        let mark =
            Mark { frame: self.frame, time: self.now.max(Time(0)), length: 0, side: Side::First };
        view.recalled(rule, false, Evidence::default(), &mark, || notice.to_string());
        view.settle();
    }

    /// Tells which of the protocols' limits were met by the packet at hand.
    pub(super) fn limits_met<V: View>(&mut self, time: Time, view: &mut V) {
        for limit in self.budget.take_met() {
            let detail = format!("the limit {} was met", limit.name());
            self.about_packet(&NET011, false, time, view, detail);
        }
    }

    /// Tells what no message of the packet at hand has told.
    pub(super) fn about_packet<V: View>(
        &self,
        rule: &'static Rule,
        ok: bool,
        time: Time,
        view: &mut V,
        detail: String,
    ) {
        let (digits, tunnels) = (self.digits, Tunnels::default());
        view.scene(&Scene {
            protocol: None,
            flow: NOWHERE,
            roles: [None; 2],
            packet: (self.frame, self.offset),
            digits,
            tunnels,
        });
        let mark = Mark { frame: self.frame, time, length: 0, side: Side::First };
        view.recalled(rule, ok, Evidence::default(), &mark, || detail);
        view.settle();
    }

    pub(super) fn checksums(&mut self, outcome: &Outcome<'_>) {
        let sums = checksum::verify(outcome);
        for (rule, verdict) in [(&NET002, sums.ipv4), (&NET003, sums.transport)] {
            match verdict {
                checksum::Verdict::NotJudged => {}
                checksum::Verdict::Right => self.headers.push((rule, true, String::new())),
                checksum::Verdict::Wrong { found, expected } => {
                    let detail =
                        format!("the checksum is {found:#06x}, the bytes give {expected:#06x}");
                    self.headers.push((rule, false, detail));
                }
            }
        }
    }

    pub(super) fn fragment_events<V: View>(&mut self, view: &mut V) {
        for event in std::mem::take(&mut self.fragment_events) {
            let rule = match &event.kind {
                EventKind::Overlap { .. } => &NET004,
                EventKind::Missing { cause, .. } => {
                    self.incomplete.insert(event.ip.source, event.ip.destination);
                    if *cause == Cause::Limit { &NET011 } else { &NET005 }
                }
                EventKind::Malformed(_) => &NET008,
            };
            let mark = Mark {
                frame: event.at.frame,
                time: Time(event.at.time),
                length: 0,
                side: Side::First,
            };
            let ends = [event.ip.source, event.ip.destination].map(|ip| (ip, 0).into());
            let flow = FlowFacts { ends, ..NOWHERE };
            view.scene(&Scene {
                protocol: None,
                flow,
                roles: [None; 2],
                packet: (self.frame, self.offset),
                digits: self.digits,
                tunnels: event.ip.tunnels,
            });
            view.recalled(rule, false, Evidence::default(), &mark, || told(&event));
            view.settle();
        }
    }
}

/// What happened to a fragmented datagram, in words.
pub(super) fn told(event: &Event) -> String {
    let datagram = format!("datagram {:#06x}", event.identification);
    match &event.kind {
        EventKind::Overlap { differs } => {
            let how = if *differs { "other bytes" } else { "the same bytes" };
            format!("fragments of {datagram} overlap, with {how}; the first copy counts")
        }
        EventKind::Missing { cause, frames, held, length, .. } => {
            let of = length.map_or(String::new(), |length| format!(" of {length}"));
            let count = frames.len();
            let why = match cause {
                Cause::Limit => {
                    "is given up, as the limit fragment-bytes or fragments-bytes is met"
                }
                Cause::Timeout | Cause::End => "never became whole",
            };
            format!("{datagram} {why}: {count} fragments with {held}{of} bytes came")
        }
        EventKind::Malformed(malformed) => malformed.to_string(),
    }
}
