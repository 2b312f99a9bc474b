//! The diagnosis as JSON, for a script.

use dissectors::kit::{Role, Time};
use serde::Serialize;

use super::super::clock::rfc3339;
use super::super::json::line;
use super::{DiagnosisReport, address, attacked};
use crate::abuse::Attack;
use crate::diagnose::{Broadcast, DiagnosedParty, DiagnosedServer, ItemVerdict, LeftOut, Outcome};

impl DiagnosisReport<'_> {
    /// For a script: everything about all servers.
    pub fn json(&self, out: &mut Vec<u8>) {
        #[derive(Serialize)]
        struct Capture<'r> {
            servers: Vec<ServerAsJson<'r>>,
            clients: Vec<PartyAsJson<'r>>,
            masters: Vec<PartyAsJson<'r>>,
            broadcasts: Vec<BroadcastAsJson>,
            /// Attacks on what is no server.
            #[serde(skip_serializing_if = "Vec::is_empty")]
            attacks: Vec<AttackAsJson>,
            capture: CaptureAsJson<'r>,
            #[serde(skip_serializing_if = "std::ops::Not::not")]
            cut: bool,
            /// Servers that did not fit into memory.
            #[serde(skip_serializing_if = "Option::is_none")]
            left_out: Option<LeftOutAsJson>,
        }
        let digits = self.diagnoses.digits;
        let servers = self.diagnoses.servers.iter();
        let servers = servers.map(|server| ServerAsJson::of(server, digits)).collect();
        let (clients, masters) = (&self.diagnoses.clients, &self.diagnoses.masters);
        let LeftOut { servers: left_out, at_least } = self.diagnoses.left_out;
        let capture = Capture {
            servers,
            clients: clients.iter().map(|it| PartyAsJson::of(it, digits)).collect(),
            masters: masters.iter().map(|it| PartyAsJson::of(it, digits)).collect(),
            broadcasts: self.diagnoses.broadcasts.iter().map(BroadcastAsJson::of).collect(),
            attacks: self.diagnoses.other_attacks().map(AttackAsJson::of).collect(),
            capture: CaptureAsJson {
                file: self.capture,
                seat: self.diagnoses.position.name(),
                lost: self.diagnoses.is_lossy,
            },
            cut: self.diagnoses.left_out().next().is_some(),
            left_out: (left_out > 0).then_some(LeftOutAsJson { servers: left_out, at_least }),
        };
        // Writing numbers and texts to a vector cannot fail.
        let _ = line(&capture, out);
    }
}

/// What did not fit into memory, in JSON.
#[derive(Serialize)]
struct LeftOutAsJson {
    servers: usize,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    at_least: bool,
}

/// The capture in JSON.
#[derive(Serialize)]
struct CaptureAsJson<'r> {
    /// Its name, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'r str>,
    seat: &'static str,
    /// The recording lost packets.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    lost: bool,
}

/// One server in JSON.
#[derive(Serialize)]
struct ServerAsJson<'r> {
    server: String,
    protocol: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'r str>,
    #[serde(flatten)]
    result: JsonResult,
    seat: &'static str,
    addresses: Vec<JsonAddress>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    probed: Vec<String>,
    items: Vec<JsonItem<'r>>,
}

/// An address of a server in JSON.
#[derive(Serialize)]
struct JsonAddress {
    address: String,
    role: &'static str,
}

/// The result for a party in JSON.
#[derive(Serialize)]
struct JsonResult {
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_no: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'static str>,
}

impl JsonResult {
    fn of(outcome: Outcome, first_no: Option<&ItemVerdict>) -> JsonResult {
        JsonResult {
            verdict: outcome.name(),
            first_no: first_no.map(|it| it.item.name()),
            cause: first_no.and_then(|it| it.cause).map(|cause| cause.name),
        }
    }
}

/// An address of several hosts in JSON.
#[derive(Serialize)]
struct BroadcastAsJson {
    to: String,
    asked: u64,
    answered_by: Vec<String>,
}

impl BroadcastAsJson {
    fn of(it: &Broadcast) -> BroadcastAsJson {
        let answered_by = it.answered_by.iter().map(ToString::to_string).collect();
        BroadcastAsJson { to: it.to.to_string(), asked: it.asked, answered_by }
    }
}

/// An attack on what is no server, in JSON.
#[derive(Serialize)]
struct AttackAsJson {
    seat: &'static str,
    targets: Vec<String>,
    text: String,
}

impl AttackAsJson {
    fn of(attack: &Attack) -> AttackAsJson {
        let targets = attack.targets.iter().map(ToString::to_string).collect();
        AttackAsJson { seat: attack.kind.name(), targets, text: attacked(attack) }
    }
}

/// A client, or a master, in JSON.
#[derive(Serialize)]
struct PartyAsJson<'r> {
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    master: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    protocol: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    library: Option<&'static str>,
    #[serde(flatten)]
    result: JsonResult,
    items: Vec<JsonItem<'r>>,
}

impl PartyAsJson<'_> {
    fn of(party: &DiagnosedParty, digits: u8) -> PartyAsJson<'_> {
        let is_client = party.role == Role::Client;
        PartyAsJson {
            client: is_client.then_some(&*party.address),
            master: (!is_client).then_some(&*party.address),
            protocol: party.protocol.map(|id| id.info().id),
            library: party.library,
            result: JsonResult::of(party.outcome(), party.first_no()),
            items: party.items.iter().map(|it| JsonItem::of(it, digits)).collect(),
        }
    }
}

/// One of its items.
#[derive(Serialize)]
struct JsonItem<'r> {
    item: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    master: Option<String>,
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    asked: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answered: Option<u64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    at_least: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<std::collections::BTreeMap<&'static str, &'r str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    frames: &'r [u64],
    text: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<&'static str>,
}

impl JsonItem<'_> {
    fn of(it: &ItemVerdict, digits: u8) -> JsonItem<'_> {
        let moment = |time: Time| rfc3339(time, digits);
        JsonItem {
            item: it.item.name(),
            master: it.master.map(|master| master.to_string()),
            verdict: it.met.name(),
            cause: it.cause.map(|cause| cause.name),
            asked: it.exchanges.map(|it| it.asked),
            answered: it.exchanges.map(|it| it.answered),
            at_least: it.at_least,
            by: it.by.as_ref().map(|(name, value)| [(*name, &**value)].into()),
            from: it.span.map(|[from, _]| moment(from)),
            to: it.span.map(|[_, to]| moment(to)),
            frames: &it.frames,
            text: &it.text,
            advice: it.advice(),
        }
    }
}

impl ServerAsJson<'_> {
    fn of(server: &DiagnosedServer, digits: u8) -> ServerAsJson<'_> {
        ServerAsJson {
            server: address(server),
            protocol: server.protocol.map(|id| id.info().id),
            name: server.name.as_deref(),
            result: JsonResult::of(server.outcome(), server.first_no()),
            seat: server.position.name(),
            addresses: server
                .addresses
                .iter()
                .map(|(address, role)| JsonAddress {
                    address: address.to_string(),
                    role: role.name(),
                })
                .collect(),
            probed: server.probed.iter().map(ToString::to_string).collect(),
            items: server.items.iter().map(|it| JsonItem::of(it, digits)).collect(),
        }
    }
}
