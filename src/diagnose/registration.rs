//! The registration of a server with a master.

use std::net::SocketAddr;

use dissectors::Id;
use dissectors::kit::{Item, Purpose, Role, causes};

use super::fact::Failure;
use super::{Diagnosis, ServerPacket, ServerPacketKind, conclude, masters};
use crate::session::{MessageEvent, Value};
use crate::summary::described;

impl Diagnosis {
    /// A server joins a master, or sends a heartbeat.
    pub(super) fn join(
        &mut self,
        id: Id,
        event: &MessageEvent<'_>,
        shown: &mut Vec<Item>,
    ) -> Option<SocketAddr> {
        let payload = event.payload();
        let (frame, time) = (payload.frame, payload.time);
        let address = self.announced(id, event)?;
        let game = masters(id).and_then(|it| it.game).and_then(|path| event.field(path));
        self.sent.insert(
            frame,
            ServerPacket { server: address, what: ServerPacketKind::Join },
            self.remembered,
        );
        let server = self.servers.get_mut(&address)?;
        if let Some(Value::Text(game)) = game {
            server.game = game.iter().copied().take(64).collect();
        }
        server.joins_at(time);
        // There was no response to the previous challenge.
        if let Some((challenge, _)) =
            server.challenged.take().filter(|_| !conclude::has_rule_about_silence(server))
        {
            let cause = &causes::CHALLENGE_UNANSWERED;
            server.fact_mut(Item::Echo).bad(cause, challenge, "it joins anew instead");
        }
        let is_proven = server.fact(Item::Echo).good > 0 && server.fact(Item::Echo).run == 0;
        if event.message().purpose == Purpose::Heartbeat && is_proven {
            server.known = Some(frame);
        }
        shown.extend([Item::Join, Item::Stays]);
        Some(address)
    }

    /// The server that sends to a master, which is added if unknown.
    pub(super) fn announced(&mut self, id: Id, event: &MessageEvent<'_>) -> Option<SocketAddr> {
        let payload = event.payload();
        let (from, to) = (payload.from, payload.to);
        let address = described::own_endpoint(event, from)?;
        if address != from {
            self.aliases.insert(from, address, self.remembered);
        }
        self.server(address)?.meets(to, id);
        Some(address)
    }

    /// A master challenges a server.
    pub(super) fn challenge(
        &mut self,
        to: SocketAddr,
        event: &MessageEvent<'_>,
        shown: &mut Vec<Item>,
    ) -> Option<SocketAddr> {
        let payload = event.payload();
        let address = self.resolve(to)?;
        if self.challengers.len() < self.most {
            self.challengers.insert(payload.from);
        }
        // A client may challenge a server, too, to check whether it is genuine.
        let server = self.servers.get_mut(&address).filter(|server| server.joins.is_some())?;
        let is_proven =
            [Item::Echo, Item::Info].map(|item| server.fact(item)).iter().all(|fact| fact.run == 0)
                && server.fact(Item::Echo).good > 0;
        server.known = is_proven.then_some(payload.frame);
        server.challenged = Some((payload.frame, payload.time));
        shown.push(Item::Challenged);
        Some(address)
    }

    /// A master checks a server: by a challenge, or by a probe from another port.
    pub(super) fn probe(
        &mut self,
        id: Id,
        event: &MessageEvent<'_>,
        shown: &mut Vec<Item>,
    ) -> Option<SocketAddr> {
        let to = event.payload().to;
        if masters(id).is_some_and(|it| it.probe_above.is_some()) {
            shown.push(Item::Probed);
            return self.below(id, to);
        }
        let address = self.challenge(to, event, shown)?;
        self.servers.get_mut(&address)?.known = None;
        Some(address)
    }

    /// The known server whose address a master probes here.
    pub(super) fn below(&self, id: Id, probed: SocketAddr) -> Option<SocketAddr> {
        let above = masters(id).and_then(|it| it.probe_above).unwrap_or(0);
        let port = probed.port().checked_sub(above)?;
        let address = SocketAddr::new(probed.ip(), port);
        self.servers.contains_key(&address).then_some(address)
    }

    /// A server answers a master's challenge.
    pub(super) fn challenge_response(
        &mut self,
        id: Id,
        event: &MessageEvent<'_>,
        shown: &mut Vec<Item>,
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
        if let Some(selects) = masters(id).and_then(|it| it.selects) {
            for (key, value) in event.pairs(selects.said) {
                if let Value::Text(value) = value {
                    server.says(key, value);
                }
            }
        }
        server.challenged = None;
        let proof = id.info().diagnosis.proof;
        let passes = event.checked().passes;
        let is_proven =
            proof.is_none_or(|proof| passes.iter().any(|it| it.rule.code == proof.code));
        if is_proven {
            shown.extend(items);
        } else {
            let why = Failure::with(&causes::KEY_UNKNOWN, payload.frame, &[]);
            server.fact_mut(Item::Echo).open = Some(why);
        }
        Some(address)
    }

    /// A master's response to a registration.
    pub(super) fn join_response(
        &mut self,
        id: Id,
        event: &MessageEvent<'_>,
        shown: &mut Vec<Item>,
    ) -> Option<SocketAddr> {
        let payload = event.payload();
        let masters = masters(id)?;
        let address = self.resolve(payload.to)?;
        let server = self.servers.get_mut(&address)?;
        let status = masters.status.and_then(|(path, fine)| {
            let status = event.field(path).and_then(described::number);
            status.filter(|status| *status != fine)
        });
        let text = masters.refusal.and_then(|(path, _)| event.field(path));
        let text = text.map(|text| text.to_string().chars().take(256).collect::<String>());
        let said = text.as_ref().map_or(String::new(), |text| format!("\"{text}\""));
        if let Some(status) = status {
            let text = format!("status {status} {said}");
            let cause = &causes::REGISTRATION_REFUSED;
            server.fact_mut(Item::Accepted).bad(cause, payload.frame, text.trim_end());
        } else if described::refuses(event) {
            server.fact_mut(Item::Accepted).bad(&causes::REGISTRATION_REFUSED, payload.frame, said);
        } else {
            shown.push(Item::Accepted);
            server.reported = text.map(|_| said);
        }
        Some(address)
    }

    /// A master's response to a server's request about a player.
    pub(super) fn authenticated(
        &mut self,
        id: Id,
        event: &MessageEvent<'_>,
        shown: &mut Vec<Item>,
    ) -> Option<SocketAddr> {
        let (field, stranger) = masters(id)?.stranger?;
        let address = self.resolve(event.payload().to)?;
        if let Some(said) = event.field(field) {
            if said.to_string() == stranger {
                self.servers.get_mut(&address)?.stranger = Some(event.payload().frame);
            } else {
                shown.push(Item::Accepted);
            }
        }
        Some(address)
    }

    /// A server signs off.
    pub(super) fn quit(&mut self, event: &MessageEvent<'_>) -> Option<SocketAddr> {
        let payload = event.payload();
        let address = self.resolve(payload.from)?;
        let server = self.servers.get_mut(&address)?;
        server.fact_mut(Item::Stays).fails(Failure::with(&causes::QUIT_SENT, payload.frame, &[]));
        Some(address)
    }
}
