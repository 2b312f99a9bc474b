//! Whether a query's filter matches a server, as far as the server's info string shows.

use memchr::memmem;

use crate::kit::{KeyLookup, Pair, Pairs};

/// Whether a list requested with these values of `Masters::narrowed` should include a server.
/// `None`: unknown.
pub(super) fn selects(asked: &[Vec<u8>], value_of: &KeyLookup<'_>) -> Option<bool> {
    let [filter, region] = asked else { return None };
    all([in_region(region, value_of), passes(filter, value_of)].into_iter())
}

/// Whether all are true.
fn all(mut each: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut known = Some(true);
    let is_not = each.any(|one| {
        known = known.and(one);
        one == Some(false)
    });
    if is_not { Some(false) } else { known }
}

/// Whether those of "the rest of the world" are in the list of another region, the specification leaves open.
fn in_region(asked: &[u8], value_of: &KeyLookup<'_>) -> Option<bool> {
    if asked == b"255" {
        return Some(true);
    }
    let region = value_of("region").filter(|region| !matches!(*region, b"255" | b"-1"))?;
    Some(region == asked)
}

fn passes(filter: &[u8], value_of: &KeyLookup<'_>) -> Option<bool> {
    let (mut rest, mut known) = (filter, Some(true));
    while !rest.is_empty() {
        let first = first_condition(rest)?;
        match is_met(first, value_of)? {
            Some(false) => return Some(false),
            met => known = known.and(met),
        }
        rest = rest.get(first.len()..).unwrap_or_default();
    }
    known
}

/// The first condition of a filter, or a group of conditions with its name and size. `None`: the size of
/// the group is no number.
pub(super) fn first_condition(filter: &[u8]) -> Option<&[u8]> {
    let mut pairs = Pairs::new(filter, 0);
    let mut last = pairs.next()?;
    if is_group(&last) {
        let size = std::str::from_utf8(last.text()).ok()?.parse().ok()?;
        last = pairs.take(size).last().unwrap_or(last);
    }
    filter.get(..last.at().end as usize)
}

fn is_group(pair: &Pair<'_>) -> bool {
    matches!(pair.key, b"nor" | b"nand")
}

/// Whether a server meets a condition or a group. `None`: there is a nested group, whose counting the
/// specification leaves open.
fn is_met(text: &[u8], value_of: &KeyLookup<'_>) -> Option<Option<bool>> {
    let mut pairs = Pairs::new(text, 0);
    let first = pairs.next()?;
    if !is_group(&first) {
        return Some(condition(&first, value_of));
    }
    if pairs.clone().any(|pair| is_group(&pair)) {
        return None;
    }
    let each = pairs.map(|pair| condition(&pair, value_of));
    Some(match first.key {
        // Not all may be met; of the others, none.
        b"nand" => all(each).map(|all| !all),
        _ => all(each.map(|one| one.map(|met| !met))),
    })
}

/// Whether a condition can be compared with what a server says of itself.
pub(super) fn is_comparable(pair: &Pair<'_>) -> bool {
    condition(pair, &|key| (key != "address").then_some(b"1")).is_some()
}

/// Whether a server meets a condition of the specification's table.
fn condition(pair: &Pair<'_>, value_of: &KeyLookup<'_>) -> Option<bool> {
    let value = pair.text();
    let is = |key: &str, value: &[u8]| Some(value_of(key)?.eq_ignore_ascii_case(value));
    let number = |key: &str| std::str::from_utf8(value_of(key)?).ok()?.parse::<u32>().ok();
    match (pair.key, value) {
        (b"gamedir", _) => is("gamedir", value),
        (b"map", _) => is("map", value),
        (b"dedicated", b"1") => is("type", b"d"),
        (b"proxy", b"1") => is("type", b"p"),
        (b"secure", b"1") => is("secure", b"1"),
        (b"linux", b"1") => is("os", b"l"),
        (b"password", b"0") => is("password", b"0"),
        (b"gameaddr", _) => is_at(value, value_of("address")?),
        // Their names mean the opposite of their effect.
        (b"empty", b"1") => number("players").map(|players| players > 0),
        (b"full", b"1") => Some(number("players")? < number("max")?),
        (b"noplayers", b"1") => number("players").map(|players| players == 0),
        (b"appid", _) => is_app(value, value_of("appid")?),
        (b"napp", _) => is_app(value, value_of("appid")?).map(|is| !is),
        (b"gametype", _) => has_tags(value, value_of("gametype")?),
        (b"name_match", _) => fits(value, value_of("name")?),
        (b"version_match", _) => fits(value, value_of("version")?),
        _ => None,
    }
}

/// Whether a server's app ID is the one asked for. It may state the low 16 bits only: where these agree, and the rest is not
/// known, it may be.
fn is_app(asked: &[u8], stated: &[u8]) -> Option<bool> {
    let number = |text: &[u8]| std::str::from_utf8(text).ok()?.parse::<u32>().ok();
    let (Some(asked), Some(stated)) = (number(asked), number(stated)) else {
        return Some(stated.eq_ignore_ascii_case(asked));
    };
    let low = asked & u32::from(u16::MAX);
    if asked != stated && low == stated { None } else { Some(asked == stated) }
}

/// Maximum bytes of texts that are compared part by part.
const COMPARED: usize = 1 << 10;

