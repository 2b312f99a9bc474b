//! The conditions of a filter: the specification's table, and the keys that Xash3D's clients add.

use std::borrow::Cow;

use super::endpoint::{address, count, parse};

/// The valid values of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConditionValues {
    /// Only this digit: the condition is a switch.
    Only(u8),
    /// A decimal number.
    Number,
    /// An IPv4 address, with or without a port.
    Address,
    /// The number of following conditions that belong to it.
    Count,
    /// Anything.
    Any,
}

impl ConditionValues {
    /// Whether `value` is one of them.
    pub(super) fn allow(self, value: &[u8]) -> bool {
        match self {
            ConditionValues::Only(digit) => value == [digit],
            ConditionValues::Number | ConditionValues::Count => count(value).is_some(),
            ConditionValues::Address => address(value).is_some() || parse(value).is_some(),
            ConditionValues::Any => true,
        }
    }

    /// The valid values, for people.
    pub(super) const fn shown(self) -> &'static str {
        match self {
            ConditionValues::Only(b'0') => "0",
            ConditionValues::Only(_) => "1",
            ConditionValues::Number | ConditionValues::Count => "a number",
            ConditionValues::Address => "an IP address, with or without a port",
            ConditionValues::Any => "anything",
        }
    }
}

/// A key of the table.
pub(super) struct Condition {
    pub(super) key: &'static str,
    pub(super) values: ConditionValues,
    /// What the filter returns; `{}` is replaced by the value.
    returns: &'static str,
}

/// "Filter code", "What the filter returns".
pub(super) static TABLE: &[Condition] = &{
    use ConditionValues::*;
    const fn row(key: &'static str, values: ConditionValues, returns: &'static str) -> Condition {
        Condition { key, values, returns }
    }
    [
        row("nor", Count, "no servers that match any of the following {} conditions"),
        row("nand", Count, "no servers that match all of the following {} conditions"),
        row("dedicated", Only(b'1'), "servers running dedicated"),
        row("secure", Only(b'1'), "servers using anti-cheat technology (VAC or another)"),
        row("gamedir", Any, "servers running the modification {}"),
        row("map", Any, "servers running the map {}"),
        row("linux", Only(b'1'), "servers running on a Linux platform"),
        row("password", Only(b'0'), "servers that are not password protected"),
        row("empty", Only(b'1'), "servers that are not empty"),
        row("full", Only(b'1'), "servers that are not full"),
        row("proxy", Only(b'1'), "servers that are spectator proxies"),
        row("appid", Number, "servers that are running game {}"),
        row("napp", Number, "servers that are not running game {}"),
        row("noplayers", Only(b'1'), "servers that are empty"),
        row("white", Only(b'1'), "servers that are whitelisted"),
        row("gametype", Any, "servers with all of the tags {} in sv_tags"),
        row("gamedata", Any, "servers with all of the hidden tags {}"),
        row("gamedataor", Any, "servers with any of the hidden tags {}"),
        row("name_match", Any, "servers with a hostname that matches {}"),
        row("version_match", Any, "servers running version {}"),
        row("collapse_addr_hash", Only(b'1'), "only one server for each IP address"),
        row("gameaddr", Address, "servers on the address {}"),
    ]
};

/// Keys that Xash3D's clients add, which the specification does not have.
pub(super) static XASH3D: &[Condition] = &{
    const fn row(key: &'static str, returns: &'static str) -> Condition {
        Condition { key, values: ConditionValues::Any, returns }
    }
    [
        row("clver", "Xash3D: the client's engine has version {}"),
        row("nat", "Xash3D: whether servers behind NAT are wanted: {}"),
        row("key", "Xash3D: the reply is to repeat the key {}"),
        row("commit", "Xash3D: the client's engine was built from commit {}"),
        row("branch", "Xash3D: the client's engine was built from branch {}"),
        row("os", "Xash3D: the client's engine was built for {}"),
        row("arch", "Xash3D: the client's engine was built for {}"),
        row("buildnum", "Xash3D: the client's engine is build {}"),
    ]
};

pub(super) fn find(table: &'static [Condition], key: &[u8]) -> Option<&'static Condition> {
    table.iter().find(|condition| condition.key.as_bytes() == key)
}

/// The meaning of a condition, for people.
pub(super) fn meaning(key: &[u8], value: &[u8]) -> Option<Cow<'static, str>> {
    let condition = find(TABLE, key).or_else(|| find(XASH3D, key))?;
    if !condition.values.allow(value) {
        return None;
    }
    if !condition.returns.contains("{}") {
        return Some(Cow::Borrowed(condition.returns));
    }
    Some(Cow::Owned(condition.returns.replace("{}", &String::from_utf8_lossy(value))))
}
