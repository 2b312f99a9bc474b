//! The parties of a conversation: letters, digits, ports.

use super::Party;
use crate::kit::Role;

impl Party {
    /// Reads `c`, `s2`, `m:27016`.
    pub(super) fn parse(word: &str) -> Result<Party, String> {
        let wrong =
            || format!("`{word}` is not a party: a letter of cde stu mno, a digit, `:port`");
        let (name, port) = match word.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (word, None),
        };
        let port = match port.map(str::parse::<u16>) {
            None => None,
            Some(Ok(port)) => Some(port),
            Some(Err(_)) => return Err(format!("the port of `{word}` is not a number to 65535")),
        };
        let mut characters = name.chars();
        let (role, host) = match characters.next().ok_or_else(wrong)? {
            letter @ 'c'..='e' => (Role::Client, letter as u8 - b'c'),
            letter @ 's'..='u' => (Role::Server, letter as u8 - b's'),
            letter @ 'm'..='o' => (Role::Master, letter as u8 - b'm'),
            _ => return Err(wrong()),
        };
        let digit = match (characters.next(), characters.next()) {
            (None, _) => 0,
            (Some(digit @ '0'..='9'), None) => digit as u8 - b'0',
            _ => return Err(wrong()),
        };
        Ok(Party { role, host, digit, port })
    }

    /// Whether this party opens the connections between the two: a client to anyone, a game server to its
    /// master, and of two alike the one that speaks first.
    pub const fn opens_towards(self, other: Party) -> bool {
        self.rank() <= other.rank()
    }

    const fn rank(self) -> u8 {
        match self.role {
            Role::Client => 0,
            Role::Server => 1,
            _ => 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_hosts_and_digits_ports() {
        let party = |role, host, digit, port| Ok(Party { role, host, digit, port });
        assert_eq!(Party::parse("c"), party(Role::Client, 0, 0, None));
        assert_eq!(Party::parse("t2"), party(Role::Server, 1, 2, None));
        assert_eq!(Party::parse("o:80"), party(Role::Master, 2, 0, Some(80)));
    }

    #[test]
    fn invalid_parties_are_rejected() {
        for word in ["", "x", "c12", "cs", "C", "s:", "s:65536", ":1", "c-1"] {
            assert!(Party::parse(word).is_err(), "{word}");
        }
    }
}
