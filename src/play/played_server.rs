//! A scenario with right servers behind it, which answer what its script has no answer for, so that a client gets
//! through to what the script is about.

use std::net::SocketAddr;

use super::part::Part;
use super::player::{Did, Player, Reaction, Secret};
use super::scenarios::Scenario;

/// The parts that are played at one port.
pub(super) struct PlayedServer {
    own: Part,
    /// What answers where that does not.
    others: Vec<Part>,
}

impl PlayedServer {
    /// With the other right servers of its protocol. They give the challenge that the script gives,
    /// so that it holds for all.
    pub(super) fn around(name: &str, own: Part) -> PlayedServer {
        let others = Scenario::all().into_iter().filter(|it| it.is_stand_in && it.name != name);
        let others = others.filter_map(|it| it.part().ok());
        let is_like = |part: &Part| {
            let of = |part: &Part| (part.protocol, part.transport, part.role);
            of(part) == of(&own)
        };
        let others = others.filter(is_like).map(|part| part.with_challenge_of(&own)).collect();
        PlayedServer { own, others }
    }

    /// The part that the script has.
    pub(super) fn own(&self) -> &Part {
        &self.own
    }

    /// Who plays to a new client.
    pub(super) fn players(&self, client: SocketAddr) -> ClientState {
        let others = self.others.iter().map(|_| Player::new(client));
        ClientState { own: Player::new(client), others: others.collect() }
    }
}

/// The state of one client with each part.
pub(super) struct ClientState {
    own: Player,
    others: Vec<Player>,
}

impl ClientState {
    /// Whether the client has returned a challenge.
    pub(super) fn is_proven(&self) -> bool {
        self.own.is_proven || self.others.iter().any(|other| other.is_proven)
    }

    /// What is said in return.
    pub(super) fn react(
        &mut self,
        played: &PlayedServer,
        did: Did,
        secret: Option<&Secret>,
    ) -> Reaction {
        let reaction = self.chosen(played, did, secret);
        for player in self.others.iter_mut().chain([&mut self.own]) {
            player.gives(&reaction.lines);
        }
        reaction
    }

    /// What the script says, or where it has no answer, or only another challenge for one that
    /// was returned, what the others say.
    fn chosen(&mut self, played: &PlayedServer, did: Did, secret: Option<&Secret>) -> Reaction {
        let mut after = self.own.clone();
        let reaction = after.react(&played.own, did.clone(), secret);
        if reaction.is_known && !(reaction.gives_challenge() && reaction.ignores_challenge) {
            self.own = after;
            return reaction;
        }
        let is_in_script = matches!(&did, Did::Sent(heard) if played.own.has(heard.message));
        for (player, part) in self.others.iter_mut().zip(&played.others) {
            let mut after = player.clone();
            let other = after.react(part, did.clone(), secret);
            let is_better = match reaction.is_known {
                true => !other.ignores_challenge,
                false => !is_in_script || other.gives_challenge(),
            };
            if other.is_known && is_better {
                *player = after;
                return Reaction { ends: false, ..other };
            }
        }
        self.own = after;
        reaction
    }
}
