//! The messages between a server that registers and a master.

mod forged_joins;
mod heartbeats;
mod listing;
pub(in crate::diagnose) mod lists;

use std::fmt::Display;
use std::net::SocketAddr;

use dissectors::Id;
use dissectors::kit::{Item, Role, Side, Symptom, Transport, causes};

use super::{Diagnosis, Host, PROBING, ServerPacket, ServerPacketKind, Shown, is_error, masters};
use crate::diagnose::facts::{Failure, NOT_WHOLE};
use crate::diagnose::master::own_words::{redirected_to, words};
use crate::diagnose::registration::Registration;
use crate::diagnose::server::Server;
use crate::session::{FlowContext, MessageEvent, PassedRule, Value};
use crate::summary::described;
use listing::has_rule_about_silence;

impl Server {
    /// It describes itself to a master.
    fn describes_itself(&mut self, id: Id, event: &MessageEvent<'_>) {
        let Some(masters) = masters(id) else { return };
        let Some(selects) = masters.selects else { return };
        for (key, value) in event.pairs(selects.description) {
            let Value::Text(value) = value else { continue };
            self.says(key, value);
            // The latest one counts.
            if let Some((_, yes)) = masters.lan_only.filter(|(name, _)| key == name.as_bytes()) {
                self.lan_only = (value == yes.as_bytes()).then_some(event.frame());
            }
        }
    }
}

/// What broken rules mean for a server in the protocol in which it registers.
fn symptoms(server: &Server) -> &'static [Symptom] {
    server.registers.map_or(&[], |id| id.info().diagnosis.symptoms)
}

impl Diagnosis {
    /// A server joins a master, or sends a heartbeat.
    pub(in crate::diagnose) fn join(
        &mut self,
        id: Id,
        event: &MessageEvent<'_>,
        shown: &mut Shown,
    ) -> Option<SocketAddr> {
        let payload = event.payload();
        let (frame, time) = (payload.frame, payload.time);
        let address = self.announced(id, event)?;
        let game = masters(id).and_then(|it| it.game).and_then(|path| event.field(path));
        self.sent.insert(
            frame,
            ServerPacket {
                server: address,
                what: ServerPacketKind::Join { master: payload.to.ip() },
            },
            self.remembered,
        );
        let timeout = self.ledger_settings.answer_timeout;
        let server = self.servers.get_mut(&address)?;
        if let Some(Value::Text(game)) = game {
            server.game = game.iter().copied().take(64).collect();
        }
        let is_silence_judged = has_rule_about_silence(server);
        if let Some(registration) = server.with(payload.to.ip()) {
            registration.joins_at(time, timeout);
            // There was no response to the previous challenge.
            let port = payload.to.port();
            let challenged = registration.at(port).and_then(|it| it.challenged.take());
            if let Some((challenge, _)) = challenged
                && !is_silence_judged
            {
                let cause = &causes::CHALLENGE_UNANSWERED;
                let why = Failure::new(cause, challenge, "it joins anew instead");
                registration.fails_at(port, Item::Echo, why);
            }
        }
        shown.items.extend([Item::Join, Item::Stays]);
        Some(address)
    }

    /// The server that sends to a master, which is added if unknown.
    pub(in crate::diagnose) fn announced(
        &mut self,
        id: Id,
        event: &MessageEvent<'_>,
    ) -> Option<SocketAddr> {
        let payload = event.payload();
        let (from, to) = (payload.from, payload.to);
        // Where a datagram names no valid port, others from the same one may, or only that is known.
        let sender = (payload.transport == Transport::Udp).then_some(from);
        let mut address = described::own_endpoint(event, from).or(sender)?;
        if address == from {
            address = self.resolve(from).unwrap_or(from);
        } else {
            self.aliases.insert(from, address, self.remembered);
            self.names_its_port(from, address);
        }
        let server = self.server(address)?;
        server.meets(to, id);
        let named = masters(id).and_then(|it| it.query_port).and_then(|path| event.field(path));
        server.names_port |= named.and_then(described::number).is_some();
        // A connection has a port of its own.
        if sender.is_some_and(|sender| sender != address && sender.ip() == address.ip()) {
            server.sends_from.get_or_insert(from);
        }
        Some(address)
    }

    /// A server that was known by the port from which it sends to masters names its own.
    fn names_its_port(&mut self, from: SocketAddr, named: SocketAddr) {
        let is_only_sender = |server: &Server| server.query.is_none() && server.registers.is_some();
        if !self.servers.get(&from).is_some_and(|it| is_only_sender(it))
            || self.servers.get(&named).is_some_and(|it| it.registers.is_some())
        {
            return;
        }
        let is_only_one = |host: &Host| host.server == from && !host.has_more;
        if self.hosts.get(&from.ip()).is_some_and(is_only_one) {
            self.hosts.remove(&from.ip());
        }
        if let Some(known) = self.servers.remove(&from)
            && let Some(server) = self.server(named)
        {
            server.sends_from = known.sends_from;
            server.registers_as(*known);
        }
    }

