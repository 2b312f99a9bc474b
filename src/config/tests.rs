//! Each key is read, and each error is reported with its line.

use dissectors::kit::AbuseThresholds;
use jiff::civil::date;

use dissectors::kit::Severity;

use super::*;

const WHOLE: &str = r#"
fail-on = "warning"
complete = true
require = ["A2S022", "player-count"]
decode-as = ["udp.port==27999,a2s"]

[severity]
A2S031 = "error"
challenge-echo = "note"

[[ignore]]
rule = "A2S005"
host = "10.0.0.2:27015"
until = 2026-12-31
reason = "names are in Latin-1 until the next release"

[[ignore]]
rule = "A2S019"
reason = "old on purpose"

[tolerances]
answer-timeout = "1500ms"
flow-idle = "30min"
valve-heartbeat = "1min"
valve-heartbeat-tolerance = "25%"
gamespy-heartbeat-shortest = "10s"
gamespy-heartbeat-longest = "2min"
gamespy-listed-longest = "20min"
reflection-repeats = "7"
reflection-repeats-within = "1s"
reflection-sources = "70"
reflection-sources-within = "2s"
flood-rate = "700"
flood-window = "3s"

[keys.gamespy]
ut = "LabKey"

[keys.acr]
somebody = "6b6c"
"#;

fn read(text: &str) -> Result<Config, String> {
    Config::read(Path::new("gamewire.toml"), text).map_err(|error| error.to_string())
}

#[test]
fn every_key_is_read() {
    let config = read(WHOLE).unwrap();
    assert_eq!(
        (config.fail_on, config.complete),
        (Some(FailOn::Severity(Severity::Warning)), true)
    );
    let codes: Vec<_> = config.require.iter().map(|rule| rule.code.to_string()).collect();
    assert_eq!(codes, ["A2S022", "A2S030"]);
    assert_eq!(
        config.note().unwrap(),
        "settings of gamewire.toml apply: fail-on, complete, require, decode-as, severity, ignore, tolerances, keys"
    );
    assert_eq!(config.decode_as.len(), 1);
    assert_eq!(config.severities.changed().count(), 2);
    assert_eq!((config.ignores[0].line, config.ignores[1].line), (11, 17));
    let settings = &config.settings;
    assert_eq!(
        (settings.answer_timeout, config.flow_idle),
        (1_500_000_000, Some(1800 * 1_000_000_000))
    );
    assert_eq!(
        settings.protocols.valve_master,
        dissectors::valve_master::Settings { heartbeat: 60_000_000_000, heartbeat_tolerance: 25 }
    );
    assert_eq!(settings.protocols.gamespy1.heartbeat, 10_000_000_000..=120_000_000_000);
    assert_eq!(settings.protocols.gamespy1.listed_longest, 1_200_000_000_000);
    let AbuseThresholds { repeats, sources, flood_rate, .. } = settings.abuse;
    assert_eq!([repeats, sources, flood_rate], [7, 70, 700]);
    let AbuseThresholds { repeat_window, source_window, flood_window, .. } = settings.abuse;
    let windows = [repeat_window, source_window, flood_window];
    assert_eq!(windows.map(|window| window / 1_000_000_000), [1, 2, 3]);
    assert_eq!(settings.protocols.gamespy1.keys[0].1.bytes(), b"LabKey");
    assert_eq!(settings.protocols.acr_master.keys[0].1.bytes(), b"kl");
    let shown = format!("{config:?}");
    assert!(!shown.contains("LabKey") && !shown.contains("6b6c") && !shown.contains("107, 108"));
}

/// The line of each entry is looked up among the ends of lines: were they counted for each, the file would
/// be read twenty thousand times.
#[test]
fn very_many_ignored_rules_have_their_lines() {
    let entry = |n: u32| {
        let host = std::net::Ipv4Addr::from(0x0A00_0000 + n);
        format!("[[ignore]]\nrule=\"A2S005\"\nhost=\"{host}\"\nreason=\"x\"\n")
    };
    let config = read(&(0..18_000).map(entry).collect::<String>()).unwrap();
    let lines = config.ignores.iter().map(|ignored| ignored.line);
    assert!(lines.eq((0..18_000).map(|n| 4 * n + 1)));
    let text = "a\nbc\n\nd";
    let lines = super::Lines::of(text);
    let counted = |at: usize| text[..at].matches('\n').count() + 1;
    assert!((0..=text.len()).all(|at| lines.number(at) == counted(at)));
}

#[test]
fn an_empty_file_changes_nothing() {
    let config = read("# nothing\n").unwrap();
    assert_eq!((config.fail_on, config.complete, config.flow_idle), (None, false, None));
    assert_eq!(config.note(), None);
    let heartbeat = &Settings::default().protocols.gamespy1.heartbeat;
    assert_eq!(&config.settings.protocols.gamespy1.heartbeat, heartbeat);
}

#[test]
fn a_rule_is_ignored_until_the_end_of_the_last_day() {
    let config = read(WHOLE).unwrap();
    let (valid, warnings) = config.ignores(|| date(2026, 12, 31));
    assert_eq!((valid.len(), warnings.len()), (2, 0));
    let (valid, warnings) = config.ignores(|| date(2027, 1, 1));
    assert_eq!(valid.len(), 1);
    assert_eq!(
        warnings,
        ["gamewire.toml:11: A2S005 was ignored until 2026-12-31 (names are in Latin-1 until the \
          next release); it counts again"]
    );
}

