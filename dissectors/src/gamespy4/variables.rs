//! The names of variables in responses.

/// `s0` or `p268435717`: the form of most UT3 variables.
pub(super) fn is_numbered(key: &[u8]) -> bool {
    matches!(key, [b's' | b'p', digits @ ..]
        if !digits.is_empty() && digits.iter().all(u8::is_ascii_digit))
}

/// Whether this is the name of a variable of the specification's table, or of a known game's.
pub(super) fn is_name(text: &[u8]) -> bool {
    const NAMES: [&[u8]; 18] = [
        b"AverageSkillRating",
        b"EngineVersion",
        b"MinNetVersion",
        b"NumPublicConnections",
        b"OwningPlayerId",
        b"OwningPlayerName",
        b"bIsDedicated",
        b"bUsesStats",
        b"game_id",
        b"gamemode",
        b"gametype",
        b"hostip",
        b"hostname",
        b"hostport",
        b"mapname",
        b"maxplayers",
        b"numplayers",
        b"plugins",
    ];
    match text.first() {
        None => false,
        Some(b's') if is_numbered(text) => true,
        Some(b'p') if is_numbered(text) => text.len() > 9,
        Some(_) => NAMES.contains(&text),
    }
}

/// Whether a text that should be a map's name lists variables and their values instead.
pub(super) fn lists_variables(text: &[u8]) -> bool {
    let names = text.split(|byte| b",=:".contains(byte)).filter(|name| is_name(name)).count();
    names > 1 || names == 1 && text.contains(&b'=')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_variables_is_no_map() {
        for list in [
            "OwningPlayerId=830",
            "OwningPlayerId=830,NumPublicConnections=24",
            "hostname=Ann,hostport=7777",
            "hostname:Ann,hostport:7777",
            "hostname,Ann,hostport,7777",
            "DM,s32779=3",
        ] {
            assert!(lists_variables(list.as_bytes()), "{list}");
        }
        for map in ["DM-Deck", "hostname", "s0", "DM-Deck,DM-Rising", "CTF-a=b", ""] {
            assert!(!lists_variables(map.as_bytes()), "{map}");
        }
    }
}
