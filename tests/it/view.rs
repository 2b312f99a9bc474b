//! `gamewire view` on a pseudoterminal, as users see it.

use crate::support::gamewire;
use crate::support::screen::Screen;

/// The sizes of terminals in which everything is shown.
const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 50)];

/// Words without line breaks and indents.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The texts that other commands print as their first lines, and the view's first screen.
fn first_screen(size: (u16, u16), file: &str) -> String {
    let mut screen = Screen::start(size, &[file]);
    // It follows the answer's first lines.
    let shown = screen.wait_until_answered();
    screen.quit();
    words(&shown)
}

impl Screen {
    /// Waits until the capture has been judged.
    fn wait_until_answered(&mut self) -> String {
        self.wait_for(&[" 1 Answer ", "? keys"]);
        self.wait_without("Reading.")
    }
}

#[test]
fn the_first_screen_is_what_diagnose_says() {
    for (file, says) in [
        ("samples/diagnose-path.pcap", "is wrong"),
        ("samples/valve-master-faults.pcap", "the challenge comes back with its bytes reversed"),
    ] {
        let json = gamewire(["diagnose", "--no-config", "--format", "json", file]).out;
        let told: serde_json::Value = serde_json::from_str(&json).unwrap();
        let item = &told["servers"][0]["items"].as_array().unwrap().iter();
        let no = item.clone().find(|item| item["verdict"] == "no");
        for size in SIZES {
            let shown = first_screen(size, file);
            assert!(shown.contains(says), "{file}: {shown}");
            for part in no.iter().flat_map(|no| [&no["text"], &no["advice"]]) {
                let part = words(part.as_str().unwrap_or_default());
                assert!(shown.contains(&part), "{file}: {part:?}\n{shown}");
            }
        }
    }
}

#[test]
fn an_attack_is_above_everything_with_its_filter() {
    let file = "samples/abuse-query-flood.pcap";
    let abuse = gamewire(["abuse", "--no-config", file]).out;
    let headline = abuse.lines().next().unwrap();
    let filter = abuse.lines().find_map(|line| line.trim_start().strip_prefix("filter")).unwrap();
    let filter = words(filter.split_once(" (--emit").map_or(filter, |(filter, _)| filter));
    for size in SIZES {
        let shown = first_screen(size, file);
        let attack = shown.find("Under attack: ").unwrap_or_else(|| panic!("{shown}"));
        let places = [headline, &format!("What to do: {filter}"), "Passed, with"];
        let at = places.map(|it| shown.find(it).unwrap_or_else(|| panic!("{it:?}: {shown}")));
        assert!(attack < at[0] && at.is_sorted(), "{shown}");
    }
}

#[test]
fn a_line_of_the_answer_leads_to_the_ladder_of_whom_it_is_about() {
    let mut screen = Screen::start((120, 40), &["samples/valve-master-faults.pcap"]);
    screen.wait_for(&["the challenge comes back with its bytes reversed"]);
    screen.type_keys("j\r");
    screen.wait_for(&["10.0.0.2:27015", "challenge_response"]);
    screen.quit();
}

