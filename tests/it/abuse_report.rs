//! `gamewire abuse --report`: who is reported and who is not, and the content of reports.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::support::gamewire;
use crate::support::project::Project;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use captures::exchange::Setting;
use serde_json::Value;
use sha2::{Digest, Sha256};

const CORE: &str = include_str!("../schemas/xarf-core.json");
const DDOS: &str = include_str!("../schemas/xarf-connection-ddos.json");

const REPORTER: &str = "Example Hosting <abuse@example.net>";

/// The schemas' errors for a report.
fn errors(report: &Value) -> Vec<String> {
    let schemas = [CORE, DDOS].map(|schema| serde_json::from_str::<Value>(schema).unwrap());
    let mut errors = Vec::new();
    for mut schema in schemas {
        // The core is validated separately, so that nothing is fetched.
        if let Some(all) = schema.get_mut("allOf").and_then(Value::as_array_mut) {
            all.retain(|part| part.get("$ref").is_none());
            assert_eq!(all.len(), 1);
        }
        let validator = jsonschema::options().should_validate_formats(true).build(&schema).unwrap();
        errors.extend(
            validator.iter_errors(report).map(|it| format!("{}: {it}", it.instance_path())),
        );
    }
    errors
}

/// The reports about a capture by file name, and the text output.
fn reports(project: &Project, args: &[&str]) -> (BTreeMap<String, String>, String) {
    let folder = project.path("reports");
    std::fs::remove_dir_all(&folder).ok();
    let run = gamewire([&["abuse", "--report", &folder, "--reporter", REPORTER], args].concat());
    assert_eq!(run.code, 0, "{}", run.err);
    let files = std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap());
    let files = files.map(|file| {
        let text = std::fs::read_to_string(file.path()).unwrap();
        (file.file_name().into_string().unwrap(), text)
    });
    (files.collect(), run.err)
}

fn evidence(report: &Value) -> String {
    let bytes = STANDARD.decode(report["evidence"][0]["payload"].as_str().unwrap()).unwrap();
    let hash: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(report["evidence"][0]["hash"], format!("sha256:{hash}"));
    assert_eq!(report["evidence"][0]["size"], bytes.len());
    String::from_utf8(bytes).unwrap()
}

#[test]
fn each_reflector_gets_a_mail_and_a_valid_report() {
    let project = Project::new("report-victim");
    let (files, said) = reports(&project, &["--no-config", "samples/abuse-victim.pcap"]);
    // Compared with the output of `dissect`: who sent how much.
    let run = gamewire(["dissect", "--no-config", "--format", "json", "samples/abuse-victim.pcap"]);
    let mut sent: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in run.out.lines() {
        let message: Value = serde_json::from_str(line).unwrap();
        let from: std::net::SocketAddr = message["src"].as_str().unwrap().parse().unwrap();
        let time = message["time"].as_str().unwrap().to_owned();
        sent.entry(from.ip().to_string()).or_default().push(time);
    }
    assert_eq!((sent.len(), files.len()), (30, 60), "{:?}", files.keys());
    assert!(said.ends_with("nothing is sent\n") && said.contains("wrote 30 reports to "), "{said}");
    for (from, times) in sent {
        let report: Value =
            serde_json::from_str(&files[&format!("attack1-{from}.xarf.json")]).unwrap();
        assert_eq!(errors(&report), Vec::<String>::new(), "{report:#}");
        assert_eq!(
            (&report["source_identifier"], &report["type"]),
            (&from.clone().into(), &"ddos".into())
        );
        assert_eq!(report["destination_ip"], "198.51.100.7");
        assert_eq!(report["first_seen"], times[0]);
        assert_eq!(report["last_seen"], times[times.len() - 1]);
        let evidence = evidence(&report);
        let shown: Vec<_> = evidence.lines().map(|line| line.split(' ').next().unwrap()).collect();
        assert_eq!(shown, times);
        let mail = &files[&format!("attack1-{from}.txt")];
        for says in [
            "From: Example Hosting <abuse@example.net>\n",
            &format!("whois {from}"),
            &format!("{from}: {} packets", times.len()),
            "Your customer did not attack us",
            "All times are in UTC",
            &times[0],
        ] {
            assert!(mail.contains(says), "{says} is not in\n{mail}");
        }
    }
}