    /// A master challenges a server.
    pub(in crate::diagnose) fn challenge(
        &mut self,
        event: &MessageEvent<'_>,
        shown: &mut Shown,
    ) -> Option<SocketAddr> {
        let payload = event.payload();
        let Some(address) = self.resolve(payload.to) else {
            if self.challenged_unseen.len() < self.most {
                self.challenged_unseen.insert(payload.to);
            }
            return None;
        };
        if self.challengers.len() < self.most {
            self.challengers.insert(payload.from);
        }
        // A client may challenge a server, too, to check whether it is genuine.
        let timeout = self.ledger_settings.answer_timeout;
        let server = self.servers.get_mut(&address).filter(|server| server.has_joined())?;
        if server.with(payload.from.ip()).is_none() {
            let waits = |it: &&mut Registration| it.awaits_challenge(payload.time, timeout);
            let asked = server.registrations.iter_mut().find(waits);
            asked.into_iter().for_each(|it| it.challenged_by = Some((payload.from, payload.frame)));
        }
        let registration = server.with(payload.from.ip());
        if let Some(port) = registration.and_then(|it| it.at(payload.from.port())) {
            port.challenged = Some((payload.frame, payload.time));
            port.challenges = true;
        }
        shown.items.insert(Item::Challenged);
        Some(address)
    }

    /// A master checks a server: by a challenge, or by a probe from another port.
    pub(in crate::diagnose) fn probe(
        &mut self,
        id: Id,
        event: &MessageEvent<'_>,
        shown: &mut Shown,
    ) -> Option<SocketAddr> {
        if masters(id).is_some_and(|it| it.probe_above.is_some()) {
            shown.items.insert(Item::Probed);
            return self.below(id, event.payload().to);
        }
        self.challenge(event, shown)
    }

    /// The checks of a flow that has ended: a master may have probed the server before its registration was known.
    pub(in crate::diagnose) fn probed_unseen(
        &mut self,
        context: &FlowContext,
        passes: &[PassedRule],
    ) {
        if !passes.iter().any(|it| PROBING.has(it.rule)) {
            return;
        }
        for [server, master] in Side::BOTH.map(|side| context.flow.ends_from(side)) {
            let Some(address) = self.resolve(server) else { continue };
            let known = self.servers.get_mut(&address).and_then(|it| it.with(master.ip()));
            let Some(registration) = known else { continue };
            for item in [Item::Probed, Item::ProbeBack] {
                if !registration.fact(item).is_known() {
                    registration.good(item, 0);
                }
            }
        }
    }

    /// The known server whose address a master probes here.
    pub(in crate::diagnose) fn below(&self, id: Id, probed: SocketAddr) -> Option<SocketAddr> {
        let above = masters(id).and_then(|it| it.probe_above).unwrap_or(0);
        let port = probed.port().checked_sub(above)?;
        let address = SocketAddr::new(probed.ip(), port);
        self.servers.contains_key(&address).then_some(address)
    }

    /// A server answers a master's challenge.
    pub(in crate::diagnose) fn challenge_response(
        &mut self,
        id: Id,
        event: &MessageEvent<'_>,
        shown: &mut Shown,
        items: &[Item],
    ) -> Option<SocketAddr> {
        let payload = event.payload();
        let known = self.resolve(payload.from);
        let names_port = masters(id)
            .and_then(|it| it.query_port)
            .is_some_and(|path| event.field(path).is_some());
        // A client may be challenged, too, and responds in the same way.
        let address = match known {
            Some(address) => address,
            None if names_port || event.message().speaker == Role::Server => {
                self.announced(id, event)?
            }
            None => return None,
        };
        let server = self.servers.get_mut(&address)?;
        server.describes_itself(id, event);
        let master = payload.to.ip();
        if let Some(it) = server.with(master) {
            let port = it.at(payload.to.port());
            let challenged = port.and_then(|port| {
                port.is_answered = true;
                port.challenged.take()
            });
            let is_asked = challenged.is_some() || it.fact(Item::Challenged).good > 0;
            // It answers a challenge that the recorder missed, as it did others before.
            if is_asked
                && it.joins.is_some()
                && !event.checked().findings.iter().any(|it| is_error(&it))
            {
                it.good(Item::Challenged, payload.frame);
            }
            it.unchallenged += u64::from(!is_asked && it.joins.is_none());
        }
        let proof = id.info().diagnosis.proof;
        let passes = event.checked().passes;
        let is_proven = proof.is_none_or(|proof| passes.iter().any(|it| it.rule == proof));
        if payload.lost {
            let why = Failure::new(&causes::CAPTURE_DROPS, payload.frame, NOT_WHOLE);
            let is_recorded = described::first(event, &["challenge", "info.challenge"]).is_some();
            for item in items {
                match *item == Item::Echo && is_recorded {
                    true => shown.items.insert(Item::Echo),
                    false => server.doubts(Some(master), *item, &why),
                }
            }
        } else if is_proven {
            shown.items.extend(items.iter().copied());
        } else {
            let why = Failure::with(&causes::KEY_UNKNOWN, payload.frame, &[]);
            server.doubts(Some(master), Item::Echo, &why);
        }
        Some(address)
    }

