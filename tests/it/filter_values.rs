//! Display filters: how values from the wire are compared.

use crate::support::gamewire;
use crate::support::project::Project;
use captures::exchange::Setting;

/// Checks how many messages each filter selects in the capture of a script.
fn select(script: &str, setting: &Setting, filters: &[(&str, usize)]) {
    let (_project, file) = Project::of_script(script, setting);
    for &(filter, count) in filters {
        let run = gamewire(["dissect", "--no-config", "--format", "json", "-Y", filter, &file]);
        assert_eq!(run.code, 0, "{filter}: {}", run.err);
        assert_eq!(run.out.lines().count(), count, "{filter}: {}", run.out);
    }
}

#[test]
fn ranges_of_times_addresses_and_texts_contain_both_ends() {
    let script = "0.0 c > s  FFFFFFFF 69\n1.0 s > c  FFFFFFFF 6A '00000000000000' 00\n\
                  2.0 d > s  FFFFFFFF 69\n2.5 s > d  FFFFFFFF 6A 'b' 00";
    let filters = [
        (r#"time in {"2026-01-01T00:00:01Z".."2026-01-01T00:00:02Z"}"#, 2),
        (r#"time in {"2026-01-01T00:00:01.5Z" .. "2026-01-01T00:00:01.9Z"}"#, 0),
        (r#"time in {2026-01-01T00:00:01Z..2026-01-01T00:00:02Z}"#, 2),
        (r#"time not in {"2026-01-01".."2026-01-02"}"#, 0),
        ("ip.src in {10.0.0.1..10.0.0.2}", 3),
        ("ip.src in {10.0.0.1..10.0.1.1}", 4),
        ("ip.src in {10.0.0.3..10.0.1.0, 192.0.2.1}", 0),
        ("host in {10.0.1.0..10.0.1.9}", 2),
        ("ip.src in {::..ffff::}", 0),
        (r#"a2s.ping_response.payload in {"a".."c"}"#, 1),
        (r#"a2s.ping_response.payload in {"b".."b", "x"}"#, 1),
        (r#"a2s.ping_response.payload in {"c".."d"}"#, 0),
    ];
    select(script, &Setting::udp(27015), &filters);
}
