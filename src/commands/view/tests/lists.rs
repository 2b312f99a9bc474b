//! Lists under a filter, of several captures, and on small screens.

use super::*;

/// The objects that a command writes.
fn objects(args: &[&str]) -> Vec<serde_json::Value> {
    let (_, out, _) = run(args);
    serde_json::Deserializer::from_str(&out).into_iter().map(Result::unwrap).collect()
}

#[test]
fn findings_under_a_filter_are_about_the_packets_that_it_selects() {
    let name = sample("diagnose-queries-faults.pcap");
    let checked = objects(&["check", "--no-config", "--format", "json", &name]);
    let findings = checked[0]["findings"].as_array().unwrap();
    for filter in ["a2s.info_response", "ip.src == 10.0.0.1", "a2s.info_response.players > 3"] {
        let selected =
            objects(&["dissect", "--no-config", "--format", "json", "-Y", filter, &name]);
        let is_selected =
            |frame: &serde_json::Value| selected.iter().any(|message| message["frame"] == *frame);
        let about = findings.iter().filter(|found| found["flow"] != 0);
        let about = about.filter_map(|found| found["frames"].as_array().unwrap().last());
        let count = about.filter(|frame| is_selected(frame)).count();
        let mut user = TestUser::with(&[&name]);
        user.keys(&["4", "/", &format!(":{filter}"), "Enter"]);
        let screen = user.screen(120, 100);
        assert!(screen.contains(&format!("4 Findings {count} ")), "{filter}: {count}\n{screen}");
    }
}

/// Each numbers its own packets.
#[test]
fn the_selected_row_names_its_capture_where_there_are_several() {
    let [one, other] = ["a2s-quirks.pcap", "valve-master-faults.pcap"].map(sample);
    let mut user = TestUser::with(&[&one, &other]);
    // Findings are in the order of their severities, inconclusive ones last.
    for (tab, first, last) in [("2", &one, &other), ("4", &other, &other), ("5", &one, &other)] {
        for (key, capture) in [("Home", first), ("End", last)] {
            user.keys(&[tab, key]);
            let screen = user.screen(240, 30);
            assert!(screen.contains(&format!("\n{capture}: ")), "{tab} {key}\n{screen}");
        }
    }
    let mut user = TestUser::with(&[&one]);
    for tab in ["2", "4", "5"] {
        user.keys(&[tab]);
        assert!(!user.screen(240, 30).contains(&format!("\n{one}: ")), "{tab}");
    }
}

#[test]
fn a_field_without_bytes_is_shown_alone() {
    let mut user = TestUser::of("a2s-split-bzip2.pcap");
    user.keys(&["Enter", "End"]);
    let mut is_decompressed = false;
    for _ in 0..20 {
        user.keys(&["Enter"]);
        user.keys(&["Home"]);
        for _ in 0..40 {
            let screen = user.screen(120, 40);
            assert!(
                !screen.contains(", decompressedS") && !screen.contains("\n, decomp"),
                "{screen}"
            );
            is_decompressed |= screen.contains(", decompressed: ");
            user.keys(&["Down"]);
        }
        user.keys(&["Esc", "Up"]);
    }
    assert!(is_decompressed, "no message was");
}

#[test]
fn a_long_line_is_shifted_so_that_the_cursor_is_on_the_screen() {
    let mut user = TestUser::of("a2s-quirks.pcap");
    user.keys(&["/", ":a2s.info_response.players > 3 and map == 'last word'"]);
    let screen = user.screen(40, 20);
    assert!(screen.lines().nth(1).unwrap().ends_with("'last word'"), "{screen}");
    user.keys(&["Home"]);
    assert!(user.screen(40, 20).contains("filter: a2s.info_response.players"));
    user.keys(&["Esc", "w", "Clear", ":/a/folder/with/a/long/name/in/it/captured.pcapng"]);
    assert!(user.screen(40, 20).contains("captured.pcapng"), "{}", user.screen(40, 20));
    user.keys(&["Esc", "Enter", "W", "Clear", ":ladder.svg"]);
    assert!(user.screen(40, 20).contains("ladder.svg"), "{}", user.screen(40, 20));
}

