//! What should have come before and never comes: once, a packet may be missing from the capture; three times in a row is
//! proof, if the host that should have sent it is heard.

use std::fmt::Write;

use crate::support::gamewire;
use crate::support::project::Project;
use captures::exchange::Setting;
use serde_json::Value;

/// How often `gamewire check` reports a rule as broken, and as perhaps broken.
fn broken(script: &str, port: u16, code: &str) -> (u64, u64) {
    let (_project, file) = Project::of_script(script, &Setting::udp(port));
    let run = gamewire(["check", "--no-config", "--format", "json", &file]);
    let report: Value = serde_json::from_str(&run.out).unwrap();
    let rules = report["rules"].as_array().unwrap();
    let rule = rules.iter().find(|it| it["code"] == code).unwrap();
    (rule["failed"].as_u64().unwrap(), rule["inconclusive"].as_u64().unwrap())
}

const INFO: &str = r"30 0A '\\protocol\\47\\challenge\\8\\players\\0\\max\\2' 0A";

/// A server joins in so many rounds and sends its info string without a challenge; `others`: the master challenges
/// another server.
fn registrations(rounds: u32, others: bool) -> String {
    let mut script = String::new();
    for round in 0..rounds {
        let at = 300 * round;
        let _ = writeln!(script, "{at}.00 s:27015 > m  71\n{at}.10 s:27015 > m  {INFO}");
        if others {
            let _ = writeln!(script, "{at}.20 t:27015 > m  71");
            let _ = writeln!(script, "{at}.22 m > t:27015  FFFFFFFF 730A le32:{}", 77 + round);
        }
    }
    script + &format!("end {}", 300 * rounds + 60)
}

#[test]
fn info_strings_of_three_rounds_without_a_challenge_are_proof_if_the_master_is_heard() {
    let vm042 = |rounds, others| broken(&registrations(rounds, others), 27011, "VM042");
    assert_eq!(vm042(2, true), (0, 2), "challenges may be missing");
    assert_eq!(vm042(3, true), (1, 2));
    assert_eq!(vm042(4, true), (2, 2));
    assert_eq!(vm042(4, false), (0, 4), "the master's packets are not recorded");
    // A repeat is no round.
    let repeated = registrations(2, true) + &format!("\n0.90 s:27015 > m  {INFO}");
    let mut lines = Vec::from_iter(repeated.lines());
    let last = lines.pop().unwrap();
    lines.insert(2, last);
    assert_eq!(broken(&lines.join("\n"), 27011, "VM042"), (0, 3));
}

#[test]
fn three_info_requests_without_a_challenge_are_proof_if_the_server_is_heard() {
    let requests = |count: u32, others: bool| {
        let mut script = "0.00 c > s  FEFD09 10203040\n".to_owned();
        for nth in 1..=count {
            let at = 5 * nth;
            let _ = writeln!(script, "{at}.00 c > s  FEFD00 1020304{nth} FFFFFF01");
        }
        if others {
            script += "40.00 d > s  FEFD09 10203040\n40.02 s > d  09 10203040 '7\\0'\n";
        }
        broken(&(script + "end 90"), 6500, "GS4008")
    };
    assert_eq!(requests(2, true), (0, 2), "the challenge may be missing");
    assert_eq!(requests(3, true), (1, 2));
    assert_eq!(requests(3, false), (0, 3), "the server's packets are not recorded");
}
