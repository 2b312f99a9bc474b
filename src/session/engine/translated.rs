//! Copies of datagrams that were recorded with other addresses, before or behind NAT: they are shown with their
//! originals, and count as little as copies of other interfaces.

use dissectors::kit::{CrossFlowEvent, Mark, Payload, SeenMessage, Side, Sink, keyed_hash};

use super::PacketContext;
use super::recorder::{FieldSink, Recorder};
use super::shard::Shard;
use super::{Recorded, Session};
use crate::flows::FlowKey;
use crate::net::{Datagram, Glance, Outcome};
use crate::session::Datagrams;
use crate::session::events::NOWHERE;
use crate::session::translation::{Original, Recording};

impl Session {
    /// Whether an ordinary packet with this key holds a copy of another datagram, which is then shown.
    #[inline(always)]
    pub(super) fn is_copy<F: FieldSink>(
        &mut self,
        key: FlowKey,
        glance: &Glance<'_>,
        recorder: &mut Recorder<F>,
    ) -> bool {
        let (bytes, (hop_limit, identification)) = (glance.payload(), glance.head());
        let (frame, time) = (self.context.frame, self.context.now);
        let hash = keyed_hash(bytes);
        self.context.hash = hash;
        let (original, is_repeated) = (0, false);
        let now = || Recording {
            key,
            time,
            frame,
            original,
            hash,
            identification,
            hop_limit,
            is_repeated,
        };
        if self.translations.is_new(now(), bytes.len()) {
            return false;
        }
        self.is_known(&now(), &glance.outcome(), recorder)
    }

    /// The same, of one that may be.
    #[inline(never)]
    fn is_known<F: FieldSink>(
        &mut self,
        now: &Recording,
        outcome: &Outcome<'_>,
        recorder: &mut Recorder<F>,
    ) -> bool {
        let Outcome::Udp(datagram) = outcome else { return false };
        let identifier = &self.context.options.identifier;
        let original = self.translations.see(now, datagram.payload.bytes, identifier);
        if original.is_some() {
            self.translated(&now.key, datagram, original, recorder);
        }
        original.is_some()
    }

    /// Whether a decoded packet holds a copy of another datagram, which is then shown; of one that came in fragments, only its
    /// hosts.
    pub(super) fn holds_copy<F: FieldSink>(
        &mut self,
        outcome: &Outcome<'_>,
        recorded: Recorded<'_>,
        recorder: &mut Recorder<F>,
    ) -> bool {
        let Outcome::Udp(datagram) = outcome else { return false };
        let now = Recording::of(datagram, self.context.frame, self.context.now);
        self.context.hash = now.hash;
        if let Recorded::Here = recorded {
            return self.is_known(&now, outcome, recorder);
        }
        let is_copy = self.translations.is_of_copy(&now.key, self.context.now);
        if is_copy {
            self.translated(&now.key, datagram, None, recorder);
        }
        is_copy
    }

    /// A copy of a datagram, with the original, if that is known.
    fn translated<F: FieldSink>(
        &mut self,
        key: &FlowKey,
        datagram: &Datagram<'_>,
        original: Option<Original>,
        recorder: &mut Recorder<F>,
    ) {
        let (context, range) = (&mut self.context, self.range);
        let place = range.place_of(key.source, key.destination);
        if let Some(shard) = place.and_then(|at| self.shards.get_mut(at)) {
            shard.see_host(context, [key.source, key.destination], datagram.ip.hop_limit);
            if context.options.needs.datagrams != Datagrams::None {
                context.pass_datagram(shard, key, datagram, true, recorder);
            }
        }
        let place = original.and_then(|it| range.place_of(it.key.source, it.key.destination));
        if let (Some(original), Some(at)) = (original, place)
            && let Some(shard) = self.shards.get_mut(at)
            && context.options.needs.datagrams != Datagrams::Only
        {
            shard.ask_due(context, recorder);
            (context.hop_limit, context.direction) = (datagram.ip.hop_limit, datagram.ip.direction);
            shard.translated(context, &original, key, datagram, recorder);
        }
        context.headers.clear();
    }
}

impl Shard {
    /// A copy of a datagram of a flow of this shard.
    fn translated<F: FieldSink>(
        &mut self,
        context: &mut PacketContext,
        original: &Original,
        key: &FlowKey,
        datagram: &Datagram<'_>,
        recorder: &mut Recorder<F>,
    ) {
        let (bytes, time, counted) = (datagram.payload.bytes, context.now, &original.key);
        if context.options.needs.pairs {
            let mark = Mark { frame: context.frame, time, length: 0, side: Side::First };
            let seen = SeenMessage { mark, from: key.from(), to: key.to() };
            recorder.flow_context(context.flow_context(&NOWHERE));
            recorder.cross_flow(CrossFlowEvent::Translated([counted.from(), counted.to()]), seen);
            recorder.settle();
        }
        let Some((slot, side)) = self.table.find(counted) else { return };
        if self.table.has_ended(slot, time) {
            return;
        }
        let pieces = [context.piece(datagram.payload.offset, bytes.len())];
        let mut payload = Payload {
            pieces: &pieces,
            unlisted: datagram.payload.cut_off(),
            frame: context.frame,
            time,
            side,
            lost: !datagram.payload.is_whole(),
            ..Payload::of(bytes, [key.from(), key.to()])
        };
        self.copy(context, slot, &mut payload, datagram, original.frame, recorder);
    }
}