#[test]
fn errors_have_a_line_and_a_remedy() {
    for (text, says) in [
        ("\nfail_on = \"note\"", "gamewire.toml:2: unknown key `fail_on`; did you mean `fail-on`?"),
        (
            "complete = true\nfail-on =",
            "gamewire.toml:2: invalid TOML: string values must be quoted, expected literal string",
        ),
        ("[tolerance]\n", "gamewire.toml:1: unknown key `tolerance`; did you mean `tolerances`?"),
        (
            "[tolerances]\nanswer = \"3s\"",
            "gamewire.toml:2: unknown key `answer`; did you mean `answer-timeout`?",
        ),
        (
            "zzz = 1",
            "gamewire.toml:1: unknown key `zzz`; valid keys are fail-on, complete, require, decode-as, severity, ignore, tolerances, keys",
        ),
        (
            "[[ignore]]\nrule = \"A2S005\"\nreason = \"x\"\nuntill = 2026-01-01",
            "gamewire.toml:4: unknown key `untill`; did you mean `until`?",
        ),
        (
            "[[ignore]]\nrule = \"A2S005\"",
            "gamewire.toml:1: `reason` is missing: say why the rule is ignored",
        ),
        (
            "[[ignore]]\nreason = \"x\"",
            "gamewire.toml:1: `rule` is missing: name the rule to ignore, such as \"A2S005\"",
        ),
        (
            "[[ignore]]\nrule = \"A2S005\"\nreason = \" \"",
            "gamewire.toml:3: `reason` must say why the rule is ignored",
        ),
        (
            "[[ignore]]\nrule = \"A2S005\"\nreason = \"x\"\nuntil = \"2026-01-01\"",
            "gamewire.toml:4: `until` must be a date, written without quotes, such as 2027-01-31",
        ),
        (
            "[[ignore]]\nrule = \"A2S005\"\nreason = \"x\"\nhost = \"example\"",
            "gamewire.toml:4: `host` is invalid: write it as 10.0.0.2, 10.0.0.0/8, 10.0.0.2:27015 or [::1]:27015",
        ),
        (
            "[severity]\nA2S999 = \"note\"",
            "gamewire.toml:2: `A2S999` is unknown: no rule has this code or name; `gamewire rules` lists them",
        ),
        (
            "[severity]\nA2S030 = \"fatal\"",
            "gamewire.toml:2: `A2S030` is invalid: valid severities are error, warning and note",
        ),
        (
            "[severity]\nA2S030 = \"note\"\nplayer-count = \"error\"",
            "gamewire.toml:3: `player-count` appears twice, by its code and by its name",
        ),
        ("complete = \"yes\"", "gamewire.toml:1: `complete` must be true or false"),
        ("require = [\n \"A2S022\",\n 5]", "gamewire.toml:3: `require` must be a text in quotes"),
        ("require = \"A2S022\"", "gamewire.toml:1: `require` must be a list"),
        (
            "decode-as = [\"udp.port==1,nothing\"]",
            "gamewire.toml:1: `decode-as` is invalid: `nothing` is not a protocol; known protocols are",
        ),
        (
            "[tolerances]\nanswer-timeout = 3",
            "gamewire.toml:2: `answer-timeout` must be a text in quotes",
        ),
        (
            "[tolerances]\ngamespy-heartbeat-shortest = \"9min\"",
            "gamewire.toml:1: the shortest time between heartbeats is longer than the longest",
        ),
        ("x = \n", "gamewire.toml:1: "),
        ("complete = true\ncomplete = true", "gamewire.toml:2: "),
    ] {
        let error = read(text).unwrap_err();
        assert!(error.starts_with(says), "{text}\n{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn errors_never_contain_a_key() {
    for text in [
        "[keys]\ngamespy = \"s3cret\"",
        "[keys.gamespy]\nut = [\"s3cret\"]",
        "[keys.gamespy]\nut = \"s3cret",
        "[keys.gamespy]\nut = s3cret",
        "[keys.acr]\nme = \"s3cret\"",
        "[keys.acr]\nme = { key = \"s3cret\" }",
        "[keys]\nnothing = \"s3cret\"",
    ] {
        let error = read(text).unwrap_err();
        assert!(!error.contains("s3cret"), "{error}");
    }
}

#[test]
fn the_nearest_file_above_is_found() {
    let root = std::env::temp_dir().join(format!("gamewire-nearest-{}", std::process::id()));
    let deep = root.join("a/b");
    std::fs::create_dir_all(&deep).unwrap();
    std::fs::create_dir_all(root.join("a").join(NAME)).unwrap();
    std::fs::write(root.join(NAME), "").unwrap();
    assert_eq!(nearest(&deep), Some(root.join(NAME)), "a folder of that name is ignored");
    std::fs::write(deep.join(NAME), "").unwrap();
    assert_eq!(nearest(&deep), Some(deep.join(NAME)));
    std::fs::remove_dir_all(root).unwrap();
}