#[test]
fn a_file_that_is_no_capture_has_no_answer() {
    let folder = std::env::temp_dir().join(format!("gamewire-empty-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let empty = folder.join("empty.pcap");
    // The header alone: a capture without packets.
    let sample = std::fs::read("samples/a2s-quirks.pcap").unwrap();
    std::fs::write(&empty, &sample[..24]).unwrap();
    for size in SIZES {
        let mut screen = Screen::start(size, &[empty.to_str().unwrap()]);
        screen.wait_for(&["No server in this capture", "Nothing to check in this capture"]);
        screen.type_keys("\r234\r?");
        screen.wait_for(&["Keys"]);
        screen.quit();
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// Each client and server with the share of answered requests that `flows` prints.
fn answered_by_flows(file: &str) -> Vec<[String; 3]> {
    let text = gamewire(["flows", "--no-config", file]).out;
    let rows = text.lines().skip(1).map(|line| Vec::from_iter(line.split("  ").map(str::trim)));
    let rows = rows.map(|row| row.into_iter().filter(|cell| !cell.is_empty()).collect::<Vec<_>>());
    let share = |row: &[&str]| row.iter().find(|cell| cell.ends_with('%')).map(|it| it.to_string());
    let row = |row: Vec<&str>| Some([row[2].to_owned(), row[3].to_owned(), share(&row)?]);
    rows.filter_map(row).collect()
}

#[test]
fn answered_is_what_flows_prints() {
    for file in ["samples/a2s-quirks.pcap", "samples/diagnose-queries-faults.pcap"] {
        let flows = answered_by_flows(file);
        assert!(flows.len() > 4, "{file}");
        let mut screen = Screen::start((200, 150), &[file]);
        screen.wait_until_answered();
        screen.type_keys("2");
        let clients = flows.iter().map(|[client, ..]| &**client);
        let shown = screen.wait_for(&Vec::from_iter(clients.chain(["ANSWERED"])));
        for [client, server, share] in flows {
            let has = |it: &str| shown.lines().any(|line| line.contains(it));
            let ends = words(&format!("{client} {server}"));
            let line = shown.lines().map(words).find(|line| line.contains(&ends));
            let line = line.unwrap_or_else(|| panic!("{ends}: {shown}"));
            assert!(has(&client) && line.contains(&format!(" {share} ")), "{share}: {line}");
        }
        screen.quit();
    }
}

#[test]
fn counts_follow_the_filter() {
    for size in SIZES {
        let mut screen = Screen::start(size, &["samples/a2s-quirks.pcap"]);
        screen.wait_for(&["2 Conversations 12 ", "3 Servers 3 ", "41 messages"]);
        screen.type_keys("/ip.addr == 10.0.2.2 and a2s\r");
        screen.wait_for(&["2 Conversations 2 ", "3 Servers 1 ", "of 41 messages"]);
        // Until then, the key would stop the filtering.
        screen.wait_without("filtering");
        screen.type_keys("\u{1B}");
        screen.wait_for(&["2 Conversations 12 ", "3 Servers 3 "]);
        screen.quit();
    }
}

/// The requests that the ladder of `follow` marks, by their packets.
fn unanswered(file: &str) -> Vec<u64> {
    let json = gamewire(["follow", "--no-config", "--format", "json", file]).out;
    let ladder: serde_json::Value = serde_json::from_str(&json).unwrap();
    let steps = ladder["steps"].as_array().unwrap().iter();
    let open = steps.filter(|step| step["answered"] == false);
    open.map(|step| step["frame"].as_u64().unwrap()).collect()
}

#[test]
fn requests_without_an_answer_are_marked_as_many_as_flows_counts() {
    for name in ["silence-unanswered", "a2s-quirks", "diagnose-queries-faults", "gamespy4-faults"] {
        let file = &*format!("samples/{name}.pcap");
        let flows = gamewire(["flows", "--no-config", "--format", "csv", file]).out;
        let mut lines = flows.lines().map(|line| Vec::from_iter(line.split(',')));
        let head = lines.next().unwrap();
        let at = |name| head.iter().position(|it| *it == name).unwrap();
        let [asked, answered] = ["requests", "answered"].map(at);
        let number = |text: &str| text.parse::<usize>().unwrap();
        let missing = lines.map(|row| number(row[asked]) - number(row[answered])).sum::<usize>();
        let open = unanswered(file);
        assert!(missing > 0 && open.len() == missing, "{file}: {missing} {open:?}");
        let text = gamewire(["follow", "--no-config", file]).out;
        assert_eq!(text.matches("no answer").count(), missing, "{file}: {text}");
    }
}

#[test]
fn an_open_ladder_marks_requests_without_an_answer() {
    for size in SIZES {
        let mut screen = Screen::start(size, &["samples/silence-unanswered.pcap"]);
        screen.wait_until_answered();
        screen.type_keys("2\r");
        screen.wait_for(&["no answer"]);
        screen.quit();
    }
}

/// The relative luminance of a colour of the palette's cube, as WCAG defines it.
fn luminance(colour: u8) -> f64 {
    let place = u32::from(colour) - 16;
    let part = |step: u32| {
        let value = if step == 0 { 0.0 } else { f64::from(55 + 40 * step) / 255.0 };
        if value <= 0.03928 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * part(place / 36) + 0.7152 * part(place / 6 % 6) + 0.0722 * part(place % 6)
}

#[test]
fn colours_are_readable_on_black_and_on_white() {
    let file = "samples/valve-master-faults.pcap";
    let mut screen = Screen::start((120, 40), &["--color", "always", file]);
    screen.wait_until_answered();
    screen.type_keys("2\r");
    screen.wait_for(&["-- 2026-01-01 UTC --"]);
    screen.type_keys("\r");
    screen.wait_for(&["0x0000"]);
    screen.type_keys("qq34");
    screen.wait_for(&["SEVERITY"]);
    let used = screen.colours().clone();
    assert!(used.len() > 3, "{used:?}");
    // Black is written on yellow alone, for marked bytes.
    for colour in used.into_iter().filter(|it| *it > 0) {
        assert!((16..232).contains(&colour), "{colour} can be any colour");
        let light = luminance(colour);
        let contrasts = [(light + 0.05) / 0.05, 1.05 / (light + 0.05)];
        assert!(contrasts.iter().all(|it| *it > 3.5), "{colour}: {contrasts:?}");
    }
    screen.quit();
}

#[test]
fn a_narrow_terminal_cuts_neither_ports_nor_names_of_messages() {
    let mut screen = Screen::start((80, 24), &["samples/a2s-quirks.pcap"]);
    screen.wait_until_answered();
    screen.type_keys("2");
    screen.wait_for(&["10.0.0.1:50009", "10.0.0.2:27015", "ANSWERED"]);
    screen.type_keys("jjjjj\r");
    screen.wait_for(&["player_request", "challenge_response", "player_response"]);
    screen.quit();
    let mut screen = Screen::start((80, 24), &["samples/abuse-query-flood.pcap"]);
    screen.wait_until_answered();
    screen.type_keys("2");
    let shown = screen.wait_for(&["FROM"]);
    let rows = shown.lines().skip(3).take(19).filter(|row| row.contains("23.17.34.51:27015"));
    assert_eq!(rows.count(), 19, "{shown}");
    screen.quit();
}

#[test]
fn a_finding_is_explained_in_place() {
    for size in SIZES {
        let mut screen = Screen::start(size, &["samples/a2s-quirks.pcap"]);
        screen.wait_until_answered();
        screen.type_keys("4e");
        screen.wait_for(&["A2S008 cut-off-list  (warning", "Asks: "]);
        screen.type_keys("G");
        screen.wait_for(&["Wrong:"]);
        screen.type_keys("q");
        screen.wait_for(&["SEVERITY"]);
        screen.quit();
    }
}

#[test]
fn the_style_of_times_changes_in_place() {
    let mut screen = Screen::start((120, 40), &["samples/a2s-quirks.pcap"]);
    screen.wait_until_answered();
    screen.type_keys("2");
    screen.wait_for(&["00:00:05 10.0.0.1:50005"]);
    for (style, time) in [
        ("local", "10.0.0.1:50005"),
        ("relative", " 5.000000 "),
        ("delta", " 1.000000 "),
        ("epoch", "1767225605.000000"),
    ] {
        screen.type_keys("t");
        screen.wait_for(&[&format!("times: {style}"), time]);
    }
    screen.type_keys("t");
    screen.wait_for(&["times: utc", "00:00:05 10.0.0.1:50005"]);
    screen.quit();
}

#[test]
fn an_open_message_has_its_time_in_the_chosen_style() {
    let mut screen = Screen::start((120, 40), &["--time", "epoch", "samples/a2s-quirks.pcap"]);
    screen.wait_until_answered();
    screen.type_keys("5jj\r");
    screen.wait_for(&["0x0000", "1767225600.021000 3 10.0.0.1:50000 > 10.0.0.2:27015 a2s "]);
    for time in ["00:00:00.021000", "", "0.021000", "0.001000", "1767225600.021000"] {
        screen.type_keys("t");
        screen.wait_for(&["0x0000", &format!("{time} 3 10.0.0.1:50000 > 10.0.0.2:27015 a2s ")]);
    }
    screen.type_keys("t");
    screen.wait_for(&["times: utc"]);
    screen.type_keys("m");
    screen.wait_for(&["marked; d compares"]);
    screen.type_keys("n");
    screen.wait_for(&[" 4 10.0.0.2:27015 > 10.0.0.1:50000"]);
    screen.type_keys("d");
    screen.wait_for(&["00:00:00.021000 3 10.0.0.1:50000"]);
    screen.type_keys("tt");
    screen.wait_for(&["  0.021000 3 10.0.0.1:50000"]);
    screen.quit();
}

/// A ladder beside an open message takes what room there is for names.
#[test]
fn a_ladder_beside_an_open_message_cuts_neither_ports_nor_names() {
    let mut screen = Screen::start((120, 40), &["samples/a2s-quirks.pcap"]);
    screen.wait_until_answered();
    screen.type_keys("2jjjjj\r");
    screen.wait_for(&["-- 2026-01-01 UTC --"]);
    screen.type_keys("\r");
    let shown = screen.wait_for(&["0x0000"]);
    let beside = Vec::from_iter(shown.lines().map(|line| String::from_iter(line.chars().take(39))));
    let beside = beside.join("\n");
    for part in ["10.0.0.1:50005", "10.0.0.2:27015", "player_request", "challenge_response"] {
        assert!(beside.contains(part), "{part}:\n{shown}");
    }
    // Shorter times do not make it worse.
    screen.type_keys("tt");
    screen.wait_for(&["times: relative", "0.020 18 ", "challenge_response", "player_response"]);
    screen.quit();
}

#[test]
fn a_ladder_is_saved_in_the_formats_of_follow() {
    let folder = std::env::temp_dir().join(format!("gamewire-ladders-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = "samples/a2s-quirks.pcap";
    for (format, ending) in [("text", "txt"), ("svg", "svg"), ("json", "json"), ("mermaid", "mmd")]
    {
        let path = folder.join(format!("ladder.{ending}"));
        let mut screen = Screen::start((120, 40), &[file]);
        screen.wait_until_answered();
        screen.type_keys("2\r");
        screen.wait_for(&["-- 2026-01-01 UTC --"]);
        screen.type_keys("W");
        screen.wait_for(&["save the ladder"]);
        screen.type_keys(&format!("\u{15}{}\r", path.display()));
        screen.wait_for(&["saved the ladder to"]);
        screen.quit();
        let args = ["follow", "--no-config", "--flow", "1", "--format", format, file];
        assert_eq!(std::fs::read_to_string(&path).unwrap(), gamewire(args).out, "{format}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn two_messages_are_compared_field_by_field() {
    for size in SIZES {
        let mut screen = Screen::start(size, &["samples/a2s-info-players-rules.pcap"]);
        screen.wait_until_answered();
        screen.type_keys("2\r");
        screen.wait_for(&["-- 2026-01-01 UTC --"]);
        screen.type_keys("\r");
        screen.wait_for(&["0x0000"]);
        screen.type_keys("m");
        screen.wait_for(&["marked; d compares"]);
        screen.type_keys("n");
        screen.wait_for(&["00:00:00.020000 2 10.0.0.2"]);
        screen.type_keys("n");
        screen.wait_for(&["00:00:00.021000 3 10.0.0.1"]);
        screen.type_keys("d");
        let shown = screen.wait_for(&["1 field differs"]);
        let line = shown.lines().find(|line| line.starts_with("* ")).unwrap();
        assert!(line.contains("Challenge: 584425803"), "{shown}");
        screen.quit();
    }
}

#[test]
fn all_messages_are_listed_in_time_and_opened_beside_the_list() {
    let file = "samples/a2s-quirks.pcap";
    let dissected = gamewire(["dissect", "--no-config", file]).out;
    for size in SIZES {
        let mut screen = Screen::start(size, &[file]);
        screen.wait_until_answered();
        screen.type_keys("5");
        let shown = words(&screen.wait_for(&["5 Messages 41 ", "00:00:00.020000"]));
        for line in dissected.lines().skip(1).take(15) {
            let line = words(line);
            let start = line.split(' ').take(7).collect::<Vec<_>>().join(" ");
            assert!(shown.contains(&start), "{start}\n{shown}");
        }
        screen.type_keys("jj\r");
        screen.wait_for(&["Challenge: ", "0x0000"]);
        match size.0 {
            120.. => screen.wait_for(&["0x0000", "challenge_response"]),
            _ => screen.wait_without("challenge_response"),
        };
        screen.type_keys("n");
        screen.wait_for(&["info_response", "Map"]);
        screen.type_keys("q");
        screen.wait_without("0x0000");
        screen.type_keys("/a2s.rules_request\r");
        screen.wait_for(&["5 Messages 3 ", "rules_request"]);
        screen.wait_without("info_response");
        screen.quit();
    }
}

#[test]
fn conversations_are_grouped_by_hosts() {
    for size in SIZES {
        let mut screen = Screen::start(size, &["samples/a2s-quirks.pcap"]);
        screen.wait_until_answered();
        screen.type_keys("2");
        screen.wait_for(&["10.0.0.1:50009"]);
        screen.type_keys("h");
        screen.wait_for(&["grouped by pairs of hosts", "10.0.1.1 "]);
        screen.type_keys("k");
        let shown = screen.wait_for(&["10.0.0.1 and 10.0.0.2: 8 conversations, 26 messages"]);
        assert!(!shown.contains(":50009"), "{shown}");
        screen.type_keys("\r");
        screen.wait_for(&["from :50000", "26 messages"]);
        screen.type_keys("qh");
        screen.wait_for(&["10.0.0.1:50009"]);
        screen.quit();
    }
}

#[test]
fn a_damaged_capture_is_shown_as_far_as_it_can_be_read() {
    let file = std::env::temp_dir().join(format!("gamewire-damaged-{}.pcap", std::process::id()));
    let mut bytes = std::fs::read("samples/a2s-quirks.pcap").unwrap();
    // Payloads of the first packets, then a length that cannot be.
    bytes.iter_mut().skip(82).step_by(97).take(4).for_each(|byte| *byte ^= 0x9B);
    let middle = bytes.len() / 2;
    bytes.truncate(middle);
    bytes.extend([0xFF; 40]);
    std::fs::write(&file, bytes).unwrap();
    for size in SIZES {
        let mut screen = Screen::start(size, &[file.to_str().unwrap()]);
        screen.wait_until_answered();
        for tab in ["1", "2", "3", "4", "5"] {
            screen.type_keys(&format!("{tab}G\rj\rnnpmde\u{7F}\u{7F}\u{7F}jk"));
        }
        screen.type_keys("?");
        screen.wait_for(&["Keys"]);
        assert!(matches!(screen.end(), Some(0 | 2)));
    }
    std::fs::remove_file(file).unwrap();
}
