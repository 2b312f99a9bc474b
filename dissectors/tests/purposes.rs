//! What messages say of servers, masters and lists is said of fields that they have.

use dissectors::Id;
use dissectors::kit::{EndOfList, Message, Purpose, Role};

/// Whether a message has a field of this path; a key of a map is whatever somebody sends.
fn has(message: &Message, path: &str) -> bool {
    let mut found = false;
    message.each_field(|listed, _| {
        let of_map = listed.strip_suffix('*').is_some_and(|map| path.starts_with(map));
        found |= listed == path || of_map;
    });
    found
}

#[test]
fn descriptions_name_fields_of_their_messages() {
    let mut looked_at = 0;
    for message in Id::ALL.iter().flat_map(|id| id.info().messages) {
        let Some(it) = message.describes else { continue };
        for path in [it.name, it.map, it.version, it.players, it.max_players].concat() {
            assert!(has(message, path), "{}: no field {path}", message.name);
            looked_at += 1;
        }
    }
    assert!(looked_at > 20, "{looked_at}");
}

#[test]
fn masters_name_fields_of_messages_with_the_purpose() {
    let mut looked_at = 0;
    for id in Id::ALL {
        let info = id.info();
        let Some(masters) = info.masters else { continue };
        let is_said = |path: &str, purposes: &[Purpose]| {
            let of_purpose = |message: &&&Message| purposes.contains(&message.purpose);
            let said = info.messages.iter().filter(of_purpose).any(|message| has(message, path));
            assert!(said, "{}: no message for {purposes:?} has {path}", info.id);
        };
        if let Some(path) = masters.query_port {
            is_said(path, &[Purpose::Join, Purpose::Heartbeat]);
        }
        if let Some(path) = masters.goes_on_after {
            is_said(path, &[Purpose::ListRequest]);
        }
        if let Some(selects) = masters.selects {
            is_said(selects.description, &[Purpose::ChallengeResponse]);
        }
        for path in masters.narrowed.iter().map(|(path, _)| path).chain(&masters.game) {
            is_said(path, &[Purpose::ListRequest]);
        }
        if let Some(path) = masters.game {
            is_said(path, &[Purpose::Heartbeat]);
        }
        // The flags of a list in one message are framing, which is not listed.
        if let EndOfList::Flag(end) = masters.end {
            is_said(end, &[Purpose::List]);
            masters.enciphered.iter().for_each(|path| is_said(path, &[Purpose::List]));
        }
        if let Some((path, _)) = masters.refusal {
            is_said(path, &[Purpose::JoinResponse]);
        }
        looked_at += 1;
    }
    assert_eq!(looked_at, 3, "Valve, the text protocol and AssaultCube Reloaded have masters");
}

#[test]
fn symptoms_are_of_the_protocols_own_rules_and_items() {
    let mut looked_at = 0;
    for id in Id::ALL {
        let (info, diagnosis) = (id.info(), id.info().diagnosis);
        assert!(diagnosis.items.is_sorted(), "{}: items are in their order", info.id);
        let known = |id: &str| Id::ALL.iter().any(|other| other.info().id == id);
        assert!(diagnosis.registers.is_none_or(known), "{}", info.id);
        for symptom in diagnosis.symptoms.iter() {
            let is_own = info.rules.iter().any(|rule| rule.code == symptom.rule.code);
            assert!(is_own, "{}: {} is another protocol's", info.id, symptom.rule.code);
            // Conditions of clients and masters are the same in all protocols.
            let is_of_server = symptom.item.group().party() == Role::Server;
            let is_there = diagnosis.items.contains(&symptom.item);
            assert!(is_there || !is_of_server, "{}: {:?}", info.id, symptom.item);
            looked_at += 1;
        }
    }
    assert!(looked_at > 30, "{looked_at}");
}