    /// A master's response to a registration.
    pub(in crate::diagnose) fn join_response(
        &mut self,
        id: Id,
        event: &MessageEvent<'_>,
        shown: &mut Shown,
    ) -> Option<SocketAddr> {
        let payload = event.payload();
        let masters = masters(id)?;
        let address = self.resolve(payload.to)?;
        let server = self.servers.get_mut(&address)?.with(payload.from.ip())?;
        let status = masters.status.and_then(|(path, fine)| {
            let status = event.field(path).and_then(described::number);
            status.filter(|status| *status != fine)
        });
        let text = masters.refusal.and_then(|(path, _)| event.field(path));
        let text = text.map(|text| text.to_string().chars().take(256).collect::<String>());
        if let Some(status) = status {
            let address = redirected_to(event).filter(|_| (300..400).contains(&status));
            let text = match (address, text) {
                (Some(address), _) => format!("status {status}, which points to {address}"),
                (None, Some(text)) => format!("status {status} \"{text}\""),
                (None, None) => format!("status {status}"),
            };
            let cause = &causes::REGISTRATION_REFUSED;
            server.fact_mut(Item::Accepted).bad(cause, payload.frame, text);
        } else if payload.lost && !described::refuses(event) {
            // It may accept the server that it refused before.
            let accepted = server.fact_mut(Item::Accepted);
            accepted.fails_by(Vec::new());
            accepted.open(&causes::CAPTURE_DROPS, payload.frame, NOT_WHOLE);
        } else if masters.refusal.is_some() && text.is_none() {
            let values: [(_, &dyn Display); 1] = [("text", &"nothing that can be read")];
            let why = Failure::with(&causes::REGISTRATION_UNCLEAR, payload.frame, &values);
            server.fact_mut(Item::Accepted).open_by(why);
        } else if server.is_told(text.as_deref(), described::refuses(event), payload.frame) {
            shown.items.insert(Item::Accepted);
            server.reported = text.map(|text| format!("\"{text}\""));
        }
        Some(address)
    }

    /// Whether nothing was recorded that is sent to a server, though it gets something: it responds, or answers challenges.
    fn gets_nothing(&self, address: SocketAddr, server: &Server) -> bool {
        let reacts = server.orphans > 0
            || server.registrations.iter().any(|it| it.fact(Item::Info).good > 0);
        let mut own = server.own_addresses(address);
        !self.complete && reacts && own.all(|own| !self.receivers.contains(&own.ip()))
    }

    /// A master answers a server in words.
    pub(in crate::diagnose) fn words_of_master(
        &mut self,
        event: &MessageEvent<'_>,
    ) -> Option<SocketAddr> {
        let [from, to] = event.ends();
        let address = self.resolve(to)?;
        let registration = self.servers.get_mut(&address)?.with(from.ip())?;
        if event.payload().lost {
            registration.cut = Some(event.frame());
        }
        let text = words(event)?;
        registration.is_told(Some(&text), described::is_refusal(&text), event.frame());
        Some(address)
    }

    /// A master's response to a server's request about a player.
    pub(in crate::diagnose) fn authenticated(
        &mut self,
        id: Id,
        event: &MessageEvent<'_>,
        shown: &mut Shown,
    ) -> Option<SocketAddr> {
        let (field, stranger) = masters(id)?.stranger?;
        let address = self.resolve(event.payload().to)?;
        if let Some(name) = event.field(field) {
            if name.to_string() == stranger {
                let payload = event.payload();
                let registration = self.servers.get_mut(&address)?.with(payload.from.ip())?;
                registration.stranger = Some(payload.frame);
            } else {
                shown.items.insert(Item::Accepted);
            }
        }
        Some(address)
    }

    /// A server signs off.
    pub(in crate::diagnose) fn quit(&mut self, event: &MessageEvent<'_>) -> Option<SocketAddr> {
        let payload = event.payload();
        let address = self.resolve(payload.from)?;
        let registration = self.servers.get_mut(&address)?.with(payload.to.ip())?;
        let why = Failure::with(&causes::QUIT_SENT, payload.frame, &[]);
        registration.fact_mut(Item::Stays).fails(why);
        Some(address)
    }
}

impl Registration {
    /// The master says this. Returns whether it is a success.
    fn is_told(&mut self, text: Option<&str>, is_refusal: bool, frame: u64) -> bool {
        let quoted = text.map_or(String::new(), |text| format!("\"{text}\""));
        let accepted = self.fact_mut(Item::Accepted);
        if is_refusal {
            accepted.bad(&causes::REGISTRATION_REFUSED, frame, quoted);
        } else if text.is_some_and(|text| !described::is_success(text)) {
            let why = Failure::with(&causes::REGISTRATION_UNCLEAR, frame, &[("text", &quoted)]);
            accepted.open_by(why);
        } else {
            return true;
        }
        false
    }
}
