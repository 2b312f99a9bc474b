//! `dissect --fields`: chosen fields as tables, and the styles of times.

use std::process::Command;

use crate::support::gamewire;
use crate::support::project::Project;
use captures::exchange::Setting;

fn dissect(args: &[&str]) -> (Option<i32>, String, String) {
    let ran = Command::new(env!("CARGO_BIN_EXE_gamewire"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("TZ", "Europe/Berlin")
        .args(["dissect", "--no-config"])
        .args(args)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (ran.status.code(), text(ran.stdout), text(ran.stderr))
}

const SAMPLE: &str = "samples/a2s-info-players-rules.pcap";

fn shown(args: &[&str]) -> String {
    let (code, out, err) = dissect(&[args, &[SAMPLE]].concat());
    assert_eq!(code, Some(0), "{args:?}: {err}");
    out
}

const FIELDS: &str = "frame,time,src,message,map,a2s.player_response.players.name,response_time";

#[test]
fn csv_tsv_and_tables() {
    let wanted = ["-Y", "a2s.info_response or a2s.player_response or frame == 1"];
    let with = |format| shown(&[&wanted[..], &["--fields", FIELDS, "--format", format]].concat());
    insta::assert_snapshot!(with("csv"), @r#"
    frame,time,src,message,map,a2s.player_response.players.name,response_time
    1,2026-01-01T00:00:00.000000Z,10.0.0.1:50000,info_request,,,
    4,2026-01-01T00:00:00.041000Z,10.0.0.2:27015,info_response,ctf_2fort,,0.02
    8,2026-01-01T00:00:00.141000Z,10.0.0.2:27015,player_response,,"Ann,Björn,Bot01",0.02
    "#);
    insta::assert_snapshot!(with("table"), @r"
    FRAME  TIME                         SRC             MESSAGE          MAP        A2S.PLAYER_RESPONSE.PLAYERS.NAME  RESPONSE_TIME
    1      2026-01-01T00:00:00.000000Z  10.0.0.1:50000  info_request     -          -                                 -
    4      2026-01-01T00:00:00.041000Z  10.0.0.2:27015  info_response    ctf_2fort  -                                 0.02
    8      2026-01-01T00:00:00.141000Z  10.0.0.2:27015  player_response  -          Ann,Björn,Bot01                   0.02
    ");
    let tsv = with("tsv");
    assert_eq!(
        tsv,
        shown(&[&wanted[..], &["--fields", FIELDS]].concat()),
        "the default with --fields"
    );
    assert!(tsv.contains("\t10.0.0.2:27015\tinfo_response\tctf_2fort\t\t0.02\n"), "{tsv}");
}

/// Long tables are complete, with a header before the first line.
#[test]
fn long_tables_and_several_files_are_complete() {
    let args = ["--fields", "frame,src", "--format", "table"];
    let sample = "samples/abuse-query-flood.pcap";
    let (_, one, _) = dissect(&[&args[..], &[sample]].concat());
    assert!(one.starts_with("FRAME  SRC"), "{}", &one[..80]);
    assert_eq!(one.lines().count(), 7281);
    let (_, two, _) = dissect(&[&args[..], &[SAMPLE, sample]].concat());
    assert_eq!((two.lines().count(), two.matches("FRAME").count()), (7291, 1));
    assert!(two.lines().next().unwrap().trim_end().ends_with("CAPTURE"));
}

#[test]
fn ndjson_has_values_of_their_types() {
    let out = shown(&[
        "--format",
        "ndjson",
        "--fields",
        "frames,message,players,a2s.rules_response.rules.name,challenge",
    ]);
    let lines: Vec<serde_json::Value> =
        out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 10);
    assert_eq!(
        lines[3]["players"],
        serde_json::json!([3]),
        "a number here, a list in other messages"
    );
    assert_eq!(lines[1]["challenge"], 584_425_803);
    assert_eq!(lines[0]["challenge"], serde_json::Value::Null);
    assert_eq!(lines[0]["frames"], serde_json::json!([1]));
    assert_eq!(lines[9]["a2s.rules_response.rules.name"].as_array().unwrap().len(), 4);
    assert_eq!(lines[0]["a2s.rules_response.rules.name"], serde_json::json!([]));
}

#[test]
fn cells_are_not_formulas_and_have_one_line() {
    let fields = ["--format", "csv", "--fields", "frame,filter"];
    let (_, csv, _) = dissect(&[&fields[..], &["samples/valve-master-filters.pcap"]].concat());
    assert!(csv.lines().count() > 3 && !csv.contains(",="), "{csv}");
}

#[test]
fn styles_of_times() {
    let second = |style: &str| {
        let out = shown(&["--time", style, "--format", "csv", "--fields", "time"]);
        out.lines().nth(4).unwrap().to_owned()
    };
    assert_eq!(second("utc"), "2026-01-01T00:00:00.041000Z");
    assert_eq!(second("local"), "2026-01-01T01:00:00.041000+01:00");
    assert_eq!(second("relative"), "0.041000");
    assert_eq!(second("delta"), "0.020000");
    assert_eq!(second("epoch"), "1767225600.041000");
    let text = shown(&["--time", "local", "-Y", "frame == 4"]);
    assert!(text.starts_with("-- 2026-01-01 CET --\n01:00:00.041000      4  "), "{text}");
    let text = shown(&["--time", "relative"]);
    assert!(text.starts_with("0.000000      1  "), "no day above: {text}");
}

#[test]
fn one_line_json_has_the_same_times_frames_and_ids() {
    let of = |fields: &str, more: &[&str]| {
        let out = shown(&[&["--format", "ndjson", "--fields", fields][..], more].concat());
        out.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect::<Vec<serde_json::Value>>()
    };
    assert_eq!(of("time", &["--time", "relative"])[3]["time"], "0.041000");
    assert_eq!(of("time", &["--time", "delta"])[3]["time"], "0.020000");
    let ids = of("a2s.info_response.steam_id", &["-Y", "steam_id > 0"]);
    let id = ids[0]["a2s.info_response.steam_id"].as_str().unwrap();
    assert!(id.parse::<u64>().is_ok(), "64-bit ids are texts, as in --format json: {id}");
    let args = ["--format", "csv", "--fields", "frames", "-Y", "frame == 4"];
    let (_, csv, _) = dissect(&[&args[..], &["samples/a2s-split-order.pcap"]].concat());
    assert_eq!(csv, "frames\r\n\"4,5,6\"\r\n", "each once, in their order");
}

/// A command's output, with times in each of the styles.
fn styled(args: &[&str], style: &str) -> String {
    let ran = Command::new(env!("CARGO_BIN_EXE_gamewire"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("TZ", "Europe/Berlin")
        .args(args)
        .args(["--no-config", "--time", style])
        .output()
        .unwrap();
    String::from_utf8(ran.stdout).unwrap()
}

#[test]
fn styles_of_times_in_other_commands() {
    let faults = "samples/valve-master-faults.pcap";
    for (args, times) in [
        (
            &["flows", "--format", "csv", SAMPLE][..],
            [
                ",2026-01-01T00:00:00.000000Z,2026-01-01T00:00:00.",
                ",2026-01-01T01:00:00.000000+01:00,2026-01-01T01:00:00.",
                ",0.000000,0.",
                ",0.000000,0.",
                ",1767225600.000000,1767225600.",
            ],
        ),
        (
            &["summary", "--format", "csv", SAMPLE],
            [
                ",2026-01-01T00:00:00.",
                ",2026-01-01T01:00:00.",
                ",0.000000,0.",
                ",0.000000,0.",
                ",1767225600.000000,",
            ],
        ),
        (
            &["summary", SAMPLE],
            [
                "2026-01-01 00:00:00 UTC,",
                "2026-01-01 01:00:00 CET,",
                "2026-01-01 00:00:00 UTC,",
                "2026-01-01 00:00:00 UTC,",
                "1767225600, ",
            ],
        ),
        (
            &["check", "--complete", faults],
            [
                ", 2026-01-01T00:00:0",
                ", 2026-01-01T01:00:0",
                "frame 1, 0.000000, ",
                "frame 1, 0.000000, ",
                ", 17672256",
            ],
        ),
        (
            &["follow", "--flow", "1", SAMPLE],
            ["00:00:00.000000", "01:00:00.000000", "0.020000", "0.020000", "1767225600.020000"],
        ),
    ] {
        for (style, time) in ["utc", "local", "relative", "delta", "epoch"].into_iter().zip(times) {
            let out = styled(args, style);
            assert!(out.contains(time), "{args:?} --time {style}: {time} is not in\n{out}");
        }
    }
    for args in [&["flows", "--format", "json", SAMPLE][..], &["check", "--format", "json", faults]]
    {
        assert_eq!(styled(args, "epoch"), styled(args, "utc"), "JSON has UTC, always");
    }
}

#[test]
fn mistakes() {
    for (args, what) in [
        (&["--fields", "frme"][..], "did you mean `frame`"),
        (&["--fields", "frame,", "--format", "csv"], "is not a valid field name"),
        (&["--fields", "frame,answered"], "is not yet known when a message is shown"),
        (&["--fields", "frame", "--format", "json"], "--format csv, tsv, table and ndjson"),
        (
            &["--fields", "frame,a2s.rules_response.rules"],
            "`a2s.rules_response.rules` has no value of its own, but its parts have: \
             `a2s.rules_response.rules.name`, `a2s.rules_response.rules.value`",
        ),
        (&["--fields", "a2s.info_response"], "its parts have: `a2s.info_response."),
        (&["--fields", "properties"], ".KEY`"),
        (&["--fields", "a2s"], "`a2s` has no value; `gamewire fields` lists"),
    ] {
        let (code, _, err) = dissect(&[args, &[SAMPLE]].concat());
        assert_eq!(code, Some(2), "{args:?}");
        assert!(err.contains(what), "{args:?}: {err}");
    }
}

/// Messages have fields of the same names: of an attribute's column they are no part.
#[test]
fn a_column_of_an_attribute_has_no_fields() {
    for (sample, protocol) in [(SAMPLE, "a2s"), ("samples/acr-master.pcap", "acr_master")] {
        let csv = gamewire(["dissect", "--no-config", "--format", "csv", sample]).out;
        let column = |line: &str| line.split(',').nth(4).map(str::to_owned);
        assert_eq!(column(&csv).as_deref(), Some("protocol"));
        assert!(csv.lines().skip(1).all(|line| column(line).as_deref() == Some(protocol)), "{csv}");
        let ndjson = gamewire(["dissect", "--no-config", "--format", "ndjson", sample]).out;
        let is_one = |line: &str| line.contains(&format!("\"protocol\":\"{protocol}\","));
        assert!(ndjson.lines().all(is_one), "{ndjson}");
    }
    let fields = ["--format", "csv", "-Y", "frame == 4", "--fields"];
    let csv = shown(&[&fields[..], &["protocol,a2s.info_response.protocol,port"]].concat());
    assert_eq!(csv.lines().nth(1), Some("a2s,17,\"27015,50000\""));
}

/// The line of a response whose players have these names and durations.
fn players(format: &str, fields: &str) -> String {
    let script = "0.0 s > c  FFFFFFFF 44 03 00 'Ann' 00 00000000 f32:3599.9 \
                  00 FFFE 00 00000000 0000C07F 00 'x' 00 00000000 6042A20D";
    let (_project, file) = Project::of_script(script, &Setting::udp(27015));
    let run = gamewire(["dissect", "--no-config", "--format", format, "--fields", fields, &file]);
    assert_eq!(run.code, 0, "{}", run.err);
    run.out.lines().last().unwrap().to_owned()
}

/// They are written as `--format json` does.
#[test]
fn floats_are_short_and_in_json_finite() {
    assert_eq!(players("ndjson", "duration"), r#"{"duration":[3599.9,null,1e-30]}"#);
    assert_eq!(players("csv", "duration"), "\"3599.9,NaN,1e-30\"");
    assert_eq!(players("table", "duration"), "3599.9,NaN,1e-30");
}

/// Only people are told how a text that is not UTF-8 was read.
#[test]
fn texts_for_programs_have_no_remarks() {
    let name = "a2s.player_response.players.name";
    let key = format!("{{\"{name}\":[\"Ann\",\"\u{FFFD}\u{FFFD}\",\"x\"]}}");
    assert_eq!(players("ndjson", name), key);
    assert_eq!(players("csv", name), "\"Ann,\u{FFFD}\u{FFFD},x\"");
    assert_eq!(players("tsv", name), "Ann,\u{FFFD}\u{FFFD},x");
    assert_eq!(players("table", name), "Ann,\u{FF}\u{FE} (Latin-1),x");
}