/// Whether comparing each part of one text with each of the other would take long.
fn is_long(asked: &[u8], value_of: &[u8]) -> bool {
    asked.len().max(value_of.len()) > COMPARED
}

/// Whether all tags between the commas of `asked` are among those of a server.
fn has_tags(asked: &[u8], value_of: &[u8]) -> Option<bool> {
    if is_long(asked, value_of) {
        return None;
    }
    let tags = |text| <[u8]>::split(text, |byte| *byte == b',').map(<[u8]>::trim_ascii);
    let mut wanted = tags(asked).filter(|tag| !tag.is_empty());
    Some(wanted.all(|tag| tags(value_of).any(|other| other.eq_ignore_ascii_case(tag))))
}

/// Whether a text is what was asked for, in which an asterisk stands for any text.
fn fits(asked: &[u8], text: &[u8]) -> Option<bool> {
    if is_long(asked, text) {
        return None;
    }
    let (asked, text) = (asked.to_ascii_lowercase(), text.to_ascii_lowercase());
    let mut parts = asked.split(|byte| *byte == b'*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return Some(false);
    };
    let Some(last) = parts.next_back() else { return Some(rest.is_empty()) };
    for part in parts {
        let Some(at) = memmem::find(rest, part) else { return Some(false) };
        rest = rest.get(at + part.len()..)?;
    }
    Some(rest.ends_with(last))
}

/// Whether an address with its port is the one asked for, which may have none.
fn is_at(asked: &[u8], address: &[u8]) -> Option<bool> {
    let (asked, address) = (std::str::from_utf8(asked).ok()?, std::str::from_utf8(address).ok()?);
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    Some(asked == address || asked == host)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVER: &[(&str, &str)] = &[
        ("gamedir", "tf"),
        ("map", "ctf_2fort"),
        ("players", "3"),
        ("max", "24"),
        ("type", "d"),
        ("os", "l"),
        ("secure", "1"),
        ("password", "0"),
        ("version", "1.0"),
        ("region", "3"),
        ("name", "Mill Creek 24/7"),
        ("gametype", "alltalk,increased_maxplayers"),
    ];

    fn in_list(filter: &str, region: &str) -> Option<bool> {
        let value_of = |key: &str| {
            SERVER.iter().find(|(name, _)| *name == key).map(|(_, value)| value.as_bytes())
        };
        selects(&[filter.into(), region.into()], &value_of)
    }

    /// 252490 has the low bits 55882.
    #[test]
    fn an_app_id_may_be_known_in_part() {
        let met = |filter: &str, stated: &str| {
            selects(&[filter.into(), b"255".to_vec()], &|_| Some(stated.as_bytes()))
        };
        for (stated, is) in
            [("252490", Some(true)), ("55882", None), ("440", Some(false)), ("318026", Some(false))]
        {
            assert_eq!(met(r"\appid\252490", stated), is, "{stated}");
            assert_eq!(met(r"\napp\252490", stated), is.map(|is| !is), "{stated}");
        }
        assert_eq!(met(r"\appid\55882", "252490"), Some(false));
    }

    #[test]
    fn long_texts_are_not_compared_part_by_part() {
        let tags = |count: usize| vec!["a"; count].join(",");
        for (count, known) in [(COMPARED / 2, Some(true)), (COMPARED, None)] {
            let value_of = tags(count);
            let look = |_: &str| Some(value_of.as_bytes());
            for filter in [format!(r"\gametype\{value_of}"), r"\name_match\a*".to_owned()] {
                assert_eq!(selects(&[filter.into(), b"255".to_vec()], &look), known, "{count}");
            }
        }
    }

    #[test]
    fn the_server_s_values_are_compared_with_the_filter() {
        for filter in [
            "",
            r"\gamedir\TF",
            r"\map\ctf_2fort\empty\1\full\1",
            r"\dedicated\1\linux\1\secure\1\password\0",
            r"\version_match\1.0",
            r"\version_match\1.*",
            r"\name_match\mill*24/7",
            r"\name_match\*creek*",
            r"\gametype\increased_maxplayers,AllTalk",
            r"\nor\2\gamedir\valve\noplayers\1",
            r"\nand\2\gamedir\tf\noplayers\1",
            r"\nand\2\noplayers\1\gamedir\valve",
            r"\nor\1\proxy\1\gamedir\tf",
        ] {
            assert_eq!(in_list(filter, "255"), Some(true), "{filter}");
        }
        for filter in [
            r"\gamedir\valve",
            r"\noplayers\1",
            r"\appid\440\map\cp_dustbowl",
            r"\nor\1\gamedir\tf",
            r"\version_match\1",
            r"\version_match\1.0*0",
            r"\name_match\*creek",
            r"\name_match\mill**24/8",
            r"\gametype\alltalk,nocrits",
            r"\nand\2\gamedir\tf\dedicated\1",
        ] {
            assert_eq!(in_list(filter, "255"), Some(false), "{filter}");
        }
        for filter in [
            r"\appid\440",
            r"\white\1\gamedir\tf",
            r"\nor\1\white\1",
            r"\nor\x\map\a",
            r"\nor\1\nor\1\map\a",
            r"\clver\0.20",
        ] {
            assert_eq!(in_list(filter, "255"), None, "{filter}");
        }
        assert_eq!([in_list("", "3"), in_list("", "4")], [Some(true), Some(false)]);
        assert_eq!(selects(&[], &|_| None), None);
    }
}
