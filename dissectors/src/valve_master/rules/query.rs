//! The format of a query.

use crate::kit::{Pair, Read, Sink, Span};
use crate::rule;
use crate::valve_master::conditions::ConditionValues;
use crate::valve_master::info_keys;

rule! {
    /// Masters read the fields in order: with a missing or an additional zero, they read something
    /// else, or nothing.
    pub VM001 "query-layout" { severity: Error, who: Client, needs: Message,
        asks: "a query is 0x31, the region byte, a zero-terminated IP:Port and a zero-terminated filter, and nothing after it",
        cite: [("Client to master server, Format", "Byte Message Type 0x31 - the character \"1\""),
               ("IP:Port", "Terminate this with 0x00")],
        right: listed!("31 FF '0.0.0.0:0' 00 00"),
        wrong: listed!("31 FF '0.0.0.0:0' 00 00 00") }
}

/// How the fields of a query are arranged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::valve_master) enum QueryLayout {
    Right,
    NoRegion,
    /// IP:Port has no zero.
    SeedOpen,
    /// The filter of this length has no zero.
    FilterOpen {
        length: usize,
    },
    /// Bytes follow the filter.
    Trailing,
}

pub(in crate::valve_master) fn query_layout<S: Sink>(layout: QueryLayout, at: Span, sink: &mut S) {
    sink.checked(&VM001, layout == QueryLayout::Right, at, || match layout {
        QueryLayout::Right => String::new(),
        QueryLayout::NoRegion => "the query ends before the region byte".to_owned(),
        QueryLayout::SeedOpen => {
            "IP:Port has no terminating zero, and no filter follows".to_owned()
        }
        QueryLayout::FilterOpen { length: 0 } => {
            "the filter is missing, and with it its terminating zero".to_owned()
        }
        QueryLayout::FilterOpen { length } => {
            format!("the filter of {} has no terminating zero", crate::kit::counted(length, "byte"))
        }
        QueryLayout::Trailing => {
            let s = if at.len() == 1 { "" } else { "s" };
            format!("{} byte{s} too many after the filter", at.len())
        }
    });
}

rule! {
    /// A master lists servers by region: for an unknown code it lists none, or all.
    pub VM002 "region-known" { severity: Error, who: Client, needs: Message,
        asks: "the region is 0x00-0x07 or 0xFF",
        cite: [("Region codes", "0xFF Rest of the world")],
        right: listed!("31 03 '0.0.0.0:0' 00 00"),
        wrong: listed!("31 08 '0.0.0.0:0' 00 00") }
}

pub(in crate::valve_master) fn region_known<S: Sink>(region: Read<u8>, sink: &mut S) {
    let known = info_keys::region(region.value.into()).is_some();
    sink.checked(&VM002, known, region.at, || {
        format!("0x{:02X} is the code of no region", region.value)
    });
}

rule! {
    /// A master that cannot read the address begins the list again, or does not respond.
    pub VM003 "seed-syntax" { severity: Error, who: Client, needs: Message,
        asks: "IP:Port is a dotted-decimal IPv4 address, ':' and a decimal port 0-65535",
        cite: [("IP:Port", "The first IP:Port you should send is \"0.0.0.0:0\"")],
        right: listed!("31 FF '0.0.0.0:0' 00 00"),
        wrong: listed!("31 FF '0.0.0.0' 00 00") }
}

pub(in crate::valve_master) fn seed_syntax<S: Sink>(ok: bool, seed: &[u8], at: Span, sink: &mut S) {
    sink.checked(&VM003, ok, at, || format!("{} is not an IP:Port", crate::kit::Quoted(seed)));
}

rule! {
    /// An invalid condition is ignored, or makes the rest of the filter invalid: the client gets
    /// other servers than it requested.
    pub VM004 "filter-grammar" { severity: Error, who: Client, needs: Message,
        asks: "the filter is empty or `\\key\\value` pairs, and `\\nor\\N` and `\\nand\\N` are followed by at least the N conditions they take",
        cite: [("Filter", "Insert \\ in between filter parameters"),
               ("Filter", "specifies that servers matching any of the following [x] conditions should not be returned")],
        right: listed!(r"31 FF '0.0.0.0:0' 00 '\\gamedir\\cstrike\\nor\\2\\map\\de_dust\\map\\cs_italy' 00"),
        wrong: listed!(r"31 FF '0.0.0.0:0' 00 '\\gamedir\\cstrike\\nor\\2\\map\\de_dust' 00") }
}

/// `wrong`: the first fault in the filter.
pub(in crate::valve_master) fn filter_grammar<S: Sink>(
    wrong: Option<String>,
    at: Span,
    sink: &mut S,
) {
    sink.checked(&VM004, wrong.is_none(), at, || wrong.unwrap_or_default());
}

/// Conditions that the recording lost count as one, because their number is unknown.
pub(in crate::valve_master) fn filter_lost<S: Sink>(at: Span, sink: &mut S) {
    for rule in [&VM004, &VM005, &VM006] {
        sink.checked(rule, false, at, || {
            "the capture does not hold the rest of the filter".to_owned()
        });
    }
}

rule! {
    /// Masters ignore unknown conditions: the client gets more servers than it requested.
    pub VM005 "filter-key-known" { severity: Warning, who: Client, needs: Message,
        asks: "every filter key is in the specification's table",
        cite: [("Filter", "Filter code What the filter returns")],
        right: listed!(r"31 FF '0.0.0.0:0' 00 '\\gamedir\\cstrike' 00"),
        wrong: listed!(r"31 FF '0.0.0.0:0' 00 '\\gamename\\cstrike' 00") }
}

pub(in crate::valve_master) fn filter_key<S: Sink>(
    known: bool,
    xash3d: bool,
    pair: &Pair<'_>,
    sink: &mut S,
) {
    sink.checked(&VM005, known, pair.key_at(), || {
        let key = pair.key.escape_ascii();
        if xash3d {
            format!("\\{key} is Xash3D's, and not in the specification's table")
        } else {
            format!("\\{key} is not in the specification's table")
        }
    });
}

rule! {
    /// In the table, each switch has one value only. Another value does not mean the opposite:
    /// masters ignore it.
    pub VM006 "filter-value" { severity: Warning, who: Client, needs: Message,
        asks: "switches carry the value the table gives (`\\dedicated\\1`, `\\password\\0`), appid and napp a number, gameaddr an IP[:port]",
        cite: [("Filter", "\\password\\0 Servers that are not password protected"),
               ("Filter", "\\gameaddr\\[ip] Return only servers on the specified IP address (port supported and optional)")],
        right: listed!(r"31 FF '0.0.0.0:0' 00 '\\napp\\500\\dedicated\\1' 00"),
        wrong: listed!(r"31 FF '0.0.0.0:0' 00 '\\napp\\500\\dedicated\\0' 00") }
}

pub(in crate::valve_master) fn filter_value<S: Sink>(
    values: ConditionValues,
    pair: &Pair<'_>,
    sink: &mut S,
) {
    sink.checked(&VM006, values.allow(pair.text()), pair.value_at(), || {
        let (key, value) = (pair.key.escape_ascii(), pair.text().escape_ascii());
        format!("\\{key} has the value \"{value}\", not {}", values.shown())
    });
}
