//! What `gamewire diagnose` says of a script.

use captures::exchange::Setting;
use serde_json::Value;

use super::gamewire;
use super::project::Project;

/// The exit code and the report of a script's capture.
pub(crate) fn diagnosed(script: &str, setting: &Setting, options: &[&str]) -> (u8, Value) {
    let (_project, file) = Project::of_script(script, setting);
    report_of(&file, options)
}

/// The same of a capture.
pub(crate) fn report_of(file: &str, options: &[&str]) -> (u8, Value) {
    let command = ["diagnose", "--no-config", "--format", "json"];
    let run = gamewire([&command[..], options, &[file]].concat());
    (run.code, serde_json::from_str(&run.out).unwrap())
}

/// The verdict and the cause of an item of a party.
pub(crate) fn verdict_of(party: &Value, name: &str) -> [String; 2] {
    let items = party["items"].as_array().unwrap_or_else(|| panic!("no party: {party}"));
    let item = items.iter().find(|it| it["item"] == name);
    let item = item.unwrap_or_else(|| panic!("no {name}: {party}"));
    ["verdict", "cause"].map(|key| item[key].as_str().unwrap_or_default().to_owned())
}

/// The same of the first party of a kind, in one text; `absent`: it has no such item.
pub(crate) fn item(report: &Value, kind: &str, name: &str) -> String {
    let party = &report[kind][0];
    let items = party["items"].as_array().unwrap_or_else(|| panic!("no {kind}: {report}"));
    if !items.iter().any(|it| it["item"] == name) {
        return "absent".to_owned();
    }
    verdict_of(party, name).join(" ").trim_end().to_owned()
}

/// The report of a script's capture of UDP, with servers at this port.
pub(crate) fn diagnosed_at(script: &str, port: u16) -> Value {
    diagnosed(script, &Setting::udp(port), &[]).1
}

/// The verdict and the cause of an item of the only server, with a master if one is given.
pub(crate) fn item_with(report: &Value, name: &str, master: &str) -> String {
    let servers = report["servers"].as_array().unwrap();
    assert_eq!(servers.len(), 1, "{servers:#?}");
    let is = |item: &&Value| {
        item["item"] == name && item["master"].as_str().unwrap_or("").starts_with(master)
    };
    let items = servers[0]["items"].as_array().unwrap();
    let item = items.iter().find(is).unwrap_or_else(|| panic!("{name}: {items:#?}"));
    let cause = item["cause"].as_str().unwrap_or_default();
    format!("{} {cause}", item["verdict"].as_str().unwrap()).trim_end().to_owned()
}

/// Rounds of a script, 20 seconds apart, each with its number and its second.
pub(crate) fn rounds(count: u32, round: impl Fn(u32, u32) -> String) -> String {
    let rounds: String = (0..count).map(|nth| round(nth, nth * 20)).collect();
    format!("{rounds}end {}", count * 20 + 60)
}

/// The challenge of a text master and its answer, in this second.
pub(crate) fn validated(master: &str, at: u32) -> String {
    format!(
        "{at}.02 {master}:27900 > s:7778  '\\\\basic\\\\\\\\secure\\\\XDWAOR'\n\
         {at}.03 s:7778 > {master}:27900  '\\\\heartbeat\\\\7778\\\\gamename\\\\ut\\\\validate\\\\3JOdDFU5\\\\final\\\\'\n"
    )
}

/// The list of a text master, which a client gets in this second.
pub(crate) fn listed_by_text_master(client: &str, at: u32) -> String {
    format!(
        "{at}.00 m:28900 > {client} tcp '\\\\basic\\\\\\\\secure\\\\XDWAOR'\n\
         {at}.02 {client} > m:28900 tcp '\\\\gamename\\\\ut\\\\location\\\\0\\\\validate\\\\3JOdDFU5\\\\final\\\\'\n\
         {at}.03 {client} > m:28900 tcp '\\\\list\\\\\\\\gamename\\\\ut\\\\final\\\\'\n\
         {at}.05 m:28900 > {client} tcp '\\\\ip\\\\10.0.0.2:7778\\\\final\\\\' fin\n\
         {at}.06 {client} > m:28900 tcp fin\n"
    )
}
