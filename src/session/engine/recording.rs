//! Results about the recording: notices, headers, fragments, and limits. They belong to no message.

use dissectors::kit::{Evidence, FlowFacts, Mark, Rule, Side, Sink, Time, counted};
use dissectors::net_rules::{
    NET001, NET002, NET003, NET004, NET005, NET008, NET009, NET010, NET011,
};

use super::PacketContext;
use super::Session;
use super::packet_context::HeaderResult;
use super::recorder::FieldSink;
use super::recorder::Recorder;
use crate::capture::Notice;
use crate::flows::MessageCounts;
use crate::net::ip_defrag::{FragmentEvent, FragmentEventKind, GiveUpCause};
use crate::net::{Headers, Hosts, Outcome, checksum};
use crate::session::events::{MOST_FILES, NOWHERE};
use crate::session::{EventOrder, FlowContext};

/// The text about a packet that was cut.
pub(super) const SNAPPED: &str = "cut by the snap length";

impl Session {
    /// A notice about the recording.
    pub(super) fn notice<F: FieldSink>(&mut self, notice: &Notice, recorder: &mut Recorder<F>) {
        let rule = match notice {
            Notice::Drops { .. } | Notice::InterfaceDown { .. } => &NET010,
            Notice::FileCut { .. }
            | Notice::FileShrank { .. }
            | Notice::BrokenBlock { .. }
            | Notice::Interrupted { .. }
            | Notice::Unopened { .. }
            | Notice::ReadError { .. } => &NET009,
            // What seems to be missing may come later.
            Notice::Unordered { is_mended: false, .. } => return self.lose(recorder),
            Notice::TimeOutOfRange { .. } | Notice::Unordered { .. } => return,
        };
        let is_good = !notice.is_warning();
        let at = EventOrder::at(self.context.frame);
        self.context.moment = self.context.moment.max(at).within();
        // What could not be opened is missing wherever its packets belong.
        let breaks_off = rule == &NET009 && !matches!(notice, Notice::Unopened { .. });
        if !is_good && breaks_off {
            self.break_off(recorder);
        } else if !is_good {
            self.lose(recorder);
        }
        self.context.dropped |= rule == &NET010 && !is_good;
        if !self.is_first() {
            return;
        }
        let context = &self.context;
        let (frame, time) = (context.frame, context.now.max(Time(0)));
        let mark = Mark { frame, time, length: 0, side: Side::First };
        report(recorder, context.flow_context(&NOWHERE), rule, is_good, &mark, || {
            notice.to_string()
        });
    }

    /// Reports what happened to fragments. Sessions that share a capture all have the same events in
    /// the same order: each is a step, so that the events of different sessions keep that order.
    pub(super) fn fragment_events<F: FieldSink>(&mut self, recorder: &mut Recorder<F>) {
        for event in std::mem::take(&mut self.fragment_events) {
            self.fragment_event(&event, recorder);
            self.context.moment = self.context.moment.within();
        }
    }

    fn fragment_event<F: FieldSink>(&mut self, event: &FragmentEvent, recorder: &mut Recorder<F>) {
        let (source, destination) = (event.ip.source, event.ip.destination);
        // Each part reports the results of its own pairs of hosts.
        let at = self.range.place_of(source, destination);
        let Some(shard) = at.and_then(|at| self.shards.get_mut(at)) else { return };
        let rule = match &event.kind {
            FragmentEventKind::Overlap { .. } => &NET004,
            FragmentEventKind::Missing { cause, .. } => {
                shard.incomplete.insert(Hosts::of(source, destination));
                if *cause == GiveUpCause::Limit { &NET011 } else { &NET005 }
            }
            FragmentEventKind::Malformed(_) => &NET008,
        };
        let mark =
            Mark { frame: event.at.frame, time: Time(event.at.time), length: 0, side: Side::First };
        let [from, to] = event.ports.unwrap_or_default();
        let ends = [(source, from).into(), (destination, to).into()];
        let flow_context = self.context.flow_context(&FlowFacts { ends, ..NOWHERE });
        let (tunnels, hop_limit) = (event.ip.tunnels, event.ip.hop_limit);
        let flow_context = FlowContext { tunnels, hop_limit, ..flow_context };
        let is_snapped = matches!(event.kind, FragmentEventKind::Missing { snapped: true, .. });
        if is_snapped {
            report(recorder, flow_context, &NET001, false, &mark, || SNAPPED.to_owned());
        }
        // If packets were cut, or the capture ends soon after it, all fragments may have come.
        let timeout = self.context.options.settings.answer_timeout;
        let is_last =
            matches!(event.kind, FragmentEventKind::Missing { cause: GiveUpCause::End, .. })
                && self.context.now.since(mark.time) < timeout
                && !self.context.options.complete;
        let evidence = Evidence { lost: is_snapped || is_last, ..Evidence::default() };
        report_with(recorder, flow_context, rule, false, evidence, &mark, || words(event));
    }
}

