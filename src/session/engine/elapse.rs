//! Timeouts of a shard's flows: requests become overdue, idle flows end.

use dissectors::ContextParts;
use dissectors::kit::{Evidence, Limit, Sink};

use super::PacketContext;
use super::recorder::FieldSink;
use super::recorder::Recorder;
use super::shard::Shard;
use crate::flows::FlowState;
use crate::flows::table::FlowSlot;
use crate::session::FlowContext;

/// Batch size of the idle scan: batching overlaps cache misses.
const LOOKED_AT: u32 = 64;

impl Shard {
    /// Handles timeouts: all that are due, and periodically a batch of flows that may be idle.
    #[inline]
    pub(super) fn elapse<F: FieldSink>(
        &mut self,
        context: &mut PacketContext,
        recorder: &mut Recorder<F>,
    ) {
        self.ask_due(context, recorder);
        self.unlooked += 1;
        if self.unlooked >= LOOKED_AT {
            self.look(context, recorder);
        }
        self.limits_met(context, recorder);
    }

    /// Looks for idle flows, and for items that were forgotten.
    #[inline(never)]
    fn look<F: FieldSink>(&mut self, context: &mut PacketContext, recorder: &mut Recorder<F>) {
        self.unlooked = 0;
        self.end_idle(LOOKED_AT, context, recorder);
        self.see_forgotten();
    }

    /// Whether the shared state has forgotten something by now: reported once, since this never
    /// changes back.
    pub(super) fn see_forgotten(&mut self) {
        if !self.forgot && self.shared.forgot() {
            self.forgot = true;
            self.budget.meet(Limit::Remembered);
        }
    }

    /// Checks the next flows in memory order, and ends those that have been silent for too long.
    pub(super) fn end_idle<F: FieldSink>(
        &mut self,
        most: u32,
        context: &mut PacketContext,
        recorder: &mut Recorder<F>,
    ) {
        for _ in 0..most {
            if !self.table.has_idle(context.now) {
                return;
            }
            if let Some(slot) = self.table.idle(context.now) {
                self.end_flow(context, slot, recorder);
            }
        }
    }

    /// Handles all flows that are due by now.
    #[inline]
    pub(super) fn ask_due<F: FieldSink>(
        &mut self,
        context: &mut PacketContext,
        recorder: &mut Recorder<F>,
    ) {
        if self.deadlines.is_due(context.now) {
            self.ask_all_due(context, recorder);
        }
    }

    #[inline(never)]
    fn ask_all_due<F: FieldSink>(
        &mut self,
        context: &mut PacketContext,
        recorder: &mut Recorder<F>,
    ) {
        while let Some((number, slot)) = self.deadlines.due(context.now) {
            if let Some(mut flow) = self.table.flow(slot).filter(|flow| flow.number == number) {
                flow.is_planned = false;
                self.ask(context, slot, false, recorder);
            }
        }
    }

    /// Calls a flow's conversation to check timeouts.
    fn ask<F: FieldSink>(
        &mut self,
        context: &mut PacketContext,
        slot: FlowSlot,
        end: bool,
        recorder: &mut Recorder<F>,
    ) {
        let Some(mut flow) = self.table.flow(slot) else { return };
        let silence = match end && context.options.complete {
            true => u64::MAX,
            false => context.now.since(flow.last()).unsigned_abs(),
        };
        let facts = context.facts(&flow, silence, &self.incomplete);
        let roles = flow.roles;
        recorder.count_in(&mut flow);
        let conversation = match &mut flow.state {
            FlowState::Conversation(conversation) => conversation,
            FlowState::Stream(stream) => {
                // Missing bytes may still arrive and change what is due.
                if stream.has_hole() && !end {
                    return;
                }
                match stream.conversation() {
                    Some(conversation) => conversation,
                    None => return,
                }
            }
            FlowState::New | FlowState::Ignored => return,
        };
        recorder.flow_context(FlowContext {
            protocol: Some(conversation.id()),
            roles,
            ..context.flow_context(&facts)
        });
        let complete = context.options.complete;
        recorder.evidence(Evidence { complete, ..facts.evidence() });
        let now = context.now;
        let parts = ContextParts {
            shared: &mut self.shared,
            flow: &facts,
            settings: &context.options.settings,
            budget: &mut self.budget,
        };
        conversation.elapse(parts, now, end, recorder);
        let deadline = conversation.deadline();
        recorder.settle_in(&mut flow);
        // A deadline that stays in the past would be due again at once.
        let later = now.after(1_000_000);
        self.deadlines.plan(&mut flow, slot, deadline.filter(|_| !end).map(|due| due.max(later)));
    }

    /// A flow is over: checks its open requests.
    pub(super) fn end_flow<F: FieldSink>(
        &mut self,
        context: &mut PacketContext,
        slot: FlowSlot,
        recorder: &mut Recorder<F>,
    ) {
        self.drain_stream(context, slot, recorder);
        self.ask(context, slot, true, recorder);
        let table = &self.table;
        let lives = |slot, number| table.get(slot).is_some_and(|flow| flow.number == number);
        self.deadlines.tidy(table.len(), lives);
        if let Some(flow) = self.table.flow(slot)
            && flow.number > 0
        {
            recorder.flow_ended(context.moment, || flow.row(context.digits));
        }
        self.table.remove(slot);
    }
}
