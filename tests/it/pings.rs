//! Pings: `summary` names them, and whoever answers one is heard.

use crate::support::gamewire;
use crate::support::project::Project;
use captures::exchange::Setting;
use serde_json::Value;

/// A server that answers no query, of which there are three.
const SILENT: &str = "
    0.00 c > s  FFFFFFFF 55 FFFFFFFF
    5.00 c > s  FFFFFFFF 55 FFFFFFFF
    10.0 c > s  FFFFFFFF 55 FFFFFFFF
    end 30";

/// The same, which answers pings: types of the request and of the reply.
fn pinged([request, reply]: [u8; 2]) -> String {
    let ping = format!("12.0 c > s  icmp={request}.0\n12.1 s > c  icmp={reply}.0\nend 30");
    SILENT.replace("end 30", &ping)
}

/// The verdict and the cause of whether the only server of a capture responds.
fn answered(file: &str, options: &[&str]) -> [String; 2] {
    let command = ["diagnose", "--no-config", "--format", "json"];
    let run = gamewire([&command[..], options, &[file]].concat());
    let report: Value = serde_json::from_str(&run.out).unwrap();
    let items = report["servers"][0]["items"].as_array().unwrap();
    let item = items.iter().find(|item| item["item"] == "seen.answered").unwrap();
    ["verdict", "cause"].map(|key| item[key].as_str().unwrap_or_default().to_owned())
}

const SILENCE: [&str; 2] = ["no", "queries_unanswered"];

#[test]
fn a_server_that_answers_a_ping_is_heard() {
    let (_project, silent) = Project::of_script(SILENT, &Setting::udp(27015));
    assert_eq!(answered(&silent, &[])[0], "unknown", "nothing shows that the host runs");
    let (_project, file) = Project::of_script(&pinged([8, 0]), &Setting::udp(27015));
    for threads in ["1", "8"] {
        assert_eq!(answered(&file, &["--threads", threads]), SILENCE);
    }
    // A request alone is no sign of life of the one who is asked.
    let unanswered = pinged([8, 0]).replace("12.1 s > c  icmp=0.0\n", "");
    let (_project, unanswered) = Project::of_script(&unanswered, &Setting::udp(27015));
    assert_eq!(answered(&unanswered, &[])[0], "unknown");
}

#[test]
fn so_is_one_with_ipv6() {
    let setting = Setting { ipv6: true, ..Setting::udp(27015) };
    let (_project, file) = Project::of_script(&pinged([128, 129]), &setting);
    assert_eq!(answered(&file, &[]), SILENCE);
}

#[test]
fn a_scrubbed_copy_proves_the_same() {
    for (kinds, ipv6) in [([8, 0], false), ([128, 129], true)] {
        let setting = Setting { ipv6, ..Setting::udp(27015) };
        let (project, file) = Project::of_script(&pinged(kinds), &setting);
        let copy = project.path("copy.pcapng");
        let run = gamewire(["scrub", "--no-config", &file, "-o", &copy]);
        assert_eq!(run.code, 0, "{}", run.err);
        assert_eq!(answered(&copy, &[]), SILENCE);
    }
}

#[test]
fn pings_are_named_among_other_traffic() {
    let more = "13.0 c > s  icmp=8.0\n14.0 c > s:5000  01020304 05\nend 30";
    let script = pinged([8, 0]).replace("end 30", more);
    let (_project, file) = Project::of_script(&script, &Setting::udp(27015));
    let said = gamewire(["summary", "--no-config", &file]).out;
    let expected = "other traffic: 5 packets (ICMP echo request: 2, UDP 9: 1, UDP 5000: 1, ICMP echo reply: 1)";
    assert!(said.contains(expected), "{said}");
    let ports = ["summary", "--no-config", "--format", "csv", "--table", "ports", &file];
    let rows = gamewire(ports).out;
    assert!(rows.contains("icmp,0,2,ICMP echo request"), "{rows}");
    for threads in ["2", "8"] {
        let many = gamewire(["summary", "--no-config", "--threads", threads, &file]).out;
        assert_eq!(said, many);
    }
}

#[test]
fn a_capture_of_pings_alone_says_so() {
    let (_project, file) =
        Project::of_script("0 c > s icmp=8.0\n1 s > c icmp=0.0", &Setting::udp(27015));
    let said = gamewire(["check", "--no-config", &file]);
    let expected = "2 packets, none of a supported protocol; ICMP echo";
    assert!((said.out + &said.err).contains(expected));
}
