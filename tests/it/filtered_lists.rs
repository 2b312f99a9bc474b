//! `gamewire check`: what listed servers say of themselves is compared with the filter of the list.

use crate::support::gamewire;
use crate::support::project::Project;
use captures::exchange::Setting;
use serde_json::Value;

/// A list of three servers that was requested with this filter, and the query of each server by its client. `after`:
/// the second at which they are queried.
fn listed(filter: &str, maps: [&str; 3], after: u32) -> String {
    let filter = filter.replace('\\', r"\\");
    let list = format!(
        "0.00 c > m:27011  31 FF '0.0.0.0:0' 00 '{filter}' 00\n\
         0.02 m:27011 > c  FFFFFFFF 660A ip:10.0.0.2:27015 ip:10.0.1.2:27015 ip:10.0.2.2:27015 00*6\n"
    );
    let query = |(server, map): (&str, &str)| {
        format!(
            "{after}.40 c > {server}:27015  FFFFFFFF 54 'Source Engine Query' 00\n\
             {after}.42 {server}:27015 > c  FFFFFFFF 49 11 'Mill Creek' 00 '{map}' 00 'tf' 00 'Team Fortress' 00 \
             B801 03 18 00 'd' 'l' 00 01 '1.0' 00 20 'cp,alltalk' 00\n"
        )
    };
    let queries: String = ["s", "t", "u"].into_iter().zip(maps).map(query).collect();
    format!("{list}{queries}end 90")
}

/// The texts of the rule's notes, and how often it passed.
fn notes(file: &str, options: &[&str]) -> (Vec<String>, u64) {
    let command = ["check", "--no-config", "--select", "VM015", "--format", "json"];
    let run = gamewire([&command[..], options, &[file]].concat());
    assert_eq!(run.code, 0, "a note is no failure: {}", run.out);
    let report: Value = serde_json::from_str(&run.out).unwrap();
    let findings = report["findings"].as_array().unwrap().iter();
    let text = |finding: &Value| {
        assert_eq!(
            (finding["verdict"].as_str(), finding["frames"][0].as_u64()),
            (Some("note"), Some(2))
        );
        assert_eq!(finding["party"], "10.0.0.9:27011", "the master sent the list");
        finding["message"].as_str().unwrap().to_owned()
    };
    let rule = report["rules"].as_array().unwrap().iter().find(|rule| rule["code"] == "VM015");
    (findings.map(text).collect(), rule.unwrap()["passed"].as_u64().unwrap())
}

#[test]
fn a_listed_server_that_contradicts_the_filter_is_noted() {
    let script = listed(r"\map\ctf_2fort", ["cp_well", "ctf_2fort", "cp_dustbowl"], 0);
    let (_project, file) = Project::of_script(&script, &Setting::udp(27015));
    let said = r"10.0.0.2:27015 was listed for \map\ctf_2fort, and says \map\cp_well 0.4 s later, and 1 more";
    for threads in ["1", "2", "3", "8"] {
        assert_eq!(notes(&file, &["--threads", threads]), (vec![said.to_owned()], 1), "{threads}");
    }
    let whole = |threads| {
        gamewire(["check", "--no-config", "--fail-on", "note", "--threads", threads, &file]).out
    };
    assert_eq!(whole("1"), whole("8"));
}

/// A server says that it has players, and so meets no condition of the group: its map is the reason.
#[test]
fn the_condition_that_is_not_met_is_named() {
    for group in [r"\nor\2\noplayers\1\proxy\1", r"\nand\2\dedicated\1\proxy\1"] {
        let script = listed(&format!(r"{group}\map\ctf_2fort"), ["cp_well"; 3], 0);
        let (_project, file) = Project::of_script(&script, &Setting::udp(27015));
        let (notes, _) = notes(&file, &[]);
        assert!(notes[0].contains(r", and says \map\cp_well 0.4 s later"), "{notes:?}");
    }
}

#[test]
fn every_condition_that_an_info_response_shows_is_compared() {
    let first = |filter: &str| {
        let script = listed(filter, ["ctf_2fort"; 3], 0);
        let (_project, file) = Project::of_script(&script, &Setting::udp(27015));
        let (notes, passed) = notes(&file, &[]);
        (notes.len(), passed)
    };
    for filter in [
        r"\gamedir\tf\dedicated\1\linux\1\secure\1\password\0\empty\1\full\1\appid\440\napp\500",
        r"\name_match\mill*\version_match\1.*\gametype\alltalk",
        r"\nor\2\noplayers\1\proxy\1",
    ] {
        assert_eq!(first(filter), (0, 1), "{filter}");
    }
    for filter in [
        r"\gamedir\valve",
        r"\proxy\1",
        r"\noplayers\1",
        r"\appid\10",
        r"\napp\440",
        r"\name_match\creek*",
        r"\version_match\2.*",
        r"\gametype\nocrits",
        r"\nor\1\linux\1",
    ] {
        assert_eq!(first(filter), (1, 1), "{filter}");
    }
    for filter in ["", r"\white\1", r"\gamedata\a", r"\empty\2"] {
        assert_eq!(first(filter), (0, 0), "{filter}: unknown");
    }
}

#[test]
fn a_server_may_change_within_more_than_a_minute() {
    let script = listed(r"\map\ctf_2fort", ["cp_well"; 3], 70);
    let (_project, file) = Project::of_script(&script, &Setting::udp(27015));
    assert_eq!(notes(&file, &[]), (Vec::new(), 0));
}

#[test]
fn a_list_of_another_query_is_not_compared() {
    // The query with the filter is not answered; the one without is.
    let script = listed(r"\map\ctf_2fort", ["cp_well"; 3], 20);
    let script =
        script.replace("0.02 m:27011", "10.0 c > m:27011  31 FF '0.0.0.0:0' 00 00\n10.02 m:27011");
    let (_project, file) = Project::of_script(&script, &Setting::udp(27015));
    let (found, _) = {
        let command = ["check", "--no-config", "--select", "VM015", "--format", "json", &file];
        let report: Value = serde_json::from_str(&gamewire(command).out).unwrap();
        (report["findings"].as_array().unwrap().len(), ())
    };
    assert_eq!(found, 0);
}