#[test]
fn forged_addresses_are_not_reported() {
    let project = Project::new("report-forged");
    for (name, why) in [
        ("query-flood", "the sources are forged"),
        ("reflector", "carry the addresses of those who are flooded"),
    ] {
        let (files, said) =
            reports(&project, &["--no-config", &format!("samples/abuse-{name}.pcap")]);
        assert!(files.is_empty(), "{name}: {files:?}");
        assert!(said.contains("not reported: ") && said.contains(why), "{said}");
    }
    let (files, said) = reports(&project, &["--no-config", "samples/abuse-players.pcap"]);
    assert!(files.is_empty() && said.starts_with("gamewire: wrote 0 reports"), "{said}");
}

/// A client that has returned a challenge, and sends 100 requests per second.
#[test]
fn a_flood_from_a_real_address_is_reported_to_its_network() {
    let project = Project::new("report-real");
    let ask = "FFFFFFFF 54 'Source Engine Query' 00";
    let info = "FFFFFFFF 49 11 'A' 00 'b' 00 'c' 00 'D' 00 0A00 00 10 00 64 6C 00 01 '1.0' 00";
    let mut script = format!("0.00 c > s  {ask}\n0.001 s > c  FFFFFFFF 41 4BA1D522\n");
    for n in 0..600 {
        let time = f64::from(n).mul_add(0.01, 0.002);
        let _ = writeln!(script, "{time:.4} c > s  {ask} 4BA1D522");
        let _ = writeln!(script, "{:.4} s > c  {info}", time + 0.001);
    }
    project.play("flood.pcap", &Setting::udp(27015), &script);
    project.write("gamewire.toml", "[tolerances]\nflood-rate = \"50\"\n");
    let flood = project.path("flood.pcap");
    let (files, said) = reports(&project, &["--config", &project.path("gamewire.toml"), &flood]);
    let names: Vec<_> = files.keys().map(String::as_str).collect();
    assert_eq!(names, ["attack1-10.0.0.0_24.txt", "attack1-10.0.0.1.xarf.json"], "{said}");
    let report: Value = serde_json::from_str(&files[names[1]]).unwrap();
    assert_eq!(errors(&report), Vec::<String>::new(), "{report:#}");
    assert_eq!((&report["destination_port"], &report["peak_pps"]), (&27015.into(), &101.into()));
    assert_eq!(report["attack_vector"], "a2s_flood");
    let mail = &files[names[0]];
    assert!(mail.contains("each of them returned a challenge") && mail.contains("601"), "{mail}");
    // Reports are reproducible.
    let (again, _) = reports(&project, &["--config", &project.path("gamewire.toml"), &flood]);
    assert_eq!(files, again);
}

#[test]
fn files_are_not_overwritten() {
    let project = Project::new("report-folder");
    std::fs::create_dir(project.path("reports")).unwrap();
    project.write("reports/mine.txt", "precious");
    let folder = project.path("reports");
    let args = ["abuse", "--report", &folder, "--reporter", REPORTER, "samples/abuse-victim.pcap"];
    let run = gamewire(args);
    assert_eq!((run.code, run.out.as_str()), (2, ""));
    assert!(run.err.contains("it is not empty; name a new folder"), "{}", run.err);
    assert_eq!(project.read("reports/mine.txt"), "precious");
    for args in [["--report", "x"], ["--reporter", REPORTER]] {
        let run = gamewire(["abuse"].into_iter().chain(args).chain(["samples/abuse-victim.pcap"]));
        assert_eq!(run.code, 2, "each needs the other");
    }
}
