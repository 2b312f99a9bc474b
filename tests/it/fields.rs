//! `gamewire fields` lists the fields of messages.

use crate::support::gamewire;
use serde_json::Value as Json;

#[test]
fn a_message_is_a_table() {
    let run = gamewire(["fields", "a2s.player_response.players"]);
    assert_eq!(run.code, 0);
    insta::assert_snapshot!(run.out);
}

#[test]
fn a_name_selects_all_messages_that_have_it() {
    let run = gamewire(["fields", "--format", "json", "challenge"]);
    let fields: Vec<Json> = serde_json::from_str(&run.out).expect("JSON");
    let paths: Vec<&str> = fields.iter().filter_map(|field| field["path"].as_str()).collect();
    assert!(paths.contains(&"a2s.rules_request.challenge"), "{paths:?}");
    assert!(paths.contains(&"acr_master.auth_response.challenge"), "{paths:?}");
    assert!(paths.iter().all(|path| path.ends_with(".challenge")), "{paths:?}");
}

#[test]
fn an_unknown_field_is_an_error() {
    let run = gamewire(["fields", "a2s.info_reponse"]);
    assert_eq!(run.code, 2);
    assert!(run.err.contains("no field has this name"), "{}", run.err);
}
