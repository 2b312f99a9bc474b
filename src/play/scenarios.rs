//! What can be played: the table of `scenarios.txt`, and the wrong examples of rules about servers and masters.

use dissectors::kit::{Role, Rule, Transport};
use dissectors::script::Usual;
use dissectors::{Id, catalogue};

use super::part::{self, NotPlayed, Part};

/// The table.
const TABLE: &str = include_str!("scenarios.txt");

/// One of the scenarios.
pub struct Scenario {
    /// Its name, or the code of a rule.
    pub name: String,
    /// What it shows.
    pub shows: String,
    /// Its script.
    pub script: &'static str,
    /// The transport of steps that name none.
    pub usual: Transport,
    protocol: Id,
    /// The rule that it breaks.
    rule: Option<&'static Rule>,
    /// It answers what other scripts of its protocol have no answer for.
    pub(super) is_stand_in: bool,
}

impl Scenario {
    /// All of them, with those that cannot be played.
    pub fn all() -> Vec<Scenario> {
        let rights = TABLE.split("\n\n").filter_map(Scenario::of_table);
        let is_played = |rule: &&&Rule| matches!(rule.who, Role::Server | Role::Master | Role::Any);
        let rules = catalogue::rules();
        let wrongs = rules.iter().filter(is_played).filter_map(|rule| Scenario::of_rule(rule));
        rights.chain(wrongs).collect()
    }

    /// The one with this name, in either case.
    pub fn named(name: &str) -> Option<Scenario> {
        Scenario::all().into_iter().find(|it| it.name.eq_ignore_ascii_case(name))
    }

    /// A block of the table: `name (protocol, transport): what it shows`, and the script. A stand-in says so after the
    /// transport.
    fn of_table(block: &'static str) -> Option<Scenario> {
        let (head, script) = block.trim_start().split_once('\n')?;
        let (name, rest) = head.split_once(" (")?;
        let (speaks, shows) = rest.split_once("): ")?;
        let (protocol, transport) = speaks.split_once(", ")?;
        let (transport, is_stand_in) = match transport.strip_suffix(", stand-in") {
            Some(transport) => (transport, true),
            None => (transport, false),
        };
        let usual = match transport {
            "udp" => Transport::Udp,
            "tcp" => Transport::Tcp,
            _ => return None,
        };
        let protocol = Id::named(protocol)?;
        let [name, shows] = [name, shows].map(str::to_owned);
        Some(Scenario { name, shows, script, usual, protocol, rule: None, is_stand_in })
    }

    fn of_rule(rule: &'static Rule) -> Option<Scenario> {
        let name = rule.code.to_string();
        let Usual { port, transport } = Usual::of_rule(&name)?;
        // Rules about attacks belong to no protocol; their examples are of the one whose port they have.
        let speaks = |id: &&Id| id.info().rules.contains(&rule) || id.info().ports.contains(&port);
        let protocol = Id::ALL.iter().find(speaks)?;
        Some(Scenario {
            name,
            shows: format!("wrong: {}", rule.slug),
            script: rule.wrong,
            usual: transport,
            protocol: *protocol,
            rule: Some(rule),
            is_stand_in: false,
        })
    }

    /// The protocol that it speaks.
    pub fn protocol(&self) -> Id {
        self.protocol
    }

    /// The transport of its requests, if it can be played.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn transport(&self) -> Result<Transport, NotPlayed> {
        self.part().map(|part| part.transport)
    }

    /// The part of the server or master.
    pub(super) fn part(&self) -> Result<Part, NotPlayed> {
        let part = Part::read(self.script, self.protocol, self.usual)?;
        let Some(rule) = self.rule else { return Ok(part) };
        let is_ours = match rule.who {
            Role::Any => self.asks_rightly()?,
            who => who == part.role,
        };
        if is_ours { Ok(part) } else { Err(NotPlayed::OtherParty(asking(rule.who, part.role))) }
    }

    /// Whether the client says in the wrong example only what clients say in right ones.
    fn asks_rightly(&self) -> Result<bool, NotPlayed> {
        let rights = self.protocol.info().rules.iter().map(|rule| rule.right);
        let right: Vec<_> =
            rights.filter_map(|it| part::asked(it, self.usual).ok()).flatten().collect();
        let wrong = part::asked(self.script, self.usual)?;
        Ok(wrong.iter().all(|request| right.contains(request)))
    }
}

/// The name of the party that asks the one that is played.
fn asking(who: Role, played: Role) -> &'static str {
    match (who, played) {
        (Role::Any, Role::Server) => Role::Client.name(),
        (Role::Any, _) => "client or server",
        (who, _) => who.name(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_table_is_read_and_can_be_played() {
        let blocks = TABLE.split("\n\n").filter(|block| !block.starts_with('#')).count();
        let rights: Vec<_> = Scenario::all().into_iter().filter(|it| it.rule.is_none()).collect();
        assert_eq!(rights.len(), blocks);
        for scenario in rights {
            assert!(scenario.part().is_ok(), "{}: {:?}", scenario.name, scenario.part().err());
        }
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = Scenario::all().into_iter().map(|it| it.name).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