#[test]
fn addresses_keep_their_ports_and_headings_are_whole_on_a_small_screen() {
    let mut user = TestUser::of("a2s-quirks.pcap");
    for (tab, headings, port) in [
        ("2", &["FROM", "TO", "ANSWERED", "FINDINGS"][..], ":27015"),
        ("3", &["SERVER", "ASKED"], ":27015"),
        ("4", &["SEVERITY", "RULE", "PARTY"], ":27015"),
    ] {
        user.keys(&[tab]);
        let screen = user.screen(40, 24);
        let words = |screen: &str| {
            let words = screen.lines().nth(2).unwrap().split_whitespace();
            words.map(str::to_owned).collect::<Vec<_>>()
        };
        let (shown, all) = (words(&screen), words(&user.screen(240, 24)));
        assert!(shown.iter().all(|heading| all.contains(heading)), "{shown:?}\n{screen}");
        assert!(headings.iter().all(|heading| shown.iter().any(|it| it == heading)), "{screen}");
        assert!(screen.contains(port), "{screen}");
    }
}

/// Those of which only the whole capture decides, too.
#[test]
fn a_conversation_has_all_findings_of_its_flow_and_the_gravest_of_them() {
    for name in
        ["a2s-split-order", "diagnose-queries-faults", "silence-unanswered", "acr-master-faults"]
    {
        let user = TestUser::of(&format!("{name}.pcap"));
        let model = user.again.shared.lock_now();
        let mut count = 0;
        for row in model.index.order().iter().filter_map(|number| model.index.get(*number)) {
            let own = model.found().map(|(_, found)| found);
            let own = Vec::from_iter(own.filter(|found| found.flow == row.number + 1));
            let worst = own.iter().map(|it| crate::check::weight(it.severity, it.verdict)).max();
            let shown =
                row.worst.map(|(severity, verdict)| crate::check::weight(severity, verdict));
            assert_eq!((shown, usize::from(row.findings)), (worst, own.len()), "{name}: {row:?}");
            count += own.len();
        }
        assert!(count > 0, "{name}");
    }
}

/// It is judged by what follows it in the capture, as `follow` does.
#[test]
fn an_opened_conversation_has_the_marks_and_verdicts_of_follow() {
    for name in ["silence-unanswered", "a2s-split-order", "diagnose-queries-faults"] {
        let file = sample(&format!("{name}.pcap"));
        let mut user = TestUser::with(&[&file]);
        let numbers = user.again.shared.lock_now().index.order().to_vec();
        let mut marks = 0;
        for (nth, number) in numbers.into_iter().enumerate() {
            user.keys(&["2", "Home"]);
            user.keys(&vec!["Down"; nth]);
            user.keys(&["Enter", "y", "Esc"]);
            let flow = (number + 1).to_string();
            let (_, followed, _) = run(&["follow", "--no-config", "--flow", &flow, &file]);
            for mark in ["no answer", "error A2S043", "error? A2S043"] {
                let [one, other] = [&user.copied, &followed].map(|it| it.matches(mark).count());
                assert_eq!(one, other, "{name} {flow}: {mark}\n{}\n{followed}", user.copied);
                marks += one;
            }
        }
        assert!(marks > 0, "{name}");
    }
}

#[test]
fn copies_count_nowhere() {
    let mut user = TestUser::of("silence-doubled.pcap");
    let screen = user.screen(120, 30);
    assert!(screen.contains("5 Messages 4 ") && screen.contains("4 messages"), "{screen}");
    user.keys(&["5", "End", "Enter", "Esc", "2", "Enter"]);
    let screen = user.screen(120, 30);
    assert!(screen.contains("(copy of ") && screen.contains("4 messages"), "{screen}");
}

#[test]
fn another_tab_is_shown_in_place_of_what_is_open() {
    let mut user = TestUser::of("a2s-info-players-rules.pcap");
    user.keys(&["3"]);
    let servers = user.screen(100, 30);
    user.keys(&["2", "Enter", "3"]);
    assert_eq!(user.screen(100, 30), servers);
    user.keys(&["2", "Enter", "Enter", "Tab"]);
    assert_eq!(user.screen(100, 30), servers);
}
