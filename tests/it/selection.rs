//! `summary` and `export` with a filter: the messages that it selects count, and the exchanges that begin with one of them.

use serde_json::Value;

use crate::support::gamewire;
use crate::support::project::Project;
use captures::exchange::Setting;

fn out(args: &[&str]) -> String {
    let run = gamewire(args.iter().chain(&["--no-config"]));
    assert_eq!(run.code, 0, "{args:?}: {}", run.err);
    run.out
}

/// Ten requests, ten seconds apart: the first five are answered.
fn half_answered() -> String {
    let info = "FFFFFFFF 49 11 'n' 00 'm' 00 'f' 00 'g' 00 le16:730 00 10 00 'dl' 00 01 '1' 00";
    let query = |nth: u32| {
        let response = format!("{}.02  s > c  {info}\n", nth * 10);
        let response = if nth < 5 { response } else { String::new() };
        format!("{}.00  c > s  FFFFFFFF 54 'Source Engine Query' 00\n{response}", nth * 10)
    };
    (0..10).map(query).chain(["end 120".to_owned()]).collect()
}

#[test]
fn with_a_filter_only_exchanges_of_selected_requests_count() {
    let (_project, file) = Project::of_script(&half_answered(), &Setting::udp(27015));
    let summary = |filter: &str| -> Value {
        let run = ["summary", "--format", "json", "-Y", filter, &file];
        serde_json::from_str(out(&run).lines().next().unwrap()).unwrap()
    };
    let counts = |summary: &Value, table: &str| {
        let row = &summary[table][0];
        ["exchanges", "answered"].map(|name| row[name].as_u64().unwrap())
    };
    for (filter, expected, findings) in [
        ("frame <= 6", [3, 3], 3),
        ("frame >= 9 and frame <= 12", [3, 1], 3),
        ("frame >= 11", [5, 0], 5),
        // The responses that are not selected answer all the same.
        ("a2s.info_request", [10, 5], 5),
        ("a2s.info_response", [0, 0], 5),
    ] {
        let summary = summary(filter);
        assert_eq!(counts(&summary, "servers"), expected, "{filter}: {summary:#}");
        assert_eq!(summary["servers"][0]["findings"], findings, "{filter}: {summary:#}");
        if expected[0] > 0 {
            assert_eq!(counts(&summary, "clients"), expected, "{filter}: {summary:#}");
        }
    }
    // `export` has the same rows.
    let project = Project::new("summary-filter");
    let folder = project.path("tables");
    let tables = ["export", "--format", "csv", "--tables", "servers", "-o", &folder];
    out(&[&tables[..], &["-Y", "frame >= 11", &file]].concat());
    let csv = std::fs::read_to_string(format!("{folder}/servers.csv")).unwrap();
    let rows = Vec::from_iter(csv.lines().map(|line| line.split(',').collect::<Vec<_>>()));
    let value = |name: &str| rows[1][rows[0].iter().position(|it| *it == name).unwrap()];
    assert_eq!(["exchanges", "answered", "findings"].map(value), ["5", "0", "5"], "{csv}");
}