impl PacketContext {
    /// Reports the results about the current packet that no message has reported.
    pub(super) fn about_packet<F: FieldSink>(
        &self,
        rule: &'static Rule,
        ok: bool,
        recorder: &mut Recorder<F>,
        detail: impl FnOnce() -> String,
    ) {
        let mark = Mark { frame: self.frame, time: self.now, length: 0, side: Side::First };
        report(recorder, self.flow_context(&NOWHERE), rule, ok, &mark, detail);
    }

    /// From the current packet on, the file of packets is not stored any more.
    #[cold]
    pub(super) fn files_end<F: FieldSink>(&self, recorder: &mut Recorder<F>) {
        let detail =
            || format!("from here on, no file is named: they took turns {MOST_FILES} times");
        self.about_packet(&NET011, false, recorder, detail);
    }

    pub(super) fn checksums(&mut self, outcome: &Outcome<'_>) {
        let sums = checksum::verify(outcome);
        for (rule, verdict) in [(&NET002, sums.ipv4), (&NET003, sums.transport)] {
            checked(verdict, |ok, detail| {
                self.headers.push(HeaderResult { rule, ok, detail: detail() });
            });
        }
    }

    /// Checks the checksum of a message's IPv4 header, unless all checksums are checked.
    #[inline]
    pub(super) fn header_checksum(
        &self,
        headers: &Headers<'_>,
        report: impl FnOnce(bool, &dyn Fn() -> String),
    ) {
        if !self.options.verify_checksums {
            checked(checksum::header(headers), report);
        }
    }
}

/// The result of a checksum: whether it is correct, and what is wrong with it.
#[inline]
fn checked(verdict: checksum::ChecksumResult, report: impl FnOnce(bool, &dyn Fn() -> String)) {
    match verdict {
        checksum::ChecksumResult::NotChecked => {}
        checksum::ChecksumResult::Right => report(true, &String::new),
        checksum::ChecksumResult::Wrong { found, expected } => report(false, &|| {
            format!("the checksum is {found:#06x}, the bytes give {expected:#06x}")
        }),
    }
}

/// Reports a result about the recording, which losses elsewhere do not affect.
pub(super) fn report<F: FieldSink>(
    recorder: &mut Recorder<F>,
    flow_context: FlowContext,
    rule: &'static Rule,
    ok: bool,
    mark: &Mark,
    detail: impl FnOnce() -> String,
) -> MessageCounts {
    report_with(recorder, flow_context, rule, ok, Evidence::default(), mark, detail)
}

/// The same with this evidence.
fn report_with<F: FieldSink>(
    recorder: &mut Recorder<F>,
    flow_context: FlowContext,
    rule: &'static Rule,
    ok: bool,
    evidence: Evidence,
    mark: &Mark,
    detail: impl FnOnce() -> String,
) -> MessageCounts {
    recorder.flow_context(flow_context);
    recorder.evidence(evidence);
    recorder.recalled(rule, ok, evidence, mark, detail);
    recorder.settle()
}

/// The text about a fragmented datagram.
pub(super) fn words(event: &FragmentEvent) -> String {
    let datagram = format!("datagram {:#06x}", event.identification);
    match &event.kind {
        FragmentEventKind::Overlap { differs } => {
            let how = if *differs { "other bytes" } else { "the same bytes" };
            format!("fragments of {datagram} overlap, with {how}; the first copy counts")
        }
        FragmentEventKind::Missing { cause, frames, held, length, snapped } => {
            let of = length.map_or(String::new(), |length| format!(" of {length}"));
            let cut = if *snapped { ", cut by the snap length" } else { "" };
            let count = frames.len();
            let why = match cause {
                GiveUpCause::Limit => {
                    "is given up, as the limit fragment-bytes or fragments-bytes is met"
                }
                GiveUpCause::Timeout | GiveUpCause::End => "never became whole",
            };
            let came = counted(count, "fragment");
            format!("{datagram} {why}: {came} with {held}{of} bytes came{cut}")
        }
        FragmentEventKind::Malformed(malformed) => malformed.to_string(),
    }
}
