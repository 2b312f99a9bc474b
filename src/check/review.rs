//! What only the whole capture shows: rules across flows, servers that never answer, and what the recorder lost.

use std::cell::LazyCell;
use std::net::SocketAddr;

use dissectors::Id;
use dissectors::kit::{
    Code, Evidence, FlowFacts, Map, Mark, Role, SeenMessage, Severity, Side, Sink, Span, Time,
    Verdict,
};
use dissectors::ledger::{CrossFlowBreach, KeptRule, Ledger};
use dissectors::net_rules::{NET001, NET010, NET011, NET012, NET014};

use super::Checker;
use crate::session::{FlowContext, HeardServer, LeftOut, Totals, Unanswered};

impl Checker {
    /// Checks the rules that only all flows together can break. Returns how many responses of servers that are asked
    /// have no request in the capture.
    pub(super) fn review(&mut self, read: &Totals) -> u64 {
        let loads = std::mem::take(&mut self.traffic.loads);
        let mut ledger = std::mem::replace(&mut self.ledger, Ledger::new(self.ledger_settings));
        if self.results.is_complete() {
            ledger.nothing_came_before();
        }
        let requests = &self.traffic.requests;
        let responding = LazyCell::new(|| requests.responding());
        let is_heard = |host| {
            requests.is_heard(host) || read.heard.contains(host) || responding.contains(&host)
        };
        let review = ledger.review(loads, [read.begin(), read.end()], is_heard);
        review.kept.into_iter().for_each(|kept| self.kept(kept));
        review.breaches.for_each(|breach| self.breach(&breach, read));
        self.results.evidence(Evidence::default());
        for (rule, evidence, times) in review.beyond {
            self.traffic.requests.is_cut |= rule.requires_response;
            let verdict = self.results.verdict(rule, Some((evidence, read.end())));
            self.results.count(rule, verdict, times);
            if self.selection.has(rule) {
                let severity = self.results.severity(rule, verdict);
                let left_out = LeftOut { rule, verdict, severity, side: None, times };
                self.leave_out(&left_out, &FlowContext::outside(6), None);
            }
        }
        review.orphans
    }

    /// A rule was kept, as several hosts together show, or requests to one server.
    fn kept(&mut self, KeptRule { rule, server, times }: KeptRule) {
        if let Some(server) = server.filter(|_| rule.requires_response) {
            self.traffic.requests.responds(server, Id::of_rule(rule));
        }
        let party = server.filter(|_| rule.who == Role::Server);
        if self.selection.asks_for(rule.who, party) {
            self.results.kept(rule, u32::try_from(times).unwrap_or(u32::MAX));
        }
    }

    /// A rule was broken, as several flows together show.
    fn breach(&mut self, breach: &CrossFlowBreach, read: &Totals) {
        let &CrossFlowBreach { rule, basis, of_flow, .. } = breach;
        let mut context = FlowContext::outside(read.digits);
        let SeenMessage { mark, from, to } = basis.seen;
        context.protocol = Id::of_rule(rule);
        let (ends, began, number) = ([from, to], basis.began, basis.flow);
        context.flow = FlowFacts { ends, began, number, ..context.flow };
        context.roles = [Some(breach.speaker), None];
        let mark = Mark { side: Side::First, ..mark };
        let lossy = read.lossy && !of_flow;
        if rule.requires_response {
            let lossy = lossy || breach.evidence.lossy;
            let evidence = Evidence { lossy, ..breach.evidence };
            let if_heard = self.results.is_proven_if_heard(rule, evidence).then_some(rule);
            self.traffic.requests.unanswered(&context, evidence, &mark, if_heard);
        }
        if breach.is_note {
            self.reviewed.count(rule, Severity::Note, Verdict::Note, false, &context);
            self.results.noted_before(rule, &mark, || breach.detail.to_string());
            return self.take(&context, None);
        }
        self.results.evidence(Evidence { lossy, ..Evidence::default() });
        let verdict = self.results.verdict(rule, Some((breach.evidence, mark.time)));
        let if_heard = self.results.is_proven_if_heard(rule, breach.evidence);
        let severity = self.results.severity(rule, verdict);
        self.reviewed.count(rule, severity, verdict, if_heard, &context);
        if !self.leaves_out(rule, verdict, mark.side, &context) {
            let detail = || breach.detail.to_string();
            self.results.recalled(rule, false, breach.evidence, &mark, detail);
            self.take(&context, Some(breach));
        }
    }

