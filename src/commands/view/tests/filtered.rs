//! Screens with a filter.

use super::*;

#[test]
fn a_filter_is_mended_applied_and_taken_away() {
    let mut user = TestUser::of("a2s-quirks.pcap");
    user.keys(&["/", ":a2s.rules_reqest", "Enter"]);
    let screen = user.screen(100, 30);
    assert!(screen.contains("did you mean `a2s.rules_request`"), "{screen}");
    let buffer = user.buffer(100, 30);
    let is_marked = |x: u16| buffer[(x, 1)].modifier.contains(Modifier::UNDERLINED);
    let marked: Vec<_> = (0..100).filter(|&x| is_marked(x)).collect();
    assert_eq!((marked.first(), marked.last()), (Some(&8), Some(&23)), "the whole name");
    user.keys(&["Clear", ":a2s.rules_req", "Tab", "Enter"]);
    let screen = user.screen(100, 30);
    let (_, out, _) = run(&[
        "dissect",
        "-Y",
        "a2s.rules_request",
        "--fields",
        "flow",
        "--no-config",
        &sample("a2s-quirks.pcap"),
    ]);
    let flows = BTreeSet::from_iter(out.lines().skip(1)).len();
    assert!(flows > 0 && screen.contains(&format!("Conversations {flows} ")), "{flows}\n{screen}");
    user.keys(&["4"]);
    let some = user.screen(100, 60).lines().count();
    user.keys(&["2", "Esc"]);
    assert!(user.screen(100, 30).contains("Conversations 12 "), "{some}");
    let mut given = TestUser::with(&["-Y", "a2s.rules_request", &sample("a2s-quirks.pcap")]);
    assert!(given.screen(100, 30).contains("filter: a2s.rules_request"));
}

/// A server without a selected conversation is not shown; Enter draws the selected ones.
#[test]
fn a_filter_narrows_the_servers() {
    let mut user = TestUser::of("a2s-quirks.pcap");
    user.keys(&["3"]);
    assert!(user.screen(100, 30).contains("Servers 3 "));
    user.keys(&["/", ":ip.addr == 10.0.2.2 and a2s", "Enter"]);
    let screen = user.screen(100, 30);
    assert!(screen.contains("Servers 1 ") && screen.contains("10.0.2.2:27015"), "{screen}");
    user.keys(&["Enter"]);
    let screen = user.screen(100, 30);
    assert!(screen.contains("10.0.2.2:27015") && !screen.contains("10.0.0.2"), "{screen}");
    user.keys(&["Esc", "Esc"]);
    assert!(user.screen(100, 30).contains("Servers 3 "));
}

/// As `summary -Y` counts: 10 requests of all kinds, of which 8 were answered, are 4 of this kind, all answered.
#[test]
fn a_filter_narrows_the_counts_of_servers() {
    let mut user = TestUser::of("a2s-quirks.pcap");
    user.keys(&["3"]);
    assert!(user.screen(160, 30).contains("80.0 %"));
    user.keys(&["/", ":a2s.player_request", "Enter"]);
    let screen = user.screen(160, 30);
    assert!(screen.contains("100.0 %") && !screen.contains("80.0 %"), "{screen}");
}