    /// Responses without requests, and bytes that were acknowledged, but not recorded, show that the recorder lost packets,
    /// and did not say so.
    pub(super) fn note_losses(&mut self, orphans: u64, gaps: u64) {
        let mark = Mark { frame: 0, time: Time(0), length: 0, side: Side::First };
        self.results.noted_before(&NET010, &mark, || {
            let orphans = (orphans > 0)
                .then(|| format!("{orphans} responses have no request in the capture"));
            let gaps =
                (gaps > 0).then(|| format!("{gaps} times, acknowledged bytes of a stream lack"));
            let all = Vec::from_iter(orphans.into_iter().chain(gaps));
            format!("packets seem to be missing: {}", all.join("; "))
        });
        self.take(&FlowContext::outside(6), None);
    }

    /// Checks the rules about all requests together.
    pub(super) fn review_requests(&mut self, read: &Totals) {
        let complete = self.results.is_complete();
        let lossy = read.lossy || self.reviewed.dropped;
        let traffic = &mut self.traffic;
        let review = traffic.requests.review(&read.heard, &traffic.probed, complete, lossy);
        self.prove(&review.heard);
        for server in &review.answering {
            self.results
                .kept(&NET014, u32::from(self.selection.asks_for(NET014.who, Some(*server))));
        }
        let asks_for = |server: &SocketAddr| self.selection.asks_for(NET012.who, Some(*server));
        self.results.kept(&NET012, u32::from(review.answering.iter().any(asks_for)));
        if self.traffic.requests.is_full {
            self.results.evidence(Evidence::default());
            self.results.checked(&NET011, false, Span::default(), || {
                "the limit remembered was met: not all servers that were asked are known".to_owned()
            });
            self.take(&FlowContext::outside(read.digits), None);
        }
        for unanswered in review.unanswered {
            let Unanswered { rule, server, client, mark, protocol, digits, .. } = unanswered;
            let mut context = FlowContext::outside(digits);
            context.flow.ends = [client, server];
            (context.protocol, context.roles) = (protocol, [None, Some(rule.who)]);
            let mark = Mark { side: Side::First, ..mark };
            self.results.evidence(Evidence::default());
            self.results.recalled(rule, false, unanswered.evidence, &mark, || unanswered.detail);
            self.take(&context, None);
        }
    }

    /// Requests that were inconclusive on their own flows, because nothing of the asked party is there: it is heard in
    /// others.
    fn prove(&mut self, heard: &[HeardServer]) {
        self.reviewed.hear(heard);
        // How many findings of each are kept.
        let mut kept: Map<(Code, SocketAddr), u64> = Map::default();
        for HeardServer { server, rules } in heard {
            kept.extend(rules.iter().map(|(rule, _)| ((rule.code, *server), 0)));
        }
        for mut found in std::mem::take(&mut self.found) {
            let server = found.party.filter(|_| found.if_heard);
            if let Some(times) = server.and_then(|it| kept.get_mut(&(found.rule.code, it))) {
                let rule = found.rule;
                found.verdict = Verdict::Fail;
                match self.if_new(found) {
                    Some(found) => {
                        *times += 1;
                        self.found.push(found);
                    }
                    None => self.tally.forget(rule),
                }
            } else {
                self.found.push(found);
            }
        }
        for HeardServer { server, rules } in heard {
            for (rule, times) in rules {
                // Of those that the selection leaves out, only the number is known.
                let all = self.results.counts(rule).inconclusive;
                let left_out = all.saturating_sub(self.tally.of(rule).inconclusive);
                let kept = kept.get(&(rule.code, *server)).copied().unwrap_or(0);
                self.results.prove(rule, *times);
                self.tally.prove(rule, *server, kept.max(times.saturating_sub(left_out)));
            }
        }
    }

    /// Reports how many packets were cut too short to identify them.
    pub(super) fn review_cut(&mut self, read: &Totals) {
        let Some((context, mark)) = read.cut.first() else { return };
        self.results.recalled(&NET001, false, Evidence::default(), &mark, || {
            match read.cut.packets {
                1 => "cut by the snap length before its protocol could be identified".to_owned(),
                packets => format!(
                    "{packets} packets, from this one on, were cut by the snap length before their \
                 protocol could be identified"
                ),
            }
        });
        self.take(&context, None);
    }
}
